//! A part of a stored result.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use weaver_types::{Digest, Frame, JsonRows, RawContent, RawResult, ResponseMode};

use super::auto_answer::Question;
use super::column::{CellViewer, Columns, VALUE};
use super::select::{QueryOutcome, Selector};
use super::{HandleQuery, redacted_rows, wrong};
use crate::content::{Content, Rows, Shape, ValueRenderer};
use crate::error::HandleError;
use crate::frame::fit::Draft;
use crate::frame::{ResultWindow, compose, fill};
use crate::redact::{Counts, Disclosure, MaskState, Redactor};
use crate::spec::{FrameSpec, Limits};
use crate::tabular;
use crate::view::ViewRegistry;

/// What was computed of a result, for the next question about it by a reader of the same kind.
#[derive(Debug, Default)]
pub(crate) struct QueryCache {
    /// The capability, whether the reader may see personal data, what its contract shows, and whose
    /// masks stand in it: what redaction depends on. The fingerprint alone does not tell what a
    /// contract shows.
    seen_as: OnceLock<(Digest, bool, Disclosure, Option<MaskState>)>,
    columns: Columns,
    value: OnceLock<Value>,
    rows: OnceLock<Option<JsonRows>>,
    text: OnceLock<String>,
}

impl QueryCache {
    /// True when what was computed holds for this spec and these masks too.
    pub(crate) fn holds_for(&self, spec: &FrameSpec<'_>, masks: Option<MaskState>) -> bool {
        let fingerprint = spec.capability.fingerprint();
        let now = (fingerprint, spec.pii_reader, spec.disclosure(), masks);
        *self.seen_as.get_or_init(|| now.clone()) == now
    }
}

/// A result that is looked into, with what was computed of it before.
pub(crate) struct Source<'a> {
    pub(crate) raw: &'a RawResult,
    pub(crate) memo: &'a QueryCache,
    /// The name of the stored bytes, if it is known.
    pub(crate) digest: Option<&'a str>,
}

impl Source<'_> {
    /// The text of a result that is text.
    pub(crate) fn text(&self) -> Result<&str, HandleError> {
        match &self.raw.content {
            RawContent::Text(text) | RawContent::Json(Value::String(text)) => Some(text.as_str()),
            RawContent::Binary { bytes, .. } => crate::tabular::text_of(bytes),
            RawContent::Json(_) | RawContent::Rows(_) => None,
        }
        .ok_or_else(|| wrong("the content is no text".to_owned()))
    }

    /// The whole text, redacted.
    pub(crate) fn redacted_text(
        &self,
        renderer: &mut ValueRenderer<'_>,
    ) -> Result<&str, HandleError> {
        let text = self.text()?;
        Ok(self.memo.text.get_or_init(|| renderer.redacted(text)))
    }

    /// The rows of a result that is kept as rows, redacted; none where it is redacted as a tree.
    pub(crate) fn redacted_rows(&self, renderer: &ValueRenderer<'_>) -> Option<&JsonRows> {
        let RawContent::Rows(rows) = &self.raw.content else { return None };
        let names = || renderer.limits.names();
        self.memo
            .rows
            .get_or_init(|| redacted_rows::rows(rows, renderer.redactor(), names))
            .as_ref()
    }

    /// The whole value, redacted.
    pub(crate) fn redacted_value(
        &self,
        renderer: &ValueRenderer<'_>,
    ) -> Result<&Value, HandleError> {
        let names = || renderer.limits.names();
        let redact =
            |value: &Value| renderer.redactor().value_named(value, names(), &mut Counts::new());
        let value = match &self.raw.content {
            RawContent::Json(value) => self.memo.value.get_or_init(|| redact(value)),
            RawContent::Rows(rows) => self.memo.value.get_or_init(|| {
                let redacted = self.redacted_rows(renderer).map(JsonRows::to_value);
                redacted.unwrap_or_else(|| redact(&rows.to_value()))
            }),
            RawContent::Text(_) | RawContent::Binary { .. } => {
                if let Some(value) = self.memo.value.get() {
                    return Ok(value);
                }
                let value = serde_json::from_str(self.text()?.trim())
                    .map_err(|_| wrong("the content is no JSON".to_owned()))?;
                self.memo.value.get_or_init(|| redact(&value))
            }
        };
        Ok(value)
    }
}

