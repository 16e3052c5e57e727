//! Why an entity tag is unknown.

use std::io;

use crate::http::{OperationError, Refusal};

/// Why the entity tag of a resource is unknown.
///
/// A decision quotes the message, so it contains nothing from the server except its status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EtagError {
    /// The template of the resource is invalid.
    #[error(transparent)]
    Template(#[from] OperationError),
    /// An argument would choose the host.
    #[error("its host is not fixed")]
    OpenHost,
    /// The arguments do not fill the template.
    #[error("{0}")]
    Arguments(Refusal),
    /// The thread cannot be started.
    #[error("{0}")]
    Thread(io::ErrorKind),
    /// The thread has ended.
    #[error("nobody looks any more")]
    Ended,
    /// The server did not answer in time.
    #[error("it took too long")]
    Late,
    /// The request was not made, or its response refused.
    #[error("{0} [{code}]", code = .0.code())]
    Refused(Refusal),
    /// The server answered with an error status.
    #[error("status {0}")]
    Status(u16),
    /// The server supports neither method.
    #[error("it cannot be asked")]
    Methods,
    /// The response has no entity tag, or several.
    #[error("it has no entity tag, or several")]
    Count,
    /// The tag is not text.
    #[error("its entity tag is not text")]
    Bytes,
    /// The tag is not quoted as RFC 9110 demands, or too long.
    #[error("its entity tag has not the form of one")]
    Form,
}
