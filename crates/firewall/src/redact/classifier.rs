//! Words near a label that a linear classifier takes for secrets.
//!
//! A rule knows the places that its author thought of. Here every word behind a label is described by
//! some dozens of features: its form, the words and signs around it, the name before it. Each feature is
//! hashed to a place in one table of weights (feature hashing, Weinberger et al. 2009), so words that
//! nobody listed count as well. The weights are those of a logistic regression over the labelled
//! texts; `benches/redaction/fit_classifier.py` writes them.

mod features;
mod form;
mod hash;
mod label;
#[cfg(test)]
mod tests;
mod tokens;
mod weights;

use std::ops::Range;

use super::evidence::KEY_GROUP;
use super::secrets::is_key_of_nobody;
use super::validators::not_placeholder_password;
use super::work_meter;
use tokens::Token;

/// How far behind a label tokens are read, in bytes.
const BYTES_BEHIND: usize = 120;
/// How far from the start of a label text is read at all, in bytes.
const BYTES_READ: usize = 260;

/// The sum of weights below which a word is no secret whatever a rule says: three logits.
const REFUTING_SUM: i32 = -96;

/// Reports the secrets that the label at a position announces.
pub(crate) fn values(text: &str, at: usize, end: usize, found: &mut dyn FnMut(Range<usize>)) {
    each_token(text, at, end, &mut |token, label| {
        let word = text.get(token.range.clone()).unwrap_or_default();
        if weights::sum(&features::of(text, token)) > 0
            && not_placeholder_password(word)
            && !is_member(word)
            && !is_key_of_nobody(text, label, token.range.clone())
        {
            found(token.range.clone());
        }
    });
}

/// True for a member of an object in program text: `settings.api_key2`.
fn is_member(word: &str) -> bool {
    let Some((object, member)) = word.rsplit_once('.') else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    object.len() > 2
        && object.bytes().all(|b| b.is_ascii_lowercase() || b"._".contains(&b))
        && member.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && member.contains('_')
        && member.chars().all(is_name)
}

/// True where the weights speak so clearly against every word of what a rule found that it is no secret.
/// Words without a digit are left to the rule.
pub(crate) fn refutes(text: &str, found: &Range<usize>) -> bool {
    if !text.get(found.clone()).is_some_and(|word| word.bytes().any(|b| b.is_ascii_digit())) {
        return false;
    }
    let end = text.floor_char_boundary((found.end + BYTES_BEHIND).min(text.len()));
    let run = tokens::run_start(text, found.start);
    let mut best = None;
    tokens::each(text, run..found.end, end, &mut |token| {
        if token.range.start < found.end && found.start < token.range.end {
            best = best.max(Some(weights::sum(&features::of(text, token))));
        }
    });
    best.is_some_and(|best| best < REFUTING_SUM)
}

/// Calls `visit` with each token that belongs to the label at a position, and where the label begins. A
/// token belongs to the last label before it or in its run.
fn each_token(text: &str, at: usize, end: usize, visit: &mut dyn FnMut(&Token, usize)) {
    // Of most labels no digits follow, which costs less to see than what the label is.
    let near = text.as_bytes().get(at..(at + BYTES_READ).min(end)).unwrap_or_default();
    if !near.iter().any(u8::is_ascii_digit) {
        return;
    }
    let Some(label) = label::at(text, at) else { return };
    let (is_key, label) = (label.group == KEY_GROUP, label.range);
    let end = text.floor_char_boundary(end.min(at + BYTES_READ));
    let most = text.floor_char_boundary(end.min(label.end + BYTES_BEHIND));
    work_meter::add_bytes(end.saturating_sub(at));
    let run = tokens::run_start(text, label.start);
    let next = label::next(text, label.end, most);
    let stop = next.map_or(most, |next| tokens::run_start(text, next));
    if stop > run {
        tokens::each(text, run..stop, end, &mut |token| {
            if token.range.end > label.end && !(is_key && is_no_key(text, token)) {
                visit(token, label.start);
            }
        });
    }
}

/// True for a word that is too short for a key, or of digits alone: most of what stands near `api` and
/// `key` in a log.
fn is_no_key(text: &str, token: &Token) -> bool {
    const MIN_KEY_BYTES: usize = 8;
    let word = text.as_bytes().get(token.range.clone()).unwrap_or_default();
    word.len() < MIN_KEY_BYTES || !word.iter().any(u8::is_ascii_alphabetic)
}
