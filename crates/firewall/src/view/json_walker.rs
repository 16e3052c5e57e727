//! Walks a redacted JSON value: finds what a path leads to, and collects keys, paths and texts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::path::{self, PathStep};
use super::value_kinds::ValueKinds;
use crate::content::{Content, Shape, ValueRenderer};
use crate::error::HandleError;
use crate::query::{query_error, unknown_name_error};
use crate::redact::MASK;

/// The most values that a path may match.
pub(super) const MAX_MATCHES: usize = 100_000;
/// The most different paths, and the most values visited to collect them.
const MAX_PATHS: usize = 1_000;
const MAX_VISITS: usize = 1_000_000;
/// The maximum depth of paths.
const MAX_DEPTH: usize = 32;
/// The most list items whose keys are counted.
pub(super) const MAX_ITEMS: usize = 10_000;

/// A value on a path.
#[derive(Clone, Copy)]
pub(super) struct JsonLocation<'v> {
    value: &'v Value,
    /// The last key on the path.
    name: Option<&'v str>,
    /// The field of the row that contains it; `None` for rows and what contains them.
    field: Option<&'v str>,
}

/// The key of the rows in an object that is only a wrapper around them.
fn wrapped_rows_key(root: &Value) -> Option<&str> {
    let content = Content::Json(Cow::Borrowed(root));
    let wraps = matches!(content.shape(), Shape::Rows { .. });
    root.as_object().filter(|_| wraps)?.iter().find(|(_, v)| v.is_array()).map(|(k, _)| k.as_str())
}

/// Follows paths in a redacted value and collects what is found there.
pub(super) struct JsonWalker<'v, 's, 'l> {
    root: &'v Value,
    rows_key: Option<&'v str>,
    renderer: &'s ValueRenderer<'l>,
    /// What was left out, with counts.
    pub(super) omitted: Vec<(&'static str, usize)>,
}

impl<'v, 's, 'l> JsonWalker<'v, 's, 'l> {
    pub(super) fn new(root: &'v Value, renderer: &'s ValueRenderer<'l>) -> Self {
        Self { root, rows_key: wrapped_rows_key(root), renderer, omitted: Vec::new() }
    }

