//! Finds where a reader of a text could pay or call: bank accounts, wallets, telephone numbers and
//! handles of payment services.

use super::word::{self, Word};
use super::{ValueClass, ValueToken, cell};

/// The lengths of an IBAN by country (ISO 13616).
const IBAN_LENGTHS: &str = "ad24 ae23 al28 at20 az28 ba20 be16 bg22 bh22 bi27 br29 by28 ch21 cr22 cy28 cz24 \
    de22 dj27 dk18 do28 ee20 eg29 es24 fi18 fk18 fo18 fr27 gb22 ge22 gi23 gl18 gr27 gt28 hr21 hu28 ie22 \
    il23 iq23 is26 it27 jo30 kw30 kz20 lb28 lc32 li21 lt20 lu20 lv21 ly25 mc27 md24 me22 mk19 mn20 mr27 \
    mt31 mu30 ni28 nl18 no15 om23 pk24 pl28 ps29 pt25 qa29 ro24 rs22 ru33 sa24 sc31 sd18 se24 si19 sk24 \
    sm27 so23 st25 sv28 tl23 tn24 tr26 ua29 va22 vg24 xk20 ye30";
/// What may be between the groups of an IBAN, one or two at a time.
const IBAN_GAPS: [char; 9] = [' ', '\t', '\n', '\r', '.', '-', '/', '_', '\u{a0}'];
/// The fewest digits of an IBAN after its check digits.
const MIN_IBAN_DIGITS: usize = 6;
/// What joins a number with the word that says what it is (`IBAN:DE89`), or marks it (`*DE89*`).
const JOINERS: [char; 6] = [':', '=', '*', '|', '_', '~'];
/// Stands for `tel:` while a text is read.
const DIAL: &str = "\u{260e}";
/// Lengths of an IBAN.
const IBAN: std::ops::RangeInclusive<usize> = 15..=34;
/// The fewest digits of a telephone number.
const MIN_PHONE: usize = 8;
/// How many words one number can be written in.
const MAX_GROUPS: usize = 12;
/// The beginnings of numbers that cost the caller money.
const PREMIUM: [&str; 4] = ["0900", "0190", "0906", "0909"];
/// Words before a wallet that only its length and its letters tell.
const COINS: [&str; 6] = ["sol", "solana", "wallet", "usdt", "usdc", "crypto"];
/// Services in which `@name` is an account.
const SERVICES: [&str; 16] = [
    "paypal", "venmo", "cashapp", "cash", "revolut", "wise", "zelle", "bizum", "twint", "telegram",
    "whatsapp", "signal", "instagram", "twitter", "skype", "discord",
];

