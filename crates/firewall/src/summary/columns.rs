//! Facts about a list of objects.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};
use weaver_text::escape;

use super::number::{push_count, push_mean, push_number};
use crate::content::{Rows, ValueRenderer, for_rows};
use crate::numbers::{NumberSum, compare_numbers};
use crate::redact::MASK;
use crate::redact::value::FieldName;

/// How many rows are sampled for their keys.
const SAMPLE_ROWS: usize = 10;
/// The most keys that are named.
const TOP_KEYS: usize = 10;
/// The most numeric keys with statistics, and the most keys with a distribution.
const MAX_STATISTICS: usize = 5;
/// The most distinct strings of a distribution.
const MAX_DISTINCT: usize = 10;
/// How many numbers of a column are checked before their average is shown.
const MAX_REMEMBERED: usize = 256;
/// Capacity of a fact beyond its beginning; most need no more.
const FACT_CAPACITY: usize = 128;
/// The longest string in a distribution, in characters.
const MAX_LABEL: usize = 40;

pub(super) fn row_facts(rows: Rows<'_>, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    let objects = rows.iter().filter(|row| row.is_object()).count();
    let mut facts = Vec::with_capacity(8);
    facts.push(count_fact("Total rows: ", rows.len()));
    if objects < rows.len() {
        facts.push(count_fact("Rows that are not objects: ", rows.len() - objects));
    }
    let (sample, others) = (rows.slice(0..SAMPLE_ROWS), rows.skip(SAMPLE_ROWS));
    let (names, columns) = top_keys(sample, renderer);
    let keys = names.iter().zip(columns);
    let keys = keys.map(|(name, column)| KeyColumn { named: renderer.field_name(name), column });
    let mut keys: Vec<KeyColumn<'_>> = keys.collect();
    facts.push(top_keys_fact(&mut keys, renderer));
    // A hidden key gets no statistics either, because minimum and maximum are values.
    let any = Value::String(String::new());
    keys.retain(|KeyColumn { named, .. }| {
        !renderer.hides(*named, &any) && !renderer.is_named_by_sibling(rows, named.name)
    });
    keys.sort_by_key(|key| !renderer.limits.is_relevant(key.named.name));
    add_rows(&mut keys, others);
    let mut numeric = MAX_STATISTICS;
    for KeyColumn { named, column } in &mut keys {
        if let ColumnSummary::Numbers(numbers) = column
            && numeric > 0
        {
            numeric -= 1;
            facts.push(numbers.statistics(named, renderer));
        }
    }
    for KeyColumn { named, column } in keys.iter_mut().take(MAX_STATISTICS) {
        facts.extend(column.distribution(named, renderer));
    }
    facts
}

/// The most columns with facts.
const MAX_COLUMNS: usize = 256;

/// A fact about each column over all rows, including columns that begin late: minimum, maximum and
/// average of numbers, or the distribution of few distinct words.
pub(super) fn facts_of_all_columns(
    rows: Rows<'_>,
    renderer: &mut ValueRenderer<'_>,
) -> Vec<String> {
    let mut keys = sample_keys(rows);
    keys.retain(|key| renderer.limits.may_show_field(&key.name));
    let any = Value::String(String::new());
    let mut facts = vec![count_fact("Rows: ", rows.len())];
    for SampledKey { name, mut column, .. } in keys.into_iter().take(MAX_COLUMNS) {
        let mut named = renderer.field_name(&name);
        if renderer.hides(named, &any) || renderer.is_named_by_sibling(rows, &name) {
            continue;
        }
        if let ColumnSummary::Numbers(numbers) = &column {
            facts.push(numbers.statistics(&mut named, renderer));
        }
        facts.extend(column.distribution(&mut named, renderer));
    }
    facts
}

/// A key with a summary of its values.
struct KeyColumn<'a> {
    named: FieldName<'a>,
    column: ColumnSummary<'a>,
}

/// A key of the sample, how often it occurs there, and a summary of its values there.
struct SampledKey<'a> {
    name: Cow<'a, str>,
    count: usize,
    column: ColumnSummary<'a>,
}

/// Starts a fact with this text.
fn start_fact(with: &str) -> String {
    let mut fact = String::with_capacity(with.len() + FACT_CAPACITY);
    fact.push_str(with);
    fact
}

/// A fact that states a count.
fn count_fact(what: &str, count: usize) -> String {
    let mut fact = start_fact(what);
    push_count(&mut fact, count);
    fact
}

