//! From a raw result to a frame.

use serde_json::{Map, Value};
use weaver_types::{Frame, RawContent, RawResult, ResponseMode, Status, ToolProvenance, Warning};

use super::fit::{self, Draft};
use super::shape::{Content, Shape};
use super::shown::Shower;
use crate::error::HandleError;
use crate::query::HandleQuery;
use crate::redact::Redactor;
use crate::spec::{FrameSpec, Limits};
use crate::summary;

/// The longest source URI that is shown, in characters.
const MAX_URI: usize = 200;

/// The first frame of a result.
pub(crate) fn build(redactor: &Redactor, raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
    let mut limits = Limits::of(spec);
    if spec.strict {
        limits.mode = ResponseMode::HandleOnly;
    }
    if limits.mode == ResponseMode::Raw {
        return unredacted(raw, spec);
    }
    let content = Content::read(&raw.content);
    let shape = content.shape();
    let page = Page { shape, offset: 0, limit: limits.rows };
    compose(redactor, raw, spec, &limits, &page)
}

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
    Ok(compose(redactor, raw, spec, &limits, &Page { shape, offset, limit }))
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

/// A window of a result.
struct Page<'a> {
    shape: Shape<'a>,
    offset: usize,
    limit: usize,
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

fn compose(
    redactor: &Redactor,
    raw: &RawResult,
    spec: &FrameSpec<'_>,
    limits: &Limits,
    page: &Page<'_>,
) -> Frame {
    let mut shower = Shower::new(redactor, limits);
    let mut draft = Draft { frame: empty(raw, spec, limits.mode), ..Draft::default_for(spec) };
    match limits.mode {
        ResponseMode::Summary => draft.facts = summary::facts(&page.shape, &mut shower),
        ResponseMode::Table => table(page, &mut shower, &mut draft),
        ResponseMode::HandleOnly | ResponseMode::Raw => {}
    }
    if limits.mode == ResponseMode::HandleOnly && spec.handle.is_none() {
        shower.omit("no_handle", 1);
    }
    for finding in &raw.findings {
        shower.omit(finding, 1);
    }
    draft.frame.provenance = raw.provenance.as_ref().map(|source| ToolProvenance {
        source_uri: shower.string(&source.source_uri, MAX_URI),
        freshness_s: source.freshness_s,
    });
    draft.counts = shower.counts();
    fit::fit(draft, limits.chars)
}

/// The rows of a page, as many as the budget of rows allows.
fn table(page: &Page<'_>, shower: &mut Shower<'_>, draft: &mut Draft) {
    let limit = page.limit.min(shower.limits.rows);
    match &page.shape {
        Shape::Rows { rows, .. } => list(rows, page.offset, limit, shower, draft),
        Shape::List(items) => list(items, page.offset, limit, shower, draft),
        Shape::Object(map) => {
            if page.offset == 0 && limit > 0 {
                draft.rows.push(shower.object(map, 0));
            } else if page.offset == 0 {
                shower.omit("rows_omitted", 1);
            }
        }
        Shape::Scalar(value) => {
            if page.offset == 0 && limit > 0 {
                draft.rows.extend(shower.row(value, 0));
            }
        }
        Shape::Text(text) => lines(text, page.offset, limit, shower, draft),
        Shape::Binary { .. } => draft.facts = summary::facts(&page.shape, shower),
    }
}

fn list(items: &[Value], offset: usize, limit: usize, shower: &mut Shower<'_>, draft: &mut Draft) {
    let after = items.get(offset.min(items.len())..).unwrap_or_default();
    draft.rows.extend(after.iter().take(limit).filter_map(|item| shower.row(item, 1)));
    shower.omit("rows_omitted", after.len().saturating_sub(limit));
}

/// Lines of a text. It is redacted whole first, so that no value hides in a line break.
fn lines(text: &str, offset: usize, limit: usize, shower: &mut Shower<'_>, draft: &mut Draft) {
    if !shower.limits.admits("value") {
        shower.omit("text_withheld", 1);
        return;
    }
    let redacted = shower.redacted(text);
    let max = shower.limits.cell_chars();
    let mut rest = redacted.lines().skip(offset);
    for line in rest.by_ref().take(limit) {
        let mut row = Map::new();
        row.insert("value".to_owned(), Value::String(shower.cut(line, max)));
        draft.rows.push(row);
    }
    shower.omit("rows_omitted", rest.count());
}

/// A frame without content.
fn empty(raw: &RawResult, spec: &FrameSpec<'_>, mode: ResponseMode) -> Frame {
    let mut frame = fit::shell(spec);
    frame.mode = mode;
    frame.status = if raw.is_error { Status::Error } else { Status::Success };
    frame
}

/// The whole value as it came. Bytes are described, not shown.
fn unredacted(raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
    let mut frame = empty(raw, spec, ResponseMode::Raw);
    frame.raw = Some(match &raw.content {
        RawContent::Json(value) => value.clone(),
        RawContent::Text(text) => Value::String(text.clone()),
        RawContent::Binary { media_type, bytes } => {
            serde_json::json!({ "media_type": media_type, "byte_size": bytes.len() })
        }
    });
    frame.provenance.clone_from(&raw.provenance);
    frame.warnings.push(Warning { kind: "raw_unredacted".to_owned(), count: 1 });
    for finding in &raw.findings {
        frame.warnings.push(Warning { kind: (*finding).to_owned(), count: 1 });
    }
    frame
}
