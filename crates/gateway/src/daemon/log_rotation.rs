//! Limits the log size of a long-running daemon.

#[cfg(unix)]
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;

use super::folder::DaemonFolder;

/// Starts a new log file if standard error goes to the log file and it has grown large. Does
/// nothing if standard error goes elsewhere, for example to the journal.
#[cfg(unix)]
pub(super) fn rotate(folder: &DaemonFolder) {
    let Ok(log) = fs::metadata(folder.log()) else { return };
    if !DaemonFolder::is_log_large(log.len()) || !is_standard_error(&log) {
        return;
    }
    // Opening it rotates the old one.
    let redirected = folder.open_log().map(rustix::stdio::dup2_stderr);
    if !matches!(redirected, Ok(Ok(()))) {
        tracing::warn!("the log is large, and no fresh one could be begun");
    }
}

#[cfg(unix)]
fn is_standard_error(log: &fs::Metadata) -> bool {
    let open = rustix::stdio::stderr().try_clone_to_owned().map(fs::File::from);
    let open = open.and_then(|open| open.metadata());
    open.is_ok_and(|open| (open.dev(), open.ino()) == (log.dev(), log.ino()))
}

/// Standard error of a running process cannot be changed there: the log is rotated when the next
/// daemon is started.
#[cfg(not(unix))]
pub(super) fn rotate(_folder: &DaemonFolder) {}
