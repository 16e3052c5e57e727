//! Rows of a result: values, or a text of which each row is read when it is looked at.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use weaver_types::JsonRows;

/// Rows in an order, or a part of them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    source: Source<'a>,
    /// The numbers of the rows that are meant, in this order; without them, all.
    numbers: Option<&'a [u32]>,
    from: usize,
    to: usize,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Values(&'a [Value]),
    Text(&'a JsonRows),
}

impl<'a> Rows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.to - self.from
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at this place.
    pub(crate) fn get(&self, at: usize) -> Option<Cow<'a, Value>> {
        let at = self.from.checked_add(at).filter(|at| *at < self.to)?;
        let number = match self.numbers {
            Some(numbers) => *numbers.get(at)? as usize,
            None => at,
        };
        match self.source {
            Source::Values(values) => values.get(number).map(Cow::Borrowed),
            Source::Text(rows) => rows.row(number).map(Cow::Owned),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Cow<'a, Value>> + use<'a> {
        let rows = *self;
        (0..rows.len()).filter_map(move |at| rows.get(at))
    }

    /// The rows of these places, as far as there are any.
    pub(crate) fn part(self, places: Range<usize>) -> Self {
        let from = self.from.saturating_add(places.start).min(self.to);
        let to = self.from.saturating_add(places.end).clamp(from, self.to);
        Self { from, to, ..self }
    }

    /// The rows from this place on.
    pub(crate) fn after(self, place: usize) -> Self {
        self.part(place..usize::MAX)
    }

    /// The rows with these numbers, counted from the first of all rows.
    pub(crate) fn numbered<'n>(self, numbers: &'n [u32]) -> Rows<'n>
    where
        'a: 'n,
    {
        Rows { source: self.source, numbers: Some(numbers), from: 0, to: numbers.len() }
    }
}

impl<'a> From<&'a [Value]> for Rows<'a> {
    fn from(values: &'a [Value]) -> Self {
        Self { source: Source::Values(values), numbers: None, from: 0, to: values.len() }
    }
}

impl<'a> From<&'a JsonRows> for Rows<'a> {
    fn from(rows: &'a JsonRows) -> Self {
        Self { source: Source::Text(rows), numbers: None, from: 0, to: rows.len() }
    }
}

/// Looks at rows one after the other. `look` gets with each row what keeps a text of it: a text of
/// a value lives as long as the rows, one that was read goes with its row.
macro_rules! for_rows {
    ($rows:expr, |$row:ident, $keep:ident| $look:expr) => {
        for row in $rows.iter() {
            match &row {
                std::borrow::Cow::Borrowed(row) => {
                    let ($row, $keep) = (*row, std::borrow::Cow::Borrowed);
                    $look
                }
                std::borrow::Cow::Owned($row) => {
                    let $keep = $crate::content::copied;
                    $look
                }
            }
        }
    };
}
pub(crate) use for_rows;

/// A copy of a text.
pub(crate) fn copied<'a>(text: &str) -> Cow<'a, str> {
    Cow::Owned(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_and_text_are_the_same_rows() {
        let value = json!([{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]);
        let values = Rows::from(value.as_array().unwrap().as_slice());
        let text = JsonRows::parse(value.to_string()).unwrap();
        let numbers = [4, 0, 9, 2];
        for rows in [values, Rows::from(&text)] {
            let all = |rows: Rows<'_>| -> Vec<u64> {
                rows.iter().map(|row| row["n"].as_u64().unwrap()).collect()
            };
            assert_eq!(all(rows), [0, 1, 2, 3, 4]);
            assert_eq!(all(rows.part(1..3)), [1, 2]);
            assert_eq!(all(rows.after(2).part(1..9)), [3, 4]);
            assert!(rows.after(9).is_empty() && rows.part(1..3).get(2).is_none());
            assert_eq!(all(rows.numbered(&numbers)), [4, 0, 2]);
            assert_eq!(all(rows.numbered(&numbers).part(1..2)), [0]);
            assert_eq!(rows.numbered(&numbers).len(), 4);
        }
    }
}