    fn root_location(&self) -> JsonLocation<'v> {
        JsonLocation { value: self.root, name: None, field: None }
    }

    /// True if the entry of this key in this value is the list of rows in a wrapper.
    fn holds_rows(&self, spot: &JsonLocation<'_>, key: &str) -> bool {
        self.is_wrapper(spot) && self.rows_key == Some(key)
    }

    /// The entry of an object.
    fn entry(&self, spot: &JsonLocation<'v>, key: &'v str, value: &'v Value) -> JsonLocation<'v> {
        let field = spot.field.or_else(|| (!self.holds_rows(spot, key)).then_some(key));
        JsonLocation { value, name: Some(key), field }
    }

    /// The entries of an object that may be shown, last first.
    fn visible_entries(
        &self,
        spot: JsonLocation<'v>,
        map: &'v Map<String, Value>,
    ) -> impl Iterator<Item = (&'v str, JsonLocation<'v>)> {
        let visible = map.iter().rev().filter(move |(key, _)| self.may_show_field(&spot, key));
        visible.map(move |(key, value)| (key.as_str(), self.entry(&spot, key, value)))
    }

    /// True for the wrapper itself. Compared by address: an equal value elsewhere is not the
    /// wrapper.
    fn is_wrapper(&self, spot: &JsonLocation<'_>) -> bool {
        self.rows_key.is_some() && std::ptr::eq(spot.value, self.root)
    }

    /// True if this field of this value may be shown.
    fn may_show_field(&self, spot: &JsonLocation<'_>, key: &str) -> bool {
        spot.field.is_some()
            || self.holds_rows(spot, key)
            || self.renderer.limits.may_show_field(key)
    }

    pub(super) fn resolve_path(
        &mut self,
        steps: &[PathStep],
    ) -> Result<Vec<JsonLocation<'v>>, HandleError> {
        let mut spots = vec![self.root_location()];
        for step in steps {
            let is_list = spots.iter().all(|spot| spot.value.is_array());
            let next = match step {
                PathStep::Key(key) => match step.list_index().filter(|_| is_list) {
                    Some(at) => Self::items(&spots, at, at.saturating_add(1)),
                    None => self.step_into(&spots, key)?,
                },
                PathStep::Index(at) => Self::items(&spots, *at, at.saturating_add(1)),
                PathStep::Slice(from, to) => Self::items(&spots, *from, *to),
            };
            if next.is_empty() {
                return Err(self.no_match_error(&spots, step));
            }
            if next.len() > MAX_MATCHES {
                let detail = format!("`path` finds more than {MAX_MATCHES} values; take a slice");
                return Err(HandleError::Constraint { detail });
            }
            spots = next;
        }
        Ok(spots)
    }

    fn step_into(
        &mut self,
        spots: &[JsonLocation<'v>],
        key: &str,
    ) -> Result<Vec<JsonLocation<'v>>, HandleError> {
        let mut next = Vec::new();
        let masked = is_masked_name(self.renderer, key);
        for spot in spots {
            let Value::Object(map) = spot.value else { continue };
            if !self.may_show_field(spot, key) {
                let detail = "`path` names a field that may not be seen".to_owned();
                return Err(HandleError::Constraint { detail });
            }
            if let Some((name, value)) = map.get_key_value(key) {
                let value = if masked { mask_value() } else { value };
                next.push(self.entry(spot, name, value));
            }
        }
        Ok(next)
    }

    fn items(spots: &[JsonLocation<'v>], from: usize, to: usize) -> Vec<JsonLocation<'v>> {
        let lists = spots.iter().filter_map(|spot| Some((spot, spot.value.as_array()?)));
        let items = lists.flat_map(|(spot, list)| {
            let end = to.min(list.len());
            let part = list.get(from.min(end)..end).unwrap_or_default().iter();
            part.map(|value| JsonLocation { value, ..*spot })
        });
        items.take(MAX_MATCHES + 1).collect()
    }

    /// The error for a step that matches nothing, with the visible key that was probably meant.
    fn no_match_error(&self, spots: &[JsonLocation<'v>], step: &PathStep) -> HandleError {
        let PathStep::Key(key) = step else {
            return query_error(
                "`path` leads to no list, or to a list without such an item".to_owned(),
            );
        };
        let objects = spots.iter().filter_map(|spot| Some((spot, spot.value.as_object()?)));
        let keys: Vec<&str> = objects
            .take(1)
            .flat_map(|(spot, map)| map.keys().filter(|key| self.may_show_field(spot, key)))
            .map(String::as_str)
            .take(20)
            .collect();
        if keys.is_empty() {
            return query_error("`path` leads to no object with such a key".to_owned());
        }
        unknown_name_error("key of `path`", key, &keys)
    }

    /// The only match, if it is a text that may be shown.
    pub(super) fn only_text(&self, found: &[JsonLocation<'v>]) -> Option<&'v str> {
        let [spot] = found else { return None };
        let is_seen = spot.field.is_some() || self.renderer.limits.may_show_field("value");
        spot.value.as_str().filter(|_| is_seen)
    }

    /// The matches, if all of them are texts that may be shown.
    pub(super) fn only_texts(&self, found: &[JsonLocation<'v>]) -> Option<Vec<(String, &'v str)>> {
        let texts = found.iter().map(|spot| {
            let text = self.only_text(std::slice::from_ref(spot))?;
            Some((String::new(), text))
        });
        texts.collect()
    }

    /// Every text in the matches that may be shown, with its path; `None` if there is none. The walk
    /// begins at the root, so that paths are those of the whole value.
    pub(super) fn texts_in(
        &mut self,
        found: &[JsonLocation<'v>],
    ) -> Option<Vec<(String, &'v str)>> {
        let address = |value: &Value| std::ptr::from_ref(value).addr();
        let wanted: BTreeSet<usize> = found.iter().map(|spot| address(spot.value)).collect();
        let (mut texts, mut visits) = (Vec::new(), 0_usize);
        let mut open = vec![(self.root_location(), String::new(), 0, false)];
        while let Some((spot, path, level, is_within)) = open.pop() {
            visits += 1;
            if visits > MAX_VISITS || level > MAX_DEPTH {
                self.omitted.push(("paths_omitted", 1));
                continue;
            }
            let is_within = is_within || wanted.contains(&address(spot.value));
            match spot.value {
                Value::String(_) if is_within => {
                    let text = self.only_text(std::slice::from_ref(&spot));
                    texts.extend(text.map(|text| (path, text)));
                }
                Value::Array(items) => {
                    let items = items.iter().enumerate().rev();
                    open.extend(items.map(|(at, value)| {
                        let item = JsonLocation { value, ..spot };
                        (item, format!("{path}[{at}]"), level + 1, is_within)
                    }));
                }
                Value::Object(map) => {
                    open.extend(self.visible_entries(spot, map).map(|(key, below)| {
                        (below, path::append_key(&path, key), level + 1, is_within)
                    }));
                }
                _ => {}
            }
        }
        (!texts.is_empty()).then_some(texts)
    }

    /// The matches as rows. A single list is expanded into its items.
    pub(super) fn get(&self, found: &[JsonLocation<'v>], keys: Option<&[&str]>) -> Cow<'v, Value> {
        let whole = self.renderer.limits.allowed.is_none() && keys.is_none();
        if let ([JsonLocation { value, .. }], true) = (found, whole)
            && (value.is_array() || value.is_object())
        {
            return Cow::Borrowed(value);
        }
        let rows: Vec<Value> = match found {
            [spot] => match spot.value {
                Value::Array(items) => items
                    .iter()
                    .map(|value| self.row(&JsonLocation { value, ..*spot }, keys))
                    .collect(),
                _ => return Cow::Owned(self.row(spot, keys)),
            },
            spots => spots.iter().map(|spot| self.row(spot, keys)).collect(),
        };
        Cow::Owned(Value::Array(rows))
    }

    /// One value as a row: an object with its visible fields, anything else under its name.
    fn row(&self, spot: &JsonLocation<'_>, keys: Option<&[&str]>) -> Value {
        if let Value::Object(map) = spot.value {
            let wanted = |key: &str| keys.is_none_or(|keys| keys.contains(&key));
            let fields =
                map.iter().filter(|(key, _)| wanted(key) && self.may_show_field(spot, key));
            let shown = |key: &str, value: &Value| match value {
                // The rows of a wrapper have fields of their own.
                Value::Array(rows) if self.holds_rows(spot, key) => rows
                    .iter()
                    .map(|value| self.row(&JsonLocation { value, ..*spot }, None))
                    .collect(),
                _ => value.clone(),
            };
            return Value::Object(
                fields.map(|(key, value)| (key.clone(), shown(key, value))).collect(),
            );
        }
        let name = spot.name.unwrap_or("value");
        if spot.field.is_none() && !self.renderer.limits.may_show_field("value") {
            return Value::Object(Map::new());
        }
        Value::Object(Map::from_iter([(name.to_owned(), spot.value.clone())]))
    }

    /// The keys of objects, including those in lists, with how often each occurs.
    pub(super) fn keys(&mut self, found: &[JsonLocation<'v>]) -> Value {
        let mut keys: BTreeMap<&str, (ValueKinds, u64)> = BTreeMap::new();
        let mut hidden = 0;
        for spot in found {
            let items = match spot.value {
                Value::Array(items) => items.iter().take(MAX_ITEMS).collect(),
                value => vec![value],
            };
            for (key, value) in items.into_iter().filter_map(Value::as_object).flatten() {
                if self.may_show_field(spot, key) {
                    let (kinds, count) = keys.entry(key).or_default();
                    kinds.add(value);
                    *count += 1;
                } else {
                    hidden += 1;
                }
            }
        }
        self.omitted.push(("fields_not_allowed", hidden));
        let rows = keys.into_iter().map(|(key, (kinds, count))| {
            json!({ "key": key, "type": kinds.to_string(), "count": count })
        });
        rows.collect()
    }

    /// Every path below the matches, with the types and the number of its values.
    pub(super) fn paths(&mut self, found: &[JsonLocation<'v>], depth: usize) -> Value {
        let depth = depth.clamp(1, MAX_DEPTH);
        let mut paths: BTreeMap<String, (ValueKinds, u64)> = BTreeMap::new();
        let mut open: Vec<Siblings<'v>> =
            found.iter().rev().map(|spot| Siblings::one(*spot, String::new(), 0)).collect();
        let (mut visits, mut omitted) = (0_usize, 0);
        while let Some(siblings) = open.last_mut() {
            let Some(spot) = siblings.next() else {
                open.pop();
                continue;
            };
            let (path, level) = (siblings.path.clone(), siblings.level);
            visits += 1;
            if visits > MAX_VISITS {
                omitted += 1;
                break;
            }
            if !path.is_empty() {
                if !paths.contains_key(&path) && paths.len() >= MAX_PATHS {
                    omitted += 1;
                    continue;
                }
                let (kinds, count) = paths.entry(path.clone()).or_default();
                kinds.add(spot.value);
                *count += 1;
            }
            if level >= depth {
                continue;
            }
            match spot.value {
                Value::Array(items) => {
                    open.push(Siblings::items(spot, items, format!("{path}[]"), level + 1));
                }
                Value::Object(map) => {
                    open.extend(self.visible_entries(spot, map).map(|(key, below)| {
                        Siblings::one(below, path::append_key(&path, key), level + 1)
                    }));
                }
                _ => {}
            }
        }
        self.omitted.push(("paths_omitted", omitted));
        let rows = paths.into_iter().map(|(path, (kinds, count))| {
            json!({ "path": path, "type": kinds.to_string(), "count": count })
        });
        rows.collect()
    }
}

/// Unvisited values below one path: the items of a list, kept as an iterator because a list may be
/// long, or a single value.
struct Siblings<'v> {
    /// The name and field that all of them share.
    parent: JsonLocation<'v>,
    rest: std::slice::Iter<'v, Value>,
    path: String,
    level: usize,
}

impl<'v> Siblings<'v> {
    fn items(parent: JsonLocation<'v>, items: &'v [Value], path: String, level: usize) -> Self {
        Self { parent, rest: items.iter(), path, level }
    }

    fn one(spot: JsonLocation<'v>, path: String, level: usize) -> Self {
        Self::items(spot, std::slice::from_ref(spot.value), path, level)
    }

    fn next(&mut self) -> Option<JsonLocation<'v>> {
        let value = self.rest.next()?;
        Some(JsonLocation { value, ..self.parent })
    }
}

/// True if a value under this name would be masked.
pub(super) fn is_masked_name(renderer: &ValueRenderer<'_>, key: &str) -> bool {
    let mut renderer = ValueRenderer::new(renderer.redactor(), renderer.limits);
    let one = Map::from_iter([(key.to_owned(), Value::from("x"))]);
    let shown = renderer.value(&Value::Object(one), None, 0);
    shown.get(key).and_then(Value::as_str) != Some("x")
}

/// The mask as a static value.
fn mask_value() -> &'static Value {
    static MASKED: std::sync::OnceLock<Value> = std::sync::OnceLock::new();
    MASKED.get_or_init(|| Value::from(MASK))
}
