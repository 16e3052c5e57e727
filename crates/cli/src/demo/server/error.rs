//! Errors of the tools of the demo's server.

use std::io;

/// Why a tool failed, as the model is told.
///
/// No message contains a path of this machine.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument is missing or not a text.
    #[error("the argument `{name}` is missing or is not text")]
    Argument { name: &'static str },
    /// A name that is not valid, or could be a path.
    #[error("a name has 1 to 64 lower-case letters, digits and hyphens")]
    Name,
    /// No note has this name.
    #[error("there is no note `{name}`")]
    NoteNotFound { name: String },
    /// The text of a note is too long.
    #[error("a note has at most {most} bytes")]
    NoteSize { most: u64 },
    /// There are too many notes for another one.
    #[error("there are at most {most} notes; delete one first")]
    NoteCount { most: usize },
    /// A file is too long to be read.
    #[error("the file has more than {most} bytes")]
    FileSize { most: u64 },
    /// The file is a folder, a link or the like.
    #[error("this is not a plain file")]
    NotARegularFile,
    /// A ticket is not JSON.
    #[error(transparent)]
    Ticket(#[from] serde_json::Error),
    /// The file system refused to read or write. Only the kind is shown, because the message could
    /// contain a path.
    #[error("the file system refused: {}", .0.kind())]
    FileSystem(#[from] io::Error),
}
