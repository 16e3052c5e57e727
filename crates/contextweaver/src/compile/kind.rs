//! The kinds of context items.

/// The kind of a context item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextItemKind {
    /// A message of the user.
    UserTurn,
    /// A message of the agent.
    AgentMessage,
    /// A tool call by the agent.
    ToolCall,
    /// The firewall's frame of a result.
    ToolResult,
    /// A piece of documentation.
    Doc,
    /// A document retrieved by a search.
    RetrievedDoc,
    /// A fact from memory.
    MemoryFact,
    /// The state of a plan.
    PlanState,
    /// A rule for the agent.
    Policy,
    /// The card of a tool on the shortlist.
    ToolCard,
}

weaver_types::words! {
    ContextItemKind: "The word used in logs and statistics.",
    all "Every kind.",
    parse "Parses the word for a kind.";
    UserTurn = "user_turn", AgentMessage = "agent_msg", ToolCall = "tool_call",
    ToolResult = "tool_result", Doc = "doc_snippet", RetrievedDoc = "retrieved_doc",
    MemoryFact = "memory_fact", PlanState = "plan_state", Policy = "policy",
    ToolCard = "tool_card",
}

impl ContextItemKind {
    /// Whether items of this kind belong to the head, which precedes the conversation whatever the
    /// age of the items.
    #[must_use]
    pub fn is_head(self) -> bool {
        matches!(self, Self::Policy | Self::PlanState | Self::MemoryFact)
    }

    pub(super) fn bit(self) -> u16 {
        1 << self as u16
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::UserTurn => "USER",
            Self::AgentMessage => "ASSISTANT",
            Self::ToolCall => "TOOL CALL",
            Self::ToolResult => "TOOL RESULT",
            Self::Doc => "DOCUMENT",
            Self::RetrievedDoc => "RETRIEVED",
            Self::MemoryFact => "FACT",
            Self::PlanState => "PLAN",
            Self::Policy => "POLICY",
            Self::ToolCard => "TOOL",
        }
    }

    /// Whether the heading marks untrusted text of this kind.
    pub(super) fn shows_untrusted(self) -> bool {
        matches!(self, Self::ToolResult | Self::Doc | Self::RetrievedDoc | Self::MemoryFact)
    }
}
