//! Builds a frame from a raw result.

use serde_json::{Map, Value};
use weaver_types::{Frame, RawContent, RawResult, ResponseMode, Status, ToolProvenance, Warning};

use super::auto;
use super::fit::{self, Draft};
use super::size::estimated_size;
use crate::content::{Content, Rows, Shape, ValueRenderer};
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
    if limits.mode == ResponseMode::Auto {
        return auto::build(redactor, raw, spec, &limits);
    }
    let content = Content::read(&raw.content);
    let shape = content.shape();
    let window = ResultWindow { shape, offset: 0, limit: limits.rows };
    compose(redactor, raw, spec, &limits, |renderer, draft| fill(&window, renderer, draft))
}

/// A window of a result.
pub(crate) struct ResultWindow<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// Facts or rows of a page, as the mode has it.
pub(crate) fn fill(window: &ResultWindow<'_>, renderer: &mut ValueRenderer<'_>, draft: &mut Draft) {
    match renderer.limits.mode {
        ResponseMode::Summary => draft.facts = summary::facts(&window.shape, renderer),
        ResponseMode::Table => table(window, renderer, draft),
        ResponseMode::HandleOnly | ResponseMode::Raw | ResponseMode::Auto => {}
    }
}

/// A frame with what `fill` puts into it, within the budget.
pub(crate) fn compose(
    redactor: &Redactor,
    raw: &RawResult,
    spec: &FrameSpec<'_>,
    limits: &Limits,
    fill: impl FnOnce(&mut ValueRenderer<'_>, &mut Draft),
) -> Frame {
    let mut renderer = ValueRenderer::new(redactor, limits);
    let mut draft = Draft::of(empty(raw, spec, limits.mode));
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
    draft.counts = renderer.counts();
    fit::fit(draft, limits.chars)
}

/// The rows of a page, as many as the budget of rows allows.
fn table(window: &ResultWindow<'_>, renderer: &mut ValueRenderer<'_>, draft: &mut Draft) {
    let limit = window.limit.min(renderer.limits.rows);
    match &window.shape {
        Shape::Rows { rows, .. } => list(*rows, window.offset, limit, renderer, draft),
        Shape::List(items) => list((*items).into(), window.offset, limit, renderer, draft),
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
        Shape::Text(text) => lines(text, window.offset, limit, renderer, draft),
        Shape::Binary { .. } => draft.facts = summary::facts(&window.shape, renderer),
    }
}

fn list(
    items: Rows<'_>,
    offset: usize,
    limit: usize,
    renderer: &mut ValueRenderer<'_>,
    draft: &mut Draft,
) {
    let after = items.after(offset);
    let first = renderer.rows_by_relevance(after);
    let rest = (0..after.len()).filter(|at| !first.contains(at));
    let order = first.iter().copied().chain(rest).take(limit);
    let rows = order.filter_map(|at| after.get(at));
    draft.rows.extend(rows.filter_map(|item| renderer.row(&item, 1)));
    renderer.omit("rows_omitted", after.len().saturating_sub(limit));
}

/// Lines of a text. It is redacted whole first, so that no value hides in a line break.
fn lines(
    text: &str,
    offset: usize,
    limit: usize,
    renderer: &mut ValueRenderer<'_>,
    draft: &mut Draft,
) {
    if !renderer.limits.admits("value") {
        renderer.omit("text_withheld", 1);
        return;
    }
    let redacted = renderer.redacted(text);
    let max = renderer.limits.cell_chars();
    let mut rest = redacted.lines().skip(offset);
    let shown: Vec<&str> = rest.by_ref().take(limit).collect();
    let shown = renderer.lines(&shown, max).into_iter();
    draft.rows.extend(shown.map(|line| Map::from_iter([("value".to_owned(), line.into())])));
    renderer.omit("rows_omitted", rest.count());
}

/// A frame without content.
pub(crate) fn empty(raw: &RawResult, spec: &FrameSpec<'_>, mode: ResponseMode) -> Frame {
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
        RawContent::Rows(rows) => rows.to_value(),
        RawContent::Text(text) => Value::String(text.clone()),
        RawContent::Binary { media_type, bytes } => {
            serde_json::json!({ "media_type": media_type, "byte_size": bytes.len() })
        }
    });
    frame.provenance.clone_from(&raw.provenance);
    let most = usize::try_from(spec.budget.max_chars).unwrap_or(usize::MAX);
    if frame.raw.as_ref().and_then(|raw| estimated_size(raw, most)).is_none() {
        frame.warnings.push(Warning { kind: "raw_over_budget".to_owned(), count: 1 });
    }
    frame.warnings.push(Warning { kind: "raw_unredacted".to_owned(), count: 1 });
    for finding in &raw.findings {
        frame.warnings.push(Warning { kind: (*finding).to_owned(), count: 1 });
    }
    frame
}
