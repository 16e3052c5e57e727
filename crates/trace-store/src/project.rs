//! Projections of the events, computed on demand and never stored as a source of truth.
//!
//! [`CallStory`] explains one call from its goal to later views, [`LogStats`] adds up numbers,
//! [`ActionTrace`] and [`RunRecord`] are the records of agent-kernel (Python) and of the
//! SecondBrain kernel, and [`TraceBundle`] is the public contract of that name.

mod action;
mod bundle;
mod pairing;
mod run;
mod sentence;
mod stats;
mod story;

pub use action::{ActionTrace, ResultSummary};
pub use bundle::{MAX_BUNDLE_EVENTS, TraceBundle};
pub use pairing::{CallEvents, CallPairing, MAX_OPEN_CALLS};
pub use run::{MAX_RUNS, RunRecord, runs};
pub use stats::{HoldStats, LogStats};
pub use story::{CallStory, MAX_STORY_EVENTS, StoryAspect, StoryStep, StorySubject};
