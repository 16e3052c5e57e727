//! The final judgement of a run.

use super::plan::PlannedStep;
use super::record::StepArtifact;

/// A judgement of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Critique {
    /// Whether the run reached its goal. A dry run always passes.
    pub passed: bool,
    /// Remarks, one line each.
    pub notes: Vec<String>,
}

impl Critique {
    /// Passes when no required step failed; adds a note for each failed step.
    #[must_use]
    pub fn from_steps(plan: &[PlannedStep], done: &[StepArtifact]) -> Self {
        let failed = |step: &&StepArtifact| !step.ok;
        let needed = |step: &StepArtifact| plan.get(step.index).is_none_or(|plan| !plan.optional);
        let notes = done.iter().filter(failed).map(|step| {
            let error = step.error.as_deref().unwrap_or("failed");
            format!("step {} (`{}`): {error}", step.index + 1, step.capability)
        });
        let passed = !done.iter().filter(failed).any(needed);
        Self { passed, notes: notes.collect() }
    }
}
