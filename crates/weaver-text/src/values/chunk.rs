//! Classifies the words of a text by their context.

use super::word::Word;
use super::{Class, Token, address, cell, number};

/// What can be the name of a thing only after a word that says so, in bytes.
const SHORT: usize = 6;
/// Words before a short number that make it the name of a thing.
const NAMING: [&str; 10] =
    ["id", "ids", "id_", "#", "no", "nr", "number", "num", "identifier", "uuid"];

/// What one word names by itself, or together with the one before it.
pub(super) fn tokens(words: &[Word<'_>], at: usize, word: &Word<'_>, out: &mut Vec<Token>) {
    let before = at.checked_sub(1).and_then(|at| words.get(at));
    let after = words.get(at.saturating_add(1));
    if let Some(key) = address::email(word.text) {
        out.push(Token::new(Class::Email, key));
        return;
    }
    if cell::is_path(word.text) {
        out.extend(cell::path(word.text).map(|key| Token::new(Class::Path, key)));
    }
    if let Some(key) = secret(word) {
        out.push(Token::new(Class::Secret, key));
    }
    if let Some(key) = number::said(words, at) {
        if number::is_amount(before, word, after) {
            out.push(Token::new(Class::Amount, key.clone()));
        }
        out.push(Token::new(Class::Number, key));
    }
    if names_a_thing(before, word) {
        out.extend(cell::identifier(word.text).map(|key| Token::new(Class::Identifier, key)));
    }
}

/// Whether the word is used as the name of one thing: it is quoted, holds digits and is long or
/// mixed, or follows a word that says so.
fn names_a_thing(before: Option<&Word<'_>>, word: &Word<'_>) -> bool {
    let digits = word.text.chars().filter(char::is_ascii_digit).count();
    let others = word.text.chars().any(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '#'));
    let alone = |quote| before.is_none_or(|before| before.quote != Some(quote));
    if word.quote.is_some_and(alone) || word.text.starts_with('#') && digits > 0 {
        return true;
    }
    if digits > 0 && word.text.len() >= SHORT && (others || digits == word.text.len()) {
        return super::moment::day(word.text).is_none();
    }
    before.is_some_and(|before| NAMING.contains(&before.low.as_str()) && !word.breaks_sentence())
}

impl Word<'_> {
    fn breaks_sentence(&self) -> bool {
        self.first
    }
}

/// What may be meant as a password: quoted, or of several kinds of characters.
fn secret(word: &Word<'_>) -> Option<String> {
    let kinds = [
        word.text.chars().any(char::is_alphabetic),
        word.text.chars().any(|c| c.is_ascii_digit()),
        word.text.chars().any(|c| !c.is_alphanumeric() && !matches!(c, '-' | '\'' | '.')),
    ];
    let mixed = word.text.len() >= SHORT && kinds.iter().filter(|kind| **kind).count() > 1;
    (mixed || word.quote.is_some()).then(|| word.text.to_owned())
}
