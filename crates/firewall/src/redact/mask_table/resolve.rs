//! Arguments with masks: the values in their places.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use weaver_text::escape;
use weaver_types::MaskedValue;

use super::entry::{Entry, Form};
use super::known_values::MAX_GIVEN_OUT;
use super::mention::{bracketed, is_meant};
use super::{LOOKALIKE, MaskTable, State, quoted_values};

/// The deepest value that is looked into; deeper arguments are refused elsewhere.
const MAX_DEPTH: usize = 128;
/// The most bytes that values add to the arguments of one call.
const MAX_GROWTH: usize = 1024 * 1024;
/// The longest place that is named, in characters.
const MAX_PLACE: usize = 120;

/// A text in brackets that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMask {
    /// The text.
    pub mask: String,
    /// Where it stands, as a JSON pointer of at most 120 characters.
    pub place: String,
}

/// The arguments of a call with the values in place of their masks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedArguments {
    /// The arguments, where a mask stood in them; byte for byte what was masked stands in its
    /// place.
    pub arguments: Option<Value>,
    /// The masks that were resolved, each once.
    pub masked: Vec<MaskedValue>,
    /// The first mask that stands for nothing: a plain one, another run's, a changed one.
    pub unknown: Option<UnknownMask>,
    /// Whether there is more to put in than the call may get, 1 MiB, or than the run gives out,
    /// 1,000 values of 256 KiB together. Then nothing is put in.
    pub too_much: bool,
}

impl MaskTable {
    /// Resolves the masks in arguments. Values that are put in are not looked through again.
    pub(crate) fn resolve(
        &self,
        arguments: &Value,
        is_kind: &dyn Fn(&[u8]) -> bool,
    ) -> ResolvedArguments {
        let state = self.state();
        let mut resolver = Resolver {
            state: &state,
            is_kind,
            place: String::new(),
            found: BTreeMap::new(),
            unknown: None,
            changed: false,
            grown: 0,
        };
        let value = resolver.value(arguments, 0);
        let Resolver { found, unknown, changed, grown, .. } = resolver;
        if grown > MAX_GROWTH || state.would_exceed(found.keys()) {
            return ResolvedArguments { unknown, too_much: true, ..ResolvedArguments::default() };
        }
        let masked = found.into_values().filter(|one| one.kind != LOOKALIKE).collect();
        ResolvedArguments { arguments: changed.then_some(value), masked, unknown, too_much: false }
    }

    /// A text that a model saw, with the values in place of their masks.
    #[must_use]
    pub fn restore<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let state = self.state();
        with_values(text, |mask, range, from| {
            let entry = state.entry(mask)?;
            Some(entry.within(text, range, from, entry.unquoted()?))
        })
    }

    /// A text with masks in place of these masks' values, wherever they stand in it: as they are,
    /// as messages quote them, and cut.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str, masked: &[MaskedValue]) -> Cow<'t, str> {
        let state = self.state();
        let entries = masked.iter().filter_map(|one| state.entry(&one.mask));
        let values = entries.filter_map(|entry| Some((entry.unquoted()?, entry.mask.as_str())));
        quoted_values::hide(text, values)
    }
}

impl State {
    fn entry(&self, mask: &str) -> Option<&Entry> {
        self.by_mask.get(mask).and_then(|place| self.entries.get(*place))
    }

    /// Whether these are more than the run may give out.
    fn would_exceed<'m>(&self, masks: impl Iterator<Item = &'m &'m str>) -> bool {
        let entries = masks.filter_map(|mask| self.entry(mask)).filter(|entry| !entry.given_out);
        let (count, bytes) = entries.fold(self.given_out, |(count, bytes), entry| {
            let own = entry.text().map_or(0, str::len);
            (count.saturating_add(1), bytes.saturating_add(own))
        });
        count > MAX_GIVEN_OUT.0 || bytes > MAX_GIVEN_OUT.1
    }
}

