//! What a server says of its tool in annotations: evidence for a proposal, never a decision.

use serde_json::Value;

/// The hints of a tool, as MCP names them. `None` is what the server does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

impl Hints {
    /// Reads a tool's `annotations`; what is no boolean is not said.
    #[must_use]
    pub fn of(annotations: Option<&Value>) -> Self {
        let hint = |key: &str| annotations.and_then(|all| all.get(key)).and_then(Value::as_bool);
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// Whether the server says that the tool only reads, and not that it may destroy as well.
    pub(super) fn reads(self) -> bool {
        self.read_only == Some(true) && self.destructive != Some(true)
    }
}
