//! Random contracts, as they stand in a document.

use toml::{Table, Value};

use super::dice::Dice;
use super::matching::{list, text, texts};
use super::words::*;

fn effects(dice: &mut Dice) -> Value {
    if dice.chance(60) {
        return text(dice.pick(EFFECTS));
    }
    let mut table = Table::new();
    table.insert("impact".to_owned(), text(dice.pick(IMPACTS)));
    table.insert("world".to_owned(), text(dice.pick(WORLDS)));
    Value::Table(table)
}

fn output(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    let which = dice.below(4);
    if which != 0 {
        table.insert("confidentiality".to_owned(), text(dice.pick(CONFIDENTIALITY)));
    }
    if which != 1 {
        table.insert("integrity".to_owned(), text(dice.pick(INTEGRITY)));
    }
    Value::Table(table)
}

fn precondition(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    table.insert("check".to_owned(), text("environment"));
    table.insert("name".to_owned(), text(dice.pick(&["HOME", "PATH"])));
    Value::Table(table)
}

/// The digest of what a server says, as documents write it.
pub(crate) fn digest(byte: u8) -> String {
    weaver_types::Digest::from_bytes([byte; 32]).to_string()
}

fn field(dice: &mut Dice, name: &str) -> Value {
    match name {
        "effects" => effects(dice),
        "rung" => text(dice.pick(RUNGS)),
        "lower_rung" | "idempotent" | "visible" => Value::Boolean(dice.chance(70)),
        "sink" => text(dice.pick(SINKS)),
        "sensitivity" => list(dice, SENSITIVITY, 2),
        "tags" if dice.chance(10) => texts(&[]),
        "tags" => texts(&dice.some(TAGS, 2)),
        "allowed_fields" => list(dice, FIELDS, 3),
        "agents" if dice.chance(50) => text("any"),
        "agents" if dice.chance(20) => texts(&[]),
        "agents" => texts(&dice.some(AGENTS, 2)),
        "permissions" => list(dice, PERMISSIONS, 1),
        "upstream_digest" => text(&digest(dice.pick(&DIGESTS))),
        "output" => output(dice),
        "clearance" => text(dice.pick(CONFIDENTIALITY)),
        "timeout_ms" => Value::Integer(dice.pick(&[100, 5_000, 3_600_000])),
        "preconditions" => Value::Array(vec![precondition(dice)]),
        _ => list(dice, &["/to", "/n"], 2),
    }
}

const FIELDS_OF_AN_ENTRY: &[&str] = &[
    "effects", "effects", "effects", "rung", "rung", "lower_rung", "lower_rung", "sink",
    "sensitivity", "tags", "allowed_fields", "agents", "permissions", "upstream_digest", "output",
    "clearance", "idempotent", "timeout_ms", "visible", "preconditions", "critical_arguments",
];

fn entry(dice: &mut Dice, is_id: bool) -> Table {
    let mut table = Table::new();
    for _ in 0..dice.below(5) {
        let name = dice.pick(FIELDS_OF_AN_ENTRY);
        if is_id || name != "upstream_digest" {
            let value = field(dice, name);
            table.insert(name.to_owned(), value);
        }
    }
    table
}

fn visible(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    table.insert("capabilities".to_owned(), list(dice, ID_PATTERNS, 2));
    for (key, words) in
        [("principals", PRINCIPAL_PATTERNS), ("roles", ROLES), ("agents", AGENT_PATTERNS)]
    {
        if dice.chance(35) {
            table.insert(key.to_owned(), list(dice, words, 2));
        }
    }
    Value::Table(table)
}

pub(crate) fn contracts(dice: &mut Dice) -> Table {
    let mut capabilities = Table::new();
    for _ in 0..dice.below(5) {
        let is_id = dice.chance(50);
        let key = if is_id { dice.pick(IDS) } else { dice.pick(STARRED) };
        capabilities.insert(key.to_owned(), Value::Table(entry(dice, is_id)));
    }
    let mut table = Table::new();
    if !capabilities.is_empty() {
        table.insert("capabilities".to_owned(), Value::Table(capabilities));
    }
    if dice.chance(20) {
        let entries = (0..=dice.below(3)).map(|_| visible(dice)).collect();
        table.insert("visible".to_owned(), Value::Array(entries));
    }
    table
}
