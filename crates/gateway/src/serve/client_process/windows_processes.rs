//! The client of a gateway on Windows: the process that started it.
//!
//! A start time has a date, so a process id and its start time name one process, also beyond a
//! boot. Wrappers are not skipped: whoever started the shim is the client, and a shim outlives every
//! daemon.

use std::io;

use weaver_windows::{process_parent, process_start};

use super::ClientProcess;

/// What stands in place of a boot id.
const BOOT: &str = "windows";

/// From 1601, where the times of Windows begin, to 1970, in units of 100 ns.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

/// When a process was started, in microseconds since 1970: records have no number above 2^53.
fn started(pid: u32) -> io::Result<Option<u64>> {
    Ok(process_start(pid)?.map(|units| units.saturating_sub(UNIX_EPOCH) / 10))
}

/// The client of a process; `None` where it cannot be determined. A parent that is younger than its
/// child is another process, which got the parent's id.
pub(super) fn client_of(pid: u32) -> Option<ClientProcess> {
    let child_started = started(pid).ok()??;
    let parent = process_parent(pid).ok()??;
    let parent_started = started(parent).ok()??;
    let is_parent = parent_started <= child_started && started(pid).ok()? == Some(child_started);
    let boot = BOOT.to_owned();
    is_parent.then_some(ClientProcess { boot, namespace: 0, pid: parent, started: parent_started })
}

/// True when the client has certainly ended.
pub(super) fn has_exited(client: &ClientProcess) -> bool {
    client.boot == BOOT && started(client.pid).is_ok_and(|found| found != Some(client.started))
}
