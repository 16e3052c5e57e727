//! To what a rule, a limit and a window of time apply, and random matches as they stand in documents.

use toml::{Table, Value};
use weaver_types::Timestamp;

use super::capability::Effective;
use super::dice::Dice;
use super::predicate::{self, predicate};
use super::reading::{self, Truth, all, any, fits, fits_one, tables, words_in};
use super::request::Asked;
use super::words::*;

const DAY: i64 = 86_400_000_000;
const MINUTE: i64 = 60_000_000;

fn time_of_day(text: &str) -> i64 {
    let (hours, minutes) = text.split_once(':').unwrap();
    (hours.parse::<i64>().unwrap() * 60 + minutes.parse::<i64>().unwrap()) * MINUTE
}

fn in_time(window: &Table, now: Timestamp) -> bool {
    if window.get("not_before").is_some_and(|from| now < reading::moment(from))
        || window.get("not_after").is_some_and(|to| now >= reading::moment(to))
    {
        return false;
    }
    let clock =
        |key, default| window.get(key).map_or(default, |text| time_of_day(text.as_str().unwrap()));
    let (from, to) = (clock("from", 0), clock("to", DAY));
    let (day, at) = (now.micros().div_euclid(DAY), now.micros().rem_euclid(DAY));
    let began = if from < to {
        if at < from || at >= to {
            return false;
        }
        day
    } else if at >= from {
        day
    } else if at < to {
        day - 1
    } else {
        return false;
    };
    // 1970-01-01 was a Thursday.
    let name = DAYS[usize::try_from((began + 3).rem_euclid(7)).unwrap()];
    window.get("days").is_none_or(|days| words_in(days).contains(&name))
}

/// `any` and `all` over what somebody or something has.
pub(crate) fn has(table: &Table, own: &std::collections::BTreeSet<String>) -> bool {
    let any = table.get("any").is_none_or(|list| words_in(list).iter().any(|w| own.contains(*w)));
    let all = table.get("all").is_none_or(|list| words_in(list).iter().all(|w| own.contains(*w)));
    any && all
}

/// For every name there is a value that fits the pattern.
pub(crate) fn has_named(table: &Table, own: &std::collections::BTreeMap<String, String>) -> bool {
    table.iter().all(|(name, pattern)| {
        own.get(name).is_some_and(|value| fits(pattern.as_str().unwrap(), value))
    })
}

fn lists(table: &Table, key: &str, word: &str) -> bool {
    table.get(key).is_none_or(|list| words_in(list).contains(&word))
}

fn field(name: &str, value: &Value, capability: &Effective, asked: &Asked) -> Truth {
    let table = || value.as_table().unwrap();
    let contains = |word: &str| words_in(value).contains(&word);
    let fit = |text: &str| fits_one(&words_in(value), text);
    Some(match name {
        "capability" => fit(&capability.id),
        "effects" => {
            lists(table(), "impact", reading::impact(capability.effects.impact))
                && lists(table(), "world", reading::world(capability.effects.world))
        }
        "class" => contains(reading::class(capability.effects.class())),
        "rung" => contains(reading::rung(capability.rung)),
        "sink" => contains(reading::sink(capability.sink)),
        "tags" => has(table(), &capability.tags),
        "sensitivity" => {
            let own = &capability.sensitivity;
            own.iter().any(|tag| contains(reading::sensitivity(*tag)))
                || own.is_empty() && contains("none")
        }
        "intent" => asked.request.intent.as_deref().is_some_and(fit),
        "scope" => has_named(table(), &asked.request.scope),
        "mode" => contains(reading::mode(asked.mode)),
        "label" => {
            let label = &asked.label;
            lists(table(), "confidentiality", reading::confidentiality(label.confidentiality))
                && lists(table(), "integrity", reading::integrity(label.integrity))
        }
        "principal" => fit(asked.principal.id.as_str()),
        "roles" => has(table(), &asked.principal.roles),
        "attributes" => has_named(table(), &asked.principal.attributes),
        "agent" => asked.principal.agent.as_ref().is_some_and(|agent| fit(agent.as_str())),
        "time" => in_time(table(), asked.now),
        "operation" => contains(reading::operation(asked.operation)),
        "arguments" => {
            let predicates = tables(Some(value));
            return all(&predicates.iter().map(|p| predicate::holds(p, asked)).collect::<Vec<_>>());
        }
        "any" => {
            let matches = tables(Some(value));
            let each = matches.iter().map(|one| applies(one, capability, asked));
            return any(&each.collect::<Vec<_>>());
        }
        "not" | "unless" => return applies(table(), capability, asked).map(|truth| !truth),
        other => panic!("no such field: {other}"),
    })
}

