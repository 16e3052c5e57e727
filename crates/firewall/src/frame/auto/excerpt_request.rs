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
    /// Characters to skip of the row at the offset, or of a value that is not rows.
    pub(crate) char_offset: usize,
    /// The most rows that were asked for; `None` for all.
    pub(crate) limit: Option<usize>,
    pub(crate) budget: RenderBudget,
    /// Columns that come first, in the requested order.
    pub(crate) columns: &'a [String],
    /// The column order in the text that the rows were parsed from, if known.
    pub(crate) column_order: &'a [String],
    /// What stands between the cells of a table.
    pub(crate) separator: char,
    /// True for the first look at a result, which describes all of it; a later page only continues.
    pub(crate) is_first_page: bool,
    /// True if the content has the views of JSON.
    pub(crate) has_json_views: bool,
}

/// The shown text, a note on what is missing, and where the rest begins.
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
    pub(crate) rest: Option<Continuation>,
}

impl Excerpt {
    /// An excerpt after which nothing is left.
    pub(crate) fn whole(text: String) -> Self {
        Self { text, note: None, rest: None }
    }
}

/// Where the part of a result begins that an excerpt leaves out. Everything before it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// Lines of a text; the end is exclusive.
    Lines { start: usize, end: usize },
    /// Characters of a text; the end is exclusive, and `None` for that of the text.
    Characters { start: usize, end: Option<usize> },
    /// Rows, without the first characters of the first of them.
    Rows { offset: usize, char_offset: usize },
    /// The characters of the JSON of a value.
    ValueCharacters(usize),
    /// The characters of a text within the value, if nothing else was left out. The second position
    /// is the same place in the JSON of the value.
    TextCharacters { path: String, start: usize, in_value: usize },
}

impl Continuation {
    /// The query that continues the first frame of a result.
    pub(super) fn into_first_query(self, has_json_views: bool) -> Value {
        match self {
            Self::Lines { start, end } => {
                json!({ "view": "lines", "args": { "start": start, "end": end } })
            }
            Self::Characters { start, end } => {
                json!({ "view": "chars", "args": { "start": start, "end": end } })
            }
            Self::Rows { offset, char_offset: 0 } => json!({ "offset": offset }),
            Self::Rows { offset, char_offset } => {
                json!({ "offset": offset, "char_offset": char_offset })
            }
            Self::ValueCharacters(start) if has_json_views => {
                json!({ "view": "get", "char_offset": start })
            }
            Self::ValueCharacters(start) => json!({ "char_offset": start }),
            Self::TextCharacters { path, start, .. } => {
                json!({ "view": "chars", "args": { "path": path, "start": start } })
            }
        }
    }
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
