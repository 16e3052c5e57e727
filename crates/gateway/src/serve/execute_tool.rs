//! The tools of gateway mode that run others: one for all, or one for each class.
//!
//! With three, what a client lets through without asking means something: the tool that reads runs
//! nothing that writes, whatever the model says of it. The class is that of the contract in force.

use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId, Impact};

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
    pub(super) fn runs(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Of(Impact::Read) => " that reads and changes nothing",
            Self::Of(Impact::Write) => " that adds or changes something",
            Self::Of(Impact::Destroy) => " that deletes, or of which nobody said what it does",
        }
    }

    /// Which of these tools runs a capability.
    pub(crate) fn of(tools: ExecuteTools, capability: &Capability, policy: &PolicySet) -> Self {
        match tools {
            ExecuteTools::Single => Self::Any,
            ExecuteTools::ByClass => {
                // What has no contract that can be applied may do anything.
                let effective = policy.effective(capability);
                Self::Of(effective.map_or(Impact::Destroy, |one| one.spec().effects.impact))
            }
        }
    }

    /// Why a call by this tool is refused; nothing where it is the one that runs the capability,
    /// `right`.
    pub(crate) fn refusal(self, right: Self, id: &CapabilityId) -> Option<String> {
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
