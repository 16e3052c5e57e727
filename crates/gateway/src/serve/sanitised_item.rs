//! Items of a server's lists, sanitised for clients.

use serde_json::{Map, Value, json};
use weaver_firewall::Firewall;

use super::sanitised_description::text;

/// Fields whose texts people and models read.
const TEXT_FIELDS: [&str; 3] = ["name", "title", "description"];

/// A resource or template under its exported name. Texts are shown without secrets and hidden
/// characters; fields that are unknown or not displayed (icons, metadata) are dropped.
pub(crate) fn resource(firewall: &Firewall, key: &str, exported: &str, item: &Value) -> Value {
    let mut out = sanitised_texts(firewall, item);
    out.insert(key.to_owned(), json!(exported));
    if let Some(kind) = item.get("mimeType").and_then(Value::as_str) {
        out.insert("mimeType".to_owned(), json!(text(firewall, kind)));
    }
    if let Some(size) = item.get("size").filter(|size| size.is_u64()) {
        out.insert("size".to_owned(), size.clone());
    }
    let annotations = annotations(firewall, item);
    if !annotations.is_empty() {
        out.insert("annotations".to_owned(), Value::Object(annotations));
    }
    Value::Object(out)
}

/// A prompt under its exported name.
pub(crate) fn prompt(firewall: &Firewall, exported: &str, item: &Value) -> Value {
    let mut out = sanitised_texts(firewall, item);
    out.insert("name".to_owned(), json!(exported));
    let arguments = item.get("arguments").and_then(Value::as_array);
    let arguments: Vec<Value> = arguments
        .into_iter()
        .flatten()
        .filter_map(|argument| {
            // The client sends an argument's name back, so it stays unchanged.
            let name = argument.get("name")?.as_str()?;
            let mut shown = sanitised_texts(firewall, argument);
            shown.insert("name".to_owned(), json!(name));
            if let Some(required) = argument.get("required").filter(|value| value.is_boolean()) {
                shown.insert("required".to_owned(), required.clone());
            }
            Some(Value::Object(shown))
        })
        .collect();
    if !arguments.is_empty() {
        out.insert("arguments".to_owned(), Value::Array(arguments));
    }
    Value::Object(out)
}

fn sanitised_texts(firewall: &Firewall, item: &Value) -> Map<String, Value> {
    let shown = TEXT_FIELDS.iter().filter_map(|key| {
        let value = item.get(*key)?.as_str()?;
        Some(((*key).to_owned(), Value::String(text(firewall, value))))
    });
    shown.collect()
}

/// The audience, priority and modification time of an item.
fn annotations(firewall: &Firewall, item: &Value) -> Map<String, Value> {
    let Some(listed) = item.get("annotations").and_then(Value::as_object) else {
        return Map::new();
    };
    let mut out = Map::new();
    let audience = listed.get("audience").and_then(Value::as_array);
    if let Some(audience) = audience {
        let roles =
            audience.iter().filter(|role| matches!(role.as_str(), Some("user" | "assistant")));
        out.insert("audience".to_owned(), Value::Array(roles.cloned().collect()));
    }
    if let Some(priority) = listed.get("priority").filter(|priority| priority.is_number()) {
        out.insert("priority".to_owned(), priority.clone());
    }
    if let Some(changed) = listed.get("lastModified").and_then(Value::as_str) {
        out.insert("lastModified".to_owned(), json!(text(firewall, changed)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_keeps_what_is_known_and_shows_no_secret() {
        let item = json!({"uri": "x://1", "name": "a\u{200b}", "description": "password=hunter2hunter2",
            "mimeType": "text/plain", "size": 5, "icons": [{"src": "https://evil.example"}],
            "_meta": {"x": 1}, "annotations": {"audience": ["user", "root"], "priority": 0.5, "y": 1}});
        let shown = resource(&Firewall::new(), "uri", "weaver://s/x://1", &item);
        assert_eq!(
            shown,
            json!({"uri": "weaver://s/x://1", "name": "a\\u{200b}", "description": "password=[REDACTED]",
                "mimeType": "text/plain", "size": 5,
                "annotations": {"audience": ["user"], "priority": 0.5}})
        );
    }

    #[test]
    fn arguments_of_a_prompt_keep_their_names() {
        let item = json!({"name": "p", "arguments": [{"name": "a b", "required": true, "x": 1}, {"x": 1}]});
        let shown = prompt(&Firewall::new(), "s__p", &item);
        let arguments = json!([{"name": "a b", "required": true}]);
        assert_eq!(shown, json!({"name": "s__p", "arguments": arguments}));
    }
}
