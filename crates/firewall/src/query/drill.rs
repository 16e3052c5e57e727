//! A part of a stored result.

use serde_json::Value;
use weaver_types::{Frame, RawResult, ResponseMode};

use super::HandleQuery;
use crate::error::HandleError;
use crate::frame::{Content, Page, Shape, compose, fill};
use crate::redact::Redactor;
use crate::spec::{FrameSpec, Limits};

/// A part of a stored result.
pub(crate) fn drill(
    redactor: &Redactor,
    raw: &RawResult,
    query: &HandleQuery,
    spec: &FrameSpec<'_>,
) -> Result<Frame, HandleError> {
    let mut limits = Limits::of(spec);
    check(query, &limits)?;
    if !query.fields.is_empty() {
        limits.allowed = Some(query.fields.iter().cloned().collect());
    }
    limits.mode = limits.mode.max(ResponseMode::Table);
    if spec.strict {
        limits.mode = limits.mode.max(ResponseMode::Summary);
    }
    let offset = usize::try_from(query.offset).unwrap_or(usize::MAX);
    let limit = query.limit.map_or(limits.rows, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let content = Content::read(&raw.content);
    let shape = if limits.mode == ResponseMode::Summary {
        slice(content.shape(), offset, limit)
    } else {
        content.shape()
    };
    let page = Page { shape, offset, limit };
    Ok(compose(redactor, raw, spec, &limits, |shower, draft| fill(&page, shower, draft)))
}

/// Nothing is cut silently to fit: what goes beyond the bounds is refused.
fn check(query: &HandleQuery, limits: &Limits) -> Result<(), HandleError> {
    let refuse = |detail| Err(HandleError::Constraint { detail });
    if query.limit.is_some_and(|limit| limit > limits.rows as u64) {
        return refuse(format!("`limit` may be at most {}", limits.rows));
    }
    if query.fields.len() > limits.fields {
        return refuse(format!("`fields` may name at most {}", limits.fields));
    }
    match query.fields.iter().find(|field| !limits.admits(field)) {
        // The name is not repeated: it is told apart from its neighbours by its place.
        Some(_) => refuse("`fields` names a field that may not be seen".to_owned()),
        None => Ok(()),
    }
}

fn slice(shape: Shape<'_>, offset: usize, limit: usize) -> Shape<'_> {
    let part = |items: &'_ [Value]| -> std::ops::Range<usize> {
        let start = offset.min(items.len());
        start..start.saturating_add(limit).min(items.len())
    };
    match shape {
        Shape::Rows { rows, around } => {
            Shape::Rows { rows: rows.get(part(rows)).unwrap_or_default(), around }
        }
        Shape::List(items) => Shape::List(items.get(part(items)).unwrap_or_default()),
        other => other,
    }
}
