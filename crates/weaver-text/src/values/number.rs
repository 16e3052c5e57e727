//! Parses numbers and recognises amounts of money.

use std::borrow::Cow;

use super::word::Word;

/// Currency signs.
const CURRENCY_SIGNS: [char; 13] =
    ['$', '€', '£', '¥', '₹', '₽', '₺', '₩', '฿', '₫', '₪', '₴', '₦'];
/// The zeros of the decimal digits of Arabic, Persian, Devanagari, Bengali, Gurmukhi,
/// Gujarati, Tamil, Telugu, Kannada, Malayalam, Thai, full-width.
const ZEROS: [u32; 12] =
    [0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xff10];
/// Blanks that group digits.
const GROUP_BLANKS: [char; 3] = ['\u{a0}', '\u{202f}', '\u{2009}'];

/// Currency words, codes and signs.
const CURRENCY_WORDS: [&str; 84] = [
    "$", "€", "£", "¥", "₹", "rs", "rupee", "kr", "sek", "nok", "dkk", "pln", "brl", "usd", "eur",
    "gbp", "chf", "jpy", "inr", "cad", "aud", "dollar", "dollars", "euro", "euros", "pound",
    "pounds", "franc", "francs", "yen", "rupees", "cents", "bucks", "credits", "btc", "zł",
    "złoty", "złotych", "zloty", "лв", "лева", "руб", "рублей", "рубля", "rubles", "kč", "czk",
    "huf", "forint", "lei", "ron", "lira", "try", "krona", "kronor", "krone", "kroner", "yuan",
    "rmb", "cny", "krw", "baht", "thb", "peso", "pesos", "mxn", "reais", "rand", "zar", "sgd",
    "hkd", "nzd", "uah", "bgn", "dirham", "dirhams", "aed", "sar", "shekel", "shekels", "ils",
    "usdt", "usdc", "franken",
];
/// The first numbers in words.
const SMALL_NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];
/// Codes of currencies with their signs and words, where these mean one currency.
const CURRENCY_CODES: [(&str, &str); 8] = [
    ("eur", "€ euro euros"),
    ("usd", "$ dollar dollars bucks"),
    ("gbp", "£ pound pounds"),
    ("jpy", "¥ yen"),
    ("inr", "₹ rupee rupees"),
    ("chf", "franc francs franken"),
    ("try", "₺"),
    ("pln", "zł złoty"),
];
/// Parses a number to its canonical form: no currency, grouping, or leading or trailing zeros. `None`
/// if the text is not a number.
#[must_use]
pub fn number(text: &str) -> Option<String> {
    let text = plain_digits(text);
    let text = without_currency(&text);
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
    let (whole, part) = split_decimal(text)?;
    let whole = whole.trim_start_matches('0');
    let part = part.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let dot = if part.is_empty() { "" } else { "." };
    Some(format!("{minus}{whole}{dot}{part}"))
}

/// Folds digits of other scripts to ASCII and minus signs to hyphens; removes blanks that group digits.
fn plain_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = text.chars().map(|c| match c {
        '\u{2212}' => '-',
        '’' => '\'',
        _ => ascii_digit(c),
    });
    Cow::Owned(join_groups(&plain.collect::<String>()))
}

/// The ASCII digit for a decimal digit of another script; any other character unchanged.
fn ascii_digit(c: char) -> char {
    let digit = ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(*zero).filter(|n| *n < 10));
    digit.and_then(|n| char::from_digit(n, 10)).unwrap_or(c)
}

/// Removes the no-break and thin blanks that group digits.
pub(super) fn join_groups(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let between = out.ends_with(is_digit) && rest.peek().is_some_and(|next| is_digit(*next));
        if !(between && GROUP_BLANKS.contains(&c)) {
            out.push(c);
        }
    }
    out
}

fn is_digit(c: char) -> bool {
    ascii_digit(c).is_ascii_digit()
}

/// Removes currency signs and codes around a number.
fn without_currency(text: &str) -> &str {
    let text =
        text.trim().trim_start_matches(CURRENCY_SIGNS).trim_end_matches(CURRENCY_SIGNS).trim();
    let letters = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (code, rest) = text.split_at_checked(letters).unwrap_or(("", text));
    let rest = match CURRENCY_WORDS.contains(&code.to_lowercase().as_str()) {
        true => rest.trim_start_matches('.').trim_start(),
        false => text,
    };
    rest.strip_suffix(".-").or_else(|| rest.strip_suffix(".–")).unwrap_or(rest)
}

