//! One tool's definition in each format.

use serde_json::{Map, Value, json};

use super::ToolFormat;
use crate::capability::Capability;
use crate::effects::{Impact, World};

/// The parts of a tool definition.
pub(super) struct DefinitionParts<'a> {
    pub(super) capability: &'a Capability,
    pub(super) name: String,
    /// The input schema in the format's dialect.
    pub(super) schema: Value,
    /// Whether that is OpenAI's strict form.
    pub(super) strict: bool,
}

impl DefinitionParts<'_> {
    pub(super) fn definition(self, format: ToolFormat) -> Value {
        match format {
            ToolFormat::Mcp => self.mcp(),
            ToolFormat::OpenAiResponses => {
                let mut tool = self.function("parameters");
                tool.insert("type".to_owned(), json!("function"));
                Value::Object(tool)
            }
            ToolFormat::OpenAiChat => {
                json!({ "type": "function", "function": self.function("parameters") })
            }
            ToolFormat::Anthropic => Value::Object(self.function("input_schema")),
            ToolFormat::Gemini => Value::Object(self.function("parameters")),
        }
    }

    fn function(self, schema: &str) -> Map<String, Value> {
        let mut tool = Map::new();
        tool.insert("name".to_owned(), json!(self.name));
        tool.insert("description".to_owned(), json!(model_description(self.capability)));
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

/// The description shown to a model: the capability's own, its safety, and the sensitive data that
/// its output may hold.
fn model_description(capability: &Capability) -> String {
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
