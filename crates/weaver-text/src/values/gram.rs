//! Words that follow each other, and names.

use super::word::{self, Word};
use super::{Class, Token};
use crate::stop;

/// The most words of one token.
pub const GRAM: usize = 6;
/// The most words of a name beside a word that says what it names.
const MAX_CUED_WORDS: usize = 2;
/// What stands in a row of words where a sentence or a part of one ends.
const BREAK: &str = ",";

/// The words of a value, in the form in which rows of words are compared.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let text = super::plain(text);
    row(&word::words(&text))
}

/// The rows that must all be found for the whole to be: the whole where it is short, otherwise
/// every part of [`GRAM`] words.
#[must_use]
pub fn grams(words: &[String]) -> Vec<String> {
    if words.len() <= GRAM {
        return vec![words.join(" ")];
    }
    words.windows(GRAM).map(|part| part.join(" ")).collect()
}

/// A name beside a word that says what it names.
#[must_use]
pub fn cued_name(cue: &str, name: &str) -> String {
    format!("{}|{name}", singular(cue))
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(word)
}

fn row(words: &[Word<'_>]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        if word.breaks && !out.is_empty() {
            out.push(BREAK.to_owned());
        }
        out.push(word.low.clone());
    }
    out
}

/// Rows of words, names, and names beside what says what they name.
pub(super) fn push_word_tokens(words: &[Word<'_>], out: &mut Vec<Token>) {
    let row = row(words);
    for at in 0..row.len() {
        for length in 1..=GRAM.min(row.len().saturating_sub(at)) {
            let part = row.get(at..at.saturating_add(length)).unwrap_or_default();
            let edges = [part.first(), part.last()];
            if edges.iter().all(|edge| edge.is_some_and(|edge| edge != BREAK)) {
                out.push(Token::new(Class::Phrase, part.join(" ")));
            }
        }
    }
    for at in 0..words.len() {
        names(words, at, out);
        cues(words, at, out);
    }
}

/// The names that begin at this place: from a word that is written as a name to another, without
/// an end of a sentence between them; and what stands in quotes, as a whole.
fn names(words: &[Word<'_>], at: usize, out: &mut Vec<Token>) {
    let Some(first) = words.get(at) else { return };
    if !first.is_strong() {
        return;
    }
    let mut name = String::new();
    for (length, word) in words.iter().skip(at).take(GRAM).enumerate() {
        // A part of what is quoted is not what is quoted.
        if length > 0 && (word.breaks || word.quote != first.quote) {
            break;
        }
        if length > 0 {
            name.push(' ');
        }
        name.push_str(&word.low);
        let next = words.get(at.saturating_add(length).saturating_add(1));
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let whole = first.quote.is_none()
            || next.is_none_or(|next| next.quote != first.quote)
                && before.is_none_or(|before| before.quote != first.quote);
        if word.is_strong() && (whole || capital(first) && capital(word)) {
            out.push(Token::new(Class::Name, name.clone()));
        }
    }
}

fn capital(word: &Word<'_>) -> bool {
    word.text.starts_with(char::is_uppercase) && !stop::is_stop_word(&word.low)
}

/// Words with the word before and the word after them: `channel general`, `general channel`.
fn cues(words: &[Word<'_>], at: usize, out: &mut Vec<Token>) {
    for length in 1..=MAX_CUED_WORDS {
        let end = at.saturating_add(length);
        let Some(part) = words.get(at..end) else { return };
        let broken = part.iter().skip(1).any(|word| word.breaks);
        if broken || part.iter().any(|word| stop::is_stop_word(&word.low)) {
            return;
        }
        let name = part.iter().map(|word| word.low.as_str()).collect::<Vec<_>>().join(" ");
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let before = before.filter(|_| part.first().is_some_and(|word| !word.breaks));
        // Before a word, a number counts: `13 files` names none of them.
        let number = name.bytes().all(|b| b.is_ascii_digit());
        let after = words.get(end).filter(|word| !word.breaks && !number);
        for cue in [before, after].into_iter().flatten() {
            if !stop::is_stop_word(&cue.low) {
                out.push(Token::new(Class::Cued, cued_name(&cue.low, &name)));
            }
        }
    }
}
