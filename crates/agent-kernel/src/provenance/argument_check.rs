//! Checks whether all arguments of a call are vouched for. If they are not, its result may be what
//! somebody else put together: stored in parts, joined, or decoded.

use std::collections::HashSet;

use serde_json::{Map, Value};
use weaver_policy::critical::{ArgumentRole, argument_role};
use weaver_policy::{ValueOrigin, ValueOrigins};
use weaver_types::JsonPointer;

/// Deeper arguments count as not vouched for.
const MAX_DEPTH: usize = 64;
/// The longest text that can be vouched for, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;
/// How many nodes of a schema are searched for a name.
const MAX_SCHEMA_NODES: usize = 4_096;

/// Whether every value in the arguments is vouched for, and the schema declares every name. Values
/// that cannot carry text need no voucher: null, booleans, choices that the schema lists, and
/// numbers that limit the size of the answer.
pub(crate) fn are_vouched_for(
    arguments: &Value,
    schema: Option<&Value>,
    origins: &dyn ValueOrigins,
) -> bool {
    ArgumentWalk { schema, origins }.is_value_vouched_for(arguments, "", "", 0)
}

struct ArgumentWalk<'a> {
    schema: Option<&'a Value>,
    origins: &'a dyn ValueOrigins,
}

impl ArgumentWalk<'_> {
    /// `name` is the member name of the value, and `pointer` its JSON pointer.
    fn is_value_vouched_for(&self, value: &Value, name: &str, pointer: &str, depth: usize) -> bool {
        match value {
            _ if depth > MAX_DEPTH => false,
            Value::Null | Value::Bool(_) => true,
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.all(|(n, item)| {
                    self.is_value_vouched_for(item, name, &format!("{pointer}/{n}"), depth + 1)
                })
            }
            Value::Object(members) => members.iter().all(|(name, member)| {
                let below = format!("{pointer}/{}", JsonPointer::escape_step(name));
                self.schema_declares(name)
                    && self.is_value_vouched_for(member, name, &below, depth + 1)
            }),
            Value::String(text) if text.trim().is_empty() => true,
            Value::String(text) if text.len() > MAX_TEXT_BYTES => false,
            Value::Number(_) if argument_role(name) == ArgumentRole::Setting => true,
            leaf => self.is_choice(name, leaf) || self.origin(pointer, leaf).is_some(),
        }
    }

    fn origin(&self, pointer: &str, value: &Value) -> Option<ValueOrigin> {
        self.origins.origin(&JsonPointer::parse(pointer).ok()?, value)
    }

    fn schema_declares(&self, name: &str) -> bool {
        any_properties(self.schema, &mut |properties| properties.get(name).is_some())
    }

    /// Whether the schema lists this value for a property of this name.
    fn is_choice(&self, name: &str, value: &Value) -> bool {
        any_properties(self.schema, &mut |properties| {
            let Some(schema) = properties.get(name) else { return false };
            [Some(schema), schema.get("items")].into_iter().flatten().any(|schema| {
                let listed = schema.get("enum").and_then(Value::as_array);
                listed.is_some_and(|listed| listed.contains(value))
                    || schema.get("const") == Some(value)
                    || schema.get("default") == Some(value)
            })
        })
    }
}

/// All names that the schema declares, at whatever depth.
pub(crate) fn declared_names(schema: Option<&Value>) -> HashSet<String> {
    let mut names = HashSet::new();
    any_properties(schema, &mut |properties| {
        names.extend(properties.as_object().into_iter().flat_map(Map::keys).cloned());
        false
    });
    names
}

