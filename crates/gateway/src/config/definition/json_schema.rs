//! The JSON Schema of `weaver.toml`, for editors.

use serde_json::{Map, Value, json};

use super::{Form, ROOT, Section};

/// The JSON Schema (draft 2020-12) of `weaver.toml`.
///
/// With the schema in a file beside the configuration, a first line such as `#:schema
/// weaver.schema.json` makes editors complete and check keys. It knows the form alone: whether a
/// file is there or a variable is set shows only when the configuration is read.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = section(&ROOT);
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("weaver.toml"));
    Value::Object(schema)
}

fn section(section: &Section) -> Map<String, Value> {
    let properties = section.keys.iter().map(|key| {
        let mut schema = form(&key.form);
        schema.insert("description".to_owned(), json!(key.meaning));
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

fn form(form: &Form) -> Map<String, Value> {
    let schema = match form {
        Form::Text => json!({ "type": "string" }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Form::Word(words) => json!({ "enum": words }),
        Form::List(item, most) => {
            json!({ "type": "array", "items": self::form(item), "maxItems": most })
        }
        Form::Table(table) => return section(table),
        Form::Map(value, most) => {
            json!({ "type": "object", "additionalProperties": self::form(value), "maxProperties": most })
        }
        Form::TextOrTable => json!({ "type": ["string", "object"] }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A default as JSON; none where it is described in words.
fn default(written: &str) -> Option<Value> {
    serde_json::from_str(written).ok()
}
