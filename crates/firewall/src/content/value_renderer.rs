//! Values as they are shown: redacted, escaped, cut, and elided beyond the shown depth.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use weaver_text::escape;
use weaver_types::ResponseMode;

use super::finding::Findings;
use super::rows::Rows;
use crate::goal::Goal;
use crate::redact::value::{
    Bounds, FieldName, OmissionCounts, Pairing, Postprocess, ValueRedactor,
};
use crate::redact::{PlainWords, Redactor};
use crate::spec::Limits;

/// The longest key that is shown, in characters.
const MAX_KEY: usize = 128;
/// The most rows that are rendered to find out whether they are relevant to the goal.
const MAX_CANDIDATES: usize = 100;

/// Shows values, and counts by kind what it masked or left out.
pub(crate) struct ValueRenderer<'a> {
    redactor: &'a Redactor,
    pub(crate) limits: &'a Limits,
    walk: ValueRedactor<'a, DisplayPostprocess<'a>>,
}

/// A redacted string is looked through for hidden instructions, escaped, and cut.
struct DisplayPostprocess<'a> {
    limits: &'a Limits,
    /// Characters of one string.
    cell: usize,
    findings: Findings,
}

impl DisplayPostprocess<'_> {
    /// Redacted text as it may be shown: escaped, at most `max` characters.
    fn cut<'t>(
        &mut self,
        redacted: Cow<'t, str>,
        max: usize,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        self.findings.look(escape::truncate(&redacted, max));
        Self::escaped(redacted, max, omitted)
    }

    /// The same without a look for hidden instructions.
    fn escaped<'t>(
        redacted: Cow<'t, str>,
        max: usize,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        let head = escape::truncate(&redacted, max.saturating_add(1));
        let escaped = escape::block(head);
        let shown = escape::shorten(&escaped, max);
        if shown == redacted {
            return redacted;
        }
        if head.len() < redacted.len() || shown.ends_with('…') && !head.ends_with('…') {
            let count = omitted.entry("text_cut").or_default();
            *count = count.saturating_add(1);
        }
        Cow::Owned(shown.into_owned())
    }
}

impl Postprocess for DisplayPostprocess<'_> {
    fn string<'t>(&mut self, redacted: Cow<'t, str>, omitted: &mut OmissionCounts) -> Cow<'t, str> {
        self.cut(redacted, self.cell, omitted)
    }

    fn plain_words<'t>(
        &mut self,
        text: &'t str,
        how: PlainWords,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        if text.len() <= self.cell && !Findings::may_tell(how) {
            return Cow::Borrowed(text);
        }
        self.cut(Cow::Borrowed(text), self.cell, omitted)
    }

    /// A plain word is never too long to show: only hidden instructions are looked for.
    fn is_plain(&self, how: PlainWords) -> bool {
        !Findings::may_tell(how)
    }

    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool) {
        let head = escape::truncate(&redacted, MAX_KEY + 1);
        let found = self.findings.look(head);
        let escaped = escape::line(head);
        let shown = escape::shorten(&escaped, MAX_KEY);
        if shown == redacted {
            return (redacted, !found);
        }
        (Cow::Owned(shown.into_owned()), false)
    }

    fn first(&self, key: &str) -> bool {
        self.limits.bears(key)
    }
}

impl<'a> ValueRenderer<'a> {
    pub(crate) fn new(redactor: &'a Redactor, limits: &'a Limits) -> Self {
        let bounds = Bounds {
            depth: limits.depth,
            fields: limits.fields,
            items: limits.items(),
            prunes: limits.mode == ResponseMode::Auto,
        };
        let shown =
            DisplayPostprocess { limits, cell: limits.cell_chars(), findings: Findings::default() };
        Self { redactor, limits, walk: ValueRedactor::new(redactor, limits.names(), bounds, shown) }
    }

    /// A renderer with limits for each list, object and text, and for the depth.
    pub(crate) fn with_bounds(
        redactor: &'a Redactor,
        limits: &'a Limits,
        bounds: Bounds,
        cell: usize,
    ) -> Self {
        let shown = DisplayPostprocess { limits, cell, findings: Findings::default() };
        Self { redactor, limits, walk: ValueRedactor::new(redactor, limits.names(), bounds, shown) }
    }

