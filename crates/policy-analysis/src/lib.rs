//! What looks at policies and never decides: lint, test cases, reachability queries, differences
//! between versions, contracts proposed for tools, and rules proposed from what was done.
//!
//! Everything here is a function of documents and requests; nothing is read, stored or released. The
//! decision itself is [`weaver_policy::PolicySet::decide`], and it needs nothing of this crate, so an
//! error in here can mislead an operator and cannot let a call through.
//!
//! - [`Evaluator`] evaluates recorded requests one after the other.
//! - [`ReachabilityQuery`] asks whether anybody can get a verdict, and is answered with a witness, with
//!   a proof that nobody can, or not at all.
//! - [`lint`](lint()) reports what is valid and probably not intended.
//! - [`PolicyDiff`] compares two sets of documents, and the decisions that they make.
//! - [`Cases`] are tests of a policy.
//! - [`propose`] proposes contracts from what tools say of themselves.
//! - [`history`] reads the calls that a log recorded, [`replay`] judges them again under a draft, and
//!   [`suggest`] proposes rules that allow what was done.
//!
//! ```
//! use weaver_policy::{Contracts, Policy, PolicySet};
//! use weaver_policy_analysis::{Catalogue, Reachability, ReachabilityQuery};
//! use weaver_types::{SafetyClass, Timestamp, Verdict};
//!
//! let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
//! let query = ReachabilityQuery {
//!     class: [SafetyClass::Destructive].into(),
//!     without_roles: ["admin".to_owned()].into(),
//!     ..ReachabilityQuery::new(Verdict::Allow, Timestamp::default())
//! };
//! let answer = query.solve(&set, &Catalogue::of(&set));
//! assert!(matches!(answer, Reachability::Unreachable { .. }));
//! # Ok::<(), weaver_policy::LoadError>(())
//! ```

pub mod history;
pub mod propose;
pub mod replay;
pub mod suggest;

mod cases;
mod catalogue;
mod diff;
mod evaluation;
mod lint;
mod reachability;
mod representative_names;
mod request;
mod sql;
mod toml_text;

pub use cases::{Case, CaseError, CaseResult, Cases, Expectation};
pub use catalogue::{Catalogue, CatalogueOrigin};
pub use diff::{ChangedDecision, DocumentChange, PolicyDiff, VerdictWithReason};
pub use evaluation::{Evaluation, Evaluator};
pub use lint::{LintCode, LintFinding, lint};
pub use reachability::{MAX_STEPS, Reachability, ReachabilityQuery, Witness};
pub use request::{MAX_LINE, RecordedRequest, RequestError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
