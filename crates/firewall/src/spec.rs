//! The specification of a frame: what it may hold.

use std::collections::BTreeSet;
use std::sync::Arc;

#[cfg(feature = "tiktoken")]
use weaver_text::token::Tiktoken;
use weaver_text::token::{Estimate, TokenCounter};
use weaver_types::{
    CallId, Capability, Constraints, Handle, Label, ResponseMode, SensitivityTag, Timestamp,
};

use crate::goal::Goal;
use crate::redact::Disclosure;
use crate::redact::field::Names;

/// The deepest nesting that any budget shows.
const MAX_DEPTH: u32 = 64;

/// The most items of a list inside a cell, where rows and facts are shown.
const MAX_ITEMS: usize = 50;
/// The bounds of mode `auto` beside its tokens.
const AUTO: FrameBudget = FrameBudget {
    max_rows: 100_000,
    max_fields: 1_000,
    max_chars: u32::MAX,
    max_depth: MAX_DEPTH,
    max_tokens: u32::MAX,
    tokenizer: Tokenizer::Estimate,
};

/// Bounds of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameBudget {
    /// Rows of a table; default 50.
    pub max_rows: u32,
    /// Fields of a row; default 20.
    pub max_fields: u32,
    /// Characters of the frame's JSON; default 4,000. See [`Firewall::min_chars`] for its floor.
    ///
    /// [`Firewall::min_chars`]: crate::Firewall::min_chars
    pub max_chars: u32,
    /// Levels of nesting that are shown; default 3, at most 64.
    pub max_depth: u32,
    /// Tokens of what a model reads in mode `auto`; default 8,000. The other bounds do not apply
    /// to that mode, unless the constraints of a decision name them.
    pub max_tokens: u32,
    /// How they are counted; estimated by default.
    pub tokenizer: Tokenizer,
}

/// How tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Tokenizer {
    /// By an estimate that needs no tables.
    #[default]
    Estimate,
    /// By the vocabulary `cl100k_base`.
    #[cfg(feature = "tiktoken")]
    Cl100k,
    /// By the vocabulary `o200k_base`.
    #[cfg(feature = "tiktoken")]
    O200k,
}

impl Tokenizer {
    fn counter(self) -> &'static dyn TokenCounter {
        match self {
            Self::Estimate => &Estimate,
            #[cfg(feature = "tiktoken")]
            Self::Cl100k => &Tiktoken::CL100K,
            #[cfg(feature = "tiktoken")]
            Self::O200k => &Tiktoken::O200K,
        }
    }
}

impl Default for FrameBudget {
    fn default() -> Self {
        Self {
            max_rows: 50,
            max_fields: 20,
            max_chars: 4_000,
            max_depth: 3,
            max_tokens: 8_000,
            tokenizer: Tokenizer::Estimate,
        }
    }
}

/// Everything that decides what a frame may show of a result.
#[derive(Debug, Clone)]
pub struct FrameSpec<'a> {
    /// The call that the frame answers.
    pub call: &'a CallId,
    /// What produced the result.
    pub capability: &'a Capability,
    /// The mode asked for; constraints may make it stricter.
    pub mode: ResponseMode,
    /// The bounds; constraints may make them tighter, never looser.
    pub budget: FrameBudget,
    /// The constraints of the decision.
    pub constraints: &'a Constraints,
    /// True when the principal is exempt from the capability's own list of allowed fields, and
    /// from what the tag for personal data masks beyond the ordinary. The list in the constraints
    /// applies all the same.
    pub pii_reader: bool,
    /// The handle behind which the whole result lies, if it was stored.
    pub handle: Option<&'a Handle>,
    /// The label of the frame.
    pub label: Label,
    /// When the frame is made.
    pub now: Timestamp,
    /// True under `SafetyMode::Strict`: a frame is a handle alone, and a drill-down gives
    /// summaries, never rows.
    pub strict: bool,
    /// What the caller wants, in words, where known: rows and facts that bear on it come first.
    pub goal: Option<&'a str>,
}

impl FrameSpec<'_> {
    /// What the contract of a capability lets a reader see: personal data is masked where the
    /// capability is tagged with it and where no signed contract speaks. The kinds that a contract
    /// reveals are shown to a `pii_reader` there too.
    pub(crate) fn disclosure(&self) -> Disclosure {
        let capability = self.capability.spec();
        let is_personal =
            |tag: &SensitivityTag| matches!(tag, SensitivityTag::Pii | SensitivityTag::Pci);
        if !capability.mask_personal && !capability.sensitivity.iter().any(is_personal) {
            return Disclosure::Personal;
        }
        if self.pii_reader && !capability.reveal.is_empty() {
            return Disclosure::Kinds(Arc::new(capability.reveal.clone()));
        }
        Disclosure::Nothing
    }
}