/// The digits before and after the decimal separator, without grouping.
fn split_decimal(text: &str) -> Option<(String, String)> {
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let groups = |text: &str, sign: char| {
        let mut groups = text.split(sign);
        let first = groups.next().is_some_and(|g| !g.is_empty() && g.len() <= 3 && plain(g));
        first && groups.all(|g| g.len() == 3 && plain(g))
    };
    // Indian grouping: the last three digits, and groups of two before them.
    let indian = |text: &str| {
        let Some((head, last)) = text.rsplit_once(',') else { return false };
        let mut groups = head.split(',');
        let first = groups.next().is_some_and(|g| matches!(g.len(), 1 | 2) && plain(g));
        first && last.len() == 3 && plain(last) && groups.all(|g| g.len() == 2 && plain(g))
    };
    let joined = |text: &str| text.replace([',', '.', '\''], "");
    if text.contains('\'') {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        return (groups(whole, '\'') && plain(part)).then(|| (joined(whole), part.to_owned()));
    }
    let Some(last) = text.rfind(['.', ',']) else {
        return plain(text).then(|| (text.to_owned(), String::new()));
    };
    let (before, after) = text.split_at_checked(last)?;
    let (sign, after) = after.split_at_checked(1)?;
    let mixed = before.contains(['.', ',']);
    if sign == "," && after.len() == 3 && (groups(text, ',') || indian(text))
        || mixed && groups(text, '.')
    {
        return Some((joined(text), String::new()));
    }
    let other = if sign == "," { '.' } else { ',' };
    let grouped = if mixed {
        groups(before, other) || other == ',' && indian(before)
    } else {
        plain(before) && !before.is_empty()
    };
    (grouped && plain(after) && !after.is_empty()).then(|| (joined(before), after.to_owned()))
}

/// Parses scientific notation, `1e3` or `1.5e-2`, with exponents from -20 to 20.
fn scientific(digits: &str, power: &str) -> Option<String> {
    let power: i32 = power.parse().ok().filter(|power| (-20..=20).contains(power))?;
    let value: f64 = format!("{digits}e{power}").parse().ok()?;
    number(&format!("{value}"))
}

/// The digits of `1.200`: no amount of money has three decimals, so the dot groups thousands.
fn grouped_by_dots(text: &str) -> Option<String> {
    let (first, last) = text.split_once('.')?;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let grouped =
        (1..=3).contains(&first.len()) && last.len() == 3 && digits(first) && digits(last);
    (grouped && !first.starts_with('0')).then(|| format!("{first}{last}"))
}

/// A small number in words.
pub(super) fn in_words(word: &str) -> Option<String> {
    let found = SMALL_NUMBERS.iter().position(|known| *known == word)?;
    Some(found.saturating_add(1).to_string())
}

/// A number with so many zeros: `1.5` with three is 1500. `None` if it has more decimals.
fn times_thousand(found: &str, zeros: &str) -> Option<String> {
    let (whole, part) = found.split_once('.').unwrap_or((found, ""));
    let rest = zeros.get(part.len()..)?;
    number(&format!("{whole}{part}{rest}"))
}

/// Whether a word, in lower case, is that of a currency.
pub(super) fn is_money_word(word: &str) -> bool {
    CURRENCY_WORDS.contains(&word)
}

/// Whether a number has a currency sign.
pub(super) fn is_signed(word: &Word<'_>) -> bool {
    word.text.contains(CURRENCY_SIGNS)
}

/// Whether a currency sign or word is at the number at `at` or next to it.
pub(super) fn is_money(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let money = |word: &Word<'_>| CURRENCY_WORDS.contains(&word.lower.as_str());
    let before = at.checked_sub(1).and_then(|at| words.get(at)).filter(|_| !word.follows_break);
    let after = words.get(at.saturating_add(1)).filter(|word| !word.follows_break);
    let coded = word.text.len() > 3 && without_currency(word.text).len() < word.text.len();
    word.text.contains(CURRENCY_SIGNS)
        || coded
        || before.is_some_and(money)
        || after.is_some_and(money)
}

/// The code of the currency of the amount at `at`, in lower case.
pub(super) fn currency(words: &[Word<'_>], at: usize) -> Option<&'static str> {
    let near = [Some(at), at.checked_sub(1), at.checked_add(1)];
    near.into_iter().flatten().filter_map(|at| words.get(at)).find_map(|word| {
        let found = CURRENCY_CODES.iter().find(|(code, signs)| {
            let named = signs.split(' ').any(|sign| {
                sign == word.lower || sign.chars().count() == 1 && word.text.contains(sign)
            });
            named || *code == word.lower
        });
        found.map(|(code, _)| *code)
    })
}

/// The number at `at`, unless it is part of a date or a time. A share (`10%`) counts as its number.
pub(super) fn number_at(words: &[Word<'_>], at: usize) -> Option<String> {
    let word = words.get(at)?;
    let written = word.text.strip_suffix('%').unwrap_or(word.text);
    if written.contains(['%', ':', '/']) || super::date::is_part(words, at) {
        return None;
    }
    let (text, times) = match written.strip_suffix(['k', 'K']) {
        Some(rest) if rest.ends_with(|c: char| c.is_ascii_digit()) => (rest, "000"),
        _ => (written, ""),
    };
    let found = match grouped_by_dots(without_currency(text)).filter(|_| is_money(words, at)) {
        Some(digits) => number(&digits)?,
        None => number(text)?,
    };
    match times {
        "" => Some(found),
        times => times_thousand(&found, times),
    }
}
