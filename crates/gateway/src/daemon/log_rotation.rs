//! Keeps the log of a daemon that lives long within its bounds.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::folder::DaemonFolder;

/// Starts a new log file where standard error goes to the log file and that has grown large. It
/// does nothing where standard error goes elsewhere, such as to the journal.
pub(super) fn rotate(folder: &DaemonFolder) {
    let Ok(log) = fs::metadata(folder.log()) else { return };
    if !DaemonFolder::is_large(log.len()) || !is_standard_error(&log) {
        return;
    }
    // Opening it moves the old one aside.
    let fresh = folder.open_log().map(rustix::stdio::dup2_stderr);
    if !matches!(fresh, Ok(Ok(()))) {
        tracing::warn!("the log is large, and no fresh one could be begun");
    }
}

fn is_standard_error(log: &fs::Metadata) -> bool {
    rustix::fs::fstat(rustix::stdio::stderr())
        .is_ok_and(|open| (open.st_dev, open.st_ino) == (log.dev(), log.ino()))
}
