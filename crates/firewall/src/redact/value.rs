//! Redacts structured values: keys, strings, numbers, and values that their field names hide.
//!
//! One walk serves both a whole value and the part of it that a frame shows. It goes no deeper and
//! no further than its [`WalkBounds`]; what lies beyond is replaced by a marker and counted.

mod columnar;
mod field_name;
mod nested_json;
mod number;
mod postprocess;
mod sibling_names;
mod strings;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::cut_reason::CutReason;
use super::field_names::{FieldMeaning, FieldNameClassifier, HiddenBy};
use super::mask_table::FIELD_KIND;
use super::{Counts, MASK, Redactor, count_kind};
pub(crate) use field_name::FieldName;
use postprocess::NoPostprocess;
pub(crate) use postprocess::{OmissionCounts, Postprocess};
use sibling_names::FieldRole;
pub(crate) use sibling_names::{SiblingNames, is_independent_of_siblings};

/// The most values that one walk visits.
const MAX_VALUES: usize = 4_000_000;
/// The longest string that is scanned together with its field name, in bytes.
const MAX_NAMED_SCAN_BYTES: usize = 512;

/// The counter for values cut off at the depth limit.
const DEPTH_ELIDED: &str = "depth_elided";

/// How far a walk goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkBounds {
    /// The most levels of lists and objects.
    pub(crate) depth: usize,
    /// The most fields of an object.
    pub(crate) fields: usize,
    /// The most items of a list.
    pub(crate) items: usize,
    /// Whether a part that is too deep is replaced by a short count, as in mode `auto`.
    pub(crate) marks_in_place: bool,
}

impl WalkBounds {
    /// The whole value: every field and item, to depth 128.
    pub(crate) const WHOLE_VALUE: Self =
        Self { depth: 128, fields: usize::MAX, items: usize::MAX, marks_in_place: false };
}

impl Redactor {
    /// Redacts keys, strings, numbers and sensitive fields of a value.
    pub(crate) fn redact_value(&self, value: &Value, counts: &mut Counts) -> Value {
        self.redact_value_with_names(value, FieldNameClassifier::default(), counts)
    }

    /// Like [`Redactor::redact_value`], with field names classified by `names`.
    pub(crate) fn redact_value_with_names(
        &self,
        value: &Value,
        names: FieldNameClassifier,
        counts: &mut Counts,
    ) -> Value {
        let mut value_redactor =
            ValueRedactor::new(self, names, WalkBounds::WHOLE_VALUE, NoPostprocess);
        let value = value_redactor.value(value, None, 0);
        merge_counts(counts, value_redactor.masked);
        for _ in 0..value_redactor.omitted.get(DEPTH_ELIDED).copied().unwrap_or(0) {
            count_kind(counts, "depth");
        }
        value
    }
}

/// A walk over one value, or over the values of one frame.
pub(crate) struct ValueRedactor<'a, F> {
    redactor: &'a Redactor,
    names: FieldNameClassifier,
    bounds: WalkBounds,
    pub(crate) postprocess: F,
    pub(crate) masked: Counts,
    pub(crate) omitted: OmissionCounts,
    /// How many more values may be visited.
    ///
    /// Checked only before a list or object is entered, whose items are then charged at once. So a
    /// single huge list of scalars is still redacted completely; what is nested after it is cut.
    remaining_values: usize,
    /// How deep JSON is nested within strings of JSON.
    json_string_depth: usize,
}

impl<'a, F: Postprocess> ValueRedactor<'a, F> {
    pub(crate) fn new(
        redactor: &'a Redactor,
        names: FieldNameClassifier,
        bounds: WalkBounds,
        postprocess: F,
    ) -> Self {
        let (masked, omitted) = (Counts::new(), OmissionCounts::new());
        // Field names and texts follow the same disclosure: a value that may be shown may also be
        // shown under its name.
        let names = names.with_disclosure(redactor.disclosure());
        Self {
            redactor,
            names,
            bounds,
            postprocess,
            masked,
            omitted,
            remaining_values: MAX_VALUES,
            json_string_depth: 0,
        }
    }

