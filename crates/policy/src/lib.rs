//! Signed policy documents, one decision function, and a floor that no rule can weaken.
//!
//! Three documents define what an agent may do: the **policy** (principals and rules), the
//! **contracts** (what each capability can do, as declared by the operator) and the **keys** (who
//! may release held calls). All three are signed under one root key. A [`PolicySet`] contains them,
//! validated and compiled. [`PolicySet::decide`] is a pure function of the set and a
//! [`PolicyQuery`]. `docs/concepts/policy.md` defines the exact semantics.
//!
//! By design, this crate executes nothing, stores nothing, reads no files and no clock, and cannot loosen
//! a decision. A call that no rule matches is denied; what a server says of its tools relaxes nothing.
//!
//! ```
//! use weaver_policy::{Contracts, Policy, PolicySet};
//! use weaver_types::{DecisionBasis, PolicyOrigin};
//!
//! let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
//! assert_eq!(set.basis().origin, PolicyOrigin::Code);
//! # Ok::<(), weaver_policy::LoadError>(())
//! ```
//!
//! Documents from files must be signed:
//!
//! ```
//! use weaver_policy::{PolicySet, DocumentSource, DocumentSources, sign_document, signing_key_id};
//! use weaver_types::Timestamp;
//! use weaver_types::signature::{DocumentKind, SigningKey};
//!
//! let root = SigningKey::from_seed([7; 32]);
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let texts = ["policy", "contracts", "keys"]
//!     .map(|kind| format!("kind = \"{kind}\"\nformat = 1\nid = \"example\"\nversion = 1\n"));
//! let mut envelopes = Vec::new();
//! for (text, kind) in texts.iter().zip([DocumentKind::Policy, DocumentKind::Contracts, DocumentKind::Keys]) {
//!     let source = DocumentSource::unsigned("example.toml", text);
//!     envelopes.push(sign_document(&source, kind, signing_key_id(&root.public())?, &root, now)?.to_json()?);
//! }
//! let source = |n: usize| DocumentSource::signed("example.toml", &texts[n], envelopes[n].as_bytes());
//! let sources = DocumentSources { policy: source(0), contracts: source(1), keys: source(2) };
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
mod compiled_rules;
mod contract;
mod decide;
mod destination;
mod document;
mod document_schema;
mod enforcement;
mod error;
mod field_condition;
mod high_water;
mod issuer;
mod keys;
mod match_conditions;
mod name_condition;
mod name_hash;
mod pattern;
mod policy;
mod policy_set;
mod policy_settings;
mod provenance;
mod query;
mod rate_limit;
mod rate_limit_check;
mod rate_limit_windows;
mod rule;
mod rule_index;
mod time_window;
mod tool_policy_presets;
mod truth;
mod unlisted_results;
mod value_search;

pub use agents::AgentCapabilities;
pub use approval::ReleaseProof;
pub use argument::{ArgumentError, ArgumentPredicate};
pub use contract::{
    Contract, ContractStatus, Contracts, Drift, DriftChange, DriftClass, OutputLabel,
    VisibilityRule,
};
pub use destination::{DestinationError, TrustedDestination};
pub use document::{
    DocumentSource, DocumentSources, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_ENTRIES,
    NEWEST_FORMAT, document_digest, document_kind, sign_document, signing_key_id,
};
pub use document_schema::document_schema;
pub use enforcement::RuleEnforcement;
pub use error::{ContractError, DocumentFinding, LoadError, MAX_FINDINGS};
pub use field_condition::{FieldCondition, SensitivityCondition};
pub use issuer::{IdentityError, TokenIdentity, TrustedIssuer};
pub use keys::{Approver, DocumentSigner, Keys, TimedKey};
pub use match_conditions::{MatchConditions, MatchField};
pub use name_condition::NameCondition;
pub use pattern::Pattern;
pub use policy::Policy;
pub use policy_set::{DocumentVersion, PolicySet};
pub use policy_settings::{ApprovalSettings, ContractEnforcement};
pub use provenance::{SensitiveValue, ValueOrigin, ValueOrigins};
pub use query::PolicyQuery;
pub use rate_limit::{LimitKey, MAX_LIMIT_CALLS, MAX_LIMIT_WINDOW_S, RateLimit, RoleLimit};
pub use rate_limit_windows::{MAX_LIMIT_GROUPS, MAX_REMEMBERED_CALLS, RateLimitWindows};
pub use rule::{
    DENY_RULE_CODES, Effect, JustificationRequirement, MIN_JUSTIFICATION_CHARS, Requirements, Rule,
};
pub use time_window::{TimeWindow, Weekday};
pub use tool_policy_presets::ToolPolicyPresets;
pub use truth::Truth;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
