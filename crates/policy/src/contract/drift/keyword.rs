//! The keywords that stand alone: types, values, bounds, forms.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use super::DriftClass;
use super::schema::{Comparison, Thing};

/// Which way a condition went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Tighter,
    Looser,
}

/// Below it every integer is a double of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;
const TYPES: [&str; 6] = ["array", "boolean", "null", "number", "object", "string"];

/// A keyword whose value is not the same before and after.
pub(super) fn compare(
    out: &mut Comparison<'_>,
    key: &str,
    (old, new): (Option<&Value>, Option<&Value>),
    place: &str,
) {
    match key {
        "description" | "title" | "examples" | "$comment" | "deprecated" => {
            let what = ["text of the input schema changed", "text of the output schema changed"];
            out.add(place, what, DriftClass::Documentation);
        }
        "default" => out.add(place, ["default changed"; 2], DriftClass::Breaking),
        "type" => match (types(old), types(new)) {
            (Some(old), Some(new)) => sets(out, Thing::Type, (&old, &new), place),
            _ => out.untold(place),
        },
        "enum" => match (values(old), values(new)) {
            (Ok(old), Ok(new)) => optional_sets(out, (old, new), place),
            _ => out.untold(place),
        },
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            bound(out, (old, new), Ordering::Greater, place);
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            bound(out, (old, new), Ordering::Less, place);
        }
        "const" | "multipleOf" | "pattern" | "format" => match (old, new) {
            (None, Some(_)) => out.turned(Turn::Tighter, Thing::Format, place),
            (Some(_), None) => out.turned(Turn::Looser, Thing::Format, place),
            _ => out.untold(place),
        },
        "uniqueItems" => match (flag(old), flag(new)) {
            (Some(false), Some(true)) => out.turned(Turn::Tighter, Thing::Bound, place),
            (Some(true), Some(false)) => out.turned(Turn::Looser, Thing::Bound, place),
            (Some(_), Some(_)) => {}
            _ => out.untold(place),
        },
        _ => out.untold(place),
    }
}

/// A limit; `tighter` is how its new value compares with the old one where it allows less.
fn bound(
    out: &mut Comparison<'_>,
    (old, new): (Option<&Value>, Option<&Value>),
    tighter: Ordering,
    place: &str,
) {
    let turn = match (old, new) {
        (None, Some(_)) => Turn::Tighter,
        (Some(_), None) => Turn::Looser,
        (Some(old), Some(new)) => {
            let numbers = (old.as_f64(), new.as_f64());
            match numbers.0.zip(numbers.1).and_then(|(old, new)| new.partial_cmp(&old)) {
                Some(order) if order == tighter => Turn::Tighter,
                Some(order) if order == tighter.reverse() => Turn::Looser,
                Some(_) if numbers.0.is_some_and(|number| number.abs() < EXACT) => return,
                // What is no number, or differs beyond what can be compared.
                _ => return out.untold(place),
            }
        }
        (None, None) => return,
    };
    out.turned(turn, Thing::Bound, place);
}

/// The types that are accepted. An integer is a number, so `number` holds both.
fn types(value: Option<&Value>) -> Option<BTreeSet<String>> {
    let named: Vec<&str> = match value {
        None => TYPES.to_vec(),
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().map(Value::as_str).collect::<Option<_>>()?,
        Some(_) => return None,
    };
    let mut out: BTreeSet<String> = named.into_iter().map(str::to_owned).collect();
    if out.contains("number") {
        out.insert("integer".to_owned());
    }
    Some(out)
}

/// The values that are accepted; `None` for all.
fn values(value: Option<&Value>) -> Result<Option<BTreeSet<String>>, ()> {
    match value {
        None => Ok(None),
        Some(Value::Array(all)) => Ok(Some(all.iter().map(Value::to_string).collect())),
        Some(_) => Err(()),
    }
}

fn optional_sets(
    out: &mut Comparison<'_>,
    sets_of: (Option<BTreeSet<String>>, Option<BTreeSet<String>>),
    place: &str,
) {
    match sets_of {
        (None, Some(_)) => out.turned(Turn::Tighter, Thing::Enum, place),
        (Some(_), None) => out.turned(Turn::Looser, Thing::Enum, place),
        (Some(old), Some(new)) => sets(out, Thing::Enum, (&old, &new), place),
        (None, None) => {}
    }
}

fn sets(
    out: &mut Comparison<'_>,
    thing: Thing,
    (old, new): (&BTreeSet<String>, &BTreeSet<String>),
    place: &str,
) {
    if !old.is_subset(new) {
        out.turned(Turn::Tighter, thing, place);
    }
    if !new.is_subset(old) {
        out.turned(Turn::Looser, thing, place);
    }
}

fn flag(value: Option<&Value>) -> Option<bool> {
    value.map_or(Some(false), Value::as_bool)
}
