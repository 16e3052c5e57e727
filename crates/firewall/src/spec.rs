//! The specification of a frame: what it may contain.

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
use crate::redact::field_names::FieldNameClassifier;

/// The deepest nesting that any budget may show.
const MAX_DEPTH: u32 = 64;

/// The most items of a list inside a cell in tables and facts.
const MAX_CELL_ITEMS: usize = 50;
/// The deepest nesting in mode `auto`: the deepest that redaction leaves.
const AUTO_MODE_DEPTH: usize = 128;
/// The bounds of mode `auto`, which is limited by tokens instead.
const AUTO_MODE_BUDGET: FrameBudget = FrameBudget {
    max_rows: 100_000,
    max_fields: u32::MAX,
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
    /// Characters of the frame's JSON; default 4,000. See [`Firewall::min_chars`] for the lower
    /// limit.
    ///
    /// [`Firewall::min_chars`]: crate::Firewall::min_chars
    pub max_chars: u32,
    /// Levels of nesting that are shown; default 3, at most 64.
    pub max_depth: u32,
    /// Tokens that a model reads in mode `auto`; default 8,000. The other bounds do not apply to
    /// that mode, unless the constraints of a decision set them.
    pub max_tokens: u32,
    /// The tokenizer that counts them; an estimate by default.
    pub tokenizer: Tokenizer,
}

/// How tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Tokenizer {
    /// An estimate that needs no tables.
    #[default]
    Estimate,
    /// The vocabulary `cl100k_base`.
    #[cfg(feature = "tiktoken")]
    Cl100k,
    /// The vocabulary `o200k_base`.
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
    /// The capability that produced the result.
    pub capability: &'a Capability,
    /// The requested mode; constraints may make it stricter.
    pub mode: ResponseMode,
    /// The bounds; constraints may tighten but never loosen them.
    pub budget: FrameBudget,
    /// The constraints of the decision.
    pub constraints: &'a Constraints,
    /// True if the principal is exempt from the capability's own list of allowed fields, and from
    /// the extra masking for results tagged as personal data. The list in the constraints still
    /// applies.
    pub pii_reader: bool,
    /// The handle of the stored result, if it was stored.
    pub handle: Option<&'a Handle>,
    /// The label of the frame.
    pub label: Label,
    /// When the frame is made.
    pub now: Timestamp,
    /// True under `SafetyMode::Strict`: a frame shows only the handle, and a drill-down gives
    /// summaries, never rows.
    pub strict: bool,
    /// What the caller wants, in words, if known; relevant rows and facts come first.
    pub goal: Option<&'a str>,
}

impl FrameSpec<'_> {
    /// How much personal data the capability's contract discloses to the reader. Personal data is
    /// masked if the capability is tagged with it, or if no signed contract says otherwise. Kinds
    /// that a contract reveals are shown to a `pii_reader` even then.
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

/// The bounds in force, combined from spec, capability and constraints.
#[derive(Debug, Clone)]
pub(crate) struct EffectiveLimits {
    pub(crate) rows: usize,
    pub(crate) fields: usize,
    pub(crate) chars: usize,
    pub(crate) depth: usize,
    pub(crate) mode: ResponseMode,
    /// Tokens that a model reads, in mode `auto`.
    pub(crate) tokens: usize,
    tokenizer: Tokenizer,
    /// True if the constraints limit the rows.
    pub(crate) bounds_rows: bool,
    /// The only fields that may be shown; `None` for no restriction.
    pub(crate) allowed: Option<BTreeSet<String>>,
    /// The only fields that a query wants of them; `None` for all.
    pub(crate) requested: Option<BTreeSet<String>>,
    /// Fields that the operator listed; they are shown regardless of the tags.
    operator_allowed: BTreeSet<String>,
    /// Tags that make more field names sensitive.
    tags: BTreeSet<SensitivityTag>,
    pub(crate) goal: Option<Goal>,
}

