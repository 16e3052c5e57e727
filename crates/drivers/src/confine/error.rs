//! Why a child is not started.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Protection;
use super::protection::listed;

/// Why a confined child is not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfineError {
    /// The kernel, or the rights of this process, do not suffice for what is asked.
    #[error(
        "this system cannot enforce {}: {reason}; ask for less, or say `best_effort` and let the policy decide",
        listed(lacking)
    )]
    Lacking {
        /// What cannot be enforced.
        lacking: BTreeSet<Protection>,
        /// Why not.
        reason: String,
    },
    /// A path that is to be allowed is denied, or stands below one that is.
    #[error("`{}` is to be allowed and is part of the host's own state; name another folder", path.display())]
    Denied {
        /// The path.
        path: PathBuf,
    },
    /// A path that is named is not there.
    #[error("`{}` cannot be opened: {reason}; a confined path must be there at the start", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A folder on the way to a denied path has too many entries to allow them one by one.
    #[error("`{}` has more than {most} entries; move the host's state to a folder of its own", path.display())]
    Crowded {
        /// The folder.
        path: PathBuf,
        /// The bound.
        most: usize,
    },
    /// The program is not there or cannot be executed.
    #[error("cannot start `{program}`: {reason}")]
    Program {
        /// The program as configured.
        program: String,
        /// The system's reason.
        reason: String,
    },
    /// The launcher was told something that it does not understand.
    #[error("the launcher and its caller do not understand each other: {reason}")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// The launcher ended without a word.
    #[error("the launcher ended without a report; is `{launcher}` the right program?")]
    Silent {
        /// The launcher.
        launcher: String,
    },
    /// The launcher refused, in its own words.
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
            Self::Crowded { .. } => crowded,
            Self::Program { .. } => program,
            Self::Form { .. } => form,
            Self::Silent { .. } => silent,
            Self::Refused { code, .. } => code,
        }
    }

    /// What a launcher told of its own error.
    pub(crate) fn told(code: &str, message: String) -> Self {
        let code = CODES.into_iter().find(|known| *known == code).unwrap_or("confine.refused");
        Self::Refused { code, message }
    }
}
