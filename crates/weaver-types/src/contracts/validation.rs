//! The checks that the schemas require beyond types.

use serde::{Deserialize, Deserializer};

use super::{Contract, ContractError, Nullable, Rule};

/// The most items of a choice card.
pub(super) const MAX_ITEMS: usize = 20;

pub(super) fn rule_violation<C: Contract>(field: &str, rule: Rule) -> ContractError {
    ContractError::Broken { contract: C::TITLE, place: format!("/{field}"), rule }
}

/// Fails for the first field that is an empty string.
pub(super) fn non_empty<C: Contract>(fields: &[(&str, &str)]) -> Result<(), ContractError> {
    match fields.iter().find(|(_, text)| text.is_empty()) {
        Some((field, _)) => Err(rule_violation::<C>(field, Rule::NonEmpty)),
        None => Ok(()),
    }
}

/// Fails for the first empty string of a list.
pub(super) fn non_empty_items<C: Contract>(
    field: &str,
    items: &[String],
) -> Result<(), ContractError> {
    match items.iter().position(String::is_empty) {
        Some(index) => Err(rule_violation::<C>(&format!("{field}/{index}"), Rule::NonEmpty)),
        None => Ok(()),
    }
}

pub(super) fn date_time<C: Contract>(field: &str, text: &str) -> Result<(), ContractError> {
    if is_date_time(text) { Ok(()) } else { Err(rule_violation::<C>(field, Rule::DateTime)) }
}

pub(super) fn optional_date_time<C: Contract>(
    field: &str,
    text: &Nullable<String>,
) -> Result<(), ContractError> {
    text.value().map_or(Ok(()), |text| date_time::<C>(field, text))
}

/// Deserialises an optional field that may be absent but not `null`.
pub(super) fn reject_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// RFC 3339 section 5.6, with the days of each month and leap seconds.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    is_date(date) && is_time(time)
}

fn is_date(date: &str) -> bool {
    let mut parts = date.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (digits(parts.next(), 4), digits(parts.next(), 2), digits(parts.next(), 2), parts.next())
    else {
        return false;
    };
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(time: &str) -> bool {
    let clock = match time.strip_suffix(['Z', 'z']) {
        Some(clock) => clock,
        None => match time.rsplit_once(['+', '-']) {
            Some((clock, offset)) if is_clock(offset, Precision::Minutes) => clock,
            _ => return false,
        },
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && is_clock(clock, Precision::Seconds)
}

/// Whether a time of day includes seconds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precision {
    Minutes,
    Seconds,
}

/// `HH:MM`, or `HH:MM:SS`.
fn is_clock(text: &str, precision: Precision) -> bool {
    let mut parts = text.split(':');
    let (Some(hour), Some(minute)) = (digits(parts.next(), 2), digits(parts.next(), 2)) else {
        return false;
    };
    let second = match precision {
        Precision::Minutes => Some(0),
        Precision::Seconds => digits(parts.next(), 2),
    };
    hour < 24 && minute < 60 && second.is_some_and(|s| s <= 60) && parts.next().is_none()
}

fn digits(part: Option<&str>, count: usize) -> Option<u32> {
    part.filter(|p| p.len() == count && p.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_are_those_of_rfc_3339() {
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02t03:04:05.000006z",
            "2024-02-29T23:59:60+00:00",
            "2000-02-29T00:00:00-23:59",
        ] {
            assert!(is_date_time(text), "{text}");
        }
        for text in [
            "",
            "2026-01-02",
            "2026-01-02 03:04:05Z",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04Z",
            "2026-1-02T03:04:05Z",
            "2026-02-29T03:04:05Z",
            "1900-02-29T03:04:05Z",
            "2026-13-01T03:04:05Z",
            "2026-00-01T03:04:05Z",
            "2026-01-00T03:04:05Z",
            "2026-01-02T24:04:05Z",
            "2026-01-02T03:60:05Z",
            "2026-01-02T03:04:61Z",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05.1xZ",
            "2026-01-02T03:04:05+0100",
            "2026-01-02T03:04:05+24:00",
            "2026-01-02T03:04:05Z ",
            "２026-01-02T03:04:05Z",
        ] {
            assert!(!is_date_time(text), "{text}");
        }
    }
}
