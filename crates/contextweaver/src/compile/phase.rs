//! The steps of an agent's loop: what each takes in, how much, and what matters most in it.

use std::borrow::Cow;

use crate::compile::ItemKind;

/// A step of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Choosing what to call: 2,000 tokens.
    Route,
    /// Writing the call: 3,000 tokens.
    Call,
    /// Reading the result: 4,000 tokens.
    Interpret,
    /// Answering the user: 6,000 tokens.
    Answer,
}

impl Phase {
    /// Every phase, in the order of the loop.
    pub const ALL: [Self; 4] = [Self::Route, Self::Call, Self::Interpret, Self::Answer];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Call => "call",
            Self::Interpret => "interpret",
            Self::Answer => "answer",
        }
    }

    /// The phase of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == word)
    }

    fn budget(self) -> usize {
        match self {
            Self::Route => 2000,
            Self::Call => 3000,
            Self::Interpret => 4000,
            Self::Answer => 6000,
        }
    }

    /// How much a kind matters in the phase, in hundredths; `None` where it does not belong.
    fn priority(self, kind: ItemKind) -> Option<u8> {
        use ItemKind as K;
        let [route, call, interpret, answer] = match kind {
            K::UserTurn => [85, 85, 85, 100],
            K::ToolResult => [0, 0, 100, 95],
            K::ToolCall => [0, 95, 90, 60],
            K::Policy => [95, 100, 95, 90],
            K::PlanState => [90, 90, 80, 80],
            K::AgentMessage => [0, 60, 60, 70],
            K::MemoryFact => [50, 50, 50, 65],
            K::RetrievedDoc => [0, 0, 55, 50],
            K::Doc => [0, 0, 50, 45],
            K::ToolCard => [100, 0, 0, 0],
        };
        let found = match self {
            Self::Route => route,
            Self::Call => call,
            Self::Interpret => interpret,
            Self::Answer => answer,
        };
        (found > 0).then_some(found)
    }
}

/// What a context is compiled for: one of the four phases, or one of the host's own.
///
/// ```
/// use contextweaver::compile::{ItemKind, Phase, PhaseSpec};
///
/// let review = PhaseSpec::new("review", 1500).with(ItemKind::Policy, 100).with(ItemKind::Doc, 80);
/// assert!(review.takes(ItemKind::Doc) && !review.takes(ItemKind::UserTurn));
/// assert_eq!(PhaseSpec::from(Phase::Answer).budget, 6000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSpec {
    /// What it is called in statistics.
    pub name: Cow<'static, str>,
    /// The tokens that the whole rendering may have.
    pub budget: usize,
    /// Hundredths by kind; a kind without does not enter by itself.
    priorities: Priorities,
}

/// Hundredths by kind.
pub(super) type Priorities = [Option<u8>; ItemKind::ALL.len()];

impl PhaseSpec {
    /// A phase that takes nothing in yet.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, budget: usize) -> Self {
        Self { name: name.into(), budget, priorities: [None; ItemKind::ALL.len()] }
    }

    /// The same, taking in items of this kind. The priority is in hundredths, at most 100.
    #[must_use]
    pub fn with(mut self, kind: ItemKind, priority: u8) -> Self {
        if let Some(entry) = self.priorities.get_mut(kind as usize) {
            *entry = Some(priority.min(100));
        }
        self
    }

    /// Whether items of this kind belong into the phase by themselves.
    #[must_use]
    pub fn takes(&self, kind: ItemKind) -> bool {
        self.priority(kind).is_some()
    }

    /// How much a kind matters, in hundredths; `None` where it does not enter by itself.
    #[must_use]
    pub fn priority(&self, kind: ItemKind) -> Option<u8> {
        self.priorities.get(kind as usize).copied().flatten()
    }

    pub(super) fn priorities(&self) -> Priorities {
        self.priorities
    }
}

impl From<Phase> for PhaseSpec {
    fn from(phase: Phase) -> Self {
        let spec = Self::new(phase.as_str(), phase.budget());
        ItemKind::ALL.into_iter().fold(spec, |spec, kind| match phase.priority(kind) {
            Some(priority) => spec.with(kind, priority),
            None => spec,
        })
    }
}