/// A part of a stored result.
pub(crate) fn drill(
    redactor: &Redactor,
    views: &ViewRegistry,
    source: &Source<'_>,
    query: &HandleQuery,
    spec: &FrameSpec<'_>,
) -> Result<Frame, HandleError> {
    let mut limits = limits(spec);
    let raw = source.raw;
    if limits.mode == ResponseMode::HandleOnly {
        check(query, redactor, &limits)?;
        return Ok(compose(redactor, raw, spec, &limits, |_, _| ()));
    }
    let is_auto = limits.mode == ResponseMode::Auto;
    let Some(request) = &query.view else {
        check(query, redactor, &limits)?;
        if is_auto {
            let order = tabular::names_in_order(raw);
            let question = Question { redactor, query, spec, limits, is_text: false, order };
            let content = Content::read_rows(&raw.content);
            return question.answer(source, &content, &source.memo.columns);
        }
        let asked = DrillDown { redactor, query, spec, limits, raw, omitted: Vec::new() };
        return asked.answer(&Content::read(&raw.content), &source.memo.columns);
    };
    let viewed = {
        let within = limits.clone();
        views.render(source, request, &mut ValueRenderer::new(redactor, &within))?
    };
    if viewed.free {
        limits.allowed = None;
    }
    if viewed.summary {
        limits.mode = limits.mode.max(ResponseMode::Summary);
    }
    // The masks in what is redacted already are ours; those in anything else are words of a server.
    let redactor = if viewed.is_redacted { &redactor.again() } else { redactor };
    check(query, redactor, &limits)?;
    if limits.mode == ResponseMode::Auto {
        let order = tabular::names_in_order(raw);
        let is_text = viewed.is_text;
        let question = Question { redactor, query, spec, limits, is_text, order };
        return question.answer(source, &viewed.content, &Columns::default());
    }
    let asked = DrillDown { redactor, query, spec, limits, raw, omitted: viewed.omitted };
    asked.answer(&viewed.content, &Columns::default())
}

fn limits(spec: &FrameSpec<'_>) -> Limits {
    let mut limits = Limits::of(spec);
    if limits.mode != ResponseMode::Auto {
        limits.mode = limits.mode.max(ResponseMode::Table);
    }
    if spec.strict {
        limits.mode = limits.mode.max(ResponseMode::Summary);
    }
    limits
}

/// Nothing is cut silently to fit: what goes beyond the bounds is refused.
fn check(query: &HandleQuery, redactor: &Redactor, limits: &Limits) -> Result<(), HandleError> {
    let refuse = |detail| Err(HandleError::Constraint { detail });
    if query.limit.is_some_and(|limit| limit > limits.rows as u64) {
        return refuse(format!("`limit` may be at most {}", limits.rows));
    }
    if query.fields.len() > limits.fields {
        return refuse(format!("`fields` may name at most {}", limits.fields));
    }
    if query.group_by.is_some() && limits.mode > ResponseMode::Table {
        return refuse("`group_by` gives rows, and no rows may be seen here".to_owned());
    }
    let viewer = CellViewer::new(redactor, limits);
    let is_seen = |field: &String| limits.admits(field) && viewer.is_name_visible(field);
    match query.fields.iter().find(|field| !is_seen(field)) {
        // The name is not repeated: it is told apart from its neighbours by its place.
        Some(_) => refuse("`fields` names a field that may not be seen".to_owned()),
        None => Ok(()),
    }
}

