//! The processes of a running child: itself, its descendants, and what shares its mounts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::confine::CoverRefreshError;
use crate::confine::work_limit::WorkLimit;
use crate::descendants::has_variable;

/// How often descendants are searched for more of them.
const MAX_SWEEPS: usize = 16;

/// What `/proc/PID/stat` says of a process.
pub(crate) struct ProcessStat {
    state: String,
    pub(crate) parent: u32,
    group: u32,
    /// When it started, in ticks since the start of the machine.
    pub(crate) started: u64,
}

impl ProcessStat {
    pub(crate) fn read(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name of the program, which may contain anything, is in the last parentheses.
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Self {
            state: (*fields.first()?).to_owned(),
            parent: number(1).and_then(|id| u32::try_from(id).ok())?,
            group: number(2).and_then(|id| u32::try_from(id).ok())?,
            started: number(19)?,
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "Z" | "X" | "x")
    }
}

/// When a process started, in ticks since the start of the machine.
pub(in crate::confine) fn process_start(process: u32) -> Option<u64> {
    Some(ProcessStat::read(process)?.started)
}

/// Whether a child has not ended.
pub(in crate::confine) fn is_running(child: KnownChild<'_>) -> bool {
    ProcessStat::read(child.process)
        .is_some_and(|stat| Some(stat.started) == child.started && !stat.has_ended())
}

/// A child, as the host that started it knows it.
#[derive(Clone, Copy)]
pub(in crate::confine) struct KnownChild<'a> {
    pub(in crate::confine) process: u32,
    /// When it started.
    pub(in crate::confine) started: Option<u64>,
    /// A variable and its value that only it and its descendants have.
    pub(in crate::confine) marker: Option<&'a str>,
}

/// The processes of a child, each with its mount namespace.
pub(in crate::confine) type ServerProcesses = BTreeMap<u32, u64>;

/// Finds the processes of a child. Empty once the child itself has ended.
pub(in crate::confine) fn find(
    child: KnownChild<'_>,
    limit: &mut WorkLimit,
) -> Result<ServerProcesses, CoverRefreshError> {
    let all = list(limit)?;
    let is_running =
        all.get(&child.process).is_some_and(|stat| Some(stat.started) == child.started);
    if !is_running {
        return Ok(ServerProcesses::new());
    }
    let mut found = ServerProcesses::new();
    let mut to_examine = BTreeSet::new();
    for (id, stat) in &all {
        limit.spend()?;
        if *id == child.process || stat.group == child.process || has_marker(*id, child) {
            to_examine.insert(*id);
        }
    }
    // Other processes may be unreadable, and are none of the child's then unless they descend from it.
    let others: BTreeMap<u32, u64> =
        all.keys().filter_map(|id| Some((*id, mount_namespace(*id).ok()??))).collect();
    while let Some(id) = to_examine.pop_first() {
        limit.spend()?;
        if found.contains_key(&id) {
            continue;
        }
        let namespace = mount_namespace(id).map_err(|error| unreadable(id, &error))?;
        let Some(namespace) = namespace else { continue };
        found.insert(id, namespace);
        to_examine.extend(all.iter().filter(|(_, stat)| stat.parent == id).map(|(id, _)| *id));
        to_examine.extend(others.iter().filter(|(_, one)| **one == namespace).map(|(id, _)| *id));
    }
    Ok(found)
}

/// All processes that have not ended.
fn list(limit: &mut WorkLimit) -> Result<BTreeMap<u32, ProcessStat>, CoverRefreshError> {
    let failed = |error: io::Error| CoverRefreshError::Processes { reason: error.to_string() };
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").map_err(failed)? {
        limit.spend()?;
        let id = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse().ok());
        if let Some((id, stat)) = id.and_then(|id| Some((id, ProcessStat::read(id)?)))
            && !stat.has_ended()
        {
            processes.insert(id, stat);
        }
    }
    Ok(processes)
}

/// Kills the descendants of a child that still runs. Those that lost their parents are among them,
/// because the child adopts them.
pub(in crate::confine) fn kill_descendants(child: KnownChild<'_>) {
    // Who is stopped starts no other process, so nobody escapes who is found in time.
    let mut stopped: BTreeMap<u32, OwnedFd> = BTreeMap::new();
    let mut limit = WorkLimit::new();
    for _ in 0..MAX_SWEEPS {
        let Ok(all) = list(&mut limit) else { break };
        let is_same = |stat: &ProcessStat| Some(stat.started) == child.started;
        if !all.get(&child.process).is_some_and(is_same) {
            break;
        }
        let before = stopped.len();
        let mut to_stop = BTreeSet::from([child.process]);
        let mut seen = BTreeSet::new();
        while let Some(id) = to_stop.pop_first() {
            if !seen.insert(id) || limit.spend().is_err() {
                continue;
            }
            to_stop.extend(all.iter().filter(|(_, stat)| stat.parent == id).map(|(id, _)| *id));
            let started = all.get(&id).map(|stat| stat.started);
            if !stopped.contains_key(&id)
                && let Some(handle) = open_process(id, started)
                && pidfd_send_signal(&handle, Signal::STOP).is_ok()
            {
                stopped.insert(id, handle);
            }
        }
        if stopped.len() == before {
            break;
        }
    }
    for (_, handle) in stopped.iter().filter(|(id, _)| **id != child.process) {
        // It has ended, if that fails.
        let _ = pidfd_send_signal(handle, Signal::KILL);
    }
}

/// A handle of a process that started then; a later one with the same number is another.
fn open_process(process: u32, started: Option<u64>) -> Option<OwnedFd> {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw)?;
    let handle = pidfd_open(id, PidfdFlags::empty()).ok()?;
    (process_start(process) == started).then_some(handle)
}

fn has_marker(process: u32, child: KnownChild<'_>) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.zip(child.marker).is_some_and(|(process, marker)| has_variable(process, marker))
}

/// The identity of this process's mount namespace.
pub(in crate::confine) fn own_mount_namespace() -> io::Result<u64> {
    fs::metadata("/proc/self/ns/mnt").map(|about| about.ino())
}

/// The identity of a process's mount namespace; `None` if the process has ended.
fn mount_namespace(process: u32) -> io::Result<Option<u64>> {
    unless_ended(fs::metadata(format!("/proc/{process}/ns/mnt")).map(|about| about.ino()))
}

/// `None` where the process has ended meanwhile.
pub(super) fn unless_ended<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

pub(in crate::confine) fn unreadable(process: u32, error: &io::Error) -> CoverRefreshError {
    CoverRefreshError::Unreadable { process, reason: error.to_string() }
}
