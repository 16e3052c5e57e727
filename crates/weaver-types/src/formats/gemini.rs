//! JSON Schema in Gemini's dialect: upper-case OpenAPI types, `nullable` for null, and few
//! keywords.

use serde_json::{Map, Value, json};

use super::nullable::resolve_reference;
use super::strict_schema::SchemaNote;
use crate::JsonPointer;

/// How deeply schemas are written; anything deeper becomes an object of any content.
const MAX_DEPTH: usize = 24;
/// The most nodes of one schema that are written, because references multiply them.
const MAX_NODES: usize = 5_000;

/// Keywords that are copied unchanged.
const UNCHANGED_KEYWORDS: [&str; 12] = [
    "title", "description", "required", "pattern", "minimum", "maximum", "minItems", "maxItems",
    "minLength", "maxLength", "minProperties", "maxProperties",
];
/// The string formats that Gemini accepts.
const FORMATS: [&str; 6] = ["date-time", "enum", "float", "double", "int32", "int64"];

/// The schema in Gemini's dialect, with a note for everything it cannot express.
pub(super) fn to_gemini(schema: &Value) -> (Value, Vec<SchemaNote>) {
    let mut walk = GeminiWriter { root: schema, left_out: Vec::new(), nodes: 0 };
    let written = walk.node(schema, "", 0);
    (Value::Object(written), walk.left_out)
}

struct GeminiWriter<'s> {
    root: &'s Value,
    left_out: Vec<SchemaNote>,
    nodes: usize,
}

impl GeminiWriter<'_> {
    fn note_loss(&mut self, place: &str, key: &str, what: &str) {
        let key = JsonPointer::escape_step(key);
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
        let Some(fields) = resolve_reference(self.root, schema).as_object() else {
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
            ("type", _) => write_types(out, value),
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
                    self.note_loss(place, key, "written as `anyOf`");
                }
                self.write_choice(out, branches, &format!("{place}/{key}"), depth);
            }
            ("enum", Value::Array(values)) => self.write_enum(out, values, place),
            ("const", Value::String(_)) => self.write_enum(out, std::slice::from_ref(value), place),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                out.insert(key.to_owned(), value.clone());
            }
            ("$defs" | "definitions" | "$ref", _) => {}
            _ if UNCHANGED_KEYWORDS.contains(&key) => {
                out.insert(key.to_owned(), value.clone());
            }
            _ => self.note_loss(place, key, "left out"),
        }
    }

    /// Writes the branches of a choice; a null branch makes the whole nullable.
    fn write_choice(
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

    /// Writes a list of values; Gemini accepts only strings.
    fn write_enum(&mut self, out: &mut Map<String, Value>, values: &[Value], place: &str) {
        if values.contains(&Value::Null) {
            out.insert("nullable".to_owned(), json!(true));
        }
        let others: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
        if others.is_empty() || !others.iter().all(|value| value.is_string()) {
            self.note_loss(place, "enum", "left out: only texts can be listed");
            return;
        }
        out.insert("enum".to_owned(), json!(others));
        out.entry("type").or_insert(json!("STRING"));
    }
}

/// Writes one type in upper case, null as `nullable`, several types as a choice.
fn write_types(out: &mut Map<String, Value>, value: &Value) {
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

/// Converts a schema in Gemini's dialect to JSON Schema.
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
