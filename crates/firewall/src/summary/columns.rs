//! Facts about a list of objects.

use std::collections::BTreeMap;

use serde_json::{Number, Value};
use weaver_text::escape;

use super::short;
use crate::frame::Shower;

/// Rows whose keys are counted.
const SAMPLE: usize = 10;
/// Keys that are named.
const TOP_KEYS: usize = 10;
/// Numeric keys with statistics, and keys looked at for a distribution.
const STATISTICS: usize = 5;
/// The most distinct strings of a distribution.
const DISTINCT: usize = 10;
/// Characters of one string in a distribution.
const MAX_LABEL: usize = 40;

pub(super) fn facts(rows: &[Value], shower: &mut Shower<'_>) -> Vec<String> {
    let objects = rows.iter().filter(|row| row.is_object()).count();
    let mut facts = vec![format!("Total rows: {}", rows.len())];
    if objects < rows.len() {
        facts.push(format!("Rows that are no objects: {}", rows.len() - objects));
    }
    let top = top_keys(rows, shower);
    let names: Vec<String> = top.iter().map(|key| shower.key(key)).collect();
    facts.push(format!("Top keys: {}", names.join(", ")));
    // A key that is hidden has no statistics either: the least and the greatest are values.
    let any = Value::String(String::new());
    let mut top: Vec<&str> = top
        .into_iter()
        .filter(|key| !shower.hides(key, &any) && !shower.tells(rows, key))
        .collect();
    top.sort_by_key(|key| !shower.limits.bears(key));
    let columns: Vec<(&str, Column)> =
        top.iter().map(|key| (*key, Column::of(rows, key))).collect();
    let numeric = columns.iter().filter_map(|(key, column)| Some((*key, column.numbers()?)));
    let numeric: Vec<_> = numeric.take(STATISTICS).collect();
    for (key, numbers) in numeric {
        facts.push(format!("{}: {}", shower.key(key), numbers.text(key, shower)));
    }
    for (key, column) in columns.iter().take(STATISTICS) {
        if let Some(text) = column.distribution(key, shower) {
            facts.push(format!("{}{text}", shower.key(key)));
        }
    }
    facts
}

/// The keys of the first rows that may be seen, by how often they occur and then by name.
fn top_keys<'a>(rows: &'a [Value], shower: &mut Shower<'_>) -> Vec<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for key in rows.iter().take(SAMPLE).filter_map(Value::as_object).flat_map(|row| row.keys()) {
        *counts.entry(key).or_default() += 1;
    }
    let all = counts.len();
    let mut keys: Vec<(&str, usize)> =
        counts.into_iter().filter(|(key, _)| shower.limits.admits(key)).collect();
    shower.omit("fields_not_allowed", all - keys.len());
    keys.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    keys.into_iter().map(|(key, _)| key).take(TOP_KEYS).collect()
}

/// What the values of one key are, over all rows.
enum Column<'a> {
    Numbers(Numbers<'a>),
    Truth { yes: usize, no: usize },
    Words(BTreeMap<&'a str, usize>),
    Mixed,
}

/// The least, the greatest and the sum.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    min: (f64, &'a Number),
    max: (f64, &'a Number),
    sum: f64,
    count: u32,
}

impl<'a> Column<'a> {
    fn of(rows: &'a [Value], key: &str) -> Self {
        let mut column = None;
        for value in rows.iter().filter_map(|row| row.get(key)) {
            column = Some(match (column, value) {
                (None, Value::Number(n)) => Numbers::of(n).map_or(Self::Mixed, Self::Numbers),
                (None, Value::Bool(b)) => {
                    Self::Truth { yes: usize::from(*b), no: usize::from(!*b) }
                }
                (None, Value::String(s)) => Self::Words(BTreeMap::from([(s.as_str(), 1)])),
                (Some(Self::Numbers(so_far)), Value::Number(n)) => {
                    so_far.and(n).map_or(Self::Mixed, Self::Numbers)
                }
                (Some(Self::Truth { yes, no }), Value::Bool(b)) => {
                    Self::Truth { yes: yes + usize::from(*b), no: no + usize::from(!*b) }
                }
                (Some(Self::Words(mut words)), Value::String(s)) => {
                    *words.entry(s).or_default() += 1;
                    if words.len() > DISTINCT { Self::Mixed } else { Self::Words(words) }
                }
                _ => Self::Mixed,
            });
            if matches!(column, Some(Self::Mixed)) {
                break;
            }
        }
        column.unwrap_or(Self::Mixed)
    }

    fn numbers(&self) -> Option<Numbers<'a>> {
        match self {
            Self::Numbers(numbers) => Some(*numbers),
            _ => None,
        }
    }

    fn distribution(&self, key: &str, shower: &mut Shower<'_>) -> Option<String> {
        match self {
            Self::Truth { yes, no } => Some(format!(": True={yes}, False={no}")),
            Self::Words(words) if words.len() >= 2 => {
                let parts: Vec<String> = words
                    .iter()
                    .map(|(word, n)| {
                        let word = shower.string(word, Some(key), MAX_LABEL);
                        format!("{}={n}", escape::line(&word))
                    })
                    .collect();
                Some(format!(" distribution: {}", parts.join(", ")))
            }
            _ => None,
        }
    }
}

impl<'a> Numbers<'a> {
    fn of(number: &'a Number) -> Option<Self> {
        let value = number.as_f64()?;
        Some(Self { min: (value, number), max: (value, number), sum: value, count: 1 })
    }

    fn and(mut self, number: &'a Number) -> Option<Self> {
        let value = number.as_f64()?;
        if value < self.min.0 {
            self.min = (value, number);
        }
        if value > self.max.0 {
            self.max = (value, number);
        }
        self.sum += value;
        self.count = self.count.saturating_add(1);
        Some(self)
    }

    /// The least and the greatest are values, so they are masked like values; and the average of
    /// few numbers would give them away.
    fn text(&self, key: &str, shower: &mut Shower<'_>) -> String {
        let mut ends = [self.min, self.max].map(|(value, number)| {
            let shown = short(&Value::Number(number.clone()), Some(key), usize::MAX, shower);
            (shown == crate::redact::MASK, value)
        });
        let masked = ends.iter().any(|(masked, _)| *masked);
        let mut end = |at: usize| match ends.get_mut(at) {
            Some((false, value)) => format!("{value:.2}"),
            _ => crate::redact::MASK.to_owned(),
        };
        let (min, max) = (end(0), end(1));
        let avg = if masked {
            crate::redact::MASK.to_owned()
        } else {
            format!("{:.2}", self.sum / f64::from(self.count))
        };
        format!("min={min}, max={max}, avg={avg}")
    }
}
