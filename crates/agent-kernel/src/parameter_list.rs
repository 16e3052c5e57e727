//! The parameters of a tool in one line, for a model.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::escape;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// `path, head?, tail?`: the property names of an input schema, the required ones first, the others
/// with a question mark. After `max_names` names it ends with `…`; it is empty if the schema has no
/// properties.
///
/// ```
/// use serde_json::json;
/// use weaver_agent_kernel::parameter_list;
///
/// let schema = json!({ "properties": { "head": {}, "path": {} }, "required": ["path"] });
/// assert_eq!(parameter_list(&schema, 8), "path, head?");
/// assert_eq!(parameter_list(&schema, 1), "path, …");
/// ```
#[must_use]
pub fn parameter_list(schema: &Value, max_names: usize) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required: BTreeSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    let (first, rest): (Vec<&String>, Vec<&String>) =
        names.partition(|name| required.contains(name.as_str()));
    let shown = |name: &str| escape::excerpt(name, MAX_NAME_BYTES);
    let first = first.into_iter().map(|name| shown(name));
    let all = first.chain(rest.into_iter().map(|name| format!("{}?", shown(name))));
    let mut words: Vec<String> = all.take(max_names.saturating_add(1)).collect();
    if words.len() > max_names {
        words.truncate(max_names);
        words.push("…".to_owned());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn as_many_parameters_are_named_as_are_asked_for_and_the_rest_is_three_dots() {
        let schema = json!({ "properties": { "a": {}, "b": {}, "c": {} }, "required": ["b"] });
        for (most, line) in [
            (0, "…"),
            (1, "b, …"),
            (2, "b, a?, …"),
            (3, "b, a?, c?"),
            (4, "b, a?, c?"),
            (usize::MAX, "b, a?, c?"),
        ] {
            assert_eq!(parameter_list(&schema, most), line);
        }
        for none in
            [json!({}), json!(true), json!({ "properties": {} }), json!({ "required": ["a"] })]
        {
            assert_eq!(parameter_list(&none, 3), "", "{none}");
        }
        let long = json!({ "properties": { "x".repeat(60): {} } });
        assert_eq!(parameter_list(&long, 3), format!("{}?", "x".repeat(40)));
    }
}
