//! The Weaver crates behind one name, each behind a feature.
//!
//! Weaver stands between an AI agent and its tools: it shows the model a few tools that fit, lets
//! through what a policy allows, cuts results down to what the model may see, and keeps a record
//! that cannot be changed unnoticed. Each part is a crate of its own and works alone; this crate
//! only gathers them. Nothing is on by default, and no feature changes what another one does: the
//! router comes without any enforcement, the enforcement without the router. The README has the
//! table of features. [`types`] is always there, because all others speak in it.

#[cfg(any(
    feature = "router",
    feature = "memory",
    feature = "tiktoken",
    feature = "confusable",
    feature = "stem"
))]
pub use weaver_text as text;
pub use weaver_types as types;

/// Choosing: the catalog, the ranking, the cards. Advice, never permission.
#[cfg(feature = "router")]
pub mod router {
    pub use contextweaver::{card, catalog, error, filter, graph, hydrate, route};
}

/// The context engine: what has happened, compiled within a token budget, and what is remembered
/// beyond it. The durable tier lies in a store of records, for example that of `trace-sqlite`.
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
