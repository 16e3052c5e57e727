//! What can go wrong in the demo.

use std::io;
use std::path::{Path, PathBuf};

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DemoError {
    /// The folder to keep exists and holds something.
    #[error("`{}` is not empty: name a folder that is new or empty", .0.display())]
    NotEmpty(PathBuf),
    /// The folder to keep is no folder.
    #[error("`{}` is a file: name a folder that is new or empty", .0.display())]
    NotFolder(PathBuf),
    /// A file or folder could not be read or written.
    #[error("cannot {what} `{}`: {source}; check that the disk has room and that you may write there", path.display())]
    File {
        /// What was tried, as a verb.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The output could not be written.
    #[error("cannot write the demo's output: {0}")]
    Output(#[source] io::Error),
    /// Something that the demo needs of the system failed.
    #[error("cannot {what}: {reason}")]
    System {
        /// What was tried, as a verb.
        what: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// `weaver serve` could not be started, did not answer, or answered with a protocol error.
    #[error("no answer from `weaver serve` to {request}: {reason}")]
    Serve { request: String, reason: String },
    /// Weaver's answer is not the one that it must give.
    #[error("step `{step}`: expected {expected}, got {found}; this is a defect, please report it")]
    Unexpected { step: &'static str, expected: String, found: String },
    /// The demo's own documents are refused.
    #[error("the demo's documents are refused, which is a defect: {0}")]
    Documents(String),
    /// The ledger does not verify.
    #[error("the ledger does not verify: {0}")]
    Ledger(String),
    /// The demo's MCP server was asked to serve a folder that it cannot.
    #[error("cannot serve `{}`: {reason}; name a folder that `weaver demo --keep` made", root.display())]
    Root { root: PathBuf, reason: String },
}

impl DemoError {
    /// The stable code.
    #[must_use]
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotEmpty(_) => "demo.not_empty",
            Self::NotFolder(_) => "demo.not_folder",
            Self::File { .. } => "demo.file",
            Self::Output(_) => "demo.output",
            Self::System { .. } => "demo.system",
            Self::Serve { .. } => "demo.serve",
            Self::Unexpected { .. } => "demo.unexpected",
            Self::Documents(_) => "demo.documents",
            Self::Ledger(_) => "demo.ledger",
            Self::Root { .. } => "demo.root",
        }
    }

    /// For `map_err`: a file operation that failed.
    pub(super) fn file<'a>(what: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |source| Self::File { what, path: path.to_owned(), source }
    }
}
