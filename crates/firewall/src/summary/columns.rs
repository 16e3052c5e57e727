//! Facts about a list of objects.

use std::borrow::Cow;

use serde_json::{Number, Value};
use weaver_text::escape;

use super::number::{push_count, push_rounded};
use crate::content::{Rows, ValueRenderer, for_rows};
use crate::redact::MASK;
use crate::redact::value::FieldName;

/// Rows whose keys are counted.
const SAMPLE: usize = 10;
/// Keys that are named.
const TOP_KEYS: usize = 10;
/// Numeric keys with statistics, and keys looked at for a distribution.
const STATISTICS: usize = 5;
/// The most distinct strings of a distribution.
const DISTINCT: usize = 10;
/// Numbers of a column that are looked at before their average is told.
const FEW: usize = 256;
/// Bytes that most facts have beside what they begin with, at most.
const ROOM: usize = 128;
/// Characters of one string in a distribution.
const MAX_LABEL: usize = 40;

pub(super) fn facts(rows: Rows<'_>, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    let objects = rows.iter().filter(|row| row.is_object()).count();
    let mut facts = Vec::with_capacity(8);
    facts.push(counted("Total rows: ", rows.len()));
    if objects < rows.len() {
        facts.push(counted("Rows that are no objects: ", rows.len() - objects));
    }
    let (sample, others) = (rows.part(0..SAMPLE), rows.after(SAMPLE));
    let (names, columns) = top_keys(sample, renderer);
    let keys = names.iter().zip(columns);
    let keys = keys.map(|(name, column)| Key { named: renderer.named(name), column });
    let mut keys: Vec<Key<'_>> = keys.collect();
    facts.push(listed(&mut keys, renderer));
    // A key that is hidden has no statistics either: the least and the greatest are values.
    let any = Value::String(String::new());
    keys.retain(|Key { named, .. }| {
        !renderer.hides(*named, &any) && !renderer.is_named_by_sibling(rows, named.name)
    });
    keys.sort_by_key(|key| !renderer.limits.bears(key.named.name));
    fill(&mut keys, others);
    let mut numeric = STATISTICS;
    for Key { named, column } in &mut keys {
        if let Column::Numbers(numbers) = column
            && numeric > 0
        {
            numeric -= 1;
            facts.push(numbers.statistics(named, renderer));
        }
    }
    for Key { named, column } in keys.iter_mut().take(STATISTICS) {
        facts.extend(column.distribution(named, renderer));
    }
    facts
}

/// The most columns that are told of.
const MAX_COLUMNS: usize = 256;

/// A fact about each column over all rows, also of one that begins late: the least, the greatest
/// and the average of numbers, the distribution of few words.
pub(super) fn of_all(rows: Rows<'_>, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    let mut keys = sampled(rows);
    keys.retain(|key| renderer.limits.admits(&key.name));
    let any = Value::String(String::new());
    let mut facts = vec![counted("Rows: ", rows.len())];
    for SampledKey { name, mut column, .. } in keys.into_iter().take(MAX_COLUMNS) {
        let mut named = renderer.named(&name);
        if renderer.hides(named, &any) || renderer.is_named_by_sibling(rows, &name) {
            continue;
        }
        if let Column::Numbers(numbers) = &column {
            facts.push(numbers.statistics(&mut named, renderer));
        }
        facts.extend(column.distribution(&mut named, renderer));
    }
    facts
}

/// A key, and what its values are.
struct Key<'a> {
    named: FieldName<'a>,
    column: Column<'a>,
}

/// A key of the sample, how often it occurs there, and what its values are there.
struct SampledKey<'a> {
    name: Cow<'a, str>,
    count: usize,
    column: Column<'a>,
}

/// A fact that begins with this.
fn begun(with: &str) -> String {
    let mut fact = String::with_capacity(with.len() + ROOM);
    fact.push_str(with);
    fact
}

/// A number of things, in words.
fn counted(what: &str, count: usize) -> String {
    let mut fact = begun(what);
    push_count(&mut fact, count);
    fact
}

