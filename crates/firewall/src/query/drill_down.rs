//! Drill-down: a frame for a part of a stored result.

use std::borrow::Cow;

use serde_json::{Map, Value};
use weaver_types::{Frame, RawResult, ResponseMode};

use super::auto_answer::AutoQuery;
use super::column::{CellRenderer, ColumnCache, VALUE_FIELD};
use super::result_source::ResultSource;
use super::select::{QueryOutcome, Selector};
use super::{HandleQuery, query_error};
use crate::content::{Content, Rows, Shape, ValueRenderer};
use crate::error::HandleError;
use crate::frame::fit::FrameDraft;
use crate::frame::{ResultWindow, compose_frame, fill_page};
use crate::redact::Redactor;
use crate::spec::{EffectiveLimits, FrameSpec};
use crate::tabular;
use crate::view::{ViewRegistry, ViewResult};

/// Answers a query on a stored result.
pub(crate) fn drill_down(
    redactor: &Redactor,
    views: &ViewRegistry,
    source: &ResultSource<'_>,
    query: &HandleQuery,
    spec: &FrameSpec<'_>,
) -> Result<Frame, HandleError> {
    let mut limits = drill_down_limits(spec);
    let raw = source.raw;
    if limits.mode == ResponseMode::HandleOnly {
        check_query(query, redactor, &limits)?;
        return Ok(compose_frame(redactor, raw, spec, &limits, |_, _| ()));
    }
    let is_auto = limits.mode == ResponseMode::Auto;
    if query.char_offset > 0 && !is_auto {
        return Err(query_error("`char_offset` only continues answers of mode `auto`".to_owned()));
    }
    let rows_view = super::nested_rows::rows_view(query, &raw.content);
    let Some(request) = query.view.as_ref().or(rows_view.as_ref()) else {
        check_query(query, redactor, &limits)?;
        if is_auto {
            let order = tabular::names_in_order(raw);
            let separator = tabular::separator_of(&raw.content);
            let content = Content::read_tabular(&raw.content);
            let path = crate::view::has_json_views(&raw.content).then(String::new);
            let (text, omitted) = (None, Vec::new());
            let auto_query =
                AutoQuery { redactor, query, spec, limits, text, path, omitted, order, separator };
            return auto_query.answer(source, &content, &source.cache.columns);
        }
        let drill_down = DrillDown { redactor, query, spec, limits, raw, omitted: Vec::new() };
        return drill_down.answer(&Content::read(&raw.content), &source.cache.columns);
    };
    let viewed = {
        let within = limits.clone();
        views.render(source, request, &mut ValueRenderer::new(redactor, &within))?
    };
    if viewed.is_unrestricted {
        limits.allowed = None;
    }
    if viewed.is_summary {
        limits.mode = limits.mode.max(ResponseMode::Summary);
    }
    // Masks in content that was already redacted are our own; in any other content they are a
    // server's words and must be masked.
    let redactor = if viewed.is_redacted { &redactor.for_redacted_text() } else { redactor };
    check_query(query, redactor, &limits)?;
    if limits.mode == ResponseMode::Auto {
        let order = tabular::names_in_order(raw);
        let separator = tabular::separator_of(&raw.content);
        let ViewResult { content, text, path, omitted, .. } = viewed;
        let auto_query =
            AutoQuery { redactor, query, spec, limits, text, path, omitted, order, separator };
        return auto_query.answer(source, &content, &ColumnCache::default());
    }
    let drill_down = DrillDown { redactor, query, spec, limits, raw, omitted: viewed.omitted };
    drill_down.answer(&viewed.content, &ColumnCache::default())
}

fn drill_down_limits(spec: &FrameSpec<'_>) -> EffectiveLimits {
    let mut limits = EffectiveLimits::from_spec(spec);
    if limits.mode != ResponseMode::Auto {
        limits.mode = limits.mode.max(ResponseMode::Table);
    }
    if spec.strict {
        limits.mode = limits.mode.max(ResponseMode::Summary);
    }
    limits
}

