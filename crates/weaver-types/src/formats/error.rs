//! Errors of names, calls and tool lists.

use crate::canonical::CanonicalError;
use crate::id::{CapabilityId, IdError};

use super::answer::CallReference;

/// Two capabilities would get the same tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("capabilities `{id}` and `{other}` would both be named `{name}`; offer one of them")]
pub struct NameError {
    /// The name.
    pub name: String,
    /// The later capability.
    pub id: CapabilityId,
    /// The earlier one.
    pub other: CapabilityId,
}

impl NameError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "format.name_taken"
    }
}

/// Why a model's call could not be parsed. The message may be shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The message is not acceptable JSON.
    #[error("the message cannot be read: {0}")]
    Message(CanonicalError),
    /// The message is too long.
    #[error("the message has {length} bytes, at most {limit} are read")]
    TooLong {
        /// Its length.
        length: usize,
        /// The bound.
        limit: usize,
    },
    /// A field is missing or of another type.
    #[error("the call is malformed: {problem}")]
    Shape {
        /// The provider's name of the call, where it has one.
        reference: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// No tool of that name was offered.
    #[error("no tool `{name}` was offered; call one of those that were")]
    UnknownTool {
        /// The provider's name of the call.
        reference: String,
        /// The name, escaped and cut to 80 characters.
        name: String,
    },
    /// The arguments are not acceptable JSON: malformed, a duplicate key, or a number out of range.
    #[error("the arguments cannot be read: {problem}")]
    Arguments {
        /// The provider's name of the call.
        reference: String,
        /// The name of the tool.
        name: String,
        /// The capability.
        capability: CapabilityId,
        /// What is wrong, and where.
        problem: CanonicalError,
    },
    /// The arguments are not an object.
    #[error("the arguments must be an object, and they are {found}")]
    NotAnObject {
        /// The provider's name of the call.
        reference: String,
        /// The name of the tool.
        name: String,
        /// The capability.
        capability: CapabilityId,
        /// Their actual type.
        found: &'static str,
    },
}

impl CallError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Message(_) => "format.message",
            Self::TooLong { .. } => "format.too_long",
            Self::Shape { .. } => "format.shape",
            Self::UnknownTool { .. } => "format.unknown_tool",
            Self::Arguments { .. } => "format.arguments",
            Self::NotAnObject { .. } => "format.not_an_object",
        }
    }

    /// The capability, if it was resolved.
    #[must_use]
    pub fn capability(&self) -> Option<&CapabilityId> {
        match self {
            Self::Arguments { capability, .. } | Self::NotAnObject { capability, .. } => {
                Some(capability)
            }
            Self::Message(_)
            | Self::TooLong { .. }
            | Self::Shape { .. }
            | Self::UnknownTool { .. } => None,
        }
    }

    /// The call that an answer refers to; texts that could not be read are empty.
    #[must_use]
    pub fn call_reference(&self) -> CallReference<'_> {
        let (reference, name) = match self {
            Self::Message(_) | Self::TooLong { .. } => ("", ""),
            Self::Shape { reference, .. } => (reference.as_str(), ""),
            Self::UnknownTool { reference, name }
            | Self::Arguments { reference, name, .. }
            | Self::NotAnObject { reference, name, .. } => (reference.as_str(), name.as_str()),
        };
        CallReference { provider_call_id: reference, name }
    }
}

/// Why an entry of a tool list cannot become a capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The entry has no name, or the name is not a string.
    #[error("entry {at} is not a tool definition: {problem}")]
    Shape {
        /// Its index in the list, from 0.
        at: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The name cannot be part of a capability id.
    #[error("entry {at}: {problem}")]
    Name {
        /// Its place in the list, from 0.
        at: usize,
        /// What is wrong.
        problem: IdError,
    },
}

impl ImportError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Shape { .. } => "format.import_shape",
            Self::Name { .. } => "format.import_name",
        }
    }
}
