//! The request for a context.

use std::collections::BTreeMap;

use weaver_text::token::TokenCounter;
use weaver_types::Confidentiality;

use crate::compile::redaction_hook::{MaskRedactionHook, RedactionHook};
use crate::compile::{ItemKind, PhaseSpec};

/// What is done with items at or above the floor.
#[derive(Clone, Copy)]
pub enum SensitivityAction<'a> {
    /// They are left out, and with them what hangs on them.
    Drop,
    /// The hook's text stands in place of theirs; id, kind, label and metadata stay.
    Redact(&'a dyn RedactionHook),
}

impl SensitivityAction<'static> {
    /// `[REDACTED: level]` in place of each text.
    #[must_use]
    pub fn mask() -> Self {
        Self::Redact(&MaskRedactionHook)
    }
}

/// What happens when an item does not fit into the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverflowAction {
    /// It is left out and accounted for.
    #[default]
    Drop,
    /// The same, and the statistics carry a warning.
    Warn,
    /// The build is an error.
    Error,
}

/// What happens when something does not fit, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OverflowPolicy {
    /// For kinds that are not listed.
    pub usual: OverflowAction,
    /// For these kinds.
    pub by_kind: BTreeMap<ItemKind, OverflowAction>,
}

impl OverflowPolicy {
    /// The same for every kind.
    #[must_use]
    pub fn all(usual: OverflowAction) -> Self {
        Self { usual, by_kind: BTreeMap::new() }
    }

    /// What happens for a kind.
    #[must_use]
    pub fn of(&self, kind: ItemKind) -> OverflowAction {
        self.by_kind.get(&kind).copied().unwrap_or(self.usual)
    }
}

/// Makes a long text short, for an item that would not fit otherwise.
pub trait Summariser: Sync {
    /// The text in at most so many tokens of this counter; `None` where that cannot be done. What
    /// comes back is counted again.
    fn summarise(&self, text: &str, tokens: usize, counter: &dyn TokenCounter) -> Option<String>;
}

/// What the rendering looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Format {
    /// One text; each item a block with a heading.
    #[default]
    Text,
    /// The `messages` of an OpenAI chat completion.
    OpenAi,
    /// `system` and `messages` of Anthropic's Messages API, with cache breakpoints.
    Anthropic,
    /// `systemInstruction` and `contents` of Gemini.
    Gemini,
}

/// What calls and results are in messages of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CallStyle {
    /// Text, which needs nothing beside it.
    #[default]
    Text,
    /// The provider's own, for a request that also holds the definitions of these tools. A call
    /// without a result, a redacted one and one of which only a text is known stay text.
    Native,
}

/// What to compile for.
#[derive(Clone)]
pub struct Request<'a> {
    /// The step of the loop: kinds, priorities, budget.
    pub phase: PhaseSpec,
    /// What the model is about to do, to prefer items that speak of it. May be empty.
    pub query: &'a str,
    /// More words of the same sort.
    pub tags: &'a [String],
    /// Items as confidential as this, or more, and what hangs on them, are left out or redacted.
    pub floor: Confidentiality,
    /// Which of the two.
    pub action: SensitivityAction<'a>,
    /// What happens when something does not fit.
    pub overflow: OverflowPolicy,
    /// Makes long items short before they are dropped.
    pub summariser: Option<&'a dyn Summariser>,
    /// What the rendering looks like.
    pub format: Format,
    /// What calls are in it.
    pub calls: CallStyle,
    /// Whether to explain the outcome of each item.
    pub explain: bool,
}

impl<'a> Request<'a> {
    /// A text within the usual budget, without a query; confidential items are left out.
    #[must_use]
    pub fn new(phase: impl Into<PhaseSpec>) -> Self {
        Self {
            phase: phase.into(),
            query: "",
            tags: &[],
            floor: Confidentiality::Confidential,
            action: SensitivityAction::Drop,
            overflow: OverflowPolicy::default(),
            summariser: None,
            format: Format::Text,
            calls: CallStyle::Text,
            explain: false,
        }
    }

    /// The same with another budget, in tokens of the whole rendering.
    #[must_use]
    pub fn within(mut self, tokens: usize) -> Self {
        self.phase.budget = tokens;
        self
    }

    /// The same with a query.
    #[must_use]
    pub fn about(mut self, query: &'a str) -> Self {
        self.query = query;
        self
    }
}
