//! The tools of gateway mode that run others: one for all, or one for each class.
//!
//! With three, what a client lets through without asking means something: the tool that reads runs
//! nothing that writes, whatever the model says of it. The class is that of the contract in force.

use serde_json::{Value, json};
use weaver_types::{Capability, Impact};

use super::client::Client;
use super::definitions;
use crate::config::ExecuteTools;

/// Runs every tool.
const ALL: &str = "tool_execute";

/// A tool that runs others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecuteTool {
    /// All others.
    Any,
    /// Those whose impact this is.
    Of(Impact),
}

/// Those that run one class, the mildest first.
const BY_CLASS: [ExecuteTool; 3] = [
    ExecuteTool::Of(Impact::Read),
    ExecuteTool::Of(Impact::Write),
    ExecuteTool::Of(Impact::Destroy),
];

impl ExecuteTool {
    /// Those that a client has.
    pub(crate) fn offered(tools: ExecuteTools) -> &'static [Self] {
        match tools {
            ExecuteTools::Single => &[Self::Any],
            ExecuteTools::ByClass => &BY_CLASS,
        }
    }

    /// The tool of this name, if the client has it.
    pub(crate) fn named(tools: ExecuteTools, name: &str) -> Option<Self> {
        Self::offered(tools).iter().copied().find(|tool| tool.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => ALL,
            Self::Of(Impact::Read) => "tool_execute_read",
            Self::Of(Impact::Write) => "tool_execute_write",
            Self::Of(Impact::Destroy) => "tool_execute_destructive",
        }
    }

    /// What the tools do that it runs.
    fn runs(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Of(Impact::Read) => " that reads and changes nothing",
            Self::Of(Impact::Write) => " that adds or changes something",
            Self::Of(Impact::Destroy) => " that deletes, or of which nobody said what it does",
        }
    }

    /// How it is listed.
    pub(crate) fn definition(self) -> Value {
        let mut tool = definitions::execute_definition(self.name(), self.runs());
        let hints = match self {
            // It runs whatever there is, so that nothing milder is true of it.
            Self::Any => return tool,
            Self::Of(Impact::Read) => json!({ "readOnlyHint": true, "openWorldHint": true }),
            Self::Of(impact) => json!({
                "readOnlyHint": false,
                "destructiveHint": impact == Impact::Destroy,
                "openWorldHint": true,
            }),
        };
        if let Some(fields) = tool.as_object_mut() {
            fields.insert("annotations".to_owned(), hints);
        }
        tool
    }

    /// The tool that runs a capability for this client.
    pub(crate) fn of(client: &Client, capability: &Capability) -> Self {
        match client.profile.execute_tools {
            ExecuteTools::Single => Self::Any,
            ExecuteTools::ByClass => {
                // What has no contract that can be applied may do anything.
                let effective = client.gateway.kernel.policy().effective(capability);
                Self::Of(effective.map_or(Impact::Destroy, |one| one.spec().effects.impact))
            }
        }
    }

    /// Why a call by this tool is refused; nothing where it is the one that runs the capability.
    pub(crate) fn refusal(self, client: &Client, capability: &Capability) -> Option<String> {
        let right = Self::of(client, capability);
        let id = capability.id();
        (right != self)
            .then(|| format!("`{id}` is run with {}, not with {}", right.name(), self.name()))
    }
}

/// The names of the tools that a client runs others with, in a sentence.
pub(crate) fn names(tools: ExecuteTools) -> String {
    match tools {
        ExecuteTools::Single => ALL.to_owned(),
        ExecuteTools::ByClass => {
            let names = BY_CLASS.map(ExecuteTool::name);
            names.join(", ")
        }
    }
}
