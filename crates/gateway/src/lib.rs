//! The MCP gateway: everything behind the `weaver` command.
//!
//! An MCP client talks to [`serve`], which talks to the configured servers; between the two every
//! call is routed, decided, recorded, executed, firewalled and recorded again by the other crates
//! of the workspace. [`config`] reads `weaver.toml` and the signed documents, [`secret`] keeps
//! private keys encrypted, [`cli`] is the command line, [`demo`] shows the whole in a minute.
//!
//! What this crate deliberately is not: a place for decisions. It holds no rule, no redaction and
//! no storage of its own.

pub mod cli;
pub mod config;
pub mod demo;
mod publish;
mod replay;
pub mod secret;
pub mod serve;
