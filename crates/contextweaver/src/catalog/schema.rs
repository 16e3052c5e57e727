//! Extracts parameters from a JSON Schema.

use serde_json::Value;

use crate::catalog::Parameter;

const MAX_DEPTH: usize = 4;
const MAX_PARAMETERS: usize = 256;
const MAX_BYTES: usize = 48 * 1024;

/// Names and descriptions of the properties, outer ones before nested ones.
pub(super) fn parameters(schema: &Value) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut bytes_left = MAX_BYTES;
    let mut level = vec![schema];
    for _ in 0..MAX_DEPTH {
        let mut inner = Vec::new();
        for schema in level {
            inner.extend(schema.get("items"));
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                continue;
            };
            for (name, property) in properties {
                let description = property.get("description").and_then(Value::as_str);
                let description = description.unwrap_or_default();
                let size = name.len() + description.len();
                if parameters.len() >= MAX_PARAMETERS || size > bytes_left {
                    return parameters;
                }
                bytes_left -= size;
                let (name, description) = (name.clone(), description.to_owned());
                parameters.push(Parameter { name, description });
                inner.push(property);
            }
        }
        level = inner;
    }
    parameters
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_properties_are_found_and_bounded() {
        let schema = json!({"type": "object", "properties": {
            "owner": {"type": "string", "description": "who", "enum": ["secret"]},
            "rows": {"type": "array", "items": {"properties": {"cell": {"type": "string"}}}},
        }});
        let names: Vec<_> = parameters(&schema).into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["owner", "rows", "cell"]);
        let many: serde_json::Map<_, _> =
            (0..9999).map(|n| (format!("p{n}"), json!({"description": "x"}))).collect();
        assert_eq!(parameters(&json!({"properties": many})).len(), MAX_PARAMETERS);
        assert!(parameters(&json!("text")).is_empty());
        assert!(parameters(&json!({"properties": [1]})).is_empty());
    }
}
