//! Renders values for a frame: redacted, escaped, shortened, and elided below the maximum depth.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use weaver_text::escape;
use weaver_types::ResponseMode;

use super::findings::Findings;
use super::rows::Rows;
use crate::goal::Goal;
use crate::redact::value::{
    FieldName, OmissionCounts, Postprocess, SiblingNames, ValueRedactor, WalkBounds,
};
use crate::redact::{PlainWords, Redactor};
use crate::spec::EffectiveLimits;

/// The longest key that is shown, in characters.
const MAX_KEY: usize = 128;
/// The most rows that are rendered to measure how relevant they are to the goal.
const MAX_CANDIDATES: usize = 100;

/// Renders values and counts, by kind, what it masked or left out.
pub(crate) struct ValueRenderer<'a> {
    redactor: &'a Redactor,
    pub(crate) limits: &'a EffectiveLimits,
    value_redactor: ValueRedactor<'a, DisplayPostprocess<'a>>,
}

/// Scans a redacted string for injections, then escapes and shortens it.
struct DisplayPostprocess<'a> {
    limits: &'a EffectiveLimits,
    /// The longest string, in characters.
    max_string_chars: usize,
    findings: Findings,
}

impl DisplayPostprocess<'_> {
    /// Redacted text ready to show: scanned, escaped, at most `max` characters.
    fn scan_and_cut<'t>(
        &mut self,
        redacted: Cow<'t, str>,
        max: usize,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        self.findings.scan(escape::truncate(&redacted, max));
        Self::escape_and_cut(redacted, max, omitted)
    }

    /// Like [`Self::scan_and_cut`], without the scan.
    fn escape_and_cut<'t>(
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
        self.scan_and_cut(redacted, self.max_string_chars, omitted)
    }

    fn plain_words<'t>(
        &mut self,
        text: &'t str,
        how: PlainWords,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        if text.len() <= self.max_string_chars && !Findings::may_have_findings(how) {
            return Cow::Borrowed(text);
        }
        self.scan_and_cut(Cow::Borrowed(text), self.max_string_chars, omitted)
    }

    /// Plain words are never too long to show, so only injections have to be looked for.
    fn is_plain(&self, how: PlainWords) -> bool {
        !Findings::may_have_findings(how)
    }

    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool) {
        let head = escape::truncate(&redacted, MAX_KEY + 1);
        let found = self.findings.scan(head);
        let escaped = escape::line(head);
        let shown = escape::shorten(&escaped, MAX_KEY);
        if shown == redacted {
            return (redacted, !found);
        }
        (Cow::Owned(shown.into_owned()), false)
    }

    fn is_priority_field(&self, key: &str) -> bool {
        self.limits.is_relevant(key)
    }
}

impl<'a> ValueRenderer<'a> {
    pub(crate) fn new(redactor: &'a Redactor, limits: &'a EffectiveLimits) -> Self {
        let bounds = WalkBounds {
            depth: limits.depth,
            fields: limits.fields,
            items: limits.max_cell_items(),
            marks_in_place: limits.mode == ResponseMode::Auto,
        };
        Self::with_bounds(redactor, limits, bounds, limits.max_cell_chars())
    }

    /// A renderer with its own bounds for lists, objects, texts and depth.
    pub(crate) fn with_bounds(
        redactor: &'a Redactor,
        limits: &'a EffectiveLimits,
        bounds: WalkBounds,
        max_string_chars: usize,
    ) -> Self {
        let shown = DisplayPostprocess { limits, max_string_chars, findings: Findings::default() };
        Self {
            redactor,
            limits,
            value_redactor: ValueRedactor::new(
                redactor,
                limits.field_name_classifier(),
                bounds,
                shown,
            ),
        }
    }

