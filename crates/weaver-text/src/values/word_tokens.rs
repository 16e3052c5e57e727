//! Classifies words by their form and context.

use super::word::Word;
use super::{ValueClass, ValueToken, address, cell, number};

/// Minimum length, in bytes, of an identifier or a secret that no word before it announces.
const MIN_IDENTIFIER: usize = 6;
/// Words that announce an identifier.
const IDENTIFIER_CUES: [&str; 10] =
    ["id", "ids", "id_", "#", "no", "nr", "number", "num", "identifier", "uuid"];

/// Appends the tokens of one word, in the context of its neighbours.
pub(super) fn push_tokens(
    words: &[Word<'_>],
    at: usize,
    word: &Word<'_>,
    out: &mut Vec<ValueToken>,
) {
    let before = at.checked_sub(1).and_then(|at| words.get(at));
    let after = words.get(at.saturating_add(1));
    if let Some(key) = address::email(word.text) {
        out.push(ValueToken::new(ValueClass::Email, key));
        return;
    }
    if cell::is_path(word.text) {
        out.extend(cell::path(word.text).map(|key| ValueToken::new(ValueClass::Path, key)));
    }
    if let Some(key) = secret(word) {
        out.push(ValueToken::new(ValueClass::Secret, key));
    }
    if let Some(key) = number::number_at(words, at) {
        if number::is_amount(before, word, after) {
            out.push(ValueToken::new(ValueClass::Amount, key.clone()));
        }
        out.push(ValueToken::new(ValueClass::Number, key));
    }
    if names_a_thing(before, word) {
        out.extend(
            cell::identifier(word.text).map(|key| ValueToken::new(ValueClass::Identifier, key)),
        );
    }
}

/// Whether the word is used as an identifier: it is quoted alone, is long and has digits, or
/// follows a word that announces one.
fn names_a_thing(before: Option<&Word<'_>>, word: &Word<'_>) -> bool {
    let digits = word.text.chars().filter(char::is_ascii_digit).count();
    let others = word.text.chars().any(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '#'));
    let alone = |quote| before.is_none_or(|before| before.quote != Some(quote));
    if word.quote.is_some_and(alone) || word.text.starts_with('#') && digits > 0 {
        return true;
    }
    if digits > 0 && word.text.len() >= MIN_IDENTIFIER && (others || digits == word.text.len()) {
        return super::date::day(word.text).is_none();
    }
    before.is_some_and(|before| {
        IDENTIFIER_CUES.contains(&before.lower.as_str()) && !word.starts_sentence
    })
}

/// A possible password: a quoted word, or a long one of several kinds of characters.
fn secret(word: &Word<'_>) -> Option<String> {
    let kinds = [
        word.text.chars().any(char::is_alphabetic),
        word.text.chars().any(|c| c.is_ascii_digit()),
        word.text.chars().any(|c| !c.is_alphanumeric() && !matches!(c, '-' | '\'' | '.')),
    ];
    let mixed = word.text.len() >= MIN_IDENTIFIER && kinds.iter().filter(|kind| **kind).count() > 1;
    (mixed || word.quote.is_some()).then(|| word.text.to_owned())
}