/// The bank accounts (IBAN), wallets, international and premium telephone numbers, and handles in a
/// text.
#[must_use]
pub fn payees(text: &str) -> Vec<ValueToken> {
    let folded = super::fold_text(text);
    let mut out = Vec::new();
    push_ibans(&folded, &mut out);
    let text = folded.replace("tel:", &format!("{DIAL} ")).replace(JOINERS, " ");
    let words = word::words(&text);
    for (at, word) in words.iter().enumerate() {
        let rest = words.get(at..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let dials = before.is_some_and(|before| before.text == DIAL);
        let follows_digits = before.is_some_and(Word::has_digit) && !word.follows_break;
        let found = || {
            iban(rest).or_else(|| wallet(&words, at)).or_else(|| phone(rest, dials, follows_digits))
        };
        if let Some(key) = found() {
            out.push(ValueToken::new(ValueClass::Account, key));
        } else if word.text.len() > 1 && word.text.starts_with('@') && follows_service(&words, at) {
            out.push(ValueToken::new(ValueClass::Name, word.lower.clone()));
        }
    }
    let mut seen = std::collections::HashSet::new();
    out.retain(|token| seen.insert(token.clone()));
    out
}

/// Appends the IBANs of known countries, wherever a letter follows anything else, in any case and
/// across gaps: country, length and check digits tell.
fn push_ibans(text: &str, out: &mut Vec<ValueToken>) {
    let mut before = None;
    for (at, c) in text.char_indices() {
        let starts = c.is_ascii_alphabetic() && !before.is_some_and(char::is_alphanumeric);
        before = Some(c);
        if starts && let Some(key) = text.get(at..).and_then(iban_at) {
            out.push(ValueToken::new(ValueClass::Account, key));
        }
    }
}

/// The IBAN of a known country at the start of a text.
fn iban_at(text: &str) -> Option<String> {
    let (mut key, mut length, mut gap) = (String::new(), 0, 0);
    for c in text.chars() {
        if key.len() == 2 && length == 0 {
            let country = key.to_ascii_lowercase();
            let known = IBAN_LENGTHS.split(' ').find_map(|one| one.strip_prefix(country.as_str()));
            length = known?.parse().ok()?;
        }
        if length > 0 && key.len() == length {
            if c.is_ascii_alphanumeric() {
                return None;
            }
            break;
        }
        gap = if IBAN_GAPS.contains(&c) { gap + 1 } else { 0 };
        match c {
            _ if gap > 0 && (gap > 2 || key.len() < 2) => return None,
            _ if gap > 0 => {}
            _ if c.is_ascii_digit() && key.len() > 1 => key.push(c),
            _ if c.is_ascii_alphabetic() && !(2..4).contains(&key.len()) => {
                key.push(c.to_ascii_uppercase());
            }
            _ => return None,
        }
    }
    let digits = key.bytes().skip(4).filter(u8::is_ascii_digit).count();
    (length > 0 && key.len() == length && digits >= MIN_IBAN_DIGITS && has_check_digits(&key))
        .then_some(key)
}

fn follows_service(words: &[Word<'_>], at: usize) -> bool {
    follows(words, at, &SERVICES)
}

/// Whether one of these words is among the three before the word at `at`.
fn follows(words: &[Word<'_>], at: usize, known: &[&str]) -> bool {
    let before = words.get(at.saturating_sub(3)..at).unwrap_or_default();
    before.iter().any(|word| known.contains(&word.lower.as_str()))
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

/// The wallet that the word at `at` is.
fn wallet(words: &[Word<'_>], at: usize) -> Option<String> {
    let word = words.get(at)?.text;
    let alphanumeric = word.bytes().all(|b| b.is_ascii_alphanumeric());
    let lower = word.to_ascii_lowercase();
    let hex = || word.bytes().skip(2).all(|b| b.is_ascii_hexdigit());
    let mixed = || {
        let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
    };
    let known = (lower.starts_with("bc1") || lower.starts_with("ltc1")) && word.len() >= 26
        || lower.starts_with("0x") && word.len() == 42 && hex()
        || word.starts_with(['1', '3']) && (26..=35).contains(&word.len()) && mixed()
        || word.starts_with('T') && word.len() == 34 && mixed()
        || (32..=44).contains(&word.len()) && mixed() && follows(words, at, &COINS);
    (alphanumeric && known).then(|| cell::account(word)).flatten()
}

/// The telephone number that begins a row of words: with a country code, after `tel:`, or premium.
fn phone(words: &[Word<'_>], dials: bool, follows_digits: bool) -> Option<String> {
    let first = words.first()?.text;
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
    let abroad = joined.starts_with('+') || dials;
    let digits: String = joined.chars().filter(char::is_ascii_digit).collect();
    let exchange = digits.strip_prefix("00").filter(|rest| !rest.starts_with('0'));
    // A group of zeros is in the middle of many numbers.
    let exchange = exchange.filter(|rest| !follows_digits && (10..=15).contains(&rest.len()));
    if let Some(rest) = exchange {
        // `0044` is `+44`.
        return Some(rest.to_owned());
    }
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
            ("PayPal:@evilpay", "evilpay"),
            ("IBAN:DE89370400440532013000", "DE89370400440532013000"),
            ("IBAN=DE89370400440532013000", "DE89370400440532013000"),
            ("_DE89370400440532013000_", "DE89370400440532013000"),
            ("DE89.3704.0044.0532.0130.00", "DE89370400440532013000"),
            ("DE89/3704/0044/0532/0130/00", "DE89370400440532013000"),
            ("DE89 3704 0044\n0532 0130 00", "DE89370400440532013000"),
            ("DE 89 3704 0044 0532 0130 00", "DE89370400440532013000"),
            ("DE89370400440532013000/BIC COBADEFF", "DE89370400440532013000"),
            ("GB33 bukb 2020 1555 5555 55", "GB33BUKB20201555555555"),
            (
                "BTC:bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
                "BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ",
            ),
            ("USDT: TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE", "TQN9Y2KHESLJW1CHVWFMSMERDOW5KCBLSE"),
            (
                "SOL 7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
                "7ECDHSYGXXYSCSZYEP35KHN8VVW3SVAULKTZXWCFLTV",
            ),
            ("Phone:+44900123456", "44900123456"),
            ("call 0044 900 123456", "44900123456"),
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
            "at 10 o'clock we meet in room 20201555555555 of it",
            "no 12 345 678 901 234 is my order",
            "order 0012345, 0000123456789",
            "file 7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
            "call 5550100",
        ] {
            assert_eq!(payees(text), Vec::new(), "{text}");
        }
    }
}
