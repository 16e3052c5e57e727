//! The most useful part of content that is too large, in its own form.
//!
//! - Rows: as many as fit, as a table with one head, and facts about all of them.
//! - Text: head and tail at line borders; in a page of it, what comes first.
//! - Other JSON: lists shortened and levels left out, each with a count in its place.
//!
//! An excerpt says in one line what is missing, and gives the query that shows it.

use serde_json::{Value, json};

use super::faithful::Masker;
use super::{RenderBudget, pruned, table, text};
use crate::frame::{Content, Rows, Shape, ValueRenderer};
use crate::redact::Redactor;
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

/// An excerpt of a part.
pub(crate) fn of_content(
    redactor: &Redactor,
    limits: &Limits,
    part: &Part<'_>,
    masker: &mut Masker<'_>,
) -> Excerpt {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let excerpt = match part.content.shape() {
        Shape::Rows { rows, around } if table::is_flat(rows) || part.offset > 0 => {
            let excerpt = table::excerpt(rows, part, limits, &mut renderer);
            if around.is_empty() || !part.first {
                excerpt
            } else {
                with_facts(excerpt, part, limits, &mut renderer)
            }
        }
        Shape::List(items) if part.offset > 0 => {
            table::excerpt(items.into(), part, limits, &mut renderer)
        }
        Shape::Text(text) if limits.admits("value") => {
            let shown = masker.text(text);
            return text::excerpt(&shown, part, limits);
        }
        Shape::Text(_) => withheld("The text is not shown: only named fields may be seen here."),
        Shape::Binary { media_type, len } => Excerpt {
            text: format!("({media_type}, {len} bytes, not shown)"),
            note: None,
            next: None,
        },
        _ => match part.content {
            Content::Json(value) => pruned::excerpt(value, part, limits, redactor, masker),
            Content::Rows(rows) => {
                pruned::excerpt(&rows.to_value(), part, limits, redactor, masker)
            }
            _ => withheld("Nothing of it may be shown."),
        },
    };
    masker.add(renderer.counts());
    excerpt
}

/// An excerpt of rows from the offset of a part on.
pub(crate) fn of_rows(
    redactor: &Redactor,
    limits: &Limits,
    rows: Rows<'_>,
    part: &Part<'_>,
    masker: &mut Masker<'_>,
) -> Excerpt {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let excerpt = table::excerpt(rows, part, limits, &mut renderer);
    masker.add(renderer.counts());
    excerpt
}

fn withheld(why: &str) -> Excerpt {
    Excerpt { text: String::new(), note: Some(why.to_owned()), next: None }
}

/// The fields around rows, before them.
fn with_facts(
    mut excerpt: Excerpt,
    part: &Part<'_>,
    limits: &Limits,
    renderer: &mut ValueRenderer<'_>,
) -> Excerpt {
    let Shape::Rows { around, .. } = part.content.shape() else { return excerpt };
    let beside: serde_json::Map<String, Value> = around
        .iter()
        .filter(|(name, _)| limits.admits(name))
        .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
        .collect();
    if !beside.is_empty() {
        let shown = Value::Object(renderer.object(&beside, 0)).to_string();
        excerpt.text = format!("{shown}\n{}", excerpt.text);
    }
    excerpt
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
