//! What is wrong with the arguments of a call that are Weaver's own.

/// Why Weaver's own arguments of a call cannot be read, in the words that the agent gets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallArgumentError {
    /// The capability is missing, or no text.
    #[error("`capability` must be a capability id; find one with tool_browse")]
    Capability,
    /// The capability is a text of another form.
    #[error("`{id}` is no capability id; find one with tool_browse")]
    CapabilityId {
        /// The text, as it may be shown.
        id: String,
    },
    /// There is no such mode of an answer.
    #[error("`mode` must be auto, summary, table, handle_only or raw")]
    Mode,
    /// A justification is no text, or too long.
    #[error("`{key}` must be text of at most {most} bytes")]
    Justification {
        /// The argument that carries it.
        key: &'static str,
        /// The bound.
        most: usize,
    },
}
