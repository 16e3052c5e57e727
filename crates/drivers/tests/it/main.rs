//! Integration tests of the drivers against real servers: a hostile one of our own, and the
//! official Rust SDK's over stdio and HTTP.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod attempt;
#[cfg(feature = "memory")]
#[cfg(test)]
mod children;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod confine;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod covering;
#[cfg(test)]
mod feature_server;
#[cfg(test)]
mod features;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod listing;
#[cfg(feature = "memory")]
#[cfg(test)]
mod log_file;
#[cfg(feature = "memory")]
#[cfg(test)]
mod memory;
#[cfg(feature = "memory")]
#[cfg(test)]
mod memory_file;
#[cfg(test)]
mod notice_stream;
#[cfg(test)]
mod oauth;
#[cfg(unix)]
#[cfg(test)]
mod oauth_grants;
#[cfg(test)]
mod oauth_proof;
#[cfg(test)]
mod oauth_server;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod preconditions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[cfg(test)]
mod probes;
#[cfg(test)]
mod process;
#[cfg(unix)]
#[cfg(test)]
mod programs;
#[cfg(test)]
mod raw_server;
#[cfg(test)]
mod sdk;
#[cfg(unix)]
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod upstream;
