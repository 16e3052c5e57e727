//! The final judgement of a run.

use super::plan::PlannedStep;
use super::record::StepArtifact;

/// A judgement of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Critique {
    /// Whether it did what it should. A dry run always did.
    pub passed: bool,
    /// What is to be said, a line each.
    pub notes: Vec<String>,
}

impl Critique {
    /// Passed when no step failed that the plan needed; a note for each that failed.
    #[must_use]
    pub fn of(plan: &[PlannedStep], done: &[StepArtifact]) -> Self {
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
