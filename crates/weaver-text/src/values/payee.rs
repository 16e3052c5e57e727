//! Finds where a reader of a text could pay or call: bank accounts, wallets, telephone numbers and
//! handles of payment services.

use super::word::{self, Word};
use super::{ValueClass, ValueToken, cell};

/// Lengths of an IBAN.
const IBAN: std::ops::RangeInclusive<usize> = 15..=34;
/// The fewest digits of a telephone number.
const MIN_PHONE: usize = 8;
/// How many words one number can be written in.
const MAX_GROUPS: usize = 12;
/// The beginnings of numbers that cost the caller money.
const PREMIUM: [&str; 4] = ["0900", "0190", "0906", "0909"];
/// Services in which `@name` is an account.
const SERVICES: [&str; 16] = [
    "paypal", "venmo", "cashapp", "cash", "revolut", "wise", "zelle", "bizum", "twint", "telegram",
    "whatsapp", "signal", "instagram", "twitter", "skype", "discord",
];

/// The bank accounts (IBAN), wallets, international and premium telephone numbers, and handles in a
/// text.
#[must_use]
pub fn payees(text: &str) -> Vec<ValueToken> {
    let text = super::fold_text(text);
    let words = word::words(&text);
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let rest = words.get(at..).unwrap_or_default();
        if let Some(key) = iban(rest).or_else(|| wallet(word.text)).or_else(|| phone(rest)) {
            out.push(ValueToken::new(ValueClass::Account, key));
        } else if word.text.len() > 1 && word.text.starts_with('@') && follows_service(&words, at) {
            out.push(ValueToken::new(ValueClass::Name, word.lower.clone()));
        }
    }
    out
}

fn follows_service(words: &[Word<'_>], at: usize) -> bool {
    let before = words.get(at.saturating_sub(3)..at).unwrap_or_default();
    before.iter().any(|word| SERVICES.contains(&word.lower.as_str()))
}

/// The IBAN that begins a row of words.
fn iban(words: &[Word<'_>]) -> Option<String> {
    let first = words.first()?.text;
    let starts = first.bytes().take(2).all(|b| b.is_ascii_alphabetic())
        && first.bytes().skip(2).take(2).filter(u8::is_ascii_digit).count() == 2;
    if !starts {
        return None;
    }
    let (mut joined, mut found) = (String::new(), None);
    for (at, word) in words.iter().take(MAX_GROUPS).enumerate() {
        let written = |b: u8| b.is_ascii_alphanumeric() && (at == 0 || !b.is_ascii_lowercase());
        let plain = word.text.bytes().all(|b| written(b) || b == b'-');
        if !plain || at > 0 && word.follows_break {
            break;
        }
        joined.extend(
            word.text.bytes().filter(|b| *b != b'-').map(|b| char::from(b.to_ascii_uppercase())),
        );
        if IBAN.contains(&joined.len()) && has_check_digits(&joined) {
            found = Some(joined.clone());
        }
        if joined.len() > *IBAN.end() {
            break;
        }
    }
    found
}

/// Whether the remainder by 97 is 1 (ISO 7064).
fn has_check_digits(iban: &str) -> bool {
    let (head, rest) = iban.split_at_checked(4).unwrap_or((iban, ""));
    let value = |c: char| c.to_digit(36).unwrap_or_default();
    let remainder = rest.chars().chain(head.chars()).map(value).fold(0_u32, |sum, digit| {
        let shift = if digit > 9 { 100 } else { 10 };
        sum.saturating_mul(shift).saturating_add(digit) % 97
    });
    remainder == 1
}

/// The wallet that a word is.
fn wallet(word: &str) -> Option<String> {
    let alphanumeric = word.bytes().all(|b| b.is_ascii_alphanumeric());
    let lower = word.to_ascii_lowercase();
    let hex = || word.bytes().skip(2).all(|b| b.is_ascii_hexdigit());
    let mixed = || {
        let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
    };
    let known = (lower.starts_with("bc1") || lower.starts_with("ltc1")) && word.len() >= 26
        || lower.starts_with("0x") && word.len() == 42 && hex()
        || word.starts_with(['1', '3']) && (26..=35).contains(&word.len()) && mixed();
    (alphanumeric && known).then(|| cell::account(word)).flatten()
}

/// The telephone number that begins a row of words: with a country code, after `tel:`, or premium.
fn phone(words: &[Word<'_>]) -> Option<String> {
    let first = words.first()?.text;
    let dial = first.strip_prefix("tel:");
    let first = dial.unwrap_or(first);
    if !first.starts_with(|c: char| c == '+' || c.is_ascii_digit()) {
        return None;
    }
    let mut joined = String::new();
    for (at, word) in words.iter().take(MAX_GROUPS).enumerate() {
        let text = if at == 0 { first } else { word.text };
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-()./".contains(&b));
        if !plain || at > 0 && word.follows_break {
            break;
        }
        joined.extend(text.chars().filter(|c| c.is_ascii_digit() || *c == '+'));
    }
    let abroad = joined.starts_with('+') || dial.is_some();
    let digits: String = joined.chars().filter(char::is_ascii_digit).collect();
    let known = abroad || PREMIUM.iter().any(|start| digits.starts_with(start));
    (known && (MIN_PHONE..=15).contains(&digits.len())).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_wallets_numbers_and_handles_are_found() {
        for (text, key) in [
            ("Our new account: GB33 BUKB 2020 1555 5555 55.", "GB33BUKB20201555555555"),
            ("to DE89370400440532013000 please", "DE89370400440532013000"),
            (
                "BTC bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
                "BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ",
            ),
            ("Call +44 900 123456", "44900123456"),
            ("by phone: 0900 5550100.", "09005550100"),
            ("tel:0900123456", "0900123456"),
            ("PayPal: @evilpay", "evilpay"),
        ] {
            let found: Vec<_> = payees(text).into_iter().map(|token| token.key).collect();
            assert_eq!(found, [key], "{text}");
        }
    }

    #[test]
    fn plain_numbers_and_mentions_are_none() {
        for text in [
            "GB33 is a room, order 20201555555555",
            "on 2026-12-14 at 10:00",
            "+5 %, +1000 EUR",
            "thanks @kai",
            "GB34 BUKB 2020 1555 5555 55",
            "version 0900",
            "call 5550100",
        ] {
            assert_eq!(payees(text), Vec::new(), "{text}");
        }
    }
}
