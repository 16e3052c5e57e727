//! Runtime signals: what was noticed while a run went on, as one more check of the decision.
//!
//! A [`SignalSource`] watches finished calls ([`FinishedCall`]) and speaks about a call that is to be
//! decided ([`CallContext`]). What it says concerns the call only where its [`Subject`] does, and the
//! [`SignalTable`] of the policy says from which rung on a severity holds or denies. So one
//! tainted text holds a later write and leaves later reads alone. Signals only tighten. By default
//! they hold and deny nothing, and a source that fails holds what writes.
//!
//! A call whose maker declares no beliefs depends on every belief of its run. Memory is bounded,
//! and what was forgotten counts as the worst it could have been: [`Dependencies::complete`].
//!
//! What this deliberately is not: a judge of content. Nothing here reads arguments or results.

mod belief;
mod belief_book;
mod calibration;
mod calibration_flags;
mod call_context;
mod confidence;
mod contribution;
mod dependencies;
mod monitor;
mod name;
mod report;
mod run_memory;
mod sequence;
mod source;
mod table;

use weaver_types::CallId;

pub use belief::{Belief, BeliefOrigin, Confidence};
pub use belief_book::{BeliefBook, MAX_RUNS};
pub use calibration::{
    Bounds, Calibration, CalibrationSample, Calibrator, ClassOutcomes, MAX_CLASSES,
};
pub use calibration_flags::CalibrationFlags;
pub use call_context::{CallContext, FinishedCall, ProposedCall};
pub use confidence::{BeliefFloor, LowConfidenceAction, SuspiciousMemoryOrigin};
pub use contribution::contributions;
pub use dependencies::{Declaration, Dependencies, MAX_BELIEFS};
pub use monitor::SignalMonitor;
pub use name::{BeliefClass, BeliefId, DecisionId};
pub use report::{MAX_SIGNALS, SignalReport, SourceFailure};
pub use sequence::{AnomalousToolSequence, SEQUENCE_WINDOW};
pub use source::{SignalError, SignalSource};
pub use table::{SeverityThresholds, SignalTable};

/// How grave a signal is, from mild to grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth a line in the log.
    Info,
    /// Somebody should look before effects follow.
    Warning,
    /// It should not go on.
    Critical,
}

impl Severity {
    /// The word used in documents and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// What sort of thing was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalKind {
    /// A sentinel saw a pattern.
    SentinelAlert,
    /// A class of beliefs is confident more often than it is right, or less often.
    CalibrationFlag,
    /// The call rests on a belief that is weak.
    LowConfidenceBelief,
}

impl SignalKind {
    /// The word used in documents and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SentinelAlert => "sentinel_alert",
            Self::CalibrationFlag => "calibration_flag",
            Self::LowConfidenceBelief => "low_confidence_belief",
        }
    }
}

/// What a signal is about, which settles the calls that it concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A belief: the calls that depend on it.
    Belief(BeliefId),
    /// A decision of the agent: the calls that were declared under it.
    Decision(DecisionId),
    /// The sequence of calls: every call.
    ToolSequence,
    /// A call that is over: none. It is for the log.
    Action(CallId),
}

/// One thing that a source noticed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal {
    /// The name of the source. [`SignalReport::gather`] sets it.
    pub source: String,
    /// What sort of thing.
    pub kind: SignalKind,
    /// How grave.
    pub severity: Severity,
    /// About what.
    pub subject: Subject,
    /// What exactly, in words, for people. It is escaped and cut where it is shown.
    pub detail: String,
}