/// Whether a match holds.
pub(crate) fn applies(matches: &Table, capability: &Effective, asked: &Asked) -> Truth {
    let each = matches.iter().map(|(name, value)| field(name, value, capability, asked));
    all(&each.collect::<Vec<_>>())
}

/// Whether one of an entry's lists names the principal.
pub(crate) fn is_about(entry: &Table, asked: &Asked) -> bool {
    let principal = &asked.principal;
    let silent = !["principals", "roles", "agents"].iter().any(|key| entry.contains_key(*key));
    silent
        || fits_one(&reading::texts(entry, "principals"), principal.id.as_str())
        || reading::texts(entry, "roles").iter().any(|role| principal.roles.contains(*role))
        || principal
            .agent
            .as_ref()
            .is_some_and(|agent| fits_one(&reading::texts(entry, "agents"), agent.as_str()))
}

/// What a random match may speak of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subjects {
    /// Roles as a field of a match.
    pub(crate) roles: bool,
    /// The label of the run.
    pub(crate) label: bool,
    /// Arguments.
    pub(crate) arguments: bool,
}

impl Subjects {
    pub(crate) const ALL: Self = Self { roles: true, label: true, arguments: true };
}

pub(crate) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

pub(crate) fn texts(list: &[&str]) -> Value {
    Value::Array(list.iter().copied().map(text).collect())
}

/// 1 to `most` of these words, sometimes without brackets where it is one.
pub(crate) fn list(dice: &mut Dice, from: &[&str], most: usize) -> Value {
    let some = dice.some(from, most);
    if some.len() == 1 && dice.chance(50) { text(some[0]) } else { texts(&some) }
}

/// A table `any`, `all`, or both.
pub(crate) fn any_all(dice: &mut Dice, from: &[&str]) -> Value {
    let mut table = Table::new();
    let which = dice.below(5);
    if which != 0 {
        table.insert("any".to_owned(), list(dice, from, 2));
    }
    if which < 2 {
        table.insert("all".to_owned(), list(dice, from, 2));
    }
    Value::Table(table)
}

/// Names with a pattern each.
pub(crate) fn named(dice: &mut Dice, names: &[(&str, &[&str])], patterns: &[&str]) -> Value {
    let mut table = Table::new();
    for (name, values) in dice.some(names, 2) {
        let value = if dice.chance(50) { dice.pick(values) } else { dice.pick(patterns) };
        table.insert(name.to_owned(), text(if value.is_empty() { "*" } else { value }));
    }
    Value::Table(table)
}

/// A time as a text or as a TOML date-time.
pub(crate) fn moment(dice: &mut Dice) -> Value {
    let words = dice.pick(MOMENTS);
    if dice.chance(50) { text(words) } else { Value::Datetime(words.parse().unwrap()) }
}

fn two_of(dice: &mut Dice, first: (&str, &[&str], usize), second: (&str, &[&str], usize)) -> Value {
    let mut table = Table::new();
    let which = dice.below(3);
    if which != 0 {
        table.insert(first.0.to_owned(), list(dice, first.1, first.2));
    }
    if which != 1 {
        table.insert(second.0.to_owned(), list(dice, second.1, second.2));
    }
    Value::Table(table)
}

