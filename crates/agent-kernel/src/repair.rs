//! Repairing arguments that do not fit their schema, where the host has switched it on: small,
//! certain repairs only, each of them recorded, and never at a critical argument.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};
use weaver_policy::critical;
use weaver_types::{Capability, Pointer, SinkKind};

use crate::schema_check::SchemaCheck;

/// How deep arguments are repaired.
const MAX_DEPTH: usize = 16;
/// How many repairs one call may need; with more it is left as it is.
const MAX_REPAIRS: usize = 64;

/// What may be repaired. By default nothing.
///
/// What was repaired is what is decided on, hashed, recorded and sent; the intent says what was
/// changed, by place and never by value. Arguments are repaired only if they then fit their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// A text becomes the number or the boolean that it spells, where the schema asks for one.
    pub convert: bool,
    /// A required argument that is missing gets the default of its schema.
    pub fill: bool,
    /// An argument that the schema does not know is left out, where the schema takes no others.
    pub drop_unknown: bool,
}

impl Repairs {
    /// Nothing is repaired.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// All three sorts.
    #[must_use]
    pub fn all() -> Self {
        Self { convert: true, fill: true, drop_unknown: true }
    }
}

/// Arguments that were repaired, and what was done: place and sort.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepairedArguments {
    pub(crate) arguments: Value,
    pub(crate) done: Value,
}

/// Repaired arguments; `None` where nothing is switched on, where they fit already, or where they
/// would not fit after all.
pub(crate) fn repaired(
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
    let mut work = RepairWalk { repairs, sink: capability.sink(), critical, done: Vec::new() };
    let mut mended = arguments.clone();
    work.value(schema, &mut mended, "", 0);
    let few = !work.done.is_empty() && work.done.len() <= MAX_REPAIRS;
    if !few || check.violation(&mended, "the arguments").is_some() {
        return None;
    }
    Some(RepairedArguments { arguments: mended, done: Value::Array(work.done) })
}

struct RepairWalk {
    repairs: Repairs,
    sink: SinkKind,
    critical: BTreeSet<Pointer>,
    done: Vec<Value>,
}

impl RepairWalk {
    fn value(&mut self, schema: &Value, value: &mut Value, at: &str, depth: usize) {
        if depth > MAX_DEPTH || self.is_critical(at) {
            return;
        }
        match value {
            Value::Object(members) => self.object(schema, members, at, depth),
            Value::Array(items) => {
                let Some(of) = schema.get("items") else { return };
                for item in items {
                    self.value(of, item, &format!("{at}/*"), depth + 1);
                }
            }
            Value::String(text) if self.repairs.convert => {
                let kind = schema.get("type").and_then(Value::as_str);
                if let Some(meant) = kind.and_then(|kind| spelt(text, kind)) {
                    *value = meant;
                    self.note(at, "converted");
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, schema: &Value, members: &mut Map<String, Value>, at: &str, depth: usize) {
        let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
        for (name, of) in known {
            let place = place(at, name);
            if let Some(value) = members.get_mut(name) {
                self.value(of, value, &place, depth + 1);
            } else if self.repairs.fill
                && is_required(schema, name)
                && !self.touches(&place)
                && let Some(default) = of.get("default")
            {
                members.insert(name.clone(), default.clone());
                self.note(&place, "filled");
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
            .filter(|name| !self.touches(&place(at, name)))
            .cloned()
            .collect();
        for name in unknown {
            members.remove(&name);
            self.note(&place(at, &name), "dropped");
        }
    }

    /// True where the place holds something critical, or is so itself.
    fn touches(&self, at: &str) -> bool {
        let within = |critical: &Pointer| {
            critical.as_str().strip_prefix(at).is_some_and(|rest| rest.starts_with('/'))
        };
        self.is_critical(at) || self.critical.iter().any(within)
    }

    /// True where the place, or one that holds it, is critical.
    fn is_critical(&self, at: &str) -> bool {
        self.critical.iter().any(|critical| {
            let critical = critical.as_str();
            critical == at
                || critical.is_empty()
                || at.strip_prefix(critical).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    fn note(&mut self, at: &str, what: &str) {
        self.done.push(json!({ "at": at.chars().take(200).collect::<String>(), "what": what }));
    }
}

fn place(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
}

/// The value that a text spells, in the one way in which JSON writes it.
fn spelt(text: &str, kind: &str) -> Option<Value> {
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
