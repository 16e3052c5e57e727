//! Runtime signals: observations about a run, as one more check of the decision.
//!
//! A [`SignalSource`] observes finished calls ([`FinishedCall`]) and reports signals about a call
//! that is to be decided ([`CallContext`]). A signal affects the call only if its [`SignalSubject`]
//! does. The policy's [`SignalTable`] defines from which rung on each severity holds or denies. One
//! tainted text can therefore hold a later write and leave later reads alone. Signals only tighten
//! decisions. By default they hold calls and never deny them, and a source that fails holds writes.
//!
//! A call without declared beliefs depends on all beliefs of its run. Memory is bounded, and
//! anything that was forgotten is treated as the worst case: see
//! [`BeliefDependencies::is_complete`].
//!
//! By design, signals do not judge content: nothing here reads arguments or results.

mod belief;
mod belief_ids;
mod belief_sources;
mod belief_store;
mod calibration;
mod calibration_source;
mod call_context;
mod check_results;
mod dependencies;
mod monitor;
mod recent_runs;
mod signal_report;
mod signal_source;
mod signal_table;
mod tool_sequence_sentinel;

use weaver_types::CallId;

pub use belief::{Belief, BeliefOrigin, Confidence};
pub use belief_ids::{BeliefClass, BeliefId, DecisionId};
pub use belief_sources::{LowConfidenceSentinel, MemoryOriginSentinel, WeakBeliefSource};
pub use belief_store::{BeliefStore, MAX_RUNS};
pub use calibration::{
    Calibration, CalibrationSample, CalibrationThresholds, Calibrator, ClassOutcomes, MAX_CLASSES,
};
pub use calibration_source::CalibrationSource;
pub use call_context::{CallContext, FinishedCall, ProposedCall};
pub use check_results::check_results;
pub use dependencies::{BeliefDeclaration, BeliefDependencies, MAX_BELIEFS};
pub use monitor::SignalMonitor;
pub use signal_report::{MAX_SIGNALS, SignalReport, SignalSourceFailure};
pub use signal_source::{SignalError, SignalSource};
pub use signal_table::{RungThresholds, SignalTable};
pub use tool_sequence_sentinel::{SEQUENCE_WINDOW, ToolSequenceSentinel};

/// The severity of a signal, from mild to serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth a line in the log.
    Info,
    /// Somebody should look at it before effects follow.
    Warning,
    /// The call should not go on.
    Critical,
}

weaver_types::words! { Severity: "The keyword used in documents and events.";
    Info = "info", Warning = "warning", Critical = "critical",
}

/// The kind of observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalKind {
    /// A sentinel detected a pattern.
    SentinelAlert,
    /// A class of beliefs is badly calibrated: over- or underconfident.
    CalibrationFlag,
    /// The call depends on a weak belief.
    LowConfidenceBelief,
}

weaver_types::words! { SignalKind: "The keyword used in documents and events.";
    SentinelAlert = "sentinel_alert", CalibrationFlag = "calibration_flag",
    LowConfidenceBelief = "low_confidence_belief",
}

/// The subject of a signal, which determines the calls that it affects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalSubject {
    /// A belief. Affects the calls that depend on it.
    Belief(BeliefId),
    /// A decision of the agent. Affects the calls that were declared under it.
    Decision(DecisionId),
    /// The sequence of calls. Affects every call.
    ToolSequence,
    /// A finished call. Affects no call; it is only for the log.
    Action(CallId),
}

/// One observation of a source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal {
    /// The name of the source. [`SignalReport::collect`] sets it.
    pub source: String,
    /// The kind.
    pub kind: SignalKind,
    /// The severity.
    pub severity: Severity,
    /// The subject.
    pub subject: SignalSubject,
    /// The details, for people. Escaped and truncated wherever it is shown. An approval releases a
    /// call only from the signals that its approvers saw, with these details: a measured figure here
    /// would make every grant void as soon as it moves.
    pub detail: String,
}
