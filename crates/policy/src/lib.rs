//! Signed policy documents, one decision, and a floor that no rule can weaken.
//!
//! Three documents say what an agent may do: the **policy** (principals and rules), the
//! **contracts** (what each capability can do, as the operator sees it) and the **keys** (who may
//! release what is held). All three are signed under one root key. A [`PolicySet`] holds them
//! checked and compiled; [`PolicySet::decide`] is a pure function of them and a [`Query`].
//! `docs/concepts/policy.md` gives the exact meaning.
//!
//! What this crate deliberately is not: it executes nothing, stores nothing, reads no file and no
//! clock, and knows no way to loosen a decision. Nothing matches means denied. What a server says
//! of its own tools lowers nothing.
//!
//! ```
//! use weaver_policy::{Contracts, Policy, PolicySet};
//! use weaver_types::{Basis, Origin};
//!
//! let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
//! assert_eq!(set.basis().origin, Origin::Code);
//! # Ok::<(), weaver_policy::LoadError>(())
//! ```
//!
//! From files, documents are signed:
//!
//! ```
//! use weaver_policy::{PolicySet, Source, Sources, root_key_id, sign};
//! use weaver_types::Timestamp;
//! use weaver_types::signature::{Kind, SigningKey};
//!
//! let root = SigningKey::from_seed([7; 32]);
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let texts = ["policy", "contracts", "keys"]
//!     .map(|kind| format!("kind = \"{kind}\"\nformat = 1\nid = \"example\"\nversion = 1\n"));
//! let mut envelopes = Vec::new();
//! for (text, kind) in texts.iter().zip([Kind::Policy, Kind::Contracts, Kind::Keys]) {
//!     let source = Source::unsigned("example.toml", text);
//!     envelopes.push(sign(&source, kind, root_key_id(&root.public())?, &root, now)?.to_json()?);
//! }
//! let source = |n: usize| Source::signed("example.toml", &texts[n], envelopes[n].as_bytes());
//! let sources = Sources { policy: source(0), contracts: source(1), keys: source(2) };
//! assert!(PolicySet::load(&sources, &root.public(), now).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod approval;
pub mod critical;
pub mod explain;
pub mod signal;

mod agents;
mod applicability;
mod argument;
mod bounds;
mod compiled;
mod contract;
mod decide;
mod destination;
mod document;
mod enforcement;
mod error;
mod hash;
mod high_water;
mod index;
mod issuer;
mod keys;
mod limit;
mod matching;
mod name_condition;
mod pattern;
mod policy;
mod provenance;
mod query;
mod rate_limit;
mod rule;
mod schema;
mod set;
mod time_window;
mod tool_policy;
mod truth;
mod window;

pub use agents::AgentCapabilities;
pub use approval::Release;
pub use argument::{ArgumentError, ArgumentPredicate};
pub use bounds::{ApprovalBounds, Enforcement};
pub use contract::{
    Contract, ContractStatus, Contracts, Drift, DriftChange, DriftClass, OutputLabel, Visibility,
};
pub use destination::{DestinationError, TrustedDestination};
pub use document::{
    FORMAT, MAX_BYTES, MAX_DEPTH, MAX_ENTRIES, Source, Sources, digest_of, kind_of, root_key_id,
    sign,
};
pub use enforcement::RuleEnforcement;
pub use error::{ContractError, Finding, LoadError, MAX_FINDINGS};
pub use issuer::{IdentityError, TokenIdentity, TrustedIssuer};
pub use keys::{Approver, ApproverKey, Keys, Signer};
pub use limit::{Limit, LimitKey, MAX_CALLS, MAX_WINDOW, RoleLimit};
pub use matching::{Match, Sensitivity};
pub use name_condition::NameCondition;
pub use pattern::Pattern;
pub use policy::Policy;
pub use provenance::{CarriedValue, ValueOrigin, ValueOrigins};
pub use query::Query;
pub use rule::{DENY_CODES, Effect, JustificationNeed, MIN_JUSTIFICATION, Require, Rule};
pub use schema::schema;
pub use set::{DocumentVersion, PolicySet};
pub use time_window::{Day, TimeWindow};
pub use tool_policy::ToolPolicy;
pub use truth::Truth;
pub use window::{MAX_GROUPS, MAX_REMEMBERED, Windows};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
