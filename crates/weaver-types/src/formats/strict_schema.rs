//! Schemas for OpenAI's strict mode: every object closed, every property required.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::nullable::{admits_null, or_null};
use crate::JsonPointer;

/// The deepest nesting that strict mode accepts.
const MAX_DEPTH: usize = 10;

/// Keywords that are copied unchanged.
const UNCHANGED_KEYWORDS: [&str; 11] = [
    "type", "description", "enum", "const", "pattern", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems",
];
/// Keywords that constrain the shape of a value and that strict mode cannot express.
const INEXPRESSIBLE_KEYWORDS: [&str; 6] =
    ["allOf", "patternProperties", "prefixItems", "definitions", "$dynamicRef", "$recursiveRef"];
/// The string formats that strict mode knows.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// A position in a schema, and the remark about it.
pub(super) type SchemaNote = (String, String);

/// A schema in strict form, with remarks on what was left out.
pub(super) struct StrictSchema {
    pub(super) schema: Value,
    pub(super) left_out: Vec<SchemaNote>,
}

/// Converts an object schema to strict form.
///
/// # Errors
/// The position and keyword that strict mode cannot express.
pub(super) fn strict(schema: &Value) -> Result<StrictSchema, SchemaNote> {
    if schema.get("type") != Some(&json!("object")) {
        return Err((String::new(), "the arguments are not declared as one object".to_owned()));
    }
    let mut walk = StrictWriter { left_out: Vec::new() };
    let schema =
        walk.node(schema, &SchemaPosition { place: String::new(), depth: 0, choice: false })?;
    Ok(StrictSchema { schema, left_out: walk.left_out })
}

struct StrictWriter {
    left_out: Vec<SchemaNote>,
}

struct SchemaPosition {
    place: String,
    depth: usize,
    /// True inside a choice, where a null could not be told apart from a null of another branch.
    choice: bool,
}

impl SchemaPosition {
    fn step(&self, step: &str) -> Self {
        let place = format!("{}/{}", self.place, JsonPointer::escape_step(step));
        Self { place, depth: self.depth + 1, choice: self.choice }
    }

    fn fault<T>(&self, key: &str, what: &str) -> Result<T, SchemaNote> {
        Err((self.step(key).place, what.to_owned()))
    }
}

impl StrictWriter {
    fn node(&mut self, schema: &Value, at: &SchemaPosition) -> Result<Value, SchemaNote> {
        let Some(fields) = schema.as_object() else { return Err(untyped_note(at)) };
        if at.depth > 2 * MAX_DEPTH {
            return Err((at.place.clone(), "it is nested too deeply".to_owned()));
        }
        if !["type", "enum", "const", "anyOf", "oneOf", "$ref"]
            .iter()
            .any(|key| fields.contains_key(*key))
        {
            return Err(untyped_note(at));
        }
        let mut out = Map::new();
        for (key, value) in fields {
            if let Some((key, value)) = self.keyword(fields, key, value, at)? {
                out.insert(key, value);
            }
        }
        if is_object(fields) {
            self.close(fields, &mut out, at)?;
        }
        Ok(Value::Object(out))
    }

    fn keyword(
        &mut self,
        fields: &Map<String, Value>,
        key: &str,
        value: &Value,
        at: &SchemaPosition,
    ) -> Result<Option<(String, Value)>, SchemaNote> {
        let kept = |value: Value| Ok(Some((key.to_owned(), value)));
        match key {
            "properties" | "required" | "additionalProperties" => Ok(None),
            "items" => kept(self.node(value, &at.step(key))?),
            "maxItems" => kept(value.clone()),
            "format" if value.as_str().is_some_and(|f| FORMATS.contains(&f)) => kept(value.clone()),
            "$ref" if at.choice => at.fault(key, "a reference inside of a choice"),
            "$ref" if value.as_str().is_some_and(|to| to.starts_with("#/$defs/")) => {
                kept(value.clone())
            }
            "$ref" => at.fault(key, "a reference that leads elsewhere than into `$defs`"),
            "$defs" => kept(self.definitions(value, &at.step(key))?),
            "anyOf" | "oneOf" if key == "anyOf" || !fields.contains_key("anyOf") => {
                if key == "oneOf" {
                    let told = "written as `anyOf`".to_owned();
                    self.left_out.push((at.step(key).place, told));
                }
                let choice = self.choice(value, &at.step(key))?;
                Ok(Some(("anyOf".to_owned(), choice)))
            }
            _ if UNCHANGED_KEYWORDS.contains(&key) => kept(value.clone()),
            _ if INEXPRESSIBLE_KEYWORDS.contains(&key) => {
                at.fault(key, "strict mode cannot say it")
            }
            _ => {
                self.left_out.push((at.step(key).place, "left out".to_owned()));
                Ok(None)
            }
        }
    }

    fn definitions(&mut self, schemas: &Value, at: &SchemaPosition) -> Result<Value, SchemaNote> {
        let Some(schemas) = schemas.as_object() else { return Err(untyped_note(at)) };
        let mut out = Map::new();
        for (name, schema) in schemas {
            out.insert(name.clone(), self.node(schema, &at.step(name))?);
        }
        Ok(Value::Object(out))
    }

    fn choice(&mut self, branches: &Value, at: &SchemaPosition) -> Result<Value, SchemaNote> {
        let Some(branches) = branches.as_array() else { return Err(untyped_note(at)) };
        let mut out = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let at = SchemaPosition { choice: true, ..at.step(&index.to_string()) };
            out.push(self.node(branch, &at)?);
        }
        Ok(Value::Array(out))
    }

    /// Closes an object and requires all of its properties; optional ones become nullable.
    fn close(
        &mut self,
        fields: &Map<String, Value>,
        out: &mut Map<String, Value>,
        at: &SchemaPosition,
    ) -> Result<(), SchemaNote> {
        if fields.get("additionalProperties").is_some_and(|more| *more != json!(false)) {
            return at.fault("additionalProperties", "strict mode has no open objects");
        }
        let declared = fields.get("properties").and_then(Value::as_object);
        if declared.is_none() && at.depth > 0 && !fields.contains_key("additionalProperties") {
            return at.fault("properties", "it may hold any property");
        }
        let needed = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        let needed: BTreeSet<&str> = needed.filter_map(Value::as_str).collect();
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, property) in declared.into_iter().flatten() {
            let inner = at.step("properties").step(name);
            let mut schema = self.node(property, &inner)?;
            if !needed.contains(name.as_str()) && !admits_null(property) {
                if at.choice {
                    let told = "an optional property inside of a choice".to_owned();
                    return Err((inner.place, told));
                }
                schema = or_null(schema);
            }
            properties.insert(name.clone(), schema);
            required.push(json!(name));
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        out.insert("required".to_owned(), Value::Array(required));
        out.insert("additionalProperties".to_owned(), json!(false));
        Ok(())
    }
}

fn untyped_note(at: &SchemaPosition) -> SchemaNote {
    (at.place.clone(), "it may be of any type".to_owned())
}

fn is_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    }
}
