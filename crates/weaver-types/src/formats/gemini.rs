//! Schemas in Gemini's form: OpenAPI types in capitals, `nullable` for null, and few keywords.

use serde_json::{Map, Value, json};

use super::nullable::resolved;
use super::strict_schema::SchemaNote;

/// How deeply schemas are written; deeper ones become objects of any content.
const MAX_DEPTH: usize = 24;
/// The most parts of one schema that are written: references multiply them.
const MAX_NODES: usize = 5_000;

/// Keywords that stand as they are.
const KEPT: [&str; 12] = [
    "title", "description", "required", "pattern", "minimum", "maximum", "minItems", "maxItems",
    "minLength", "maxLength", "minProperties", "maxProperties",
];
/// The formats that Gemini takes.
const FORMATS: [&str; 6] = ["date-time", "enum", "float", "double", "int32", "int64"];

/// The schema in Gemini's form, with what it cannot say.
pub(super) fn to_gemini(schema: &Value) -> (Value, Vec<SchemaNote>) {
    let mut walk = Walk { root: schema, left_out: Vec::new(), nodes: 0 };
    let written = walk.node(schema, "", 0);
    (Value::Object(written), walk.left_out)
}

struct Walk<'s> {
    root: &'s Value,
    left_out: Vec<SchemaNote>,
    nodes: usize,
}

impl Walk<'_> {
    fn lose(&mut self, place: &str, key: &str, what: &str) {
        let key = key.replace('~', "~0").replace('/', "~1");
        self.left_out.push((format!("{place}/{key}"), what.to_owned()));
    }

    fn node(&mut self, schema: &Value, place: &str, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            self.left_out.push((place.to_owned(), "too deep: any object".to_owned()));
            out.insert("type".to_owned(), json!("OBJECT"));
            return out;
        }
        let Some(fields) = resolved(self.root, schema).as_object() else {
            return out;
        };
        for (key, value) in fields {
            self.keyword(&mut out, key, value, place, depth);
        }
        out
    }

    fn keyword(
        &mut self,
        out: &mut Map<String, Value>,
        key: &str,
        value: &Value,
        place: &str,
        depth: usize,
    ) {
        match (key, value) {
            ("type", _) => kinds(out, value),
            ("properties", Value::Object(properties)) => {
                let mut written = Map::new();
                for (name, schema) in properties {
                    let place = format!("{place}/properties/{name}");
                    written
                        .insert(name.clone(), Value::Object(self.node(schema, &place, depth + 1)));
                }
                out.insert(key.to_owned(), Value::Object(written));
            }
            ("items", _) => {
                let items = self.node(value, &format!("{place}/items"), depth + 1);
                out.insert(key.to_owned(), Value::Object(items));
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                if key == "oneOf" {
                    self.lose(place, key, "written as `anyOf`");
                }
                self.choice(out, branches, &format!("{place}/{key}"), depth);
            }
            ("enum", Value::Array(values)) => self.values(out, values, place),
            ("const", Value::String(_)) => self.values(out, std::slice::from_ref(value), place),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                out.insert(key.to_owned(), value.clone());
            }
            ("$defs" | "definitions" | "$ref", _) => {}
            _ if KEPT.contains(&key) => {
                out.insert(key.to_owned(), value.clone());
            }
            _ => self.lose(place, key, "left out"),
        }
    }

    /// The branches of a choice; a null among them makes the whole nullable.
    fn choice(
        &mut self,
        out: &mut Map<String, Value>,
        branches: &[Value],
        place: &str,
        depth: usize,
    ) {
        let null = |branch: &&Value| branch.get("type") == Some(&json!("null"));
        if branches.iter().any(|branch| null(&branch)) {
            out.insert("nullable".to_owned(), json!(true));
        }
        let others: Vec<&Value> = branches.iter().filter(|branch| !null(branch)).collect();
        let written: Vec<Map<String, Value>> = others
            .iter()
            .enumerate()
            .map(|(at, branch)| self.node(branch, &format!("{place}/{at}"), depth + 1))
            .collect();
        match <[Map<String, Value>; 1]>::try_from(written) {
            Ok([only]) => only.into_iter().for_each(|(key, value)| {
                out.entry(key).or_insert(value);
            }),
            Err(written) => {
                out.insert("anyOf".to_owned(), json!(written));
            }
        }
    }

    /// A list of values; Gemini knows texts only.
    fn values(&mut self, out: &mut Map<String, Value>, values: &[Value], place: &str) {
        if values.contains(&Value::Null) {
            out.insert("nullable".to_owned(), json!(true));
        }
        let others: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
        if others.is_empty() || !others.iter().all(|value| value.is_string()) {
            self.lose(place, "enum", "left out: only texts can be listed");
            return;
        }
        out.insert("enum".to_owned(), json!(others));
        out.entry("type").or_insert(json!("STRING"));
    }
}

/// One type in capitals, null as `nullable`, several as a choice.
fn kinds(out: &mut Map<String, Value>, value: &Value) {
    let all: Vec<&str> = match value {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let others: Vec<String> =
        all.iter().filter(|kind| **kind != "null").map(|kind| kind.to_ascii_uppercase()).collect();
    if others.len() < all.len() {
        out.insert("nullable".to_owned(), json!(true));
    }
    match others.as_slice() {
        [] => drop(out.insert("type".to_owned(), json!("NULL"))),
        [only] => drop(out.insert("type".to_owned(), json!(only))),
        several => {
            let choice: Vec<Value> = several.iter().map(|kind| json!({ "type": kind })).collect();
            out.insert("anyOf".to_owned(), json!(choice));
        }
    }
}

/// A schema in Gemini's form as a JSON Schema.
pub(super) fn from_gemini(schema: &Value, depth: usize) -> Value {
    let Some(fields) = schema.as_object().filter(|_| depth <= MAX_DEPTH) else {
        return json!({});
    };
    let mut out = Map::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            ("nullable", _) => continue,
            ("type", Value::String(kind)) => json!(kind.to_ascii_lowercase()),
            ("items", _) => from_gemini(value, depth + 1),
            ("properties", Value::Object(properties)) => {
                let read = |(name, value): (&String, &Value)| {
                    (name.clone(), from_gemini(value, depth + 1))
                };
                Value::Object(properties.iter().map(read).collect())
            }
            ("anyOf", Value::Array(branches)) => {
                branches.iter().map(|branch| from_gemini(branch, depth + 1)).collect()
            }
            _ => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    if fields.get("nullable") == Some(&json!(true)) {
        return super::nullable::or_null(Value::Object(out));
    }
    Value::Object(out)
}