/// Whether `predicate` holds for any `properties` object of the schema.
fn any_properties(schema: Option<&Value>, predicate: &mut dyn FnMut(&Value) -> bool) -> bool {
    let mut open: Vec<&Value> = schema.into_iter().collect();
    for _ in 0..MAX_SCHEMA_NODES {
        let Some(next) = open.pop() else { return false };
        match next {
            Value::Object(members) => {
                if members.get("properties").is_some_and(&mut *predicate) {
                    return true;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use weaver_text::values::{ValueClass, ValueToken};

    /// Vouches for Bob's name.
    #[derive(Debug)]
    struct Bob;

    impl ValueOrigins for Bob {
        fn vouched(&self, token: &ValueToken) -> Option<ValueOrigin> {
            let bob = token.class == ValueClass::Name && token.key == "bob";
            bob.then_some(ValueOrigin::User)
        }
    }

    #[test]
    fn all_that_can_carry_text_is_to_be_vouched_for() {
        let schema = json!({ "properties": {
            "name": { "type": "string" },
            "names": { "type": "array", "items": { "enum": ["all", "some"] } },
            "limit": { "type": "integer" },
            "codes": { "type": "array" },
            "sort": { "type": "string", "default": "by_name" },
            "filter": { "properties": { "team": { "type": "string" } } },
        } });
        let vouched = |arguments| are_vouched_for(&arguments, Some(&schema), &Bob);
        for free in [
            json!({}),
            json!({ "name": "Bob", "limit": 10, "sort": "by_name", "names": ["all"] }),
            json!({ "name": "", "names": [], "filter": { "team": null } }),
            json!({ "filter": { "team": "Bob" } }),
        ] {
            assert!(vouched(free.clone()), "{free}");
        }
        for given in [
            json!({ "name": "Eve" }),
            json!({ "name": "Bob", "codes": [101] }),
            json!({ "name": ["Bob", "Eve"] }),
            json!({ "sort": "evil" }),
            json!({ "filter": { "team": "Eve" } }),
            json!({ "name": "Bob", "evil": true }),
        ] {
            assert!(!vouched(given.clone()), "{given}");
        }
        assert!(
            !are_vouched_for(&json!({ "name": "Bob" }), None, &Bob),
            "nothing declares the name"
        );
    }

    /// Vouches for everything that is asked about.
    #[derive(Debug)]
    struct Anything;

    impl ValueOrigins for Anything {
        fn origin(&self, _: &JsonPointer, _: &Value) -> Option<ValueOrigin> {
            Some(ValueOrigin::User)
        }
    }

    /// Vouches for one place.
    #[derive(Debug)]
    struct Place(&'static str);

    impl ValueOrigins for Place {
        fn origin(&self, pointer: &JsonPointer, _: &Value) -> Option<ValueOrigin> {
            (pointer.as_str() == self.0).then_some(ValueOrigin::User)
        }
    }

    #[test]
    fn what_is_deeper_than_64_levels_is_vouched_for_by_nobody() {
        let schema = json!({ "properties": { "in": {} } });
        let vouched = |arguments| are_vouched_for(&arguments, Some(&schema), &Anything);
        let lists = |n| json!({ "in": (0..n).fold(Value::Null, |inner, _| json!([inner])) });
        let objects = |n| (0..n).fold(Value::Null, |inner, _| json!({ "in": inner }));
        assert!(vouched(lists(63)) && !vouched(lists(64)) && !vouched(lists(70)));
        assert!(vouched(objects(64)) && !vouched(objects(65)) && !vouched(objects(70)));
    }

    #[test]
    fn a_text_of_more_than_4_096_bytes_is_vouched_for_by_nobody_unless_it_is_blank() {
        let schema = json!({ "properties": { "text": {} } });
        let vouched =
            |text: String| are_vouched_for(&json!({ "text": text }), Some(&schema), &Anything);
        assert!(vouched("x".repeat(4_096)) && !vouched("x".repeat(4_097)));
        assert!(vouched(" ".repeat(5_000)));
    }

    #[test]
    fn each_value_is_asked_about_at_its_own_place() {
        let schema = json!({ "properties": { "a/b": {}, "c~d": {}, "list": {} } });
        for (place, arguments) in [
            ("/a~1b", json!({ "a/b": "x" })),
            ("/c~0d", json!({ "c~d": "x" })),
            ("/list/1", json!({ "list": [null, "x"] })),
            ("/list/0/c~0d", json!({ "list": [{ "c~d": "x" }] })),
        ] {
            assert!(are_vouched_for(&arguments, Some(&schema), &Place(place)), "{arguments}");
            assert!(!are_vouched_for(&arguments, Some(&schema), &Place("/x")), "{arguments}");
        }
    }

    #[test]
    fn a_choice_is_one_that_the_schema_lists_for_its_name_wherever_it_stands() {
        let property = |schema: Value| json!({ "properties": { "team": schema } });
        let free = |schema: &Value, value: Value| {
            are_vouched_for(&json!({ "team": value }), Some(schema), &Bob)
        };
        for schema in [
            property(json!({ "enum": ["up", 3] })),
            property(json!({ "items": { "enum": [3, "up"] } })),
            json!({ "anyOf": [{ "type": "null" }, property(json!({ "enum": ["up", 3] }))] }),
        ] {
            assert!(free(&schema, json!("up")) && free(&schema, json!(["up", 3])), "{schema}");
            assert!(!free(&schema, json!("down")) && !free(&schema, json!(4)), "{schema}");
            assert!(!free(&schema, json!(["up", "down"])), "{schema}");
        }
        let one = property(json!({ "const": "up" }));
        assert!(free(&one, json!("up")) && !free(&one, json!("down")));
        let other = json!({ "properties": { "team": {}, "order": { "enum": ["up"] } } });
        assert!(!free(&other, json!("up")), "listed for another name");
    }

    #[test]
    fn so_many_parts_of_a_schema_are_looked_through() {
        // The list is looked through from its end; the schema and the list are parts too.
        let schema = |before: usize| {
            let mut parts = vec![json!({ "properties": { "a": {} } })];
            parts.extend((0..before).map(|_| json!(true)));
            json!({ "allOf": parts })
        };
        let declared = |before| are_vouched_for(&json!({ "a": null }), Some(&schema(before)), &Bob);
        assert!(declared(4_093) && !declared(4_094));
    }
}