    /// The whole text, redacted. Where it has lines or blocks of JSON, field names hide values.
    pub(crate) fn redact<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.redact_json_parts(self.redactor, text)
            .unwrap_or_else(|| self.redactor.redact_text(text, &mut self.masked))
    }

    /// A field name with its meaning.
    pub(crate) fn field_name<'k>(&mut self, name: &'k str) -> FieldName<'k> {
        FieldName::classify(name, &mut self.names)
    }

    /// A value under a field name, at a depth.
    pub(crate) fn value(
        &mut self,
        value: &Value,
        key: Option<FieldName<'_>>,
        depth: usize,
    ) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => self.number(number, key),
            Value::String(text) => Value::String(self.string(text, key, depth).into_owned()),
            Value::Array(items) if depth >= self.bounds.depth && self.bounds.marks_in_place => {
                self.pruned_marker(items.len(), "items")
            }
            Value::Object(map) if depth >= self.bounds.depth && self.bounds.marks_in_place => {
                self.pruned_marker(map.len(), "fields")
            }
            Value::Array(_) | Value::Object(_) if depth >= self.bounds.depth => {
                self.elided_marker(CutReason::Depth(self.bounds.depth))
            }
            Value::Array(_) | Value::Object(_) if self.remaining_values == 0 => {
                self.elided_marker(CutReason::Values(MAX_VALUES))
            }
            Value::Array(items) if sibling_names::is_list_of_pairs(items) => {
                self.redact_items(items, |walk, _, two| walk.name_and_value(two, depth + 1))
            }
            Value::Array(items) => {
                self.redact_items(items, |walk, _, item| walk.value(item, key, depth + 1))
            }
            Value::Object(map) => {
                self.remaining_values = self.remaining_values.saturating_sub(map.len() + 1);
                Value::Object(self.fields(
                    map.iter().collect(),
                    &SiblingNames::of_object(map),
                    depth,
                ))
            }
        }
    }

    fn elided_marker(&mut self, cut: CutReason) -> Value {
        self.omit(DEPTH_ELIDED, 1);
        Value::String(cut.to_string())
    }

    /// The marker for a part that is too deep for these bounds.
    fn pruned_marker(&mut self, parts: usize, what: &str) -> Value {
        self.omit("depth_omitted", 1);
        Value::String(format!("… {parts} {what}"))
    }

    /// Counts `by` omitted things of this kind.
    pub(crate) fn omit(&mut self, kind: &'static str, by: usize) {
        if by > 0 {
            let count = self.omitted.entry(kind).or_default();
            *count = count.saturating_add(by as u64);
        }
    }

    /// A list with each item made by `make`, as many as the bounds allow.
    fn redact_items(
        &mut self,
        items: &[Value],
        mut make: impl FnMut(&mut Self, usize, &Value) -> Value,
    ) -> Value {
        self.remaining_values = self.remaining_values.saturating_sub(items.len() + 1);
        let max = self.bounds.items;
        let shown = items.iter().take(max).enumerate().map(|(at, item)| make(self, at, item));
        let mut shown: Vec<Value> = shown.collect();
        if let Some(more) = items.len().checked_sub(max).filter(|more| *more > 0) {
            self.omit("items_omitted", more);
            shown.push(Value::String(if self.bounds.marks_in_place {
                format!("… {more} more")
            } else {
                format!("… ({more} more)")
            }));
        }
        Value::Array(shown)
    }

    /// A field name, redacted and finished. What is learned is added to its meaning.
    pub(crate) fn key<'k>(&mut self, of: &mut FieldName<'k>) -> Cow<'k, str> {
        let FieldName { name, meaning } = of;
        if meaning.shown_unchanged {
            return Cow::Borrowed(name);
        }
        let redacted = if meaning.has_no_detections {
            Cow::Borrowed(*name)
        } else {
            match self.redactor.plain_words(name) {
                Some(how) if self.postprocess.is_plain(how) => {
                    *meaning =
                        FieldMeaning { has_no_detections: true, shown_unchanged: true, ..*meaning };
                    return Cow::Borrowed(name);
                }
                Some(_) => Cow::Borrowed(*name),
                None => self.redactor.redact_long_text(name, &mut self.masked),
            }
        };
        let clean = redacted == *name;
        let (shown, shown_unchanged) = self.postprocess.key(redacted);
        if clean {
            *meaning = FieldMeaning { has_no_detections: clean, shown_unchanged, ..*meaning };
        }
        shown
    }

    /// A list of two items, a name and its value.
    fn name_and_value(&mut self, two: &Value, depth: usize) -> Value {
        match two.as_array().map(Vec::as_slice) {
            Some([Value::String(name), value]) if depth < self.bounds.depth => {
                let named = self.field_name(name);
                let shown = self.value_under(named, value, depth + 1);
                let name = self.string(name, None, depth).into_owned();
                Value::Array(vec![Value::String(name), shown])
            }
            _ => self.value(two, None, depth),
        }
    }

    /// Like [`FieldName::hides_value`]; counts it.
    pub(crate) fn hide_by_name(&mut self, of: FieldName<'_>, value: &Value) -> Option<HiddenBy> {
        let hides = of.hides_value(value);
        if hides.is_some() {
            count_kind(&mut self.masked, FIELD_KIND);
        }
        hides
    }

    /// The mask of a value that its field name hides.
    pub(crate) fn mask_hidden(&self, value: &Value, by: HiddenBy) -> Value {
        if value.as_str().is_some_and(|text| self.redactor.is_mask_of_run(text)) {
            return value.clone();
        }
        let mask = self.redactor.mask_field(value, by);
        Value::String(mask.unwrap_or_else(|| MASK.to_owned()))
    }

    /// True if a sibling field names the value of this field.
    pub(crate) fn is_named_by_sibling(&mut self, map: &Map<String, Value>, key: &str) -> bool {
        let name = SiblingNames::of_object(map).name_of(key).map(|name| self.names.classify(name));
        name.is_some_and(|meaning| meaning.hidden_by.is_some() || meaning.has_context_word)
    }

    /// A value, masked if its field name says so.
    fn value_under(&mut self, of: FieldName<'_>, value: &Value, depth: usize) -> Value {
        if let Some(by) = self.hide_by_name(of, value) {
            return self.mask_hidden(value, by);
        }
        self.value(value, Some(of), depth)
    }

    /// Fields of one object, as many as the bounds allow, sorted by name.
    pub(crate) fn fields(
        &mut self,
        mut fields: Vec<(&String, &Value)>,
        pairing: &SiblingNames<'_>,
        depth: usize,
    ) -> Map<String, Value> {
        fields.sort_by_key(|(key, _)| (!self.postprocess.is_priority_field(key), *key));
        let max = self.bounds.fields;
        let missing = fields.len().saturating_sub(max);
        self.omit("fields_omitted", missing);
        let mut out = Map::new();
        let mut duplicate_counts = BTreeMap::new();
        for (key, value) in fields.into_iter().take(max) {
            let known = self.field_name(key);
            let mut learned = known;
            let shown = match pairing.role(key) {
                FieldRole::Rows(columns) => self.columnar_rows(value, columns, depth + 1),
                FieldRole::Value(name) => self.paired_value(known, name, value, depth + 1),
                FieldRole::Plain => self.value_under(known, value, depth + 1),
            };
            let name = self.key(&mut learned).into_owned();
            // At depth 0 is the single top-level object, whose names rarely reappear, so they are
            // not cached.
            if depth > 0 && learned.meaning != known.meaning {
                self.names.remember(key, learned.meaning);
            }
            out.insert(unused_name(name, &out, &mut duplicate_counts), shown);
        }
        if missing > 0 && self.bounds.marks_in_place {
            out.insert("…".to_owned(), Value::String(format!("{missing} more fields")));
        }
        out
    }

    /// A value that a sibling field names.
    fn paired_value(
        &mut self,
        field: FieldName<'_>,
        name: &str,
        value: &Value,
        depth: usize,
    ) -> Value {
        if let Some(by) = self.hide_by_name(field, value) {
            return self.mask_hidden(value, by);
        }
        let named = self.field_name(name);
        self.value_under(named, value, depth)
    }
}

