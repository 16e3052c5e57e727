//! JSON that is too large: shorter lists, then shorter texts, then fewer levels, until it fits.
//! What is left out is counted in its place.

use serde_json::{Value, json};

use super::excerpt_request::{Excerpt, ExcerptRequest};
use super::verbatim_content::Masker;
use crate::content::ValueRenderer;
use crate::redact::Redactor;
use crate::redact::value::WalkBounds;
use crate::spec::EffectiveLimits;

/// Limits for list items, characters of a text, and levels, from generous to strict. Levels are cut
/// last, so that a tree keeps its field names as long as possible.
const PRUNING_STEPS: [(usize, usize, usize); 14] = [
    (usize::MAX, 4_000, 64),
    (1_000, 1_000, 64),
    (300, 400, 64),
    (100, 200, 64),
    (50, 120, 64),
    (25, 80, 64),
    (12, 60, 64),
    (6, 60, 64),
    (6, 40, 8),
    (6, 40, 5),
    (4, 40, 4),
    (3, 30, 3),
    (3, 30, 2),
    (2, 20, 1),
];

/// The deepest path that a query names.
const MAX_PATH: usize = 8;

/// The value, pruned until it fits.
pub(super) fn excerpt(
    value: &Value,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
    redactor: &Redactor,
    masker: &mut Masker<'_>,
) -> Excerpt {
    let mut last = String::new();
    for (items, cell, depth) in PRUNING_STEPS {
        let bounds = WalkBounds {
            depth,
            fields: items.max(40),
            items: items.min(limits.rows),
            marks_in_place: true,
        };
        let mut renderer = ValueRenderer::with_bounds(redactor, limits, bounds, cell);
        let shown = match value {
            Value::Object(map) => Value::Object(renderer.object(map, 0)),
            other => renderer.value(other, None, 0),
        };
        let text = shown.to_string();
        if request.budget.fits_text(&text, limits) {
            let counts = renderer.into_warning_counts();
            let cut = counts.keys().any(|kind| kind.ends_with("_omitted") || kind == "text_cut");
            masker.add_counts(counts);
            return Excerpt {
                text,
                note: cut.then(|| "Shortened: `…` marks what is left out.".to_owned()),
                next: cut.then(|| query_for_largest_part(value, items, limits, redactor)),
            };
        }
        last = text;
    }
    let text =
        weaver_text::escape::shorten(&last, request.budget.tokens.saturating_mul(2)).into_owned();
    Excerpt {
        text,
        note: Some("Shortened: most of it is left out.".to_owned()),
        next: Some(json!({ "view": "paths" })),
    }
}

/// The query for the largest part of a value, which is the part that was shortened: the items after
/// those shown of a long list, or the part itself. The path contains only names that are shown
/// unchanged, so that it reveals no masked name.
fn query_for_largest_part(
    value: &Value,
    shown: usize,
    limits: &EffectiveLimits,
    redactor: &Redactor,
) -> Value {
    let mut path = String::new();
    let is_visible = |key: &str| ValueRenderer::new(redactor, limits).key(key) == key;
    let mut current = value;
    for _ in 0..MAX_PATH {
        match current {
            Value::Object(map) => {
                let seen = map.iter().filter(|(key, _)| limits.may_show_field(key));
                let Some((key, inner)) = seen.max_by_key(|(_, value)| estimated_weight(value))
                else {
                    break;
                };
                if key.contains(['.', '[', ']', '"', '\\']) || !is_visible(key) {
                    break;
                }
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
                current = inner;
            }
            Value::Array(items) if items.len() > shown => {
                path.push_str(&format!("[{shown}:{}]", items.len()));
                break;
            }
            Value::Array(items) => {
                let largest =
                    items.iter().enumerate().max_by_key(|(_, item)| estimated_weight(item));
                let Some((number, item)) = largest.filter(|(_, item)| estimated_weight(item) > 1)
                else {
                    break;
                };
                path.push_str(&format!("[{number}]"));
                current = item;
            }
            _ => break,
        }
    }
    json!({ "view": "get", "args": { "path": path } })
}