/// The fact that names the top keys.
fn top_keys_fact(keys: &mut [KeyColumn<'_>], renderer: &mut ValueRenderer<'_>) -> String {
    let mut fact = start_fact("Top keys: ");
    for (at, key) in keys.iter_mut().enumerate() {
        if at > 0 {
            fact.push_str(", ");
        }
        fact.push_str(&renderer.key_for(&mut key.named));
    }
    fact
}

/// The visible keys of the sample, by frequency and then by name.
fn top_keys<'a>(
    sample: Rows<'a>,
    renderer: &mut ValueRenderer<'_>,
) -> (Vec<Cow<'a, str>>, Vec<ColumnSummary<'a>>) {
    let mut keys = sample_keys(sample);
    let withheld = keys.iter().filter(|key| renderer.limits.withholds_field(&key.name)).count();
    renderer.omit("fields_not_allowed", withheld);
    keys.retain(|key| renderer.limits.may_show_field(&key.name));
    keys.sort_by_key(|key| std::cmp::Reverse(key.count));
    let top = keys.into_iter().take(TOP_KEYS);
    top.map(|SampledKey { name, column, .. }| (name, column)).unzip()
}

/// The keys of these rows, sorted by name.
fn sample_keys(rows: Rows<'_>) -> Vec<SampledKey<'_>> {
    let mut keys: Vec<SampledKey<'_>> = Vec::with_capacity(TOP_KEYS);
    for_rows!(rows, |row, keep| sample_row(&mut keys, row, keep));
    keys
}

/// Adds the keys of one row to those known so far, which are sorted.
fn sample_row<'a, 'v>(
    keys: &mut Vec<SampledKey<'a>>,
    row: &'v Value,
    keep: impl RetainText<'a, 'v>,
) {
    let known = keys.len();
    // Rows mostly have the same keys in the same order.
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
                let column = ColumnSummary::of(value, keep);
                keys.push(SampledKey { name: keep(name), count: 1, column });
            }
        }
        next += 1;
    }
    if keys.len() > known {
        keys.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
}

/// A function that keeps a text of a row for as long as the rows are visited.
trait RetainText<'a, 'v>: Fn(&'v str) -> Cow<'a, str> + Copy {}

impl<'a, 'v, F: Fn(&'v str) -> Cow<'a, str> + Copy> RetainText<'a, 'v> for F {}

/// Adds the values of more rows to the columns.
fn add_rows<'a>(keys: &mut [KeyColumn<'a>], rows: Rows<'a>) {
    for_rows!(rows, |row, keep| {
        if !add_row(keys, row, keep) {
            break;
        }
    });
}

