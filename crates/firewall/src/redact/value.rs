//! Structured values: keys, strings, numbers, and what a field's name says of its value.
//!
//! One walk serves both a whole value and the part of one that a frame shows. It goes no deeper
//! and no further than its [`Bounds`]; what lies beyond is left out, with a marker and a count.

mod field_name;
mod nested_json;
mod number;
mod pair;
mod postprocess;
mod strings;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::cut_reason::CutReason;
use super::field::{FieldMeaning, HiddenBy, Names};
use super::mask_table::FIELD;
use super::{Counts, MASK, Redactor, count};
pub(crate) use field_name::FieldName;
use pair::Role;
pub(crate) use pair::{Pairing, stands_alone};
use postprocess::NoPostprocess;
pub(crate) use postprocess::{OmissionCounts, Postprocess};

/// The most values that one walk looks at.
const MAX_VALUES: usize = 4_000_000;
/// The longest string that is scanned together with its name, in bytes.
const MAX_IN_CONTEXT: usize = 512;

/// The kind under which they are counted.
const ELIDED: &str = "depth_elided";

/// How far a walk goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Levels of lists and objects.
    pub(crate) depth: usize,
    /// Fields of an object.
    pub(crate) fields: usize,
    /// Items of a list.
    pub(crate) items: usize,
    /// Whether what lies too deep is counted in its place.
    pub(crate) prunes: bool,
}

impl Bounds {
    /// A whole value: every field and item, to depth 128.
    pub(crate) const WHOLE: Self =
        Self { depth: 128, fields: usize::MAX, items: usize::MAX, prunes: false };
}

impl Redactor {
    /// The value with keys, strings, numbers and sensitive fields masked.
    pub(crate) fn value(&self, value: &Value, counts: &mut Counts) -> Value {
        self.value_named(value, Names::default(), counts)
    }

    /// The same where names of fields mean what `names` says.
    pub(crate) fn value_named(&self, value: &Value, names: Names, counts: &mut Counts) -> Value {
        let mut walk = ValueRedactor::new(self, names, Bounds::WHOLE, NoPostprocess);
        let value = walk.value(value, None, 0);
        join(counts, walk.masked);
        for _ in 0..walk.omitted.get(ELIDED).copied().unwrap_or(0) {
            count(counts, "depth");
        }
        value
    }
}

/// A walk over one value or over the values of one frame.
pub(crate) struct ValueRedactor<'a, F> {
    redactor: &'a Redactor,
    names: Names,
    bounds: Bounds,
    pub(crate) postprocess: F,
    pub(crate) masked: Counts,
    pub(crate) omitted: OmissionCounts,
    left: usize,
    /// Levels of JSON inside strings of JSON.
    level: usize,
}

impl<'a, F: Postprocess> ValueRedactor<'a, F> {
    pub(crate) fn new(
        redactor: &'a Redactor,
        names: Names,
        bounds: Bounds,
        postprocess: F,
    ) -> Self {
        let (masked, omitted) = (Counts::new(), OmissionCounts::new());
        // One answer for names and texts: what may be seen of a value may be seen under its name.
        let names = names.showing(redactor.disclosure());
        Self { redactor, names, bounds, postprocess, masked, omitted, left: MAX_VALUES, level: 0 }
    }

