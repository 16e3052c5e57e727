//! Filters, sorts and aggregates rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::aggregate::{self, Aggregate, AggregateFunction, ColumnAggregate, GroupColumn};
use super::column::{CellRenderer, Column, ColumnCache, VALUE_FIELD};
use super::condition::{Condition, PreparedCondition};
use super::sort::{SortKey, sort_rows};
use super::{HandleQuery, query_error, unknown_name_error};
use crate::content::Rows;
use crate::error::HandleError;
use crate::redact::Redactor;
use crate::spec::EffectiveLimits;

/// The most rows that a query may inspect.
const MAX_ROWS: usize = 1_000_000;

/// How many rows are inspected to list the existing fields in an error.
const MAX_NAMING_ROWS: usize = 1_000;
/// The most fields listed in an error.
const MAX_NAMED_FIELDS: usize = 40;

/// The result of a selection.
pub(super) enum QueryOutcome {
    /// The numbers of the selected rows, in order.
    Rows(Vec<u32>),
    /// Computed rows.
    Computed(Vec<Value>),
}

/// Selects rows of a result.
pub(super) struct Selector<'a> {
    rows: Rows<'a>,
    columns: &'a ColumnCache,
    viewer: CellRenderer<'a>,
    limits: &'a EffectiveLimits,
}

impl<'a> Selector<'a> {
    pub(super) fn new(
        redactor: &'a Redactor,
        limits: &'a EffectiveLimits,
        rows: Rows<'a>,
        columns: &'a ColumnCache,
    ) -> Result<Self, HandleError> {
        if rows.len() > MAX_ROWS {
            let detail = format!(
                "the result has {} rows; filter, sort and aggregate look into at most {MAX_ROWS}",
                rows.len()
            );
            return Err(HandleError::Constraint { detail });
        }
        Ok(Self { rows, columns, viewer: CellRenderer::new(redactor, limits), limits })
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
        let computed = aggregate::aggregate_rows(&rows, group.as_ref(), &wanted)?;
        sort_computed(computed, query).map(QueryOutcome::Computed)
    }

    /// The column of a field whose name and values may be seen.
    fn column(&self, part: &str, field: &str) -> Result<Arc<Column>, HandleError> {
        if !self.limits.may_show_field(field) || !self.viewer.is_name_visible(field) {
            let detail = format!("`{part}` names a field that may not be seen");
            return Err(HandleError::Constraint { detail });
        }
        self.check_field_exists(part, field)?;
        Ok(self.columns.get_or_build(field, self.rows, &self.viewer))
    }

    /// Refuses a field that no row has; the error names the fields that exist.
    pub(super) fn check_field_exists(&self, part: &str, field: &str) -> Result<(), HandleError> {
        if self.rows.is_empty() || self.has_field(field) {
            return Ok(());
        }
        let fields = self.visible_fields();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        Err(unknown_name_error(&format!("field in `{part}`"), field, &fields))
    }

    /// True if any row has the field.
    fn has_field(&self, field: &str) -> bool {
        self.rows.iter().any(|row| match row.as_ref() {
            Value::Object(map) => map.contains_key(field),
            _ => field == VALUE_FIELD,
        })
    }

    /// The visible fields of the first rows.
    fn visible_fields(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        let mut has_plain = false;
        for row in self.rows.slice(0..MAX_NAMING_ROWS).iter() {
            match row.as_ref() {
                Value::Object(map) => {
                    let new = map.keys().filter(|name| !names.contains(*name));
                    names.extend(new.cloned().collect::<Vec<_>>());
                }
                _ => has_plain = true,
            }
        }
        let seen = names.into_iter().filter(|name| self.limits.may_show_field(name));
        let mut seen: Vec<String> = seen.filter(|name| self.viewer.is_name_visible(name)).collect();
        if has_plain {
            seen.push(VALUE_FIELD.to_owned());
        }
        seen.truncate(MAX_NAMED_FIELDS);
        seen
    }

    fn filter(&self, conditions: &[Condition]) -> Result<Vec<u32>, HandleError> {
        let count = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let Some((first, others)) = conditions.split_first() else {
            return Ok((0..count).collect());
        };
        let first = self.verdicts(first)?;
        let mut rows: Vec<u32> = (0..count).filter(|row| first.matches(*row)).collect();
        for condition in others {
            let verdicts = self.verdicts(condition)?;
            rows.retain(|row| verdicts.matches(*row));
        }
        Ok(rows)
    }

    fn verdicts(&self, condition: &Condition) -> Result<ConditionMatches, HandleError> {
        let column = self.column("filter", &condition.field)?;
        let prepared = PreparedCondition::new(&condition.predicate);
        let by_value = column.cells().iter().map(|cell| prepared.matches(cell)).collect();
        Ok(ConditionMatches { column, by_value })
    }

    fn sort(&self, rows: &mut [u32], keys: &[SortKey]) -> Result<(), HandleError> {
        let columns = keys
            .iter()
            .map(|key| Ok((self.column("sort", &key.field)?, key.descending)))
            .collect::<Result<Vec<_>, HandleError>>()?;
        let columns: Vec<(&Column, bool)> =
            columns.iter().map(|(column, descending)| (column.as_ref(), *descending)).collect();
        if !columns.is_empty() {
            sort_rows(rows, &columns);
        }
        Ok(())
    }
}

/// Whether each dictionary value of a column meets a condition. Evaluating the distinct values once
/// makes the scan over the rows a table lookup.
struct ConditionMatches {
    column: Arc<Column>,
    by_value: Vec<bool>,
}

impl ConditionMatches {
    fn matches(&self, row: u32) -> bool {
        self.column.code(row).and_then(|code| self.by_value.get(code)).copied().unwrap_or(false)
    }
}

/// The aggregates of a query; a count unless it names others.
fn aggregates(query: &HandleQuery) -> &[Aggregate] {
    const COUNT: &[Aggregate] = &[Aggregate { function: AggregateFunction::Count, field: None }];
    if query.aggregate.is_empty() { COUNT } else { &query.aggregate }
}

/// Sorts computed rows by keys that name their own fields.
fn sort_computed(rows: Vec<Value>, query: &HandleQuery) -> Result<Vec<Value>, HandleError> {
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
                Ok((Column::from_visible_rows(&rows, &key.field), key.descending))
            } else {
                Err(query_error(format!("with aggregates, `sort` takes {}", names.join(", "))))
            }
        })
        .collect::<Result<Vec<_>, HandleError>>()?;
    let columns: Vec<(&Column, bool)> =
        columns.iter().map(|(column, descending)| (column, *descending)).collect();
    let mut order: Vec<u32> = (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect();
    sort_rows(&mut order, &columns);
    Ok(order.into_iter().filter_map(|row| rows.get(row as usize).cloned()).collect())
}
