//! The structured value of a frame whose result is shown in part.

use std::borrow::Cow;

use serde_json::Value;
use weaver_types::{RawContent, RawResult, StructuredContent};

use super::{Masker, RenderBudget, pruned_json};
use crate::redact::mask_collapsed_text::MAX_MASK_BYTES;
use crate::spec::EffectiveLimits;

/// How many items the lists of a shortened structured value may keep, from most to least.
const STRUCTURED_LIST_LIMITS: [usize; 5] = [50, 10, 3, 1, 0];

/// How much of each text, in characters, and of each map with many members it may keep where shorter
/// lists are not enough.
const STRUCTURED_TEXT_LIMITS: [(usize, usize); 4] =
    [(8_000, 200), (2_000, 100), (500, 40), (100, 10)];
/// A map with more members is a list by keys; one with fewer has the members that its schema demands.
const MANY_MEMBERS: usize = 200;

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

/// The structured value with shorter lists, and where these are not enough shorter texts and maps, so
/// that it still matches its schema; `None` if a host restricts which fields may be shown.
pub(super) fn shortened(
    value: &Value,
    limits: &EffectiveLimits,
    masker: &mut Masker<'_>,
) -> Option<Value> {
    if limits.allowed.is_some() {
        return None;
    }
    let budget = RenderBudget::from_limits(limits);
    let fits = |value: &Value| budget.fits_text(&value.to_string(), limits);
    let (mut tried, mut least) = (None, Value::Null);
    for items in STRUCTURED_LIST_LIMITS.map(|items| items.min(limits.rows)) {
        let shorter = pruned_json::with_lists_truncated(value, items);
        // What has no longer list than before does not fit either.
        if tried.as_ref() == Some(&shorter) {
            continue;
        }
        least = masker.structured(&shorter, &[], &[]);
        tried = Some(shorter);
        if fits(&least) {
            return Some(least);
        }
    }
    // Texts are cut behind their masks, since half a secret is not recognised.
    STRUCTURED_TEXT_LIMITS.into_iter().find_map(|(characters, members)| {
        let shorter = with_texts_truncated(&least, characters, members);
        fits(&shorter).then_some(shorter)
    })
}

fn with_texts_truncated(value: &Value, characters: usize, members: usize) -> Value {
    match value {
        Value::String(text) => Value::String(text_truncated(text, characters)),
        Value::Array(list) => {
            list.iter().map(|item| with_texts_truncated(item, characters, members)).collect()
        }
        Value::Object(map) => {
            let kept = if map.len() > MANY_MEMBERS { members } else { map.len() };
            let kept = map.iter().take(kept);
            kept.map(|(key, item)| (key.clone(), with_texts_truncated(item, characters, members)))
                .collect()
        }
        other => other.clone(),
    }
}

/// The beginning of a text, which ends before a mask that it would divide.
fn text_truncated(text: &str, characters: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(characters) else { return text.to_owned() };
    let beginning = text.get(..end).unwrap_or_default();
    let whole = match beginning.rsplit_once('[') {
        Some((before, mask)) if !mask.contains(']') && mask.len() <= MAX_MASK_BYTES => before,
        _ => beginning,
    };
    format!("{whole}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_end_before_a_mask_and_large_maps_after_some_members() {
        assert_eq!(text_truncated("a [API_KEY_1] b", 20), "a [API_KEY_1] b");
        assert_eq!(text_truncated("a [API_KEY_1] b", 5), "a …");
        assert_eq!(text_truncated("a [API_KEY_1] b", 14), "a [API_KEY_1] …");
        assert_eq!(text_truncated("äöü", 2), "äö…");
        let map: serde_json::Map<String, Value> =
            (0..300).map(|number| (format!("k{number:03}"), json!(["x".repeat(9)]))).collect();
        let cut = with_texts_truncated(&json!({ "map": map, "one": 1 }), 4, 2);
        assert_eq!(cut, json!({ "map": { "k000": ["xxxx…"], "k001": ["xxxx…"] }, "one": 1 }));
    }
}
