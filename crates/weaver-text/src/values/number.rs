//! Numbers, and which of them are amounts.

use super::chunk::Word;
use crate::stop;

/// Words and signs of money.
const MONEY: [&str; 26] = [
    "$", "€", "£", "¥", "usd", "eur", "gbp", "chf", "jpy", "inr", "cad", "aud", "dollar",
    "dollars", "euro", "euros", "pound", "pounds", "franc", "francs", "yen", "rupees", "cents",
    "bucks", "credits", "btc",
];
/// Words before a number that make it an amount.
const PAID: [&str; 30] = [
    "is",
    "of",
    "to",
    "pay",
    "paid",
    "send",
    "transfer",
    "refund",
    "amount",
    "total",
    "rent",
    "sum",
    "fee",
    "price",
    "by",
    "wire",
    "spend",
    "spent",
    "cost",
    "costs",
    "owe",
    "owes",
    "that",
    "for",
    "additional",
    "another",
    "exactly",
    "deposit",
    "withdraw",
    "charge",
];

/// A number in the form in which it is compared: no sign of money, no grouping, no zeros that say
/// nothing. `None` for what is no number.
#[must_use]
pub fn number(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['$', '€', '£', '¥']).trim();
    let text = text.trim_end_matches(['$', '€', '£', '¥']).trim();
    let (minus, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some((digits, power)) = text.split_once(['e', 'E']) {
        return scientific(digits, power).map(|found| format!("{minus}{found}"));
    }
    let (whole, part) = parts(text)?;
    let whole = whole.trim_start_matches('0');
    let part = part.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let dot = if part.is_empty() { "" } else { "." };
    Some(format!("{minus}{whole}{dot}{part}"))
}

/// The digits before and after the decimal sign.
fn parts(text: &str) -> Option<(String, String)> {
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let last = text.rfind(['.', ',']);
    let Some(last) = last else { return plain(text).then(|| (text.to_owned(), String::new())) };
    let (before, after) = text.split_at_checked(last)?;
    let (sign, after) = after.split_at_checked(1)?;
    let groups = |text: &str, sign: char| {
        let mut groups = text.split(sign);
        let first = groups.next().is_some_and(|g| !g.is_empty() && g.len() <= 3 && plain(g));
        first && groups.all(|g| g.len() == 3 && plain(g))
    };
    let joined = |text: &str| text.replace([',', '.'], "");
    let mixed = before.contains(['.', ',']);
    if sign == "," && after.len() == 3 && groups(text, ',') || mixed && groups(text, '.') {
        return Some((joined(text), String::new()));
    }
    let other = if sign == "," { '.' } else { ',' };
    let grouped = if mixed { groups(before, other) } else { plain(before) && !before.is_empty() };
    (grouped && plain(after) && !after.is_empty()).then(|| (joined(before), after.to_owned()))
}

/// `1e3` and `1.5e-2`, of few digits.
fn scientific(digits: &str, power: &str) -> Option<String> {
    let power: i32 = power.parse().ok().filter(|power| (-20..=20).contains(power))?;
    let value: f64 = format!("{digits}e{power}").parse().ok()?;
    number(&format!("{value}"))
}

/// The number that a word is, where it is no part of a date, a time or a share.
pub(super) fn said(words: &[Word<'_>], at: usize) -> Option<String> {
    let word = words.get(at)?;
    if word.text.contains(['%', ':', '/']) || super::moment::is_part(words, at) {
        return None;
    }
    let (text, times) = match word.text.strip_suffix(['k', 'K']) {
        Some(rest) if rest.ends_with(|c: char| c.is_ascii_digit()) => (rest, "000"),
        _ => (word.text, ""),
    };
    let found = number(text)?;
    match times {
        "" => Some(found),
        _ if found.contains('.') => None,
        times => Some(format!("{found}{times}")),
    }
}

/// Whether a number that was said is an amount of money: by a sign or a word of money, by its two
/// decimals, or by the words around it.
pub(super) fn is_amount(
    before: Option<&Word<'_>>,
    word: &Word<'_>,
    after: Option<&Word<'_>>,
) -> bool {
    let money = |word: &Word<'_>| MONEY.contains(&word.low.as_str());
    let signed = word.text.contains(['$', '€', '£', '¥']);
    let cents = word.text.len() > 3
        && word.text.rfind(['.', ',']).is_some_and(|at| at.saturating_add(3) == word.text.len());
    if signed || cents || before.is_some_and(money) || after.is_some_and(money) {
        return true;
    }
    let told = before.is_some_and(|before| PAID.contains(&before.low.as_str()));
    // What is counted is no money: `100 transactions`.
    let counts = after.is_some_and(|after| !after.breaks && !stop::is_stop_word(&after.low));
    told && !counts
}
