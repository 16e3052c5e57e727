//! Why a gateway could not be set up.

use std::io;
use std::path::PathBuf;

use weaver_policy::DocumentFinding;

use crate::clients::ClientFileError;
use crate::config::ConfigErrors;
use crate::secret::SecretError;

/// Why a gateway could not be set up. Existing files are unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A file system operation failed.
    #[error("{}: cannot {action}: {source}", path.display())]
    System {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder contains files other than a gateway's.
    #[error("{} holds other files, and no weaver.toml", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// A client's file is invalid.
    #[error(transparent)]
    Client(#[from] ClientFileError),
    /// A key cannot be generated or opened.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The new configuration does not pass the gateway's check.
    #[error("the new configuration does not pass the check")]
    Check(#[source] ConfigErrors),
    /// A document cannot be signed.
    #[error("a document cannot be signed")]
    Documents(Vec<DocumentFinding>),
    /// A signature cannot be created.
    #[error("a document cannot be signed: {0}")]
    Signing(String),
    /// A document is written in a form that cannot be edited automatically.
    #[error("{}: {reason}", path.display())]
    NeedsManualEdit {
        /// The document.
        path: PathBuf,
        /// What cannot be edited.
        reason: &'static str,
    },
}

impl SetupError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::System { .. } => "setup.system",
            Self::Occupied { .. } => "setup.occupied",
            Self::Client(error) => error.code(),
            Self::Secret(error) => error.code(),
            Self::Check(_) => "setup.check",
            Self::Documents(_) => "setup.documents",
            Self::Signing(_) => "setup.signing",
            Self::NeedsManualEdit { .. } => "setup.by_hand",
        }
    }

    /// How to continue.
    #[must_use]
    pub fn next(&self) -> &'static str {
        match self {
            Self::System { .. } => {
                "make the folder writable for this user, or name another with `--dir`"
            }
            Self::Occupied { .. } => {
                "name another folder with `--dir`; it is made if it is not there"
            }
            Self::Client(_) => "correct the file, or set up from another one with `--from FILE`",
            Self::Secret(_) | Self::Signing(_) => "run the command again; nothing was written",
            Self::Check(_) | Self::Documents(_) => "correct what is named; nothing was written",
            Self::NeedsManualEdit { .. } => {
                "change it by hand, then run `weaver sign` and `weaver check`"
            }
        }
    }

    /// All findings, if files are at fault.
    #[must_use]
    pub fn findings(&self) -> Vec<DocumentFinding> {
        match self {
            Self::Client(error) => vec![error.finding().clone()],
            Self::Check(errors) => errors.findings().to_vec(),
            Self::Documents(findings) => findings.clone(),
            _ => Vec::new(),
        }
    }
}

/// The error of a failed file system operation.
pub(super) fn io_error(
    action: &'static str,
    path: &std::path::Path,
) -> impl FnOnce(io::Error) -> SetupError {
    let path = path.to_owned();
    move |source| SetupError::System { action, path, source }
}
