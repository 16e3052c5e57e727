//! Excerpts of content that is too large, according to its format.
//!
//! - Rows: as many as fit, as a table with one header, and facts about all of them.
//! - Text: head and tail, cut between lines; on a later page, the beginning.
//! - Other JSON: shortened lists and omitted levels, each with a count in its place.
//!
//! An excerpt says in one line what is missing and gives the query that shows it.

use serde_json::Value;

use super::excerpt_request::{Excerpt, ExcerptRequest};
use super::verbatim_content::Masker;
use super::{pruned_json, table, text};
use crate::content::{Content, Rows, Shape, ValueRenderer};
use crate::redact::Redactor;
use crate::spec::EffectiveLimits;

/// The excerpt for a request.
pub(crate) fn of_content(
    redactor: &Redactor,
    limits: &EffectiveLimits,
    request: &ExcerptRequest<'_>,
    masker: &mut Masker<'_>,
) -> Excerpt {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let excerpt = match request.content.shape() {
        Shape::Rows { rows, wrapper_fields } if table::is_flat(rows) || request.offset > 0 => {
            let excerpt = table::excerpt(rows, request, limits, &mut renderer);
            if wrapper_fields.is_empty() || !request.is_first_page {
                excerpt
            } else {
                with_facts(excerpt, request, limits, &mut renderer)
            }
        }
        Shape::List(items) if request.offset > 0 => {
            table::excerpt(items.into(), request, limits, &mut renderer)
        }
        Shape::Text(text) if limits.may_show_field("value") => {
            let shown = masker.text(text);
            return text::excerpt(&shown, request, limits);
        }
        Shape::Text(_) => {
            withheld_excerpt("The text is not shown: only named fields may be seen here.")
        }
        Shape::Binary { media_type, len } => Excerpt {
            text: format!("({media_type}, {len} bytes, not shown)"),
            note: None,
            next: None,
        },
        _ => match request.content {
            Content::Json(value) => pruned_json::excerpt(value, request, limits, redactor, masker),
            Content::Rows(rows) => {
                pruned_json::excerpt(&rows.to_value(), request, limits, redactor, masker)
            }
            _ => withheld_excerpt("Nothing of it may be shown."),
        },
    };
    masker.add_counts(renderer.into_warning_counts());
    excerpt
}

/// An excerpt of rows, from the offset of the request on.
pub(crate) fn of_rows(
    redactor: &Redactor,
    limits: &EffectiveLimits,
    rows: Rows<'_>,
    request: &ExcerptRequest<'_>,
    masker: &mut Masker<'_>,
) -> Excerpt {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let excerpt = table::excerpt(rows, request, limits, &mut renderer);
    masker.add_counts(renderer.into_warning_counts());
    excerpt
}

fn withheld_excerpt(why: &str) -> Excerpt {
    Excerpt { text: String::new(), note: Some(why.to_owned()), next: None }
}

/// Prepends the fields around the rows to the excerpt.
fn with_facts(
    mut excerpt: Excerpt,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
    renderer: &mut ValueRenderer<'_>,
) -> Excerpt {
    let Shape::Rows { wrapper_fields, .. } = request.content.shape() else { return excerpt };
    let visible_fields: serde_json::Map<String, Value> = wrapper_fields
        .iter()
        .filter(|(name, _)| limits.may_show_field(name))
        .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
        .collect();
    if !visible_fields.is_empty() {
        let shown = Value::Object(renderer.object(&visible_fields, 0)).to_string();
        excerpt.text = format!("{shown}\n{}", excerpt.text);
    }
    excerpt
}
