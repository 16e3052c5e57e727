//! Whose calls an instance of a server serves.

use std::path::PathBuf;

use weaver_types::RunId;

/// Whose calls an instance serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceKey {
    /// Those of one client, in its current run.
    Run(RunId),
    /// Those of the clients that work in a folder.
    Folder(PathBuf),
}
