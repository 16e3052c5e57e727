//! One item and its bounds.

use weaver_types::{CapabilityDescriptor, CapabilityId, Effects};

use crate::catalog::shown;
use crate::error::CatalogError;

const MAX_NAME: usize = 512;
const MAX_TEXT: usize = 64 * 1024;
const MAX_LIST: usize = 1024;

/// Something a model can choose: a tool, an agent, a prompt.
///
/// It holds the names and descriptions of parameters, never a schema: what is not here cannot
/// reach a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableItem {
    /// The capability it stands for.
    pub id: CapabilityId,
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
    /// An item with id, name and description, and nothing else.
    pub fn new(id: CapabilityId, name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            description: description.into(),
            namespace: String::new(),
            tags: Vec::new(),
            parameters: Vec::new(),
            examples: Vec::new(),
            effects: None,
            source_id: None,
        }
    }

    /// With the parameters of a JSON Schema: the properties of objects and of the objects in
    /// them, at most 256 and four levels deep. Anything else in the schema is left alone.
    #[must_use]
    pub fn with_schema(mut self, schema: &serde_json::Value) -> Self {
        self.parameters = super::schema::parameters(schema);
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

    /// Checks every bound.
    pub(crate) fn check(&self) -> Result<(), CatalogError> {
        let text = self.description.len() + total(&self.tags) + total(&self.examples);
        let parameters: usize =
            self.parameters.iter().map(|p| p.name.len() + p.description.len()).sum();
        self.bound("the name", self.name.len(), "bytes", MAX_NAME)?;
        self.bound("the namespace", self.namespace.len(), "bytes", MAX_NAME)?;
        self.bound("the text", text, "bytes", MAX_TEXT)?;
        self.bound("the parameter text", parameters, "bytes", MAX_TEXT)?;
        self.bound("the list of tags", self.tags.len(), "entries", MAX_LIST)?;
        self.bound("the list of parameters", self.parameters.len(), "entries", MAX_LIST)?;
        self.bound("the list of examples", self.examples.len(), "entries", MAX_LIST)
    }

    fn bound(
        &self,
        field: &'static str,
        size: usize,
        unit: &'static str,
        max: usize,
    ) -> Result<(), CatalogError> {
        if size <= max {
            return Ok(());
        }
        Err(CatalogError::TooLarge { id: shown(self.id.as_str()), field, size, unit, max })
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

fn total(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}
