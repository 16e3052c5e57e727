//! Why a confined child was not started.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Protection;
use super::protection::join_names;

/// Why a confined child was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfineError {
    /// The kernel, or the rights of this process, cannot enforce what is required.
    #[error(
        "this system cannot enforce {}: {reason}; ask for less, or say `best_effort` and let the policy decide",
        join_names(lacking)
    )]
    Lacking {
        /// What cannot be enforced.
        lacking: BTreeSet<Protection>,
        /// Why not.
        reason: String,
    },
    /// An allowed path is denied, or lies below a denied one.
    #[error("`{}` is to be allowed and is part of the host's own state; name another folder", path.display())]
    Denied {
        /// The path.
        path: PathBuf,
    },
    /// A named path does not exist.
    #[error("`{}` cannot be opened: {reason}; a confined path must be there at the start", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A folder above a denied path has too many entries to allow each of them.
    #[error("`{}` has more than {most} entries; move the host's state to a folder of its own", path.display())]
    TooManyEntries {
        /// The folder.
        path: PathBuf,
        /// The bound.
        most: usize,
    },
    /// The program does not exist or cannot be executed.
    #[error("cannot start `{program}`: {reason}")]
    Program {
        /// The program as configured.
        program: String,
        /// The system's reason.
        reason: String,
    },
    /// The launcher did not understand the request, or its caller the report.
    #[error("the launcher and its caller do not understand each other: {reason}")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// The launcher ended without a report.
    #[error("the launcher ended without a report; is `{launcher}` the right program?")]
    NoReport {
        /// The launcher.
        launcher: String,
    },
    /// The launcher reported an error.
    #[error("{message}")]
    Refused {
        /// The code of its error.
        code: &'static str,
        /// Its message.
        message: String,
    },
}

const CODES: [&str; 7] = [
    "confine.lacking", "confine.denied_path", "confine.path", "confine.crowded", "confine.program",
    "confine.form", "confine.silent",
];

impl ConfineError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        let [lacking, denied, path, crowded, program, form, silent] = CODES;
        match self {
            Self::Lacking { .. } => lacking,
            Self::Denied { .. } => denied,
            Self::Path { .. } => path,
            Self::TooManyEntries { .. } => crowded,
            Self::Program { .. } => program,
            Self::Form { .. } => form,
            Self::NoReport { .. } => silent,
            Self::Refused { code, .. } => code,
        }
    }

    /// The error that a launcher reported.
    pub(crate) fn from_report(code: &str, message: String) -> Self {
        let code = CODES.into_iter().find(|known| *known == code).unwrap_or("confine.refused");
        Self::Refused { code, message }
    }
}
