//! Preconditions observed on this machine: files, git repositories, environment variables; and the
//! entity tags of resources.

mod file;
mod git;

use std::path::{Path, PathBuf};

use serde_json::Value;
use weaver_agent_kernel::{PreconditionChecker, PreconditionError};
use weaver_types::digest::{Digest, Tag};
use weaver_types::{PathSource, Precondition};

use crate::http::EtagObserver;

/// The largest file whose digest is taken, in bytes, unless another bound is given.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What stands for a fact that there is nothing.
const ABSENT: &str = "absent";

/// Observes the facts of this machine.
///
/// A file is read through symbolic links, up to a bound; a git repository is read without running
/// git; the value of an environment variable is told as a digest under a random salt, so that it
/// stands nowhere in clear.
///
/// ```
/// use serde_json::json;
/// use weaver_agent_kernel::PreconditionChecker;
/// use weaver_drivers::precondition::LocalPreconditions;
/// use weaver_types::{OsRandom, PathSource, Pointer, Precondition, Random};
///
/// let mut salt = [0; 32];
/// OsRandom.fill(&mut salt)?;
/// let checker = LocalPreconditions::new(salt);
/// let file = PathSource::Argument(Pointer::parse("/path")?);
/// let arguments = json!({ "path": "/no/such/file" });
/// let seen = checker.observe(&Precondition::FileDigest { file }, &arguments)?;
/// assert_eq!(seen, "absent");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LocalPreconditions {
    base: PathBuf,
    most: u64,
    salt: [u8; 32],
    environment: fn(&str) -> Option<Vec<u8>>,
    web: Option<EtagObserver>,
}

impl LocalPreconditions {
    /// A checker for the folder in which the process runs. The salt is for the values of
    /// environment variables: a value is told the same way after a restart only under the same
    /// salt, so keep it as long as calls may be held.
    #[must_use]
    pub fn new(salt: [u8; 32]) -> Self {
        Self { base: PathBuf::new(), most: MAX_FILE, salt, environment: variable, web: None }
    }

    /// The same, with relative paths taken from this folder.
    #[must_use]
    pub fn in_folder(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = base.into();
        self
    }

    /// The same with another bound for files, in bytes.
    #[must_use]
    pub fn with_largest_file(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// The same, observing entity tags too. Without it, a call that depends on one is refused.
    #[must_use]
    pub fn with_web(mut self, web: EtagObserver) -> Self {
        self.web = Some(web);
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
            return Err(unreadable(Path::new(text), "it is no path"));
        }
        Ok(self.base.join(text))
    }

    fn environment(&self, name: &str) -> String {
        match (self.environment)(name) {
            None => ABSENT.to_owned(),
            Some(value) => {
                let parts: [&[u8]; 3] = [&self.salt, name.as_bytes(), &value];
                Digest::of_parts(Tag::COMMIT, &parts).to_string()
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
                file::digest(&self.path(file, arguments)?, self.most)
            }
            Precondition::FileMtime { file } => file::modified(&self.path(file, arguments)?),
            Precondition::GitHead { repository } => git::head(&self.path(repository, arguments)?),
            Precondition::Environment { name } => Ok(self.environment(name)),
            Precondition::HttpEtag { url } => match &self.web {
                Some(web) => web.observe(url, arguments),
                None => Err(PreconditionError::Unsupported { check: precondition.check() }),
            },
            other => Err(PreconditionError::Unsupported { check: other.check() }),
        }
    }
}

fn variable(name: &str) -> Option<Vec<u8>> {
    // A name with `=` or a zero byte is no variable's; asking for it would panic on some systems.
    if name.is_empty() || name.contains(['=', '\0']) {
        return None;
    }
    std::env::var_os(name).map(std::ffi::OsString::into_encoded_bytes)
}

/// A path in an error, escaped and cut.
fn shown(path: &Path) -> String {
    format!("`{}`", path.to_string_lossy().escape_debug().take(200).collect::<String>())
}

fn unreadable(path: &Path, problem: impl ToString) -> PreconditionError {
    PreconditionError::Unreadable { what: shown(path), problem: problem.to_string() }
}

#[cfg(test)]
mod tests;
