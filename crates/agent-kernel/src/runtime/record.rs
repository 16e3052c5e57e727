//! The record of a run.

use weaver_types::{
    ApprovalRequestId, CallId, CapabilityId, Frame, ResponseMode, RunId, RunMeters, Timestamp,
    ToolResult, Verdict,
};

use super::critique::Critique;
use super::plan::{PlanError, PlannedStep};

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepArtifact {
    /// The index of the step in the plan, from 0.
    pub index: usize,
    /// The called capability.
    pub capability: CapabilityId,
    /// Whether it succeeded; in a dry run, whether it would be allowed.
    pub ok: bool,
    /// Why it failed, redacted: `budget exhausted`, `not reached`, or the message of the kernel.
    pub error: Option<String>,
    /// The verdict; `None` for a step that never reached the kernel.
    pub verdict: Option<Verdict>,
    /// The call, by which the log is searched.
    pub call: Option<CallId>,
    /// The result.
    pub result: Option<ToolResult<Frame>>,
    /// The approval request that is open for a held call.
    pub request: Option<ApprovalRequestId>,
    /// The mode in which the result was shown, or would be at most.
    pub mode: Option<ResponseMode>,
}

impl StepArtifact {
    /// A step that was not executed.
    pub(super) fn not_executed(index: usize, step: &PlannedStep, error: impl Into<String>) -> Self {
        Self {
            index,
            capability: step.capability.clone(),
            ok: false,
            error: Some(error.into()),
            verdict: None,
            call: None,
            result: None,
            request: None,
            mode: None,
        }
    }
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The run.
    pub run: RunId,
    /// Its goal.
    pub goal: String,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The plan; empty if there is none.
    pub plan: Vec<PlannedStep>,
    /// Why there is no plan.
    pub plan_error: Option<PlanError>,
    /// The result of each step, in the order of the plan.
    pub steps: Vec<StepArtifact>,
    /// The judgement of the run.
    pub critique: Critique,
    /// What the run had used by its end; `None` when it cannot be read.
    pub meters: Option<RunMeters>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Whether its end is recorded in the log. A dry run records nothing.
    pub recorded: bool,
}

impl RunRecord {
    /// Whether the run passed its critique.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.critique.passed
    }
}
