//! Projections: what follows from the events, computed each time and never stored as a truth.
//!
//! [`Story`] tells one call from goal to later looks, [`Stats`] sums up, [`ActionTrace`] and
//! [`RunRecord`] are the records of agent-kernel (Python) and of the SecondBrain kernel,
//! [`TraceBundle`] is the public contract of that name.

mod action;
mod bundle;
mod pairing;
mod run;
mod sentence;
mod stats;
mod story;

pub use action::{ActionTrace, ResultSummary};
pub use bundle::{MAX_BUNDLE, TraceBundle};
pub use pairing::{CallEvents, MAX_OPEN, Pairing};
pub use run::{MAX_RUNS, RunRecord, runs};
pub use stats::{Holds, Stats};
pub use story::{MAX_STORY, Part, Step, Story, Subject};
