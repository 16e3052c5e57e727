//! Parses days in several notations.

use super::word::Word;
use super::{ValueClass, ValueToken};

/// The months, first in English, then in German, Spanish, French, Italian, Portuguese and Dutch.
const MONTHS: [&str; 12] = [
    "january januar jänner enero janvier gennaio janeiro januari",
    "february februar febrero février febbraio fevereiro februari",
    "march märz marzo mars março maart mär",
    "april abril avril aprile abr",
    "may mai mayo maggio maio mei",
    "june juni junio juin giugno junho",
    "july juli julio juillet luglio julho",
    "august agosto août augustus",
    "september septiembre septembre settembre setembro",
    "october oktober octubre octobre ottobre outubro okt",
    "november noviembre novembre novembro",
    "december dezember diciembre décembre dicembre dezembro dez",
];
/// Words between a day and its month, or a month and its year.
const OF: [&str; 3] = ["of", "de", "del"];
/// Words between the two days of a range.
const RANGE: [&str; 9] = ["to", "and", "until", "till", "bis", "und", "al", "a", "y"];

/// A day; the year is 0 if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    year: u32,
    month: u32,
    day: u32,
}

impl Day {
    fn of(year: u32, month: u32, day: u32) -> Option<Self> {
        let sound = (1..=12).contains(&month) && (1..=31).contains(&day) && year <= 9999;
        sound.then_some(Self { year, month, day })
    }

    /// Its canonical forms: with the year, if known, and without.
    #[must_use]
    pub fn keys(self) -> Vec<String> {
        let short = format!("{:02}-{:02}", self.month, self.day);
        if self.year == 0 { vec![short] } else { vec![self.key(), short] }
    }

    fn key(self) -> String {
        let Self { year, month, day } = self;
        if year == 0 {
            format!("{month:02}-{day:02}")
        } else {
            format!("{year:04}-{month:02}-{day:02}")
        }
    }
}

