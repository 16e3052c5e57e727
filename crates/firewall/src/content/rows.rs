//! Rows of a result: either values, or JSON text of which each row is parsed on access.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use weaver_types::JsonRows;

/// Rows in some order, or a slice of them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    source: RowSource<'a>,
    /// The numbers of the selected rows, in this order; `None` for all rows.
    row_numbers: Option<&'a [u32]>,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy)]
enum RowSource<'a> {
    Values(&'a [Value]),
    Text(&'a JsonRows),
}

impl<'a> Rows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at this index.
    pub(crate) fn get(&self, at: usize) -> Option<Cow<'a, Value>> {
        let at = self.start.checked_add(at).filter(|at| *at < self.end)?;
        let number = match self.row_numbers {
            Some(numbers) => *numbers.get(at)? as usize,
            None => at,
        };
        match self.source {
            RowSource::Values(values) => values.get(number).map(Cow::Borrowed),
            RowSource::Text(rows) => rows.row(number).map(Cow::Owned),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Cow<'a, Value>> + use<'a> {
        let rows = *self;
        (0..rows.len()).filter_map(move |at| rows.get(at))
    }

    /// The rows in this range, clamped to those that exist.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        let from = self.start.saturating_add(range.start).min(self.end);
        let to = self.start.saturating_add(range.end).clamp(from, self.end);
        Self { start: from, end: to, ..self }
    }

    /// The rows from this index on.
    pub(crate) fn skip(self, place: usize) -> Self {
        self.slice(place..usize::MAX)
    }

    /// The rows with these numbers, counted from the first row of the source.
    pub(crate) fn select<'n>(self, numbers: &'n [u32]) -> Rows<'n>
    where
        'a: 'n,
    {
        Rows { source: self.source, row_numbers: Some(numbers), start: 0, end: numbers.len() }
    }
}

impl<'a> From<&'a [Value]> for Rows<'a> {
    fn from(values: &'a [Value]) -> Self {
        Self { source: RowSource::Values(values), row_numbers: None, start: 0, end: values.len() }
    }
}

impl<'a> From<&'a JsonRows> for Rows<'a> {
    fn from(rows: &'a JsonRows) -> Self {
        Self { source: RowSource::Text(rows), row_numbers: None, start: 0, end: rows.len() }
    }
}

/// Visits rows one after the other. The body gets each row together with a function that keeps one
/// of its texts: borrowed for as long as the rows if the row is a value, copied if it was parsed.
macro_rules! for_rows {
    ($rows:expr, |$row:ident, $keep:ident| $look:expr) => {
        for row in $rows.iter() {
            match &row {
                std::borrow::Cow::Borrowed(row) => {
                    let ($row, $keep) = (*row, std::borrow::Cow::Borrowed);
                    $look
                }
                std::borrow::Cow::Owned($row) => {
                    let $keep = $crate::content::copied_text;
                    $look
                }
            }
        }
    };
}
pub(crate) use for_rows;

/// An owned copy of a text.
pub(crate) fn copied_text<'a>(text: &str) -> Cow<'a, str> {
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
            assert_eq!(all(rows.slice(1..3)), [1, 2]);
            assert_eq!(all(rows.skip(2).slice(1..9)), [3, 4]);
            assert!(rows.skip(9).is_empty() && rows.slice(1..3).get(2).is_none());
            assert_eq!(all(rows.select(&numbers)), [4, 0, 2]);
            assert_eq!(all(rows.select(&numbers).slice(1..2)), [0]);
            assert_eq!(rows.select(&numbers).len(), 4);
        }
    }
}