/// Checks the query against the limits. Nothing is silently reduced: what exceeds them is refused.
fn check_query(
    query: &HandleQuery,
    redactor: &Redactor,
    limits: &EffectiveLimits,
) -> Result<(), HandleError> {
    let refuse = |detail| Err(HandleError::Constraint { detail });
    if query.limit.is_some_and(|limit| limit > limits.rows as u64) {
        return refuse(format!("`limit` may be at most {}", limits.rows));
    }
    if query.fields.len() > limits.fields {
        return refuse(format!("`fields` may name at most {}", limits.fields));
    }
    if query.group_by.is_some() && limits.mode > ResponseMode::Table {
        return refuse("`group_by` returns rows, and no rows may be shown here".to_owned());
    }
    let viewer = CellRenderer::new(redactor, limits);
    let is_seen = |field: &String| limits.may_show_field(field) && viewer.is_name_visible(field);
    match query.fields.iter().find(|field| !is_seen(field)) {
        // The error does not repeat the name, which may itself be sensitive.
        Some(_) => refuse("`fields` names a field that may not be seen".to_owned()),
        None => Ok(()),
    }
}

/// A query while it is being answered.
#[derive(Clone)]
struct DrillDown<'a> {
    redactor: &'a Redactor,
    query: &'a HandleQuery,
    spec: &'a FrameSpec<'a>,
    limits: EffectiveLimits,
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

    /// The limits for showing rows: only the requested fields.
    fn display_limits(&self) -> EffectiveLimits {
        self.limits.clone().with_requested_fields(&self.query.fields)
    }

    fn answer(&self, content: &Content<'_>, columns: &ColumnCache) -> Result<Frame, HandleError> {
        if self.query.is_selective() {
            self.selective_frame(content, columns)
        } else {
            Ok(self.rows_frame(content))
        }
    }

    /// A frame without rows, for a `limit` of 0; the parts are counted.
    fn empty_frame(&self, parts: usize) -> Frame {
        let left = parts.saturating_sub(self.offset());
        self.compose(&self.limits, |renderer, _| renderer.omit("rows_omitted", left))
    }

    /// A frame of rows in stored order.
    fn rows_frame(&self, content: &Content<'_>) -> Frame {
        if self.query.limit == Some(0) {
            return self.empty_frame(part_count(&content.shape()));
        }
        let (offset, limit) = (self.offset(), self.limit());
        let shape = if self.limits.mode == ResponseMode::Summary {
            slice_shape(content.shape(), offset, limit)
        } else {
            content.shape()
        };
        let window = ResultWindow { shape, offset, limit };
        self.compose(&self.display_limits(), |renderer, draft| fill_page(&window, renderer, draft))
    }

    /// A frame of filtered or aggregated rows. Rows built from redacted text contain our own masks.
    fn selective_frame(
        &self,
        content: &Content<'_>,
        columns: &ColumnCache,
    ) -> Result<Frame, HandleError> {
        let rows = query_rows(content, self.redactor, &self.limits)?;
        if rows.is_redacted() {
            let second_pass = &self.redactor.for_redacted_text();
            return DrillDown { redactor: second_pass, ..self.clone() }
                .frame_of_selection(rows.rows(), columns);
        }
        self.frame_of_selection(rows.rows(), columns)
    }

    fn frame_of_selection(
        &self,
        rows: Rows<'_>,
        columns: &ColumnCache,
    ) -> Result<Frame, HandleError> {
        let comparing = self.redactor.with_provisional_masks();
        let selector = Selector::new(&comparing, &self.limits, rows, columns)?;
        Ok(match selector.select(self.query)? {
            QueryOutcome::Rows(numbers) if self.limits.mode == ResponseMode::Table => {
                self.compose(&self.display_limits(), |renderer, draft| {
                    self.fill_table(rows.select(&numbers), renderer, draft);
                })
            }
            QueryOutcome::Rows(numbers) if self.query.limit == Some(0) => {
                self.empty_frame(numbers.len())
            }
            QueryOutcome::Computed(rows) if self.query.limit == Some(0) => {
                self.empty_frame(rows.len())
            }
            QueryOutcome::Rows(numbers) => self.summary_of_page(rows.select(&numbers)),
            QueryOutcome::Computed(rows) => {
                let second_pass = &comparing.for_redacted_text();
                let mut frame =
                    DrillDown { redactor: second_pass, ..self.clone() }.frame_of_computed(&rows);
                comparing.give_lasting_masks(&mut frame);
                frame
            }
        })
    }

    fn fill_table(&self, rows: Rows<'_>, renderer: &mut ValueRenderer<'_>, draft: &mut FrameDraft) {
        let limit = self.limit().min(renderer.limits.rows);
        let after = rows.skip(self.offset());
        let found = after.slice(0..limit);
        draft.rows = found.iter().filter_map(|row| renderer.row(&row, 1)).collect();
        renderer.omit("rows_omitted", after.len().saturating_sub(limit));
        if !self.query.filter.is_empty() {
            draft.facts = vec![format!("Matching rows: {}", rows.len())].into();
        }
    }

    /// Facts about the rows of the page.
    fn summary_of_page(&self, rows: Rows<'_>) -> Frame {
        let window = rows.skip(self.offset()).slice(0..self.limit());
        let window = Value::Array(window.iter().map(Cow::into_owned).collect());
        let content = Content::Json(Cow::Borrowed(&window));
        let window = ResultWindow { shape: content.shape(), offset: 0, limit: self.limit() };
        self.compose(&self.display_limits(), |renderer, draft| fill_page(&window, renderer, draft))
    }

    /// Rows that were computed from visible values.
    fn frame_of_computed(&self, rows: &[Value]) -> Frame {
        let mut limits = self.limits.clone();
        limits.allowed = None;
        let (offset, limit) = (self.offset(), self.limit());
        let shape = match rows {
            [Value::Object(only)] if self.query.group_by.is_none() => Shape::Object(only),
            rows => Shape::Rows { rows: rows.into(), wrapper_fields: Vec::new() },
        };
        let window = ResultWindow { shape, offset, limit };
        self.compose(&limits, |renderer, draft| fill_page(&window, renderer, draft))
    }

    fn compose(
        &self,
        limits: &EffectiveLimits,
        fill: impl FnOnce(&mut ValueRenderer<'_>, &mut FrameDraft),
    ) -> Frame {
        compose_frame(self.redactor, self.raw, self.spec, limits, |renderer, draft| {
            for (kind, count) in &self.omitted {
                renderer.omit(kind, *count);
            }
            fill(renderer, draft);
        })
    }
}

