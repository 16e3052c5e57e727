//! The kinds of context items.

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// What the user said.
    UserTurn,
    /// What the agent said.
    AgentMessage,
    /// A call the agent made.
    ToolCall,
    /// What the firewall let through of a result.
    ToolResult,
    /// A piece of documentation.
    Doc,
    /// A document that a search found.
    RetrievedDoc,
    /// Something remembered.
    MemoryFact,
    /// The state of a plan.
    PlanState,
    /// A rule the agent has to follow.
    Policy,
    /// The card of a tool on the shortlist.
    ToolCard,
}

impl ItemKind {
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

    /// The kind of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether items of this kind stand before the conversation, whatever their age.
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

    /// Whether the heading says where somebody else may have written the text.
    pub(super) fn marks_trust(self) -> bool {
        matches!(self, Self::ToolResult | Self::Doc | Self::RetrievedDoc | Self::MemoryFact)
    }
}
