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

impl ContextItemKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::UserTurn,
        Self::AgentMessage,
        Self::ToolCall,
        Self::ToolResult,
        Self::Doc,
        Self::RetrievedDoc,
        Self::MemoryFact,
        Self::PlanState,
        Self::Policy,
        Self::ToolCard,
    ];

    /// The word used in logs and statistics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserTurn => "user_turn",
            Self::AgentMessage => "agent_msg",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Doc => "doc_snippet",
            Self::RetrievedDoc => "retrieved_doc",
            Self::MemoryFact => "memory_fact",
            Self::PlanState => "plan_state",
            Self::Policy => "policy",
            Self::ToolCard => "tool_card",
        }
    }

    /// Parses the word for a kind.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

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
