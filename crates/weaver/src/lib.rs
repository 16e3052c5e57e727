//! All Weaver crates under one name, each enabled by a feature.
//!
//! Weaver stands between an AI agent and its tools: it shows the model a few tools that fit, lets
//! through what a policy allows, cuts results down to what the model may see, and keeps a record
//! that cannot be changed unnoticed. Each part is its own crate and works alone; this crate
//! only re-exports them. No feature is on by default, and no feature changes what another does: the
//! router comes without any enforcement, and the enforcement without the router. The README has the
//! table of features. [`types`] is always included, because all other crates use it.

#[cfg(any(
    feature = "router",
    feature = "memory",
    feature = "tiktoken",
    feature = "confusable",
    feature = "stem"
))]
pub use weaver_text as text;
pub use weaver_types as types;

/// Tool selection: the catalog, the ranking and the cards. Advice, never permission.
#[cfg(feature = "router")]
pub mod router {
    pub use contextweaver::{card, catalog, error, filter, graph, hydrate, route};
}

/// The context engine: compiles what happened within a token budget, and keeps durable
/// memory in a store of records, for example that of `trace-sqlite`.
#[cfg(feature = "memory")]
pub mod memory {
    pub use contextweaver::memory::*;
    pub use contextweaver::{bridge, compile, error};
}

#[cfg(feature = "kernel")]
pub use weaver_agent_kernel as kernel;
#[cfg(feature = "drivers")]
pub use weaver_drivers as drivers;
#[cfg(feature = "firewall")]
pub use weaver_firewall as firewall;
#[cfg(feature = "policy")]
pub use weaver_policy as policy;
#[cfg(feature = "policy-analysis")]
pub use weaver_policy_analysis as policy_analysis;
#[cfg(feature = "trace")]
pub use weaver_trace_store as trace;

#[cfg(all(doctest, feature = "router", feature = "kernel"))]
#[doc = include_str!("../README.md")]
struct Readme;
