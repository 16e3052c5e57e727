//! Preconditions: facts about the world that must not change between decision and execution.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json_pointer::JsonPointer;

/// Where the path of a precondition comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PathSource {
    /// A fixed path.
    Path(String),
    /// The string at this position in the arguments.
    Argument(JsonPointer),
}

/// A fact that is observed when a call is decided and must be unchanged when it is executed.
///
/// ```
/// use weaver_types::{PathSource, JsonPointer, Precondition};
///
/// let unchanged = Precondition::FileDigest { file: PathSource::Argument(JsonPointer::parse("/path")?) };
/// assert_eq!(unchanged.to_string(), "file_digest of argument `/path`");
/// # Ok::<(), weaver_types::JsonPointerError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "check", deny_unknown_fields)]
#[non_exhaustive]
pub enum Precondition {
    /// The content of a file, or its absence.
    FileDigest {
        /// The file.
        file: PathSource,
    },
    /// The modification time of a file, or its absence.
    FileMtime {
        /// The file.
        file: PathSource,
    },
    /// The commit that a git repository is at.
    GitHead {
        /// The repository's folder.
        repository: PathSource,
    },
    /// The value of an environment variable of the gateway, or its absence.
    Environment {
        /// Its name.
        name: String,
    },
    /// The entity tag of a resource, or its absence.
    HttpEtag {
        /// Its address: a template with a fixed host, filled from arguments.
        url: String,
    },
}

impl Precondition {
    /// The name of the check in documents.
    #[must_use]
    pub fn check(&self) -> &'static str {
        match self {
            Self::FileDigest { .. } => "file_digest",
            Self::FileMtime { .. } => "file_mtime",
            Self::GitHead { .. } => "git_head",
            Self::Environment { .. } => "environment",
            Self::HttpEtag { .. } => "http_etag",
        }
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let check = self.check();
        match self {
            Self::FileDigest { file: source }
            | Self::FileMtime { file: source }
            | Self::GitHead { repository: source } => match source {
                PathSource::Path(path) => write!(f, "{check} of `{}`", path.escape_debug()),
                PathSource::Argument(at) => write!(f, "{check} of argument `{at}`"),
            },
            Self::HttpEtag { url } => write!(f, "{check} of `{}`", url.escape_debug()),
            Self::Environment { name } => write!(f, "{check} `{}`", name.escape_debug()),
        }
    }
}
