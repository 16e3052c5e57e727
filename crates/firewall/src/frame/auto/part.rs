//! A part of content that is asked for, and what is shown of it.

use serde_json::{Value, json};

use super::RenderBudget;
use crate::content::{Content, Rows, ValueRenderer};
use crate::spec::Limits;
use crate::summary;

/// A part of content that is asked for.
pub(crate) struct Part<'a> {
    pub(crate) content: &'a Content<'a>,
    /// The rows passed over.
    pub(crate) offset: usize,
    /// The most rows.
    pub(crate) limit: usize,
    pub(crate) space: RenderBudget,
    /// The columns of a table that come first, in the order in which they were asked for.
    pub(crate) columns: &'a [String],
    /// The order of columns in the text that the rows were read from, where it is known.
    pub(crate) order: &'a [String],
    /// True for the first look at a result, which tells of all of it; a page goes on from the one
    /// before.
    pub(crate) first: bool,
}

/// What is shown, what is missing, and the query that shows more.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
    pub(crate) next: Option<Value>,
}

/// Facts about all rows, as many as fit into a quarter of the space.
pub(super) fn facts(
    rows: Rows<'_>,
    part: &Part<'_>,
    limits: &Limits,
    renderer: &mut ValueRenderer<'_>,
) -> Vec<String> {
    let mut left = part.space.tokens / 4;
    let all = summary::columns_of(rows, renderer);
    let total = all.len();
    let mut shown = Vec::new();
    for fact in all {
        let size = part.space.size(&fact, limits);
        if size > left {
            break;
        }
        left -= size;
        shown.push(fact);
    }
    let missing = total - shown.len();
    if missing > 0 {
        shown.push(format!("… facts on {missing} more columns left out"));
    }
    shown
}

/// The query for the rows after these.
pub(super) fn rows_from(offset: usize) -> Value {
    json!({ "offset": offset })
}
