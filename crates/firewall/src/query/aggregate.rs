//! Aggregates over many rows, computed from what is shown of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::cell::Cell;
use super::column::Column;
use crate::error::HandleError;
use crate::numbers::NumberSum;

/// The most groups.
pub(super) const MAX_GROUPS: usize = 1_000;

/// What is computed from a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    /// The number of rows; with a field, the number of rows that have it.
    Count,
    /// The least value in sort order; null if no row has one.
    Min,
    /// The greatest value.
    Max,
    /// The sum of the numbers; null where there are values and none is a number.
    Sum,
    /// The mean of the numbers; null if there are none.
    Avg,
    /// The number of different values.
    Distinct,
}

impl AggregateFunction {
    /// All functions.
    pub const ALL: [Self; 6] =
        [Self::Count, Self::Min, Self::Max, Self::Sum, Self::Avg, Self::Distinct];

    /// The keyword in a query.
    #[must_use]
    pub fn keyword(self) -> &'static str {
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
    pub function: AggregateFunction,
    /// The field; only a count needs none.
    pub field: Option<String>,
}

impl Aggregate {
    /// The aggregate as a query writes it, which is also the name of its column.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.field {
            Some(field) => format!("{}({field})", self.function.keyword()),
            None => self.function.keyword().to_owned(),
        }
    }
}

/// An aggregate with the column it is computed from.
pub(super) struct ColumnAggregate {
    pub(super) aggregate: Aggregate,
    pub(super) column: Option<Arc<Column>>,
}

/// The column whose values define the groups.
pub(super) struct GroupColumn<'a> {
    pub(super) name: &'a str,
    pub(super) column: Arc<Column>,
}

/// The name of an aggregate's column, made distinct from the name of the group column.
pub(super) fn column_name(aggregate: &Aggregate, group: Option<&str>) -> String {
    let name = aggregate.name();
    if group == Some(name.as_str()) { format!("{name}_2") } else { name }
}

/// One row for each group, in the order of the groups' values; without a group, one row.
pub(super) fn aggregate_rows(
    rows: &[u32],
    group: Option<&GroupColumn<'_>>,
    wanted: &[ColumnAggregate],
) -> Result<Vec<Value>, HandleError> {
    let Some(GroupColumn { name, column }) = group else {
        return Ok(vec![Value::Object(aggregate_row(rows, None, wanted))]);
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
        let mut out = aggregate_row(&rows, Some(name), wanted);
        out.insert((*name).to_owned(), cell.to_value());
        Value::Object(out)
    });
    Ok(rows.collect())
}

fn aggregate_row(
    rows: &[u32],
    group: Option<&str>,
    wanted: &[ColumnAggregate],
) -> Map<String, Value> {
    let value = |one: &ColumnAggregate| match &one.column {
        Some(column) => compute(one.aggregate.function, rows, column),
        None => Value::from(rows.len()),
    };
    wanted.iter().map(|one| (column_name(&one.aggregate, group), value(one))).collect()
}

fn compute(function: AggregateFunction, rows: &[u32], column: &Column) -> Value {
    let cells = || rows.iter().map(|row| column.cell(*row)).filter(|cell| **cell != Cell::Null);
    let shown = |cell: Option<&Cell>| cell.map_or(Value::Null, Cell::to_value);
    match function {
        AggregateFunction::Count => Value::from(cells().count()),
        AggregateFunction::Min => shown(cells().min()),
        AggregateFunction::Max => shown(cells().max()),
        AggregateFunction::Distinct => Value::from(cells().collect::<BTreeSet<_>>().len()),
        AggregateFunction::Sum => sum_of(cells()),
        AggregateFunction::Avg => NumberSum::of(cells().filter_map(Cell::number)).mean(),
    }
}

/// The sum of the numbers; null where there are cells and none is a number.
fn sum_of<'c>(cells: impl Iterator<Item = &'c Cell> + Clone) -> Value {
    let mut numbers = cells.clone().filter_map(Cell::number).peekable();
    let is_missing = numbers.peek().is_none() && cells.clone().next().is_some();
    if is_missing { Value::Null } else { NumberSum::of(numbers).sum() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn total(values: Value) -> (Value, Value) {
        let cells: Vec<Cell> = values.as_array().unwrap().iter().map(Cell::from_value).collect();
        let mean = NumberSum::of(cells.iter().filter_map(Cell::number)).mean();
        (sum_of(cells.iter()), mean)
    }

    #[test]
    fn a_sum_is_exact_while_all_numbers_are_whole() {
        for (values, sum, mean) in [
            (json!([]), json!(0), json!(null)),
            (json!(["a", true]), json!(null), json!(null)),
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
        assert_eq!(named(AggregateFunction::Count, None), "count");
        let all = AggregateFunction::ALL.map(|function| named(function, Some("a")));
        assert_eq!(all.join(" "), "count(a) min(a) max(a) sum(a) avg(a) distinct(a)");
    }
}
