//! Classifies words by their form and context.

use super::word::Word;
use super::{ValueClass, ValueToken, address, cell, cues, gram, number, number_use};

/// Minimum length, in bytes, of an identifier or a secret that no word before it announces.
const MIN_IDENTIFIER: usize = 6;
/// Words in the address of a page before the number of what it shows.
const NUMBERED_PAGES: [&str; 14] = [
    "issues", "issue", "pull", "pulls", "merge_requests", "tickets", "ticket", "orders", "order",
    "tasks", "items", "work_items", "invoices", "contacts",
];

/// Appends the tokens of one word, in the context of its neighbours.
pub(super) fn push_tokens(
    words: &[Word<'_>],
    at: usize,
    word: &Word<'_>,
    out: &mut Vec<ValueToken>,
) {
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
    push_numbers(words, at, word, out);
    push_repository(word, out);
    if names_a_thing(words, at, word) {
        out.extend(
            cell::identifier(word.text).map(|key| ValueToken::new(ValueClass::Identifier, key)),
        );
    }
    out.extend(
        word.signed
            .and_then(cell::identifier)
            .map(|key| ValueToken::new(ValueClass::Identifier, key)),
    );
}

/// Appends a number: as one, as a count unless it is money, as an amount if it is one, and its
/// currency.
fn push_numbers(words: &[Word<'_>], at: usize, word: &Word<'_>, out: &mut Vec<ValueToken>) {
    let counts = number_use::is_count(words, at);
    if number_use::names_an_amount(words, at) {
        // Says that the user named an amount at all.
        out.push(ValueToken::new(ValueClass::Amount, "*"));
    }
    if let Some(key) = number::in_words(&word.lower).filter(|_| !number::is_money(words, at)) {
        out.extend(counts.then(|| ValueToken::new(ValueClass::Count, key.clone())));
        out.push(ValueToken::new(ValueClass::Number, key));
    } else if let Some(key) = number::in_words(&word.lower) {
        out.push(ValueToken::new(ValueClass::Amount, key));
    }
    let Some(key) = number::number_at(words, at) else { return };
    let is_share = word.text.ends_with('%');
    if !is_share && number_use::is_amount(words, at) {
        out.push(ValueToken::new(ValueClass::Amount, key.clone()));
    }
    if number::is_money(words, at) {
        out.extend(
            number::currency(words, at)
                .map(|code| ValueToken::new(ValueClass::Cued, gram::cued_name("currency", code))),
        );
    } else if !is_share && counts {
        out.push(ValueToken::new(ValueClass::Count, key.clone()));
    }
    out.push(ValueToken::new(ValueClass::Number, key));
}

/// Appends what `owner/repo`, `owner/repo#17` and the address of a page of a forge name.
fn push_repository(word: &Word<'_>, out: &mut Vec<ValueToken>) {
    let url = word.text.split_once("://").map(|(_, rest)| rest);
    let path = url.and_then(|rest| rest.split_once('/')).map_or(word.text, |(_, path)| path);
    let (path, number) = path.split_once('#').unwrap_or((path, ""));
    let mut parts = path.split('?').next().unwrap_or_default().trim_end_matches('/').split('/');
    let plain = |part: &&str| {
        part.starts_with(|c: char| c.is_alphanumeric())
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let (Some(owner), Some(repo)) = (parts.next().filter(plain), parts.next().filter(plain)) else {
        return;
    };
    let rest: Vec<&str> = parts.collect();
    if url.is_none() && !rest.is_empty() {
        return;
    }
    let (owner, repo) = (owner.to_lowercase(), repo.trim_end_matches(".git").to_lowercase());
    let whole = format!("{owner}/{repo}");
    for (cue, name) in [
        ("owner", &owner),
        ("org", &owner),
        ("organization", &owner),
        ("namespace", &owner),
        ("repo", &repo),
        ("repository", &repo),
        ("project", &repo),
        ("repo", &whole),
        ("repository", &whole),
        ("project", &whole),
    ] {
        out.push(ValueToken::new(ValueClass::Cued, gram::cued_name(cue, name)));
    }
    out.push(ValueToken::new(ValueClass::Name, whole.clone()));
    out.push(ValueToken::new(ValueClass::Identifier, whole));
    let shown = rest.iter().rev().take(2).collect::<Vec<_>>();
    let page = match shown.as_slice() {
        [last, before] if NUMBERED_PAGES.contains(before) => last,
        _ => number,
    };
    let digits = !page.is_empty() && page.bytes().all(|b| b.is_ascii_digit());
    out.extend(digits.then(|| ValueToken::new(ValueClass::Identifier, page)));
}

/// Whether the word is used as an identifier: it is quoted alone, is long and has digits, or
/// follows a word that announces one.
fn names_a_thing(words: &[Word<'_>], at: usize, word: &Word<'_>) -> bool {
    let before = at.checked_sub(1).and_then(|at| words.get(at));
    let digits = word.text.chars().filter(char::is_ascii_digit).count();
    let others = word.text.chars().any(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '#'));
    let alone = |quote| before.is_none_or(|before| before.quote != Some(quote));
    if word.quote.is_some_and(alone) || word.text.starts_with('#') && digits > 0 {
        return true;
    }
    if digits > 0 && word.text.len() >= MIN_IDENTIFIER && (others || digits == word.text.len()) {
        return super::date::day(word.text).is_none();
    }
    let cues = cues::before(words, at);
    cues.first().is_some_and(|cue| cues::NUMBER_CUES.contains(cue))
        && (word.has_digit() || !word.follows_break)
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
