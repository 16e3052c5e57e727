//! Codes of doors, locks, safes and alarms in sentences: `Koden til nøkkelboksen er 2846`.
//!
//! A word for a code alone is about too many things, so the line must also name a thing that one opens or
//! disarms, and the digits must be linked to the words as a value is: by a sign, by a verb, or directly.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::code_things::THINGS;
use super::{grammar, lexicon};
use crate::redact::validators::{is_drawn_code, words};

/// How far before a word for a code and behind it a thing may be named, in bytes.
const BYTES_BEFORE: usize = 72;
const BYTES_BEHIND: usize = 112;
/// The most words between a word for a code and its digits.
const MAX_WORDS: usize = 8;
/// The longest ending of a word for a code, in characters: `kódja`, `koodin`.
const MAX_ENDING: usize = 4;

/// Words before a word for a code that say that it is no secret: `zip code`, `error code`.
const OTHER_CODES: &[&str] = words![
    "zip" "postal" "post" "area" "country" "error" "status" "exit" "return" "product" "promo" "discount" "coupon" "booking"
    "voucher" "source" "dial" "bar" "qr" "color" "colour" "item" "tax" "dress" "reason" "response" "cost" "building" "fault"
    "trouble" "approval" "auth" "authorization" "schul" "version" "product" "customer" "client" "key" "posta" "produit" "prodotto"
    "producto" "article" "artículo" "cliente" "towaru" "produktu" "klienta" "länder" "vorwahl" "filial" "branch" "school"
    "course" "batch" "serial" "equipment" "model" "job" "hersteller" "material" "steuer" "service" "event" "action" "map" "diagnostic" "tracking" "reference" "sort" "swift" "currency" "language" "airport" "station" "site" "store" "kunden" "bestell" "artikel" "farb" "fehler" "plus" "date" "capture"
];

/// Words behind digits that are a number of things.
const UNITS: &[&str] = words![
    "digits" "digit" "ziffern" "stellen" "stellig" "stellige" "chiffres" "cifre" "cifras" "dígitos" "cyfr" "цифр" "cijfers"
    "siffror" "sifre" "times" "days" "hours" "minutes" "min" "sec" "seconds" "mm" "cm" "km" "kg" "eur" "usd" "uhr" "items" "years"
    "pages" "lines" "characters" "zeichen" "people" "units"
    "keys" "rooms" "visitors" "guests" "models" "buttons" "entries" "tasten" "schlüssel" "räume" "gäste" "besucher" "personen"
    "personnes" "personas" "persone" "rows" "files" "bytes" "percent"
];

/// Words directly before digits that say that they are typed.
const TYPED: &[&str] = words![
    "enter" "dial" "press" "type" "use" "with" "then" "mit" "avec" "con" "med" "met" "number" "na" "com" "koodilla"
    "'s" "it's" "le" "il" "el" "die" "w/" "wants" "needs" "takes" "vuole" "veut" "quiere" "wil" "braucht" "will" "über" "per" "says" "sagt"];

static THING_MATCHER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(THINGS).ok());

/// The digits that the word for a code at a range announces.
pub(super) fn find(text: &str, label: Range<usize>, _end: usize) -> Option<Range<usize>> {
    let line = grammar::line_after(text, label.end, BYTES_BEHIND);
    let raw = text.get(label.clone())?;
    let before = grammar::line_before(text, label.start, BYTES_BEFORE);
    let last = before.chars().next_back().unwrap_or(' ');
    let is_short = raw.len() <= 3;
    if is_short && last.is_alphabetic() || "_$./\\".contains(last) {
        return None;
    }
    if is_of_other_word(before) {
        return None;
    }
    let ending = line.find(|c: char| !c.is_alphabetic()).unwrap_or(line.len());
    let is_ending = line.get(..ending)?.chars().count() <= MAX_ENDING
        && !["c", "d", "r", "x", "base", "ge"].contains(&line.get(..ending)?);
    if !is_ending || names_other(line.get(ending..)?) {
        return None;
    }
    let Some(found) = linked_digits(line, ending) else {
        let answer = answered_digits(text, label.end)?;
        let question = text.get(label.end..answer.start)?;
        // `Torcode` is one word.
        let before = format!("{before} ");
        return (names_thing(&before) || names_thing(question)).then_some(answer);
    };
    let behind = line.get(found.end..).unwrap_or_default();
    let is_of_thing = names_thing(before)
        || line.get(..found.start).is_some_and(names_thing)
        || names_thing(behind.split(['.', ';']).next().unwrap_or_default());
    is_of_thing.then(|| label.end + found.start..label.end + found.end)
}