/// The names of keys.
fn listed(keys: &mut [Key<'_>], renderer: &mut ValueRenderer<'_>) -> String {
    let mut fact = begun("Top keys: ");
    for (at, key) in keys.iter_mut().enumerate() {
        if at > 0 {
            fact.push_str(", ");
        }
        fact.push_str(&renderer.key_of(&mut key.named));
    }
    fact
}

/// The keys of the sample that may be seen, by how often they occur and then by name.
fn top_keys<'a>(
    sample: Rows<'a>,
    renderer: &mut ValueRenderer<'_>,
) -> (Vec<Cow<'a, str>>, Vec<Column<'a>>) {
    let mut keys = sampled(sample);
    let all = keys.len();
    keys.retain(|key| renderer.limits.admits(&key.name));
    renderer.omit("fields_not_allowed", all - keys.len());
    keys.sort_by_key(|key| std::cmp::Reverse(key.count));
    let top = keys.into_iter().take(TOP_KEYS);
    top.map(|SampledKey { name, column, .. }| (name, column)).unzip()
}

/// The keys of these rows by name, in one walk over them.
fn sampled(rows: Rows<'_>) -> Vec<SampledKey<'_>> {
    let mut keys: Vec<SampledKey<'_>> = Vec::with_capacity(TOP_KEYS);
    for_rows!(rows, |row, keep| sample(&mut keys, row, keep));
    keys
}

/// Adds the keys of one row to those known, which are sorted.
fn sample<'a, 'v>(keys: &mut Vec<SampledKey<'a>>, row: &'v Value, keep: impl RetainText<'a, 'v>) {
    let known = keys.len();
    // Rows mostly have the same keys, in the same order.
    let mut next = 0;
    for (name, value) in row.as_object().into_iter().flatten() {
        if keys.get(next).is_none_or(|key| key.name != *name) {
            let sorted = keys.get(..known).unwrap_or_default();
            let found = sorted.binary_search_by(|key| key.name.as_ref().cmp(name));
            next = found.unwrap_or(keys.len());
        }
        match keys.get_mut(next) {
            Some(key) => {
                key.count += 1;
                key.column.add(value, keep);
            }
            None => {
                let column = Column::of(value, keep);
                keys.push(SampledKey { name: keep(name), count: 1, column });
            }
        }
        next += 1;
    }
    if keys.len() > known {
        keys.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
}

/// Keeps a text of a row for as long as the rows are looked at.
trait RetainText<'a, 'v>: Fn(&'v str) -> Cow<'a, str> + Copy {}

impl<'a, 'v, F: Fn(&'v str) -> Cow<'a, str> + Copy> RetainText<'a, 'v> for F {}

/// Adds the values of more rows to the columns of these keys, in one walk over the rows.
fn fill<'a>(keys: &mut [Key<'a>], rows: Rows<'a>) {
    for_rows!(rows, |row, keep| {
        if !fill_from(keys, row, keep) {
            break;
        }
    });
}

/// Adds the values of one row; false where no column takes in any more.
fn fill_from<'a, 'v>(keys: &mut [Key<'a>], row: &'v Value, keep: impl RetainText<'a, 'v>) -> bool {
    let Value::Object(row) = row else { return true };
    let mut all_mixed = true;
    // Mostly the fields stand in the order of the keys.
    let mut fields = row.iter();
    for Key { named, column } in keys {
        let next = fields.next();
        if matches!(column, Column::Mixed) {
            continue;
        }
        all_mixed = false;
        let found = next.filter(|(name, _)| *name == named.name).map(|(_, value)| value);
        if let Some(value) = found.or_else(|| row.get(named.name)) {
            column.add(value, keep);
        }
    }
    !all_mixed
}

/// What the values of one key are, over all rows.
#[derive(Debug, PartialEq)]
enum Column<'a> {
    Numbers(Numbers),
    Truth {
        yes: usize,
        no: usize,
    },
    /// One text again and again, and how often.
    Word(Cow<'a, str>, usize),
    /// Distinct texts, at most [`DISTINCT`], and how often each occurs.
    Words(Vec<(Cow<'a, str>, usize)>),
    Mixed,
}

/// The least, the greatest and the sum.
#[derive(Debug, PartialEq)]
struct Numbers {
    min: (f64, Number),
    max: (f64, Number),
    sum: f64,
    count: u32,
    /// The first of them.
    first: Vec<Number>,
}

impl<'a> Column<'a> {
    fn add<'v>(&mut self, value: &'v Value, keep: impl RetainText<'a, 'v>) {
        let fits = match (&mut *self, value) {
            (Self::Numbers(numbers), Value::Number(number)) => numbers.add(number),
            (Self::Truth { yes, no }, Value::Bool(truth)) => {
                *(if *truth { yes } else { no }) += 1;
                true
            }
            (Self::Word(word, count), Value::String(text)) if word == text => {
                *count += 1;
                true
            }
            (Self::Word(word, count), Value::String(text)) => {
                let mut words = Vec::with_capacity(4);
                words.extend([(std::mem::take(word), *count), (keep(text), 1)]);
                *self = Self::Words(words);
                true
            }
            (Self::Words(words), Value::String(text)) => count_word(words, text, keep),
            _ => false,
        };
        if !fits {
            *self = Self::Mixed;
        }
    }

    fn of<'v>(first: &'v Value, keep: impl RetainText<'a, 'v>) -> Self {
        match first {
            Value::Number(number) => Numbers::of(number).map_or(Self::Mixed, Self::Numbers),
            Value::Bool(truth) => {
                Self::Truth { yes: usize::from(*truth), no: usize::from(!*truth) }
            }
            Value::String(text) => Self::Word(keep(text), 1),
            Value::Null | Value::Array(_) | Value::Object(_) => Self::Mixed,
        }
    }

    /// How often each value occurs, where there are few.
    fn distribution(
        &mut self,
        key: &mut FieldName<'_>,
        renderer: &mut ValueRenderer<'_>,
    ) -> Option<String> {
        match self {
            Self::Truth { yes, no } => {
                let mut fact = begun(&renderer.key_of(key));
                fact.push_str(": true=");
                push_count(&mut fact, *yes);
                fact.push_str(", false=");
                push_count(&mut fact, *no);
                Some(fact)
            }
            Self::Words(words) if words.len() >= 2 => {
                words.sort_unstable();
                let mut fact = begun(&renderer.key_of(key));
                fact.push_str(" distribution: ");
                push_words(words, *key, renderer, &mut fact);
                Some(fact)
            }
            _ => None,
        }
    }
}

/// Counts a word; false when there are too many different ones.
fn count_word<'a, 'v>(
    words: &mut Vec<(Cow<'a, str>, usize)>,
    word: &'v str,
    keep: impl RetainText<'a, 'v>,
) -> bool {
    match words.iter_mut().find(|(known, _)| *known == word) {
        Some((_, count)) => *count += 1,
        None => words.push((keep(word), 1)),
    }
    words.len() <= DISTINCT
}

/// Appends words and how often each occurs.
fn push_words(
    words: &[(Cow<'_, str>, usize)],
    key: FieldName<'_>,
    renderer: &mut ValueRenderer<'_>,
    fact: &mut String,
) {
    for (at, (word, count)) in words.iter().enumerate() {
        if at > 0 {
            fact.push_str(", ");
        }
        let word = renderer.string(word, Some(key), MAX_LABEL);
        fact.push_str(&escape::line(&word));
        fact.push('=');
        push_count(fact, *count);
    }
}

impl Numbers {
    fn of(number: &Number) -> Option<Self> {
        let value = number.as_f64()?;
        let (min, max) = ((value, number.clone()), (value, number.clone()));
        Some(Self { min, max, sum: value, count: 1, first: vec![number.clone()] })
    }

    /// Takes in one more; false when it has no value.
    fn add(&mut self, number: &Number) -> bool {
        let Some(value) = number.as_f64() else { return false };
        if value < self.min.0 {
            self.min = (value, number.clone());
        }
        if value > self.max.0 {
            self.max = (value, number.clone());
        }
        self.sum += value;
        self.count = self.count.saturating_add(1);
        if self.first.len() < FEW {
            self.first.push(number.clone());
        }
        true
    }

    /// The least and the greatest are values, so they are masked like values; and the average of
    /// few numbers would give away the one among them that is masked.
    fn statistics(&self, key: &mut FieldName<'_>, renderer: &mut ValueRenderer<'_>) -> String {
        let mut fact = begun(&renderer.key_of(key));
        let mut masked = false;
        for (name, (value, number)) in [(": min=", &self.min), (", max=", &self.max)] {
            fact.push_str(name);
            if renderer.hides_number(number, Some(*key)) {
                masked = true;
                fact.push_str(MASK);
            } else {
                push_rounded(&mut fact, *value);
            }
        }
        fact.push_str(", avg=");
        if masked || self.first.iter().any(|number| renderer.would_hide_number(number, *key)) {
            fact.push_str(MASK);
        } else {
            push_rounded(&mut fact, self.sum / f64::from(self.count));
        }
        fact
    }
}

#[cfg(test)]
mod tests;
