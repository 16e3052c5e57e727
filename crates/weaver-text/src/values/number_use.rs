//! Tells from the words around a number what a person uses it for: as an amount of money, as a
//! quantity of something, or as none of them (a share, a time, a duration, the number of something).

use super::cues::NUMBER_CUES;
use super::number;
use super::word::Word;
use crate::stop;

/// Words directly before a number that mark it as an amount.
const AMOUNT_CUES: [&str; 22] = [
    "pay", "paid", "send", "transfer", "refund", "amount", "total", "rent", "sum", "fee", "price",
    "wire", "spend", "spent", "cost", "costs", "owe", "owes", "deposit", "withdraw", "charge",
    "budget",
];
/// Words before a number that mark it as an amount where the sentence is about money.
const LINKS: [&str; 18] = [
    "is", "of", "to", "by", "that", "for", "additional", "another", "exactly", "be", "with", "are",
    "was", "auf", "um", "von", "ist", "beträgt",
];
/// Words, besides the cues, with which a sentence is about money.
const MONEY_WORDS: [&str; 56] = [
    "pays", "paying", "payment", "payments", "transfers", "transferred", "refunds", "refunded",
    "amounts", "fees", "prices", "charges", "salary", "salaries", "wage", "wages", "bill", "bills",
    "balance", "tip", "donate", "donation", "credit", "debit", "reimburse", "discount",
    "subscription", "money", "worth", "limit", "bonus", "loan", "debt", "allowance", "bid",
    "offer", "deal", "estimate", "quote", "revenue", "give", "invoice", "betrag", "zahle",
    "zahlen", "überweise", "erstatte", "miete", "preis", "summe", "rechnung", "paga", "importe",
    "precio", "paie", "montant",
];
/// Words between a thing and the number that it has.
const COPULAS: [&str; 5] = ["is", "are", "was", "be", "ist"];
/// Words, besides those that announce a number, for what is a number and neither amount nor
/// quantity.
const NUMBERED: [&str; 17] = [
    "phone", "telephone", "mobile", "fax", "extension", "code", "pin", "zip", "postcode", "postal",
    "plz", "reference", "ref", "version", "year", "copy", "password",
];
/// Words for what has a number: `invoice 778`.
const LABELS: [&str; 22] = [
    "account", "page", "room", "ticket", "customer", "gate", "chapter", "section", "line", "floor",
    "apartment", "suite", "issue", "case", "invoice", "flight", "train", "level", "bug", "article",
    "kunde", "zimmer",
];
/// Units of shares.
const SHARES: [&str; 9] =
    ["%", "percent", "pct", "per", "prozent", "procent", "percento", "pourcent", "‰"];
/// What follows a time of day.
const CLOCK: [&str; 8] = ["am", "pm", "a.m", "p.m", "uhr", "o'clock", "o’clock", "hrs"];
/// What precedes a time of day, and what follows a price there (`at 9.50 each`).
const CLOCK_CUES: [&str; 7] = ["at", "um", "until", "till", "from", "ab", "gegen"];
const EACH: [&str; 6] = ["each", "apiece", "per", "a", "je", "pro"];
/// Units of durations and distances, which are no quantities of items.
const MEASURES: [&str; 43] = [
    "second", "seconds", "minute", "minutes", "min", "mins", "hour", "hours", "h", "day", "days",
    "week", "weeks", "month", "months", "year", "years", "sekunden", "minuten", "stunde",
    "stunden", "tag", "tage", "tagen", "woche", "wochen", "monat", "monate", "monaten", "jahr",
    "jahre", "jahren", "km", "miles", "degrees", "días", "semanas", "meses", "años", "heures",
    "jours", "semaines", "mois",
];
/// Words for a part of a whole amount.
const HALVES: [&str; 6] = ["half", "hälfte", "mitad", "moitié", "quarter", "third"];
/// How far back the words of a sentence are read.
const MAX_BACK: usize = 12;

/// Whether the number at `at` is an amount of money: by a currency sign or word, by two decimals, or
/// by the words around it.
pub(super) fn is_amount(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let (before, after) = (low(words, at.checked_sub(1)), low(words, at.checked_add(1)));
    if number::is_money_word(before) || number::is_money_word(after) || number::is_signed(word) {
        return true;
    }
    if is_share(words, at) || is_clock(words, at) || is_numbered(words, at) {
        return false;
    }
    let cents = word.text.len() > 3
        && word.text.rfind(['.', ',']).is_some_and(|at| at.saturating_add(3) == word.text.len());
    if cents {
        return true;
    }
    let told = AMOUNT_CUES.contains(&before)
        || LINKS.contains(&before) && !word.follows_break && is_about_money(words, at);
    // A count is not an amount: `100 transactions`.
    let counts = words
        .get(at.saturating_add(1))
        .is_some_and(|after| !after.follows_break && !stop::is_stop_word(&after.lower));
    told && !counts
}

/// Whether the word at `at` says that a request names an amount, in figures, in words, or as a part
/// of the whole one: `twelve euros`, `refund 12 of`, `refund 10 %`, `half`.
pub(super) fn names_an_amount(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let is_number = word.has_digit() || number::in_words(&word.lower).is_some();
    let told = AMOUNT_CUES.contains(&low(words, at.checked_sub(1)));
    let part = word.text.ends_with('%')
        || is_share(words, at)
        || low(words, at.checked_add(1)) == "of" && !word.follows_break;
    is_number && (number::is_money(words, at) || told && part)
        || HALVES.contains(&word.lower.as_str())
}

