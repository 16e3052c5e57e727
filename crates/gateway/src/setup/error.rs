//! Why a gateway cannot be set up.

use std::io;
use std::path::PathBuf;

use weaver_policy::Finding;

use crate::clients::ClientFileError;
use crate::config::ConfigErrors;
use crate::secret::SecretError;

/// Why a gateway cannot be set up. What was there before is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A file or folder cannot be made, read or moved.
    #[error("{}: cannot {action}: {source}", path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder holds other things than a gateway's.
    #[error("{} holds other files, and no weaver.toml", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// A client's file is broken.
    #[error(transparent)]
    Client(#[from] ClientFileError),
    /// A key cannot be made or opened.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// What was written does not pass the gateway's own check.
    #[error("the new configuration does not pass the check")]
    Check(#[source] ConfigErrors),
    /// A document cannot be signed.
    #[error("a document cannot be signed")]
    Documents(Vec<Finding>),
    /// A signature cannot be made.
    #[error("a document cannot be signed: {0}")]
    Signing(String),
    /// A document is written in a way that is not understood here.
    #[error("{}: {reason}", path.display())]
    ByHand {
        /// The document.
        path: PathBuf,
        /// What is not understood.
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
            Self::ByHand { .. } => "setup.by_hand",
        }
    }

    /// What to do next.
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
            Self::ByHand { .. } => "change it by hand, then run `weaver sign` and `weaver check`",
        }
    }

    /// Everything that is wrong, where files are at fault.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        match self {
            Self::Client(error) => vec![error.finding().clone()],
            Self::Check(errors) => errors.findings().to_vec(),
            Self::Documents(findings) => findings.clone(),
            _ => Vec::new(),
        }
    }
}

/// A failed step on a file.
pub(super) fn system(
    action: &'static str,
    path: &std::path::Path,
) -> impl FnOnce(io::Error) -> SetupError {
    let path = path.to_owned();
    move |source| SetupError::System { action, path, source }
}
