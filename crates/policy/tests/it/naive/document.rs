//! Random documents: a policy and contracts, as tables that are written as text.

use toml::{Table, Value};

use super::contract_text::contracts;
use super::dice::Dice;
use super::matching::{Subjects, any_all, list, matcher, named, text, texts};
use super::words::*;

/// What random documents may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// What a match may speak of.
    pub(crate) subjects: Subjects,
    /// Rules that require an approval.
    pub(crate) approvals: bool,
    /// Contracts.
    pub(crate) contracts: bool,
}

impl Shape {
    pub(crate) const FULL: Self =
        Self { subjects: Subjects::ALL, approvals: true, contracts: true };
}

/// A policy and contracts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Documents {
    pub(crate) policy: Table,
    pub(crate) contracts: Table,
}

impl Documents {
    pub(crate) fn random(dice: &mut Dice, shape: Shape) -> Self {
        let policy = policy(dice, shape);
        let contracts = if shape.contracts { contracts(dice) } else { Table::new() };
        Self {
            policy: with_head("policy", policy, dice),
            contracts: with_head("contracts", contracts, dice),
        }
    }

    /// Policy, contracts and keys as the text of files.
    pub(crate) fn texts(&self) -> [String; 3] {
        let keys = "kind = \"keys\"\nformat = 1\nid = \"t\"\nversion = 1\n".to_owned();
        [toml::to_string(&self.policy).unwrap(), toml::to_string(&self.contracts).unwrap(), keys]
    }

    pub(crate) fn rules(&mut self) -> &mut Vec<Value> {
        self.policy
            .entry("rules")
            .or_insert_with(|| Value::Array(Vec::new()))
            .as_array_mut()
            .unwrap()
    }
}

fn with_head(kind: &str, body: Table, dice: &mut Dice) -> Table {
    let mut table = Table::new();
    table.insert("kind".to_owned(), text(kind));
    table.insert("format".to_owned(), Value::Integer(1));
    table.insert("id".to_owned(), text("t"));
    table.insert("version".to_owned(), Value::Integer(1));
    if dice.chance(4) {
        table.insert("expires".to_owned(), super::matching::moment(dice));
    }
    table.extend(body);
    table
}

fn number(dice: &mut Dice, from: &[i64]) -> Value {
    Value::Integer(dice.pick(from))
}

pub(crate) fn constraints(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    for _ in 0..=dice.below(3) {
        let (key, value) = match dice.below(6) {
            0 => ("max_rows", number(dice, &[0, 1, 10, 50])),
            1 => ("max_fields", number(dice, &[1, 2, 3])),
            2 => ("max_chars", number(dice, &[10, 100])),
            3 => ("allowed_fields", list(dice, FIELDS, 3)),
            4 => ("mode", text(dice.pick(RESPONSE_MODES))),
            _ => ("timeout_ms", number(dice, &[1, 500, 1000])),
        };
        table.insert(key.to_owned(), value);
    }
    Value::Table(table)
}

fn authority(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    for _ in 0..=dice.below(3) {
        let (key, value) = match dice.below(5) {
            0 => ("min_trust", number(dice, &[0, 500, 1000])),
            1 => ("clearance", text(dice.pick(CONFIDENTIALITY))),
            2 => ("scopes", list(dice, &["finance", "legal"], 2)),
            3 => ("roles", list(dice, &["cfo", "lead"], 2)),
            _ => ("quorum", number(dice, &[1, 2, 3])),
        };
        table.insert(key.to_owned(), value);
    }
    Value::Table(table)
}

fn require(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    for _ in 0..=dice.below(2) {
        let (key, value) = match dice.below(5) {
            0 => ("roles", any_all(dice, ROLES)),
            1 => ("permissions", list(dice, PERMISSIONS, 2)),
            2 => ("attributes", named(dice, ATTRIBUTES, ATTRIBUTE_PATTERNS)),
            _ => {
                let mut need = Table::new();
                if dice.chance(80) {
                    need.insert("min_chars".to_owned(), number(dice, &[1, 5, 15, 20]));
                }
                if dice.chance(40) || need.is_empty() {
                    need.insert("sources".to_owned(), list(dice, SOURCES, 3));
                }
                ("justification", Value::Table(need))
            }
        };
        table.insert(key.to_owned(), value);
    }
    Value::Table(table)
}

fn rule(dice: &mut Dice, shape: Shape) -> Table {
    let mut table = Table::new();
    table.insert("match".to_owned(), Value::Table(matcher(dice, 2, shape.subjects)));
    let effect = match dice.below(10) {
        0 | 1 => "deny",
        2 | 3 if shape.approvals => "require_approval",
        _ => "allow",
    };
    table.insert("effect".to_owned(), text(effect));
    if effect == "allow" && dice.chance(50) {
        table.insert("require".to_owned(), require(dice));
    }
    if effect != "deny" && dice.chance(40) {
        table.insert("constraints".to_owned(), constraints(dice));
    }
    if effect == "deny" && dice.chance(40) {
        table.insert("code".to_owned(), text(dice.pick(CODES)));
    }
    if effect == "require_approval" && dice.chance(60) {
        table.insert("authority".to_owned(), authority(dice));
    }
    if dice.chance(20) {
        table.insert("reason".to_owned(), text("because"));
    }
    table
}

