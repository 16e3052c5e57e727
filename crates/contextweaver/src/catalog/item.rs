//! One item.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use weaver_types::{Agents, CapabilityDescriptor, CapabilityDraft, CapabilityId, Effects, IdError};

use crate::catalog::{ItemKind, schema, spelling};

/// Something a model can choose: a tool, an agent, a prompt.
///
/// A search reads the names and descriptions of its parameters; its schemas are kept beside them,
/// for whoever asks for this one item. Nothing of a schema reaches a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableItem {
    /// The capability it stands for.
    pub id: CapabilityId,
    /// What sort of thing it is.
    pub kind: ItemKind,
    /// Its name, at most 512 bytes. An empty one is read as the id.
    pub name: String,
    /// What it does, at most 64 KiB.
    pub description: String,
    /// The group it belongs to, for example its server. May be empty.
    pub namespace: String,
    /// Words it is filed under, at most 1,024.
    pub tags: Vec<String>,
    /// Its parameters, at most 1,024.
    pub parameters: Vec<Parameter>,
    /// Requests that it answers, as people put them; at most 1,024.
    pub examples: Vec<String>,
    /// What it can do to the world; unknown is shown as such.
    pub effects: Option<Effects>,
    /// The JSON Schema of its arguments: at most 64 KiB, 32 levels and 512 properties.
    pub schema: Option<Arc<Value>>,
    /// The JSON Schema of its result, within the same bounds.
    pub output_schema: Option<Arc<Value>>,
    /// What it costs, as its owner counts it, in thousandths. Zero where nobody said.
    pub cost_hint: u64,
    /// Items that are used before it, at most 1,024.
    pub depends_on: BTreeSet<CapabilityId>,
    /// What using it brings about, in words of the catalog's own; at most 1,024.
    pub provides: BTreeSet<String>,
    /// What must have been brought about, in the same words; at most 1,024.
    pub requires: BTreeSet<String>,
    /// What its arguments must obey beyond the schema; with `metadata` at most 64 KiB.
    pub constraints: Map<String, Value>,
    /// Whatever else its source keeps with it. It is not searched and not shown.
    pub metadata: Map<String, Value>,
    pub(super) source_id: Option<String>,
}

/// A parameter as far as a search needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it means. May be empty.
    pub description: String,
}

impl SelectableItem {
    /// A tool with id, name and description, and nothing else.
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

    /// The same under an id of somebody else's catalog, of up to 4,096 bytes. One that is no
    /// capability id (blanks, hidden characters, too long) is percent-encoded, and cut where it
    /// must be, so that no two become one; [`SelectableItem::source_id`] keeps it as it was.
    ///
    /// # Errors
    /// [`IdError`], when the text is empty or too long.
    pub fn named(
        source_id: &str,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Result<Self, IdError> {
        let (id, differs) = spelling::capability_id(source_id)?;
        let mut item = Self::new(id, name, description);
        item.source_id = differs.then(|| source_id.to_owned());
        Ok(item)
    }

    /// With a JSON Schema of its arguments, and the parameters that it names: the properties of
    /// objects and of the objects in them, at most 256 and four levels deep.
    #[must_use]
    pub fn with_schema(mut self, schema: &Value) -> Self {
        self.parameters = schema::parameters(schema);
        self.schema = (!schema.is_null()).then(|| Arc::new(schema.clone()));
        self
    }

    /// With the parameters that a schema names, where the schema itself is kept elsewhere.
    #[must_use]
    pub fn with_parameters_of(mut self, schema: &Value) -> Self {
        self.parameters = schema::parameters(schema);
        self
    }

    /// The name, or the id where the name is empty.
    #[must_use]
    pub fn display_name(&self) -> &str {
        if self.name.trim().is_empty() { self.source_id() } else { &self.name }
    }

    /// The id as the source wrote it.
    #[must_use]
    pub fn source_id(&self) -> &str {
        self.source_id.as_deref().unwrap_or(self.id.as_str())
    }
}

/// Name, description, tags and effects; parameters come with [`SelectableItem::with_schema`].
impl From<&CapabilityDescriptor> for SelectableItem {
    fn from(capability: &CapabilityDescriptor) -> Self {
        let mut item = Self::new(capability.id.clone(), &capability.name, &capability.description);
        item.tags = capability.tags.iter().cloned().collect();
        item.effects = Some(capability.effects);
        item
    }
}

/// Everything that a draft says of what the capability is and does.
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

/// What an item says of itself, as a proposal: open to every agent, and with effects that nobody
/// declared as the most dangerous.
impl From<&SelectableItem> for CapabilityDraft {
    fn from(item: &SelectableItem) -> Self {
        let name = item.display_name().to_owned();
        let effects = item.effects.unwrap_or(Effects::UNDECLARED);
        Self {
            description: item.description.clone(),
            input_schema: item.schema.clone(),
            output_schema: item.output_schema.clone(),
            tags: item.tags.iter().cloned().collect(),
            ..Self::new(item.id.clone(), name, effects, Agents::Any)
        }
    }
}
