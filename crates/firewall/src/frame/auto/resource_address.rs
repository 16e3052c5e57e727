//! Masks the addresses and names of resources.

use serde_json::{Map, Value, json};

use super::verbatim_content::Masker;

impl Masker<'_> {
    /// Masks the address or name of a resource, also a value that is only a part of it.
    pub(super) fn address(&mut self, text: &str) -> Value {
        let found = self.redactor().detect_in_parts_of_address(text);
        if found.is_empty() {
            return Value::String(self.value_redactor.string(text, None, 1).into_owned());
        }
        let masked =
            self.redactor().redact_text_with_fields(text, found, &mut self.value_redactor.masked);
        Value::String(self.value_redactor.redact_masked_string(&masked, 1).into_owned())
    }

    /// Masks what says of the contents of a resource where each is, like an embedded resource; `None`
    /// for any other value.
    pub(super) fn resource_descriptions(&mut self, value: &Value) -> Option<Value> {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let contents = fields.get("contents")?.as_array()?;
        let description = |item: &Value| {
            let is_description = |item: &&Map<String, Value>| {
                item.get("uri").is_some_and(Value::is_string)
                    && !item.contains_key("text")
                    && !item.contains_key("blob")
            };
            item.as_object().filter(is_description).cloned()
        };
        let items = contents.iter().map(description).collect::<Option<Vec<_>>>()?;
        let shown: Vec<Value> = items.iter().map(|item| self.resource(item)).collect();
        Some(json!({ "contents": shown }))
    }
}