/// The digits that a verb announces which opens or disarms, at the end of its clause. Otherwise they are a
/// number of things: `opens with 4471 rooms`.
pub(super) fn behind_verb(text: &str, label: Range<usize>, end: usize) -> Option<Range<usize>> {
    const PARTICLES: [&str; 16] = [
        "auf", "aus", "ab", "an", "and", "und", "et", "y", "e", "en", "i", "och", "og", "or",
        "for", "to",
    ];
    let found = find(text, label, end)?;
    let behind = grammar::line_after(text, found.end, BYTES_BEHIND);
    let word = behind.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let ends = !behind.starts_with(' ') || PARTICLES.contains(&word) || word.is_empty();
    ends.then_some(found)
}

/// True for a text that ends in a word which says that the code behind is no secret.
fn is_of_other_word(before: &str) -> bool {
    let other = before.trim_end().rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    OTHER_CODES.iter().any(|word| other.eq_ignore_ascii_case(word))
}

/// True for a label of a code that is no secret: `zip code`, `code postal`, `postcode`.
pub(in crate::redact) fn is_other_code(text: &str, label: &Range<usize>) -> bool {
    let before = grammar::line_before(text, label.start, BYTES_BEFORE);
    is_of_other_word(before) || names_other(grammar::line_after(text, label.end, BYTES_BEHIND))
}

/// True for a code that is said to be of an article, a customer or the like: `code du produit`.
fn names_other(line: &str) -> bool {
    const OTHERS: [&str; 24] = [
        "produit", "article", "artikel", "client", "cliente", "kunde", "kunden", "product",
        "customer", "order", "pays", "país", "paese", "land", "postal", "postale", "fiscal",
        "fiscale", "couleur", "erreur", "error", "projet", "project", "region",
    ];
    let words = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.take(3).any(|word| OTHERS.contains(&word.to_lowercase().as_str()))
}

/// The digits that somebody is told to type, in a line about what one opens: `tap 6041 and OK`.
pub(super) fn behind_typing(text: &str, label: Range<usize>, _end: usize) -> Option<Range<usize>> {
    let line = grammar::line_after(text, label.end, BYTES_BEHIND);
    let start = line.len() - line.trim_start().len();
    let code = start..start + code_len(line.get(start..)?)?;
    let before = grammar::line_before(text, label.start, BYTES_BEFORE);
    let behind = line.get(code.end..)?;
    let is_of_thing = names_thing(before) || names_thing(behind.split(['.', ';']).next()?);
    is_of_thing.then(|| label.end + code.start..label.end + code.end)
}

/// True for a text that names what one opens or disarms.
fn names_thing(part: &str) -> bool {
    THING_MATCHER.as_ref().is_some_and(|things| {
        things.is_match(part) || !part.is_ascii() && things.is_match(part.to_lowercase().as_str())
    })
}

/// The digits that follow on a lock or a box for keys, with a sign, a verb or nothing between: `Shed lock
/// 3827`, `cadenas : 4-0-9-1`.
pub(super) fn behind_lock(text: &str, label: Range<usize>, _end: usize) -> Option<Range<usize>> {
    let line = grammar::line_after(text, label.end, BYTES_BEHIND);
    let before = text.get(..label.start)?.chars().next_back().unwrap_or(' ');
    if "_$./\\".contains(before) {
        return None;
    }
    let ending = line.find(|c: char| !c.is_alphabetic()).unwrap_or(line.len());
    let found = linked_digits(line, ending)?;
    let behind = line.get(found.end..).unwrap_or_default();
    let word = behind.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    // A number of things, or of a house.
    let is_counted = behind.starts_with(' ') && word.len() > 3 && !behind.starts_with(" (");
    let is_direct = line.get(ending..found.start)?.trim().is_empty();
    (!(is_counted && is_direct)).then(|| label.end + found.start..label.end + found.end)
}

/// The digits with which somebody answers: behind a question mark, perhaps behind a dash, or at the start of
/// the next turn of a chat.
fn answered_digits(text: &str, from: usize) -> Option<Range<usize>> {
    const MAX_QUESTION: usize = 120;
    const MAX_ANSWER: usize = 96;
    let line = grammar::line_after(text, from, MAX_QUESTION);
    let asked = ["pls", "please", "bitte", "svp", "por favor", "per favore", "needed"];
    let request = || asked.iter().find_map(|word| line.rfind(word).map(|at| at + word.len()));
    let mark = line.rfind('?').or_else(request)?;
    let rest = text.get(from + mark..)?;
    let rest = rest.trim_start_matches(['?', '!', ' ', '.', '"', '”', '»']);
    let start = text.len() - rest.len();
    let same = grammar::line_after(text, start, MAX_ANSWER);
    if let Some(code) = code_among_first(same) {
        return Some(start + code.start..start + code.end);
    }
    let next = start + same.len();
    let below = text.get(next..)?.trim_start_matches(['\r', '\n']);
    let below_start = text.len() - below.len();
    if below_start > next + 4 || below_start == next {
        return None;
    }
    let below = grammar::line_after(text, below_start, MAX_ANSWER);
    // The name of who answers, and when.
    let turn = below.find([':', '>']).map_or(0, |at| at + 1);
    let turn = match below.get(turn..)?.find("] ") {
        Some(time) if time < 24 && turn < 6 => {
            below.get(turn + time..)?.find(": ")? + turn + time + 1
        }
        _ => turn,
    };
    let code = code_among_first(below.get(turn..)?)?;
    Some(below_start + turn + code.start..below_start + turn + code.end)
}

