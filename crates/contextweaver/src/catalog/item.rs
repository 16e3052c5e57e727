//! The item of a catalog: something that a model can choose.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use weaver_types::{
    AllowedAgents, CapabilityDescriptor, CapabilityDraft, CapabilityId, Effects, IdError,
};

use crate::catalog::{ItemKind, id_encoding, schema};

/// Something a model can choose: a tool, an agent, a prompt.
///
/// The index covers the names and descriptions of its parameters. Its schemas are kept for callers
/// that ask for this one item; nothing of a schema appears on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableItem {
    /// The capability that the item stands for.
    pub id: CapabilityId,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The name, at most 512 bytes. If it is empty, the id is used instead.
    pub name: String,
    /// What the item does, at most 64 KiB.
    pub description: String,
    /// The group that the item belongs to, for example its server. May be empty.
    pub namespace: String,
    /// Keywords, at most 1,024.
    pub tags: Vec<String>,
    /// The parameters, at most 1,024.
    pub parameters: Vec<Parameter>,
    /// Example requests that the item answers, in the words of users; at most 1,024.
    pub examples: Vec<String>,
    /// What the item can do to the world; `None` if undeclared.
    pub effects: Option<Effects>,
    /// The JSON Schema of the arguments: at most 64 KiB, 32 levels and 512 properties.
    pub schema: Option<Arc<Value>>,
    /// The JSON Schema of the result, within the same bounds.
    pub output_schema: Option<Arc<Value>>,
    /// What one use costs, in thousandths of the owner's unit. Zero if not declared.
    pub cost_hint: u64,
    /// Items that must be used before this one, at most 1,024.
    pub depends_on: BTreeSet<CapabilityId>,
    /// The conditions that using the item establishes, in the catalog's own words; at most 1,024.
    pub provides: BTreeSet<String>,
    /// The conditions that must be established before, in the same words; at most 1,024.
    pub requires: BTreeSet<String>,
    /// Constraints on the arguments beyond the schema; together with `metadata` at most 64 KiB.
    pub constraints: Map<String, Value>,
    /// Other data from the source. Neither searched nor shown.
    pub metadata: Map<String, Value>,
    pub(super) source_id: Option<String>,
}

/// The searchable part of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: String,
    /// What the parameter means. May be empty.
    pub description: String,
}

impl SelectableItem {
    /// A tool with only an id, a name and a description.
    pub fn new(id: CapabilityId, name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            id,
            kind: ItemKind::Tool,
            name: name.into(),
            description: description.into(),
            namespace: String::new(),
            tags: Vec::new(),
            parameters: Vec::new(),
            examples: Vec::new(),
            effects: None,
            schema: None,
            output_schema: None,
            cost_hint: 0,
            depends_on: BTreeSet::new(),
            provides: BTreeSet::new(),
            requires: BTreeSet::new(),
            constraints: Map::new(),
            metadata: Map::new(),
            source_id: None,
        }
    }

    /// A tool under an id from another system, of up to 4,096 bytes. An id that is not a valid
    /// capability id (blanks, hidden characters, too long) is percent-encoded and, if necessary,
    /// shortened in a way that keeps distinct ids distinct. [`SelectableItem::source_id`] returns
    /// the original.
    ///
    /// # Errors
    /// [`IdError`] if the text is empty or too long.
    pub fn from_source_id(
        source_id: &str,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Result<Self, IdError> {
        let (id, differs) = id_encoding::encode_id(source_id)?;
        let mut item = Self::new(id, name, description);
        item.source_id = differs.then(|| source_id.to_owned());
        Ok(item)
    }

    /// Sets the JSON Schema of the arguments, and the parameters to what it declares: the properties
    /// of objects, nested ones included, at most 256 and four levels deep.
    #[must_use]
    pub fn with_schema(mut self, schema: &Value) -> Self {
        self.parameters = schema::parameters(schema);
        self.schema = (!schema.is_null()).then(|| Arc::new(schema.clone()));
        self
    }

    /// Sets the parameters to those that a schema declares, without keeping the schema.
    #[must_use]
    pub fn with_parameters_of(mut self, schema: &Value) -> Self {
        self.parameters = schema::parameters(schema);
        self
    }

    /// The name, or the id if the name is empty.
    #[must_use]
    pub fn display_name(&self) -> &str {
        if self.name.trim().is_empty() { self.source_id() } else { &self.name }
    }

    /// The id as the source wrote it, before any encoding.
    #[must_use]
    pub fn source_id(&self) -> &str {
        self.source_id.as_deref().unwrap_or(self.id.as_str())
    }
}

/// Takes name, description, tags and effects; a descriptor has no parameters
/// (see [`SelectableItem::with_schema`]).
impl From<&CapabilityDescriptor> for SelectableItem {
    fn from(capability: &CapabilityDescriptor) -> Self {
        let mut item = Self::new(capability.id.clone(), &capability.name, &capability.description);
        item.tags = capability.tags.iter().cloned().collect();
        item.effects = Some(capability.effects);
        item
    }
}

/// Takes everything that a draft says about what the capability is and does.
impl From<&CapabilityDraft> for SelectableItem {
    fn from(draft: &CapabilityDraft) -> Self {
        let name = draft.title.as_ref().unwrap_or(&draft.name);
        let mut item = Self::new(draft.id.clone(), name, &draft.description);
        if let Some(schema) = &draft.input_schema {
            item = item.with_parameters_of(schema);
        }
        item.schema = draft.input_schema.clone().filter(|schema| !schema.is_null());
        item.output_schema = draft.output_schema.clone();
        item.tags = draft.tags.iter().cloned().collect();
        item.effects = Some(draft.effects);
        item
    }
}

/// Proposes a capability from an item: open to every agent. Undeclared effects become the most
/// dangerous ones.
impl From<&SelectableItem> for CapabilityDraft {
    fn from(item: &SelectableItem) -> Self {
        let name = item.display_name().to_owned();
        let effects = item.effects.unwrap_or(Effects::UNDECLARED);
        Self {
            description: item.description.clone(),
            input_schema: item.schema.clone(),
            output_schema: item.output_schema.clone(),
            tags: item.tags.iter().cloned().collect(),
            ..Self::new(item.id.clone(), name, effects, AllowedAgents::Any)
        }
    }
}
