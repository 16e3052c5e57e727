//! The agents that a policy declares: which tools each may use, and for what.

use std::collections::BTreeSet;

use serde::Serialize;
use weaver_types::{AgentId, Capability, CapabilityId, SafetyClass};

use crate::pattern::Pattern;

/// What one agent is for. A policy that declares agents knows no others: a call by an agent that it
/// does not name is denied.
///
/// ```
/// use weaver_policy::{AgentCapabilities, Pattern};
/// use weaver_types::{AgentId, CapabilityId, SafetyClass};
///
/// let agent = AgentCapabilities::new(AgentId::parse("meeting_copilot")?, SafetyClass::ReadOnly)
///     .with_tools([Pattern::parse("meeting.*")?]);
/// assert!(agent.lists(&CapabilityId::parse("meeting.extract")?));
/// assert!(!agent.lists(&CapabilityId::parse("mail.send")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentCapabilities {
    /// Its name.
    pub agent_name: AgentId,
    /// What it does, for people.
    pub description: String,
    /// Packs of context that it needs. They decide on no call: whoever runs the agent does not
    /// without them.
    pub required_packs: BTreeSet<String>,
    /// The tools that it may use; none where this is empty.
    pub tool_allowlist: Vec<Pattern>,
    /// The intents that its invocations may state. Where there are any, each invocation states one
    /// of them; where there is none, intents are free.
    pub decision_keys: BTreeSet<String>,
    /// The greatest class that it may use.
    pub safety_class_ceiling: SafetyClass,
    /// Its version, for people.
    pub version: String,
}

impl AgentCapabilities {
    /// An agent without tools.
    #[must_use]
    pub fn new(agent_name: AgentId, safety_class_ceiling: SafetyClass) -> Self {
        Self {
            agent_name,
            description: String::new(),
            required_packs: BTreeSet::new(),
            tool_allowlist: Vec::new(),
            decision_keys: BTreeSet::new(),
            safety_class_ceiling,
            version: String::new(),
        }
    }

    /// The same with these tools too.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Pattern>) -> Self {
        self.tool_allowlist.extend(tools);
        self
    }

    /// True when its tool allow list names this one.
    #[must_use]
    pub fn lists(&self, id: &CapabilityId) -> bool {
        self.tool_allowlist.iter().any(|pattern| pattern.matches(id.as_str()))
    }

    /// True when tool allow list and ceiling both admit the capability.
    #[must_use]
    pub fn admits(&self, capability: &Capability) -> bool {
        self.lists(capability.id()) && capability.class() <= self.safety_class_ceiling
    }

    /// True when an invocation may state this intent.
    #[must_use]
    pub fn intends(&self, intent: Option<&str>) -> bool {
        self.decision_keys.is_empty()
            || intent.is_some_and(|intent| self.decision_keys.contains(intent))
    }
}