/// The bounds in force, joined from spec, capability and constraints.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) rows: usize,
    pub(crate) fields: usize,
    pub(crate) chars: usize,
    pub(crate) depth: usize,
    pub(crate) mode: ResponseMode,
    /// Tokens of what a model reads, in mode `auto`.
    pub(crate) tokens: usize,
    tokenizer: Tokenizer,
    /// True where the constraints bound the rows.
    pub(crate) bounds_rows: bool,
    /// Only these fields; `None` for no restriction.
    pub(crate) allowed: Option<BTreeSet<String>>,
    /// Fields that the operator listed, and so shows whatever the tags say.
    listed: BTreeSet<String>,
    /// The tags that make more names of fields sensitive.
    tags: BTreeSet<SensitivityTag>,
    pub(crate) goal: Option<Goal>,
}

impl Limits {
    pub(crate) fn of(spec: &FrameSpec<'_>) -> Self {
        let least = |budget: u32, constraint: Option<u32>| {
            usize::try_from(constraint.map_or(budget, |c| c.min(budget))).unwrap_or(usize::MAX)
        };
        let mode = spec.constraints.mode.map_or(spec.mode, |mode| mode.max(spec.mode));
        let auto = mode == ResponseMode::Auto && !spec.strict;
        // What is shown as it is, is bounded by its tokens, and by what a rule names.
        let budget = if auto { AUTO } else { spec.budget };
        let chars = least(budget.max_chars, spec.constraints.max_chars);
        let unbounded = auto && spec.constraints.max_chars.is_none();
        Self {
            rows: least(budget.max_rows, spec.constraints.max_rows),
            fields: least(budget.max_fields, spec.constraints.max_fields),
            chars: if unbounded { usize::MAX } else { chars },
            depth: least(budget.max_depth, Some(MAX_DEPTH)),
            mode,
            tokens: least(spec.budget.max_tokens, spec.constraints.max_tokens),
            tokenizer: spec.budget.tokenizer,
            bounds_rows: spec.constraints.max_rows.is_some(),
            allowed: allowed(spec),
            listed: spec.capability.spec().allowed_fields.clone(),
            tags: tags(spec),
            goal: spec.goal.and_then(Goal::of),
        }
    }

    /// Whether the contract says that there are secrets or personal data in the results.
    pub(crate) fn is_tagged(&self) -> bool {
        self.tags.iter().any(|tag| *tag != SensitivityTag::Memory)
    }

    /// What names of fields mean in this result.
    pub(crate) fn names(&self) -> Names {
        Names::tagged(self.tags.clone()).listed(&self.listed)
    }

    /// True for words that bear on the goal.
    pub(crate) fn bears(&self, text: &str) -> bool {
        self.goal.as_ref().is_some_and(|goal| goal.weight(text) > 0)
    }

    /// True when a field of this name may be shown.
    pub(crate) fn admits(&self, field: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(field))
    }

    /// What counts tokens.
    pub(crate) fn counter(&self) -> &'static dyn TokenCounter {
        self.tokenizer.counter()
    }

    /// A text with more bytes cannot fit: no ordinary token is that long.
    pub(crate) fn most_bytes(&self) -> usize {
        self.tokens.saturating_mul(32)
    }

    /// The most items of a list inside a cell.
    pub(crate) fn items(&self) -> usize {
        if self.mode == ResponseMode::Auto { self.rows } else { MAX_ITEMS }
    }

    /// The longest string that is shown whole in one cell.
    pub(crate) fn cell_chars(&self) -> usize {
        if self.mode == ResponseMode::Auto {
            return self.tokens.saturating_mul(4);
        }
        (self.chars / 3).clamp(16, 1_000)
    }
}

/// The capability's list, unless the reader is exempt, and the list of the constraints: both
/// apply.
fn allowed(spec: &FrameSpec<'_>) -> Option<BTreeSet<String>> {
    let own = &spec.capability.spec().allowed_fields;
    let own = (!spec.pii_reader && !own.is_empty()).then_some(own);
    match (own, &spec.constraints.allowed_fields) {
        (Some(a), Some(b)) => Some(a.intersection(b).cloned().collect()),
        (Some(a), None) => Some(a.clone()),
        (None, b) => b.clone(),
    }
}

fn tags(spec: &FrameSpec<'_>) -> BTreeSet<SensitivityTag> {
    let mut tags = spec.capability.spec().sensitivity.clone();
    if spec.pii_reader {
        tags.remove(&SensitivityTag::Pii);
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_reference() {
        let own = FrameBudget::default();
        let all = (own.max_rows, own.max_fields, own.max_chars, own.max_depth);
        assert_eq!(all, (50, 20, 4_000, 3));
    }
}
