//! Filters: a conjunction of terms.

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_types::Timestamp;
use weaver_types::digest::{Digest, DomainTag};

use super::error::{QueryError, escaped_excerpt};
use super::facts::EventFacts;
use super::field::FilterField;
use super::words;

/// The most terms in a filter.
const MAX_TERMS: usize = 64;
/// The longest term, in bytes.
const MAX_TERM_BYTES: usize = 1024;
const SPAN_UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];

/// Which events a query selects: all terms must match.
///
/// A term is `field:value`, or a word that must occur in the payload's texts. `a,b` means either
/// value; a trailing `*` matches any suffix. `since:` (inclusive) and `until:` (exclusive) take an
/// RFC 3339 time, a day, or a span before now such as `2h`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    fields: Vec<(FilterField, Vec<ValuePattern>)>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// A value to compare with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ValuePattern {
    pub(crate) text: String,
    /// True for a prefix match.
    pub(crate) prefix: bool,
}

impl ValuePattern {
    pub(super) fn read(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(text) => Self { text: text.to_owned(), prefix: true },
            None => Self { text: text.to_owned(), prefix: false },
        }
    }

    pub(super) fn matches(&self, value: &str) -> bool {
        if self.prefix { value.starts_with(&self.text) } else { value == self.text }
    }
}

impl EventFilter {
    /// Parses terms. White space separates terms, unless it is in quotation marks.
    ///
    /// # Errors
    /// [`QueryError`], for an unknown field, a value that the field never has, or too many terms.
    pub fn parse<T: AsRef<str>>(
        terms: impl IntoIterator<Item = T>,
        now: Timestamp,
    ) -> Result<Self, QueryError> {
        let mut filter = Self::default();
        for text in terms {
            for (term, quoted) in split_terms(text.as_ref())? {
                filter.check_size(&term)?;
                match term.split_once(':').filter(|_| !quoted) {
                    Some((name, value)) => filter.add_field(name, value, now)?,
                    None => filter.add_text(&term)?,
                };
            }
        }
        // Sorted, so that the order of writing does not matter. Words, the most expensive terms,
        // come last.
        filter.fields.sort();
        Ok(filter)
    }

    /// Adds a field that must have exactly this value.
    #[must_use]
    pub fn with(mut self, field: FilterField, value: &str) -> Self {
        self.fields.push((field, vec![ValuePattern { text: value.to_owned(), prefix: false }]));
        self
    }

    /// Restricts the time: from `since` (inclusive) to `until` (exclusive).
    #[must_use]
    pub fn within(mut self, since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        (self.since, self.until) = (since.max(self.since), until.or(self.until));
        self
    }

