//! The public behaviour of `weaver-policy-analysis`.

#![cfg(test)]

mod support;

mod evaluation;
mod lint;
mod propose_local_servers;
mod propose_servers;
mod reachability;
mod recorded;