/// A cheap estimate of how large a part is.
fn estimated_weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len().saturating_mul(16),
        Value::Object(map) => {
            let inner = map.values().map(|value| match value {
                Value::Array(items) => items.len().saturating_mul(16),
                Value::Object(map) => map.len().saturating_mul(16),
                Value::String(text) => text.len(),
                _ => 1,
            });
            inner.fold(0, usize::saturating_add)
        }
        Value::String(text) => text.len(),
        _ => 1,
    }
}

/// Whether a list in the value has more than `items` items, at any depth.
pub(super) fn has_list_longer_than(value: &Value, items: usize) -> bool {
    match value {
        Value::Array(list) => {
            list.len() > items || list.iter().any(|value| has_list_longer_than(value, items))
        }
        Value::Object(map) => map.values().any(|value| has_list_longer_than(value, items)),
        _ => false,
    }
}

/// The value with at most `items` items in each list, at every depth.
pub(super) fn with_lists_truncated(value: &Value, items: usize) -> Value {
    match value {
        Value::Array(list) => {
            list.iter().take(items).map(|value| with_lists_truncated(value, items)).collect()
        }
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), with_lists_truncated(value, items)))
                .collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_limits;
    use super::*;

    #[test]
    fn the_largest_part_is_named_by_its_path() {
        let path = |value: Value, shown: usize| {
            let redactor = Redactor::builtin();
            let largest =
                |limits: &EffectiveLimits| query_for_largest_part(&value, shown, limits, &redactor);
            let query = with_limits(8_000, None, largest);
            query["args"]["path"].as_str().unwrap().to_owned()
        };
        let list = json!({ "a": [1, 2, 3], "b": 1 });
        assert_eq!((path(list.clone(), 2), path(list, 3)), ("a[2:3]".to_owned(), "a".to_owned()));
        assert_eq!(path(json!({ "a": [1, "abc", 3] }), 3), "a[1]");
        assert_eq!(path(json!({ "a": { "b": ["x"], "c": "text" }, "d": "x" }), 9), "a.b");
        assert_eq!(path(json!({ "a": { "b.c": "a long text" } }), 9), "a");
        assert_eq!(path(json!([1, 2, 3]), 1), "[1:3]");
        assert_eq!(path(json!("text"), 1), "");
    }

    #[test]
    fn the_weight_of_a_part_grows_with_its_items_and_texts() {
        for (value, expected) in [
            (json!("abcd"), 4),
            (json!(17), 1),
            (json!(null), 1),
            (json!([]), 0),
            (json!(["abcd", 2, 3]), 48),
            (json!({}), 0),
            (json!({ "list": [1, 2], "map": { "a": 1 }, "text": "abc", "number": 5 }), 52),
        ] {
            assert_eq!(estimated_weight(&value), expected, "{value}");
        }
    }

    #[test]
    fn lists_are_cut_at_every_depth() {
        let value = json!({ "a": [[1, 2, 3], { "b": [4, 5] }, 6], "c": "text" });
        assert_eq!(
            with_lists_truncated(&value, 2),
            json!({ "a": [[1, 2], { "b": [4, 5] }], "c": "text" })
        );
        assert_eq!(with_lists_truncated(&value, 0), json!({ "a": [], "c": "text" }));
        assert_eq!(with_lists_truncated(&value, 3), value);
    }

    #[test]
    fn a_list_is_longer_at_whatever_depth_it_is() {
        for (value, longest) in [
            (json!([1, 2, 3]), 3),
            (json!({ "a": [1, 2], "b": { "c": [[1, 2, 3, 4]] } }), 4),
            (json!({ "a": "text", "b": 7 }), 0),
            (json!("text"), 0),
        ] {
            assert!(!has_list_longer_than(&value, longest), "{value}");
            assert_eq!(has_list_longer_than(&value, longest.max(1) - 1), longest > 0, "{value}");
        }
    }
}
