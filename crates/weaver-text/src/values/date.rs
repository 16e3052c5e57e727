//! Parses days in several notations.

use super::word::Word;
use super::{ValueClass, ValueToken};

const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];

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
    let clock = |c: char| {
        c.is_ascii_digit() || matches!(c, 'T' | 't' | 'Z' | 'z' | ':' | '.' | '+' | '-' | ' ')
    };
    let mut numbers = date.split(['-', '/']);
    let (year, month, day) = (numbers.next()?, numbers.next()?, numbers.next()?);
    if year.len() != 4 || numbers.next().is_some() || !rest.chars().all(clock) {
        return None;
    }
    Day::of(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
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
    for at in 0..words.len() {
        out.extend(day_at(words, at).map(|(day, _)| ValueToken::new(ValueClass::Day, day.key())));
    }
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
    let second = low(at.checked_add(1)?)?;
    let year =
        |at: usize| low(at).filter(|text| text.len() == 4).and_then(|text| text.parse().ok());
    let (month, day, length) = match (month(first), ordinal(first)) {
        (Some(month), _) => (month, ordinal(second)?, 2),
        (None, Some(day)) if second == "of" => (self::month(low(at.checked_add(2)?)?)?, day, 3),
        (None, Some(day)) => (self::month(second)?, day, 2),
        (None, None) => return None,
    };
    let after = year(at.checked_add(length)?).filter(|year| (1900..2200).contains(year));
    let day = Day::of(after.unwrap_or(0), month, day)?;
    Some((day, if after.is_some() { length.saturating_add(1) } else { length }))
}

fn month(word: &str) -> Option<u32> {
    let found = MONTHS.iter().position(|month| {
        *month == word || word.len() >= 3 && word.len() <= 4 && month.starts_with(word)
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
