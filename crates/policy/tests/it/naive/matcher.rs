//! Random matches, as they stand in documents.

use toml::{Table, Value};

use super::dice::Dice;
use super::predicate_text::predicate;
use super::words::*;

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

fn time(dice: &mut Dice) -> Value {
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

fn field(dice: &mut Dice, name: &str, depth: usize, subjects: Subjects) -> Value {
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
        "time" => time(dice),
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
            let value = field(dice, name, depth, subjects);
            table.insert(name.to_owned(), value);
        }
    }
    table
}