/// How many parts there are to page through: rows, lines, or the one value.
pub(super) fn part_count(shape: &Shape<'_>) -> usize {
    match shape {
        Shape::Rows { rows, .. } => rows.len(),
        Shape::List(items) => items.len(),
        Shape::Text(text) => text.lines().count(),
        Shape::Object(_) | Shape::Scalar(_) | Shape::Binary { .. } => 1,
    }
}

/// The rows of content that a query can inspect.
pub(super) enum QueryRows<'c> {
    Stored(Rows<'c>),
    Constructed(Vec<Value>),
    /// The lines of a redacted text.
    Lines(Vec<Value>),
}

impl QueryRows<'_> {
    pub(super) fn rows(&self) -> Rows<'_> {
        match self {
            Self::Stored(rows) => *rows,
            Self::Constructed(rows) | Self::Lines(rows) => rows.as_slice().into(),
        }
    }

    /// True if the masks in the rows are our own.
    pub(super) fn is_redacted(&self) -> bool {
        matches!(self, Self::Lines(_))
    }
}

/// The rows that a query can inspect. A text is redacted as a whole before it is split into lines,
/// so that no value is hidden by a line break.
pub(super) fn query_rows<'c>(
    content: &'c Content<'_>,
    redactor: &Redactor,
    limits: &EffectiveLimits,
) -> Result<QueryRows<'c>, HandleError> {
    Ok(match content.shape() {
        Shape::Rows { rows, .. } => QueryRows::Stored(rows),
        Shape::List(items) => QueryRows::Stored(items.into()),
        Shape::Object(map) => QueryRows::Constructed(vec![Value::Object(map.clone())]),
        Shape::Scalar(value) => QueryRows::Constructed(vec![value.clone()]),
        Shape::Text(text) => {
            let redacted = ValueRenderer::new(redactor, limits).redact(text);
            let line = |line: &str| {
                Value::Object(Map::from_iter([(VALUE_FIELD.to_owned(), Value::from(line))]))
            };
            QueryRows::Lines(redacted.lines().map(line).collect())
        }
        Shape::Binary { .. } => {
            let detail = "the result is binary and has no rows; ask for a view".to_owned();
            return Err(HandleError::Constraint { detail });
        }
    })
}

fn slice_shape(shape: Shape<'_>, offset: usize, limit: usize) -> Shape<'_> {
    match shape {
        Shape::Rows { rows, wrapper_fields } => {
            Shape::Rows { rows: rows.skip(offset).slice(0..limit), wrapper_fields }
        }
        Shape::List(items) => {
            let start = offset.min(items.len());
            let end = start.saturating_add(limit).min(items.len());
            Shape::List(items.get(start..end).unwrap_or_default())
        }
        other => other,
    }
}
