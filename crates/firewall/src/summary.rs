//! Facts about a result: deterministic, most important first, each redacted before it is cut.

mod columns;
mod goal;
mod number;
mod prose;

use serde_json::{Map, Value};
use weaver_text::escape;

use crate::frame::{Rows, Shape, Shower};
use crate::redact::MASK;
use crate::redact::value::{Named, Pairing};

pub(crate) use goal::Goal;

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
    fn ordered(mut self, shower: &Shower<'_>) -> Self {
        if let Some(goal) = &shower.limits.goal {
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
pub(crate) fn columns_of(rows: Rows<'_>, shower: &mut Shower<'_>) -> Vec<String> {
    columns::of_all(rows, shower)
}

/// The facts about a result.
pub(crate) fn facts(shape: &Shape<'_>, shower: &mut Shower<'_>) -> Facts {
    let facts = match shape {
        Shape::Rows { rows, around } => {
            let mut facts = columns::facts(*rows, shower);
            let get = |key: &str| around.iter().find(|(name, _)| *name == key).map(|found| found.1);
            let beside = Pairing::among(get);
            for (key, value) in around {
                if shower.limits.admits(key) {
                    facts.push(field(key, value, &beside, shower));
                } else {
                    shower.omit("fields_not_allowed", 1);
                }
            }
            facts.into()
        }
        Shape::List(items) => list(items, shower),
        Shape::Object(map) => object(map, shower),
        Shape::Scalar(value) => plain(|shower| vec![short(value, None, 200, shower)], shower),
        Shape::Text(text) => plain(|shower| prose::facts(text, shower), shower),
        Shape::Binary { media_type, len } => {
            vec![format!("Media type: {media_type}"), format!("Size: {len} bytes")].into()
        }
    };
    facts.ordered(shower).capped(MAX_FACTS)
}

/// Facts about content without fields: withheld where only named fields may be seen.
fn plain(make: impl FnOnce(&mut Shower<'_>) -> Vec<String>, shower: &mut Shower<'_>) -> Facts {
    if shower.limits.admits("value") {
        make(shower).into()
    } else {
        shower.omit("text_withheld", 1);
        vec!["Content withheld: only named fields may be seen, and this has none".to_owned()].into()
    }
}

/// The items of a list, one a fact; those first that bear on the goal.
fn list(items: &[Value], shower: &mut Shower<'_>) -> Facts {
    let mut shown = vec![format!("List of {} items", items.len())];
    if !shower.limits.admits("value") {
        shower.omit("rows_withheld", items.len());
        return shown.into();
    }
    let first = shower.bearing(items.into());
    let rest = (0..items.len()).filter(|at| !first.contains(at));
    let order = first.iter().copied().chain(rest).take(MAX_FACTS);
    let items_shown = order.filter_map(|at| items.get(at));
    shown.extend(items_shown.map(|item| short(item, None, MAX_ITEM, shower)));
    Facts { shown, more: items.len().saturating_sub(MAX_FACTS) }
}

fn object(map: &Map<String, Value>, shower: &mut Shower<'_>) -> Facts {
    let beside = Pairing::of(map);
    let (mut kept, gone): (Vec<_>, Vec<_>) =
        map.iter().partition(|(key, _)| shower.limits.admits(key));
    shower.omit("fields_not_allowed", gone.len());
    kept.sort_by_key(|(key, _)| (!shower.limits.bears(key), *key));
    let names: Vec<_> = kept.iter().take(MAX_KEYS).map(|(key, _)| shower.key(key)).collect();
    let mut shown = vec![format!("Keys: {}", names.join(", "))];
    shown
        .extend(kept.iter().take(MAX_FACTS).map(|(key, value)| field(key, value, &beside, shower)));
    Facts { shown, more: kept.len().saturating_sub(MAX_FACTS) }
}

/// `key: value`, or the mask where the key says that the value is sensitive.
fn field(key: &str, value: &Value, beside: &Pairing<'_>, shower: &mut Shower<'_>) -> String {
    let mut own = shower.named(key);
    let other = beside.name_of(key).map(|name| shower.named(name));
    let hidden = [Some(own), other].into_iter().flatten().any(|name| shower.hides(name, value));
    let name = shower.key_of(&mut own);
    if hidden {
        return format!("{name}: {MASK}");
    }
    match value {
        Value::Array(items) => format!("{name}: list of {} items", items.len()),
        Value::Object(inner) => {
            let mut keys: Vec<&String> = inner.keys().collect();
            keys.sort();
            let keys: Vec<_> =
                keys.into_iter().take(MAX_INNER_KEYS).map(|key| shower.key(key)).collect();
            format!("{name}: dict with keys [{}]", keys.join(", "))
        }
        scalar => {
            let value = short(scalar, Some(other.unwrap_or(own)), MAX_VALUE, shower);
            format!("{name}: {value}")
        }
    }
}

/// A scalar in words.
fn short(value: &Value, key: Option<Named<'_>>, max: usize, shower: &mut Shower<'_>) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) if shower.hides_number(number, key) => MASK.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => shower.string(text, key, max).into_owned(),
        Value::Array(_) | Value::Object(_) => {
            let shown = shower.value(value, key, 0).to_string();
            escape::shorten(&shown, max).into_owned()
        }
    }
}
