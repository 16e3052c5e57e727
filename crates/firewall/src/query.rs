//! Questions about a stored result.

mod aggregate;
mod auto_answer;
mod cell;
mod column;
mod condition;
mod drill;
mod form;
mod redacted_rows;
mod select;
mod sort;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use drill::{QueryCache, Source, drill};
pub(crate) use form::{unknown, wrong};

pub use aggregate::{Aggregate, Function};
pub use condition::{Condition, Predicate};
pub use sort::SortKey;

use crate::error::HandleError;

/// A view of a stored result, asked for by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRequest {
    /// The name of the view, one of those that the handle lists.
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

/// A question about a stored result: first the view, then which of its rows, in which order, what
/// they come to, and which page and fields of that.
///
/// Conditions, order and aggregates see values as they are shown, and only fields that may be
/// shown: a question tells nothing that a look would not.
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
    /// The view whose rows are meant; without one, the rows of the result itself.
    pub view: Option<ViewRequest>,
    /// What must be true of a row, all of it.
    pub filter: Vec<Condition>,
    /// The order, most important key first; without one, as the rows came.
    pub sort: Vec<SortKey>,
    /// One row for each value of this field, with the aggregates; a count if there are none.
    pub group_by: Option<String>,
    /// What the rows come to, in one row or in one for each group.
    pub aggregate: Vec<Aggregate>,
    /// How many rows to pass over; 0 by default.
    pub offset: u64,
    /// How many rows at most; without it, as many as fit.
    pub limit: Option<u64>,
    /// Only these fields; all that may be seen when empty.
    pub fields: Vec<String>,
}

impl HandleQuery {
    /// Reads a query. Nothing is guessed: an unknown key and a number that is no whole number
    /// from 0 on are errors.
    ///
    /// # Errors
    /// [`HandleError::Query`], naming the key, what it must be, and the key probably meant.
    pub fn parse(value: &Value) -> Result<Self, HandleError> {
        form::parse(value)
    }

    /// True when rows come out that are computed, not stored.
    #[must_use]
    pub fn is_aggregated(&self) -> bool {
        !self.aggregate.is_empty() || self.group_by.is_some()
    }

    /// True when rows are looked into before they are shown.
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
        form::write(self).serialize(serializer)
    }
}
