//! Values that tools received in place of their masks. They are masked wherever they reappear, even where no rule would
//! recognise them, such as an echoed password. Aho-Corasick automata find them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde_json::Value;

use super::entry::{MaskEntry, ValueForm};

/// The most values, and their most bytes, that one run may disclose.
pub(super) const MAX_DISCLOSED: DisclosedTotals =
    DisclosedTotals { values: 1_000, bytes: 256 * 1024 };
/// The longest piece of a value that is searched for, in bytes.
const MAX_PIECE_BYTES: usize = 256;
/// The shortest piece, in bytes.
pub(super) const MIN_PIECE_BYTES: usize = 3;
/// A shorter piece counts only as a whole word.
const MIN_EMBEDDED_BYTES: usize = 6;

/// How many values were disclosed, and their total bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DisclosedTotals {
    values: usize,
    bytes: usize,
}

impl DisclosedTotals {
    /// The totals with one more value of this many bytes.
    pub(super) fn with_value(self, bytes: usize) -> Self {
        Self { values: self.values.saturating_add(1), bytes: self.bytes.saturating_add(bytes) }
    }

    /// True if more was disclosed than `max` allows.
    pub(super) fn exceeds(self, max: Self) -> bool {
        self.values > max.values || self.bytes > max.bytes
    }
}

/// Recognises disclosed values with several automata, each with at most half the bytes of the one
/// before it. Adding a value therefore rebuilds few of them on average, however many there are (the
/// logarithmic method of Bentley and Saxe).
#[derive(Debug, Clone, Default)]
pub(crate) struct DisclosedValues {
    automata: Vec<Arc<DisclosedAutomaton>>,
}

/// One automaton.
#[derive(Debug)]
struct DisclosedAutomaton {
    automaton: AhoCorasick,
    /// The index of the entry in the mask table, by piece in lower case.
    entry_by_piece: HashMap<String, usize>,
    /// Indices of the entries that it recognises.
    entry_indices: Vec<usize>,
    bytes: usize,
}

impl DisclosedValues {
    /// Adds the entries at these indices.
    pub(super) fn with(&self, entries: &[MaskEntry], mut indices: Vec<usize>) -> Self {
        let mut automata = self.automata.clone();
        let mut bytes = indices.iter().filter_map(|index| entries.get(*index)).map(weight).sum();
        while let Some(last) = automata.pop_if(|last| last.bytes < 2 * bytes) {
            bytes += last.bytes;
            indices.extend(&last.entry_indices);
        }
        indices.sort_unstable();
        automata.extend(DisclosedAutomaton::new(entries, indices, bytes).map(Arc::new));
        Self { automata }
    }

    /// Where they are in a text, in order for each automaton.
    pub(crate) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.automata.iter().flat_map(|part| part.find(text))
    }

    /// True if the whole text is one of them.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.entry_index(text).is_some()
    }

    pub(super) fn entry_index(&self, text: &str) -> Option<usize> {
        let text = text.to_ascii_lowercase();
        self.automata.iter().filter_map(|part| part.entry_by_piece.get(&text)).min().copied()
    }
}

impl DisclosedAutomaton {
    /// An automaton for these entries; `None` if there is nothing to search for.
    fn new(entries: &[MaskEntry], entry_indices: Vec<usize>, bytes: usize) -> Option<Self> {
        let mut entry_by_piece = HashMap::new();
        for index in &entry_indices {
            let Some(entry) = entries.get(*index) else { continue };
            let mut texts = Vec::new();
            entry.to_json().iter().for_each(|value| collect_scalars(value, &mut texts));
            if entry.form == ValueForm::Json {
                texts.extend(entry.text().map(|token| token.trim_matches('"').to_owned()));
            }
            for form in texts.iter().flat_map(|text| returned_forms(text)) {
                for piece in pieces(&form) {
                    entry_by_piece.entry(piece.to_ascii_lowercase()).or_insert(*index);
                }
            }
        }
        if entry_by_piece.is_empty() {
            return None;
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(entry_by_piece.keys())
            .ok()?;
        Some(Self { automaton, entry_by_piece, entry_indices, bytes })
    }

    fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let found = self.automaton.find(Input::new(text).range(from..text.len()))?.range();
                if let Some(counted) = self.counted_piece(text, &found) {
                    from = counted.end;
                    return Some(counted);
                }
                // A longer value may begin within a match that does not count.
                from = text.ceil_char_boundary(found.start + 1);
            }
        })
    }

    /// The longest piece at the start of a match that counts. It may be shorter than the match: in
    /// `abc-12`, `abc` is a whole word, but the longer piece `abc-1` is none.
    fn counted_piece(&self, text: &str, found: &Range<usize>) -> Option<Range<usize>> {
        if found.len() >= MIN_EMBEDDED_BYTES {
            return Some(found.clone());
        }
        let is_piece = |range: &Range<usize>| {
            let piece = text.get(range.clone()).map(str::to_ascii_lowercase);
            piece.is_some_and(|piece| self.entry_by_piece.contains_key(&piece))
        };
        let lengths = (MIN_PIECE_BYTES..=found.len()).rev();
        let mut ranges = lengths.map(|length| found.start..found.start + length);
        ranges.find(|range| is_whole_word(text, range) && is_piece(range))
    }
}

