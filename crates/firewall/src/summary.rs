//! Facts about a result: deterministic, most important first, each redacted before it is shortened.

mod columns;
mod number;
mod prose;

use serde_json::{Map, Value};
use weaver_text::escape;

use crate::content::{Rows, Shape, ValueRenderer};
use crate::redact::MASK;
use crate::redact::value::{FieldName, SiblingNames};

/// The most facts of a frame, including the omission marker.
pub(crate) const MAX_FACTS: usize = 20;
/// The longest value in a fact, in characters.
pub(crate) const MAX_VALUE_CHARS: usize = 80;
/// The longest list item in a fact, in characters.
const MAX_ITEM_CHARS: usize = 100;
/// The most keys of an object that are named.
const MAX_KEYS: usize = 20;
/// The most keys of a nested object that are named.
const MAX_INNER_KEYS: usize = 5;

/// Facts, and how many more there are.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) shown: Vec<String>,
    pub(crate) omitted: usize,
}

impl Facts {
    /// Puts facts relevant to the goal first; otherwise keeps their order.
    fn sorted_by_goal(mut self, renderer: &ValueRenderer<'_>) -> Self {
        if let Some(goal) = &renderer.limits.goal {
            self.shown.sort_by_cached_key(|fact| std::cmp::Reverse(goal.match_count(fact)));
        }
        self
    }

    /// At most `max` facts.
    fn truncated(mut self, max: usize) -> Self {
        let total = self.shown.len() + self.omitted;
        if total > max {
            self.shown.truncate(max.saturating_sub(1));
            self.omitted = total - self.shown.len();
        }
        self
    }
}

impl From<Vec<String>> for Facts {
    fn from(shown: Vec<String>) -> Self {
        Self { shown, omitted: 0 }
    }
}

/// The marker for omitted facts.
pub(crate) fn omission_marker(more: usize) -> String {
    format!("… ({more} more facts omitted; full data via handle)")
}

/// Facts about every column of rows that has any.
pub(crate) fn column_facts(rows: Rows<'_>, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    columns::facts_of_all_columns(rows, renderer)
}

/// The facts about a result.
pub(crate) fn facts(shape: &Shape<'_>, renderer: &mut ValueRenderer<'_>) -> Facts {
    let facts = match shape {
        Shape::Rows { rows, wrapper_fields } => {
            let mut facts = columns::row_facts(*rows, renderer);
            let pairing = SiblingNames::of_fields(wrapper_fields.iter().copied());
            for (key, value) in wrapper_fields {
                if renderer.limits.may_show_field(key) {
                    facts.push(field_fact(key, value, &pairing, renderer));
                } else if renderer.limits.withholds_field(key) {
                    renderer.omit("fields_not_allowed", 1);
                }
            }
            facts.into()
        }
        Shape::List(items) => list_facts(items, renderer),
        Shape::Object(map) => object_facts(map, renderer),
        Shape::Scalar(value) => {
            fieldless_facts(|renderer| vec![scalar_text(value, None, 200, renderer)], renderer)
        }
        Shape::Text(text) => fieldless_facts(|renderer| prose::facts(text, renderer), renderer),
        Shape::Binary { media_type, len } => {
            vec![format!("Media type: {media_type}"), format!("Size: {len} bytes")].into()
        }
    };
    facts.sorted_by_goal(renderer).truncated(MAX_FACTS)
}

/// Facts about content without fields; withheld if only named fields may be shown.
fn fieldless_facts(
    make: impl FnOnce(&mut ValueRenderer<'_>) -> Vec<String>,
    renderer: &mut ValueRenderer<'_>,
) -> Facts {
    if renderer.limits.may_show_field("value") {
        make(renderer).into()
    } else {
        renderer.omit("text_withheld", 1);
        vec!["Content withheld: only named fields may be seen, and this has none".to_owned()].into()
    }
}

/// One fact per item of a list; items relevant to the goal come first.
fn list_facts(items: &[Value], renderer: &mut ValueRenderer<'_>) -> Facts {
    let mut shown = vec![format!("List of {} items", items.len())];
    if !renderer.limits.may_show_field("value") {
        renderer.omit("rows_withheld", items.len());
        return shown.into();
    }
    let first = renderer.rows_by_relevance(items.into());
    let rest = (0..items.len()).filter(|at| !first.contains(at));
    let order = first.iter().copied().chain(rest).take(MAX_FACTS);
    let items_shown = order.filter_map(|at| items.get(at));
    shown.extend(items_shown.map(|item| scalar_text(item, None, MAX_ITEM_CHARS, renderer)));
    Facts { shown, omitted: items.len().saturating_sub(MAX_FACTS) }
}

fn object_facts(map: &Map<String, Value>, renderer: &mut ValueRenderer<'_>) -> Facts {
    let pairing = SiblingNames::of_object(map);
    let mut kept: Vec<_> =
        map.iter().filter(|(key, _)| renderer.limits.may_show_field(key)).collect();
    let withheld = map.keys().filter(|key| renderer.limits.withholds_field(key)).count();
    renderer.omit("fields_not_allowed", withheld);
    kept.sort_by_key(|(key, _)| (!renderer.limits.is_relevant(key), *key));
    let names: Vec<_> = kept.iter().take(MAX_KEYS).map(|(key, _)| renderer.key(key)).collect();
    let mut shown = vec![format!("Keys: {}", names.join(", "))];
    shown.extend(
        kept.iter().take(MAX_FACTS).map(|(key, value)| field_fact(key, value, &pairing, renderer)),
    );
    Facts { shown, omitted: kept.len().saturating_sub(MAX_FACTS) }
}

/// `key: value`, or the mask if the key marks the value as sensitive.
fn field_fact(
    key: &str,
    value: &Value,
    pairing: &SiblingNames<'_>,
    renderer: &mut ValueRenderer<'_>,
) -> String {
    let mut field_name = renderer.field_name(key);
    let other = pairing.name_of(key).map(|name| renderer.field_name(name));
    let hidden =
        [Some(field_name), other].into_iter().flatten().any(|name| renderer.hides(name, value));
    let name = renderer.key_for(&mut field_name);
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
            let value =
                scalar_text(scalar, Some(other.unwrap_or(field_name)), MAX_VALUE_CHARS, renderer);
            format!("{name}: {value}")
        }
    }
}

/// A scalar as text.
fn scalar_text(
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
