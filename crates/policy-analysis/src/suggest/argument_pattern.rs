//! Generalises the values at one pointer into a condition.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};
use weaver_policy::{ArgumentPredicate, MatchConditions, critical};
use weaver_types::JsonPointer;

use super::destination_values::{DestinationValue, ValueKind, ValueShape, host};
use super::folders::{self, PathArgument};

/// The maximum size of a set of values; more are not a pattern.
const MAX_SET: usize = 12;
/// The maximum number of list items that a condition covers.
const MAX_ITEMS: usize = 12;

/// A pointer into the arguments with the kind and shape of its values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArgumentSlot {
    pub(super) at: String,
    pub(super) kind: ValueKind,
    pub(super) shape: ValueShape,
}

/// All values that were observed at one pointer.
#[derive(Debug, Clone, Default)]
pub(super) struct ObservedValues {
    texts: BTreeSet<String>,
    numbers: Vec<f64>,
    originals: BTreeMap<String, Value>,
    longest: usize,
}

impl ObservedValues {
    pub(super) fn add(&mut self, value: &DestinationValue) {
        self.longest = self.longest.max(value.values.len());
        for one in &value.values {
            let text = one.as_str().map_or_else(|| one.to_string(), str::to_owned);
            self.numbers.extend(one.as_f64());
            self.originals.insert(one.to_string(), one.clone());
            self.texts.insert(text);
        }
    }
}

/// The key by which two calls support each other: the same project folder, host or receiver.
pub(super) fn support_key(values: &[DestinationValue]) -> String {
    let word = |kind: ValueKind, value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match kind {
            ValueKind::Path => text.split('/').take(4).collect::<Vec<_>>().join("/"),
            ValueKind::Host => host(&text).unwrap_or(text),
            ValueKind::Number | ValueKind::Statement => String::new(),
            ValueKind::OneOf => text,
        }
    };
    let words = values.iter().flat_map(|one| one.values.iter().map(|value| word(one.kind, value)));
    words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("\u{1}")
}

/// Adds the common pattern of the observed values to the conditions; `None` if there is no pattern.
pub(super) fn constrain(
    matches: &mut MatchConditions,
    slot: &ArgumentSlot,
    seen: &ObservedValues,
) -> Option<()> {
    let at = JsonPointer::parse(&slot.at).ok()?;
    if slot.shape == ValueShape::List {
        return constrain_list(matches, &at, slot.kind, seen);
    }
    matches.arguments.push(predicate(&at, slot.kind, seen)?);
    Some(())
}

/// Adds an exclusion to the existing ones.
fn add_exclusion(matches: &mut MatchConditions, unless: MatchConditions) {
    match &mut matches.not {
        None => matches.not = Some(Box::new(unless)),
        Some(not) => {
            let before = std::mem::take(not.as_mut());
            **not = MatchConditions { any: vec![before, unless], ..MatchConditions::default() };
        }
    }
}

/// Requires every present item to match. For arguments whose name says that they contain paths, one
/// condition covers all items. For others, each item position gets an exclusion for a value that
/// does not match.
fn constrain_list(
    matches: &mut MatchConditions,
    at: &JsonPointer,
    kind: ValueKind,
    seen: &ObservedValues,
) -> Option<()> {
    let name = at.as_str().rsplit('/').next().unwrap_or_default();
    if kind == ValueKind::Path && critical::names_path(name) {
        let paths_inside = folders::covering_folders(&seen.texts, PathArgument::of_name(name))?
            .into_iter()
            .collect();
        matches
            .arguments
            .push(ArgumentPredicate { paths_inside, ..ArgumentPredicate::at(at.clone()) });
        return Some(());
    }
    if seen.longest > MAX_ITEMS {
        return None;
    }
    let mut misfits = Vec::new();
    for item in 0..seen.longest {
        let item = JsonPointer::parse(&format!("{}/{item}", at.as_str())).ok()?;
        let fits = predicate(&item, kind, seen)?;
        let there = ArgumentPredicate { present: Some(true), ..ArgumentPredicate::at(item) };
        let not = MatchConditions { arguments: vec![fits], ..MatchConditions::default() };
        let not = Some(Box::new(not));
        misfits.push(MatchConditions { arguments: vec![there], not, ..MatchConditions::default() });
    }
    let longest = u32::try_from(seen.longest).ok()?;
    matches
        .arguments
        .push(ArgumentPredicate { max_length: Some(longest), ..ArgumentPredicate::at(at.clone()) });
    add_exclusion(matches, MatchConditions { any: misfits, ..MatchConditions::default() });
    Some(())
}

fn predicate(
    at: &JsonPointer,
    kind: ValueKind,
    seen: &ObservedValues,
) -> Option<ArgumentPredicate> {
    let empty = ArgumentPredicate::at(at.clone());
    Some(match kind {
        ValueKind::Path => {
            let name = at.as_str().rsplit('/').next().unwrap_or_default();
            let inside: Vec<String> =
                folders::covering_folders(&seen.texts, PathArgument::of_name(name))?
                    .into_iter()
                    .collect();
            ArgumentPredicate { inside, ..empty }
        }
        ValueKind::Host => {
            let hosts: Option<BTreeSet<String>> =
                seen.texts.iter().map(|text| host(text)).collect();
            let hosts = hosts.filter(|hosts| hosts.len() <= MAX_SET)?;
            ArgumentPredicate { domains: hosts.into_iter().collect(), ..empty }
        }
        ValueKind::Number => {
            let (low, high) = (
                seen.numbers.iter().copied().fold(f64::INFINITY, f64::min),
                seen.numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            );
            ArgumentPredicate { min: Some(number(low)?), max: Some(number(high)?), ..empty }
        }
        ValueKind::Statement => {
            let harmless = ArgumentPredicate { harmless_sql: Some(true), ..empty };
            let root = ArgumentPredicate { at: JsonPointer::parse("").ok()?, ..harmless.clone() };
            let all = seen.texts.iter().all(|text| root.holds(&Value::from(text.as_str())));
            all.then_some(harmless)?
        }
        ValueKind::OneOf => {
            let values = &seen.originals;
            let one_of: Vec<Value> = values.values().cloned().collect();
            (values.len() <= MAX_SET).then_some(ArgumentPredicate { one_of, ..empty })?
        }
    })
}

/// Uses an integer if possible, which is easier to read.
fn number(value: f64) -> Option<Number> {
    let whole = value.fract() == 0.0 && value.abs() < 9e15;
    if whole { Some(Number::from(value as i64)) } else { Number::from_f64(value) }
}
