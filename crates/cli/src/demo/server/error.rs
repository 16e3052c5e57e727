//! Why a tool of the demo's server fails.

use std::io;

/// Why a tool failed, in the words that the model gets.
///
/// No message holds a path of this machine.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument is not there, or is no text.
    #[error("the argument `{name}` is missing or is no text")]
    Argument {
        /// Its name.
        name: &'static str,
    },
    /// A name is none, or could be a path.
    #[error("a name has 1 to 64 lower-case letters, digits and hyphens")]
    Name,
    /// There is no such note.
    #[error("there is no note `{name}`")]
    NoNote {
        /// The name that was asked for.
        name: String,
    },
    /// The text of a note is too long.
    #[error("a note has at most {most} bytes")]
    NoteSize {
        /// The bound.
        most: u64,
    },
    /// A file that is to be read is too long.
    #[error("the file has more than {most} bytes")]
    FileSize {
        /// The bound.
        most: u64,
    },
    /// In the place of a file is a folder, a link or the like.
    #[error("this is not a plain file")]
    NoPlainFile,
    /// A ticket is not JSON.
    #[error(transparent)]
    Ticket(#[from] serde_json::Error),
    /// The system does not read or write a file. Its own text could hold a path.
    #[error("the file system refused: {}", .0.kind())]
    FileSystem(#[from] io::Error),
}