    /// The whole text, redacted.
    pub(crate) fn redacted<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.redactor.text(text, &mut self.masked)
    }

    /// A name with what it means.
    pub(crate) fn named<'k>(&mut self, name: &'k str) -> FieldName<'k> {
        FieldName::of(name, &mut self.names)
    }

    /// A value under a name, at a depth.
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
            Value::Array(items) if depth >= self.bounds.depth && self.bounds.prunes => {
                self.pruned(items.len(), "items")
            }
            Value::Object(map) if depth >= self.bounds.depth && self.bounds.prunes => {
                self.pruned(map.len(), "fields")
            }
            Value::Array(_) | Value::Object(_) if depth >= self.bounds.depth => {
                self.elided(CutReason::Depth(self.bounds.depth))
            }
            Value::Array(_) | Value::Object(_) if self.left == 0 => {
                self.elided(CutReason::Values(MAX_VALUES))
            }
            Value::Array(items) if pair::of_two(items) => {
                self.each(items, |walk, _, two| walk.two(two, depth + 1))
            }
            Value::Array(items) => {
                self.each(items, |walk, _, item| walk.value(item, key, depth + 1))
            }
            Value::Object(map) => {
                self.left = self.left.saturating_sub(map.len() + 1);
                Value::Object(self.fields(map.iter().collect(), &Pairing::of(map), depth))
            }
        }
    }

    fn elided(&mut self, cut: CutReason) -> Value {
        self.omit(ELIDED, 1);
        Value::String(cut.to_string())
    }

    /// What stands in place of a part that lies too deep to be shown here.
    fn pruned(&mut self, parts: usize, what: &str) -> Value {
        self.omit("depth_omitted", 1);
        Value::String(format!("… {parts} {what}"))
    }

    /// Counts `by` things of this kind that were left out.
    pub(crate) fn omit(&mut self, kind: &'static str, by: usize) {
        if by > 0 {
            let count = self.omitted.entry(kind).or_default();
            *count = count.saturating_add(by as u64);
        }
    }

    /// A list, each item made by `make`, as many as the bounds allow.
    fn each(
        &mut self,
        items: &[Value],
        mut make: impl FnMut(&mut Self, usize, &Value) -> Value,
    ) -> Value {
        self.left = self.left.saturating_sub(items.len() + 1);
        let max = self.bounds.items;
        let shown = items.iter().take(max).enumerate().map(|(at, item)| make(self, at, item));
        let mut shown: Vec<Value> = shown.collect();
        if let Some(more) = items.len().checked_sub(max).filter(|more| *more > 0) {
            self.omit("items_omitted", more);
            shown.push(Value::String(if self.bounds.prunes {
                format!("… {more} more")
            } else {
                format!("… ({more} more)")
            }));
        }
        Value::Array(shown)
    }

    /// A name: redacted, then finished. What is learned of it is added to its meaning.
    pub(crate) fn key<'k>(&mut self, of: &mut FieldName<'k>) -> Cow<'k, str> {
        let FieldName { name, meaning } = of;
        if meaning.shown_unchanged {
            return Cow::Borrowed(name);
        }
        let redacted = if meaning.clean {
            Cow::Borrowed(*name)
        } else {
            match self.redactor.plain_words(name) {
                Some(how) if self.postprocess.is_plain(how) => {
                    *meaning = FieldMeaning { clean: true, shown_unchanged: true, ..*meaning };
                    return Cow::Borrowed(name);
                }
                Some(_) => Cow::Borrowed(*name),
                None => self.redactor.long_text(name, &mut self.masked),
            }
        };
        let clean = redacted == *name;
        let (shown, shown_unchanged) = self.postprocess.key(redacted);
        if clean {
            *meaning = FieldMeaning { clean, shown_unchanged, ..*meaning };
        }
        shown
    }

    /// A name and its value in a list of two.
    fn two(&mut self, two: &Value, depth: usize) -> Value {
        match two.as_array().map(Vec::as_slice) {
            Some([Value::String(name), value]) if depth < self.bounds.depth => {
                let named = self.named(name);
                let shown = self.under(named, value, depth + 1);
                let name = self.string(name, None, depth).into_owned();
                Value::Array(vec![Value::String(name), shown])
            }
            _ => self.value(two, None, depth),
        }
    }

    /// Rows whose columns are named elsewhere.
    fn grid(&mut self, rows: &Value, columns: &[&str], depth: usize) -> Value {
        match rows {
            Value::Array(rows) if depth < self.bounds.depth => {
                self.each(rows, |walk, _, row| walk.cells(row, columns, depth + 1))
            }
            other => self.value(other, None, depth),
        }
    }

    fn cells(&mut self, row: &Value, columns: &[&str], depth: usize) -> Value {
        match row {
            Value::Array(cells) if depth < self.bounds.depth => {
                self.each(cells, |walk, at, cell| match columns.get(at) {
                    Some(name) => {
                        let named = walk.named(name);
                        walk.under(named, cell, depth + 1)
                    }
                    None => walk.value(cell, None, depth + 1),
                })
            }
            other => self.value(other, None, depth),
        }
    }

    /// The same; counts it.
    pub(crate) fn hides(&mut self, of: FieldName<'_>, value: &Value) -> Option<HiddenBy> {
        let hides = of.hides(value);
        if hides.is_some() {
            count(&mut self.masked, FIELD);
        }
        hides
    }

    /// The mask of a value that its name hides.
    pub(crate) fn mask_of(&self, value: &Value, by: HiddenBy) -> Value {
        if value.as_str().is_some_and(|text| self.redactor.is_own_mask(text)) {
            return value.clone();
        }
        let mask = self.redactor.mask_field(value, by);
        Value::String(mask.unwrap_or_else(|| MASK.to_owned()))
    }

    /// True when the name beside this field says what its value is.
    pub(crate) fn is_named_by_sibling(&mut self, map: &Map<String, Value>, key: &str) -> bool {
        let name = Pairing::of(map).name_of(key).map(|name| self.names.of(name));
        name.is_some_and(|meaning| meaning.hidden.is_some() || meaning.context)
    }

    /// A value, or the mask where its name says so.
    fn under(&mut self, of: FieldName<'_>, value: &Value, depth: usize) -> Value {
        if let Some(by) = self.hides(of, value) {
            return self.mask_of(value, by);
        }
        self.value(value, Some(of), depth)
    }

    /// Fields of one object, as many as the bounds allow, in the order of their names.
    pub(crate) fn fields(
        &mut self,
        mut fields: Vec<(&String, &Value)>,
        pairing: &Pairing<'_>,
        depth: usize,
    ) -> Map<String, Value> {
        fields.sort_by_key(|(key, _)| (!self.postprocess.first(key), *key));
        let max = self.bounds.fields;
        let missing = fields.len().saturating_sub(max);
        self.omit("fields_omitted", missing);
        let mut out = Map::new();
        let mut doubles = BTreeMap::new();
        for (key, value) in fields.into_iter().take(max) {
            let known = self.named(key);
            let mut own = known;
            let shown = match pairing.role(key) {
                Role::Rows(columns) => self.grid(value, columns, depth + 1),
                Role::Value(name) => self.paired(known, name, value, depth + 1),
                Role::Plain => self.under(known, value, depth + 1),
            };
            let name = self.key(&mut own).into_owned();
            // At depth 0 is the one object at the top, whose names seldom come again.
            if depth > 0 && own.meaning != known.meaning {
                self.names.remember(key, own.meaning);
            }
            out.insert(fresh(name, &out, &mut doubles), shown);
        }
        if missing > 0 && self.bounds.prunes {
            out.insert("…".to_owned(), Value::String(format!("{missing} more fields")));
        }
        out
    }

    /// The value of a name that stands beside it in the same object.
    fn paired(&mut self, own: FieldName<'_>, name: &str, value: &Value, depth: usize) -> Value {
        if let Some(by) = self.hides(own, value) {
            return self.mask_of(value, by);
        }
        let named = self.named(name);
        self.under(named, value, depth)
    }
}

