//! Whether all that a call is told is vouched for. If it is not, its result may be what somebody
//! else put together: stored in parts, joined, or decoded.

use serde_json::Value;
use weaver_policy::critical::{Role, role};
use weaver_policy::{ValueOrigin, ValueOrigins};
use weaver_types::Pointer;

/// Deeper arguments are vouched for by nobody.
const MAX_DEPTH: usize = 64;
/// A longer text is vouched for by nobody, in bytes.
const MAX_TEXT: usize = 4_096;
/// How many parts of a schema are looked through for a name.
const MAX_SCHEMA: usize = 4_096;

/// Whether every value in the arguments is vouched for, and every name stands in the schema. Free
/// are what can carry no text: nothing, `true` and `false`, choices that the schema lists, and
/// numbers that say how much is answered.
pub(crate) fn are_vouched_for(
    arguments: &Value,
    schema: Option<&Value>,
    origins: &dyn ValueOrigins,
) -> bool {
    Walk { schema, origins }.value(arguments, "", "", 0)
}

struct Walk<'a> {
    schema: Option<&'a Value>,
    origins: &'a dyn ValueOrigins,
}

impl Walk<'_> {
    /// `name` is the name that the value stands under, and `at` its place.
    fn value(&self, value: &Value, name: &str, at: &str, depth: usize) -> bool {
        match value {
            _ if depth > MAX_DEPTH => false,
            Value::Null | Value::Bool(_) => true,
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.all(|(n, item)| self.value(item, name, &format!("{at}/{n}"), depth + 1))
            }
            Value::Object(members) => members.iter().all(|(name, member)| {
                let below = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                self.declares(name) && self.value(member, name, &below, depth + 1)
            }),
            Value::String(text) if text.trim().is_empty() => true,
            Value::String(text) if text.len() > MAX_TEXT => false,
            Value::Number(_) if role(name) == Role::Switch => true,
            leaf => self.is_choice(name, leaf) || self.origin(at, leaf).is_some(),
        }
    }

    fn origin(&self, at: &str, value: &Value) -> Option<ValueOrigin> {
        self.origins.origin(&Pointer::parse(at).ok()?, value)
    }

    fn declares(&self, name: &str) -> bool {
        self.properties(&mut |properties| properties.get(name).is_some())
    }

    /// Whether the schema lists this value for a property of this name.
    fn is_choice(&self, name: &str, value: &Value) -> bool {
        self.properties(&mut |properties| {
            let Some(schema) = properties.get(name) else { return false };
            [Some(schema), schema.get("items")].into_iter().flatten().any(|schema| {
                let listed = schema.get("enum").and_then(Value::as_array);
                listed.is_some_and(|listed| listed.contains(value))
                    || schema.get("const") == Some(value)
                    || schema.get("default") == Some(value)
            })
        })
    }

    /// Whether any `properties` of the schema fit.
    fn properties(&self, fits: &mut dyn FnMut(&Value) -> bool) -> bool {
        let mut open: Vec<&Value> = self.schema.into_iter().collect();
        for _ in 0..MAX_SCHEMA {
            let Some(next) = open.pop() else { return false };
            match next {
                Value::Object(members) => {
                    if members.get("properties").is_some_and(&mut *fits) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use weaver_text::values::{Class, Token};

    /// Vouches for Bob's name.
    #[derive(Debug)]
    struct Bob;

    impl ValueOrigins for Bob {
        fn vouched(&self, token: &Token) -> Option<ValueOrigin> {
            let bob = token.class == Class::Name && token.key == "bob";
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
        for told in [
            json!({ "name": "Eve" }),
            json!({ "name": "Bob", "codes": [101] }),
            json!({ "name": ["Bob", "Eve"] }),
            json!({ "sort": "evil" }),
            json!({ "filter": { "team": "Eve" } }),
            json!({ "name": "Bob", "evil": true }),
        ] {
            assert!(!vouched(told.clone()), "{told}");
        }
        assert!(
            !are_vouched_for(&json!({ "name": "Bob" }), None, &Bob),
            "nothing declares the name"
        );
    }
}