/// The code that is one of the first words, or stands behind a dash.
fn code_among_first(text: &str) -> Option<Range<usize>> {
    const MAX_LEAD: usize = 3;
    let dash =
        [" — ", " – ", " → ", " -> "].iter().find_map(|dash| Some(text.find(dash)? + dash.len()));
    let mut at = 0;
    for _ in 0..=MAX_LEAD {
        let rest = text.get(at..)?;
        let start = at + rest.len()
            - rest.trim_start_matches([' ', '–', '—', '→', '-', '>', '"', '\'', '*', '`']).len();
        if let Some(len) = code_len(text.get(start..)?) {
            return Some(start..start + len);
        }
        at = start + text.get(start..)?.find(' ')?;
    }
    let at = dash?;
    code_len(text.get(at..)?).map(|len| at..at + len)
}

/// Digits in a line behind a word for a code, and what links them with it.
fn linked_digits(line: &str, from: usize) -> Option<Range<usize>> {
    let mut at = from;
    let (mut previous, mut has_change) = ("", false);
    for number in 0..=MAX_WORDS {
        let rest = line.get(at..)?;
        let blank = rest.len() - rest.trim_start().len();
        let start = at + blank;
        let word_len = line.get(start..)?.find(char::is_whitespace).unwrap_or(line.len() - start);
        let word = line.get(start..start + word_len)?;
        let lead = word.len() - word.trim_start_matches(['"', '\'', '`', '*', ':', '(', '=']).len();
        let value = start + lead;
        let is_linked = number == 0
            || lead > 0 && word.starts_with([':', '=', '('])
            || is_link(previous, has_change)
            || THING_MATCHER.as_ref().is_some_and(|things| things.is_match(previous));
        if is_linked && let Some(len) = code_len(line.get(value..)?) {
            return Some(value..value + len);
        }
        let bare = word.trim_end_matches(['.', '!', '?', ';']);
        if bare.len() < word.len() || word.is_empty() {
            return None;
        }
        has_change |= lexicon::is_change(&word.to_lowercase());
        (previous, at) = (word, start + word_len);
    }
    None
}

/// True for a word that leads to a value: a sign, a verb, `to` behind a change, `press`.
fn is_link(word: &str, has_change: bool) -> bool {
    let lower = word.to_lowercase();
    let lower = lower.as_str();
    word.ends_with([':', '=', '→', '–', '—'])
        || word == "-"
        || lexicon::VERBS.contains(&lower)
        || lexicon::ADVERBS.contains(&lower)
        || TYPED.contains(&lower)
        || has_change && lexicon::PREPOSITIONS.contains(&lower)
}

