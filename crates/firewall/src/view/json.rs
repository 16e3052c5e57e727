//! Views of JSON: the value at a path, the keys there, and which paths there are.
//!
//! All work on the value redacted whole: what a name or a neighbour hides stays hidden, however
//! the path comes to it. Where only some fields may be seen, they are the fields of the rows.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::args::Args;
use super::path::{self, Step};
use super::view_result::ViewResult;
use crate::content::{Content, Shape, ValueRenderer};
use crate::error::HandleError;
use crate::query::{ViewRequest, unknown, wrong};
use crate::redact::MASK;

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] =
    &[Cow::Borrowed("get"), Cow::Borrowed("keys"), Cow::Borrowed("paths")];
/// The most values at one path.
pub(super) const MAX_FOUND: usize = 100_000;
/// The most different paths, and the most values that are looked at for them.
const MAX_PATHS: usize = 1_000;
const MAX_VISITS: usize = 1_000_000;
/// Levels of paths, unless they are counted, and at most.
const DEPTH: usize = 4;
const MAX_DEPTH: usize = 32;
/// Items of a list whose keys are counted.
pub(super) const MAX_ITEMS: usize = 10_000;

/// A value on a path.
#[derive(Clone, Copy)]
struct JsonLocation<'v> {
    value: &'v Value,
    /// The last key before it.
    name: Option<&'v str>,
    /// The field of the row in which it stands; none for rows and what holds them.
    field: Option<&'v str>,
}

/// A view of a redacted value.
pub(super) fn render<'v>(
    root: &'v Value,
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<ViewResult<'v>, HandleError> {
    let (args, steps) = asked(request)?;
    found(root, &args, &steps, request, renderer)
}

/// The arguments of a request, and the path among them.
pub(super) fn asked(request: &ViewRequest) -> Result<(Args<'_>, Vec<Step>), HandleError> {
    let known: &[&str] = match request.name.as_str() {
        "get" => &["keys", "path"],
        "keys" => &["path"],
        _ => &["depth", "path"],
    };
    let args = Args::of(request, known)?;
    let steps = path::parse(args.text("path")?.unwrap_or_default())?;
    Ok((args, steps))
}

/// The view of what is found on a path.
pub(super) fn found<'v>(
    root: &'v Value,
    args: &Args<'_>,
    steps: &[Step],
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<ViewResult<'v>, HandleError> {
    let mut walk = JsonWalker { root, around: around(root), renderer, omitted: Vec::new() };
    let found = walk.follow(steps)?;
    let content = match request.name.as_str() {
        "get" => walk.get(&found, args.names("keys")?.as_deref()),
        "keys" => Cow::Owned(walk.keys(&found)),
        _ => Cow::Owned(walk.paths(&found, args.whole("depth")?.unwrap_or(DEPTH))),
    };
    Ok(ViewResult { omitted: walk.omitted, ..ViewResult::redacted(Content::Json(content)) })
}

/// The key under which an object that is only a wrapper holds its rows.
fn around(root: &Value) -> Option<&str> {
    let content = Content::Json(Cow::Borrowed(root));
    let wraps = matches!(content.shape(), Shape::Rows { .. });
    root.as_object().filter(|_| wraps)?.iter().find(|(_, v)| v.is_array()).map(|(k, _)| k.as_str())
}

struct JsonWalker<'v, 's, 'l> {
    root: &'v Value,
    around: Option<&'v str>,
    renderer: &'s ValueRenderer<'l>,
    omitted: Vec<(&'static str, usize)>,
}

impl<'v> JsonWalker<'v, '_, '_> {
    fn is_wrapper(&self, spot: &JsonLocation<'_>) -> bool {
        self.around.is_some() && std::ptr::eq(spot.value, self.root)
    }

    /// True when this field of this value may be seen.
    fn admits(&self, spot: &JsonLocation<'_>, key: &str) -> bool {
        spot.field.is_some()
            || self.is_wrapper(spot) && self.around == Some(key)
            || self.renderer.limits.admits(key)
    }