impl EffectiveLimits {
    pub(crate) fn from_spec(spec: &FrameSpec<'_>) -> Self {
        let tighter = |budget: u32, constraint: Option<u32>| {
            usize::try_from(constraint.map_or(budget, |c| c.min(budget))).unwrap_or(usize::MAX)
        };
        let mode = spec.constraints.mode.map_or(spec.mode, |mode| mode.max(spec.mode));
        let auto = mode == ResponseMode::Auto && !spec.strict;
        // Mode `auto` is limited by tokens, and by whatever bounds the constraints set.
        let budget = if auto { AUTO_MODE_BUDGET } else { spec.budget };
        let chars = tighter(budget.max_chars, spec.constraints.max_chars);
        let unbounded = auto && spec.constraints.max_chars.is_none();
        Self {
            rows: tighter(budget.max_rows, spec.constraints.max_rows),
            fields: tighter(budget.max_fields, spec.constraints.max_fields),
            chars: if unbounded { usize::MAX } else { chars },
            depth: if auto { AUTO_MODE_DEPTH } else { tighter(budget.max_depth, Some(MAX_DEPTH)) },
            mode,
            tokens: tighter(spec.budget.max_tokens, spec.constraints.max_tokens),
            tokenizer: spec.budget.tokenizer,
            bounds_rows: spec.constraints.max_rows.is_some(),
            allowed: allowed_fields(spec),
            requested: None,
            operator_allowed: spec.capability.spec().allowed_fields.clone(),
            tags: sensitivity_tags(spec),
            goal: spec.goal.and_then(Goal::parse),
        }
    }

    /// True if the contract says that results contain secrets or personal data.
    pub(crate) fn is_tagged(&self) -> bool {
        self.tags.iter().any(|tag| *tag != SensitivityTag::Memory)
    }

    /// A classifier for the field names of this result.
    pub(crate) fn field_name_classifier(&self) -> FieldNameClassifier {
        FieldNameClassifier::with_tags(self.tags.clone())
            .with_operator_allowed(&self.operator_allowed)
    }

    /// True if the text mentions the goal.
    pub(crate) fn is_relevant(&self, text: &str) -> bool {
        self.goal.as_ref().is_some_and(|goal| goal.match_count(text) > 0)
    }

    /// True if a field of this name may be shown and is wanted.
    pub(crate) fn may_show_field(&self, field: &str) -> bool {
        self.requested.as_ref().is_none_or(|requested| requested.contains(field))
            && !self.withholds_field(field)
    }

    /// True if no field of this name may be shown, whatever is wanted.
    pub(crate) fn withholds_field(&self, field: &str) -> bool {
        self.allowed.as_ref().is_some_and(|allowed| !allowed.contains(field))
    }

    /// True if only some fields are shown.
    pub(crate) fn restricts_fields(&self) -> bool {
        self.allowed.is_some() || self.requested.is_some()
    }

    /// Only these fields, if any are named.
    pub(crate) fn with_requested_fields(mut self, fields: &[String]) -> Self {
        if !fields.is_empty() {
            self.requested = Some(fields.iter().cloned().collect());
        }
        self
    }

    /// The token counter.
    pub(crate) fn token_counter(&self) -> &'static dyn TokenCounter {
        self.tokenizer.counter()
    }

    /// A text with more bytes cannot fit, since no ordinary token is that long.
    pub(crate) fn max_text_bytes(&self) -> usize {
        self.tokens.saturating_mul(32)
    }

    /// The most items of a list inside a cell.
    pub(crate) fn max_cell_items(&self) -> usize {
        if self.mode == ResponseMode::Auto { self.rows } else { MAX_CELL_ITEMS }
    }

    /// The longest string that a cell shows in full, in characters. In mode `auto` a row that does
    /// not fit is cut as a whole.
    pub(crate) fn max_cell_chars(&self) -> usize {
        if self.mode == ResponseMode::Auto {
            return usize::MAX;
        }
        (self.chars / 3).clamp(16, 1_000)
    }
}

/// The allowed fields: the capability's list, unless the reader is exempt, and the list of the
/// constraints. Both apply.
fn allowed_fields(spec: &FrameSpec<'_>) -> Option<BTreeSet<String>> {
    let capability_fields = &spec.capability.spec().allowed_fields;
    let restriction =
        (!spec.pii_reader && !capability_fields.is_empty()).then_some(capability_fields);
    match (restriction, &spec.constraints.allowed_fields) {
        (Some(a), Some(b)) => Some(a.intersection(b).cloned().collect()),
        (Some(a), None) => Some(a.clone()),
        (None, b) => b.clone(),
    }
}

fn sensitivity_tags(spec: &FrameSpec<'_>) -> BTreeSet<SensitivityTag> {
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
