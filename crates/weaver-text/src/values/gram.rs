//! Extracts word n-grams and names.

use super::word::{self, Word};
use super::{ValueClass, ValueToken};
use crate::stop;

/// Maximum number of words in an n-gram or a name.
pub const GRAM: usize = 6;
/// Maximum number of words of a name with a cue.
const MAX_CUED_WORDS: usize = 2;
/// The marker between words where a sentence or clause ends.
const SENTENCE_BREAK: &str = ",";

/// The lower-case words of a value, with markers where sentences and clauses end.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let text = super::fold_text(text);
    word_row(&word::words(&text))
}

/// The n-grams that must all match for the words to match: the whole if it is short, otherwise
/// every n-gram of [`GRAM`] words.
#[must_use]
pub fn grams(words: &[String]) -> Vec<String> {
    if words.len() <= GRAM {
        return vec![words.join(" ")];
    }
    words.windows(GRAM).map(|part| part.join(" ")).collect()
}

/// The canonical form of a name with a cue, the word that says what it names.
#[must_use]
pub fn cued_name(cue: &str, name: &str) -> String {
    format!("{}|{name}", singular(cue))
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(word)
}

fn word_row(words: &[Word<'_>]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        if word.follows_break && !out.is_empty() {
            out.push(SENTENCE_BREAK.to_owned());
        }
        out.push(word.lower.clone());
    }
    out
}

/// Appends n-grams, names, and names with cues.
pub(super) fn push_word_tokens(words: &[Word<'_>], out: &mut Vec<ValueToken>) {
    let row = word_row(words);
    for at in 0..row.len() {
        for length in 1..=GRAM.min(row.len().saturating_sub(at)) {
            let part = row.get(at..at.saturating_add(length)).unwrap_or_default();
            let edges = [part.first(), part.last()];
            if edges.iter().all(|edge| edge.is_some_and(|edge| edge != SENTENCE_BREAK)) {
                out.push(ValueToken::new(ValueClass::Phrase, part.join(" ")));
            }
        }
    }
    for at in 0..words.len() {
        push_names(words, at, out);
        push_cued_names(words, at, out);
    }
}

/// Appends the names that start at `at`: from one name-like word to another within a clause, and
/// quoted text as a whole.
fn push_names(words: &[Word<'_>], at: usize, out: &mut Vec<ValueToken>) {
    let Some(first) = words.get(at) else { return };
    if !first.is_name_like() {
        return;
    }
    let mut name = String::new();
    for (length, word) in words.iter().skip(at).take(GRAM).enumerate() {
        // A part of a quotation is not a name.
        if length > 0 && (word.follows_break || word.quote != first.quote) {
            break;
        }
        if length > 0 {
            name.push(' ');
        }
        name.push_str(&word.lower);
        let next = words.get(at.saturating_add(length).saturating_add(1));
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let whole = first.quote.is_none()
            || next.is_none_or(|next| next.quote != first.quote)
                && before.is_none_or(|before| before.quote != first.quote);
        if word.is_name_like() && (whole || is_capitalised(first) && is_capitalised(word)) {
            out.push(ValueToken::new(ValueClass::Name, name.clone()));
        }
    }
}

fn is_capitalised(word: &Word<'_>) -> bool {
    word.text.starts_with(char::is_uppercase) && !stop::is_stop_word(&word.lower)
}

/// Appends the names at `at` with adjacent cues: `channel general`, `general channel`.
fn push_cued_names(words: &[Word<'_>], at: usize, out: &mut Vec<ValueToken>) {
    for length in 1..=MAX_CUED_WORDS {
        let end = at.saturating_add(length);
        let Some(part) = words.get(at..end) else { return };
        let broken = part.iter().skip(1).any(|word| word.follows_break);
        if broken || part.iter().any(|word| stop::is_stop_word(&word.lower)) {
            return;
        }
        let name = part.iter().map(|word| word.lower.as_str()).collect::<Vec<_>>().join(" ");
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let before = before.filter(|_| part.first().is_some_and(|word| !word.follows_break));
        // A number before a word is a count: `13 files` names none of them.
        let number = name.bytes().all(|b| b.is_ascii_digit());
        let after = words.get(end).filter(|word| !word.follows_break && !number);
        for cue in [before, after].into_iter().flatten() {
            if !stop::is_stop_word(&cue.lower) {
                out.push(ValueToken::new(ValueClass::Cued, cued_name(&cue.lower, &name)));
            }
        }
    }
}
