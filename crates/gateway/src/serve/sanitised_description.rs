//! What a server says of its tools, as a model may read it.
//!
//! It is untrusted text: secrets in it are redacted, and characters that a reader would not see
//! are written out. What a value must be equal to (`enum`, `const`, `pattern`, names of
//! properties) stays exact, for the arguments are checked against it.

use serde_json::{Map, Value};
use weaver_firewall::Firewall;
use weaver_text::escape;

/// Keys of a schema whose texts are compared with, not read.
const EXACT: [&str; 11] = [
    "enum", "const", "pattern", "required", "type", "format", "dependentRequired", "$ref", "$id",
    "$schema", "$anchor",
];

/// A description.
pub(crate) fn text(firewall: &Firewall, text: &str) -> String {
    escape::block(&firewall.redact_text(text).text).into_owned()
}

/// An input schema.
pub(crate) fn schema(firewall: &Firewall, schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), keyword(firewall, key, value)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| self::schema(firewall, item)).collect())
        }
        Value::String(string) => Value::String(text(firewall, string)),
        other => other.clone(),
    }
}

/// The value of a key. A property may have the name of a keyword; its value is then an object.
fn keyword(firewall: &Firewall, key: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if EXACT.contains(&key) => value.clone(),
        Value::Array(items) if EXACT.contains(&key) => Value::Array(
            items
                .iter()
                .map(|item| if item.is_string() { item.clone() } else { schema(firewall, item) })
                .collect(),
        ),
        other => schema(firewall, other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_shown_and_values_are_kept() {
        let given = json!({
            "description": "a\u{1b}[31m\n\u{e0041}",
            "properties": { "enum": { "title": "\u{200b}", "enum": ["\u{200b}"] } },
            "examples": ["\u{202e}", "password=hunter2hunter2"],
            "required": ["x\u{200b}"],
        });
        let shown = schema(&Firewall::new(), &given);
        assert_eq!(shown["description"], "a\\u{1b}[31m\n\\u{e0041}");
        let property = &shown["properties"]["enum"];
        assert_eq!(*property, json!({ "title": "\\u{200b}", "enum": ["\u{200b}"] }));
        assert_eq!(shown["examples"], json!(["\\u{202e}", "password=[REDACTED]"]));
        assert_eq!(shown["required"], given["required"]);
    }
}
