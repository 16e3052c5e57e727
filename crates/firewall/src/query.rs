//! Queries on a stored result.

mod aggregate;
mod auto_answer;
mod cell;
mod column;
mod condition;
mod drill_down;
mod hidden_columns;
mod nested_rows;
mod number_style;
mod query_json;
mod redacted_rows;
mod result_source;
mod select;
mod sort;
#[cfg(test)]
mod tests;
mod text_excerpt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use drill_down::drill_down;
pub(crate) use query_json::{query_error, unknown_name_error};
pub(crate) use result_source::{QueryCache, ResultSource};

pub use aggregate::{Aggregate, AggregateFunction};
pub use condition::{Condition, Predicate};
pub use sort::SortKey;

use crate::error::HandleError;

/// A view of a stored result, requested by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRequest {
    /// The name of the view; one of those that the handle lists.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

impl ViewRequest {
    /// A view without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), args: Map::new() }
    }
}

/// A query on a stored result. First the view is rendered, then its rows are filtered, sorted and
/// aggregated, and finally a page and fields are selected.
///
/// Conditions, order and aggregates see values as they are shown, and only fields that may be
/// shown, so a query reveals nothing that looking at the rows would not.
///
/// ```
/// use serde_json::json;
/// use weaver_firewall::HandleQuery;
///
/// let query = HandleQuery::parse(&json!({
///     "filter": { "status": "open", "amount": { "gte": 100, "lt": 500 } },
///     "sort": ["-amount", "name"],
///     "offset": 10,
///     "fields": ["id", "amount"],
/// }))?;
/// assert_eq!((query.offset, query.limit, query.filter.len()), (10, None, 3));
///
/// let query = HandleQuery::parse(&json!({
///     "group_by": "region",
///     "aggregate": ["count", "sum(amount)"],
///     "sort": "-sum(amount)",
/// }))?;
/// assert_eq!(query.aggregate.len(), 2);
///
/// let wrong = HandleQuery::parse(&json!({ "filter": { "amount": { "gtee": 1 } } })).unwrap_err();
/// assert!(wrong.to_string().contains("`gte`"));
/// # Ok::<(), weaver_firewall::HandleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "Value")]
pub struct HandleQuery {
    /// The view whose rows are queried; without one, the rows of the result itself.
    pub view: Option<ViewRequest>,
    /// Conditions that a row must meet, all of them.
    pub filter: Vec<Condition>,
    /// The sort keys, most important first; without any, rows keep their order.
    pub sort: Vec<SortKey>,
    /// Groups rows by this field, with one row for each of its values; the aggregate is a count
    /// unless others are named.
    pub group_by: Option<String>,
    /// The aggregates, in one row or in one row for each group.
    pub aggregate: Vec<Aggregate>,
    /// How many rows to skip; 0 by default.
    pub offset: u64,
    /// How many characters to skip of the row at the offset, or of the JSON of a value that is not
    /// rows; 0 by default. It continues an answer that ended within such a part.
    pub char_offset: u64,
    /// The most rows; without it, as many as fit.
    pub limit: Option<u64>,
    /// Only these fields; all visible fields if empty.
    pub fields: Vec<String>,
}

impl HandleQuery {
    /// Reads a query. Nothing is guessed: an unknown key and a number that is no whole number
    /// from 0 on are errors.
    ///
    /// # Errors
    /// [`HandleError::Query`], naming the key, what it must be, and the key that was probably
    /// meant.
    pub fn parse(value: &Value) -> Result<Self, HandleError> {
        query_json::parse(value)
    }

    /// True if the rows are computed rather than stored.
    #[must_use]
    pub fn is_aggregated(&self) -> bool {
        !self.aggregate.is_empty() || self.group_by.is_some()
    }

    /// True if rows must be inspected before they are shown.
    fn is_selective(&self) -> bool {
        self.is_aggregated() || !self.filter.is_empty() || !self.sort.is_empty()
    }
}

impl TryFrom<Value> for HandleQuery {
    type Error = HandleError;

    fn try_from(value: Value) -> Result<Self, HandleError> {
        Self::parse(&value)
    }
}

impl Serialize for HandleQuery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        query_json::to_json(self).serialize(serializer)
    }
}
