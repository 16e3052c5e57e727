//! The structured value of a frame whose result is shown in part.

use std::borrow::Cow;

use serde_json::Value;
use weaver_types::{RawContent, RawResult, StructuredContent};

use super::{Masker, RenderBudget, pruned_json};
use crate::spec::EffectiveLimits;

/// How many items the lists of a shortened structured value may keep, from most to least.
const STRUCTURED_LIST_LIMITS: [usize; 5] = [50, 10, 3, 1, 0];

/// The structured value of a result that was too large to keep its blocks. Of many rows, only as
/// many are kept as any list may show.
pub(super) fn of_result<'r>(
    raw: &'r RawResult,
    limits: &EffectiveLimits,
) -> Option<Cow<'r, Value>> {
    let shown = STRUCTURED_LIST_LIMITS[0].min(limits.rows);
    match (&raw.structured, &raw.content) {
        (StructuredContent::Beside(value), _) => Some(Cow::Borrowed(value)),
        (StructuredContent::Content, RawContent::Rows(rows))
            if raw.blocks.is_none() && rows.key().is_some() =>
        {
            Some(Cow::Owned(rows.with_list(rows.rows().take(shown).collect())))
        }
        (StructuredContent::Content, RawContent::Json(value))
            if raw.blocks.is_none() && value.is_object() =>
        {
            Some(Cow::Borrowed(value))
        }
        _ => None,
    }
}

/// The structured value with shorter lists, so that it still matches its schema; `None` if a host
/// restricts which fields may be shown.
pub(super) fn shortened(
    value: &Value,
    limits: &EffectiveLimits,
    masker: &mut Masker<'_>,
) -> Option<Value> {
    if limits.allowed.is_some() {
        return None;
    }
    let budget = RenderBudget::from_limits(limits);
    let mut tried = None;
    STRUCTURED_LIST_LIMITS.into_iter().find_map(|items| {
        let items = items.min(limits.rows);
        let shorter = pruned_json::with_lists_truncated(value, items);
        // What has no longer list than before does not fit either.
        if tried.as_ref() == Some(&shorter) {
            return None;
        }
        let value = masker.structured(&shorter, &[], &[]);
        tried = Some(shorter);
        budget.fits_text(&value.to_string(), limits).then_some(value)
    })
}
