//! Repairs arguments that do not fit their schema, if the host enables it: only small, unambiguous
//! repairs, each of them recorded, and never of a critical argument.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};
use weaver_policy::critical;
use weaver_types::{Capability, JsonPointer, SinkKind};

use crate::schema_check::SchemaCheck;

/// How deeply nested arguments are repaired.
const MAX_DEPTH: usize = 16;
/// How many repairs one call may need; with more, nothing is repaired.
const MAX_REPAIRS: usize = 64;

/// What may be repaired. By default nothing.
///
/// The repaired arguments are decided on, hashed, recorded and sent; the intent lists the repairs
/// by place and never by value. Arguments are repaired only if they fit their schema afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// A text becomes the number or boolean that it spells, if the schema requires one.
    pub convert: bool,
    /// A missing required argument gets the default of its schema.
    pub fill: bool,
    /// An unknown argument is dropped, if the schema forbids additional ones.
    pub drop_unknown: bool,
}

impl Repairs {
    /// Nothing is repaired.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// All three kinds of repairs.
    #[must_use]
    pub fn all() -> Self {
        Self { convert: true, fill: true, drop_unknown: true }
    }
}

/// Repaired arguments, and the list of repairs: place and kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepairedArguments {
    pub(crate) arguments: Value,
    pub(crate) changes: Value,
}

/// The repaired arguments; `None` when repairs are off, when the arguments fit already, or when
/// they would not fit even after repairs.
pub(crate) fn repaired_arguments(
    repairs: Repairs,
    capability: &Capability,
    check: &SchemaCheck,
    arguments: &Value,
) -> Option<RepairedArguments> {
    let spec = capability.spec();
    let schema = spec.input_schema.as_deref().filter(|_| repairs != Repairs::none())?;
    check.violation(arguments, "the arguments")?;
    let mut critical = critical::arguments(Some(schema), capability.sink());
    critical.extend(spec.critical_arguments.iter().cloned());
    let mut work = RepairWalk { repairs, sink: capability.sink(), critical, changes: Vec::new() };
    let mut repaired = arguments.clone();
    work.repair_value(schema, &mut repaired, "", 0);
    let few = !work.changes.is_empty() && work.changes.len() <= MAX_REPAIRS;
    if !few || check.violation(&repaired, "the arguments").is_some() {
        return None;
    }
    Some(RepairedArguments { arguments: repaired, changes: Value::Array(work.changes) })
}

struct RepairWalk {
    repairs: Repairs,
    sink: SinkKind,
    critical: BTreeSet<JsonPointer>,
    changes: Vec<Value>,
}

impl RepairWalk {
    fn repair_value(&mut self, schema: &Value, value: &mut Value, pointer: &str, depth: usize) {
        if depth > MAX_DEPTH || self.is_critical(pointer) {
            return;
        }
        match value {
            Value::Object(members) => self.repair_object(schema, members, pointer, depth),
            Value::Array(items) => {
                let Some(of) = schema.get("items") else { return };
                for item in items {
                    self.repair_value(of, item, &format!("{pointer}/*"), depth + 1);
                }
            }
            Value::String(text) if self.repairs.convert => {
                let kind = schema.get("type").and_then(Value::as_str);
                if let Some(parsed) = kind.and_then(|kind| parse_scalar(text, kind)) {
                    *value = parsed;
                    self.record_change(pointer, "converted");
                }
            }
            _ => {}
        }
    }

    fn repair_object(
        &mut self,
        schema: &Value,
        members: &mut Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) {
        let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
        for (name, of) in known {
            let child = child_pointer(pointer, name);
            if let Some(value) = members.get_mut(name) {
                self.repair_value(of, value, &child, depth + 1);
            } else if self.repairs.fill
                && is_required(schema, name)
                && !self.contains_critical(&child)
                && let Some(default) = of.get("default")
            {
                members.insert(name.clone(), default.clone());
                self.record_change(&child, "filled");
            }
        }
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        if !self.repairs.drop_unknown || !closed || schema.get("patternProperties").is_some() {
            return;
        }
        let unknown: Vec<String> = members
            .keys()
            .filter(|name| !known.contains_key(*name))
            .filter(|name| !critical::is_critical(name, self.sink))
            .filter(|name| !self.contains_critical(&child_pointer(pointer, name)))
            .cloned()
            .collect();
        for name in unknown {
            members.remove(&name);
            self.record_change(&child_pointer(pointer, &name), "dropped");
        }
    }

    /// True when the place is critical or contains something critical.
    fn contains_critical(&self, pointer: &str) -> bool {
        let within = |critical: &JsonPointer| {
            critical.as_str().strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'))
        };
        self.is_critical(pointer) || self.critical.iter().any(within)
    }

    /// True when the place, or one that contains it, is critical.
    fn is_critical(&self, pointer: &str) -> bool {
        self.critical.iter().any(|critical| {
            let critical = critical.as_str();
            critical == pointer
                || critical.is_empty()
                || pointer.strip_prefix(critical).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    fn record_change(&mut self, pointer: &str, what: &str) {
        self.changes
            .push(json!({ "at": pointer.chars().take(200).collect::<String>(), "what": what }));
    }
}

fn child_pointer(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", JsonPointer::escape_step(name))
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
}

/// The value that a text spells, if it is spelled exactly as JSON would write it.
fn parse_scalar(text: &str, kind: &str) -> Option<Value> {
    match kind {
        "boolean" => match text {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => {
            let number: i64 = text.parse().ok()?;
            (number.to_string() == text).then(|| json!(number))
        }
        "number" => {
            let number: Number = serde_json::from_str(text).ok()?;
            (number.to_string() == text).then_some(Value::Number(number))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
