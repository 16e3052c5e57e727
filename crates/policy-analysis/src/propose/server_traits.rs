//! What all tools of a server together show of each of them.

use serde_json::Value;

use super::ServerReach;
use super::{hints, server_evidence};

/// What the tools of a server show together, and none of them alone.
///
/// ```
/// use serde_json::json;
/// use weaver_policy_analysis::propose::{ServerTraits, ToolDescription};
///
/// let hints = json!({ "readOnlyHint": false, "destructiveHint": true,
///     "idempotentHint": false, "openWorldHint": true });
/// let tools = [json!({ "name": "read_sheet", "annotations": hints })];
/// let traits = ServerTraits::of(&tools);
/// assert!(traits.repeats_default_hints);
/// let tool = ToolDescription::from_json(&tools[0]).with_server(traits);
/// assert_eq!(tool.hints.destructive, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerTraits {
    /// How far the server reaches.
    pub reach: ServerReach,
    /// Whether every tool has all four hints with the defaults of MCP. Then no author chose them,
    /// and they are no evidence.
    pub repeats_default_hints: bool,
}

impl ServerTraits {
    /// Those of the server that lists these tools.
    #[must_use]
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Value>) -> Self {
        let tools: Vec<&Value> = tools.into_iter().collect();
        let repeats_default_hints = hints::repeat_defaults(&tools);
        Self { reach: ServerReach::of(tools), repeats_default_hints }
    }

    /// Those of the server that lists these tools and was given a folder or a file of this machine. A
    /// tool that takes an address, browses or names a service shows that the folder is not all it has.
    #[must_use]
    pub fn of_local_files<'a>(tools: impl IntoIterator<Item = &'a Value>) -> Self {
        let tools: Vec<&Value> = tools.into_iter().collect();
        let traits = Self::of(tools.iter().copied());
        if server_evidence::reaches_network(&tools) { traits } else { traits.on_this_machine() }
    }

    /// Those of a server that was set up for something on this machine, and for nothing beyond it.
    /// Tools that speak to a service outweigh that.
    #[must_use]
    pub fn on_this_machine(self) -> Self {
        let reach = match self.reach {
            ServerReach::Unknown => ServerReach::Folder,
            known => known,
        };
        Self { reach, ..self }
    }
}

impl From<ServerReach> for ServerTraits {
    fn from(reach: ServerReach) -> Self {
        Self { reach, ..Self::default() }
    }
}