impl Entry {
    /// The stretch that gives way to the value within a text, and the value as it stood there.
    /// `from` is where the text begins that is the model's own.
    fn within(
        &self,
        text: &str,
        range: Range<usize>,
        from: usize,
        unquoted: String,
    ) -> (Range<usize>, String) {
        let token = self.text().filter(|_| self.form == Form::Json);
        let before = text.get(from..range.start).unwrap_or_default();
        let after = text.get(range.end..).unwrap_or_default();
        let Some((token, quote)) = token.zip(quote(before, after)) else {
            return (range, unquoted);
        };
        // JSON in a string of JSON: the token is escaped as its quotes are.
        let levels = quote.trailing_zeros();
        let token = (0..levels).fold(token.to_owned(), |token, _| escaped(&token));
        (range.start - quote..range.end + quote, token)
    }
}

/// How many bytes the quote has that stands on both sides, backslashes included: a power of two,
/// as every level of strings doubles the backslashes.
fn quote(before: &str, after: &str) -> Option<usize> {
    let inner = before.strip_suffix('"')?;
    let slashes = inner.bytes().rev().take_while(|b| *b == b'\\').count();
    let quote = before.get(inner.len() - slashes..)?;
    (quote.len().is_power_of_two() && after.starts_with(quote)).then_some(quote.len())
}

/// A text as it stands in a string of JSON, without the quotes.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// A text with what `value` gives in place of each mask. It is told the mask, where it stands, and
/// from where on the text is still as it was; and gives the stretch that the value takes.
fn with_values(
    text: &str,
    mut value: impl FnMut(&str, Range<usize>, usize) -> Option<(Range<usize>, String)>,
) -> Cow<'_, str> {
    let (mut out, mut kept) = (String::new(), 0);
    for range in bracketed(text) {
        let Some(mask) = text.get(range.clone()) else { continue };
        let Some((range, value)) = value(mask, range, kept) else { continue };
        out.push_str(text.get(kept..range.start).unwrap_or_default());
        out.push_str(&value);
        kept = range.end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

struct Resolver<'a> {
    state: &'a State,
    is_kind: &'a dyn Fn(&[u8]) -> bool,
    place: String,
    found: BTreeMap<&'a str, MaskedValue>,
    unknown: Option<UnknownMask>,
    changed: bool,
    grown: usize,
}

