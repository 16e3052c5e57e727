//! Values that evidence tells: a label, what links it with a word, the form of the word, and what else
//! is about. Each has a weight, and the sum decides.
//!
//! The weights were fitted to labelled texts; `assets/evidence_weights.txt` holds them.

mod candidate;
mod feature;
mod form;
mod labels;
mod read;
#[cfg(test)]
mod tests;
mod weights;

use std::ops::Range;

pub(crate) use candidate::is_unspaced;
#[cfg(test)]
pub(crate) use labels::label_words;
pub(crate) use labels::{KEY_GROUP, ListedLabel, listed_labels, names_field};

use super::secrets::{is_key_of_nobody, is_random_token};
use super::spoken::is_other_code;
use super::validators::{
    is_joined_words, is_of_two_names, looks_like_password, not_an_identifier,
    not_placeholder_password,
};
use super::work_meter;
use feature::Feature;
use weights::LabelKind;

/// The shortest token, in bytes.
const MIN_TOKEN_BYTES: usize = 16;
/// How far behind a label values are looked for, in bytes.
const BYTES_BEHIND: usize = 120;

/// Reports the values that a label announces: the text, where the label begins, the end of what may be
/// read.
pub(crate) type ValueReader = fn(&str, usize, usize, &mut dyn FnMut(Range<usize>));

/// Every reader, by the name that rules use.
const READERS: &[(&str, ValueReader)] = &[
    ("evidence_password", |text, at, end, found| values(text, at, end, LabelKind::Password, found)),
    ("evidence_code", |text, at, end, found| values(text, at, end, LabelKind::Code, found)),
    ("evidence_pin", |text, at, end, found| values(text, at, end, LabelKind::Pin, found)),
    ("evidence_login", |text, at, end, found| values(text, at, end, LabelKind::Login, found)),
    ("evidence_network", |text, at, end, found| values(text, at, end, LabelKind::Network, found)),
    ("evidence_lock", |text, at, end, found| values(text, at, end, LabelKind::Lock, found)),
    ("evidence_key", |text, at, end, found| values(text, at, end, LabelKind::Key, found)),
];

/// The reader of this name.
pub(crate) fn by_name(name: &str) -> Option<ValueReader> {
    READERS.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader)
}

fn values(text: &str, at: usize, end: usize, kind: LabelKind, found: &mut dyn FnMut(Range<usize>)) {
    if !may_hold_value(text, at, end.min(at + BYTES_BEHIND), kind) {
        return;
    }
    let Some(label) = labels::label_at(text, at, kind.near()) else { return };
    // What is behind the next label of the kind is announced by that one.
    let end =
        labels::next_of_group(text, label.end..end.min(label.end + BYTES_BEHIND), kind.near());
    work_meter::add_bytes(end.saturating_sub(at));
    // The text of a field of JSON is judged by its name, alike in a text and in a value.
    if labels::names_text_field(text, label.end)
        || kind == LabelKind::Code && is_other_code(text, &label)
    {
        return;
    }
    let mut about = None;
    candidate::each(text, &label, end, |candidate| {
        let Some(word) = text.get(candidate.range.clone()) else { return };
        let Some(form) = form::form_of(word) else { return };
        let is_token = matches!(form, Feature::Hexadecimal | Feature::Uuid | Feature::Token);
        if is_token != (kind == LabelKind::Key) {
            return;
        }
        if candidate.range.end > end
            || !may_be_value(word, form)
            || read::is_name_of_network(candidate)
        {
            return;
        }
        // `Wi-Fi "Lounge51"` is its name.
        if kind == LabelKind::Network && candidate.is_quoted && candidate.words == 0 {
            return;
        }
        if is_token && is_key_of_nobody(text, label.start, candidate.range.clone()) {
            return;
        }
        let about = *about.get_or_insert_with(|| read::about_label(text, &label));
        let features = read::features(text, &label, candidate, form, about);
        if weights::decides(features, kind) {
            found(candidate.range.clone());
        }
    });
}

/// False for what its form would speak for otherwise: placeholders, methods, names of program text, and
/// the cells of a row.
fn may_be_value(word: &str, form: Feature) -> bool {
    let is_of_letters = match form {
        Feature::JoinedWords | Feature::SmallWords => {
            is_joined_words(word) || is_of_two_names(word)
        }
        Feature::Joined
        | Feature::JoinedSmall
        | Feature::Mixed
        | Feature::MixedShort
        | Feature::WithSign
        | Feature::WordsWithSign => looks_like_password(word),
        Feature::Token => is_random_token(word.as_bytes()) && not_an_identifier(word),
        _ => true,
    };
    let has_cells = word.matches([',', ';']).count() > 1;
    let is_address = word.split_once('@').is_some_and(|(user, host)| {
        host.contains('.') || !user.contains(char::is_uppercase) && host.bytes().all(is_host_byte)
    });
    let lower = word.to_ascii_lowercase();
    let names_secret = ["password", "token", "secret"].iter().any(|name| lower.contains(name));
    is_of_letters && !has_cells && !is_address && !names_secret && not_placeholder_password(word)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// False where no run of text could be a value, as behind most labels.
fn may_hold_value(text: &str, from: usize, end: usize, kind: LabelKind) -> bool {
    const MIN_RUN: usize = 6;
    const MIN_DIGITS: usize = 3;
    let behind = text.as_bytes().get(from..end).unwrap_or_default();
    let mut short_numbers = 0;
    behind.split(u8::is_ascii_whitespace).any(|run| {
        let digits = run.iter().filter(|b| b.is_ascii_digit()).count();
        if kind == LabelKind::Key {
            return digits > 0 && run.len() >= MIN_TOKEN_BYTES;
        }
        let is_long = run.len() >= MIN_RUN;
        let has_sign = || run.iter().any(|b| b"!#%&*+@^~?_-.".contains(b));
        short_numbers += usize::from(digits > 0 && !is_long);
        digits >= MIN_DIGITS
            || digits > 0 && is_long
            || short_numbers >= MIN_DIGITS
            || kind == LabelKind::Password && is_long && has_sign()
    })
}
