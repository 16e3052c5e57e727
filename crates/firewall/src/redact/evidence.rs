//! Values that evidence tells: a label, what links it with a word, the form of the word, and what else
//! is about. Each has a weight, and the sum decides.
//!
//! The weights were fitted to labelled texts; `assets/evidence_weights.txt` holds them. What is found
//! here is what a person types: digits, words with digits or signs. Tokens have rules of their own.

mod candidate;
mod feature;
mod form;
mod labels;
mod read;
#[cfg(test)]
mod tests;
mod weights;

use std::ops::Range;

use super::spoken::is_other_code;
use super::validators::{
    is_joined_words, is_of_two_names, looks_like_password, not_placeholder_password,
};
use super::work_meter;
use feature::Feature;
use weights::LabelKind;

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
    let end = end.min(label.end + BYTES_BEHIND);
    work_meter::add_bytes(end.saturating_sub(at));
    if kind == LabelKind::Code && is_other_code(text, &label) {
        return;
    }
    let mut about = None;
    candidate::each(text, &label, end, |candidate| {
        let Some(word) = text.get(candidate.range.clone()) else { return };
        let Some(form) = form::form_of(word) else { return };
        if candidate.range.end > end
            || !may_be_value(word, form)
            || read::is_name_of_network(candidate)
        {
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

/// Behind most labels nothing has a digit, and words alone count only for passwords.
fn may_hold_value(text: &str, from: usize, end: usize, kind: LabelKind) -> bool {
    let behind = text.as_bytes().get(from..end).unwrap_or_default();
    let is_sign = |b: &u8| b"!#$%&*+@^~?_-".contains(b);
    behind.iter().any(|b| b.is_ascii_digit() || kind == LabelKind::Password && is_sign(b))
}
