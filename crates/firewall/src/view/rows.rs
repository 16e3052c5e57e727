//! Views of many redacted rows: of each view only the rows that it needs are read.

use std::borrow::Cow;

use serde_json::Value;
use weaver_types::JsonRows;

use super::json::{self, MAX_FOUND, MAX_ITEMS};
use super::path::Step;
use super::view_result::ViewResult;
use crate::content::{Content, ValueRenderer};
use crate::error::HandleError;
use crate::query::ViewRequest;

/// The view, the same as [`json::render`] gives of the whole value; none where it needs all rows as
/// a tree.
pub(super) fn render<'v>(
    rows: &JsonRows,
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<Option<ViewResult<'v>>, HandleError> {
    let (args, steps) = json::asked(request)?;
    let below = below_list(rows, &steps);
    let is_all = steps.is_empty() || below.is_some_and(<[Step]>::is_empty);
    if request.name == "get" && is_all {
        let found = whole(rows, below, args.names("keys")?.as_deref(), renderer);
        return Ok(found.map(|rows| ViewResult::redacted(Content::Rows(rows))));
    }
    let Some((root, steps)) = narrowed(rows, &steps, below, &request.name) else {
        return Ok(None);
    };
    let ViewResult { content, omitted, .. } = json::found(&root, &args, &steps, request, renderer)?;
    let Content::Json(value) = content else { return Ok(None) };
    let content = Content::Json(Cow::Owned(value.into_owned()));
    Ok(Some(ViewResult { omitted, ..ViewResult::redacted(content) }))
}

/// All rows, with the fields that are wanted and may be seen.
fn whole(
    rows: &JsonRows,
    below: Option<&[Step]>,
    keys: Option<&[&str]>,
    renderer: &ValueRenderer<'_>,
) -> Option<JsonRows> {
    let is_plain = renderer.limits.allowed.is_none() && keys.is_none();
    let Some(key) = rows.key() else {
        return if is_plain { Some(rows.clone()) } else { fields(rows, keys, renderer) };
    };
    match below {
        None => is_plain.then(|| rows.clone()),
        Some(_) if json::masks(renderer, key) => None,
        Some(_) if is_plain => Some(rows.list()),
        Some(_) => fields(&rows.list(), keys, renderer),
    }
}

fn fields(
    list: &JsonRows,
    keys: Option<&[&str]>,
    renderer: &ValueRenderer<'_>,
) -> Option<JsonRows> {
    let is_seen =
        |key: &str| keys.is_none_or(|keys| keys.contains(&key)) && renderer.limits.admits(key);
    let rows = list.rows().map(|mut row| {
        if let Value::Object(fields) = &mut row {
            fields.retain(|key, _| is_seen(key));
        }
        row
    });
    JsonRows::collect(&Value::Array(Vec::new()), rows, list.text().len())
}

/// What a path goes on with below the list of rows; none where it does not lead there.
fn below_list<'s>(rows: &JsonRows, steps: &'s [Step]) -> Option<&'s [Step]> {
    match (rows.key(), steps) {
        (None, steps) => Some(steps),
        (Some(key), [Step::Key(first), below @ ..]) if first == key => Some(below),
        (Some(_), _) => None,
    }
}

/// The value with the needed rows alone, at least one, and the path in it.
fn narrowed(
    rows: &JsonRows,
    steps: &[Step],
    below: Option<&[Step]>,
    view: &str,
) -> Option<(Value, Vec<Step>)> {
    let before = below.map_or(steps, |below| steps.get(..steps.len() - below.len()).unwrap_or(&[]));
    let (from, to) = match below {
        // Paths lead through all rows.
        None if view == "paths" && steps.is_empty() => return None,
        Some([]) if view == "paths" => return None,
        None => (0, 1),
        Some([]) => (0, MAX_ITEMS),
        Some([Step::Key(_), ..]) => (0, 1),
        Some([Step::Index(at), ..]) => (*at, at.saturating_add(1)),
        // One more than may be found tells that there are too many.
        Some([Step::Slice(from, to), ..]) => {
            (*from, (*to).min(from.saturating_add(MAX_FOUND).saturating_add(1)))
        }
    };
    let to = to.min(rows.len());
    let mut steps = steps.to_vec();
    if let Some(step @ (Step::Index(_) | Step::Slice(..))) = steps.get_mut(before.len()) {
        // A part without a row lies behind the one that stands for all.
        *step = match step {
            Step::Index(_) => Step::Index(usize::from(from >= to)),
            _ if from >= to => Step::Slice(1, 1),
            _ => Step::Slice(0, to - from),
        };
    }
    let needed = if from < to { from..to } else { 0..1 };
    let list = needed.filter_map(|number| rows.row(number)).collect();
    Some((rows.with_list(list), steps))
}
