//! Finds the secrets that a call would leave readable where it writes them: nothing beside them says
//! what they are, so that no redaction would find them there again, in another run.

use std::sync::Arc;

use serde_json::Value;
use weaver_firewall::{Firewall, MaskTable};
use weaver_policy::critical::names_content;
use weaver_types::{MaskedValue, ValueFamily};

/// Names of arguments whose text is looked for, and not written.
const SEARCHED: [&str; 11] = [
    "old", "old_text", "oldtext", "old_string", "oldstring", "old_str", "oldstr", "search", "find",
    "pattern", "match",
];
/// The shortest secret that is looked for, in bytes: a shorter one would be found anywhere.
const MIN_BYTES: usize = 4;
/// How deep arguments are read for such names.
const MAX_DEPTH: usize = 64;

/// Marks the secrets among the values behind masks that redaction would not find in the arguments
/// of their call. `firewall` is one without masks.
pub(super) fn mark(
    firewall: &Firewall,
    table: &Arc<MaskTable>,
    arguments: &Value,
    masked: &mut [MaskedValue],
) {
    if !masked.iter().any(|one| one.family == ValueFamily::Secret) {
        return;
    }
    let (redacted, _) = firewall.redact_value(&without_searched(arguments, 0));
    let with_masks = firewall.with_masks(Arc::clone(table), None);
    for one in masked.iter_mut().filter(|one| one.family == ValueFamily::Secret) {
        let value = with_masks.resolve_masks(&Value::from(one.mask.as_str())).arguments;
        one.stays_readable = value.is_some_and(|value| is_readable(&value, &redacted));
    }
}

/// Whether a secret occurs in the redacted arguments; a list or an object, if all of its values do.
fn is_readable(secret: &Value, redacted: &Value) -> bool {
    let (mut open, mut parts) = (vec![secret], 0_usize);
    while let Some(next) = open.pop() {
        let text = match next {
            Value::String(text) if text.len() >= MIN_BYTES => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Array(items) => {
                open.extend(items);
                continue;
            }
            Value::Object(members) => {
                open.extend(members.values());
                continue;
            }
            Value::String(_) | Value::Null | Value::Bool(_) => continue,
        };
        if !holds_secret(redacted, "", &text, 0) {
            return false;
        }
        parts = parts.saturating_add(1);
    }
    parts > 0
}

/// The arguments without what is only looked for.
fn without_searched(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(members) if depth < MAX_DEPTH => members
            .iter()
            .filter(|(name, _)| !SEARCHED.contains(&name.to_ascii_lowercase().as_str()))
            .map(|(name, member)| (name.clone(), without_searched(member, depth + 1)))
            .collect(),
        Value::Array(items) if depth < MAX_DEPTH => {
            items.iter().map(|item| without_searched(item, depth + 1)).collect()
        }
        other => other.clone(),
    }
}

/// Whether a secret occurs at any depth: in a text or a name, or as the whole of a content. As the whole
/// of another argument, such as an id, it says what the call is about, and is stored as that.
fn holds_secret(value: &Value, name: &str, secret: &str, depth: usize) -> bool {
    match value {
        Value::String(text) if text == secret => names_content(name),
        Value::String(text) => text.contains(secret),
        Value::Number(number) => names_content(name) && number.to_string() == secret,
        Value::Array(items) if depth < MAX_DEPTH => {
            items.iter().any(|item| holds_secret(item, name, secret, depth + 1))
        }
        Value::Object(members) if depth < MAX_DEPTH => members.iter().any(|(name, member)| {
            name.contains(secret) || holds_secret(member, name, secret, depth + 1)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_looked_for_is_not_written() {
        let edit = json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "y" }] });
        let left = json!({ "path": "a", "edits": [{ "newText": "y" }] });
        assert_eq!(without_searched(&edit, 0), left);
    }

    #[test]
    fn a_secret_of_several_values_is_readable_where_all_of_them_are() {
        let secret = json!({ "user": "postgres", "keys": ["heron-and-more"] });
        let said = |text: &str| is_readable(&secret, &json!({ "text": text }));
        assert!(said("{\"user\": \"postgres\", \"keys\": [\"heron-and-more\"]}"));
        assert!(!said("postgres on port 5432"));
        assert!(!is_readable(&json!({ "is_set": true }), &json!({ "text": "true" })));
    }

    #[test]
    fn a_secret_is_found_in_texts_and_names_and_as_a_content() {
        let holds = |value: Value| holds_secret(&value, "", "4711", 0);
        for value in [
            json!({ "job": "a4711b" }),
            json!({ "a4711": 1 }),
            json!([{ "content": ["4711"] }]),
            json!({ "value": 4711 }),
        ] {
            assert!(holds(value.clone()), "{value}");
        }
        assert!(!holds(json!({ "job": "4711", "pin": 4711, "value": 47_110, "content": "y" })));
    }
}