/// A deny rule with this name.
pub(crate) fn deny_rule(dice: &mut Dice, name: &str) -> Value {
    let mut table = Table::new();
    table.insert("name".to_owned(), text(name));
    table.insert("match".to_owned(), Value::Table(matcher(dice, 2, Subjects::ALL)));
    table.insert("effect".to_owned(), text("deny"));
    if dice.chance(40) {
        table.insert("code".to_owned(), text(dice.pick(CODES)));
    }
    Value::Table(table)
}

/// A limit with this name.
pub(crate) fn limit(dice: &mut Dice, name: &str, subjects: Subjects) -> Value {
    let mut table = Table::new();
    table.insert("name".to_owned(), text(name));
    table.insert("match".to_owned(), Value::Table(matcher(dice, 1, subjects)));
    let most = 1 + i64::try_from(dice.below(3)).unwrap();
    table.insert("max_calls".to_owned(), Value::Integer(most));
    table.insert("window_s".to_owned(), number(dice, &[1, 60, 3600]));
    if dice.chance(60) {
        table.insert("by".to_owned(), list(dice, &["principal", "capability", "run", "agent"], 4));
    }
    if dice.chance(30) {
        let one = |dice: &mut Dice| {
            let mut table = Table::new();
            table.insert("any".to_owned(), list(dice, ROLES, 2));
            let more = i64::try_from(dice.below(3)).unwrap();
            table.insert("max_calls".to_owned(), Value::Integer(most + more));
            Value::Table(table)
        };
        let several = (0..=dice.below(2)).map(|_| one(dice)).collect();
        table.insert("for_roles".to_owned(), Value::Array(several));
    }
    Value::Table(table)
}

fn principals(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    for id in dice.some(PRINCIPALS, 3) {
        let mut one = Table::new();
        if dice.chance(80) {
            one.insert("roles".to_owned(), texts(&dice.some(ROLES, 3)));
        }
        if dice.chance(40) {
            one.insert("permissions".to_owned(), texts(&dice.some(PERMISSIONS, 2)));
        }
        if dice.chance(40) {
            one.insert("agent".to_owned(), text(dice.pick(AGENTS)));
        }
        if dice.chance(40) {
            let (name, values) = dice.pick(ATTRIBUTES);
            let attributes = Table::from_iter([(name.to_owned(), text(dice.pick(values)))]);
            one.insert("attributes".to_owned(), Value::Table(attributes));
        }
        table.insert(id.to_owned(), Value::Table(one));
    }
    Value::Table(table)
}

/// Agents, those that principals name among them.
fn agents(dice: &mut Dice, principals: Option<&Value>) -> Value {
    let mut names: std::collections::BTreeSet<&str> = dice.some(AGENTS, 2).into_iter().collect();
    let named = principals.and_then(Value::as_table).into_iter().flatten();
    names.extend(named.filter_map(|(_, one)| one.get("agent")?.as_str()));
    let mut table = Table::new();
    for name in names {
        let mut one = Table::new();
        one.insert("tool_allowlist".to_owned(), texts(&dice.some(ID_PATTERNS, 3)));
        one.insert("safety_class_ceiling".to_owned(), text(dice.pick(CLASSES)));
        if dice.chance(40) {
            one.insert("decision_keys".to_owned(), list(dice, &["pay", "summarise"], 2));
        }
        table.insert(name.to_owned(), Value::Table(one));
    }
    Value::Table(table)
}

fn signals(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    for severity in ["info", "warning", "critical", "low_confidence", "unavailable"] {
        if dice.chance(50) {
            let mut one = Table::new();
            for key in ["hold_from", "deny_from"] {
                if dice.chance(70) {
                    let rung = if dice.chance(25) { "never" } else { dice.pick(RUNGS) };
                    one.insert(key.to_owned(), text(rung));
                }
            }
            if !one.is_empty() {
                table.insert(severity.to_owned(), Value::Table(one));
            }
        }
    }
    Value::Table(table)
}

fn approvals(dice: &mut Dice) -> Value {
    let mut table = Table::new();
    for check in ["floor", "flow", "signal"] {
        if dice.chance(50) {
            table.insert(check.to_owned(), authority(dice));
        }
    }
    Value::Table(table)
}

fn policy(dice: &mut Dice, shape: Shape) -> Table {
    let mut table = Table::new();
    if dice.chance(50) {
        let word = dice.pick(&["off", "observe", "enforce"]);
        table.insert("contract_enforcement".to_owned(), text(word));
    }
    if dice.chance(50) {
        table.insert("principals".to_owned(), principals(dice));
    }
    if dice.chance(30) {
        let declared = agents(dice, table.get("principals"));
        table.insert("agents".to_owned(), declared);
    }
    let many = dice.chance(4);
    let how_many = if many { 20 + dice.below(30) } else { dice.below(7) };
    let mut rules = Vec::new();
    for n in 0..how_many {
        let mut one = Table::new();
        one.insert("name".to_owned(), text(&format!("r{}{n}", dice.below(10))));
        one.extend(rule(dice, shape));
        if many && dice.chance(60) {
            one.insert("match".to_owned(), Value::Table(Table::new()));
        }
        rules.push(Value::Table(one));
    }
    table.insert("rules".to_owned(), Value::Array(rules));
    if dice.chance(30) {
        let limits = (0..=dice.below(2)).map(|n| limit(dice, &format!("l{n}"), shape.subjects));
        let limits = limits.collect();
        table.insert("limits".to_owned(), Value::Array(limits));
    }
    if dice.chance(30) {
        table.insert("signals".to_owned(), signals(dice));
    }
    if dice.chance(40) {
        table.insert("approvals".to_owned(), approvals(dice));
    }
    table
}
