//! A request for an excerpt, and the excerpt.

use serde_json::{Value, json};

use super::RenderBudget;
use crate::content::{Content, Rows, ValueRenderer};
use crate::spec::EffectiveLimits;
use crate::summary;

/// Which part of some content to show, and within which budget.
pub(crate) struct ExcerptRequest<'a> {
    pub(crate) content: &'a Content<'a>,
    /// Rows to skip.
    pub(crate) offset: usize,
    /// The most rows to show.
    pub(crate) limit: usize,
    pub(crate) budget: RenderBudget,
    /// Columns that come first, in the requested order.
    pub(crate) columns: &'a [String],
    /// The column order in the text that the rows were parsed from, if known.
    pub(crate) column_order: &'a [String],
    /// True for the first look at a result, which describes all of it; a later page only continues.
    pub(crate) is_first_page: bool,
}

/// The shown text, a note on what is missing, and the query that shows more.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
    pub(crate) next: Option<Value>,
}

/// Facts about all rows, as many as fit into a quarter of the budget.
pub(super) fn facts(
    rows: Rows<'_>,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
    renderer: &mut ValueRenderer<'_>,
) -> Vec<String> {
    let mut left = request.budget.tokens / 4;
    let all = summary::column_facts(rows, renderer);
    let total = all.len();
    let mut shown = Vec::new();
    for fact in all {
        let size = request.budget.token_count(&fact, limits);
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

/// The query for the rows from this offset on.
pub(super) fn next_rows_query(offset: usize) -> Value {
    json!({ "offset": offset })
}
