//! Builds the first frame of a raw result.

use serde_json::{Map, Value};
use weaver_types::{
    Frame, RawContent, RawResult, ResponseMode, ResultStatus, ToolProvenance, Warning,
};

use super::auto;
use super::fit::{self, FrameDraft};
use super::json_size::json_len_within;
use crate::content::{Content, Rows, Shape, ValueRenderer};
use crate::redact::Redactor;
use crate::spec::{EffectiveLimits, FrameSpec};
use crate::summary;

/// The longest source URI that is shown, in characters.
const MAX_URI: usize = 200;

/// The first frame of a result.
pub(crate) fn build(redactor: &Redactor, raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
    let mut limits = EffectiveLimits::from_spec(spec);
    if spec.strict {
        limits.mode = ResponseMode::HandleOnly;
    }
    if limits.mode == ResponseMode::Raw {
        return unredacted_frame(raw, spec);
    }
    if limits.mode == ResponseMode::Auto {
        return auto::build(redactor, raw, spec, &limits);
    }
    let content = Content::read(&raw.content);
    let shape = content.shape();
    let window = ResultWindow { shape, offset: 0, limit: limits.rows };
    compose_frame(redactor, raw, spec, &limits, |renderer, draft| {
        fill_page(&window, renderer, draft)
    })
}

/// A page of a result.
pub(crate) struct ResultWindow<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// Fills the draft with facts or rows of a page, depending on the mode.
pub(crate) fn fill_page(
    window: &ResultWindow<'_>,
    renderer: &mut ValueRenderer<'_>,
    draft: &mut FrameDraft,
) {
    match renderer.limits.mode {
        ResponseMode::Summary => draft.facts = summary::facts(&window.shape, renderer),
        ResponseMode::Table => fill_table(window, renderer, draft),
        ResponseMode::HandleOnly | ResponseMode::Raw | ResponseMode::Auto => {}
    }
}

/// A frame with what `fill` adds to it, within the budget.
pub(crate) fn compose_frame(
    redactor: &Redactor,
    raw: &RawResult,
    spec: &FrameSpec<'_>,
    limits: &EffectiveLimits,
    fill: impl FnOnce(&mut ValueRenderer<'_>, &mut FrameDraft),
) -> Frame {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let mut draft = FrameDraft::new(empty_frame(raw, spec, limits.mode));
    fill(&mut renderer, &mut draft);
    if limits.mode == ResponseMode::HandleOnly && spec.handle.is_none() {
        renderer.omit("no_handle", 1);
    }
    for finding in &raw.findings {
        renderer.omit(finding, 1);
    }
    draft.frame.provenance = raw.provenance.as_ref().map(|source| ToolProvenance {
        source_uri: renderer.string(&source.source_uri, None, MAX_URI).into_owned(),
        freshness_s: source.freshness_s,
    });
    draft.counts = renderer.into_warning_counts();
    fit::fit(draft, limits.chars)
}

/// Adds the rows of a page, as many as the row limit allows.
fn fill_table(window: &ResultWindow<'_>, renderer: &mut ValueRenderer<'_>, draft: &mut FrameDraft) {
    let limit = window.limit.min(renderer.limits.rows);
    match &window.shape {
        Shape::Rows { rows, .. } => fill_rows(*rows, window.offset, limit, renderer, draft),
        Shape::List(items) => fill_rows((*items).into(), window.offset, limit, renderer, draft),
        Shape::Object(map) => {
            if window.offset == 0 && limit > 0 {
                draft.rows.push(renderer.object(map, 0));
            } else if window.offset == 0 {
                renderer.omit("rows_omitted", 1);
            }
        }
        Shape::Scalar(value) => {
            if window.offset == 0 && limit > 0 {
                draft.rows.extend(renderer.row(value, 0));
            }
        }
        Shape::Text(text) => fill_lines(text, window.offset, limit, renderer, draft),
        Shape::Binary { .. } => draft.facts = summary::facts(&window.shape, renderer),
    }
}

fn fill_rows(
    items: Rows<'_>,
    offset: usize,
    limit: usize,
    renderer: &mut ValueRenderer<'_>,
    draft: &mut FrameDraft,
) {
    let after = items.skip(offset);
    let first = renderer.rows_by_relevance(after);
    let rest = (0..after.len()).filter(|at| !first.contains(at));
    let order = first.iter().copied().chain(rest).take(limit);
    let rows = order.filter_map(|at| after.get(at));
    draft.rows.extend(rows.filter_map(|item| renderer.row(&item, 1)));
    renderer.omit("rows_omitted", after.len().saturating_sub(limit));
}

/// Adds lines of a text. The text is redacted as a whole first, so that no value is hidden by a
/// line break.
fn fill_lines(
    text: &str,
    offset: usize,
    limit: usize,
    renderer: &mut ValueRenderer<'_>,
    draft: &mut FrameDraft,
) {
    if !renderer.limits.may_show_field("value") {
        renderer.omit("text_withheld", 1);
        return;
    }
    let redacted = renderer.redact(text);
    let max = renderer.limits.max_cell_chars();
    let mut rest = redacted.lines().skip(offset);
    let shown: Vec<&str> = rest.by_ref().take(limit).collect();
    let shown = renderer.lines(&shown, max).into_iter();
    draft.rows.extend(shown.map(|line| Map::from_iter([("value".to_owned(), line.into())])));
    renderer.omit("rows_omitted", rest.count());
}

/// A frame without content.
pub(crate) fn empty_frame(raw: &RawResult, spec: &FrameSpec<'_>, mode: ResponseMode) -> Frame {
    let mut frame = fit::bare_frame(spec);
    frame.mode = mode;
    frame.status = if raw.is_error { ResultStatus::Error } else { ResultStatus::Success };
    frame
}

/// The whole value unredacted. Binary data is described, not shown.
fn unredacted_frame(raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
    let mut frame = empty_frame(raw, spec, ResponseMode::Raw);
    frame.raw = Some(match &raw.content {
        RawContent::Json(value) => value.clone(),
        RawContent::Rows(rows) => rows.to_value(),
        RawContent::Text(text) => Value::String(text.clone()),
        RawContent::Binary { media_type, bytes } => {
            serde_json::json!({ "media_type": media_type, "byte_size": bytes.len() })
        }
    });
    frame.provenance.clone_from(&raw.provenance);
    let most = usize::try_from(spec.budget.max_chars).unwrap_or(usize::MAX);
    if frame.raw.as_ref().and_then(|raw| json_len_within(raw, most)).is_none() {
        frame.warnings.push(Warning { kind: "raw_over_budget".to_owned(), count: 1 });
    }
    frame.warnings.push(Warning { kind: "raw_unredacted".to_owned(), count: 1 });
    for finding in &raw.findings {
        frame.warnings.push(Warning { kind: (*finding).to_owned(), count: 1 });
    }
    frame
}
