//! Facts about a result: deterministic, most important first, each redacted before it is cut.

mod columns;
mod number;
mod prose;

use serde_json::{Map, Value};
use weaver_text::escape;

use crate::content::{Rows, Shape, ValueRenderer};
use crate::redact::MASK;
use crate::redact::value::{FieldName, Pairing};

/// The most facts of a frame, the omission marker among them.
pub(crate) const MAX_FACTS: usize = 20;
/// Characters of a value in a fact.
pub(crate) const MAX_VALUE: usize = 80;
/// Characters of an item of a list.
const MAX_ITEM: usize = 100;
/// Keys of an object that are named.
const MAX_KEYS: usize = 20;
/// Keys of an object inside an object that are named.
const MAX_INNER_KEYS: usize = 5;

/// Facts, and how many more there would be.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) shown: Vec<String>,
    pub(crate) more: usize,
}

impl Facts {
    /// Those first that bear on the goal; otherwise in the order they have.
    fn ordered(mut self, renderer: &ValueRenderer<'_>) -> Self {
        if let Some(goal) = &renderer.limits.goal {
            self.shown.sort_by_cached_key(|fact| std::cmp::Reverse(goal.weight(fact)));
        }
        self
    }

    /// At most `max` facts, the last saying how many are missing.
    fn capped(mut self, max: usize) -> Self {
        let total = self.shown.len() + self.more;
        if total > max {
            self.shown.truncate(max.saturating_sub(1));
            self.more = total - self.shown.len();
        }
        self
    }
}

impl From<Vec<String>> for Facts {
    fn from(shown: Vec<String>) -> Self {
        Self { shown, more: 0 }
    }
}

/// The last fact of a summary that was cut.
pub(crate) fn omission(more: usize) -> String {
    format!("… ({more} more facts omitted; full data via handle)")
}

/// Facts about every column of rows, as far as there are facts about it.
pub(crate) fn columns_of(rows: Rows<'_>, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    columns::of_all(rows, renderer)
}

/// The facts about a result.
pub(crate) fn facts(shape: &Shape<'_>, renderer: &mut ValueRenderer<'_>) -> Facts {
    let facts = match shape {
        Shape::Rows { rows, around } => {
            let mut facts = columns::facts(*rows, renderer);
            let get = |key: &str| around.iter().find(|(name, _)| *name == key).map(|found| found.1);
            let beside = Pairing::among(get);
            for (key, value) in around {
                if renderer.limits.admits(key) {
                    facts.push(field(key, value, &beside, renderer));
                } else {
                    renderer.omit("fields_not_allowed", 1);
                }
            }
            facts.into()
        }
        Shape::List(items) => list(items, renderer),
        Shape::Object(map) => object(map, renderer),
        Shape::Scalar(value) => plain(|renderer| vec![short(value, None, 200, renderer)], renderer),
        Shape::Text(text) => plain(|renderer| prose::facts(text, renderer), renderer),
        Shape::Binary { media_type, len } => {
            vec![format!("Media type: {media_type}"), format!("Size: {len} bytes")].into()
        }
    };
    facts.ordered(renderer).capped(MAX_FACTS)
}

/// Facts about content without fields: withheld where only named fields may be seen.
fn plain(
    make: impl FnOnce(&mut ValueRenderer<'_>) -> Vec<String>,
    renderer: &mut ValueRenderer<'_>,
) -> Facts {
    if renderer.limits.admits("value") {
        make(renderer).into()
    } else {
        renderer.omit("text_withheld", 1);
        vec!["Content withheld: only named fields may be seen, and this has none".to_owned()].into()
    }
}

/// The items of a list, one a fact; those first that bear on the goal.
fn list(items: &[Value], renderer: &mut ValueRenderer<'_>) -> Facts {
    let mut shown = vec![format!("List of {} items", items.len())];
    if !renderer.limits.admits("value") {
        renderer.omit("rows_withheld", items.len());
        return shown.into();
    }
    let first = renderer.rows_by_relevance(items.into());
    let rest = (0..items.len()).filter(|at| !first.contains(at));
    let order = first.iter().copied().chain(rest).take(MAX_FACTS);
    let items_shown = order.filter_map(|at| items.get(at));
    shown.extend(items_shown.map(|item| short(item, None, MAX_ITEM, renderer)));
    Facts { shown, more: items.len().saturating_sub(MAX_FACTS) }
}

fn object(map: &Map<String, Value>, renderer: &mut ValueRenderer<'_>) -> Facts {
    let beside = Pairing::of(map);
    let (mut kept, gone): (Vec<_>, Vec<_>) =
        map.iter().partition(|(key, _)| renderer.limits.admits(key));
    renderer.omit("fields_not_allowed", gone.len());
    kept.sort_by_key(|(key, _)| (!renderer.limits.bears(key), *key));
    let names: Vec<_> = kept.iter().take(MAX_KEYS).map(|(key, _)| renderer.key(key)).collect();
    let mut shown = vec![format!("Keys: {}", names.join(", "))];
    shown.extend(
        kept.iter().take(MAX_FACTS).map(|(key, value)| field(key, value, &beside, renderer)),
    );
    Facts { shown, more: kept.len().saturating_sub(MAX_FACTS) }
}

/// `key: value`, or the mask where the key says that the value is sensitive.
fn field(
    key: &str,
    value: &Value,
    beside: &Pairing<'_>,
    renderer: &mut ValueRenderer<'_>,
) -> String {
    let mut own = renderer.named(key);
    let other = beside.name_of(key).map(|name| renderer.named(name));
    let hidden = [Some(own), other].into_iter().flatten().any(|name| renderer.hides(name, value));
    let name = renderer.key_of(&mut own);
    if hidden {
        return format!("{name}: {MASK}");
    }
    match value {
        Value::Array(items) => format!("{name}: list of {} items", items.len()),
        Value::Object(inner) => {
            let mut keys: Vec<&String> = inner.keys().collect();
            keys.sort();
            let keys: Vec<_> =
                keys.into_iter().take(MAX_INNER_KEYS).map(|key| renderer.key(key)).collect();
            format!("{name}: object with keys [{}]", keys.join(", "))
        }
        scalar => {
            let value = short(scalar, Some(other.unwrap_or(own)), MAX_VALUE, renderer);
            format!("{name}: {value}")
        }
    }
}

/// A scalar in words.
fn short(
    value: &Value,
    key: Option<FieldName<'_>>,
    max: usize,
    renderer: &mut ValueRenderer<'_>,
) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) if renderer.hides_number(number, key) => MASK.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => renderer.string(text, key, max).into_owned(),
        Value::Array(_) | Value::Object(_) => {
            let shown = renderer.value(value, key, 0).to_string();
            escape::shorten(&shown, max).into_owned()
        }
    }
}
