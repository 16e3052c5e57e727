//! The beliefs on which a call depends.

use std::collections::BTreeSet;

use super::Subject;
use super::belief::Belief;
use super::name::{BeliefId, DecisionId};

/// The most beliefs that are kept for one run, and that one call may depend on.
pub const MAX_BELIEFS: usize = 256;

/// What the maker of a call says it rests on.
///
/// Naming beliefs narrows the dependencies, so it has to come from host code, never from text of
/// the model. Naming none narrows nothing: the call depends on every belief of its run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declaration {
    /// The decision under which the call is made.
    pub decision: Option<DecisionId>,
    /// The beliefs behind it.
    pub beliefs: BTreeSet<BeliefId>,
}

/// The beliefs and the decision behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependencies {
    pub(super) beliefs: Vec<Belief>,
    pub(super) decision: Option<DecisionId>,
    pub(super) complete: bool,
}

impl Dependencies {
    /// A call that rests on nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self { beliefs: Vec::new(), decision: None, complete: true }
    }

    /// These beliefs, in the order of their names, and this decision. Beyond [`MAX_BELIEFS`] they
    /// are not kept, and the dependencies are not complete.
    #[must_use]
    pub fn of(mut beliefs: Vec<Belief>, decision: Option<DecisionId>) -> Self {
        beliefs.sort();
        beliefs.dedup();
        let complete = beliefs.len() <= MAX_BELIEFS;
        beliefs.truncate(MAX_BELIEFS);
        Self { beliefs, decision, complete }
    }

    /// The beliefs that are known, in the order of their names.
    #[must_use]
    pub fn beliefs(&self) -> &[Belief] {
        &self.beliefs
    }

    /// The decision that was declared.
    #[must_use]
    pub fn decision(&self) -> Option<&DecisionId> {
        self.decision.as_ref()
    }

    /// False where beliefs were forgotten. Then the call counts as depending on every belief.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Whether a signal about this subject concerns the call.
    #[must_use]
    pub fn concerned_by(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Belief(id) => {
                !self.complete || self.beliefs.iter().any(|belief| belief.id == *id)
            }
            Subject::Decision(id) => self.decision.as_ref() == Some(id),
            Subject::ToolSequence => true,
            Subject::Action(_) => false,
        }
    }
}
