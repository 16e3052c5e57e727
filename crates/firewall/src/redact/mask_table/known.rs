//! Values that were given out: they are masked wherever they come back, also where no rule would
//! know them, as an echo of a password does. One Aho-Corasick automaton tells them all.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use super::entry::{Entry, Form};

/// The most values that one run gives out, and their bytes: so many are looked for.
pub(super) const MAX_GIVEN_OUT: (usize, usize) = (1_000, 256 * 1024);
/// The longest piece of a value that is looked for, in bytes.
const PIECE: usize = 256;
/// The shortest one.
pub(super) const SHORTEST: usize = 3;
/// A shorter piece counts only where it stands alone.
const ALONE: usize = 6;

/// Tells values that were given out.
#[derive(Debug)]
pub(crate) struct KnownValues {
    automaton: AhoCorasick,
    /// The place of the value in its table, by the piece in lower case.
    places: HashMap<String, usize>,
}

impl KnownValues {
    /// What tells those of these values that were given out; nothing where there are none.
    pub(super) fn new(entries: &[Entry]) -> Option<Self> {
        let mut places = HashMap::new();
        let given = entries.iter().enumerate().filter(|(_, entry)| entry.given_out);
        for (place, entry) in given {
            let mut texts = Vec::new();
            entry.json().iter().for_each(|value| scalars(value, &mut texts));
            if entry.form == Form::Json {
                texts.extend(entry.text().map(|token| token.trim_matches('"').to_owned()));
            }
            for text in &texts {
                for piece in pieces(text) {
                    places.entry(piece.to_ascii_lowercase()).or_insert(place);
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
        Some(Self { automaton, places })
    }

    /// Where they stand in a text, in order and apart.
    pub(crate) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.automaton
            .find_iter(text)
            .map(|found| found.range())
            .filter(|range| range.len() >= ALONE || stands_alone(text, range))
    }

    /// Whether the whole text is one of them.
    pub(crate) fn is_one(&self, text: &str) -> bool {
        self.place(text).is_some()
    }

    pub(super) fn place(&self, text: &str) -> Option<usize> {
        self.places.get(&text.to_ascii_lowercase()).copied()
    }
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