/// A question on the way to its answer.
#[derive(Clone)]
struct DrillDown<'a> {
    redactor: &'a Redactor,
    query: &'a HandleQuery,
    spec: &'a FrameSpec<'a>,
    limits: Limits,
    raw: &'a RawResult,
    /// What a view left out.
    omitted: Vec<(&'static str, usize)>,
}

impl DrillDown<'_> {
    fn offset(&self) -> usize {
        usize::try_from(self.query.offset).unwrap_or(usize::MAX)
    }

    fn limit(&self) -> usize {
        let limit = self.query.limit;
        limit.map_or(self.limits.rows, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// The limits for what is shown of rows: only the fields that are asked for.
    fn shown(&self) -> Limits {
        let mut limits = self.limits.clone();
        if !self.query.fields.is_empty() {
            limits.allowed = Some(self.query.fields.iter().cloned().collect());
        }
        limits
    }

    fn answer(&self, content: &Content<'_>, columns: &Columns) -> Result<Frame, HandleError> {
        if self.query.is_selective() {
            self.selection(content, columns)
        } else {
            Ok(self.rows_frame(content))
        }
    }

    /// A frame without parts, for a `limit` of 0. The parts are counted.
    fn nothing(&self, parts: usize) -> Frame {
        let left = parts.saturating_sub(self.offset());
        self.compose(&self.limits, |renderer, _| renderer.omit("rows_omitted", left))
    }

    /// Rows as they came.
    fn rows_frame(&self, content: &Content<'_>) -> Frame {
        if self.query.limit == Some(0) {
            return self.nothing(parts_of(&content.shape()));
        }
        let (offset, limit) = (self.offset(), self.limit());
        let shape = if self.limits.mode == ResponseMode::Summary {
            slice(content.shape(), offset, limit)
        } else {
            content.shape()
        };
        let window = ResultWindow { shape, offset, limit };
        self.compose(&self.shown(), |renderer, draft| fill(&window, renderer, draft))
    }

    /// Rows that were looked into. Masks in those that are made of what was redacted are ours.
    fn selection(&self, content: &Content<'_>, columns: &Columns) -> Result<Frame, HandleError> {
        let rows = rows(content, self.redactor, &self.limits)?;
        if rows.is_redacted() {
            let again = &self.redactor.again();
            return DrillDown { redactor: again, ..self.clone() }.selected(rows.rows(), columns);
        }
        self.selected(rows.rows(), columns)
    }

    fn selected(&self, rows: Rows<'_>, columns: &Columns) -> Result<Frame, HandleError> {
        let selector = Selector::new(self.redactor, &self.limits, rows, columns)?;
        Ok(match selector.select(self.query)? {
            QueryOutcome::Rows(numbers) if self.limits.mode == ResponseMode::Table => {
                self.compose(&self.shown(), |renderer, draft| {
                    self.table(rows.numbered(&numbers), renderer, draft);
                })
            }
            QueryOutcome::Rows(numbers) if self.query.limit == Some(0) => {
                self.nothing(numbers.len())
            }
            QueryOutcome::Computed(rows) if self.query.limit == Some(0) => self.nothing(rows.len()),
            QueryOutcome::Rows(numbers) => self.summary(rows.numbered(&numbers)),
            QueryOutcome::Computed(rows) => {
                let again = &self.redactor.again();
                DrillDown { redactor: again, ..self.clone() }.computed(&rows)
            }
        })
    }

    fn table(&self, rows: Rows<'_>, renderer: &mut ValueRenderer<'_>, draft: &mut Draft) {
        let limit = self.limit().min(renderer.limits.rows);
        let after = rows.after(self.offset());
        let found = after.part(0..limit);
        draft.rows = found.iter().filter_map(|row| renderer.row(&row, 1)).collect();
        renderer.omit("rows_omitted", after.len().saturating_sub(limit));
        if !self.query.filter.is_empty() {
            draft.facts = vec![format!("Matching rows: {}", rows.len())].into();
        }
    }

    /// Facts about the rows of the page.
    fn summary(&self, rows: Rows<'_>) -> Frame {
        let window = rows.after(self.offset()).part(0..self.limit());
        let window = Value::Array(window.iter().map(Cow::into_owned).collect());
        let content = Content::Json(Cow::Borrowed(&window));
        let window = ResultWindow { shape: content.shape(), offset: 0, limit: self.limit() };
        self.compose(&self.shown(), |renderer, draft| fill(&window, renderer, draft))
    }

    /// Rows that were computed of what may be seen.
    fn computed(&self, rows: &[Value]) -> Frame {
        let mut limits = self.limits.clone();
        limits.allowed = None;
        let (offset, limit) = (self.offset(), self.limit());
        let shape = match rows {
            [Value::Object(only)] if self.query.group_by.is_none() => Shape::Object(only),
            rows => Shape::Rows { rows: rows.into(), around: Vec::new() },
        };
        let window = ResultWindow { shape, offset, limit };
        self.compose(&limits, |renderer, draft| fill(&window, renderer, draft))
    }

    fn compose(
        &self,
        limits: &Limits,
        fill: impl FnOnce(&mut ValueRenderer<'_>, &mut Draft),
    ) -> Frame {
        compose(self.redactor, self.raw, self.spec, limits, |renderer, draft| {
            for (kind, count) in &self.omitted {
                renderer.omit(kind, *count);
            }
            fill(renderer, draft);
        })
    }
}

/// How many parts there are to page through: rows, lines, or the one value.
pub(super) fn parts_of(shape: &Shape<'_>) -> usize {
    match shape {
        Shape::Rows { rows, .. } => rows.len(),
        Shape::List(items) => items.len(),
        Shape::Text(text) => text.lines().count(),
        Shape::Object(_) | Shape::Scalar(_) | Shape::Binary { .. } => 1,
    }
}

/// The rows of content that can be looked into.
pub(super) enum QueryRows<'c> {
    Stored(Rows<'c>),
    Made(Vec<Value>),
    /// The lines of a redacted text.
    Lines(Vec<Value>),
}

impl QueryRows<'_> {
    pub(super) fn rows(&self) -> Rows<'_> {
        match self {
            Self::Stored(rows) => *rows,
            Self::Made(rows) | Self::Lines(rows) => rows.as_slice().into(),
        }
    }

    /// Whether the masks in them are ours.
    pub(super) fn is_redacted(&self) -> bool {
        matches!(self, Self::Lines(_))
    }
}

