//! The most useful part of content that is too large, in its own form.
//!
//! - Rows: as many as fit, as a table with one head, and facts about all of them.
//! - Text: head and tail at line borders; in a page of it, what comes first.
//! - Other JSON: lists shortened and levels left out, each with a count in its place.
//!
//! An excerpt says in one line what is missing, and gives the query that shows it.

use serde_json::Value;

use super::part::{Excerpt, Part};
use super::verbatim_content::Masker;
use super::{pruned_json, table, text};
use crate::content::{Content, Rows, Shape, ValueRenderer};
use crate::redact::Redactor;
use crate::spec::Limits;

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
            Content::Json(value) => pruned_json::excerpt(value, part, limits, redactor, masker),
            Content::Rows(rows) => {
                pruned_json::excerpt(&rows.to_value(), part, limits, redactor, masker)
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
