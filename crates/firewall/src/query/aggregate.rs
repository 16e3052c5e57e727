//! Aggregates: what many rows come to, computed from what is shown of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::cell::{Cell, fraction, whole};
use super::column::Column;
use crate::error::HandleError;

/// The most groups.
pub(super) const MAX_GROUPS: usize = 1_000;

/// What is computed of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// How many rows; of a field, how many have one.
    Count,
    /// The least value, by the order of sorting; nothing where no row has one.
    Min,
    /// The greatest value.
    Max,
    /// The sum of the numbers.
    Sum,
    /// The mean of the numbers; nothing where there is none.
    Avg,
    /// How many different values.
    Distinct,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Count, Self::Min, Self::Max, Self::Sum, Self::Avg, Self::Distinct];

    /// The word in a query.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Min => "min",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Distinct => "distinct",
        }
    }
}

/// One aggregate, written `count` or `sum(amount)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    /// What is computed.
    pub function: Function,
    /// Of which field; only a count needs none.
    pub field: Option<String>,
}

impl Aggregate {
    /// As it is written, and as its column is named.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.field {
            Some(field) => format!("{}({field})", self.function.word()),
            None => self.function.word().to_owned(),
        }
    }
}

/// An aggregate with the column it is computed of.
pub(super) struct ColumnAggregate {
    pub(super) aggregate: Aggregate,
    pub(super) column: Option<Arc<Column>>,
}

/// The column by whose values rows are grouped.
pub(super) struct GroupColumn<'a> {
    pub(super) name: &'a str,
    pub(super) column: Arc<Column>,
}

/// How the column of an aggregate is named beside the column of the groups.
pub(super) fn column_name(aggregate: &Aggregate, group: Option<&str>) -> String {
    let name = aggregate.name();
    if group == Some(name.as_str()) { format!("{name}_2") } else { name }
}

/// One row for each group, in the order of the groups' values; without a group, one row.
pub(super) fn rows(
    rows: &[u32],
    group: Option<&GroupColumn<'_>>,
    wanted: &[ColumnAggregate],
) -> Result<Vec<Value>, HandleError> {
    let Some(GroupColumn { name, column }) = group else {
        return Ok(vec![Value::Object(row(rows, None, wanted))]);
    };
    let mut groups: BTreeMap<&Cell, Vec<u32>> = BTreeMap::new();
    for number in rows {
        let cell = column.cell(*number);
        if !groups.contains_key(cell) && groups.len() >= MAX_GROUPS {
            let detail = format!("`group_by` gives more than {MAX_GROUPS} groups; filter first");
            return Err(HandleError::Constraint { detail });
        }
        groups.entry(cell).or_default().push(*number);
    }
    let rows = groups.into_iter().map(|(cell, rows)| {
        let mut out = row(&rows, Some(name), wanted);
        out.insert((*name).to_owned(), cell.to_value());
        Value::Object(out)
    });
    Ok(rows.collect())
}

fn row(rows: &[u32], group: Option<&str>, wanted: &[ColumnAggregate]) -> Map<String, Value> {
    let value = |one: &ColumnAggregate| match &one.column {
        Some(column) => of(one.aggregate.function, rows, column),
        None => Value::from(rows.len()),
    };
    wanted.iter().map(|one| (column_name(&one.aggregate, group), value(one))).collect()
}

fn of(function: Function, rows: &[u32], column: &Column) -> Value {
    let cells = || rows.iter().map(|row| column.cell(*row)).filter(|cell| **cell != Cell::Null);
    let shown = |cell: Option<&Cell>| cell.map_or(Value::Null, Cell::to_value);
    match function {
        Function::Count => Value::from(cells().count()),
        Function::Min => shown(cells().min()),
        Function::Max => shown(cells().max()),
        Function::Distinct => Value::from(cells().collect::<BTreeSet<_>>().len()),
        Function::Sum => Total::of(cells()).sum(),
        Function::Avg => Total::of(cells()).mean(),
    }
}

/// A sum: exact while all numbers are whole, otherwise with its rounding error carried along.
#[derive(Default)]
struct Total {
    whole: i128,
    fraction: f64,
    carried: f64,
    is_whole: bool,
    count: u32,
}

impl Total {
    fn of<'c>(cells: impl Iterator<Item = &'c Cell>) -> Self {
        let mut total = Self { is_whole: true, ..Self::default() };
        for number in cells.filter_map(Cell::number) {
            total.count = total.count.saturating_add(1);
            match whole(number) {
                Some(number) => total.whole = total.whole.saturating_add(number),
                None => {
                    total.is_whole = false;
                    total.add(fraction(number));
                }
            }
        }
        total
    }

    fn add(&mut self, number: f64) {
        let sum = self.fraction + number;
        self.carried += if self.fraction.abs() >= number.abs() {
            (self.fraction - sum) + number
        } else {
            (number - sum) + self.fraction
        };
        self.fraction = sum;
    }

    fn float(&self) -> f64 {
        self.whole as f64 + (self.fraction + self.carried)
    }

    fn sum(&self) -> Value {
        let exact = i64::try_from(self.whole).map(Number::from);
        let exact = exact.or_else(|_| u64::try_from(self.whole).map(Number::from));
        match exact {
            Ok(number) if self.is_whole => Value::Number(number),
            _ => Number::from_f64(self.float()).map_or(Value::Null, Value::Number),
        }
    }

    fn mean(&self) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        Number::from_f64(self.float() / f64::from(self.count)).map_or(Value::Null, Value::Number)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn total(values: Value) -> (Value, Value) {
        let cells: Vec<Cell> = values.as_array().unwrap().iter().map(Cell::of).collect();
        let total = Total::of(cells.iter());
        (total.sum(), total.mean())
    }

    #[test]
    fn a_sum_is_exact_while_all_numbers_are_whole() {
        for (values, sum, mean) in [
            (json!([]), json!(0), json!(null)),
            (json!(["a", null, true]), json!(0), json!(null)),
            (json!([1, 2, "3"]), json!(3), json!(1.5)),
            (json!([-5, 2]), json!(-3), json!(-1.5)),
            (
                json!([i64::MAX, 1]),
                json!(9_223_372_036_854_775_808_u64),
                json!(4.611686018427388e18),
            ),
            (json!([i64::MIN, -1]), json!(-9.223372036854776e18), json!(-4.611686018427388e18)),
            (json!([u64::MAX, 1]), json!(1.8446744073709552e19), json!(9.223372036854776e18)),
            (json!([1, 0.5]), json!(1.5), json!(0.75)),
            (
                json!([0.1, 0.2, 0.3, -0.6]),
                json!(2.7755575615628914e-17),
                json!(6.938893903907228e-18),
            ),
            (json!([1e100, 1.0, -1e100]), json!(1.0), json!(1.0 / 3.0)),
            (json!([1.0, 1e100, -1e100]), json!(1.0), json!(1.0 / 3.0)),
        ] {
            assert_eq!(total(values.clone()), (sum, mean), "{values}");
        }
    }

    #[test]
    fn an_aggregate_is_named_as_it_is_written() {
        let named = |function, field: Option<&str>| {
            Aggregate { function, field: field.map(str::to_owned) }.name()
        };
        assert_eq!(named(Function::Count, None), "count");
        let all = Function::ALL.map(|function| named(function, Some("a")));
        assert_eq!(all.join(" "), "count(a) min(a) max(a) sum(a) avg(a) distinct(a)");
    }
}