/// Adds the values of one row; false if no column needs more values.
fn add_row<'a, 'v>(
    keys: &mut [KeyColumn<'a>],
    row: &'v Value,
    keep: impl RetainText<'a, 'v>,
) -> bool {
    let Value::Object(row) = row else { return true };
    let mut all_mixed = true;
    // Fields mostly have the same order as the keys.
    let mut fields = row.iter();
    for KeyColumn { named, column } in keys {
        let next = fields.next();
        if matches!(column, ColumnSummary::Mixed) {
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

/// A summary of the values of one key over all rows.
#[derive(Debug, PartialEq)]
enum ColumnSummary<'a> {
    Numbers(NumberStatistics),
    Booleans {
        yes: usize,
        no: usize,
    },
    /// A single distinct text, and how often it occurs.
    SingleText(Cow<'a, str>, usize),
    /// Distinct texts, at most [`MAX_DISTINCT`], and how often each occurs.
    DistinctTexts(Vec<(Cow<'a, str>, usize)>),
    Mixed,
}

/// Minimum, maximum, sum and count.
#[derive(Debug, PartialEq)]
struct NumberStatistics {
    min: (f64, Number),
    max: (f64, Number),
    sum: NumberSum,
    /// The first of the numbers.
    first_numbers: Vec<Number>,
}

impl<'a> ColumnSummary<'a> {
    fn add<'v>(&mut self, value: &'v Value, keep: impl RetainText<'a, 'v>) {
        let fits = match (&mut *self, value) {
            (Self::Numbers(numbers), Value::Number(number)) => numbers.add(number),
            (Self::Booleans { yes, no }, Value::Bool(truth)) => {
                *(if *truth { yes } else { no }) += 1;
                true
            }
            (Self::SingleText(word, count), Value::String(text)) if word == text => {
                *count += 1;
                true
            }
            (Self::SingleText(word, count), Value::String(text)) => {
                let mut words = Vec::with_capacity(4);
                words.extend([(std::mem::take(word), *count), (keep(text), 1)]);
                *self = Self::DistinctTexts(words);
                true
            }
            (Self::DistinctTexts(words), Value::String(text)) => count_word(words, text, keep),
            _ => false,
        };
        if !fits {
            *self = Self::Mixed;
        }
    }

    fn of<'v>(first: &'v Value, keep: impl RetainText<'a, 'v>) -> Self {
        match first {
            Value::Number(number) => {
                NumberStatistics::of(number).map_or(Self::Mixed, Self::Numbers)
            }
            Value::Bool(truth) => {
                Self::Booleans { yes: usize::from(*truth), no: usize::from(!*truth) }
            }
            Value::String(text) => Self::SingleText(keep(text), 1),
            Value::Null | Value::Array(_) | Value::Object(_) => Self::Mixed,
        }
    }

    /// How often each value occurs, if there are few distinct ones.
    fn distribution(
        &mut self,
        key: &mut FieldName<'_>,
        renderer: &mut ValueRenderer<'_>,
    ) -> Option<String> {
        match self {
            Self::Booleans { yes, no } => {
                let mut fact = start_fact(&renderer.key_for(key));
                fact.push_str(": true=");
                push_count(&mut fact, *yes);
                fact.push_str(", false=");
                push_count(&mut fact, *no);
                Some(fact)
            }
            Self::DistinctTexts(words) if words.len() >= 2 => {
                words.sort_unstable();
                let mut fact = start_fact(&renderer.key_for(key));
                fact.push_str(" distribution: ");
                push_words(words, *key, renderer, &mut fact);
                Some(fact)
            }
            _ => None,
        }
    }
}

/// Counts a word; false if there are too many distinct ones.
fn count_word<'a, 'v>(
    words: &mut Vec<(Cow<'a, str>, usize)>,
    word: &'v str,
    keep: impl RetainText<'a, 'v>,
) -> bool {
    match words.iter_mut().find(|(known, _)| *known == word) {
        Some((_, count)) => *count += 1,
        None => words.push((keep(word), 1)),
    }
    words.len() <= MAX_DISTINCT
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

impl NumberStatistics {
    fn of(number: &Number) -> Option<Self> {
        let value = number.as_f64()?;
        let (min, max) = ((value, number.clone()), (value, number.clone()));
        let sum = NumberSum::of(std::iter::once(number));
        Some(Self { min, max, sum, first_numbers: vec![number.clone()] })
    }

    /// Adds a number; false if it cannot be represented as a float.
    fn add(&mut self, number: &Number) -> bool {
        let Some(value) = number.as_f64() else { return false };
        // Large integers that differ may be equal as floats.
        let is = |order: Ordering, (known, exact): &(f64, Number)| {
            let rounded = value.partial_cmp(known).unwrap_or(Ordering::Equal);
            rounded.then_with(|| compare_numbers(number, exact)) == order
        };
        if is(Ordering::Less, &self.min) {
            self.min = (value, number.clone());
        }
        if is(Ordering::Greater, &self.max) {
            self.max = (value, number.clone());
        }
        self.sum.add(number);
        if self.first_numbers.len() < MAX_REMEMBERED {
            self.first_numbers.push(number.clone());
        }
        true
    }

    /// Minimum and maximum are values, so they are masked like values. The average of few numbers
    /// would reveal a masked one among them, so it is masked too.
    fn statistics(&self, key: &mut FieldName<'_>, renderer: &mut ValueRenderer<'_>) -> String {
        let mut fact = start_fact(&renderer.key_for(key));
        let mut masked = false;
        for (name, (_, number)) in [(": min=", &self.min), (", max=", &self.max)] {
            fact.push_str(name);
            if renderer.hides_number(number, Some(*key)) {
                masked = true;
                fact.push_str(MASK);
            } else {
                push_number(&mut fact, number);
            }
        }
        fact.push_str(", avg=");
        if masked
            || self.first_numbers.iter().any(|number| renderer.would_hide_number(number, *key))
        {
            fact.push_str(MASK);
        } else {
            push_mean(&mut fact, &self.sum);
        }
        fact
    }
}

#[cfg(test)]
mod tests;
