//! Pages of a list, with the cursors of MCP.

use std::collections::BTreeMap;
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::message::{RpcError, code};

/// One page of a list: the items with their exported names, and where the next one begins.
pub(crate) struct ListPage<'a, T> {
    pub(crate) items: Vec<(&'a str, &'a T)>,
    pub(crate) next: Option<String>,
}

/// A cursor that no list here gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list")]
pub(crate) struct UnknownCursor;

impl From<UnknownCursor> for RpcError {
    fn from(problem: UnknownCursor) -> Self {
        Self::new(code::INVALID_PARAMS, problem.to_string())
    }
}

/// Where the page begins that a request asks for; `None` for the first one.
pub(crate) fn cursor(params: &Map<String, Value>) -> Result<Option<&str>, RpcError> {
    match params.get("cursor") {
        None => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor)),
        Some(_) => Err(RpcError::new(code::INVALID_PARAMS, "`cursor` must be a string")),
    }
}

/// A page of at most so many items of a sorted list. The cursor names the last item before it, so
/// that what comes and goes between two pages neither repeats nor hides any other.
pub(crate) fn page<'a, T>(
    list: &'a BTreeMap<String, T>,
    cursor: Option<&str>,
    most: usize,
    may_see: impl Fn(&T) -> bool,
) -> Result<ListPage<'a, T>, UnknownCursor> {
    let after = cursor.map(read_cursor).transpose()?;
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let seen = list.range::<String, _>((from, Bound::Unbounded));
    let mut items: Vec<(&str, &T)> = seen
        .filter(|(_, item)| may_see(item))
        .map(|(name, item)| (name.as_str(), item))
        .take(most.saturating_add(1))
        .collect();
    let more = items.len() > most;
    items.truncate(most);
    let last = items.last().filter(|_| more);
    let next = last.map(|(name, _)| URL_SAFE_NO_PAD.encode(name));
    Ok(ListPage { items, next })
}

fn read_cursor(cursor: &str) -> Result<String, UnknownCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| UnknownCursor)?;
    String::from_utf8(bytes).map_err(|_| UnknownCursor)
}
