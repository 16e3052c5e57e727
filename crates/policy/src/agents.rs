//! Agents that a policy declares: the tools that each may use, and the intents that it may state.

use std::collections::BTreeSet;

use serde::Serialize;
use weaver_types::{AgentId, Capability, CapabilityId, SafetyClass};

use crate::pattern::Pattern;

/// What one agent may do. Once a policy declares any agents, a call by an undeclared agent is
/// denied.
///
/// ```
/// use weaver_policy::{AgentCapabilities, Pattern};
/// use weaver_types::{AgentId, CapabilityId, SafetyClass};
///
/// let agent = AgentCapabilities::new(AgentId::parse("meeting_copilot")?, SafetyClass::ReadOnly)
///     .with_tools([Pattern::parse("meeting.*")?]);
/// assert!(agent.lists_tool(&CapabilityId::parse("meeting.extract")?));
/// assert!(!agent.lists_tool(&CapabilityId::parse("mail.send")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentCapabilities {
    /// Its name.
    pub agent_name: AgentId,
    /// A description for people.
    pub description: String,
    /// Context packs that the agent needs. No decision depends on them; they are information for
    /// whoever runs the agent.
    pub required_packs: BTreeSet<String>,
    /// The tools that it may use. If the list is empty, it may use none.
    pub tool_allowlist: Vec<Pattern>,
    /// The intents that its invocations may state. If the set is not empty, every invocation must
    /// state one of them; if it is empty, any intent or none is accepted.
    pub decision_keys: BTreeSet<String>,
    /// The highest safety class that it may use.
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

    /// Adds tools to the allow list.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Pattern>) -> Self {
        self.tool_allowlist.extend(tools);
        self
    }

    /// True if the tool allow list matches this capability.
    #[must_use]
    pub fn lists_tool(&self, id: &CapabilityId) -> bool {
        self.tool_allowlist.iter().any(|pattern| pattern.matches(id.as_str()))
    }

    /// True if both the allow list and the safety class ceiling permit the capability.
    #[must_use]
    pub fn may_use(&self, capability: &Capability) -> bool {
        self.lists_tool(capability.id()) && capability.class() <= self.safety_class_ceiling
    }

    /// True if an invocation may state this intent.
    #[must_use]
    pub fn may_state_intent(&self, intent: Option<&str>) -> bool {
        self.decision_keys.is_empty()
            || intent.is_some_and(|intent| self.decision_keys.contains(intent))
    }
}
