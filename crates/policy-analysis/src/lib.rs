//! Analyses of policies that never decide calls: lint, test cases, reachability queries,
//! differences between versions, contracts proposed for tools, and rules proposed from recorded
//! calls.
//!
//! Everything here is a pure function of documents and requests; nothing is read, stored or
//! released. Decisions are made by [`weaver_policy::PolicySet::decide`], which uses nothing from
//! this crate. An error in here can mislead an operator but cannot let a call through.
//!
//! - [`Evaluator`] evaluates recorded requests in order.
//! - [`ReachabilityQuery`] asks whether any request can get a verdict. The answer is a witness, a
//!   proof that there is none, or undecided.
//! - [`lint`](lint()) reports what is valid but probably unintended.
//! - [`PolicyDiff`] compares two sets of documents and their decisions.
//! - [`TestCases`] are tests for a policy.
//! - [`propose`] proposes contracts from what tools say about themselves.
//! - [`history`] reads recorded calls from a log, [`replay`] decides them again under a draft
//!   policy, and [`suggest`] proposes rules that allow them.
//!
//! ```
//! use weaver_policy::{Contracts, Policy, PolicySet};
//! use weaver_policy_analysis::{CapabilitySet, Reachability, ReachabilityQuery};
//! use weaver_types::{SafetyClass, Timestamp, Verdict};
//!
//! let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
//! let query = ReachabilityQuery {
//!     class: [SafetyClass::Destructive].into(),
//!     without_roles: ["admin".to_owned()].into(),
//!     ..ReachabilityQuery::new(Verdict::Allow, Timestamp::default())
//! };
//! let answer = query.solve(&set, &CapabilitySet::from_documents(&set));
//! assert!(matches!(answer, Reachability::Unreachable { .. }));
//! # Ok::<(), weaver_policy::LoadError>(())
//! ```

pub mod history;
pub mod propose;
pub mod replay;
pub mod suggest;

mod capability_set;
mod evaluation;
mod lint;
mod policy_diff;
mod program_arguments;
mod reachability;
mod recorded_request;
mod representative_names;
mod test_cases;
mod toml_text;

pub use capability_set::{CapabilitySet, CapabilitySetOrigin};
pub use evaluation::{Evaluation, Evaluator};
pub use lint::{LintCode, LintFinding, lint};
pub use policy_diff::{ChangedDecision, DocumentChange, PolicyDiff, VerdictWithReason};
pub use reachability::{MAX_STEPS, Reachability, ReachabilityQuery, Witness};
pub use recorded_request::{MAX_LINE, RecordedRequest, RequestError};
pub use test_cases::{Expectation, TestCase, TestCaseError, TestCaseResult, TestCases};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