fn random_time(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    if dice.chance(20) {
        table.insert("not_before".to_owned(), text(MOMENTS[dice.below(2)]));
    }
    if dice.chance(20) {
        table.insert("not_after".to_owned(), moment(dice));
    }
    if table.len() == 2 {
        table.insert("not_after".to_owned(), text(MOMENTS[4]));
    }
    if dice.chance(50) {
        table.insert("from".to_owned(), text(dice.pick(HOURS)));
    }
    if dice.chance(50) {
        let from = table.get("from").and_then(Value::as_str).unwrap_or("00:00").to_owned();
        let to = if dice.chance(15) { "24:00" } else { dice.pick(HOURS) };
        if to != from {
            table.insert("to".to_owned(), text(to));
        }
    }
    if table.is_empty() || dice.chance(40) {
        table.insert("days".to_owned(), list(dice, DAYS, 5));
    }
    Value::Table(table)
}

const FIELDS_OF_A_MATCH: &[&str] = &[
    "capability", "capability", "effects", "class", "rung", "sink", "tags", "sensitivity",
    "intent", "scope", "mode", "label", "principal", "roles", "attributes", "agent", "time",
    "operation", "arguments", "arguments", "arguments", "any", "not", "unless",
];

fn random_field(dice: &mut Dice, name: &str, depth: usize, subjects: Subjects) -> Value {
    match name {
        "capability" => list(dice, ID_PATTERNS, 2),
        "effects" => two_of(dice, ("impact", IMPACTS, 3), ("world", WORLDS, 2)),
        "class" => list(dice, CLASSES, 3),
        "rung" => list(dice, RUNGS, 4),
        "sink" => list(dice, SINKS, 3),
        "tags" => any_all(dice, TAGS),
        "sensitivity" => list(dice, SENSITIVITY_OR_NONE, 3),
        "intent" => list(dice, INTENT_PATTERNS, 2),
        "scope" => named(dice, SCOPES, SCOPE_PATTERNS),
        "mode" => list(dice, MODES, 2),
        "label" => {
            two_of(dice, ("confidentiality", CONFIDENTIALITY, 3), ("integrity", INTEGRITY, 1))
        }
        "principal" => list(dice, PRINCIPAL_PATTERNS, 2),
        "roles" => any_all(dice, ROLES),
        "attributes" => named(dice, ATTRIBUTES, ATTRIBUTE_PATTERNS),
        "agent" => list(dice, AGENT_PATTERNS, 2),
        "time" => random_time(dice),
        "operation" => list(dice, OPERATIONS, 2),
        "arguments" => {
            let how_many = 1 + usize::from(dice.chance(25));
            Value::Array((0..how_many).map(|_| predicate(dice)).collect())
        }
        "any" => {
            let how_many = 1 + dice.below(3);
            let one = |_| Value::Table(full(dice, depth - 1, subjects));
            Value::Array((0..how_many).map(one).collect())
        }
        _ => Value::Table(full(dice, depth - 1, subjects)),
    }
}

/// A match with at least one field.
fn full(dice: &mut Dice, depth: usize, subjects: Subjects) -> Table {
    loop {
        let table = matcher(dice, depth, subjects);
        if !table.is_empty() {
            return table;
        }
    }
}

/// A match, maybe of everything.
pub(crate) fn matcher(dice: &mut Dice, depth: usize, subjects: Subjects) -> Table {
    let wanted = dice.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
    let mut table = Table::new();
    for _ in 0..wanted {
        let name = dice.pick(FIELDS_OF_A_MATCH);
        let silent = match name {
            "roles" => !subjects.roles,
            "label" => !subjects.label,
            "arguments" => !subjects.arguments,
            "any" | "not" | "unless" => depth == 0,
            _ => false,
        };
        if !silent && !table.contains_key(name) {
            let value = random_field(dice, name, depth, subjects);
            table.insert(name.to_owned(), value);
        }
    }
    table
}
