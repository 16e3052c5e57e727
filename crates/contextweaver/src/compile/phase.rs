//! The steps of an agent's loop, with their kinds and budgets.

use crate::compile::ItemKind;

/// A step of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Choosing what to call.
    Route,
    /// Writing the call.
    Call,
    /// Reading the result.
    Interpret,
    /// Answering the user.
    Answer,
}

impl Phase {
    /// Whether items of this kind belong into the phase by themselves.
    #[must_use]
    pub fn takes(self, kind: ItemKind) -> bool {
        match kind {
            ItemKind::UserTurn | ItemKind::PlanState | ItemKind::Policy => true,
            ItemKind::AgentMessage | ItemKind::ToolCall => self >= Self::Call,
            ItemKind::ToolResult | ItemKind::Doc | ItemKind::MemoryFact => self >= Self::Interpret,
        }
    }
}

/// Tokens that the compiled context of each phase may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// For [`Phase::Route`]; 2,000 by default.
    pub route: usize,
    /// For [`Phase::Call`]; 3,000 by default.
    pub call: usize,
    /// For [`Phase::Interpret`]; 4,000 by default.
    pub interpret: usize,
    /// For [`Phase::Answer`]; 6,000 by default.
    pub answer: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { route: 2000, call: 3000, interpret: 4000, answer: 6000 }
    }
}

impl Budgets {
    /// The same budget for every phase.
    #[must_use]
    pub fn all(tokens: usize) -> Self {
        Self { route: tokens, call: tokens, interpret: tokens, answer: tokens }
    }

    /// The budget of one phase.
    #[must_use]
    pub fn of(&self, phase: Phase) -> usize {
        match phase {
            Phase::Route => self.route,
            Phase::Call => self.call,
            Phase::Interpret => self.interpret,
            Phase::Answer => self.answer,
        }
    }
}
