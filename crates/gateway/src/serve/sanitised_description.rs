//! Sanitises a server's descriptions before a model reads them.
//!
//! They are untrusted text: secrets are redacted, and invisible characters are escaped. Values that
//! arguments are checked against (`enum`, `const`, `pattern`, property names) stay exact.

use serde_json::{Map, Value};
use weaver_firewall::Firewall;
use weaver_text::escape;

/// Schema keywords whose texts are compared, not read.
const EXACT_KEYWORDS: [&str; 11] = [
    "enum", "const", "pattern", "required", "type", "format", "dependentRequired", "$ref", "$id",
    "$schema", "$anchor",
];

/// Sanitises a text.
pub(crate) fn text(firewall: &Firewall, text: &str) -> String {
    escape::block(&firewall.redact_text(text).text).into_owned()
}

/// Sanitises a JSON Schema.
pub(crate) fn schema(firewall: &Firewall, schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), keyword_value(firewall, key, value)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| self::schema(firewall, item)).collect())
        }
        Value::String(string) => Value::String(text(firewall, string)),
        other => other.clone(),
    }
}

/// Sanitises the value of a key. A property may be named like a keyword; its value is then an
/// object.
fn keyword_value(firewall: &Firewall, key: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if EXACT_KEYWORDS.contains(&key) => value.clone(),
        Value::Array(items) if EXACT_KEYWORDS.contains(&key) => Value::Array(
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
