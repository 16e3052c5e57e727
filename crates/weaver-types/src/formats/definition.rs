//! One tool's definition in each format.

use serde_json::{Map, Value, json};

use super::Format;
use crate::capability::Capability;
use crate::effects::{Impact, World};

/// What a definition is made of.
pub(super) struct Parts<'a> {
    pub(super) capability: &'a Capability,
    pub(super) name: String,
    /// The schema of the arguments in the format's form.
    pub(super) schema: Value,
    /// Whether that is a strict form.
    pub(super) strict: bool,
}

impl Parts<'_> {
    pub(super) fn definition(self, format: Format) -> Value {
        match format {
            Format::Mcp => self.mcp(),
            Format::OpenAiResponses => {
                let mut tool = self.function("parameters");
                tool.insert("type".to_owned(), json!("function"));
                Value::Object(tool)
            }
            Format::OpenAiChat => {
                json!({ "type": "function", "function": self.function("parameters") })
            }
            Format::Anthropic => Value::Object(self.function("input_schema")),
            Format::Gemini => Value::Object(self.function("parameters")),
        }
    }

    fn function(self, schema: &str) -> Map<String, Value> {
        let mut tool = Map::new();
        tool.insert("name".to_owned(), json!(self.name));
        tool.insert("description".to_owned(), json!(described(self.capability)));
        tool.insert(schema.to_owned(), self.schema);
        if self.strict {
            tool.insert("strict".to_owned(), json!(true));
        }
        tool
    }

    fn mcp(self) -> Value {
        let spec = self.capability.spec();
        let mut tool = Map::new();
        tool.insert("name".to_owned(), json!(self.name));
        if let Some(title) = &spec.title {
            tool.insert("title".to_owned(), json!(title));
        }
        tool.insert("description".to_owned(), json!(spec.description));
        tool.insert("inputSchema".to_owned(), self.schema);
        if let Some(schema) = spec.output_schema.as_deref() {
            tool.insert("outputSchema".to_owned(), schema.clone());
        }
        let annotations = json!({
            "readOnlyHint": spec.effects.impact == Impact::Read,
            "destructiveHint": spec.effects.impact == Impact::Destroy,
            "idempotentHint": spec.idempotent,
            "openWorldHint": spec.effects.world == World::Open,
        });
        tool.insert("annotations".to_owned(), annotations);
        Value::Object(tool)
    }
}

/// What a model is told of it: its description, what it does to the world, and what its output may
/// hold.
fn described(capability: &Capability) -> String {
    let spec = capability.spec();
    let safety = match spec.effects.impact {
        Impact::Read => "READ",
        Impact::Write => "WRITE",
        Impact::Destroy => "DESTRUCTIVE",
    };
    let mut text = spec.description.clone();
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&format!("[safety={safety}]"));
    let tags: Vec<String> =
        spec.sensitivity.iter().map(|tag| format!("{tag:?}").to_ascii_uppercase()).collect();
    if !tags.is_empty() {
        text.push_str(&format!(" [sensitivity={}]", tags.join(",")));
    }
    text
}
