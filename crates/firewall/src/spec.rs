//! What one frame may hold.

use std::collections::BTreeSet;

use weaver_types::{
    CallId, Capability, Constraints, Handle, Label, ResponseMode, SensitivityTag, Timestamp,
};

use crate::redact::field::Names;
use crate::summary::Goal;

/// The deepest nesting that any budget shows.
const MAX_DEPTH: u32 = 64;

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
}

impl Default for FrameBudget {
    fn default() -> Self {
        Self { max_rows: 50, max_fields: 20, max_chars: 4_000, max_depth: 3 }
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

/// The bounds in force, joined from spec, capability and constraints.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) rows: usize,
    pub(crate) fields: usize,
    pub(crate) chars: usize,
    pub(crate) depth: usize,
    pub(crate) mode: ResponseMode,
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
        Self {
            rows: least(spec.budget.max_rows, spec.constraints.max_rows),
            fields: least(spec.budget.max_fields, spec.constraints.max_fields),
            chars: least(spec.budget.max_chars, spec.constraints.max_chars),
            depth: least(spec.budget.max_depth, Some(MAX_DEPTH)),
            mode: spec.constraints.mode.map_or(spec.mode, |mode| mode.max(spec.mode)),
            allowed: allowed(spec),
            listed: spec.capability.spec().allowed_fields.clone(),
            tags: tags(spec),
            goal: spec.goal.and_then(Goal::of),
        }
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

    /// The longest string that is shown whole in one cell.
    pub(crate) fn cell_chars(&self) -> usize {
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
