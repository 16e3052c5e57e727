//! Values: when two are the same, and which of two numbers is greater.

use std::cmp::Ordering;

use serde_json::Value as Json;
use toml::Value;

/// A number, never rounded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Exact {
    Whole(i128),
    Decimal(f64),
}

pub(crate) fn of_json(value: &Json) -> Option<Exact> {
    let number = value.as_number()?;
    number.as_i128().map(Exact::Whole).or_else(|| number.as_f64().map(Exact::Decimal))
}

pub(crate) fn of_toml(value: &Value) -> Option<Exact> {
    match value {
        Value::Integer(whole) => Some(Exact::Whole(i128::from(*whole))),
        Value::Float(decimal) => Some(Exact::Decimal(*decimal)),
        _ => None,
    }
}

fn against(whole: i128, decimal: f64) -> Ordering {
    const FAR: f64 = 1e30;
    if decimal > FAR {
        return Ordering::Less;
    }
    if decimal < -FAR {
        return Ordering::Greater;
    }
    let below = decimal.floor();
    whole.cmp(&(below as i128)).then(if decimal > below { Ordering::Less } else { Ordering::Equal })
}

pub(crate) fn compare(a: Exact, b: Exact) -> Ordering {
    match (a, b) {
        (Exact::Whole(a), Exact::Whole(b)) => a.cmp(&b),
        (Exact::Whole(a), Exact::Decimal(b)) => against(a, b),
        (Exact::Decimal(a), Exact::Whole(b)) => against(b, a).reverse(),
        (Exact::Decimal(a), Exact::Decimal(b)) => a.partial_cmp(&b).unwrap(),
    }
}

/// Whether an argument is the value that a document names.
pub(crate) fn same(argument: &Json, named: &Value) -> bool {
    match (argument, named) {
        (Json::String(a), Value::String(b)) => a == b,
        (Json::String(a), Value::Datetime(b)) => *a == b.to_string(),
        (Json::Bool(a), Value::Boolean(b)) => a == b,
        (Json::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Value::Table(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => of_json(argument)
            .zip(of_toml(named))
            .is_some_and(|(a, b)| compare(a, b) == Ordering::Equal),
    }
}
