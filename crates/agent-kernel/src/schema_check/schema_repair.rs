//! Leaves out of a server's schema what is no JSON Schema here, so that its tool stays usable.
//!
//! Servers publish schemas of older drafts under no or another name (`exclusiveMinimum: true`, a list
//! under `items`), patterns that no engine of linear time runs (`(?!…)`), and plain mistakes. Clients
//! pass them by. What remains is checked here, and the server checks its arguments itself.

use std::borrow::Cow;

use jsonschema::ValidationError;
use serde_json::{Map, Value};

use super::schema_reference::referenced;

/// The most places of one schema that are left out. A hostile schema costs no more than this many
/// attempts to compile it.
const MAX_REMOVED: usize = 32;
/// How deep references are looked for.
const MAX_DEPTH: usize = 64;
/// Keywords beside which the members of `properties` and `patternProperties` are listed in full.
const CLOSING_KEYWORDS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// The largest part of a schema that compiles, with what it was compiled to; `None` if that is not
/// found by leaving out the places that are at fault, one by one.
pub(crate) fn compile_usable_part<T>(
    schema: &Value,
    compile: impl Fn(&Value) -> Result<T, ValidationError<'static>>,
) -> Option<(Value, T)> {
    let mut part = schema.clone();
    for _ in 0..=MAX_REMOVED {
        let pointer = match compile(&part) {
            Ok(compiled) => return Some((part, compiled)),
            Err(error) => error.instance_path().to_string(),
        };
        remove(&mut part, &pointer)?;
    }
    None
}

/// The schema without the names of other dialects, and without references to what it does not hold.
pub(crate) fn without_unusable_references(schema: Cow<'_, Value>) -> Cow<'_, Value> {
    let mut usable = schema.clone().into_owned();
    match remove_unusable_references(&mut usable, &schema, 0) {
        0 => schema,
        _ => Cow::Owned(usable),
    }
}

/// Returns how many were removed.
fn remove_unusable_references(value: &mut Value, root: &Value, depth: usize) -> usize {
    if depth > MAX_DEPTH {
        return 0;
    }
    let removed_in = |value: &mut Value| remove_unusable_references(value, root, depth + 1);
    match value {
        Value::Object(members) => {
            let is_unusable = |key: &str, value: &Value| match (key, value.as_str()) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Some(target)) => {
                    referenced(root, target).is_none()
                }
                ("$schema", Some(dialect)) => !dialect.contains("//json-schema.org/"),
                _ => false,
            };
            let all = members.len();
            members.retain(|key, value| !is_unusable(key, value));
            let removed = all.saturating_sub(members.len());
            members.values_mut().map(removed_in).sum::<usize>().saturating_add(removed)
        }
        Value::Array(items) => items.iter_mut().map(removed_in).sum(),
        _ => 0,
    }
}

/// Removes the value at a pointer; `None` where there is none.
fn remove(schema: &mut Value, pointer: &str) -> Option<()> {
    let (parent, last) = pointer.rsplit_once('/')?;
    let key = last.replace("~1", "/").replace("~0", "~");
    match schema.pointer_mut(parent)? {
        Value::Object(members) => {
            members.remove(&key)?;
            reopen(members, &key);
        }
        Value::Array(items) => {
            let index = key.parse().ok().filter(|index| *index < items.len())?;
            items.remove(index);
        }
        _ => return None,
    }
    // A member of `properties` is gone: the schema above must not forbid it now.
    if let Some((above, key)) = parent.rsplit_once('/')
        && let Some(Value::Object(members)) = schema.pointer_mut(above)
    {
        reopen(members, key);
    }
    Some(())
}

/// Lets other members in, if members are no longer listed in full.
fn reopen(schema: &mut Map<String, Value>, changed: &str) {
    if matches!(changed, "properties" | "patternProperties") {
        schema.retain(|key, _| !CLOSING_KEYWORDS.contains(&key.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usable(schema: &Value) -> Option<Value> {
        let compile = |schema: &Value| jsonschema::options().build(schema).map(|_| ());
        let schema = without_unusable_references(Cow::Borrowed(schema));
        compile_usable_part(&schema, compile).map(|(part, ())| part)
    }

    #[test]
    fn only_the_place_at_fault_is_left_out() {
        let string = json!({ "type": "string" });
        for (at_fault, rest) in [
            (json!({ "exclusiveMinimum": true, "minimum": 0 }), json!({ "minimum": 0 })),
            (json!({ "type": "array", "items": [string] }), json!({ "type": "array" })),
            (json!({ "type": "any", "maxLength": 2 }), json!({ "maxLength": 2 })),
            (json!({ "type": "string", "required": true }), string.clone()),
            (json!({ "type": "string", "minLength": "1" }), string.clone()),
            (json!({ "type": "string", "pattern": "(" }), string.clone()),
            (json!({ "$ref": "https://x.org/y.json" }), json!({})),
            (json!({ "$ref": "#/$defs/none", "maxLength": 2 }), json!({ "maxLength": 2 })),
            (json!({ "required": ["a", 5] }), json!({ "required": ["a"] })),
        ] {
            let schema = |member: &Value| json!({ "type": "object", "properties": { "a": member, "b": string } });
            assert_eq!(usable(&schema(&at_fault)), Some(schema(&rest)), "{at_fault}");
        }
        let own = json!({ "$schema": "https://x.org/own", "type": "object" });
        assert_eq!(usable(&own), Some(json!({ "type": "object" })));
    }

    #[test]
    fn what_is_no_longer_listed_is_not_forbidden() {
        let schema = json!({ "type": "object", "properties": { "a": "text" }, "additionalProperties": false });
        assert_eq!(usable(&schema), Some(json!({ "type": "object", "properties": {} })));
        let schema = json!({ "properties": null, "additionalProperties": false });
        assert_eq!(usable(&schema), Some(json!({})));
    }

    #[test]
    fn what_is_no_schema_at_all_stays_unusable() {
        assert_eq!(usable(&json!("text")), None);
        let many: Map<String, Value> =
            (0..100).map(|n| (format!("p{n}"), json!({ "type": "any" }))).collect();
        assert_eq!(usable(&json!({ "properties": many })), None);
    }
}
