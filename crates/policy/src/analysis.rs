//! Analysis: what documents would say, asked without taking a decision for anybody.
//!
//! Everything here is a function of documents and requests; nothing is read, stored or released.
//! [`Judge`] answers recorded requests, [`explain`](explain()) says what stands in the way of one,
//! [`lint`](lint()) finds what is hardly meant, [`Question`] is answered with a witness or not at
//! all, [`Comparison`] counts what flips between two sets, and [`Cases`] are tests of a policy.

mod answer;
mod ask;
mod cases;
mod catalogue;
mod diff;
mod explain;
mod lint;
mod names;
mod request;

pub use answer::{Answer, Judge};
pub use ask::{Answered, MAX_STEPS, Question, Witness};
pub use cases::{Case, CaseError, Cases, Expectation, Outcome};
pub use catalogue::Catalogue;
pub use diff::{Change, Comparison, Flip};
pub use explain::{DenialExplanation, Explanation, FailedCondition, explain, explain_denial};
pub use lint::{Lint, LintCode, lint};
pub use request::{MAX_LINE, RecordedRequest, RequestError};
