//! A set of capabilities as a model is offered them, and the way back from its calls.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::definition::Parts;
use super::error::NameError;
use super::gemini::to_gemini;
use super::name::ToolNames;
use super::strict_schema::{SchemaNote, strict};
use super::{Format, nullable};
use crate::capability::Capability;
use crate::id::CapabilityId;

/// The most remarks about one capability.
const MAX_NOTES: usize = 16;

/// How tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offer {
    /// Ask OpenAI for arguments that fit the schema exactly, wherever strict mode can say it.
    pub strict: bool,
    /// Let Anthropic keep the definitions: the last one carries `cache_control`.
    pub cache: bool,
}

/// What a format cannot say of a capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The capability.
    pub capability: CapabilityId,
    /// The place in its input schema, as a JSON pointer; empty for the whole.
    pub place: String,
    /// What became of it.
    pub text: String,
}

/// Tool definitions with what is needed to read the calls to them.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSet {
    pub(super) format: Format,
    pub(super) names: ToolNames,
    pub(super) shapes: BTreeMap<CapabilityId, Shape>,
    definitions: Vec<Value>,
    notes: Vec<Note>,
}

/// What a capability's arguments look like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    schema: Value,
    /// Whether null stands for an argument that is left out.
    strict: bool,
}

impl Shape {
    /// Whether the schema speaks of this argument itself.
    pub(super) fn declares(&self, argument: &str) -> bool {
        self.schema.get("properties").is_some_and(|properties| properties.get(argument).is_some())
    }

    /// Arguments as the capability's own schema means them.
    pub(super) fn restored(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::Object(arguments);
        if self.strict {
            nullable::take_out(&self.schema, &self.schema, &mut value);
        }
        match value {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        }
    }
}

impl ToolSet {
    /// Offers capabilities in a format, in their order.
    ///
    /// The texts are the capabilities' own. Where a server wrote them, whoever offers them makes
    /// unseen characters visible first.
    ///
    /// # Errors
    /// [`NameError`], where two of them would have one name.
    pub fn new<'a>(
        format: Format,
        capabilities: impl IntoIterator<Item = &'a Capability>,
        offer: Offer,
    ) -> Result<Self, NameError> {
        let all: Vec<&Capability> = capabilities.into_iter().collect();
        let names = ToolNames::new(format, all.iter().map(|capability| capability.id()))?;
        let (definitions, notes, shapes) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut set = Self { format, names, shapes, definitions, notes };
        for capability in all {
            set.add(capability, offer);
        }
        if offer.cache
            && format == Format::Anthropic
            && let Some(last) = set.definitions.last_mut().and_then(Value::as_object_mut)
        {
            last.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
        }
        Ok(set)
    }

    fn add(&mut self, capability: &Capability, offer: Offer) {
        let id = capability.id();
        let declared = match capability.spec().input_schema.as_deref() {
            Some(schema @ Value::Object(_)) => schema.clone(),
            Some(_) | None => json!({ "type": "object", "additionalProperties": true }),
        };
        let (schema, strict, places) = written(self.format, &declared, offer);
        let notes = places.into_iter().take(MAX_NOTES);
        self.notes.extend(notes.map(|(place, text)| Note { capability: id.clone(), place, text }));
        self.shapes.insert(id.clone(), Shape { schema: declared, strict });
        let name = super::tool_name(self.format, id);
        let parts = Parts { capability, name, schema, strict };
        self.definitions.push(parts.definition(self.format));
    }

    /// The definitions, in the order in which the capabilities were given. Gemini takes them as
    /// `functionDeclarations`, the others as `tools`.
    #[must_use]
    pub fn definitions(&self) -> &[Value] {
        &self.definitions
    }

    /// What the format cannot say, at most 16 remarks for each capability.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The names, and the way back.
    #[must_use]
    pub fn names(&self) -> &ToolNames {
        &self.names
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }
}

/// A schema in the form of a format, whether that is strict, and what it could not say.
fn written(format: Format, schema: &Value, offer: Offer) -> (Value, bool, Vec<SchemaNote>) {
    match format {
        Format::Mcp => (schema.clone(), false, Vec::new()),
        Format::OpenAiResponses | Format::OpenAiChat if offer.strict => match strict(schema) {
            Ok(strict) => (strict.schema, true, strict.left_out),
            Err((place, what)) => {
                (schema.clone(), false, vec![(place, format!("not strict: {what}"))])
            }
        },
        Format::OpenAiResponses | Format::OpenAiChat => (schema.clone(), false, Vec::new()),
        Format::Anthropic => anthropic(schema),
        Format::Gemini => {
            let (schema, left_out) = to_gemini(schema);
            (schema, false, left_out)
        }
    }
}

/// Anthropic wants an object at the top, and no choices there.
fn anthropic(schema: &Value) -> (Value, bool, Vec<SchemaNote>) {
    let (mut out, mut left_out) = (schema.clone(), Vec::new());
    if let Some(fields) = out.as_object_mut() {
        for key in ["anyOf", "oneOf", "allOf"] {
            if fields.remove(key).is_some() {
                left_out.push((format!("/{key}"), "left out".to_owned()));
            }
        }
        fields.insert("type".to_owned(), json!("object"));
    }
    (out, false, left_out)
}
