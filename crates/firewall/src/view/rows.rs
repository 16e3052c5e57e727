//! Views of many redacted rows: each view reads only the rows that it needs.

use std::borrow::Cow;

use serde_json::Value;
use weaver_types::JsonRows;

use super::json;
use super::json_walker::{MAX_ITEMS, MAX_MATCHES, is_masked_name};
use super::path::PathStep;
use super::text::TextParts;
use super::view_result::ViewResult;
use crate::content::{Content, ValueRenderer};
use crate::error::HandleError;
use crate::query::ViewRequest;

/// The same view that [`json::render`] gives of the whole value; `None` if that needs all rows as a
/// tree.
pub(super) fn render<'v>(
    rows: &JsonRows,
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<Option<ViewResult<'v>>, HandleError> {
    let (args, steps) = json::parse_request(request)?;
    let below = steps_below_list(rows, &steps);
    let is_all = steps.is_empty() || below.is_some_and(<[PathStep]>::is_empty);
    if request.name == "get" && is_all {
        let found = all_rows(rows, below, args.names("keys")?.as_deref(), renderer);
        let path = renderer.limits.allowed.is_none().then(|| args.text("path")).transpose()?;
        let path = path.map(|path| path.unwrap_or_default().to_owned());
        let path = path.filter(|_| !request.args.contains_key("keys"));
        return Ok(
            found.map(|rows| ViewResult { path, ..ViewResult::redacted(Content::Rows(rows)) })
        );
    }
    let Some((root, steps)) = narrow(rows, &steps, below, &request.name) else {
        return Ok(None);
    };
    let ViewResult { content, text, path, omitted, .. } =
        json::render_at_path(&root, &args, &steps, request, renderer)?;
    let Content::Json(value) = content else { return Ok(None) };
    let content = Content::Json(Cow::Owned(value.into_owned()));
    let text = text.map(TextParts::into_owned);
    Ok(Some(ViewResult { text, path, omitted, ..ViewResult::redacted(content) }))
}

/// All rows, with the requested visible fields.
fn all_rows(
    rows: &JsonRows,
    below: Option<&[PathStep]>,
    keys: Option<&[&str]>,
    renderer: &ValueRenderer<'_>,
) -> Option<JsonRows> {
    let is_plain = renderer.limits.allowed.is_none() && keys.is_none();
    let Some(key) = rows.key() else {
        return if is_plain { Some(rows.clone()) } else { selected_fields(rows, keys, renderer) };
    };
    match below {
        None => is_plain.then(|| rows.clone()),
        Some(_) if is_masked_name(renderer, key) => None,
        Some(_) if is_plain => Some(rows.list()),
        Some(_) => selected_fields(&rows.list(), keys, renderer),
    }
}

fn selected_fields(
    list: &JsonRows,
    keys: Option<&[&str]>,
    renderer: &ValueRenderer<'_>,
) -> Option<JsonRows> {
    let is_seen = |key: &str| {
        keys.is_none_or(|keys| keys.contains(&key)) && renderer.limits.may_show_field(key)
    };
    let rows = list.rows().map(|mut row| {
        if let Value::Object(fields) = &mut row {
            fields.retain(|key, _| is_seen(key));
        }
        row
    });
    JsonRows::from_rows(&Value::Array(Vec::new()), rows, list.text().len())
}

/// The steps of a path after the list of rows; `None` if the path does not lead there.
fn steps_below_list<'s>(rows: &JsonRows, steps: &'s [PathStep]) -> Option<&'s [PathStep]> {
    match (rows.key(), steps) {
        (None, steps) => Some(steps),
        (Some(key), [PathStep::Key(first), below @ ..]) if first == key => Some(below),
        (Some(_), _) => None,
    }
}

/// The value with only the needed rows, at least one, and the path adjusted to it.
fn narrow(
    rows: &JsonRows,
    steps: &[PathStep],
    below: Option<&[PathStep]>,
    view: &str,
) -> Option<(Value, Vec<PathStep>)> {
    let before = below.map_or(steps, |below| steps.get(..steps.len() - below.len()).unwrap_or(&[]));
    let (from, to) = match below {
        // Paths depend on all rows.
        None if view == "paths" && steps.is_empty() => return None,
        Some([]) if view == "paths" => return None,
        // A search names the paths of its matches in the whole value.
        _ if view == "search" => return None,
        None => (0, 1),
        Some([]) => (0, MAX_ITEMS),
        Some([step @ (PathStep::Key(_) | PathStep::Index(_)), ..]) => {
            step.list_index().map_or((0, 1), |at| (at, at.saturating_add(1)))
        }
        // One more than allowed, so that an excess is noticed.
        Some([PathStep::Slice(from, to), ..]) => {
            (*from, (*to).min(from.saturating_add(MAX_MATCHES).saturating_add(1)))
        }
    };
    let to = to.min(rows.len());
    let mut steps = steps.to_vec();
    if let Some(step) = steps.get_mut(before.len()) {
        // A step to a missing row must still miss: point it past the one row that is kept.
        let is_missing = from >= to;
        match step {
            step if step.list_index().is_some() => {
                *step = PathStep::Index(usize::from(is_missing));
            }
            PathStep::Slice(..) if is_missing => *step = PathStep::Slice(1, 1),
            PathStep::Slice(..) => *step = PathStep::Slice(0, to - from),
            PathStep::Key(_) | PathStep::Index(_) => {}
        }
    }
    let needed = if from < to { from..to } else { 0..1 };
    let list = needed.filter_map(|number| rows.row(number)).collect();
    Some((rows.with_list(list), steps))
}
