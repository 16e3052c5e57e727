//! The phases of an agent's loop: which kinds of items each includes, their priorities, and its
//! budget.

use std::borrow::Cow;

use crate::compile::ContextItemKind;

/// A phase of the agent's loop.
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

weaver_types::words! {
    Phase: "The word for the phase.",
    all "Every phase, in the order of the loop.",
    parse "Parses the word for a phase.";
    Route = "route", Call = "call", Interpret = "interpret", Answer = "answer",
}

impl Phase {
    fn budget(self) -> usize {
        match self {
            Self::Route => 2000,
            Self::Call => 3000,
            Self::Interpret => 4000,
            Self::Answer => 6000,
        }
    }

    /// The priority of a kind in this phase, in hundredths; `None` if the phase does not include it.
    fn priority(self, kind: ContextItemKind) -> Option<u8> {
        use ContextItemKind as K;
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
        let priority = match self {
            Self::Route => route,
            Self::Call => call,
            Self::Interpret => interpret,
            Self::Answer => answer,
        };
        (priority > 0).then_some(priority)
    }
}

/// What a context is compiled for: one of the four phases, or one that the host defines.
///
/// ```
/// use contextweaver::compile::{ContextItemKind, Phase, PhaseSpec};
///
/// let review = PhaseSpec::new("review", 1500)
///     .with_kind(ContextItemKind::Policy, 100)
///     .with_kind(ContextItemKind::Doc, 80);
/// assert!(review.includes(ContextItemKind::Doc));
/// assert!(!review.includes(ContextItemKind::UserTurn));
/// assert_eq!(PhaseSpec::from(Phase::Answer).budget, 6000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSpec {
    /// The name of the phase in statistics.
    pub name: Cow<'static, str>,
    /// The token budget of the complete rendering.
    pub budget: usize,
    /// The priority of each kind that the phase includes.
    priorities: Priorities,
}

/// Priorities by kind, in hundredths.
pub(super) type Priorities = [Option<u8>; ContextItemKind::ALL.len()];

impl PhaseSpec {
    /// A phase that includes no kinds yet.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, budget: usize) -> Self {
        Self { name: name.into(), budget, priorities: [None; ContextItemKind::ALL.len()] }
    }

    /// Includes items of this kind. The priority is in hundredths, at most 100.
    #[must_use]
    pub fn with_kind(mut self, kind: ContextItemKind, priority: u8) -> Self {
        if let Some(entry) = self.priorities.get_mut(kind as usize) {
            *entry = Some(priority.min(100));
        }
        self
    }

    /// Whether items of this kind are candidates by themselves, not only as dependencies.
    #[must_use]
    pub fn includes(&self, kind: ContextItemKind) -> bool {
        self.priority(kind).is_some()
    }

    /// The priority of a kind, in hundredths; `None` if the phase does not include it.
    #[must_use]
    pub fn priority(&self, kind: ContextItemKind) -> Option<u8> {
        self.priorities.get(kind as usize).copied().flatten()
    }

    pub(super) fn priorities(&self) -> Priorities {
        self.priorities
    }
}

impl From<Phase> for PhaseSpec {
    fn from(phase: Phase) -> Self {
        let spec = Self::new(phase.as_str(), phase.budget());
        ContextItemKind::ALL.into_iter().fold(spec, |spec, kind| match phase.priority(kind) {
            Some(priority) => spec.with_kind(kind, priority),
            None => spec,
        })
    }
}
