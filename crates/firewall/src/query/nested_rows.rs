//! Finds the rows of an answer that wraps them: `{"success": true, "data": {"rows": […]}}`.

use serde_json::{Map, Value, json};
use weaver_types::RawContent;

use super::{HandleQuery, ViewRequest};
use crate::content::{Content, Shape};
use crate::view::path;

/// How many objects may be around the list.
const MAX_DEPTH: usize = 4;
/// How many of its items are examined.
const MAX_ITEMS: usize = 16;

/// The view of the one list of objects within an object, for a query that selects rows and names no
/// field of that object. A query says which rows it wants, and an answer with a single list has no
/// others.
pub(super) fn rows_view(query: &HandleQuery, content: &RawContent) -> Option<ViewRequest> {
    if query.view.is_some() || !selects_rows(query) || !crate::view::has_json_views(content) {
        return None;
    }
    let content = Content::read_tabular(content);
    let Shape::Object(outer) = content.shape() else { return None };
    if named_fields(query).any(|field| outer.contains_key(field)) {
        return None;
    }
    let mut lists = Vec::new();
    collect_lists(outer, "", 0, &mut lists);
    let [path] = lists.as_slice() else { return None };
    let args = Map::from_iter([("path".to_owned(), json!(path))]);
    Some(ViewRequest { args, ..ViewRequest::new("get") })
}

/// Whether a query says which rows it wants, or where they begin or end.
fn selects_rows(query: &HandleQuery) -> bool {
    let has_range = query.offset > 0 || query.limit.is_some();
    query.is_selective() || !query.fields.is_empty() || has_range && query.char_offset == 0
}

/// The fields that a query reads.
fn named_fields(query: &HandleQuery) -> impl Iterator<Item = &str> {
    let filtered = query.filter.iter().map(|condition| condition.field.as_str());
    let shown = query.fields.iter().map(String::as_str);
    filtered.chain(shown).chain(query.group_by.as_deref())
}

/// The paths of the lists of objects within an object, two at most.
fn collect_lists(object: &Map<String, Value>, before: &str, depth: usize, lists: &mut Vec<String>) {
    for (key, value) in object {
        if lists.len() > 1 {
            return;
        }
        match value {
            Value::Array(items) if is_rows(items) => lists.push(path::append_key(before, key)),
            Value::Object(inner) if depth < MAX_DEPTH => {
                collect_lists(
                    inner,
                    &path::append_key(before, key),
                    depth.saturating_add(1),
                    lists,
                );
            }
            _ => {}
        }
    }
}

fn is_rows(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().take(MAX_ITEMS).all(Value::is_object)
}
