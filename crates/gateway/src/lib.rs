//! The MCP gateway as a library: everything that `weaver serve` runs, for use by other programs
//! too.
//!
//! An MCP client talks to [`serve`], which talks to the configured servers. In between, the other
//! crates of the workspace route, decide, record, execute and firewall every call, and record the
//! result. `daemon` lets many clients share one gateway, and `http` serves MCP over HTTP.
//! [`config`] reads `weaver.toml` and the signed documents, [`start_check`] checks what a start needs
//! besides, [`expiry`] tells what ends when, [`oauth`] checks access tokens and
//! stores logins, [`secret`] keeps private keys encrypted, [`publish`] signs the log and publishes
//! its checkpoints, [`replay`] replays recorded steps through the real policy. [`clients`] reads
//! and changes the configuration files of MCP clients, [`listing`] asks servers for their tools,
//! and [`setup`] creates a gateway from both.
//!
//! This crate makes no decisions: it holds no policy rule, no redaction and no storage of its own.
//! It is no command either; that is `weaver-cli`.

pub mod bounded_file;
mod canonical_path;
mod client_journal;
mod client_registry;
pub mod clients;
pub mod config;
mod connection_limit;
pub mod daemon;
mod daemon_address;
pub mod expiry;
mod file_stamp;
pub mod http;
mod interruption;
pub mod listing;
pub mod oauth;
mod private_file;
pub mod publish;
pub mod replay;
pub mod secret;
pub mod serve;
mod session_setup;
pub mod setup;
pub mod start_check;
mod telemetry;

pub use canonical_path::canonical_path;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