    /// The inclusive lower bound of the time.
    #[must_use]
    pub fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// The exclusive upper bound of the time.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// True when it restricts more than the time, so that an index helps.
    #[must_use]
    pub fn has_field_terms(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The value that a field must have, if there is exactly one.
    #[must_use]
    pub fn single_value(&self, field: FilterField) -> Option<&str> {
        let mut of = self.fields.iter().filter(|(asked, _)| *asked == field);
        match of.next()?.1.as_slice() {
            [ValuePattern { text, prefix: false }] => Some(text),
            _ => None,
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn fields(&self) -> &[(FilterField, Vec<ValuePattern>)] {
        &self.fields
    }

    /// Whether an event matches. An event whose header cannot be read matches only the empty
    /// filter.
    #[must_use]
    pub fn matches(&self, facts: &EventFacts) -> bool {
        if *self == Self::default() {
            return true;
        }
        let Some(at) = facts.at() else { return false };
        self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
            && self.fields.iter().all(|(field, patterns)| {
                let values = facts.values(*field);
                patterns.iter().any(|pattern| values.iter().any(|value| pattern.matches(value)))
            })
    }

    /// A digest that distinguishes filters, for cursors. It does not cover the time bounds.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(DomainTag::COMMIT, format!("{:?}", self.fields).as_bytes())
    }

    fn check_size(&self, term: &str) -> Result<(), QueryError> {
        if self.fields.len() >= MAX_TERMS {
            return Err(QueryError::TooLarge("it has more than 64 terms"));
        }
        if term.len() > MAX_TERM_BYTES {
            return Err(QueryError::TooLarge("a term has more than 1024 bytes"));
        }
        Ok(())
    }

    fn add_field(&mut self, name: &str, value: &str, now: Timestamp) -> Result<(), QueryError> {
        match name {
            "since" => {
                let since = parse_time("since", value, now)?;
                self.since = Some(self.since.map_or(since, |known| known.max(since)));
                Ok(())
            }
            "until" => {
                let until = parse_time("until", value, now)?;
                self.until = Some(self.until.map_or(until, |known| known.min(until)));
                Ok(())
            }
            "text" => self.add_text(value),
            _ => {
                let field = FilterField::parse(name).ok_or_else(|| unknown_field(name))?;
                let patterns: Vec<ValuePattern> =
                    value.split(',').map(ValuePattern::read).collect();
                patterns.iter().try_for_each(|p| field.check(p))?;
                self.fields.push((field, patterns));
                Ok(())
            }
        }
    }

    /// Requires every word of a text; a trailing `*` makes the last one a prefix.
    fn add_text(&mut self, text: &str) -> Result<(), QueryError> {
        let prefix = text.ends_with('*');
        let words: Vec<String> =
            words::words_of_text(text).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            let expected = "it looks for words of letters and digits".to_owned();
            return Err(QueryError::Value {
                field: "text",
                value: escaped_excerpt(text),
                expected,
            });
        }
        let last = words.len() - 1;
        for (at, text) in words.into_iter().enumerate() {
            self.fields.push((
                FilterField::Text,
                vec![ValuePattern { text, prefix: prefix && at == last }],
            ));
        }
        Ok(())
    }
}

/// Splits a text into terms, each with a flag for a fully quoted one. Quotation marks inside a term
/// are removed: `text:"a b"` is one term.
fn split_terms(text: &str) -> Result<Vec<(String, bool)>, QueryError> {
    let mut terms = Vec::new();
    let (mut term, mut open, mut quoted, mut any) = (String::new(), false, false, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted |= !any;
                (open, any) = (!open, true);
            }
            c if c.is_whitespace() && !open => {
                if any {
                    terms.push((std::mem::take(&mut term), quoted));
                }
                (any, quoted) = (false, false);
            }
            c => {
                term.push(c);
                any = true;
            }
        }
    }
    if open {
        return Err(QueryError::Quote);
    }
    if any {
        terms.push((term, quoted));
    }
    Ok(terms)
}

fn unknown_field(name: &str) -> QueryError {
    let names: BTreeSet<&str> = FilterField::ALL.iter().map(|field| field.as_str()).collect();
    let known: Vec<&str> = names.into_iter().chain(["since", "until"]).collect();
    QueryError::Field { field: escaped_excerpt(name), known: known.join(", ") }
}

/// Parses a time, a day, or a span before now.
fn parse_time(field: &'static str, text: &str, now: Timestamp) -> Result<Timestamp, QueryError> {
    let day = || Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
    Timestamp::parse_rfc3339(text).or_else(day).or_else(|| parse_span_before(text, now)).ok_or_else(
        || {
            let expected =
                "write RFC 3339, a day such as 2027-01-31, or a span such as 2h".to_owned();
            QueryError::Value { field, value: escaped_excerpt(text), expected }
        },
    )
}

fn parse_span_before(text: &str, now: Timestamp) -> Option<Timestamp> {
    let unit = text.chars().next_back()?;
    let (_, seconds) = SPAN_UNITS.iter().find(|(name, _)| *name == unit)?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let span = Duration::from_secs(number.checked_mul(*seconds)?);
    let micros = i64::try_from(span.as_micros()).ok()?;
    Some(Timestamp::from_micros(now.micros().saturating_sub(micros)))
}
