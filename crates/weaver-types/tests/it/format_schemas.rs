//! Schemas in strict form and in Gemini's form: what they take, and what they cannot say.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weaver_types::Effects;
use weaver_types::formats::{ToolFormat, ToolSet, ToolSetOptions};

use crate::formats::capability;

const STRICT: ToolSetOptions = ToolSetOptions { strict: true, cache: false };

fn set(format: ToolFormat, schema: Value) -> ToolSet {
    let tool = capability("a.b", Effects::READ_LOCAL, Some(schema));
    ToolSet::new(format, [&tool], STRICT).unwrap()
}

fn parameters(set: &ToolSet) -> &Value {
    &set.definitions()[0]["parameters"]
}

#[test]
fn what_strict_mode_cannot_say_is_offered_as_it_is_and_named() {
    for (schema, place) in [
        (json!({ "type": "object", "properties": { "a": {} } }), "/properties/a"),
        (json!({ "type": "object", "properties": { "a": true } }), "/properties/a"),
        (json!({ "type": "object", "additionalProperties": true }), "/additionalProperties"),
        (
            json!({ "type": "object", "properties": { "a": { "type": "object" } } }),
            "/properties/a/properties",
        ),
        (json!({ "type": "object", "patternProperties": {} }), "/patternProperties"),
        (
            json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/b" } } }),
            "/properties/a/$ref",
        ),
        (json!({ "anyOf": [{ "type": "object" }] }), ""),
        (
            json!({ "type": "object", "properties": { "a": { "anyOf": [
                { "type": "object", "properties": { "x": { "type": "string" } } }, { "type": "string" },
            ] } } }),
            "/properties/a/anyOf/0/properties/x",
        ),
    ] {
        let set = set(ToolFormat::OpenAiResponses, schema.clone());
        assert_eq!(set.definitions()[0].get("strict"), None, "{schema}");
        assert_eq!(*parameters(&set), schema);
        assert_eq!(set.limitations()[0].place, place, "{schema}");
        assert!(set.limitations()[0].text.starts_with("not strict: "), "{:?}", set.limitations());
    }
}

#[test]
fn a_deep_or_endless_schema_ends() {
    let mut deep = json!({ "type": "string" });
    for _ in 0..40 {
        deep = json!({ "type": "object", "properties": { "a": deep }, "required": ["a"] });
    }
    let endless = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/a" }, "b": { "$ref": "#" } },
        "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }] } },
    });
    for schema in [deep, endless] {
        assert_eq!(
            set(ToolFormat::OpenAiChat, schema.clone()).definitions()[0]["function"].get("strict"),
            None
        );
        let gemini = set(ToolFormat::Gemini, schema);
        assert!(parameters(&gemini).to_string().len() < 2_000_000);
        assert!(!gemini.limitations().is_empty() && gemini.limitations().len() <= 16);
    }
}

#[test]
fn gemini_gets_its_own_words_and_what_it_cannot_say_is_named() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": { "type": ["integer", "null"], "exclusiveMinimum": 0 },
            "k": { "enum": [1, 2] },
            "w": { "const": "now" },
            "u": { "oneOf": [{ "type": "string" }, { "type": "number" }] },
            "p": { "$ref": "#/$defs/p" },
        },
        "$defs": { "p": { "type": "string", "format": "uri" } },
        "additionalProperties": false,
    });
    let set = set(ToolFormat::Gemini, schema);
    assert_eq!(
        *parameters(&set),
        json!({
            "type": "OBJECT",
            "properties": {
                "n": { "type": "INTEGER", "nullable": true },
                "k": {},
                "w": { "type": "STRING", "enum": ["now"] },
                "u": { "anyOf": [{ "type": "STRING" }, { "type": "NUMBER" }] },
                "p": { "type": "STRING" },
            },
        })
    );
    let mut places: Vec<&str> = set.limitations().iter().map(|note| note.place.as_str()).collect();
    places.sort_unstable();
    assert_eq!(
        places,
        [
            "/additionalProperties",
            "/properties/k/enum",
            "/properties/n/exclusiveMinimum",
            "/properties/p/format",
            "/properties/u/oneOf",
        ]
    );
}

/// A property: its schema, and a value that fits it.
fn property() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|n| (json!({ "type": "integer" }), json!(n))),
        "[a-z]{0,4}".prop_map(|t| (json!({ "type": "string" }), json!(t))),
        Just((json!({ "type": ["string", "null"] }), Value::Null)),
        Just((json!({ "enum": ["a", "b"] }), json!("b"))),
        Just((json!({ "anyOf": [{ "type": "string" }, { "type": "boolean" }] }), json!(true))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|items| {
                let (schema, value) = items[0].clone();
                (json!({ "type": "array", "items": schema }), json!([value]))
            }),
            object(inner),
        ]
    })
}

/// An object with required, given and absent properties. One that may be null itself is given:
/// to its own schema, null and absent would be two things.
fn object(
    property: impl Strategy<Value = (Value, Value)>,
) -> impl Strategy<Value = (Value, Value)> {
    prop::collection::btree_map("[a-d]", (property, 0..3_u8), 0..4).prop_map(|all| {
        let (mut properties, mut required, mut value) = (Map::new(), Vec::new(), Map::new());
        for (name, ((schema, given), how)) in all {
            let keeps_null = schema["type"] == json!(["string", "null"]);
            properties.insert(name.clone(), schema);
            if how == 0 {
                required.push(json!(name));
            }
            if how < 2 || keeps_null {
                value.insert(name, given);
            }
        }
        (json!({ "type": "object", "properties": properties, "required": required }), json!(value))
    })
}

/// Writes null for every property that is absent, as strict mode makes a model do.
fn filled(strict: &Value, value: Value) -> Value {
    let inner = |schema: &Value| {
        let branch = schema.get("anyOf").and_then(|all| all.get(0));
        branch.cloned().unwrap_or_else(|| schema.clone())
    };
    match value {
        Value::Object(mut fields) => {
            for (name, property) in strict["properties"].as_object().into_iter().flatten() {
                let value = fields.remove(name).unwrap_or(Value::Null);
                fields.insert(name.clone(), filled(&inner(property), value));
            }
            Value::Object(fields)
        }
        Value::Array(items) => {
            items.into_iter().map(|item| filled(&inner(&strict["items"]), item)).collect()
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn arguments_in_strict_form_mean_what_they_meant((schema, arguments) in object(property())) {
        let set = set(ToolFormat::OpenAiResponses, schema.clone());
        prop_assert_eq!(&set.definitions()[0]["strict"], &json!(true));
        let strict = parameters(&set);
        let given = filled(strict, arguments.clone());
        let valid = jsonschema::validator_for(strict).unwrap();
        prop_assert!(valid.is_valid(&given), "{strict} takes no {given}");
        let call = json!({
            "type": "function_call", "call_id": "1", "name": "a__b", "arguments": given.to_string(),
        });
        let read = set.read(&call.to_string()).unwrap();
        prop_assert_eq!(Value::Object(read.arguments), arguments, "{}", schema);
    }
}
