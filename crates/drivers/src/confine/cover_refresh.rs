//! Covers denied files that were replaced or created while a child runs.
//!
//! A mount over a file ends when another file takes its place. The host cannot reach the mounts of
//! a running child from its own namespace, so a *cover helper*, the launcher program again, enters
//! the child's user and mount namespaces and covers what is visible there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ConfineError;
#[cfg(target_os = "linux")]
use super::launcher_protocol::absolute;
use super::launcher_protocol::check_absolute;

/// The argument that makes a launcher a cover helper.
pub(super) const HELPER_ARGUMENT: &str = "cover-replaced";
/// The version of the helper's request.
const VERSION: u32 = 1;

/// Why a running child may still reach a denied file that was replaced or created. The child must
/// then be ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoverRefreshError {
    /// The child has no mounts of its own, or this system has none.
    #[error("no mounts of its own hide files from it")]
    NoMounts,
    /// The processes of this machine cannot be listed.
    #[error("the processes cannot be listed: {reason}")]
    Processes {
        /// The system's reason.
        reason: String,
    },
    /// A process of the child cannot be examined.
    #[error("its process {process} cannot be examined: {reason}")]
    Unreadable {
        /// The process.
        process: u32,
        /// The system's reason.
        reason: String,
    },
    /// A process opened a denied file before it was covered.
    #[error("its process {process} has `{}` open", path.display())]
    Open {
        /// The process.
        process: u32,
        /// The file.
        path: PathBuf,
    },
    /// A process has sent descriptors that nobody has received yet: they could be of a denied file.
    #[error("its process {process} has descriptors in a socket, which may be of a hidden file")]
    DescriptorsInFlight {
        /// The process.
        process: u32,
    },
    /// The helper could not cover the files.
    #[error("a file could not be covered while it runs: {0}")]
    Helper(#[from] ConfineError),
    /// The child has more processes, threads and open files than can be looked at in time.
    #[error("it has too much to examine: processes, threads and open files")]
    TooMuch,
    /// The launcher has not become the child yet.
    #[error("its launcher takes too long")]
    Launching,
    /// Links lead to denied files at places that are not denied to the child.
    #[error("links to hidden files lead through `{}` since it was started", path.display())]
    NewPath {
        /// The place.
        path: PathBuf,
    },
    /// The child makes processes with mounts of their own faster than they can be covered.
    #[error("it keeps making processes with mounts of their own")]
    Unsettled,
}

/// What a cover helper does.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CoverRequest {
    v: u32,
    /// A process in the mount namespace.
    pub(super) process: u32,
    /// The identity of the mount namespace, in case the process id belongs to another by then.
    pub(super) mount_namespace: u64,
    pub(super) denied: BTreeSet<PathBuf>,
}

impl CoverRequest {
    /// Decodes the helper's argument.
    pub(super) fn read(text: &str) -> Result<Self, ConfineError> {
        let wrong = |reason: String| ConfineError::Form { reason };
        let read: Self = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if read.v != VERSION {
            return Err(wrong(format!("version {} is asked, {VERSION} is spoken", read.v)));
        }
        check_absolute(&read.denied)?;
        Ok(read)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn new(
        process: u32,
        mount_namespace: u64,
        denied: &BTreeSet<PathBuf>,
    ) -> Result<Self, ConfineError> {
        Ok(Self { v: VERSION, process, mount_namespace, denied: absolute(denied)? })
    }

    /// Encodes the helper's argument.
    #[cfg(target_os = "linux")]
    pub(super) fn write(&self) -> Result<String, ConfineError> {
        serde_json::to_string(self)
            .map_err(|error| ConfineError::Form { reason: error.to_string() })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_request_of_version_1_stays_as_it_is() {
        let golden = r#"{"v":1,"process":7,"mount_namespace":8,"denied":["/d"]}"#;
        let asked = CoverRequest::new(7, 8, &BTreeSet::from([PathBuf::from("/d")])).unwrap();
        assert_eq!(asked.write().unwrap(), golden);
        assert_eq!(CoverRequest::read(golden), Ok(asked));
        for bad in
            ["", "{}", &golden.replace("\"v\":1", "\"v\":2"), &golden.replace("\"/d\"", "\"d\"")]
        {
            assert_eq!(CoverRequest::read(bad).unwrap_err().code(), "confine.form", "{bad}");
        }
    }
}
