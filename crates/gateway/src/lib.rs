//! The MCP gateway as a library: what `weaver serve` runs, and what a console can stand on.
//!
//! An MCP client talks to [`serve`], which talks to the configured servers; between the two every
//! call is routed, decided, recorded, executed, firewalled and recorded again by the other crates
//! of the workspace. [`daemon`] lets many clients share one. [`config`] reads `weaver.toml` and the signed documents, [`secret`] keeps
//! private keys encrypted, [`publish`] signs the log and remembers what was signed, [`replay`]
//! plays recorded steps through the real gate. [`clients`] reads and changes the configurations of
//! MCP clients, [`listing`] asks servers for their tools, and [`setup`] makes a gateway out of both.
//!
//! What this crate deliberately is not: a place for decisions. It holds no rule, no redaction and
//! no storage of its own. It is no command either: that is `weaver-cli`.

pub mod bounded_file;
pub mod clients;
pub mod config;
mod connection_places;
#[cfg(unix)]
pub mod daemon;
#[cfg(unix)]
pub mod http;
mod interruption;
pub mod listing;
pub mod oauth;
pub mod publish;
pub mod replay;
pub mod secret;
pub mod serve;
pub mod setup;
mod telemetry;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
