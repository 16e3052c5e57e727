//! A set of capabilities as offered to a model, and the way back from its calls.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::definition::DefinitionParts;
use super::error::NameError;
use super::gemini::to_gemini;
use super::name::ToolNames;
use super::strict_schema::{SchemaNote, strict};
use super::{ToolFormat, nullable};
use crate::capability::Capability;
use crate::id::CapabilityId;

/// The most limitations reported for one capability.
const MAX_LIMITATIONS: usize = 16;

/// How tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolSetOptions {
    /// Use OpenAI's strict mode for every tool whose schema it can express.
    pub strict: bool,
    /// Let Anthropic cache the definitions: the last one carries `cache_control`.
    pub cache: bool,
}

/// A part of a capability's schema that the format cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatLimitation {
    /// The capability.
    pub capability: CapabilityId,
    /// The position in its input schema, as a JSON pointer; empty for the whole.
    pub place: String,
    /// How it was written instead.
    pub text: String,
}

/// Tool definitions, with what is needed to parse the calls to them.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSet {
    pub(super) format: ToolFormat,
    pub(super) names: ToolNames,
    pub(super) shapes: BTreeMap<CapabilityId, ArgumentShape>,
    definitions: Vec<Value>,
    limitations: Vec<FormatLimitation>,
}

/// The shape of a capability's arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArgumentShape {
    schema: Value,
    /// Whether null stands for an omitted argument.
    strict: bool,
}

impl ArgumentShape {
    /// Whether the schema declares an argument of this name.
    pub(super) fn declares(&self, argument: &str) -> bool {
        self.schema.get("properties").is_some_and(|properties| properties.get(argument).is_some())
    }

    /// The arguments in the terms of the capability's own schema.
    pub(super) fn restore_arguments(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::Object(arguments);
        if self.strict {
            nullable::remove_placeholder_nulls(&self.schema, &self.schema, &mut value);
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
    /// The texts are the capabilities' own. For texts written by a server, the caller makes
    /// invisible characters visible first.
    ///
    /// # Errors
    /// [`NameError`] when two of them would get the same name.
    pub fn new<'a>(
        format: ToolFormat,
        capabilities: impl IntoIterator<Item = &'a Capability>,
        options: ToolSetOptions,
    ) -> Result<Self, NameError> {
        let all: Vec<&Capability> = capabilities.into_iter().collect();
        let names = ToolNames::new(format, all.iter().map(|capability| capability.id()))?;
        let (definitions, limitations, shapes) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut set = Self { format, names, shapes, definitions, limitations };
        for capability in all {
            set.add(capability, options);
        }
        if options.cache
            && format == ToolFormat::Anthropic
            && let Some(last) = set.definitions.last_mut().and_then(Value::as_object_mut)
        {
            last.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
        }
        Ok(set)
    }

    fn add(&mut self, capability: &Capability, options: ToolSetOptions) {
        let id = capability.id();
        let declared = match capability.spec().input_schema.as_deref() {
            Some(schema @ Value::Object(_)) => schema.clone(),
            Some(_) | None => json!({ "type": "object", "additionalProperties": true }),
        };
        let (schema, strict, places) = schema_for_format(self.format, &declared, options);
        let limitations = places.into_iter().take(MAX_LIMITATIONS);
        self.limitations.extend(limitations.map(|(place, text)| FormatLimitation {
            capability: id.clone(),
            place,
            text,
        }));
        self.shapes.insert(id.clone(), ArgumentShape { schema: declared, strict });
        let name = super::tool_name(self.format, id);
        let parts = DefinitionParts { capability, name, schema, strict };
        self.definitions.push(parts.definition(self.format));
    }

    /// The definitions, in the order of the capabilities. Gemini takes them as
    /// `functionDeclarations`, the others as `tools`.
    #[must_use]
    pub fn definitions(&self) -> &[Value] {
        &self.definitions
    }

    /// What the format cannot express, at most 16 entries for each capability.
    #[must_use]
    pub fn limitations(&self) -> &[FormatLimitation] {
        &self.limitations
    }

    /// The names, and the way back.
    #[must_use]
    pub fn names(&self) -> &ToolNames {
        &self.names
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> ToolFormat {
        self.format
    }
}

/// A schema in the format's dialect, whether that is strict, and what it could not express.
fn schema_for_format(
    format: ToolFormat,
    schema: &Value,
    options: ToolSetOptions,
) -> (Value, bool, Vec<SchemaNote>) {
    match format {
        ToolFormat::Mcp => (schema.clone(), false, Vec::new()),
        ToolFormat::OpenAiResponses | ToolFormat::OpenAiChat if options.strict => {
            match strict(schema) {
                Ok(strict) => (strict.schema, true, strict.left_out),
                Err((place, what)) => {
                    (schema.clone(), false, vec![(place, format!("not strict: {what}"))])
                }
            }
        }
        ToolFormat::OpenAiResponses | ToolFormat::OpenAiChat => (schema.clone(), false, Vec::new()),
        ToolFormat::Anthropic => anthropic(schema),
        ToolFormat::Gemini => {
            let (schema, left_out) = to_gemini(schema);
            (schema, false, left_out)
        }
    }
}

/// Anthropic requires an object at the top level, without choices there.
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
