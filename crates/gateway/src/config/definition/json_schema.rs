//! The JSON Schema of `weaver.toml`, for editors.

use serde_json::{Map, Value, json};

use super::{ROOT_TABLE, SectionDefinition, ValueType};

/// The JSON Schema (draft 2020-12) of `weaver.toml`.
///
/// Save it next to the configuration and begin the file with a line such as `#:schema
/// weaver.schema.json`, and editors complete and check keys. The schema covers only the form:
/// missing files and unset variables are found when the configuration is read.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = section(&ROOT_TABLE);
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("weaver.toml"));
    Value::Object(schema)
}

fn section(section: &SectionDefinition) -> Map<String, Value> {
    let properties = section.keys.iter().map(|key| {
        let mut schema = value_type(&key.value_type);
        schema.insert("description".to_owned(), json!(key.description));
        if let Some(default) = key.default.and_then(default) {
            schema.insert("default".to_owned(), default);
        }
        (key.name.to_owned(), Value::Object(schema))
    });
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("additionalProperties".to_owned(), json!(false)),
        ("properties".to_owned(), Value::Object(properties.collect())),
    ]);
    let required: Vec<&str> =
        section.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn value_type(value_type: &ValueType) -> Map<String, Value> {
    let schema = match value_type {
        ValueType::Text => json!({ "type": "string" }),
        ValueType::Flag => json!({ "type": "boolean" }),
        ValueType::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ValueType::Word(words) => json!({ "enum": words }),
        ValueType::List(item, most) => {
            json!({ "type": "array", "items": self::value_type(item), "maxItems": most })
        }
        ValueType::Table(table) => return section(table),
        ValueType::Map(value, most) => {
            json!({ "type": "object", "additionalProperties": self::value_type(value), "maxProperties": most })
        }
        ValueType::TextOrTable => json!({ "type": ["string", "object"] }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A default as JSON; `None` if it is described in words.
fn default(written: &str) -> Option<Value> {
    serde_json::from_str(written).ok()
}
