//! The JSON types of the values that a view counts together.

use serde_json::Value;

/// The set of JSON types at one path.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ValueKinds(u8);

const KINDS: [&str; 6] = ["null", "boolean", "number", "string", "list", "object"];

impl ValueKinds {
    pub(super) fn add(&mut self, value: &Value) {
        self.0 |= match value {
            Value::Null => 1,
            Value::Bool(_) => 2,
            Value::Number(_) => 4,
            Value::String(_) => 8,
            Value::Array(_) => 16,
            Value::Object(_) => 32,
        };
    }
}

impl std::fmt::Display for ValueKinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = KINDS.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        let names: Vec<&str> = named.map(|(_, name)| *name).collect();
        f.write_str(&names.join(" or "))
    }
}
