//! Extracts word n-grams and names.

use super::word::{self, Word};
use super::{ValueClass, ValueToken, cues, number};
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
    let text = super::fold_value(text);
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
    for (at, word) in words.iter().enumerate() {
        push_names(words, at, out);
        out.extend(word.signed.map(|text| ValueToken::new(ValueClass::Name, text.to_lowercase())));
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

/// Appends the names at `at` with the words that say what they name: `channel general`, `general
/// channel`, `the orders 1182 and 1183`, `order no. 1182`.
fn push_cued_names(words: &[Word<'_>], at: usize, out: &mut Vec<ValueToken>) {
    for length in 1..=MAX_CUED_WORDS {
        let end = at.saturating_add(length);
        let Some(part) = words.get(at..end) else { return };
        let broken = part.iter().skip(1).any(|word| word.follows_break);
        if broken || part.iter().any(|word| stop::is_stop_word(&word.lower)) {
            return;
        }
        let name = part.iter().map(|word| word.lower.as_str()).collect::<Vec<_>>().join(" ");
        // A number before a word is a count: `13 files` names none of them.
        let number = name.bytes().all(|b| b.is_ascii_digit());
        if number && number::is_money(words, at) {
            continue;
        }
        let after = words.get(end).filter(|word| !word.follows_break && !number);
        let after = after.map(|word| word.lower.as_str());
        let before = if length == 1 { cues::before(words, at) } else { cues::adjacent(words, at) };
        for cue in before.into_iter().chain(after) {
            if !stop::is_stop_word(cue) || matches!(cue, "tell" | "ask" | "give") {
                out.push(ValueToken::new(ValueClass::Cued, cued_name(cue, &name)));
            }
        }
    }
}

/// Appends the first and the last words of sentences, lines and quotations, marked as such: a text
/// that the user only quoted is the user's if it is one of these as a whole.
pub(super) fn push_edges(text: &str, out: &mut Vec<ValueToken>) {
    for text in super::spellings(text) {
        push_edges_of_words(&word::words(&text), out);
    }
}

fn push_edges_of_words(words: &[Word<'_>], out: &mut Vec<ValueToken>) {
    for at in 0..words.len() {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let Some(word) = words.get(at) else { continue };
        let quotes = before.and_then(|before| before.quote) != word.quote;
        if quotes && word.quote.is_some() || word.starts_sentence && !word.follows_colon {
            for length in 1..=GRAM {
                let part = words.get(at..at.saturating_add(length)).map(word_row);
                out.extend(part.map(|row| edge_tokens(&row)[0].clone()));
            }
        }
        let next = words.get(at.saturating_add(1));
        let closes = word.quote.is_some() && next.is_none_or(|next| next.quote != word.quote);
        if closes || next.is_none_or(|next| next.starts_sentence && !next.follows_colon) {
            let end = at.saturating_add(1);
            for start in end.saturating_sub(GRAM)..end {
                let part = words.get(start..end).map(word_row);
                out.extend(part.map(|row| edge_tokens(&row)[1].clone()));
            }
        }
    }
}

/// What says that a sentence, a line or a quotation begins with the first words and ends with the
/// last words of a row.
#[must_use]
pub fn edge_tokens(words: &[String]) -> [ValueToken; 2] {
    let first = words.get(..GRAM.min(words.len())).unwrap_or_default().join(" ");
    let last = words.get(words.len().saturating_sub(GRAM)..).unwrap_or_default().join(" ");
    [
        ValueToken::new(ValueClass::Phrase, format!("^ {first}")),
        ValueToken::new(ValueClass::Phrase, format!("{last} $")),
    ]
}
