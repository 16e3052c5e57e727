//! The beliefs on which a call depends.

use std::collections::BTreeSet;

use super::SignalSubject;
use super::belief::Belief;
use super::belief_ids::{BeliefId, DecisionId};

/// The maximum number of beliefs that are stored for one run, and that one call can depend on.
pub const MAX_BELIEFS: usize = 256;

/// What a call depends on, as declared by the host.
///
/// Declaring beliefs narrows the dependencies, so a declaration must come from host code, never
/// from the model's text. Without declared beliefs, the call depends on all beliefs of its run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BeliefDeclaration {
    /// The decision under which the call is made.
    pub decision: Option<DecisionId>,
    /// The beliefs that the call depends on.
    pub beliefs: BTreeSet<BeliefId>,
}

/// The beliefs and the decision behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeliefDependencies {
    pub(super) beliefs: Vec<Belief>,
    pub(super) decision: Option<DecisionId>,
    pub(super) complete: bool,
}

impl BeliefDependencies {
    /// No dependencies.
    #[must_use]
    pub const fn none() -> Self {
        Self { beliefs: Vec::new(), decision: None, complete: true }
    }

    /// These beliefs, sorted, and this decision. Beliefs beyond [`MAX_BELIEFS`] are dropped, and
    /// the dependencies are then incomplete.
    #[must_use]
    pub fn new(mut beliefs: Vec<Belief>, decision: Option<DecisionId>) -> Self {
        beliefs.sort();
        beliefs.dedup();
        let complete = beliefs.len() <= MAX_BELIEFS;
        beliefs.truncate(MAX_BELIEFS);
        Self { beliefs, decision, complete }
    }

    /// The known beliefs, sorted by name.
    #[must_use]
    pub fn beliefs(&self) -> &[Belief] {
        &self.beliefs
    }

    /// The declared decision.
    #[must_use]
    pub fn decision(&self) -> Option<&DecisionId> {
        self.decision.as_ref()
    }

    /// False if beliefs were forgotten. The call then counts as depending on every belief.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether a signal about this subject affects the call.
    #[must_use]
    pub fn is_affected_by(&self, subject: &SignalSubject) -> bool {
        match subject {
            SignalSubject::Belief(id) => {
                !self.complete || self.beliefs.iter().any(|belief| belief.id == *id)
            }
            SignalSubject::Decision(id) => self.decision.as_ref() == Some(id),
            SignalSubject::ToolSequence => true,
            SignalSubject::Action(_) => false,
        }
    }
}
