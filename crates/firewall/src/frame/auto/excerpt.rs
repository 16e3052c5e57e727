//! Excerpts of content that is too large, according to its format.
//!
//! - Rows: as many as fit, as a table with one header, and facts about all of them.
//! - Text: head and tail, cut between lines; on a later page, the beginning.
//! - Other JSON: shortened lists and omitted levels, each with a count in its place; then the JSON
//!   itself, by its characters.
//!
//! An excerpt says in one line what is missing and where the rest begins.

use serde_json::Value;

use super::RenderBudget;
use super::excerpt_request::{Excerpt, ExcerptRequest};
use super::pruned_json::JsonExcerpt;
use super::verbatim_content::Masker;
use super::{table, text};
use crate::content::{Content, Rows, Shape, ValueRenderer};
use crate::redact::Redactor;
use crate::spec::EffectiveLimits;

/// The fields around rows may take this fraction of the budget; larger ones are shown as a tree.
const WRAPPER_DIVISOR: usize = 4;

/// The excerpt for a request; `None` if the value ends before the requested character.
pub(crate) fn of_content(
    redactor: &Redactor,
    limits: &EffectiveLimits,
    request: &ExcerptRequest<'_>,
    masker: &mut Masker<'_>,
) -> Option<Excerpt> {
    if request.offset > 0 {
        match request.content.shape() {
            Shape::Rows { rows, .. } => return of_rows(redactor, limits, rows, request, masker),
            Shape::List(items) => return of_rows(redactor, limits, items.into(), request, masker),
            _ => {}
        }
    }
    let json = JsonExcerpt { redactor, limits, request, is_item: false };
    let shape = request.content.shape();
    let rows_key = wrapped_rows_key(request.content);
    match shape {
        Shape::Rows { rows, wrapper_fields }
            if request.char_offset == 0 && table::is_flat(rows) =>
        {
            let shown = table_with_wrapper(rows, &wrapper_fields, redactor, limits, request);
            if let Some((excerpt, renderer)) = shown {
                masker.add_counts(renderer.into_warning_counts());
                return Some(excerpt);
            }
        }
        Shape::Text(text) if limits.may_show_field("value") => {
            let shown = masker.text(text);
            let redacted = || masker.redacted_text(text, &shown);
            return Some(text::excerpt(&shown, redacted, request, limits));
        }
        Shape::Text(_) => {
            return Some(withheld_excerpt(
                "The text is not shown: only named fields may be seen here.",
            ));
        }
        Shape::Scalar(_) if !limits.may_show_field("value") => {
            return Some(withheld_excerpt(
                "The value is not shown: only named fields may be seen here.",
            ));
        }
        Shape::Binary { media_type, len } => {
            return Some(Excerpt::whole(format!("({media_type}, {len} bytes, not shown)")));
        }
        _ => {}
    }
    // Only rows leave out the fields that may not be shown.
    match request.content.shape() {
        Shape::Rows { rows, .. } if limits.restricts_fields() => {
            return of_rows(redactor, limits, rows, request, masker);
        }
        Shape::List(items) if limits.restricts_fields() => {
            return of_rows(redactor, limits, items.into(), request, masker);
        }
        _ => {}
    }
    match request.content {
        Content::Json(value) => json.of_value(value, rows_key.as_deref(), masker),
        Content::Rows(rows) => json.of_value(&rows.to_value(), rows_key.as_deref(), masker),
        _ => Some(withheld_excerpt("Nothing of it may be shown.")),
    }
}

/// An excerpt of rows, from the offset of the request on. `None` if the row there ends before the
/// requested character.
pub(crate) fn of_rows(
    redactor: &Redactor,
    limits: &EffectiveLimits,
    rows: Rows<'_>,
    request: &ExcerptRequest<'_>,
    masker: &mut Masker<'_>,
) -> Option<Excerpt> {
    if request.char_offset == 0 {
        let mut renderer = ValueRenderer::new(redactor, limits);
        let excerpt = table::excerpt(rows, request, limits, &mut renderer);
        if excerpt.is_some() {
            masker.add_counts(renderer.into_warning_counts());
            return excerpt;
        }
    }
    JsonExcerpt { redactor, limits, request, is_item: true }.of_row(rows, masker)
}

fn withheld_excerpt(why: &str) -> Excerpt {
    Excerpt { text: String::new(), note: Some(why.to_owned()), rest: None }
}

/// The key of the rows in an object that is only a wrapper around them.
fn wrapped_rows_key(content: &Content<'_>) -> Option<String> {
    match content {
        Content::Json(value) if matches!(content.shape(), Shape::Rows { .. }) => {
            let rows = value.as_object()?.iter().find(|(_, value)| value.is_array());
            rows.map(|(key, _)| key.clone())
        }
        Content::Rows(rows) => rows.key().map(str::to_owned),
        _ => None,
    }
}

/// The rows as a table, after the fields around them. `None` if the first row or those fields are
/// too large.
fn table_with_wrapper<'a>(
    rows: Rows<'_>,
    wrapper_fields: &[(&str, &Value)],
    redactor: &'a Redactor,
    limits: &'a EffectiveLimits,
    request: &ExcerptRequest<'_>,
) -> Option<(Excerpt, ValueRenderer<'a>)> {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let visible_fields: serde_json::Map<String, Value> = wrapper_fields
        .iter()
        .filter(|(name, _)| limits.may_show_field(name))
        .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
        .collect();
    if visible_fields.is_empty() {
        let excerpt = table::excerpt(rows, request, limits, &mut renderer)?;
        return Some((excerpt, renderer));
    }
    let around = Value::Object(renderer.object(&visible_fields, 0)).to_string();
    let RenderBudget { tokens, chars } = request.budget;
    let share = RenderBudget { tokens: tokens / WRAPPER_DIVISOR, chars };
    if !share.fits_text(&around, limits) {
        return None;
    }
    let tokens = tokens.saturating_sub(share.token_count(&around, limits)).saturating_sub(1);
    let budget = RenderBudget { tokens, chars };
    let request = ExcerptRequest { budget, ..*request };
    let mut excerpt = table::excerpt(rows, &request, limits, &mut renderer)?;
    excerpt.text = format!("{around}\n{}", excerpt.text);
    Some((excerpt, renderer))
}
