//! The pattern of the values at one place, and the condition that it makes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};
use weaver_policy::{ArgumentPredicate, Match, critical};
use weaver_types::Pointer;

use super::folders;
use super::values::{DecidingValue, ValueKind, ValueShape, host};
use crate::sql::HarmlessSqlCondition;

/// The most values of a set: more are no pattern.
const MAX_SET: usize = 12;
/// The most items of a list that a condition looks at.
const MAX_ITEMS: usize = 12;

/// Where values stand, and how many stand there at most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatternPlace {
    pub(super) at: String,
    pub(super) kind: ValueKind,
    pub(super) shape: ValueShape,
}

/// All values that were seen at one place.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenValues {
    texts: BTreeSet<String>,
    numbers: Vec<f64>,
    originals: BTreeMap<String, Value>,
    longest: usize,
}

impl SeenValues {
    pub(super) fn add(&mut self, value: &DecidingValue) {
        self.longest = self.longest.max(value.values.len());
        for one in &value.values {
            let text = one.as_str().map_or_else(|| one.to_string(), str::to_owned);
            self.numbers.extend(one.as_f64());
            self.originals.insert(one.to_string(), one.clone());
            self.texts.insert(text);
        }
    }
}

/// The words by which two calls support each other: they went to the same project folder, the same
/// host, the same receiver.
pub(super) fn support_words(values: &[DecidingValue]) -> String {
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

/// Adds to a match what the values at a place have in common. `None` where they have nothing in
/// common that could be written down.
pub(super) fn constrain(
    matches: &mut Match,
    place: &PatternPlace,
    seen: &SeenValues,
) -> Option<()> {
    let at = Pointer::parse(&place.at).ok()?;
    if place.shape == ValueShape::List {
        return constrain_list(matches, &at, place.kind, seen);
    }
    let predicate = predicate(&at, place.kind, seen)?;
    if place.kind == ValueKind::Statement {
        let statement = HarmlessSqlCondition::for_argument(&at);
        exclude(matches, statement.unless);
    }
    matches.arguments.push(predicate);
    Some(())
}

/// Joins an exclusion to those that are there.
fn exclude(matches: &mut Match, unless: Match) {
    match &mut matches.not {
        None => matches.not = Some(Box::new(unless)),
        Some(not) => {
            let before = std::mem::take(not.as_mut());
            **not = Match { any: vec![before, unless], ..Match::default() };
        }
    }
}

/// Each item that is there must fit. Paths under a name that says so are looked at all at once; of
/// other items, none is one that is there and does not fit.
fn constrain_list(
    matches: &mut Match,
    at: &Pointer,
    kind: ValueKind,
    seen: &SeenValues,
) -> Option<()> {
    let name = at.as_str().rsplit('/').next().unwrap_or_default();
    if kind == ValueKind::Path && critical::names_path(name) {
        let paths_inside = folders::cover(&seen.texts)?.into_iter().collect();
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
        let place = Pointer::parse(&format!("{}/{item}", at.as_str())).ok()?;
        let fits = predicate(&place, kind, seen)?;
        let there = ArgumentPredicate { present: Some(true), ..ArgumentPredicate::at(place) };
        let not = Match { arguments: vec![fits], ..Match::default() };
        let not = Some(Box::new(not));
        misfits.push(Match { arguments: vec![there], not, ..Match::default() });
    }
    let longest = u32::try_from(seen.longest).ok()?;
    matches
        .arguments
        .push(ArgumentPredicate { max_length: Some(longest), ..ArgumentPredicate::at(at.clone()) });
    exclude(matches, Match { any: misfits, ..Match::default() });
    Some(())
}

fn predicate(at: &Pointer, kind: ValueKind, seen: &SeenValues) -> Option<ArgumentPredicate> {
    let empty = ArgumentPredicate::at(at.clone());
    Some(match kind {
        ValueKind::Path => {
            let inside: Vec<String> = folders::cover(&seen.texts)?.into_iter().collect();
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
            let statement = HarmlessSqlCondition::for_argument(at);
            let all = seen.texts.iter().all(|text| statement.is_harmless(text));
            all.then_some(statement.begins)?
        }
        ValueKind::OneOf => {
            let values = &seen.originals;
            let one_of: Vec<Value> = values.values().cloned().collect();
            (values.len() <= MAX_SET).then_some(ArgumentPredicate { one_of, ..empty })?
        }
    })
}

/// A whole number where it is one: easier to read.
#[expect(clippy::cast_possible_truncation, reason = "checked to be a whole number within 2^53")]
fn number(value: f64) -> Option<Number> {
    let whole = value.fract() == 0.0 && value.abs() < 9e15;
    if whole { Some(Number::from(value as i64)) } else { Number::from_f64(value) }
}
