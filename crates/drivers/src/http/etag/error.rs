//! Why an entity tag cannot be had.

use std::io;

use crate::http::{OperationError, Refusal};

/// Why the entity tag of a resource is not known.
///
/// A decision quotes the message, so it holds nothing that the server says but its status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EtagError {
    /// The template of the resource means nothing.
    #[error(transparent)]
    Template(#[from] OperationError),
    /// An argument would choose the host.
    #[error("its host is not fixed")]
    OpenHost,
    /// The arguments do not fill the template.
    #[error("{0}")]
    Arguments(Refusal),
    /// The thread that asks cannot be started.
    #[error("{0}")]
    Thread(io::ErrorKind),
    /// The thread that asks has ended.
    #[error("nobody looks any more")]
    Ended,
    /// There was no answer in time.
    #[error("it took too long")]
    Late,
    /// The request was not made, or its answer not taken.
    #[error("{0} [{code}]", code = .0.code())]
    Refused(Refusal),
    /// The server answers with another status than one of success.
    #[error("status {0}")]
    Status(u16),
    /// The server knows neither of the methods.
    #[error("it cannot be asked")]
    Methods,
    /// The answer has not exactly one tag.
    #[error("it has no entity tag, or several")]
    Count,
    /// The tag has bytes that are no text.
    #[error("its entity tag is no text")]
    Bytes,
    /// The tag is not quoted as RFC 9110 has it, or is too long.
    #[error("its entity tag has not the form of one")]
    Form,
}