/// The rows that can be looked into. A text is redacted whole before it is cut into lines, so that
/// no value hides in a line break.
pub(super) fn rows<'c>(
    content: &'c Content<'_>,
    redactor: &Redactor,
    limits: &Limits,
) -> Result<QueryRows<'c>, HandleError> {
    Ok(match content.shape() {
        Shape::Rows { rows, .. } => QueryRows::Stored(rows),
        Shape::List(items) => QueryRows::Stored(items.into()),
        Shape::Object(map) => QueryRows::Made(vec![Value::Object(map.clone())]),
        Shape::Scalar(value) => QueryRows::Made(vec![value.clone()]),
        Shape::Text(text) => {
            let redacted = ValueRenderer::new(redactor, limits).redacted(text);
            let line =
                |line: &str| Value::Object(Map::from_iter([(VALUE.to_owned(), Value::from(line))]));
            QueryRows::Lines(redacted.lines().map(line).collect())
        }
        Shape::Binary { .. } => {
            let detail = "the result is binary and has no rows; ask for a view".to_owned();
            return Err(HandleError::Constraint { detail });
        }
    })
}

fn slice(shape: Shape<'_>, offset: usize, limit: usize) -> Shape<'_> {
    match shape {
        Shape::Rows { rows, around } => {
            Shape::Rows { rows: rows.after(offset).part(0..limit), around }
        }
        Shape::List(items) => {
            let start = offset.min(items.len());
            let end = start.saturating_add(limit).min(items.len());
            Shape::List(items.get(start..end).unwrap_or_default())
        }
        other => other,
    }
}