    fn follow(&mut self, steps: &[Step]) -> Result<Vec<JsonLocation<'v>>, HandleError> {
        let mut spots = vec![JsonLocation { value: self.root, name: None, field: None }];
        for step in steps {
            let next = match step {
                Step::Key(key) => self.under(&spots, key)?,
                Step::Index(at) => Self::items(&spots, *at, at.saturating_add(1)),
                Step::Slice(from, to) => Self::items(&spots, *from, *to),
            };
            if next.is_empty() {
                return Err(self.nothing(&spots, step));
            }
            if next.len() > MAX_FOUND {
                let detail = format!("`path` finds more than {MAX_FOUND} values; take a slice");
                return Err(HandleError::Constraint { detail });
            }
            spots = next;
        }
        Ok(spots)
    }

    fn under(
        &mut self,
        spots: &[JsonLocation<'v>],
        key: &str,
    ) -> Result<Vec<JsonLocation<'v>>, HandleError> {
        let mut next = Vec::new();
        let masked = masks(self.renderer, key);
        for spot in spots {
            let Value::Object(map) = spot.value else { continue };
            if !self.admits(spot, key) {
                let detail = "`path` names a field that may not be seen".to_owned();
                return Err(HandleError::Constraint { detail });
            }
            let wraps = self.is_wrapper(spot) && self.around == Some(key);
            if let Some((name, value)) = map.get_key_value(key) {
                let field = spot.field.or((!wraps).then_some(name.as_str()));
                let value = if masked { mask() } else { value };
                next.push(JsonLocation { value, name: Some(name.as_str()), field });
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
        items.take(MAX_FOUND + 1).collect()
    }

    /// Why a step finds nothing: with the key that was probably meant, among those that may be
    /// seen.
    fn nothing(&self, spots: &[JsonLocation<'v>], step: &Step) -> HandleError {
        let Step::Key(key) = step else {
            return wrong("`path` finds no list there, or no such item in it".to_owned());
        };
        let objects = spots.iter().filter_map(|spot| Some((spot, spot.value.as_object()?)));
        let keys: Vec<&str> = objects
            .take(1)
            .flat_map(|(spot, map)| map.keys().filter(|key| self.admits(spot, key)))
            .map(String::as_str)
            .take(20)
            .collect();
        if keys.is_empty() {
            return wrong("`path` finds no object there that has such a key".to_owned());
        }
        unknown("key of `path`", key, &keys)
    }

    /// What was found, as rows. One list stands for its items.
    fn get(&self, found: &[JsonLocation<'v>], keys: Option<&[&str]>) -> Cow<'v, Value> {
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

    /// One value as a row: of an object its fields that may be seen, anything else under its name.
    fn row(&self, spot: &JsonLocation<'_>, keys: Option<&[&str]>) -> Value {
        if let Value::Object(map) = spot.value {
            let wanted = |key: &str| keys.is_none_or(|keys| keys.contains(&key));
            let fields = map.iter().filter(|(key, _)| wanted(key) && self.admits(spot, key));
            let shown = |key: &str, value: &Value| match value {
                // The rows of a wrapper have their own fields.
                Value::Array(rows) if self.is_wrapper(spot) && self.around == Some(key) => rows
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
        if spot.field.is_none() && !self.renderer.limits.admits("value") {
            return Value::Object(Map::new());
        }
        Value::Object(Map::from_iter([(name.to_owned(), spot.value.clone())]))
    }

    /// The keys of objects, and of the objects in lists, with how often each is there.
    fn keys(&mut self, found: &[JsonLocation<'v>]) -> Value {
        let mut keys: BTreeMap<&str, (Kinds, u64)> = BTreeMap::new();
        let mut hidden = 0;
        for spot in found {
            let items = match spot.value {
                Value::Array(items) => items.iter().take(MAX_ITEMS).collect(),
                value => vec![value],
            };
            for (key, value) in items.into_iter().filter_map(Value::as_object).flatten() {
                if self.admits(spot, key) {
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

    /// Every path below what was found, with what stands there and how often.
    fn paths(&mut self, found: &[JsonLocation<'v>], depth: usize) -> Value {
        let depth = depth.clamp(1, MAX_DEPTH);
        let mut paths: BTreeMap<String, (Kinds, u64)> = BTreeMap::new();
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
                    for (key, value) in map.iter().rev().filter(|(k, _)| self.admits(&spot, k)) {
                        let wraps = self.is_wrapper(&spot) && self.around == Some(key);
                        let field = spot.field.or((!wraps).then_some(key.as_str()));
                        let below = JsonLocation { value, name: Some(key), field };
                        open.push(Siblings::one(below, path::written(&path, key), level + 1));
                    }
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

/// What is still to be visited below one path: the items of a list, of which a long one has too many
/// to be put down one by one, or a single value.
struct Siblings<'v> {
    /// The name and field that all of them have.
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

/// True when a value under this name is masked.
pub(super) fn masks(renderer: &ValueRenderer<'_>, key: &str) -> bool {
    let mut renderer = ValueRenderer::new(renderer.redactor(), renderer.limits);
    let one = Map::from_iter([(key.to_owned(), Value::from("x"))]);
    let shown = renderer.value(&Value::Object(one), None, 0);
    shown.get(key).and_then(Value::as_str) != Some("x")
}

/// The mask, as a value that outlives every walk.
fn mask() -> &'static Value {
    static MASKED: std::sync::OnceLock<Value> = std::sync::OnceLock::new();
    MASKED.get_or_init(|| Value::from(MASK))
}

/// The kinds of values that stand in one place.
#[derive(Debug, Default, Clone, Copy)]
struct Kinds(u8);

const KINDS: [&str; 6] = ["null", "boolean", "number", "string", "list", "object"];

impl Kinds {
    fn add(&mut self, value: &Value) {
        self.0 |= match value {
            Value::Null => 1,
            Value::Bool(_) => 2,
            Value::Number(_) => 4,
            Value::String(_) => 8,
            Value::Array(_) => 16,
            Value::Object(_) => 32,
        };
    }
}

impl std::fmt::Display for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = KINDS.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        let names: Vec<&str> = named.map(|(_, name)| *name).collect();
        f.write_str(&names.join(" or "))
    }
}