/// Parses the day of a date or timestamp: `2024-05-15`, `2024-05-15 10:00`, `2024-05-15T10:00:00Z`.
/// `None` for a time of day.
#[must_use]
pub fn day(text: &str) -> Option<Day> {
    let text = text.trim();
    let (date, rest) = text.split_at_checked(10).unwrap_or((text, ""));
    let mut numbers = date.split(['-', '/']);
    let (year, month, day) = (numbers.next()?, numbers.next()?, numbers.next()?);
    if year.len() != 4 || numbers.next().is_some() || !rest.is_empty() && !is_clock(rest) {
        return None;
    }
    Day::of(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
}

/// Whether a text is what a timestamp has after its day: `T10:00:00.5+02:00`, ` 10:00`.
fn is_clock(text: &str) -> bool {
    let two = |part: &str, end: u8| {
        part.len() == 2 && is_digits(part) && part.parse::<u8>().is_ok_and(|number| number < end)
    };
    let hours = |text: &str| match text.split_once(':') {
        Some((hours, minutes)) => two(hours, 25) && two(minutes, 60),
        None => two(text, 25) || text.len() == 4 && is_digits(text),
    };
    let Some(text) = text.strip_prefix(['T', 't', ' ']) else { return false };
    let (time, zone) = text
        .split_at_checked(text.find(['Z', 'z', '+', '-']).unwrap_or(text.len()))
        .unwrap_or((text, ""));
    let zoned = match zone.strip_prefix(['+', '-']) {
        Some(offset) => hours(offset),
        None => matches!(zone, "" | "Z" | "z"),
    };
    let (whole, part) = time.trim_end().split_once('.').unwrap_or((time.trim_end(), "0"));
    let mut parts = whole.split(':');
    let sound = parts.next().is_some_and(|hours| two(hours, 25))
        && parts.next().is_some_and(|minutes| two(minutes, 60))
        && parts.next().is_none_or(|seconds| two(seconds, 61))
        && parts.next().is_none();
    zoned && sound && part.len() <= 9 && !part.is_empty() && is_digits(part)
}

/// Whether a text is a day and no time of it: `2024-05-15`.
#[must_use]
pub fn is_plain_day(text: &str) -> bool {
    text.trim().len() == 10 && day(text).is_some()
}

/// The readings of a day in figures: `14.12.2026` is one, `3/4/2026` can be two.
fn days_in_figures(text: &str) -> Vec<Day> {
    let parts: Vec<&str> = text.split(['.', '/']).collect();
    let [first, second, year] = parts.as_slice() else { return Vec::new() };
    let short = |part: &&str| (1..=2).contains(&part.len()) && is_digits(part);
    if !short(first) || !short(second) || year.len() != 4 || !is_digits(year) {
        return Vec::new();
    }
    let number = |part: &str| part.parse().unwrap_or(0);
    let (first, second, year) = (number(first), number(second), number(year));
    let orders = [Day::of(year, second, first), Day::of(year, first, second)];
    let orders = orders.into_iter().take(if text.contains('/') { 2 } else { 1 });
    orders.flatten().collect()
}

/// Whether a text is a time of day: `10:00`, `10:00:30`.
#[must_use]
pub fn is_time(text: &str) -> bool {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let two = |part: &&str| (1..=2).contains(&part.len()) && is_digits(part);
    (2..=3).contains(&parts.len()) && parts.iter().all(two)
}

/// Appends the days in words.
pub(super) fn push_days(words: &[Word<'_>], out: &mut Vec<ValueToken>) {
    for (at, word) in words.iter().enumerate() {
        let mut found = days_in_figures(&word.lower);
        if let Some((day, _)) = day_at(words, at) {
            found.extend(range_start(words, at, day));
            found.push(day);
        }
        out.extend(found.into_iter().map(|day| ValueToken::new(ValueClass::Day, day.key())));
    }
}

/// The first day of a range whose last day is at `at`: `12 to 14 December`, `12-14 December`.
fn range_start(words: &[Word<'_>], at: usize, last: Day) -> Option<Day> {
    let low = |at: usize| words.get(at).map(|word| word.lower.as_str());
    let first = match low(at)?.split_once(['-', '–']) {
        Some((first, _)) => first,
        None => {
            low(at.checked_sub(1)?).filter(|word| RANGE.contains(word))?;
            low(at.checked_sub(2)?)?
        }
    };
    Day::of(last.year, last.month, ordinal(first)?)
}

/// Whether the word at `at` is part of a day.
pub(super) fn is_part(words: &[Word<'_>], at: usize) -> bool {
    let from = at.saturating_sub(2);
    (from..=at).any(|start| {
        day_at(words, start).is_some_and(|(_, length)| at < start.saturating_add(length))
    }) || words
        .get(at)
        .is_some_and(|word| ordinal(&word.lower).is_some_and(|_| !is_digits(&word.lower)))
}

/// The day that starts at `at`, and its number of words.
fn day_at(words: &[Word<'_>], at: usize) -> Option<(Day, usize)> {
    let low = |at: usize| words.get(at).map(|word| word.lower.as_str());
    let first = low(at)?;
    if let Some(day) = day(first) {
        return Some((day, 1));
    }
    if let [day, ..] = days_in_figures(first).as_slice() {
        return Some((*day, 1));
    }
    let second = low(at.checked_add(1)?)?;
    // The last day of `12-14`.
    let first = match first.split_once(['-', '–']) {
        Some((start, end)) if ordinal(start).is_some() => end,
        _ => first,
    };
    let year =
        |at: usize| low(at).filter(|text| text.len() == 4).and_then(|text| text.parse().ok());
    let (month, day, length) = match (month(first), ordinal(first)) {
        (Some(month), _) => (month, ordinal(second)?, 2),
        (None, Some(day)) if OF.contains(&second) => {
            (self::month(low(at.checked_add(2)?)?)?, day, 3)
        }
        (None, Some(day)) => (self::month(second)?, day, 2),
        (None, None) => return None,
    };
    let year_at = at.checked_add(length)?;
    let linked = low(year_at).is_some_and(|word| OF.contains(&word));
    let year_at = if linked { year_at.checked_add(1)? } else { year_at };
    let after = year(year_at).filter(|year| (1900..2200).contains(year));
    let day = Day::of(after.unwrap_or(0), month, day)?;
    let end = if after.is_some() { year_at.checked_add(1)? } else { at.checked_add(length)? };
    Some((day, end.saturating_sub(at)))
}

fn month(word: &str) -> Option<u32> {
    let found = MONTHS.iter().position(|months| {
        months.split(' ').any(|month| month == word)
            || word.len() >= 3 && word.len() <= 4 && months.starts_with(word)
    })?;
    u32::try_from(found).ok().map(|month| month.saturating_add(1))
}

/// Parses `15` or `15th`.
fn ordinal(word: &str) -> Option<u32> {
    let ends = ["st", "nd", "rd", "th"];
    let digits = ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let short = !digits.is_empty() && digits.len() <= 2;
    (short && is_digits(digits)).then(|| digits.parse().ok()).flatten()
}

fn is_digits(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}
