//! Selects, sorts and aggregates rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::aggregate::{self, Aggregate, ColumnAggregate, Function, GroupColumn};
use super::column::{CellViewer, Column, Columns, VALUE};
use super::condition::{Condition, PreparedCondition};
use super::sort::{SortKey, sort};
use super::{HandleQuery, unknown, wrong};
use crate::content::Rows;
use crate::error::HandleError;
use crate::redact::Redactor;
use crate::spec::Limits;

/// The most rows that a query looks into.
const MAX_ROWS: usize = 1_000_000;

/// Rows whose fields are named where a question names none of them.
const MAX_NAMING_ROWS: usize = 1_000;
/// The most fields that are named.
const MAX_NAMED: usize = 40;

/// What a query comes to.
pub(super) enum QueryOutcome {
    /// The numbers of rows, in order.
    Rows(Vec<u32>),
    /// Rows that were computed.
    Computed(Vec<Value>),
}

/// Selects among rows.
pub(super) struct Selector<'a> {
    rows: Rows<'a>,
    columns: &'a Columns,
    viewer: CellViewer<'a>,
    limits: &'a Limits,
}

impl<'a> Selector<'a> {
    pub(super) fn new(
        redactor: &'a Redactor,
        limits: &'a Limits,
        rows: Rows<'a>,
        columns: &'a Columns,
    ) -> Result<Self, HandleError> {
        if rows.len() > MAX_ROWS {
            let detail = format!(
                "the result has {} rows; filter, sort and aggregate look into at most {MAX_ROWS}",
                rows.len()
            );
            return Err(HandleError::Constraint { detail });
        }
        Ok(Self { rows, columns, viewer: CellViewer::new(redactor, limits), limits })
    }

    pub(super) fn select(&self, query: &HandleQuery) -> Result<QueryOutcome, HandleError> {
        let mut rows = self.filter(&query.filter)?;
        if !query.is_aggregated() {
            self.sort(&mut rows, &query.sort)?;
            return Ok(QueryOutcome::Rows(rows));
        }
        let wanted = aggregates(query)
            .iter()
            .map(|aggregate| {
                let column = aggregate.field.as_ref().map(|field| self.column("aggregate", field));
                Ok(ColumnAggregate { aggregate: aggregate.clone(), column: column.transpose()? })
            })
            .collect::<Result<Vec<_>, HandleError>>()?;
        let group = match &query.group_by {
            Some(name) => Some(GroupColumn { name, column: self.column("group_by", name)? }),
            None => None,
        };
        let computed = aggregate::rows(&rows, group.as_ref(), &wanted)?;
        ordered(computed, query).map(QueryOutcome::Computed)
    }

    /// The column of a field that may be seen, under a name that may be seen.
    fn column(&self, part: &str, field: &str) -> Result<Arc<Column>, HandleError> {
        if !self.limits.admits(field) || !self.viewer.is_name_visible(field) {
            let detail = format!("`{part}` names a field that may not be seen");
            return Err(HandleError::Constraint { detail });
        }
        self.knows(part, field)?;
        Ok(self.columns.of(field, self.rows, &self.viewer))
    }

    /// Refuses a field that no row has, and names those there are.
    pub(super) fn knows(&self, part: &str, field: &str) -> Result<(), HandleError> {
        if self.rows.is_empty() || self.has(field) {
            return Ok(());
        }
        let fields = self.fields();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        Err(unknown(&format!("field in `{part}`"), field, &fields))
    }

    /// Whether any row has the field.
    fn has(&self, field: &str) -> bool {
        self.rows.iter().any(|row| match row.as_ref() {
            Value::Object(map) => map.contains_key(field),
            _ => field == VALUE,
        })
    }

    /// The fields that there are and may be seen, of the first rows.
    fn fields(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        let mut has_plain = false;
        for row in self.rows.part(0..MAX_NAMING_ROWS).iter() {
            match row.as_ref() {
                Value::Object(map) => {
                    let new = map.keys().filter(|name| !names.contains(*name));
                    names.extend(new.cloned().collect::<Vec<_>>());
                }
                _ => has_plain = true,
            }
        }
        let seen = names.into_iter().filter(|name| self.limits.admits(name));
        let mut seen: Vec<String> = seen.filter(|name| self.viewer.is_name_visible(name)).collect();
        if has_plain {
            seen.push(VALUE.to_owned());
        }
        seen.truncate(MAX_NAMED);
        seen
    }

    fn filter(&self, conditions: &[Condition]) -> Result<Vec<u32>, HandleError> {
        let count = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let Some((first, others)) = conditions.split_first() else {
            return Ok((0..count).collect());
        };
        let first = self.verdicts(first)?;
        let mut rows: Vec<u32> = (0..count).filter(|row| first.of(*row)).collect();
        for condition in others {
            let verdicts = self.verdicts(condition)?;
            rows.retain(|row| verdicts.of(*row));
        }
        Ok(rows)
    }

    fn verdicts(&self, condition: &Condition) -> Result<Verdicts, HandleError> {
        let column = self.column("filter", &condition.field)?;
        let asked = PreparedCondition::of(&condition.test);
        let holds = column.cells().iter().map(|cell| asked.holds(cell)).collect();
        Ok(Verdicts { column, holds })
    }

    fn sort(&self, rows: &mut [u32], keys: &[SortKey]) -> Result<(), HandleError> {
        let columns = keys
            .iter()
            .map(|key| Ok((self.column("sort", &key.field)?, key.descending)))
            .collect::<Result<Vec<_>, HandleError>>()?;
        let columns: Vec<(&Column, bool)> =
            columns.iter().map(|(column, descending)| (column.as_ref(), *descending)).collect();
        if !columns.is_empty() {
            sort(rows, &columns);
        }
        Ok(())
    }
}

/// What a condition says of each value of a column.
struct Verdicts {
    column: Arc<Column>,
    holds: Vec<bool>,
}

impl Verdicts {
    fn of(&self, row: u32) -> bool {
        self.column.code(row).and_then(|code| self.holds.get(code)).copied().unwrap_or(false)
    }
}

/// The aggregates of a query: a count, unless it names others.
fn aggregates(query: &HandleQuery) -> &[Aggregate] {
    const COUNT: &[Aggregate] = &[Aggregate { function: Function::Count, field: None }];
    if query.aggregate.is_empty() { COUNT } else { &query.aggregate }
}

/// Computed rows in the order of the query, whose keys name their fields.
fn ordered(rows: Vec<Value>, query: &HandleQuery) -> Result<Vec<Value>, HandleError> {
    if query.sort.is_empty() {
        return Ok(rows);
    }
    let group = query.group_by.as_deref();
    let names = aggregates(query).iter().map(|one| aggregate::column_name(one, group));
    let names: Vec<String> = names.chain(query.group_by.clone()).collect();
    let columns = query
        .sort
        .iter()
        .map(|key| {
            if names.contains(&key.field) {
                Ok((Column::plain(&rows, &key.field), key.descending))
            } else {
                Err(wrong(format!("with aggregates, `sort` takes {}", names.join(", "))))
            }
        })
        .collect::<Result<Vec<_>, HandleError>>()?;
    let columns: Vec<(&Column, bool)> =
        columns.iter().map(|(column, descending)| (column, *descending)).collect();
    let mut order: Vec<u32> = (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect();
    sort(&mut order, &columns);
    Ok(order.into_iter().filter_map(|row| rows.get(row as usize).cloned()).collect())
}