fn weight(entry: &MaskEntry) -> usize {
    entry.text().map_or(1, |text| text.len() + 1)
}

/// The forms in which a value may reappear: in other case beyond ASCII, and as a JSON string,
/// possibly within another JSON string.
fn returned_forms(text: &str) -> Vec<String> {
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

fn is_whole_word(text: &str, range: &Range<usize>) -> bool {
    let is_word = |c: char| c.is_alphanumeric();
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let after = text.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

/// Collects every text and number in a value.
fn collect_scalars(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Number(number) => out.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect_scalars(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| collect_scalars(field, out)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Splits a value into pieces short enough to search for.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES));
        rest = after;
        Some(piece)
    })
    .filter(|piece| piece.len() >= MIN_PIECE_BYTES)
}

#[cfg(test)]
mod tests {
    use weaver_types::ValueFamily;

    use super::super::entry::ValueToMask;
    use super::*;

    fn entries(values: &[String]) -> Vec<MaskEntry> {
        let kind = Arc::from("password");
        let entry = |text: &String| {
            let value = ValueToMask {
                kind: &kind,
                family: ValueFamily::Secret,
                form: ValueForm::Text,
                text,
            };
            let mut entry = MaskEntry::new("[PASSWORD_1]".to_owned(), &value);
            entry.store_value(text);
            entry
        };
        values.iter().map(entry).collect()
    }

    #[test]
    fn a_value_may_come_back_in_another_case_and_as_a_json_string() {
        assert_eq!(returned_forms("plover"), ["plover"]);
        assert_eq!(returned_forms(r#"a"b"#), [r#"a"b"#, r#"a\\\"b"#, r#"a\"b"#]);
        assert_eq!(returned_forms("Stra\u{df}e"), ["Stra\u{df}e", "stra\u{df}e", "STRASSE"]);
        assert!(is_whole_word("a plover b", &(2..8)) && is_whole_word("plover", &(0..6)));
        assert!(!is_whole_word("aplover b", &(1..7)) && !is_whole_word("a plover1", &(2..8)));
    }

    #[test]
    fn a_short_value_that_does_not_count_hides_no_longer_one() {
        let entries = entries(&["xplo".to_owned(), "plover-heron".to_owned()]);
        let known = DisclosedValues::default().with(&entries, vec![0, 1]);
        let found: Vec<_> = known.find("axplover-heron xplo").collect();
        assert_eq!(found, [2..14, 15..19]);
    }

    #[test]
    fn a_longer_value_that_does_not_count_hides_no_shorter_one_at_its_start() {
        let entries = entries(&["abc".to_owned(), "abc-1".to_owned()]);
        let known = DisclosedValues::default().with(&entries, vec![0, 1]);
        let found: Vec<_> = known.find("ABC-12 abc-1 abcd abc-1x abc").collect();
        assert_eq!(found, [0..3, 7..12, 18..21, 25..28]);
    }

    #[test]
    fn values_are_told_by_few_automata_and_built_into_few() {
        let values: Vec<String> = (0..1_000).map(|n| format!("value-{n:04}")).collect();
        let entries = entries(&values);
        let (mut known, mut built) = (DisclosedValues::default(), 0);
        for place in 0..values.len() {
            known = known.with(&entries, vec![place]);
            assert!(known.automata.len() <= 11, "{}", known.automata.len());
            built += known.automata.last().map_or(0, |part| part.entry_indices.len());
        }
        assert!(built <= 11 * values.len(), "{built}");
        for (place, value) in values.iter().enumerate() {
            assert_eq!(known.entry_index(&value.to_uppercase()), Some(place));
            assert_eq!(known.find(&format!("x{value}x")).next(), Some(1..11));
        }
    }
}
