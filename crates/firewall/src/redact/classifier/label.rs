//! The labels of a classifier: those of the evidence, wherever they are in a word.

use std::ops::Range;

use crate::redact::evidence::{ListedLabel, listed_labels, names_field};

/// The shortest label that counts inside another word, in bytes.
const MIN_INSIDE: usize = 4;

/// The label that begins at a position.
pub(super) fn at(text: &str, at: usize) -> Option<ListedLabel> {
    let label = listed_labels(text, at..text.len(), true).next()?;
    (announces(text, &label) && is_word(text, &label)).then_some(label)
}

/// Where the first label begins that is in a part of a text.
pub(super) fn next(text: &str, from: usize, end: usize) -> Option<usize> {
    in_part(text, from..end).find(|label| announces(text, label)).map(|label| label.range.start)
}

/// False for what a value belongs to, for a part of a path, `/api/v1`, and for the name of a field of JSON,
/// whose value is judged alike in a text and in a field.
fn announces(text: &str, label: &ListedLabel) -> bool {
    let is_of_path = text.get(label.range.end..).is_some_and(|rest| rest.starts_with('/'))
        || text.get(..label.range.start).is_some_and(|lead| lead.ends_with('/'));
    label.announces && !is_of_path && !names_field(text, label.range.end)
}

/// The labels of a part of a text, those of things and of other values too.
pub(super) fn in_part(text: &str, part: Range<usize>) -> impl Iterator<Item = ListedLabel> {
    listed_labels(text, part, false).filter(move |label| is_word(text, label))
}

/// False for a part of another word.
fn is_word(text: &str, label: &ListedLabel) -> bool {
    let Range { start, end } = label.range;
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let is_inside = before.is_some_and(char::is_alphabetic);
    let word = text.get(start..end).unwrap_or_default();
    if !word.is_ascii() && word.chars().count() * 3 <= word.len() {
        return true;
    }
    let is_hump = word.starts_with(char::is_uppercase) && before.is_some_and(char::is_lowercase);
    if !label.is_whole {
        return !is_inside || is_hump || word.len() >= MIN_INSIDE;
    }
    let behind = text.get(end..).unwrap_or_default();
    let behind = behind.strip_prefix('s').unwrap_or(behind);
    (!is_inside || is_hump) && !behind.starts_with(char::is_lowercase)
}
