//! Observes preconditions: files, git repositories, environment variables, and entity tags.

mod file;
mod git;

use std::path::{Path, PathBuf};

use serde_json::Value;
use weaver_agent_kernel::{PreconditionChecker, PreconditionError};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{PathSource, Precondition};

use crate::http::EtagObserver;

/// The default size limit for files whose digest is taken.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The value of a fact that does not exist.
const ABSENT: &str = "absent";

/// Observes facts of this machine.
///
/// Files are read through symbolic links, up to a size limit; git repositories without running git.
/// The value of an environment variable becomes a digest under a random salt, so that it is never
/// recorded in clear.
///
/// ```
/// use serde_json::json;
/// use weaver_agent_kernel::PreconditionChecker;
/// use weaver_drivers::precondition::LocalPreconditions;
/// use weaver_types::{OsRandom, PathSource, JsonPointer, Precondition, Random};
///
/// let mut salt = [0; 32];
/// OsRandom.fill(&mut salt)?;
/// let checker = LocalPreconditions::new(salt);
/// let file = PathSource::Argument(JsonPointer::parse("/path")?);
/// let arguments = json!({ "path": "/no/such/file" });
/// let seen = checker.observe(&Precondition::FileDigest { file }, &arguments)?;
/// assert_eq!(seen, "absent");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LocalPreconditions {
    base: PathBuf,
    max_file_bytes: u64,
    salt: [u8; 32],
    environment: fn(&str) -> Option<Vec<u8>>,
    etags: Option<EtagObserver>,
}

impl LocalPreconditions {
    /// A checker for the current directory of the process. The salt is for environment variables:
    /// digests can be compared after a restart only under the same salt, so keep it for as long as
    /// calls may be held.
    #[must_use]
    pub fn new(salt: [u8; 32]) -> Self {
        Self {
            base: PathBuf::new(),
            max_file_bytes: MAX_FILE_BYTES,
            salt,
            environment: variable,
            etags: None,
        }
    }

    /// Resolves relative paths in this folder.
    #[must_use]
    pub fn in_folder(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = base.into();
        self
    }

    /// Sets the size limit for files.
    #[must_use]
    pub fn with_largest_file(mut self, max_file_bytes: u64) -> Self {
        self.max_file_bytes = max_file_bytes;
        self
    }

    /// Also observes entity tags. Without this, calls that depend on one are refused.
    #[must_use]
    pub fn with_etags(mut self, etags: EtagObserver) -> Self {
        self.etags = Some(etags);
        self
    }

    fn path(&self, source: &PathSource, arguments: &Value) -> Result<PathBuf, PreconditionError> {
        let text = match source {
            PathSource::Path(path) => path.as_str(),
            PathSource::Argument(at) => at
                .find(arguments)
                .and_then(Value::as_str)
                .ok_or_else(|| PreconditionError::Argument { pointer: at.as_str().to_owned() })?,
        };
        if text.is_empty() || text.contains('\0') {
            return Err(unreadable(Path::new(text), "it is not a path"));
        }
        Ok(self.base.join(text))
    }

    fn environment(&self, name: &str) -> String {
        match (self.environment)(name) {
            None => ABSENT.to_owned(),
            Some(value) => {
                let parts: [&[u8]; 3] = [&self.salt, name.as_bytes(), &value];
                Digest::of_parts(DomainTag::COMMIT, &parts).to_string()
            }
        }
    }
}

impl PreconditionChecker for LocalPreconditions {
    fn observe(
        &self,
        precondition: &Precondition,
        arguments: &Value,
    ) -> Result<String, PreconditionError> {
        match precondition {
            Precondition::FileDigest { file } => {
                file::digest(&self.path(file, arguments)?, self.max_file_bytes)
            }
            Precondition::FileMtime { file } => {
                file::modification_time(&self.path(file, arguments)?)
            }
            Precondition::GitHead { repository } => git::head(&self.path(repository, arguments)?),
            Precondition::Environment { name } => Ok(self.environment(name)),
            Precondition::HttpEtag { url } => match &self.etags {
                Some(web) => web.observe(url, arguments),
                None => Err(PreconditionError::Unsupported { check: precondition.check() }),
            },
            other => Err(PreconditionError::Unsupported { check: other.check() }),
        }
    }
}

fn variable(name: &str) -> Option<Vec<u8>> {
    // Such a name is not valid, and looking it up would panic on some systems.
    if name.is_empty() || name.contains(['=', '\0']) {
        return None;
    }
    std::env::var_os(name).map(std::ffi::OsString::into_encoded_bytes)
}

/// A path for an error message, escaped and shortened.
fn path_for_error(path: &Path) -> String {
    format!("`{}`", path.to_string_lossy().escape_debug().take(200).collect::<String>())
}

fn unreadable(path: &Path, problem: impl ToString) -> PreconditionError {
    PreconditionError::Unreadable { what: path_for_error(path), problem: problem.to_string() }
}

#[cfg(test)]
mod tests;
