//! The request for a compiled context.

use std::collections::BTreeMap;

use weaver_text::token::TokenCounter;
use weaver_types::Confidentiality;

use crate::compile::redaction_hook::{MaskRedactionHook, RedactionHook};
use crate::compile::{ContextItemKind, PhaseSpec};

/// What happens to items at or above the sensitivity floor.
#[derive(Clone, Copy)]
pub enum SensitivityAction<'a> {
    /// They are left out together with their dependents.
    Drop,
    /// The hook's text replaces theirs; id, kind, label and metadata stay.
    Redact(&'a dyn RedactionHook),
}

impl SensitivityAction<'static> {
    /// Redacts each text to `[REDACTED: level]`.
    #[must_use]
    pub fn mask() -> Self {
        Self::Redact(&MaskRedactionHook)
    }
}

/// What happens when an item does not fit into the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverflowAction {
    /// The item is left out and counted in the statistics.
    #[default]
    Drop,
    /// The item is left out, and the statistics carry a warning.
    Warn,
    /// The build fails.
    Error,
}

/// What happens when an item does not fit, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OverflowPolicy {
    /// The action for kinds that are not listed.
    pub default_action: OverflowAction,
    /// The actions for particular kinds.
    pub by_kind: BTreeMap<ContextItemKind, OverflowAction>,
}

impl OverflowPolicy {
    /// The same action for every kind.
    #[must_use]
    pub fn for_every_kind(action: OverflowAction) -> Self {
        Self { default_action: action, by_kind: BTreeMap::new() }
    }

    /// The action for a kind.
    #[must_use]
    pub fn action_for(&self, kind: ContextItemKind) -> OverflowAction {
        self.by_kind.get(&kind).copied().unwrap_or(self.default_action)
    }
}

/// Shortens a long text, for an item that would not fit otherwise.
pub trait Summariser: Sync {
    /// The text in at most `tokens` tokens of this counter; `None` if that is impossible. The result
    /// is counted again.
    fn summarise(&self, text: &str, tokens: usize, counter: &dyn TokenCounter) -> Option<String>;
}

/// The format of the rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PromptFormat {
    /// One text, in which each item is a block with a heading.
    #[default]
    Text,
    /// The `messages` of an OpenAI chat completion.
    OpenAi,
    /// `system` and `messages` of Anthropic's Messages API, with cache breakpoints.
    Anthropic,
    /// `systemInstruction` and `contents` of Gemini.
    Gemini,
}

/// How calls and results appear in the messages of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CallStyle {
    /// As text, which needs no tool definitions in the request.
    #[default]
    Text,
    /// In the provider's native form, for a request that also defines these tools. A call without a
    /// result, a redacted call, and a call known only as text stay text.
    Native,
}

/// A request for a compiled context.
#[derive(Clone)]
pub struct CompileRequest<'a> {
    /// The phase: kinds, priorities, budget.
    pub phase: PhaseSpec,
    /// What the model is about to do; items that share its words are preferred. May be empty.
    pub query: &'a str,
    /// Further words of the query.
    pub tags: &'a [String],
    /// Items with at least this confidentiality, and their dependents, are left out or redacted.
    pub sensitivity_floor: Confidentiality,
    /// Whether such items are left out or redacted.
    pub sensitivity_action: SensitivityAction<'a>,
    /// What happens when an item does not fit.
    pub overflow: OverflowPolicy,
    /// Shortens long items before they are dropped.
    pub summariser: Option<&'a dyn Summariser>,
    /// The format of the rendering.
    pub format: PromptFormat,
    /// How calls appear in it.
    pub call_style: CallStyle,
    /// Whether to explain the outcome of each item.
    pub explain: bool,
}

impl<'a> CompileRequest<'a> {
    /// A request for a text within the budget of the phase, without a query. Confidential items are
    /// left out.
    #[must_use]
    pub fn new(phase: impl Into<PhaseSpec>) -> Self {
        Self {
            phase: phase.into(),
            query: "",
            tags: &[],
            sensitivity_floor: Confidentiality::Confidential,
            sensitivity_action: SensitivityAction::Drop,
            overflow: OverflowPolicy::default(),
            summariser: None,
            format: PromptFormat::Text,
            call_style: CallStyle::Text,
            explain: false,
        }
    }

    /// Sets the budget, in tokens of the complete rendering.
    #[must_use]
    pub fn with_budget(mut self, tokens: usize) -> Self {
        self.phase.budget = tokens;
        self
    }

    /// Sets the query.
    #[must_use]
    pub fn with_query(mut self, query: &'a str) -> Self {
        self.query = query;
        self
    }
}
