//! JSON that is too large: first an overview with shorter texts, shorter lists and fewer levels, in
//! which what is left out is counted in its place; then the JSON itself, character by character.
//!
//! The overview and the JSON are equal up to the first place that was cut, and there the rest
//! begins. So overview and rest together show every part once, however its names are written.

use std::collections::BTreeMap;

use serde_json::Value;
use weaver_text::escape;

use super::cut_text::CutText;
use super::excerpt_request::{Continuation, Excerpt, ExcerptRequest};
use super::text;
use super::verbatim_content::Masker;
use crate::content::{Rows, ValueRenderer};
use crate::frame::json_chars;
use crate::redact::Redactor;
use crate::redact::value::WalkBounds;
use crate::spec::EffectiveLimits;
use crate::view::path;

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
/// Characters of a text for each token of the budget that are tried before [`PRUNING_STEPS`].
const CHARS_PER_TOKEN: [usize; 3] = [4, 2, 1];

/// The value, pruned until it fits; or its JSON from a character on.
pub(super) struct JsonExcerpt<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) limits: &'a EffectiveLimits,
    pub(super) request: &'a ExcerptRequest<'a>,
    /// True for an item of a list, false for a whole value.
    pub(super) is_item: bool,
}

impl JsonExcerpt<'_> {
    /// An excerpt of a whole value; `None` if its JSON ends before the requested character. If it
    /// consists of rows and nothing else was cut, the rest begins in one of the rows.
    pub(super) fn of_value(
        &self,
        value: &Value,
        rows_key: Option<&str>,
        masker: &mut Masker<'_>,
    ) -> Option<Excerpt> {
        let excerpt = self.of_part(value, masker)?;
        // A view continues in its own value, a first look at rows in the rows.
        let is_list = value.is_array() || rows_key.is_some();
        let Some(Continuation::ValueCharacters(start)) = excerpt.rest else { return Some(excerpt) };
        if !is_list || !self.request.is_first_page {
            return Some(excerpt);
        }
        let full = self.full(value);
        let in_row = self
            .row_position(&full, rows_key, start)
            .filter(|_| rows_key.is_none() || shows_all_around_rows(&full, &excerpt.text));
        // Without views of JSON, rows can only be asked for by their numbers.
        let all_rows = Continuation::Rows { offset: 0, char_offset: 0 };
        let rest = in_row.or((!self.request.has_json_views).then_some(all_rows));
        Some(Excerpt { rest: rest.or(excerpt.rest), ..excerpt })
    }

    /// An excerpt of the row at the offset, which does not fit into a page of a table.
    pub(super) fn of_row(&self, rows: Rows<'_>, masker: &mut Masker<'_>) -> Option<Excerpt> {
        let offset = self.request.offset;
        let row = rows.get(offset)?;
        if !row.is_object() && !self.limits.may_show_field("value") {
            return None;
        }
        let mut excerpt = self.of_part(&row, masker)?;
        let next = offset.saturating_add(1);
        let follows = next < rows.len() && self.request.limit.is_none_or(|limit| limit > 1);
        (excerpt.note, excerpt.rest) = match excerpt.rest {
            Some(
                Continuation::ValueCharacters(start)
                | Continuation::TextCharacters { in_value: start, .. },
            ) => {
                let note = match self.request.char_offset {
                    0 => format!(
                        "Row {offset} is too large for one answer: `…` marks what is left out of it. \
                         Ask for some `fields`, or go on at `offset` {next}."
                    ),
                    _ => format!("Row {offset}: {}", excerpt.note.unwrap_or_default()),
                };
                (Some(note), Some(Continuation::Rows { offset, char_offset: start }))
            }
            _ if follows => {
                let note = format!("Row {offset} ends here; more rows follow.");
                (Some(note), Some(Continuation::Rows { offset: next, char_offset: 0 }))
            }
            _ => (None, None),
        };
        Some(excerpt)
    }

    /// An excerpt of one value.
    fn of_part(&self, value: &Value, masker: &mut Masker<'_>) -> Option<Excerpt> {
        let Self { limits, request, .. } = self;
        // Only the text of the whole is kept, because its tree is much larger.
        let (whole, counts) = {
            let (full, counts) = self.shown(value, self.whole_bounds(), usize::MAX);
            (full.to_string(), counts)
        };
        let from = request.char_offset;
        if from > 0 {
            let at = whole.char_indices().nth(from).map(|(at, _)| at)?;
            return Some(self.page(whole.get(at..).unwrap_or_default(), from, &whole));
        }
        if request.budget.fits_text(&whole, limits) {
            masker.add_counts(counts);
            return Some(Excerpt::whole(whole));
        }
        for (items, cell, depth) in self.steps() {
            let bounds = WalkBounds {
                depth,
                fields: max_fields(items).min(limits.fields),
                items: items.min(limits.rows),
                marks_in_place: true,
            };
            let (shown, counts) = self.shown(value, bounds, cell);
            let text = shown.to_string();
            if !request.budget.fits_text(&text, limits) {
                continue;
            }
            let start = common_chars(&text, &whole);
            let is_one_text = counts.get("text_cut") == Some(&1)
                && !counts.keys().any(|kind| kind.ends_with("_omitted"));
            masker.add_counts(counts);
            if text == whole {
                return Some(Excerpt::whole(text));
            }
            let cut = if is_one_text { self.only_cut_text(value, &shown) } else { None };
            let rest = match cut {
                Some((path, start_in_text)) => {
                    Continuation::TextCharacters { path, start: start_in_text, in_value: start }
                }
                None => Continuation::ValueCharacters(start),
            };
            let note = "Shortened: `…` marks what is left out.".to_owned();
            return Some(Excerpt { text, note: Some(note), rest: Some(rest) });
        }
        Some(self.page(&whole, 0, &whole))
    }

    /// The beginning of what is left of the JSON.
    fn page(&self, left: &str, from: usize, whole: &str) -> Excerpt {
        let Self { limits, request, .. } = self;
        // At least one character, so that following the pages ends.
        let count = text::fitting_chars(left, request.budget, limits).max(1);
        if request.budget.fits_text(left, limits) {
            return Excerpt::whole(left.to_owned());
        }
        let shown: String = left.chars().take(count).collect();
        let end = from.saturating_add(count);
        let total = whole.chars().count();
        if end >= total {
            return Excerpt::whole(shown);
        }
        let note = format!("Shown: characters {from} to {} of {total}.", end.saturating_sub(1));
        Excerpt { text: shown, note: Some(note), rest: Some(Continuation::ValueCharacters(end)) }
    }

    fn steps(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let tokens = self.request.budget.tokens;
        let (_, longest, depth) = PRUNING_STEPS[0];
        CHARS_PER_TOKEN
            .into_iter()
            .map(move |chars| (usize::MAX, tokens.saturating_mul(chars), depth))
            .filter(move |(_, chars, _)| *chars > longest)
            .chain(PRUNING_STEPS)
    }

    fn whole_bounds(&self) -> WalkBounds {
        WalkBounds {
            depth: self.limits.depth,
            fields: self.limits.fields,
            items: self.limits.rows,
            marks_in_place: true,
        }
    }

    /// The value as it is shown in full.
    fn full(&self, value: &Value) -> Value {
        self.shown(value, self.whole_bounds(), usize::MAX).0
    }

    /// The value as it is shown within these bounds, and what was counted.
    fn shown(
        &self,
        value: &Value,
        bounds: WalkBounds,
        cell: usize,
    ) -> (Value, BTreeMap<String, u64>) {
        let mut renderer = ValueRenderer::with_bounds(self.redactor, self.limits, bounds, cell);
        let shown = match value {
            Value::Object(map) => Value::Object(renderer.object(map, 0)),
            other if self.is_item => renderer.item(other, 0),
            other => renderer.value(other, None, 0),
        };
        (shown, renderer.into_warning_counts())
    }

    /// The row in whose JSON a character of the JSON of a value lies, and where in it.
    fn row_position(
        &self,
        full: &Value,
        rows_key: Option<&str>,
        char: usize,
    ) -> Option<Continuation> {
        let (items, mut start) = match (full, rows_key) {
            (Value::Array(items), None) => (items, 1),
            (Value::Object(fields), Some(rows_key)) => {
                let before = fields.iter().take_while(|(key, _)| *key != rows_key);
                // A colon and a comma for each field.
                let before: usize =
                    before.map(|(key, value)| json_chars(key) + json_chars(value) + 2).sum();
                let items = fields.get(rows_key)?.as_array()?;
                // The brace of the object, a colon, and the bracket of the list.
                (items, before + json_chars(&rows_key) + 3)
            }
            _ => return None,
        };
        let mut position = None;
        for (offset, item) in items.iter().enumerate() {
            if start > char {
                break;
            }
            let length = json_chars(item);
            // A list that a rule bounds ends with the number of its other items.
            let is_row = offset < self.limits.rows;
            position = Some(match char - start {
                char_offset if is_row && char_offset < length => {
                    Continuation::Rows { offset, char_offset }
                }
                char_offset => {
                    let offset = offset + usize::from(is_row && char_offset >= length);
                    Continuation::Rows { offset, char_offset: 0 }
                }
            });
            start += length + 1;
        }
        position
    }

    /// The path of the only part that an overview cuts, if that is a text, and how many of its
    /// characters are shown. Only a path that is shown unchanged is named, and only a text whose
    /// characters the views count in the same way.
    fn only_cut_text(&self, value: &Value, overview: &Value) -> Option<(String, usize)> {
        if !self.request.has_json_views {
            return None;
        }
        let full = self.full(value);
        let cut = CutText::find(value, &full, overview)?;
        path::parse(&cut.path).ok()?;
        let redacted = cut.redacted(self.redactor, self.limits)?;
        if cut.path.len() > path::MAX_PATH_BYTES || escape::block(&redacted) != cut.full {
            return None;
        }
        // The overview shows hidden characters as escapes, which the views count as one.
        let shown = common_chars(cut.shown, cut.full);
        let mut left = shown;
        let mut count = 0;
        for c in redacted.chars() {
            let length = escape::block(c.encode_utf8(&mut [0; 4])).chars().count();
            let Some(rest) = left.checked_sub(length) else { break };
            left = rest;
            count += 1;
        }
        (count > 0).then_some((cut.path, count))
    }
}

/// How many characters two texts have in common at their beginning.
fn common_chars(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// How many fields objects keep where lists keep so many items.
fn max_fields(items: usize) -> usize {
    match items {
        ..=3 => 10,
        4..=6 => 20,
        _ => items.max(40),
    }
}

/// True if the fields around the rows are as whole in an overview as they are in the value.
fn shows_all_around_rows(full: &Value, overview: &str) -> bool {
    let Ok(Value::Object(overview)) = serde_json::from_str::<Value>(overview) else {
        return false;
    };
    full.as_object().is_some_and(|full| {
        full.iter().all(|(key, value)| value.is_array() || overview.get(key) == Some(value))
    })
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
    use serde_json::json;

    use super::*;

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
