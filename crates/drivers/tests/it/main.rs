//! Integration tests of the drivers against real servers: a hostile one of our own, and the
//! official Rust SDK's over stdio and HTTP.

#![cfg(test)]

#[cfg(target_os = "linux")]
mod attempt;
#[cfg(feature = "memory")]
mod children;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod covering;
mod feature_server;
mod features;
mod fixture;
mod hostile;
mod http;
mod kernel;
mod lifecycle;
mod listing;
#[cfg(feature = "memory")]
mod log_file;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "memory")]
mod memory_file;
mod notice_stream;
mod oauth;
#[cfg(unix)]
mod oauth_grants;
mod oauth_proof;
mod oauth_server;
mod operations;
mod preconditions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod probes;
mod process;
#[cfg(unix)]
mod programs;
mod raw_server;
mod sdk;
#[cfg(unix)]
mod streams;
mod support;
mod tls;
mod upstream;
