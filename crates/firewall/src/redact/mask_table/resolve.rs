//! Replaces masks in arguments by their values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use weaver_text::escape;
use weaver_types::{JsonPointer, MaskedValue};

use super::disclosed_values::MAX_DISCLOSED;
use super::entry::{MaskEntry, ValueForm};
use super::mask_mention::{bracketed, is_meant_as_mask};
use super::{LOOKALIKE_KIND, MaskTable, State, quoted_values};

/// The deepest value that is resolved; deeper arguments are refused elsewhere.
const MAX_DEPTH: usize = 128;
/// The most bytes that values may add to the arguments of one call.
const MAX_GROWTH: usize = 1024 * 1024;
/// The longest pointer that is reported, in characters.
const MAX_POINTER_CHARS: usize = 120;

/// A mask in arguments that stands for no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMask {
    /// The mask as written.
    pub mask: String,
    /// Where it is, as a JSON pointer of at most 120 characters.
    pub pointer: String,
}

/// The arguments of a call with masks replaced by values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedArguments {
    /// The resolved arguments, if they contained a mask, with the exact bytes that were masked; or
    /// an escape as which the run showed a hidden character.
    pub arguments: Option<Value>,
    /// The masks that were resolved, each once.
    pub resolved: Vec<MaskedValue>,
    /// The first mask without a value: a plain one, one of another run, or a changed one.
    pub unknown: Option<UnknownMask>,
    /// True if the values exceed what one call may receive (1 MiB) or what the run may disclose
    /// (1,000 values of 256 KiB in total). Then nothing is resolved.
    pub exceeds_limits: bool,
}

impl MaskTable {
    /// Resolves the masks in arguments. Inserted values are not searched for further masks.
    pub(crate) fn resolve(
        &self,
        arguments: &Value,
        is_kind: &dyn Fn(&[u8]) -> bool,
    ) -> ResolvedArguments {
        let state = self.state();
        let mut resolver = Resolver {
            state: &state,
            is_kind,
            pointer: String::new(),
            found: BTreeMap::new(),
            unknown: None,
            changed: false,
            added_bytes: 0,
        };
        let value = resolver.value(arguments, 0);
        let Resolver { found, unknown, changed, added_bytes, .. } = resolver;
        if added_bytes > MAX_GROWTH || state.would_exceed(found.keys()) {
            return ResolvedArguments {
                unknown,
                exceeds_limits: true,
                ..ResolvedArguments::default()
            };
        }
        let resolved = found.into_values().filter(|one| one.kind != LOOKALIKE_KIND).collect();
        ResolvedArguments {
            arguments: changed.then_some(value),
            resolved,
            unknown,
            exceeds_limits: false,
        }
    }

    /// Restores the values in a text that a model saw.
    #[must_use]
    pub fn restore<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let state = self.state();
        replace_masks(text, |mask, range, from| {
            let entry = state.entry(mask)?;
            Some(entry.replacement_at(text, range, from, entry.to_unquoted()?))
        })
    }

    /// Replaces the values of these masks in a text, wherever they occur: verbatim, as messages
    /// quote them, or truncated.
    #[must_use]
    pub fn mask_values<'t>(&self, text: &'t str, masked: &[MaskedValue]) -> Cow<'t, str> {
        let state = self.state();
        let entries = masked.iter().filter_map(|one| state.entry(&one.mask));
        let values = entries.filter_map(|entry| Some((entry.to_unquoted()?, entry.mask.as_str())));
        quoted_values::mask_quoted(text, values)
    }
}

impl State {
    pub(super) fn entry(&self, mask: &str) -> Option<&MaskEntry> {
        self.by_mask.get(mask).and_then(|place| self.entries.get(*place))
    }

    /// True if these masks exceed what the run may still disclose.
    fn would_exceed<'m>(&self, masks: impl Iterator<Item = &'m &'m str>) -> bool {
        let entries = masks.filter_map(|mask| self.entry(mask)).filter(|entry| !entry.is_disclosed);
        let totals = entries.fold(self.disclosed_totals, |totals, entry| {
            totals.with_value(entry.text().map_or(0, str::len))
        });
        totals.exceeds(MAX_DISCLOSED)
    }
}

impl MaskEntry {
    /// The range to replace in a text, and its replacement. `from` is where the model's own text
    /// begins.
    fn replacement_at(
        &self,
        text: &str,
        range: Range<usize>,
        from: usize,
        unquoted: String,
    ) -> (Range<usize>, String) {
        let token = self.text().filter(|_| self.form == ValueForm::Json);
        let before = text.get(from..range.start).unwrap_or_default();
        let after = text.get(range.end..).unwrap_or_default();
        let Some((token, quote)) = token.zip(quote_width(before, after)) else {
            return (range, unquoted);
        };
        // JSON within a JSON string: the token needs the same escaping as its quotes.
        let levels = quote.trailing_zeros();
        let token = (0..levels).fold(token.to_owned(), |token, _| json_escaped(&token));
        (range.start - quote..range.end + quote, token)
    }
}

