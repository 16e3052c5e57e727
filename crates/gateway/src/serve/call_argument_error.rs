//! Errors in the arguments that Weaver adds to a call.

/// Why Weaver's own arguments of a call cannot be read. The agent sees this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallArgumentError {
    /// `capability` is missing or not a string.
    #[error("`capability` must be a capability id; find one with tool_browse")]
    Capability,
    /// `capability` is not a well-formed id.
    #[error("`{id}` is not a capability id; find one with tool_browse")]
    CapabilityId {
        /// The value, escaped and shortened.
        id: String,
    },
    /// `mode` is unknown.
    #[error("`mode` must be auto, summary, table, handle_only or raw")]
    Mode,
    /// A justification is not a string, or is too long.
    #[error("`{key}` must be text of at most {limit} bytes")]
    Justification {
        /// The argument that carries it.
        key: &'static str,
        /// The longest justification, in bytes.
        limit: usize,
    },
}
