//! Values as they are shown: redacted, escaped, cut, and elided beyond the shown depth.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use weaver_text::escape;

use crate::redact::{Counts, MASK, Redactor, count, field};
use crate::spec::Limits;

/// What stands in place of content below the shown depth.
pub(crate) const TOO_DEEP: &str = "[REDACTED: nested data beyond depth limit]";
/// The longest key that is shown, in characters.
const MAX_KEY: usize = 128;
/// The most items of a list inside a cell.
const MAX_ITEMS: usize = 50;

/// Shows values, and counts by kind what it masked or left out.
pub(crate) struct Shower<'a> {
    redactor: &'a Redactor,
    pub(crate) limits: &'a Limits,
    masked: Counts,
    omitted: BTreeMap<&'static str, u64>,
}

impl<'a> Shower<'a> {
    pub(crate) fn new(redactor: &'a Redactor, limits: &'a Limits) -> Self {
        Self { redactor, limits, masked: Counts::new(), omitted: BTreeMap::new() }
    }

    /// Counts `by` things of this kind that were left out.
    pub(crate) fn omit(&mut self, kind: &'static str, by: usize) {
        if by > 0 {
            let count = self.omitted.entry(kind).or_default();
            *count = count.saturating_add(by as u64);
        }
    }

    /// Everything counted so far, by the kind of warning.
    pub(crate) fn counts(self) -> BTreeMap<String, u64> {
        let masked = self.masked.into_iter().map(|(kind, n)| (format!("redacted_{kind}"), n));
        let omitted = self.omitted.into_iter().map(|(kind, n)| (kind.to_owned(), n));
        masked.chain(omitted).collect()
    }

    /// The whole text, redacted, not yet escaped or cut.
    pub(crate) fn redacted(&mut self, text: &str) -> String {
        self.redactor.text(text, &mut self.masked).into_owned()
    }

    /// Redacted text as it may be shown: escaped, at most `max` characters.
    pub(crate) fn cut(&mut self, redacted: &str, max: usize) -> String {
        let head = escape::truncate(redacted, max.saturating_add(1));
        let shown = escape::shorten(&escape::block(head), max).into_owned();
        if head.len() < redacted.len() || shown.ends_with('…') && !head.ends_with('…') {
            self.omit("text_cut", 1);
        }
        shown
    }

    /// A string: redacted whole, then escaped and cut.
    pub(crate) fn string(&mut self, text: &str, max: usize) -> String {
        let redacted = self.redacted(text);
        self.cut(&redacted, max)
    }

    /// A key: one line, redacted, escaped and cut.
    pub(crate) fn key(&mut self, key: &str) -> String {
        let redacted = self.redacted(key);
        let head = escape::truncate(&redacted, MAX_KEY + 1);
        escape::shorten(&escape::line(head), MAX_KEY).into_owned()
    }

    /// True when a value under this key is never shown; counts it.
    pub(crate) fn hides(&mut self, key: &str) -> bool {
        let hides = field::is_sensitive(key);
        if hides {
            count(&mut self.masked, "field");
        }
        hides
    }

    /// A number or its mask.
    pub(crate) fn number(&mut self, number: &serde_json::Number) -> Value {
        if self.redactor.hides_number(number) {
            count(&mut self.masked, "number");
            Value::String(MASK.to_owned())
        } else {
            Value::Number(number.clone())
        }
    }

    /// A value at `depth`: strings and numbers are shown at any depth, lists and objects only
    /// above the depth of the budget.
    pub(crate) fn value(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => self.number(number),
            Value::String(text) => Value::String(self.string(text, self.limits.cell_chars())),
            Value::Array(_) | Value::Object(_) if depth >= self.limits.depth => {
                self.omit("depth_elided", 1);
                Value::String(TOO_DEEP.to_owned())
            }
            Value::Array(items) => {
                let shown = items.iter().take(MAX_ITEMS).map(|v| self.value(v, depth + 1));
                let mut shown: Vec<Value> = shown.collect();
                if let Some(more) = items.len().checked_sub(MAX_ITEMS).filter(|more| *more > 0) {
                    self.omit("items_omitted", more);
                    shown.push(Value::String(format!("… ({more} more)")));
                }
                Value::Array(shown)
            }
            Value::Object(map) => Value::Object(self.fields(map.iter(), depth)),
        }
    }

    /// One row of a table, or nothing when the restriction on fields leaves no name for it.
    pub(crate) fn row(&mut self, value: &Value, depth: usize) -> Option<Map<String, Value>> {
        let Value::Object(map) = value else {
            if !self.limits.admits("value") {
                self.omit("rows_withheld", 1);
                return None;
            }
            let mut row = Map::new();
            row.insert("value".to_owned(), self.value(value, depth));
            return Some(row);
        };
        Some(self.object(map, depth))
    }

    /// An object as a row: only the fields that may be seen.
    pub(crate) fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let (kept, gone): (Vec<_>, Vec<_>) =
            map.iter().partition(|(key, _)| self.limits.admits(key));
        self.omit("fields_not_allowed", gone.len());
        self.fields(kept.into_iter(), depth)
    }

    fn fields<'v>(
        &mut self,
        fields: impl Iterator<Item = (&'v String, &'v Value)>,
        depth: usize,
    ) -> Map<String, Value> {
        let mut shown = Map::new();
        let mut sorted: Vec<_> = fields.collect();
        sorted.sort_by_key(|(key, _)| *key);
        let max = self.limits.fields;
        self.omit("fields_omitted", sorted.len().saturating_sub(max));
        for (key, value) in sorted.into_iter().take(max) {
            let shown_value = if self.hides(key) {
                Value::String(MASK.to_owned())
            } else {
                self.value(value, depth + 1)
            };
            let name = self.key(key);
            if shown.contains_key(&name) {
                self.omit("fields_omitted", 1);
            } else {
                shown.insert(name, shown_value);
            }
        }
        shown
    }
}
