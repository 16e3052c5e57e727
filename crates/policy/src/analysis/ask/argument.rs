//! Arguments under which conditions come out as wanted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use crate::argument::ArgumentPredicate;
use crate::truth::Truth;

/// The most values that are tried at one place.
const MAX_POOL: usize = 2_000;
/// The longest text or list that is made.
const MAX_LENGTH: u32 = 10_000;

/// What came of building arguments.
pub(super) enum Built {
    /// These.
    Found(Value),
    /// There are none.
    Never,
    /// None were found, which proves nothing.
    NotFound,
}

/// Builds arguments under which each condition comes out as wanted.
pub(super) fn build(wanted: &[(&ArgumentPredicate, Truth)]) -> Built {
    let mut places: BTreeMap<&str, Vec<(&ArgumentPredicate, Truth)>> = BTreeMap::new();
    for (predicate, truth) in wanted {
        places.entry(predicate.at.as_str()).or_default().push((*predicate, *truth));
    }
    let mut root = Value::Object(Map::new());
    for (place, wanted) in &places {
        let found = pool(wanted).into_iter().find(|value| {
            let mut alone = Value::Object(Map::new());
            put(&mut alone, place, value.clone());
            wanted.iter().all(|(one, truth)| one.truth(Some(&alone), None) == *truth)
        });
        match found {
            Some(value) => put(&mut root, place, value),
            None if wanted.iter().any(is_finite) => return Built::Never,
            None => return Built::NotFound,
        }
    }
    let whole = wanted.iter().all(|(one, truth)| one.truth(Some(&root), None) == *truth);
    if whole { Built::Found(root) } else { Built::NotFound }
}

/// Whether only the values that a condition names can make it hold, all of which are tried.
fn is_finite((predicate, truth): &(&ArgumentPredicate, Truth)) -> bool {
    let named = predicate.equals.is_some() || !predicate.one_of.is_empty();
    *truth == Truth::Yes && (named || predicate.present == Some(false))
}

/// Puts a value at a place of objects; `None` leaves it absent.
fn put(root: &mut Value, place: &str, value: Option<Value>) {
    let Some(value) = value else { return };
    let mut at = root;
    for step in place.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(members) = at else { return };
        at = members.entry(name).or_insert(Value::Null);
    }
    *at = value;
}

/// The values that are tried, absence first.
fn pool(wanted: &[(&ArgumentPredicate, Truth)]) -> Vec<Option<Value>> {
    let mut out = vec![None];
    let all: Vec<_> = wanted.iter().map(|(predicate, _)| *predicate).collect();
    let literals = all.iter().flat_map(|one| one.equals.iter().chain(&one.one_of));
    out.extend(literals.cloned().map(Some));
    out.extend(numbers(&all).into_iter().map(|number| Some(Value::Number(number))));
    let lengths: BTreeSet<u32> = all
        .iter()
        .flat_map(|one| [one.min_length, one.max_length])
        .flatten()
        .flat_map(|length| [length.saturating_sub(1), length, length.saturating_add(1)])
        .filter(|length| *length <= MAX_LENGTH)
        .collect();
    out.extend(texts(&all, &lengths).into_iter().map(|text| Some(Value::String(text))));
    for length in lengths {
        let items = usize::try_from(length).unwrap_or(0);
        out.push(Some(Value::Array(vec![Value::Null; items])));
    }
    let plain = [Value::Null, true.into(), 0.into(), "x".into(), Value::Array(Vec::new())];
    out.extend(plain.into_iter().chain([Value::Object(Map::new())]).map(Some));
    out
}

fn numbers(all: &[&ArgumentPredicate]) -> Vec<Number> {
    let bounds: Vec<&Number> = all.iter().flat_map(|one| one.min.iter().chain(&one.max)).collect();
    let mut out: Vec<Number> = bounds.iter().copied().cloned().collect();
    for bound in &bounds {
        if let Some(whole) = bound.as_i64() {
            out.extend([whole.saturating_sub(1), whole.saturating_add(1)].map(Number::from));
        } else if let Some(decimal) = bound.as_f64() {
            out.extend([decimal - 1.0, decimal + 1.0].into_iter().filter_map(Number::from_f64));
        }
    }
    let decimals: Vec<f64> = bounds.iter().take(32).filter_map(|bound| bound.as_f64()).collect();
    for (n, a) in decimals.iter().enumerate() {
        let middles = decimals.iter().skip(n + 1).map(|b| a / 2.0 + b / 2.0);
        out.extend(middles.filter_map(Number::from_f64));
    }
    out
}

fn texts(all: &[&ArgumentPredicate], lengths: &BTreeSet<u32>) -> Vec<String> {
    let (mut heads, mut tails) = (BTreeSet::from([String::new()]), BTreeSet::from([String::new()]));
    let mut out = Vec::new();
    for one in all {
        heads.extend(one.prefix.iter().cloned());
        tails.extend(one.suffix.iter().cloned());
        for pattern in &one.glob {
            let text = pattern.as_str();
            out.extend([text.replace('*', "x"), text.replace('*', "")]);
            if let (Some((head, _)), Some((_, tail))) =
                (text.split_once('*'), text.rsplit_once('*'))
            {
                heads.insert(head.to_owned());
                tails.insert(tail.to_owned());
            }
        }
        for root in &one.inside {
            out.push(root.clone());
            heads.insert(format!("{}/", root.trim_end_matches('/')));
        }
        for domain in &one.domains {
            let host = domain.strip_prefix("*.").map_or(domain.clone(), |rest| format!("x.{rest}"));
            heads.insert(format!("https://{host}/"));
            out.push(host);
        }
    }
    for head in &heads {
        for tail in &tails {
            if out.len() > MAX_POOL {
                return out;
            }
            out.extend([format!("{head}x{tail}"), format!("{head}{tail}")]);
            let fixed = head.chars().count() + tail.chars().count();
            for length in lengths.iter().filter_map(|length| usize::try_from(*length).ok()) {
                if let Some(missing) = length.checked_sub(fixed) {
                    out.push(format!("{head}{}{tail}", "x".repeat(missing)));
                }
            }
        }
    }
    out
}