/// Whether the number at `at` can be a quantity of something.
pub(super) fn is_count(words: &[Word<'_>], at: usize) -> bool {
    let after = words.get(at.saturating_add(1)).filter(|after| !after.follows_break);
    let measured = after.is_some_and(|after| MEASURES.contains(&after.lower.as_str()));
    !(measured || is_share(words, at) || is_clock(words, at) || is_numbered(words, at))
}

fn low<'w>(words: &'w [Word<'_>], at: Option<usize>) -> &'w str {
    at.and_then(|at| words.get(at)).map_or("", |word| word.lower.as_str())
}

/// Whether the number at `at` is a share: `10 percent`, `10 per cent`, `10 %`.
fn is_share(words: &[Word<'_>], at: usize) -> bool {
    let Some(after) = words.get(at.saturating_add(1)).filter(|after| !after.follows_break) else {
        return false;
    };
    let per = after.lower == "per" && low(words, at.checked_add(2)) != "cent";
    SHARES.contains(&after.lower.as_str()) && !per
}

/// Whether the number at `at` is a time of day: `8 pm`, `at 8`, `at 19.30`.
fn is_clock(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let after = words.get(at.saturating_add(1)).filter(|after| !after.follows_break);
    let after = after.map_or("", |after| after.lower.as_str());
    if CLOCK.contains(&after) {
        return true;
    }
    let (hours, minutes) = word.text.split_once('.').unwrap_or((word.text, "00"));
    let below = |text: &str, end: u8| text.parse::<u8>().is_ok_and(|number| number < end);
    let timed = below(hours, 25) && minutes.len() == 2 && below(minutes, 60);
    let counts = !after.is_empty() && !stop::is_stop_word(after);
    let is_price = EACH.contains(&after) || counts && minutes == "00";
    timed && !is_price && !word.follows_break && CLOCK_CUES.contains(&low(words, at.checked_sub(1)))
}

/// Whether the number at `at` names something: `customer no. 4711`, `the code is 10115`, `#12`,
/// `+49 30 5550100`.
fn is_numbered(words: &[Word<'_>], at: usize) -> bool {
    let mut here = at;
    for _ in 0..MAX_BACK {
        let Some(word) = words.get(here) else { return false };
        if word.text.starts_with(['#', '+']) {
            return true;
        }
        let Some(before_at) = here.checked_sub(1) else { return false };
        let Some(before) = words.get(before_at) else { return false };
        let abbreviated = matches!(before.lower.as_str(), "no" | "nr" | "num" | "nº" | "núm");
        if word.follows_break && !word.follows_colon && !abbreviated {
            return false;
        }
        let grouped = before.text.bytes().all(|b| b.is_ascii_digit() || b"+-()".contains(&b));
        if !grouped {
            let named = NUMBER_CUES.contains(&before.lower.as_str())
                || (is_number_word(before) || is_label(before)) && !is_counting(words, at);
            let linked = COPULAS.contains(&before.lower.as_str()) || word.follows_colon;
            let topic = || nearest_topic(words, before_at, is_label);
            return named || linked && topic() == Some(Topic::Number);
        }
        here = before_at;
    }
    false
}

/// Whether a word for several things follows the number at `at`: `room 2 keys`.
fn is_counting(words: &[Word<'_>], at: usize) -> bool {
    words.get(at.saturating_add(1)).is_some_and(|after| {
        !after.follows_break && after.lower.ends_with('s') && !stop::is_stop_word(&after.lower)
    })
}

fn is_number_word(word: &Word<'_>) -> bool {
    let lower = word.lower.as_str();
    NUMBER_CUES.contains(&lower) || NUMBERED.contains(&lower) || lower.ends_with("nummer")
}

fn is_label(word: &Word<'_>) -> bool {
    LABELS.contains(&word.lower.as_str())
}

fn is_about_money(words: &[Word<'_>], at: usize) -> bool {
    let topic = at.checked_sub(1).and_then(|link| nearest_topic(words, link, |_| false));
    topic == Some(Topic::Money)
}

/// What a number after a link belongs to.
#[derive(PartialEq, Eq)]
enum Topic {
    Money,
    Number,
}

/// The nearest word before the link at `at`, in its sentence, that says what a number is. A word
/// that has its own number (`order no. 1182`) says nothing of another one.
fn nearest_topic(
    words: &[Word<'_>],
    at: usize,
    is_numbered: impl Fn(&Word<'_>) -> bool,
) -> Option<Topic> {
    let mut here = at;
    for _ in 0..MAX_BACK {
        let next_has_digit = |at: usize| words.get(at).is_some_and(Word::has_digit);
        let word = words.get(here)?;
        let lower = word.lower.as_str();
        if AMOUNT_CUES.contains(&lower) || MONEY_WORDS.contains(&lower) {
            return Some(Topic::Money);
        }
        if (is_number_word(word) || is_numbered(word)) && !next_has_digit(here.saturating_add(1)) {
            return Some(Topic::Number);
        }
        if word.starts_sentence {
            return None;
        }
        here = here.checked_sub(1)?;
    }
    None
}