    /// Indices of the rows that are relevant to the goal, the most relevant first. Relevance is
    /// measured on what is shown of a row, so the order reveals nothing that is masked.
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
                    let shown =
                        scratch.value_redactor.fields(fields, &SiblingNames::of_object(map), 1);
                    goal.match_count_in_values(shown.values())
                }
                other => {
                    let shown = scratch.value(other, None, 1);
                    goal.match_count_in_values(std::iter::once(&shown))
                }
            };
            Some((weight, at))
        });
        let weights = weights.take(MAX_CANDIDATES).filter(|(weight, _)| *weight > 0);
        let mut found: Vec<(usize, usize)> = weights.collect();
        found.sort_by_key(|(weight, at)| (std::cmp::Reverse(*weight), *at));
        found.into_iter().map(|(_, at)| at).collect()
    }

    /// The visible fields of a row whose content, masked or not, mentions the goal. A row that is
    /// not an object counts as one nameless field.
    fn relevant_fields<'v>(&self, goal: &Goal, row: &'v Value) -> Vec<(&'v String, &'v Value)> {
        static NAMELESS: String = String::new();
        let is_relevant = |value: &Value| goal.match_count_in_values(std::iter::once(value)) > 0;
        match row {
            Value::Object(map) => {
                let seen = map.iter().filter(|(key, _)| self.limits.may_show_field(key));
                seen.filter(|(_, value)| is_relevant(value)).collect()
            }
            other if is_relevant(other) => vec![(&NAMELESS, other)],
            _ => Vec::new(),
        }
    }

    /// The redactor in use.
    pub(crate) fn redactor(&self) -> &'a Redactor {
        self.redactor
    }

    /// Counts `by` omitted things of this kind.
    pub(crate) fn omit(&mut self, kind: &'static str, by: usize) {
        self.value_redactor.omit(kind, by);
    }

    /// Everything counted so far, by the kind of warning.
    pub(crate) fn into_warning_counts(self) -> BTreeMap<String, u64> {
        let ValueRedactor { masked, omitted, postprocess, .. } = self.value_redactor;
        let mut counts = BTreeMap::new();
        for (kind, n) in &masked {
            counts.insert(format!("redacted_{kind}"), *n);
        }
        for (kind, n) in postprocess.findings.counts().iter().chain(&omitted) {
            counts.insert((*kind).to_owned(), *n);
        }
        counts
    }

    /// The whole text, redacted, not yet escaped or shortened.
    pub(crate) fn redact(&mut self, text: &str) -> String {
        self.value_redactor.redact(text).into_owned()
    }

    /// Redacted text ready to show: scanned, escaped, at most `max` characters.
    pub(crate) fn scan_and_cut(&mut self, redacted: &str, max: usize) -> String {
        let shown = self.value_redactor.postprocess.scan_and_cut(
            Cow::Borrowed(redacted),
            max,
            &mut self.value_redactor.omitted,
        );
        shown.into_owned()
    }

    /// Redacted lines ready to show, each escaped and at most `max` characters. They are scanned
    /// together, since a sentence may continue on the next line.
    pub(crate) fn lines(&mut self, redacted: &[&str], max: usize) -> Vec<String> {
        let heads: Vec<&str> = redacted.iter().map(|line| escape::truncate(line, max)).collect();
        self.value_redactor.postprocess.findings.scan(&heads.join("\n"));
        let omitted = &mut self.value_redactor.omitted;
        let escaped = redacted
            .iter()
            .map(|line| DisplayPostprocess::escape_and_cut((*line).into(), max, omitted));
        escaped.map(Cow::into_owned).collect()
    }

    /// A string under a field name, if it has one: redacted as a whole, then escaped and shortened.
    pub(crate) fn string<'t>(
        &mut self,
        text: &'t str,
        key: Option<FieldName<'_>>,
        max: usize,
    ) -> Cow<'t, str> {
        let cell = std::mem::replace(&mut self.value_redactor.postprocess.max_string_chars, max);
        let shown = self.value_redactor.string(text, key, 0);
        self.value_redactor.postprocess.max_string_chars = cell;
        shown
    }

    /// A field name together with its meaning.
    pub(crate) fn field_name<'k>(&mut self, key: &'k str) -> FieldName<'k> {
        self.value_redactor.field_name(key)
    }

    /// A field name ready to show: one line, redacted, escaped and shortened.
    pub(crate) fn key<'k>(&mut self, key: &'k str) -> Cow<'k, str> {
        let mut named = self.value_redactor.field_name(key);
        self.value_redactor.key(&mut named)
    }

    /// True if a field of this name may be shown and its name needs no change.
    pub(crate) fn is_name_visible(&mut self, name: &str) -> bool {
        self.limits.may_show_field(name) && self.key(name) == name
    }

    /// Like [`Self::key`] for a name that was classified before; what is learned about it is added
    /// to its meaning.
    pub(crate) fn key_for<'k>(&mut self, key: &mut FieldName<'k>) -> Cow<'k, str> {
        self.value_redactor.key(key)
    }

    /// True if the value under this name is never shown; counts it.
    pub(crate) fn hides(&mut self, key: FieldName<'_>, value: &Value) -> bool {
        self.value_redactor.hide_by_name(key, value).is_some()
    }

    /// True if, in some row, a sibling field says what this field contains, as in `{"type":
    /// "mobile", "value": …}`. Such a column mixes values of several kinds.
    pub(crate) fn is_named_by_sibling(&mut self, rows: Rows<'_>, key: &str) -> bool {
        SiblingNames::may_be_named(key)
            && rows.iter().any(|row| {
                row.as_object().is_some_and(|map| self.value_redactor.is_named_by_sibling(map, key))
            })
    }

    /// True if the number must not be shown under this name; counts it.
    pub(crate) fn hides_number(&mut self, number: &Number, key: Option<FieldName<'_>>) -> bool {
        self.value_redactor.hides_number(number, key)
    }

    /// Like [`Self::hides_number`], without counting.
    pub(crate) fn would_hide_number(&self, number: &Number, key: FieldName<'_>) -> bool {
        self.value_redactor.would_hide_number(number, Some(key))
    }

    /// A value at `depth`. Strings and numbers are shown at any depth, lists and objects only above
    /// the maximum depth.
    pub(crate) fn value(
        &mut self,
        value: &Value,
        key: Option<FieldName<'_>>,
        depth: usize,
    ) -> Value {
        self.value_redactor.value(value, key, depth)
    }

    /// An item of a list, redacted as it is in the list: one of a name and a value is masked by the
    /// name only where it is an item.
    pub(crate) fn item(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::Array(items) if matches!(items.as_slice(), [Value::String(_), _]) => {
                let list = Value::Array(vec![value.clone()]);
                match self.value(&list, None, depth.saturating_sub(1)) {
                    Value::Array(mut shown) => shown.pop().unwrap_or_default(),
                    other => other,
                }
            }
            other => self.value(other, None, depth),
        }
    }

    /// A redacted line as a row; `None` if the list of allowed fields leaves no name for it.
    pub(crate) fn line(&mut self, redacted: &str) -> Option<Map<String, Value>> {
        if !self.limits.may_show_field("value") {
            self.omit("text_withheld", 1);
            return None;
        }
        let max = self.limits.max_cell_chars();
        // A line was scanned with the text that it is from, which is no JSON; the line may be.
        let second_pass = self.redactor.for_redacted_text();
        let masked = self.value_redactor.redact_json_parts(&second_pass, redacted);
        let shown = self.scan_and_cut(masked.as_deref().unwrap_or(redacted), max);
        Some([("value".to_owned(), Value::String(shown))].into_iter().collect())
    }

    /// One row of a table; `None` if the list of allowed fields leaves no name for it.
    pub(crate) fn row(&mut self, value: &Value, depth: usize) -> Option<Map<String, Value>> {
        let Value::Object(map) = value else {
            if !self.limits.may_show_field("value") {
                self.omit("rows_withheld", 1);
                return None;
            }
            let mut row = Map::new();
            row.insert("value".to_owned(), self.item(value, depth));
            return Some(row);
        };
        Some(self.object(map, depth))
    }

    /// Renders a row that was redacted before. The `second_pass` redactor keeps the masks in it.
    pub(crate) fn redacted_row(
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
        std::mem::swap(&mut self.value_redactor.masked, &mut other.value_redactor.masked);
        std::mem::swap(&mut self.value_redactor.omitted, &mut other.value_redactor.omitted);
        std::mem::swap(
            &mut self.value_redactor.postprocess.findings,
            &mut other.value_redactor.postprocess.findings,
        );
    }

    /// An object as a row, with only the fields that may be shown.
    pub(crate) fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let kept = map.iter().filter(|(key, _)| self.limits.may_show_field(key)).collect();
        let withheld = map.keys().filter(|key| self.limits.withholds_field(key)).count();
        self.omit("fields_not_allowed", withheld);
        self.value_redactor.fields(kept, &SiblingNames::of_object(map), depth)
    }
}
