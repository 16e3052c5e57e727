//! Whether the input schema of a tool names an argument that a call has.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use weaver_types::Pointer;

use super::{MAX_READ, resolve};

/// How the input schema knows a place in the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Declaration {
    /// All its names are properties of the schema.
    Named,
    /// It lies in a declared object that takes members which the schema does not name.
    Open,
    /// The argument itself is none of the schema.
    Unknown,
}

/// How the schema knows this place, given by its parts, unescaped. Alternatives count together: what
/// one of them names is named.
pub(crate) fn declaration<S: AsRef<str>>(schema: &Value, at: &[S]) -> Declaration {
    let Some(root) = schema.as_object() else { return Declaration::Unknown };
    let mut found = Declaration::Named;
    let mut schemas = alternatives(root, [root]);
    for (index, part) in at.iter().map(AsRef::as_ref).enumerate() {
        let unnamed = if index == 0 { Declaration::Unknown } else { Declaration::Open };
        let is_item = part.bytes().all(|byte| byte.is_ascii_digit());
        let below = |key: &'static str| {
            let of = move |one: &&Map<String, Value>| one.contains_key(key);
            schemas.iter().copied().filter(of).filter_map(move |one| one.get(key))
        };
        let named = below("properties").filter_map(|named| named.get(part));
        let mut next: Vec<&Value> = named.collect();
        if next.is_empty() && is_item && index > 0 {
            next.extend(below("items"));
            next.extend(
                below("prefixItems").filter_map(|items| items.get(part.parse::<usize>().ok()?)),
            );
        } else if next.is_empty() {
            found = found.max(unnamed);
            next.extend(below("additionalProperties"));
            next.extend(
                below("patternProperties").filter_map(Value::as_object).flat_map(Map::values),
            );
        }
        schemas = alternatives(root, next.into_iter().filter_map(Value::as_object));
    }
    found
}

/// These schemas, and those that they are made of.
fn alternatives<'s>(
    root: &'s Map<String, Value>,
    schemas: impl IntoIterator<Item = &'s Map<String, Value>>,
) -> Vec<&'s Map<String, Value>> {
    let mut found: Vec<&Map<String, Value>> = schemas.into_iter().take(MAX_READ).collect();
    let mut followed = BTreeSet::new();
    let mut next = 0;
    while let Some(schema) = found.get(next).copied() {
        next += 1;
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key));
        found.extend(parts.filter_map(Value::as_array).flatten().filter_map(Value::as_object));
        // A reference back to itself ends here.
        if let Some(name) = schema.get("$ref").and_then(Value::as_str)
            && followed.insert(name)
        {
            let place = name.strip_prefix('#').and_then(|name| Pointer::parse(name).ok());
            found.extend(place.and_then(|place| resolve(root, place.as_str())));
        }
        found.truncate(MAX_READ);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_named_as_far_as_the_schema_names_its_parts() {
        let schema = json!({
            "properties": {
                "to": { "type": "string" },
                "options": { "type": "object" },
                "guests": { "type": "array", "items": { "$ref": "#/$defs/guest" } },
                "list": { "type": "array" },
                "labels": { "additionalProperties": { "properties": { "color": {} } } },
            },
            "anyOf": [{ "properties": { "cc": {} } }, { "$ref": "#" }],
            "$defs": { "guest": { "properties": { "mail": {}, "next": { "$ref": "#/$defs/guest" } } } },
        });
        for (at, expected) in [
            ("to", Declaration::Named),
            ("cc", Declaration::Named),
            ("bcc", Declaration::Unknown),
            ("bcc/0/to", Declaration::Unknown),
            ("options", Declaration::Named),
            ("options/bcc", Declaration::Open),
            ("options/0/bcc", Declaration::Open),
            ("guests/0/mail", Declaration::Named),
            ("guests/7/next/next/mail", Declaration::Named),
            ("guests/0/phone", Declaration::Open),
            ("list/0", Declaration::Named),
            ("list/0/to", Declaration::Open),
            ("labels/red", Declaration::Open),
            ("labels/red/color", Declaration::Open),
        ] {
            let parts: Vec<&str> = at.split('/').collect();
            assert_eq!(declaration(&schema, &parts), expected, "{at}");
        }
        assert_eq!(declaration(&json!(true), &["to"]), Declaration::Unknown);
    }
}