    /// Indices of the rows that are relevant to the goal, the most relevant first. Only what is
    /// shown of a row is weighed, so the order reveals nothing that is masked.
    pub(crate) fn rows_by_relevance(&self, rows: Rows<'_>) -> Vec<usize> {
        let Some(goal) = &self.limits.goal else { return Vec::new() };
        let mut scratch = Self::new(self.redactor, self.limits);
        let weights = rows.iter().enumerate().filter_map(|(at, row)| {
            let fields = self.relevant_fields(goal, &row);
            if fields.is_empty() {
                return None;
            }
            let weight = match row.as_ref() {
                Value::Object(map) => {
                    let shown = scratch.walk.fields(fields, &Pairing::of(map), 1);
                    goal.value_weight(shown.values())
                }
                other => {
                    let shown = scratch.value(other, None, 1);
                    goal.value_weight(std::iter::once(&shown))
                }
            };
            Some((weight, at))
        });
        let weights = weights.take(MAX_CANDIDATES).filter(|(weight, _)| *weight > 0);
        let mut found: Vec<(usize, usize)> = weights.collect();
        found.sort_by_key(|(weight, at)| (std::cmp::Reverse(*weight), *at));
        found.into_iter().map(|(_, at)| at).collect()
    }

    /// The fields of a row that may be seen and whose content names something of the goal, masked
    /// or not. A row without fields has one without a name.
    fn relevant_fields<'v>(&self, goal: &Goal, row: &'v Value) -> Vec<(&'v String, &'v Value)> {
        static NAMELESS: String = String::new();
        let bears = |value: &Value| goal.value_weight(std::iter::once(value)) > 0;
        match row {
            Value::Object(map) => {
                let seen = map.iter().filter(|(key, _)| self.limits.admits(key));
                seen.filter(|(_, value)| bears(value)).collect()
            }
            other if bears(other) => vec![(&NAMELESS, other)],
            _ => Vec::new(),
        }
    }

    /// What masks.
    pub(crate) fn redactor(&self) -> &'a Redactor {
        self.redactor
    }

    /// Counts `by` things of this kind that were left out.
    pub(crate) fn omit(&mut self, kind: &'static str, by: usize) {
        self.walk.omit(kind, by);
    }

    /// Everything counted so far, by the kind of warning.
    pub(crate) fn counts(self) -> BTreeMap<String, u64> {
        let ValueRedactor { masked, omitted, postprocess, .. } = self.walk;
        let mut counts = BTreeMap::new();
        for (kind, n) in &masked {
            counts.insert(format!("redacted_{kind}"), *n);
        }
        for (kind, n) in postprocess.findings.counts().iter().chain(&omitted) {
            counts.insert((*kind).to_owned(), *n);
        }
        counts
    }

    /// The whole text, redacted, not yet escaped or cut.
    pub(crate) fn redacted(&mut self, text: &str) -> String {
        self.walk.redacted(text).into_owned()
    }

    /// Redacted text as it may be shown: escaped, at most `max` characters.
    pub(crate) fn cut(&mut self, redacted: &str, max: usize) -> String {
        let shown = self.walk.postprocess.cut(Cow::Borrowed(redacted), max, &mut self.walk.omitted);
        shown.into_owned()
    }

    /// Redacted lines as they may be shown, each escaped and at most `max` characters. They are
    /// looked through together: a sentence may go on in the next line.
    pub(crate) fn lines(&mut self, redacted: &[&str], max: usize) -> Vec<String> {
        let heads: Vec<&str> = redacted.iter().map(|line| escape::truncate(line, max)).collect();
        self.walk.postprocess.findings.look(&heads.join("\n"));
        let omitted = &mut self.walk.omitted;
        let escaped =
            redacted.iter().map(|line| DisplayPostprocess::escaped((*line).into(), max, omitted));
        escaped.map(Cow::into_owned).collect()
    }

    /// A string under a name, if it has one: redacted whole, then escaped and cut.
    pub(crate) fn string<'t>(
        &mut self,
        text: &'t str,
        key: Option<FieldName<'_>>,
        max: usize,
    ) -> Cow<'t, str> {
        let cell = std::mem::replace(&mut self.walk.postprocess.cell, max);
        let shown = self.walk.string(text, key, 0);
        self.walk.postprocess.cell = cell;
        shown
    }

    /// A key with what it means.
    pub(crate) fn named<'k>(&mut self, key: &'k str) -> FieldName<'k> {
        self.walk.named(key)
    }

    /// A key: one line, redacted, escaped and cut.
    pub(crate) fn key<'k>(&mut self, key: &'k str) -> Cow<'k, str> {
        let mut named = self.walk.named(key);
        self.walk.key(&mut named)
    }

    /// Whether a field of this name may be seen, and its name as it is.
    pub(crate) fn is_name_visible(&mut self, name: &str) -> bool {
        self.limits.admits(name) && self.key(name) == name
    }

    /// The same for a key whose meaning is known, and to which is added what was learned of it.
    pub(crate) fn key_of<'k>(&mut self, key: &mut FieldName<'k>) -> Cow<'k, str> {
        self.walk.key(key)
    }

    /// True when this value under this key is never shown; counts it.
    pub(crate) fn hides(&mut self, key: FieldName<'_>, value: &Value) -> bool {
        self.walk.hides(key, value).is_some()
    }

    /// True when, in some row, a sibling field names what this field holds, as in `{"type":
    /// "mobile", "value": …}`: such a column mixes several kinds of values.
    pub(crate) fn is_named_by_sibling(&mut self, rows: Rows<'_>, key: &str) -> bool {
        Pairing::may_name(key)
            && rows.iter().any(|row| {
                row.as_object().is_some_and(|map| self.walk.is_named_by_sibling(map, key))
            })
    }

    /// True for a number that is not shown under this key; counts it.
    pub(crate) fn hides_number(&mut self, number: &Number, key: Option<FieldName<'_>>) -> bool {
        self.walk.hides_number(number, key)
    }

    /// The same without being counted.
    pub(crate) fn would_hide_number(&self, number: &Number, key: FieldName<'_>) -> bool {
        self.walk.would_hide_number(number, Some(key))
    }

    /// A value at `depth`: strings and numbers are shown at any depth, lists and objects only
    /// above the depth of the budget.
    pub(crate) fn value(
        &mut self,
        value: &Value,
        key: Option<FieldName<'_>>,
        depth: usize,
    ) -> Value {
        self.walk.value(value, key, depth)
    }

    /// A redacted line as a row, or nothing when the restriction on fields leaves no name for it.
    pub(crate) fn line(&mut self, redacted: &str) -> Option<Map<String, Value>> {
        if !self.limits.admits("value") {
            self.omit("text_withheld", 1);
            return None;
        }
        let max = self.limits.cell_chars();
        Some([("value".to_owned(), Value::String(self.cut(redacted, max)))].into_iter().collect())
    }

    /// One row of a table, or nothing when the restriction on fields leaves no name for it.
    pub(crate) fn row(&mut self, value: &Value, depth: usize) -> Option<Map<String, Value>> {
        let Value::Object(map) = value else {
            if !self.limits.admits("value") {
                self.omit("rows_withheld", 1);
                return None;
            }
            let mut row = Map::new();
            row.insert("value".to_owned(), self.value(value, None, depth));
            return Some(row);
        };
        Some(self.object(map, depth))
    }

    /// Renders a row that was redacted before; the `second_pass` redactor keeps the masks that are
    /// in it.
    pub(crate) fn masked_row(
        &mut self,
        second_pass: &Redactor,
        value: &Value,
        depth: usize,
    ) -> Option<Map<String, Value>> {
        let mut other = ValueRenderer::new(second_pass, self.limits);
        self.swap_counts(&mut other);
        let row = other.row(value, depth);
        self.swap_counts(&mut other);
        row
    }

    fn swap_counts(&mut self, other: &mut ValueRenderer<'_>) {
        std::mem::swap(&mut self.walk.masked, &mut other.walk.masked);
        std::mem::swap(&mut self.walk.omitted, &mut other.walk.omitted);
        std::mem::swap(&mut self.walk.postprocess.findings, &mut other.walk.postprocess.findings);
    }

    /// An object as a row: only the fields that may be seen.
    pub(crate) fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let (kept, gone): (Vec<_>, Vec<_>) =
            map.iter().partition(|(key, _)| self.limits.admits(key));
        self.omit("fields_not_allowed", gone.len());
        self.walk.fields(kept, &Pairing::of(map), depth)
    }
}
