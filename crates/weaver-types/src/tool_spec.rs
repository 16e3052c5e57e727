//! `ToolSpec`: a builder with the defaults, bounds and wire names of the SecondBrain kernel.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::capability::{
    AllowedAgents, Capability, CapabilityDraft, CapabilityError, TelemetrySettings,
};
use crate::effects::{Effects, SafetyClass};
use crate::id::{AgentId, CapabilityId, IdError};
use crate::json_pointer::JsonPointer;

/// One declared argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolArgSchema {
    /// Its name.
    pub name: String,
    /// Its JSON Schema type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is required.
    #[serde(default)]
    pub required: bool,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

/// The declared result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct ToolReturnSchema {
    /// Its JSON Schema type; empty means undeclared.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// What it holds.
    #[serde(default)]
    pub description: String,
}

/// Declares a tool as the SecondBrain kernel does, and builds a [`Capability`] from it.
///
/// ```
/// use weaver_types::{SafetyClass, ToolSpec};
///
/// let spec = ToolSpec::new("notes.search", "Search notes").describe("Finds notes by words.");
/// assert_eq!((spec.max_retries, spec.timeout_ms, spec.idempotent), (2, 5_000, None));
/// assert_eq!(spec.build()?.class(), SafetyClass::ReadOnly);
/// # Ok::<(), weaver_types::ToolSpecError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Matches `^[a-z][a-z0-9_\-\.]+$`.
    pub tool_id: String,
    /// The name for people.
    pub name: String,
    /// What it does; shown to models.
    #[serde(default)]
    pub description: String,
    /// Its class; default read only.
    #[serde(default = "read_only")]
    pub safety_class: SafetyClass,
    /// Its effects, if declared in addition to the class; they must belong to that class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Whether it is safe to call again, so that a call whose answer was lost is repeated. By
    /// default only what writes nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Arguments.
    #[serde(default)]
    pub args_schema: Vec<ToolArgSchema>,
    /// Result.
    #[serde(default)]
    pub returns_schema: ToolReturnSchema,
    /// Permissions its caller must have.
    #[serde(default)]
    pub requires_permission: BTreeSet<String>,
    /// Agents that may use it; empty means every agent.
    #[serde(default)]
    pub allowlisted_agents: BTreeSet<AgentId>,
    /// A span per call; default true.
    #[serde(default = "yes")]
    pub emit_trace: bool,
    /// Metrics per call; default true.
    #[serde(default = "yes")]
    pub emit_metric: bool,
    /// Retries after the first attempt, 0 to 5; default 2.
    #[serde(default = "two")]
    pub max_retries: u8,
    /// Milliseconds, 100 to 3,600,000; default 5,000.
    #[serde(default = "five_seconds")]
    pub timeout_ms: u32,
    /// The arguments that decide on recipient, destination, object and amount; empty to derive them
    /// from the schema.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub critical_arguments: BTreeSet<JsonPointer>,
}

fn read_only() -> SafetyClass {
    SafetyClass::ReadOnly
}
fn yes() -> bool {
    true
}
fn two() -> u8 {
    2
}
fn five_seconds() -> u32 {
    5_000
}

/// Why a [`ToolSpec`] cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSpecError {
    /// The id does not match the pattern.
    #[error("tool id `{0}` does not match ^[a-z][a-z0-9_\\-\\.]+$")]
    Pattern(String),
    /// The id is no capability id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The declared effects do not belong to the declared class.
    #[error(
        "tool `{tool}`: the effects belong to class {found:?}, but safety_class says {declared:?}"
    )]
    Class {
        /// The tool.
        tool: String,
        /// The class that the effects belong to.
        found: SafetyClass,
        /// The class that is declared.
        declared: SafetyClass,
    },
    /// A bound is broken.
    #[error(transparent)]
    Capability(#[from] CapabilityError),
}

impl ToolSpecError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Pattern(_) => "tool_spec.pattern",
            Self::Id(error) => error.code(),
            Self::Class { .. } => "tool_spec.class",
            Self::Capability(error) => error.code(),
        }
    }
}

impl ToolSpec {
    /// A tool with the defaults.
    #[must_use]
    pub fn new(tool_id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            tool_id: tool_id.into(),
            name: name.into(),
            description: String::new(),
            safety_class: read_only(),
            effects: None,
            idempotent: None,
            args_schema: Vec::new(),
            returns_schema: ToolReturnSchema::default(),
            requires_permission: BTreeSet::new(),
            allowlisted_agents: BTreeSet::new(),
            emit_trace: true,
            emit_metric: true,
            max_retries: two(),
            timeout_ms: five_seconds(),
            critical_arguments: BTreeSet::new(),
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the effects and the class that follows from them.
    #[must_use]
    pub fn with_effects(mut self, effects: Effects) -> Self {
        self.effects = Some(effects);
        self.safety_class = effects.class();
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, name: impl Into<String>, kind: impl Into<String>, required: bool) -> Self {
        self.args_schema.push(ToolArgSchema {
            name: name.into(),
            kind: kind.into(),
            required,
            description: String::new(),
        });
        self
    }

    /// Adds a critical argument.
    #[must_use]
    pub fn critical(mut self, at: JsonPointer) -> Self {
        self.critical_arguments.insert(at);
        self
    }

    /// Validates and builds the capability.
    ///
    /// # Errors
    /// [`ToolSpecError`], naming the field.
    pub fn build(self) -> Result<Capability, ToolSpecError> {
        if !matches_pattern(&self.tool_id) {
            return Err(ToolSpecError::Pattern(self.tool_id.escape_debug().take(80).collect()));
        }
        let effects = self.effects.unwrap_or_else(|| self.safety_class.effects());
        if effects.class() != self.safety_class {
            return Err(ToolSpecError::Class {
                tool: self.tool_id,
                found: effects.class(),
                declared: self.safety_class,
            });
        }
        let input_schema = Some(input_schema(&self.args_schema));
        let output_schema = (!self.returns_schema.kind.is_empty())
            .then(|| json!({ "type": self.returns_schema.kind, "description": self.returns_schema.description }));
        let agents = if self.allowlisted_agents.is_empty() {
            AllowedAgents::Any
        } else {
            AllowedAgents::Only(self.allowlisted_agents)
        };
        let id = CapabilityId::parse(&self.tool_id)?;
        let draft = CapabilityDraft {
            description: self.description,
            idempotent: self.idempotent.unwrap_or(!effects.writes()),
            input_schema: input_schema.map(Arc::new),
            output_schema: output_schema.map(Arc::new),
            permissions: self.requires_permission,
            max_retries: self.max_retries,
            timeout_ms: self.timeout_ms,
            critical_arguments: self.critical_arguments,
            emit: TelemetrySettings { trace: self.emit_trace, metric: self.emit_metric },
            ..CapabilityDraft::new(id, self.name, effects, agents)
        };
        Ok(draft.build()?)
    }
}

fn matches_pattern(id: &str) -> bool {
    let mut bytes = id.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && id.len() >= 2
        && bytes.all(|b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.')
        })
}

fn input_schema(args: &[ToolArgSchema]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for arg in args {
        let mut property = Map::new();
        property.insert("type".to_owned(), json!(arg.kind));
        if !arg.description.is_empty() {
            property.insert("description".to_owned(), json!(arg.description));
        }
        properties.insert(arg.name.clone(), Value::Object(property));
        if arg.required {
            required.push(json!(arg.name));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}
