//! The key of a dedicated instance.

use std::path::PathBuf;

use weaver_types::RunId;

/// Identifies a dedicated instance by the clients it serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceKey {
    /// One client, in its current run.
    Run(RunId),
    /// All clients that work in a folder.
    Folder(PathBuf),
}
