//! Decides whether the input schema of a tool declares an argument of a call.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};
use weaver_types::JsonPointer;

use super::{MAX_SCHEMAS, resolve_pointer};

/// One step of a path into the arguments. A member of an object is never an item of a list, even if
/// its name is a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathStep<'v> {
    text: Cow<'v, str>,
    pub(crate) is_index: bool,
}

impl<'v> PathStep<'v> {
    /// A member of an object.
    pub(crate) fn member(name: &'v str) -> Self {
        Self { text: Cow::Borrowed(name), is_index: false }
    }

    /// An item of a list.
    pub(crate) fn item(index: usize) -> Self {
        Self { text: Cow::Owned(index.to_string()), is_index: true }
    }
}

impl AsRef<str> for PathStep<'_> {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// How the input schema declares a path into the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SchemaMembership {
    /// All parts of the path are properties of the schema.
    Declared,
    /// It is inside a declared object that accepts members which the schema does not name.
    OpenMember,
    /// The argument itself is not in the schema.
    Undeclared,
}

/// How the schema declares this path. Alternatives (`anyOf` and the
/// like) count together: a name that one of them declares is declared.
pub(crate) fn schema_membership(schema: &Value, at: &[PathStep<'_>]) -> SchemaMembership {
    let Some(root) = schema.as_object() else { return SchemaMembership::Undeclared };
    schemas_at(root, at).0
}

/// Whether the schema lists this value among the choices of an argument at this path, or as its
/// default (`enum`, `const`, `default`).
pub(crate) fn schema_allows(schema: &Value, at: &[PathStep<'_>], value: &Value) -> SchemaChoice {
    let Some(root) = schema.as_object() else { return SchemaChoice::default() };
    let schemas = schemas_at(root, at).1;
    let one = |key: &str| schemas.iter().any(|schema| schema.get(key) == Some(value));
    let listed = schemas.iter().filter_map(|schema| schema.get("enum").and_then(Value::as_array));
    let is_choice = one("const") || listed.flatten().any(|choice| choice == value);
    SchemaChoice { is_choice, is_default: one("default") }
}

/// What a schema says of a value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SchemaChoice {
    /// Whether it is one of the listed choices.
    pub(crate) is_choice: bool,
    /// Whether it is the default.
    pub(crate) is_default: bool,
}

/// How a path is declared, and the schemas of the value there.
fn schemas_at<'s>(
    root: &'s Map<String, Value>,
    at: &[PathStep<'_>],
) -> (SchemaMembership, Vec<&'s Map<String, Value>>) {
    let mut found = SchemaMembership::Declared;
    let mut schemas = alternatives(root, [root]);
    for (index, step) in at.iter().enumerate() {
        let part = step.as_ref();
        let unnamed =
            if index == 0 { SchemaMembership::Undeclared } else { SchemaMembership::OpenMember };
        let below = |key: &'static str| {
            let of = move |one: &&Map<String, Value>| one.contains_key(key);
            schemas.iter().copied().filter(of).filter_map(move |one| one.get(key))
        };
        let named = below("properties").filter_map(|named| named.get(part));
        let mut next: Vec<&Value> = named.collect();
        if next.is_empty() && step.is_index && index > 0 {
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
    (found, schemas)
}

/// These schemas and, transitively, their combined and referenced subschemas.
fn alternatives<'s>(
    root: &'s Map<String, Value>,
    schemas: impl IntoIterator<Item = &'s Map<String, Value>>,
) -> Vec<&'s Map<String, Value>> {
    let mut found: Vec<&Map<String, Value>> = schemas.into_iter().take(MAX_SCHEMAS).collect();
    let mut followed_references = BTreeSet::new();
    let mut next = 0;
    while let Some(schema) = found.get(next).copied() {
        next += 1;
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key));
        found.extend(parts.filter_map(Value::as_array).flatten().filter_map(Value::as_object));
        // Each reference is followed once, so cyclic references terminate.
        if let Some(name) = schema.get("$ref").and_then(Value::as_str)
            && followed_references.insert(name)
        {
            let place = name.strip_prefix('#').and_then(|name| JsonPointer::parse(name).ok());
            found.extend(place.and_then(|place| resolve_pointer(root, place.as_str())));
        }
        found.truncate(MAX_SCHEMAS);
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
            ("to", SchemaMembership::Declared),
            ("cc", SchemaMembership::Declared),
            ("bcc", SchemaMembership::Undeclared),
            ("bcc/0/to", SchemaMembership::Undeclared),
            ("options", SchemaMembership::Declared),
            ("options/bcc", SchemaMembership::OpenMember),
            ("options/0/bcc", SchemaMembership::OpenMember),
            ("guests/0/mail", SchemaMembership::Declared),
            ("guests/7/next/next/mail", SchemaMembership::Declared),
            ("guests/0/phone", SchemaMembership::OpenMember),
            ("list/0", SchemaMembership::Declared),
            ("list/0/to", SchemaMembership::OpenMember),
            ("labels/red", SchemaMembership::OpenMember),
            ("labels/red/color", SchemaMembership::OpenMember),
        ] {
            let step = |part: &'static str| {
                part.parse().map_or_else(|_| PathStep::member(part), PathStep::item)
            };
            let path: Vec<PathStep<'_>> = at.split('/').map(step).collect();
            assert_eq!(schema_membership(&schema, &path), expected, "{at}");
        }
        let path = [PathStep::member("list"), PathStep::member("0")];
        assert_eq!(schema_membership(&schema, &path), SchemaMembership::OpenMember);
        let path = [PathStep::member("to")];
        assert_eq!(schema_membership(&json!(true), &path), SchemaMembership::Undeclared);
    }
}
