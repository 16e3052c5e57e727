//! Values that were given out: they are masked wherever they come back, also where no rule would
//! know them, as an echo of a password does. Aho-Corasick automata tell them all.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde_json::Value;

use super::entry::{Entry, Form};

/// The most values, and bytes of them, that are looked for in one run.
pub(super) const MAX_GIVEN_OUT: (usize, usize) = (1_000, 256 * 1024);
/// The longest piece of a value that is looked for, in bytes.
const PIECE: usize = 256;
/// The shortest one.
pub(super) const SHORTEST: usize = 3;
/// A shorter piece counts only where it stands alone.
const ALONE: usize = 6;

/// Tells values that were given out: by automata of which each has at most half as many bytes as
/// the one before it. So a value that is added is built into few of them in all, however many
/// there are (the logarithmic method of Bentley and Saxe).
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownValues {
    parts: Vec<Arc<KnownPatterns>>,
}

/// One automaton.
#[derive(Debug)]
struct KnownPatterns {
    automaton: AhoCorasick,
    /// The place of the value in its table, by the piece in lower case.
    places: HashMap<String, usize>,
    /// Places in the table of the values that it tells.
    values: Vec<usize>,
    bytes: usize,
}

impl KnownValues {
    /// The same with the values at these places of the table.
    pub(super) fn with(&self, entries: &[Entry], mut values: Vec<usize>) -> Self {
        let mut parts = self.parts.clone();
        let mut bytes = values.iter().filter_map(|place| entries.get(*place)).map(size).sum();
        while let Some(last) = parts.pop_if(|last| last.bytes < 2 * bytes) {
            bytes += last.bytes;
            values.extend(&last.values);
        }
        values.sort_unstable();
        parts.extend(KnownPatterns::new(entries, values, bytes).map(Arc::new));
        Self { parts }
    }

    /// Where they stand in a text, in order for each automaton.
    pub(crate) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.parts.iter().flat_map(|part| part.find(text))
    }

    /// Whether the whole text is one of them.
    pub(crate) fn is_one(&self, text: &str) -> bool {
        self.place(text).is_some()
    }

    pub(super) fn place(&self, text: &str) -> Option<usize> {
        let text = text.to_ascii_lowercase();
        self.parts.iter().filter_map(|part| part.places.get(&text)).min().copied()
    }
}

impl KnownPatterns {
    /// What tells these values; nothing where there is nothing to tell.
    fn new(entries: &[Entry], values: Vec<usize>, bytes: usize) -> Option<Self> {
        let mut places = HashMap::new();
        for place in &values {
            let Some(entry) = entries.get(*place) else { continue };
            let mut texts = Vec::new();
            entry.json().iter().for_each(|value| scalars(value, &mut texts));
            if entry.form == Form::Json {
                texts.extend(entry.text().map(|token| token.trim_matches('"').to_owned()));
            }
            for form in texts.iter().flat_map(|text| forms(text)) {
                for piece in pieces(&form) {
                    places.entry(piece.to_ascii_lowercase()).or_insert(*place);
                }
            }
        }
        if places.is_empty() {
            return None;
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(places.keys())
            .ok()?;
        Some(Self { automaton, places, values, bytes })
    }

    fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let found = self.automaton.find(Input::new(text).range(from..text.len()))?.range();
                if found.len() >= ALONE || stands_alone(text, &found) {
                    from = found.end;
                    return Some(found);
                }
                // A longer value may begin within what does not count.
                from = text.ceil_char_boundary(found.start + 1);
            }
        })
    }
}

fn size(entry: &Entry) -> usize {
    entry.text().map_or(1, |text| text.len() + 1)
}

/// A value as it may come back: in capitals and small letters beyond those of ASCII, and as a
/// string in JSON, which may stand in a string itself.
fn forms(text: &str) -> Vec<String> {
    let escaped = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
    };
    let mut forms = vec![text.to_owned()];
    if !text.is_ascii() {
        forms.extend([text.to_lowercase(), text.to_uppercase()]);
    }
    for at in 0..forms.len() {
        let once = forms.get(at).map(|form| escaped(form)).unwrap_or_default();
        if forms.get(at) != Some(&once) {
            forms.extend([escaped(&once), once]);
        }
    }
    forms
}

fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let is_word = |c: char| c.is_alphanumeric();
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let after = text.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

/// Every text and number in a value.
fn scalars(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Number(number) => out.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| scalars(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| scalars(field, out)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// A value in pieces that are short enough to be looked for.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        Some(piece)
    })
    .filter(|piece| piece.len() >= SHORTEST)
}

#[cfg(test)]
mod tests {
    use weaver_types::ValueFamily;

    use super::super::entry::MaskedValue;
    use super::*;

    fn entries(values: &[String]) -> Vec<Entry> {
        let kind = Arc::from("password");
        let entry = |text: &String| {
            let value =
                MaskedValue { kind: &kind, family: ValueFamily::Secret, form: Form::Text, text };
            let mut entry = Entry::new("[PASSWORD_1]".to_owned(), &value);
            entry.keep(text);
            entry
        };
        values.iter().map(entry).collect()
    }

    #[test]
    fn a_value_may_come_back_in_other_letters_and_as_a_string_of_json() {
        assert_eq!(forms("plover"), ["plover"]);
        assert_eq!(forms(r#"a"b"#), [r#"a"b"#, r#"a\\\"b"#, r#"a\"b"#]);
        assert_eq!(forms("Stra\u{df}e"), ["Stra\u{df}e", "stra\u{df}e", "STRASSE"]);
        assert!(stands_alone("a plover b", &(2..8)) && stands_alone("plover", &(0..6)));
        assert!(!stands_alone("aplover b", &(1..7)) && !stands_alone("a plover1", &(2..8)));
    }

    #[test]
    fn a_short_value_that_does_not_count_hides_no_longer_one() {
        let entries = entries(&["xplo".to_owned(), "plover-heron".to_owned()]);
        let known = KnownValues::default().with(&entries, vec![0, 1]);
        let found: Vec<_> = known.find("axplover-heron xplo").collect();
        assert_eq!(found, [2..14, 15..19]);
    }

    #[test]
    fn values_are_told_by_few_automata_and_built_into_few() {
        let values: Vec<String> = (0..1_000).map(|n| format!("value-{n:04}")).collect();
        let entries = entries(&values);
        let (mut known, mut built) = (KnownValues::default(), 0);
        for place in 0..values.len() {
            known = known.with(&entries, vec![place]);
            assert!(known.parts.len() <= 11, "{}", known.parts.len());
            built += known.parts.last().map_or(0, |part| part.values.len());
        }
        assert!(built <= 11 * values.len(), "{built}");
        for (place, value) in values.iter().enumerate() {
            assert_eq!(known.place(&value.to_uppercase()), Some(place));
            assert_eq!(known.find(&format!("x{value}x")).next(), Some(1..11));
        }
    }
}
