//! Which of a server's tools a client takes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::server_entry::{UnusableEntry, names};

/// Keys of the only tools that a client takes: of Codex, the Gemini CLI and goose.
const ONLY: [&str; 3] = ["enabled_tools", "includeTools", "available_tools"];
/// Keys of tools that a client leaves out: of Codex, the Gemini CLI and Windsurf.
const NEVER: [&str; 3] = ["disabled_tools", "excludeTools", "disabledTools"];

/// Which of a server's tools a client takes; all by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// The only tools that it takes; `None` for all.
    only: Option<BTreeSet<String>>,
    /// The tools that it leaves out.
    never: BTreeSet<String>,
}

impl ToolFilter {
    pub(super) fn read<'v>(get: &dyn Fn(&str) -> Option<&'v Value>) -> Result<Self, UnusableEntry> {
        let mut filter = Self::default();
        for key in ONLY.into_iter().filter(|key| get(key).is_some()) {
            let tools = names(get(key), key)?;
            // goose writes an empty list for all.
            if !tools.is_empty() {
                filter.only.get_or_insert_default().extend(tools);
            }
        }
        for key in NEVER {
            filter.never.extend(names(get(key), key)?);
        }
        Ok(filter)
    }

    /// Whether the client leaves this tool out.
    #[must_use]
    pub fn leaves_out(&self, tool: &str) -> bool {
        self.never.contains(tool) || self.only.as_ref().is_some_and(|only| !only.contains(tool))
    }

    /// Whether the client takes all tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
