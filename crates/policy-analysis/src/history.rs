//! Calls as the log recorded them, for analyses that judge them again.
//!
//! The log keeps of a call who asked for what, each check of its decision, the label that its run had
//! taken on by then, and the redacted text of its arguments with a salted commitment to the exact
//! bytes. Where redaction changed nothing, the commitment proves that the text is the exact
//! arguments; where it did, the exact values are gone, on purpose.

mod arguments;
mod fold;

use std::collections::BTreeSet;

use serde::Deserialize;
use weaver_types::{
    AgentId, CapabilityId, Check, Contribution, Justification, Label, PrincipalId, ReasonCode,
    RunId, Rung, SafetyClass, SafetyMode, Timestamp, Verdict,
};

pub(crate) use arguments::MaskedValue;
pub use arguments::RecordedArguments;
pub use fold::{CallHistory, HistoryEvent};

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordedDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason.
    pub reason: ReasonCode,
    /// What each check said, the first 32.
    pub checks: Vec<Contribution>,
    /// How many checks spoke.
    pub checks_total: usize,
}

/// What became of a call after its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallEnd {
    /// It was not executed.
    #[default]
    NotExecuted,
    /// It is under way, or nobody saw its end.
    Unknown,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// One call, from its first decision to its end. A held call that was made again once it was
/// released is one call.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// The id of the call, of its first attempt.
    pub id: String,
    /// When it was decided first.
    pub at: Timestamp,
    /// Its run.
    pub run: Option<RunId>,
    /// What was called.
    pub capability: CapabilityId,
    /// Who called.
    pub principal: PrincipalId,
    /// The agent of the principal.
    pub agent: Option<AgentId>,
    /// The intent that was stated.
    pub intent: Option<String>,
    /// The justification, redacted.
    pub justification: Option<Justification>,
    /// The safety mode of the run; normal where the log does not have the start of the run.
    pub mode: SafetyMode,
    /// The label of the run at that moment; `None` where the log does not tell the run from its
    /// start.
    pub label: Option<Label>,
    /// The class of the capability then; `None` where nothing of that name was known.
    pub class: Option<SafetyClass>,
    /// Its rung then.
    pub rung: Option<Rung>,
    /// Its tags then.
    pub tags: BTreeSet<String>,
    /// Its arguments.
    pub arguments: RecordedArguments,
    /// What was decided, and enforced.
    pub decision: RecordedDecision,
    /// The decision that would have been enforced, where the policy only observed.
    pub would_have: Option<RecordedDecision>,
    /// The request for an approval that it opened.
    pub request: Option<String>,
    /// Whether people released it after it was held.
    pub released: bool,
    /// How it ended.
    pub end: CallEnd,
    /// How often it was asked for: a held call may be made again while it waits.
    pub attempts: usize,
}

impl RecordedCall {
    /// What the policy of then said, whether it was enforced or not.
    #[must_use]
    pub fn policy_decision(&self) -> &RecordedDecision {
        self.would_have.as_ref().unwrap_or(&self.decision)
    }

    /// Whether the check of information flow objected: untrusted input could have steered the call,
    /// or it would have leaked what is confidential.
    #[must_use]
    pub fn violated_flow(&self) -> bool {
        let flow = |said: &Contribution| {
            said.check == Check::Flow && (said.verdict > Verdict::Allow || said.reason.is_release())
        };
        self.policy_decision().checks.iter().any(flow)
    }
}
