//! Filters: terms joined by and.

use std::collections::BTreeSet;
use std::time::Duration;

use weaver_types::Timestamp;
use weaver_types::digest::{Digest, Tag};

use super::error::{QueryError, shown};
use super::facts::Facts;
use super::field::Field;
use super::words;

/// The most terms in a filter.
const MAX_TERMS: usize = 64;
/// The longest term, in bytes.
const MAX_TERM: usize = 1024;
const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];

/// Which events are wanted: terms that all hold.
///
/// A term is `field:value`, or a word that must stand in the payload's texts. `a,b` is one value
/// or the other; a `*` at the end stands for anything. `since:` and `until:` take a time in
/// RFC 3339, a day, or a span before now such as `2h`: from the first on, and before the second.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    fields: Vec<(Field, Vec<Pattern>)>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// A value that is looked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// Anything may follow.
    pub(crate) prefix: bool,
}

impl Pattern {
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

impl Filter {
    /// Reads terms. A term with blanks is several, unless they stand in quotation marks.
    ///
    /// # Errors
    /// [`QueryError`], for an unknown field, a value that the field never has, or too many terms.
    pub fn parse<T: AsRef<str>>(
        terms: impl IntoIterator<Item = T>,
        now: Timestamp,
    ) -> Result<Self, QueryError> {
        let mut filter = Self::default();
        for text in terms {
            for (term, quoted) in split(text.as_ref())? {
                filter.check_size(&term)?;
                match term.split_once(':').filter(|_| !quoted) {
                    Some((name, value)) => filter.add_field(name, value, now)?,
                    None => filter.add_text(&term)?,
                };
            }
        }
        // In one order, so that it does not matter in which they were written; words, which cost the
        // most to look for, stand last.
        filter.fields.sort();
        Ok(filter)
    }

    /// The same with one more field that must have exactly this value.
    #[must_use]
    pub fn with(mut self, field: Field, value: &str) -> Self {
        self.fields.push((field, vec![Pattern { text: value.to_owned(), prefix: false }]));
        self
    }

    /// The same within a time: from `since` on, before `until`.
    #[must_use]
    pub fn within(mut self, since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        (self.since, self.until) = (since.max(self.since), until.or(self.until));
        self
    }

    /// From when on.
    #[must_use]
    pub fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Until before when.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// True when it asks about more than the time, so that an index helps.
    #[must_use]
    pub fn names_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The one value that a field must have, if it asks for exactly one.
    #[must_use]
    pub fn only(&self, field: Field) -> Option<&str> {
        let mut of = self.fields.iter().filter(|(asked, _)| *asked == field);
        match of.next()?.1.as_slice() {
            [Pattern { text, prefix: false }] => Some(text),
            _ => None,
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn fields(&self) -> &[(Field, Vec<Pattern>)] {
        &self.fields
    }

    /// Whether an event is wanted. One whose header cannot be read is wanted by nothing but the
    /// empty filter.
    #[must_use]
    pub fn matches(&self, facts: &Facts) -> bool {
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

    /// Tells two filters apart, for cursors. Times are left out of it.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(Tag::COMMIT, format!("{:?}", self.fields).as_bytes())
    }

    fn check_size(&self, term: &str) -> Result<(), QueryError> {
        if self.fields.len() >= MAX_TERMS {
            return Err(QueryError::TooLarge("it has more than 64 terms"));
        }
        if term.len() > MAX_TERM {
            return Err(QueryError::TooLarge("a term has more than 1024 bytes"));
        }
        Ok(())
    }

    fn add_field(&mut self, name: &str, value: &str, now: Timestamp) -> Result<(), QueryError> {
        match name {
            "since" => {
                let since = time("since", value, now)?;
                self.since = Some(self.since.map_or(since, |known| known.max(since)));
                Ok(())
            }
            "until" => {
                let until = time("until", value, now)?;
                self.until = Some(self.until.map_or(until, |known| known.min(until)));
                Ok(())
            }
            "text" => self.add_text(value),
            _ => {
                let field = Field::parse(name).ok_or_else(|| unknown(name))?;
                let patterns: Vec<Pattern> = value.split(',').map(Pattern::read).collect();
                patterns.iter().try_for_each(|p| field.check(p))?;
                self.fields.push((field, patterns));
                Ok(())
            }
        }
    }

    /// Every word of a text must be there; a `*` at its end stands for the rest of the last.
    fn add_text(&mut self, text: &str) -> Result<(), QueryError> {
        let prefix = text.ends_with('*');
        let words: Vec<String> = words::of_text(text).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            let expected = "it looks for words of letters and digits".to_owned();
            return Err(QueryError::Value { field: "text", value: shown(text), expected });
        }
        let last = words.len() - 1;
        for (at, text) in words.into_iter().enumerate() {
            self.fields.push((Field::Text, vec![Pattern { text, prefix: prefix && at == last }]));
        }
        Ok(())
    }
}

/// The terms of a text, with whether the whole of one was quoted. Marks inside a term are taken
/// away: `text:"a b"` is one term.
fn split(text: &str) -> Result<Vec<(String, bool)>, QueryError> {
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

fn unknown(name: &str) -> QueryError {
    let names: BTreeSet<&str> = Field::ALL.iter().map(|field| field.as_str()).collect();
    let known: Vec<&str> = names.into_iter().chain(["since", "until"]).collect();
    QueryError::Field { field: shown(name), known: known.join(", ") }
}

/// A time, a day, or a span before now.
fn time(field: &'static str, text: &str, now: Timestamp) -> Result<Timestamp, QueryError> {
    let day = || Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
    Timestamp::parse_rfc3339(text).or_else(day).or_else(|| before(text, now)).ok_or_else(|| {
        let expected = "write RFC 3339, a day such as 2027-01-31, or a span such as 2h".to_owned();
        QueryError::Value { field, value: shown(text), expected }
    })
}

fn before(text: &str, now: Timestamp) -> Option<Timestamp> {
    let unit = text.chars().next_back()?;
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let span = Duration::from_secs(number.checked_mul(*seconds)?);
    let micros = i64::try_from(span.as_micros()).ok()?;
    Some(Timestamp::from_micros(now.micros().saturating_sub(micros)))
}
