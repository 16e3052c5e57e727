//! Pages of a list with MCP cursors.

use std::collections::BTreeMap;
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::message::{RpcError, code};

/// One page of a list: the items by exported name, and the cursor of the next page.
pub(crate) struct ListPage<'a, T> {
    pub(crate) items: Vec<(&'a str, &'a T)>,
    pub(crate) next: Option<String>,
}

/// A cursor that no list here issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list")]
pub(crate) struct UnknownCursor;

impl From<UnknownCursor> for RpcError {
    fn from(problem: UnknownCursor) -> Self {
        Self::new(code::INVALID_PARAMS, problem.to_string())
    }
}

/// The cursor of a request; `None` for the first page.
pub(crate) fn requested_cursor(params: &Map<String, Value>) -> Result<Option<&str>, RpcError> {
    match params.get("cursor") {
        None => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor)),
        Some(_) => Err(RpcError::new(code::INVALID_PARAMS, "`cursor` must be a string")),
    }
}

/// A page of a sorted list. The cursor encodes the last name before the page, so that items that
/// come and go between two pages neither repeat nor hide others.
pub(crate) fn page<'a, T>(
    list: &'a BTreeMap<String, T>,
    cursor: Option<&str>,
    limit: usize,
    may_see: impl Fn(&T) -> bool,
) -> Result<ListPage<'a, T>, UnknownCursor> {
    let after = cursor.map(read_cursor).transpose()?;
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let remaining = list.range::<String, _>((from, Bound::Unbounded));
    let mut items: Vec<(&str, &T)> = remaining
        .filter(|(_, item)| may_see(item))
        .map(|(name, item)| (name.as_str(), item))
        .take(limit.saturating_add(1))
        .collect();
    let has_more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| has_more);
    let next = last.map(|(name, _)| URL_SAFE_NO_PAD.encode(name));
    Ok(ListPage { items, next })
}

fn read_cursor(cursor: &str) -> Result<String, UnknownCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| UnknownCursor)?;
    String::from_utf8(bytes).map_err(|_| UnknownCursor)
}