impl<'a> Resolver<'a> {
    fn value(&mut self, value: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH || self.grown > MAX_GROWTH {
            return value.clone();
        }
        match value {
            Value::String(text) => {
                let entry = self.state.entry(text);
                match entry.and_then(|entry| entry.json().zip(entry.text())) {
                    Some((whole, value)) => {
                        self.use_of(text, value.len());
                        whole
                    }
                    None => Value::String(self.text(text).into_owned()),
                }
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| {
                    self.below(&at.to_string(), |inner| inner.value(item, depth + 1))
                });
                Value::Array(items.collect())
            }
            Value::Object(fields) => {
                let mut out = Map::new();
                for (name, field) in fields {
                    let (name, field) = self.below(name, |inner| {
                        (inner.name(name, fields, &out), inner.value(field, depth + 1))
                    });
                    out.insert(name, field);
                }
                Value::Object(out)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn below<T>(&mut self, step: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.place.len();
        self.place.push('/');
        self.place.push_str(&step.replace('~', "~0").replace('/', "~1"));
        let out = look(self);
        self.place.truncate(before);
        out
    }

    /// The name of a field. Where its masks stand for the name of another field, it stays as it is
    /// and counts as a mask that stands for nothing: no field overwrites another.
    fn name(&mut self, name: &str, all: &Map<String, Value>, done: &Map<String, Value>) -> String {
        let resolved = self.text(name);
        if resolved == name || !all.contains_key(&*resolved) && !done.contains_key(&*resolved) {
            return resolved.into_owned();
        }
        let mask = bracketed(name).next().and_then(|range| name.get(range)).unwrap_or(name);
        if self.unknown.is_none() {
            self.unknown = Some(UnknownMask { mask: mask.to_owned(), place: self.shown_place() });
        }
        name.to_owned()
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        with_values(text, |mask, range, from| {
            let entry = self.state.entry(mask);
            let Some((entry, unquoted)) = entry.and_then(|entry| Some((entry, entry.unquoted()?)))
            else {
                self.note_unknown(mask);
                return None;
            };
            if self.grown > MAX_GROWTH {
                return None;
            }
            let (range, value) = entry.within(text, range, from, unquoted);
            self.use_of(mask, value.len());
            Some((range, value))
        })
    }

    /// Notes that the value of a mask was put in.
    fn use_of(&mut self, mask: &str, bytes: usize) {
        self.changed = true;
        self.grown = self.grown.saturating_add(bytes);
        let Some(entry) = self.state.entry(mask) else { return };
        if self.found.contains_key(entry.mask.as_str()) {
            return;
        }
        let one = MaskedValue {
            mask: entry.mask.clone(),
            place: self.shown_place(),
            kind: entry.kind.to_string(),
            family: entry.family,
            origins: entry.origins.clone(),
            label: entry.label.clone(),
        };
        self.found.insert(&entry.mask, one);
    }

    fn note_unknown(&mut self, mask: &str) {
        if self.unknown.is_none() && is_meant(mask, self.is_kind) {
            self.unknown = Some(UnknownMask { mask: mask.to_owned(), place: self.shown_place() });
        }
    }

    fn shown_place(&self) -> String {
        escape::line(escape::truncate(&self.place, MAX_PLACE)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_doubles_its_backslashes_with_each_level() {
        for (before, after, expected) in [
            (r#"a""#, r#"" b"#, Some(1)),
            (r#"a\""#, r#"\""#, Some(2)),
            (r#"a\\\""#, r#"\\\" b"#, Some(4)),
            (r#"a\\""#, r#"\\""#, None),
            (r#"a\""#, r#"""#, None),
            (r#"a""#, "b", None),
            ("a", r#"""#, None),
            (r#"""#, r#"""#, Some(1)),
        ] {
            assert_eq!(quote(before, after), expected, "{before} {after}");
        }
    }

    #[test]
    fn masks_are_resolved_to_128_levels() {
        let table = MaskTable::new();
        let kind = std::sync::Arc::from("email");
        let (family, form) = (weaver_types::ValueFamily::Personal, Form::Text);
        let value =
            crate::redact::mask_table::MaskedValue { kind: &kind, family, form, text: "a@b.co" };
        assert_eq!(table.mask(&value, None).as_deref(), Some("[EMAIL_1]"));
        let nested = |levels: usize| {
            (0..levels).fold(Value::from("[EMAIL_1]"), |inner, _| Value::Array(vec![inner]))
        };
        let is_resolved = |levels: usize| {
            table.resolve(&nested(levels), &|kind: &[u8]| kind == b"EMAIL").arguments.is_some()
        };
        assert!(is_resolved(0) && is_resolved(128) && !is_resolved(129));
    }

    #[test]
    fn a_text_is_escaped_as_in_a_string() {
        assert_eq!(escaped(r#"a "b" \"#), r#"a \"b\" \\"#);
        assert_eq!(escaped(""), "");
    }

    #[test]
    fn values_stand_in_place_of_masks_and_the_rest_stays() {
        let shown = |text: &str| {
            with_values(text, |mask, range, _| (mask == "[A_1]").then(|| (range, "x".to_owned())))
                .into_owned()
        };
        assert_eq!(shown("to [A_1], [B_1] and [A_1]."), "to x, [B_1] and x.");
        assert_eq!(shown("[A_1][A_1]"), "xx");
        assert_eq!(shown("[B_1]"), "[B_1]");
    }
}
