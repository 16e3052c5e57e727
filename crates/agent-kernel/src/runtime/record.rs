//! The record of a run.

use weaver_types::{
    CallId, CapabilityId, Frame, RequestId, ResponseMode, RunId, RunMeters, Timestamp, ToolResult,
    Verdict,
};

use super::critique::Critique;
use super::plan::{PlanError, PlannedStep};

/// What a step came to.
#[derive(Debug, Clone, PartialEq)]
pub struct StepArtifact {
    /// Which step of the plan, from 0.
    pub index: usize,
    /// What was called.
    pub capability: CapabilityId,
    /// Whether it succeeded; in a dry run, whether it would be allowed.
    pub ok: bool,
    /// Why not, redacted: `budget exhausted`, `not reached`, or what the kernel says.
    pub error: Option<String>,
    /// The verdict; `None` for a step that never reached the kernel.
    pub verdict: Option<Verdict>,
    /// The call, by which the log is searched.
    pub call: Option<CallId>,
    /// The result.
    pub result: Option<ToolResult<Frame>>,
    /// The request that is open for a held call.
    pub request: Option<RequestId>,
    /// How much was shown, or would be at most.
    pub mode: Option<ResponseMode>,
}

impl StepArtifact {
    /// A step that never reached a tool.
    pub(super) fn stopped(index: usize, step: &PlannedStep, error: impl Into<String>) -> Self {
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

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The run.
    pub run: RunId,
    /// What it was for.
    pub goal: String,
    /// Whether it only planned.
    pub dry_run: bool,
    /// The plan; empty when there is none.
    pub plan: Vec<PlannedStep>,
    /// Why there is none.
    pub plan_error: Option<PlanError>,
    /// What each step came to, in the order of the plan.
    pub steps: Vec<StepArtifact>,
    /// What is said of it.
    pub critique: Critique,
    /// What the run has used up by its end; `None` when it cannot be read.
    pub meters: Option<RunMeters>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Whether its end stands in the log. A dry run leaves nothing there.
    pub recorded: bool,
}

impl RunRecord {
    /// Whether it did what it should.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.critique.passed
    }
}
