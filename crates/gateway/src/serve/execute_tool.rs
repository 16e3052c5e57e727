//! The tools of gateway mode that execute others: one for all, or one for each class of impact.
//!
//! Separate tools make a client's own permission settings meaningful: the tool for reads executes
//! nothing that writes, whatever the model says. The class comes from the contract in force.

use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId, Impact};

use crate::config::ExecuteTools;

/// The name of the tool that executes all others.
const UNRESTRICTED_NAME: &str = "tool_execute";

/// A tool that executes others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecuteTool {
    /// Executes all tools.
    Any,
    /// Executes the tools of one impact.
    OfImpact(Impact),
}

/// One tool for each class, the mildest first.
const BY_CLASS: [ExecuteTool; 3] = [
    ExecuteTool::OfImpact(Impact::Read),
    ExecuteTool::OfImpact(Impact::Write),
    ExecuteTool::OfImpact(Impact::Destroy),
];

impl ExecuteTool {
    /// The execute tools that a client gets.
    pub(crate) fn all(tools: ExecuteTools) -> &'static [Self] {
        match tools {
            ExecuteTools::Single => &[Self::Any],
            ExecuteTools::ByClass => &BY_CLASS,
        }
    }

    /// The tool of this name, if the client gets it.
    pub(crate) fn by_name(tools: ExecuteTools, name: &str) -> Option<Self> {
        Self::all(tools).iter().copied().find(|tool| tool.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => UNRESTRICTED_NAME,
            Self::OfImpact(Impact::Read) => "tool_execute_read",
            Self::OfImpact(Impact::Write) => "tool_execute_write",
            Self::OfImpact(Impact::Destroy) => "tool_execute_destructive",
        }
    }

    /// What the executed tools do, as the end of a sentence.
    pub(super) fn description_suffix(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::OfImpact(Impact::Read) => " that only reads",
            Self::OfImpact(Impact::Write) => " that adds or changes something",
            Self::OfImpact(Impact::Destroy) => " that deletes, or whose effects are not declared",
        }
    }

    /// The tool that executes a capability.
    pub(crate) fn for_capability(
        tools: ExecuteTools,
        capability: &Capability,
        policy: &PolicySet,
    ) -> Self {
        match tools {
            ExecuteTools::Single => Self::Any,
            ExecuteTools::ByClass => {
                // A capability without an applicable contract may do anything.
                let effective = policy.apply_contract(capability);
                Self::OfImpact(effective.map_or(Impact::Destroy, |one| one.spec().effects.impact))
            }
        }
    }

    /// Why this tool may not execute the capability; `None` where it is the `responsible` one.
    pub(crate) fn refusal(self, responsible: Self, id: &CapabilityId) -> Option<String> {
        (responsible != self)
            .then(|| format!("`{id}` is run with {}, not with {}", responsible.name(), self.name()))
    }
}

/// The names of a client's execute tools, as one text.
pub(crate) fn joined_names(tools: ExecuteTools) -> String {
    match tools {
        ExecuteTools::Single => UNRESTRICTED_NAME.to_owned(),
        ExecuteTools::ByClass => {
            let names = BY_CLASS.map(ExecuteTool::name);
            names.join(", ")
        }
    }
}
