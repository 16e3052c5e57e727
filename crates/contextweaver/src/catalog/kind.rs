//! The kinds of items.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::CatalogError;

/// The kind of an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A tool, called with arguments.
    #[default]
    Tool,
    /// An agent, given a task.
    Agent,
    /// A skill: instructions that a model reads when it needs them.
    Skill,
    /// A function of the host.
    Internal,
    /// A workflow: several steps under one name.
    Flow,
    /// A resource, read by its address.
    Resource,
    /// A prompt template.
    Prompt,
}

weaver_types::words! { ItemKind: "The word for the kind in files.", all "All kinds.";
    Tool = "tool", Agent = "agent", Skill = "skill", Internal = "internal", Flow = "flow",
    Resource = "resource", Prompt = "prompt",
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ItemKind {
    type Err = CatalogError;

    fn from_str(text: &str) -> Result<Self, CatalogError> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| CatalogError::UnknownWord {
            what: "a kind of item",
            text: crate::catalog::printable(text),
            known: "tool, agent, skill, internal, flow, resource, prompt",
        })
    }
}
