//! A server's hints about its tool (MCP annotations): evidence for a proposal, never for a
//! decision.

use serde_json::Value;

/// The MCP hints of a tool. `None` means that the server does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolHints {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

impl ToolHints {
    /// Parses a tool's `annotations`. Values that are not booleans are ignored.
    #[must_use]
    pub fn from_annotations(annotations: Option<&Value>) -> Self {
        let hint = |key: &str| annotations.and_then(|all| all.get(key)).and_then(Value::as_bool);
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// Whether these are all four hints, each with the default that MCP gives it. A library that
    /// writes them on every tool (mcp-go does) says no more than one that writes none.
    pub(super) fn are_defaults(self) -> bool {
        self == Self {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(false),
            open_world: Some(true),
        }
    }

    /// Whether the server says that the tool only reads, and does not also say that it may destroy.
    pub(super) fn is_read_only(self) -> bool {
        self.read_only == Some(true) && self.destructive != Some(true)
    }
}

/// Whether all of these tools, of which there are some, have the defaults of all hints written out.
pub(super) fn repeat_defaults(tools: &[&Value]) -> bool {
    let has_defaults =
        |tool: &&Value| ToolHints::from_annotations(tool.get("annotations")).are_defaults();
    !tools.is_empty() && tools.iter().all(has_defaults)
}