/// The length of a code at the start of a text: `4471`, `#4471*`, `58K2204`, `0 4 7 7`, `44-09-71`.
fn code_len(text: &str) -> Option<usize> {
    let is_mark = |c: char| c == '#' || c == '*';
    let mark =
        text.chars().next().filter(|c| is_mark(*c) || c.is_uppercase()).map_or(0, char::len_utf8);
    let body = text.get(mark..)?;
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let mut len = mark + digits;
    let next = text.get(len..)?.chars().next().unwrap_or(' ');
    let mut is_code = (4..=8).contains(&digits);
    if next == '-' || next == ' ' && digits <= 2 {
        let groups = groups_len(body, next)?;
        (len, is_code) = (mark + groups, groups > digits);
        // `5-0-3-8-E`
        let suffix = text.get(len..)?.strip_prefix(next).unwrap_or_default();
        let letter = suffix.chars().next().filter(char::is_ascii_uppercase);
        let is_alone = suffix.chars().nth(1).is_none_or(|c| !c.is_alphanumeric());
        len += usize::from(letter.is_some() && is_alone && next == '-') * 2;
    } else if is_mark(next) {
        // `41#7718`
        let behind = text.get(len + 1..)?;
        let more = behind.bytes().take_while(u8::is_ascii_digit).count();
        if more > 0 {
            (len, is_code) = (len + 1 + more, (4..=8).contains(&(digits + more)));
        }
    } else if next.is_uppercase() {
        let behind = text.get(len + next.len_utf8()..)?;
        let more = behind.bytes().take_while(u8::is_ascii_digit).count();
        let is_last = more == 0 && (4..=8).contains(&digits);
        len += next.len_utf8() + more;
        is_code = is_last || (1..=4).contains(&digits) && (2..=5).contains(&more);
    }
    len += text.get(len..)?.chars().take_while(|c| is_mark(*c)).take(1).count();
    let code = text.get(..len)?;
    // `#4471` is a number of a ticket.
    is_code &= !code.starts_with('#') || code.ends_with(is_mark);
    let rest = text.get(len..)?;
    let unit = rest.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_measured = UNITS.contains(&unit.to_lowercase().as_str());
    let mut after = rest.chars();
    let ends = match after.next() {
        None => true,
        Some('.' | ',' | ':') => !after.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => c.is_whitespace() || ";!?)\"'`*<|，。、".contains(c) || c > '\u{2e80}',
    };
    // `19B74` is no year.
    let is_drawn = code.contains(char::is_alphabetic) || is_drawn_code(code);
    (is_code && ends && !is_measured && is_drawn).then_some(len)
}

/// The length of three to six groups of one or two digits; with blanks between, of equal length.
fn groups_len(text: &str, sign: char) -> Option<usize> {
    let (mut len, mut count, mut first) = (0, 0, 0);
    loop {
        let digits = text.get(len..)?.bytes().take_while(u8::is_ascii_digit).count();
        let is_equal = count == 0 || sign == '-' || digits == first;
        if !(1..=2).contains(&digits) || !is_equal {
            // The sign before belongs to what follows.
            len = len.saturating_sub(1);
            break;
        }
        (count, first) = (count + 1, if count == 0 { digits } else { first });
        len += digits;
        if count == 6 || !text.get(len..)?.starts_with(sign) {
            break;
        }
        len += 1;
    }
    (count >= 3).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<'t>(label: &str, text: &'t str) -> Option<&'t str> {
        let at = text.find(label).unwrap();
        find(text, at..at + label.len(), text.len()).and_then(|found| text.get(found))
    }

    #[test]
    fn a_code_has_a_thing_and_a_link() {
        for (label, text, found) in [
            ("code", "Poortcode tot 1 januari: #4471*", Some("#4471*")),
            ("Kod", "Koden til nøkkelboksen er 2846, og", Some("2846")),
            ("combinac", "La combinación del candado es 6-1-8 (no)", Some("6-1-8")),
            ("код", "код домофона 58К2204", Some("58К2204")),
            ("PIN", "Voicemail PIN reset to 90418. Dial", Some("90418")),
            ("PIN", "Der PIN vom Tresor ist jetzt 48 15 62, bitte", Some("48 15 62")),
            ("code", "Le code du portail est 19B74, la", Some("19B74")),
            ("Code", "Code for the bike shed is 4192, please", Some("4192")),
            ("code", "locker 12, code 6630", Some("6630")),
            ("PIN", "PIN changed to 5528 on the alarm panel", Some("5528")),
            ("code", "the gate code expires in 4471 days", None),
            ("code", "the gate code has 4471 digits", None),
            ("code", "garage zip code 44710", None),
            ("code", "the code is 4471", None),
            ("code", "the gate code is at #4471", None),
            ("code", "the gate code is 2026", None),
            ("code", "the gate codec is 4471", None),
            ("code", "gate error code is 4471", None),
            ("code", "gate_code is 4471", None),
            ("code", "the gate code. Call 4471", None),
            ("pin", "gate mapping is 4471", None),
        ] {
            assert_eq!(code(label, text), found, "{text}");
        }
    }

    #[test]
    fn a_code_is_digits_with_few_other_signs() {
        for (text, len) in [
            ("4471", Some(4)),
            ("4471#", Some(5)),
            ("#4471*", Some(6)),
            ("A4471", Some(5)),
            ("4471B.", Some(5)),
            ("19B74", Some(5)),
            ("0 4 7 7.", Some(7)),
            ("48 15 62, x", Some(8)),
            ("44-09-71 (x)", Some(8)),
            ("447", None),
            ("447118204", None),
            ("#4471", None),
            ("4471ms", None),
            ("4471.5", None),
            ("4471 days", None),
            ("48 15", None),
            ("4-1", None),
            ("1234", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(code_len(text), len, "{text}");
        }
    }
}