/// The value redacted with its name as context, and what was masked; `None` if unchanged.
fn in_context(redactor: &Redactor, key: &str, text: &str) -> Option<(String, Counts)> {
    let whole = format!("{key}: {text}");
    let mut counts = Counts::new();
    let Cow::Owned(redacted) = redactor.text(&whole, &mut counts) else { return None };
    let before = whole.len() - text.len();
    let after = whole.get(..before).and_then(|name| redacted.strip_prefix(name));
    match after {
        Some(after) => (after != text).then(|| (after.to_owned(), counts)),
        // Something in the name was masked. It cannot be told what belongs to the value,
        // unless the value came through unharmed.
        None => (!redacted.ends_with(text)).then(|| {
            let value = Value::String(text.to_owned());
            let mask = redactor.mask_field(&value, HiddenBy::Secret);
            (mask.unwrap_or_else(|| MASK.to_owned()), counts)
        }),
    }
}

fn join(counts: &mut Counts, more: Counts) {
    for (kind, n) in more {
        let count = counts.entry(kind).or_default();
        *count = count.saturating_add(n);
    }
}

/// Two masked keys stay two fields.
fn fresh(name: String, taken: &Map<String, Value>, doubles: &mut BTreeMap<String, u64>) -> String {
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

/// One word of letters and digits, long enough for a key, and no date.
fn is_token(text: &str) -> bool {
    let bytes = text.as_bytes();
    let date = matches!(bytes.get(..5), Some([_, _, _, _, b'-']))
        && bytes.iter().take(4).all(u8::is_ascii_digit)
        && bytes.get(7) == Some(&b'-');
    text.len() >= 12
        && !date
        && bytes.iter().any(u8::is_ascii_digit)
        && !bytes.iter().any(u8::is_ascii_whitespace)
}