/// Redacts a value with its field name as context; also returns what was masked. `None` if
/// unchanged.
fn redact_with_name(redactor: &Redactor, key: &str, text: &str) -> Option<(String, Counts)> {
    let whole = format!("{key}: {text}");
    let mut counts = Counts::new();
    let Cow::Owned(redacted) = redactor.redact_text(&whole, &mut counts) else { return None };
    let before = whole.len() - text.len();
    let after = whole.get(..before).and_then(|name| redacted.strip_prefix(name));
    match after {
        Some(after) => (after != text).then(|| (after.to_owned(), counts)),
        // Something in the name was masked, so the parts of the output cannot be told apart. Mask
        // the whole value unless it is still there unchanged.
        None => (!redacted.ends_with(text)).then(|| {
            let value = Value::String(text.to_owned());
            let mask = redactor.mask_field(&value, HiddenBy::Secret);
            (mask.unwrap_or_else(|| MASK.to_owned()), counts)
        }),
    }
}

fn merge_counts(counts: &mut Counts, more: Counts) {
    for (kind, n) in more {
        let count = counts.entry(kind).or_default();
        *count = count.saturating_add(n);
    }
}

/// A field name that is not used yet, so that two fields whose names got the same mask stay two
/// fields.
fn unused_name(
    name: String,
    taken: &Map<String, Value>,
    doubles: &mut BTreeMap<String, u64>,
) -> String {
    if !taken.contains_key(&name) {
        return name;
    }
    let count = doubles.entry(name.clone()).or_insert(1);
    loop {
        *count += 1;
        let other = format!("{name} ({count})");
        if !taken.contains_key(&other) {
            return other;
        }
    }
}

/// One word with a digit, long enough for a key, and not a date.
fn looks_like_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    let date = matches!(bytes.get(..5), Some([_, _, _, _, b'-']))
        && bytes.iter().take(4).all(u8::is_ascii_digit)
        && bytes.get(7) == Some(&b'-');
    text.len() >= 12
        && !date
        && bytes.iter().any(u8::is_ascii_digit)
        && !bytes.iter().any(u8::is_ascii_whitespace)
}