/// The width in bytes of the quote on both sides, including backslashes: a power of two, since each
/// level of strings doubles the backslashes.
fn quote_width(before: &str, after: &str) -> Option<usize> {
    let inner = before.strip_suffix('"')?;
    let slashes = inner.bytes().rev().take_while(|b| *b == b'\\').count();
    let quote = before.get(inner.len() - slashes..)?;
    (quote.len().is_power_of_two() && after.starts_with(quote)).then_some(quote.len())
}

/// The text as it appears within a JSON string, without the quotes.
fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Replaces each mask for which `value` returns a replacement. It gets the mask, its range, and the
/// offset from which the text is still unchanged; it returns the range to replace and the text.
pub(super) fn replace_masks(
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
    pointer: String,
    found: BTreeMap<&'a str, MaskedValue>,
    unknown: Option<UnknownMask>,
    changed: bool,
    added_bytes: usize,
}

impl<'a> Resolver<'a> {
    fn value(&mut self, value: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH || self.added_bytes > MAX_GROWTH {
            return value.clone();
        }
        match value {
            Value::String(text) => {
                let entry = self.state.entry(text);
                match entry.and_then(|entry| entry.to_json().zip(entry.text())) {
                    Some((whole, value)) => {
                        self.record_use(text, value.len());
                        whole
                    }
                    None => Value::String(self.text(text).into_owned()),
                }
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| {
                    self.at_child(&at.to_string(), |inner| inner.value(item, depth + 1))
                });
                Value::Array(items.collect())
            }
            Value::Object(fields) => {
                let mut out = Map::new();
                for (name, field) in fields {
                    let (name, field) = self.at_child(name, |inner| {
                        (inner.name(name, fields, &out), inner.value(field, depth + 1))
                    });
                    out.insert(name, field);
                }
                Value::Object(out)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn at_child<T>(&mut self, step: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&JsonPointer::escape_step(step));
        let out = look(self);
        self.pointer.truncate(before);
        out
    }

    /// Resolves a field name. If that would produce the name of another field, the name stays as it
    /// is and counts as an unknown mask, so that no field overwrites another.
    fn name(&mut self, name: &str, all: &Map<String, Value>, done: &Map<String, Value>) -> String {
        let resolved = self.text(name);
        if resolved == name || !all.contains_key(&*resolved) && !done.contains_key(&*resolved) {
            return resolved.into_owned();
        }
        let mask = bracketed(name).next().and_then(|range| name.get(range)).unwrap_or(name);
        if self.unknown.is_none() {
            self.unknown =
                Some(UnknownMask { mask: mask.to_owned(), pointer: self.shown_pointer() });
        }
        name.to_owned()
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        match self.state.escaped.put_back(text) {
            Cow::Borrowed(text) => self.unmasked(text),
            Cow::Owned(text) => {
                self.changed = true;
                Cow::Owned(self.unmasked(&text).into_owned())
            }
        }
    }

    fn unmasked<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        replace_masks(text, |mask, range, from| {
            let entry = self.state.entry(mask);
            let Some((entry, unquoted)) =
                entry.and_then(|entry| Some((entry, entry.to_unquoted()?)))
            else {
                self.note_unknown(mask);
                return None;
            };
            if self.added_bytes > MAX_GROWTH {
                return None;
            }
            let (range, value) = entry.replacement_at(text, range, from, unquoted);
            self.record_use(mask, value.len());
            Some((range, value))
        })
    }

    /// Records that the value of a mask was inserted.
    fn record_use(&mut self, mask: &str, bytes: usize) {
        self.changed = true;
        self.added_bytes = self.added_bytes.saturating_add(bytes);
        let Some(entry) = self.state.entry(mask) else { return };
        if self.found.contains_key(entry.mask.as_str()) {
            return;
        }
        let one = MaskedValue {
            mask: entry.mask.clone(),
            place: self.shown_pointer(),
            kind: entry.kind.to_string(),
            family: entry.family,
            origins: entry.origins.clone(),
            label: entry.label.clone(),
            stays_readable: false,
        };
        self.found.insert(&entry.mask, one);
    }

    fn note_unknown(&mut self, mask: &str) {
        if self.unknown.is_none() && is_meant_as_mask(mask, self.is_kind) {
            self.unknown =
                Some(UnknownMask { mask: mask.to_owned(), pointer: self.shown_pointer() });
        }
    }

    fn shown_pointer(&self) -> String {
        escape::excerpt(&self.pointer, MAX_POINTER_CHARS)
    }
}

#[cfg(test)]
mod tests;
