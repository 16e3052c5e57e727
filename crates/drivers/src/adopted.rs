//! Processes that this one has adopted: what its confined children left behind when they ended.
//!
//! A confined child adopts its orphans, so that they are found in its tree. Once it has ended they
//! pass to this process, if the host adopts orphans. What a server left is then killed; what a
//! program behind an own tool left outside of its group goes on. Both have the filter of system calls
//! that every confined child has, and keep for good.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use rustix::process::{pidfd_open, pidfd_send_signal, waitpid};
use weaver_types::{OsRandom, random_text};

use crate::confine::ProcessStat;
use crate::descendants::has_variable;

/// The variable by which what an own tool left is told from what a server left.
const TOOL_VARIABLE: &str = "WEAVER_TOOL_ID";
/// How long adopted processes are searched: those that are killed leave others, and one that ends
/// by itself may have started another a moment before.
const MAX_SWEEP_TIME: Duration = Duration::from_secs(3);
/// How long an ended process that nobody is known to have started is left to whoever did: they wait
/// for it at once.
const REAP_AFTER: Duration = Duration::from_secs(10);

/// A process, even if its number is given to another one.
type ProcessKey = (u32, u64);

#[derive(Default)]
struct Children {
    /// The confined children that this process started and that run.
    confined: BTreeSet<u32>,
    /// Those that have ended and that nobody has waited for, and when that was seen first.
    ended: BTreeMap<ProcessKey, Instant>,
    last_reaped: Option<Instant>,
}

fn children() -> MutexGuard<'static, Children> {
    static CHILDREN: OnceLock<Mutex<Children>> = OnceLock::new();
    CHILDREN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Records that this process adopts orphans from now on.
pub(crate) fn begin() {
    ADOPTS.store(true, Ordering::Relaxed);
}

/// Starts a child that is not adopted, until it is [forgotten](forget).
pub(crate) fn start<C>(
    spawn: impl FnOnce() -> io::Result<C>,
    id: impl FnOnce(&C) -> Option<u32>,
) -> io::Result<C> {
    // Nobody may look between the start and the entry.
    let mut children = children();
    let child = spawn()?;
    children.confined.extend(id(&child));
    Ok(child)
}

/// Forgets a child that has ended, or is about to.
pub(crate) fn forget(process: u32) {
    children().confined.remove(&process);
    reap();
}

/// The variable and value for programs whose leftovers go on, where there would be any. No server
/// knows the value.
pub(crate) fn tool_marker() -> Option<(&'static str, &'static str)> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return None;
    }
    static VALUE: OnceLock<Option<String>> = OnceLock::new();
    let value = VALUE.get_or_init(|| random_text("", 16, &OsRandom).ok());
    value.as_deref().map(|value| (TOOL_VARIABLE, value))
}

/// Kills what a server left that has ended. False if there is still some of it.
pub(crate) fn kill_leftovers() -> bool {
    if !ADOPTS.load(Ordering::Relaxed) {
        return true;
    }
    let (own, filters) = (std::process::id(), filters("self").unwrap_or_default());
    let mut killed: BTreeSet<ProcessKey> = BTreeSet::new();
    let deadline = Instant::now() + MAX_SWEEP_TIME;
    while Instant::now() < deadline {
        let children = children();
        let leftover = |id: u32| {
            let stat = ProcessStat::read(id).filter(|stat| stat.parent == own)?;
            let is_leftover = !children.confined.contains(&id)
                && self::filters(&id.to_string()).is_some_and(|count| count > filters)
                && !is_of_tool(id);
            is_leftover.then_some((id, stat.started))
        };
        let candidates = own_children().unwrap_or_else(|| processes().collect());
        let found = candidates.into_iter().filter_map(leftover);
        let found: Vec<ProcessKey> = found.filter(|process| !killed.contains(process)).collect();
        drop(children);
        if found.is_empty() {
            return true;
        }
        for process in found {
            kill(process.0, own);
            killed.insert(process);
        }
    }
    false
}

/// The children of this process, as the kernel lists them; `None` where it does not. Much quicker
/// than a look at all processes: one that starts another and ends is found before it does so again.
fn own_children() -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let listed = fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        children.extend(listed.split_ascii_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    Some(children)
}

/// Kills an adopted process, and waits for its end.
fn kill(id: u32, own: u32) {
    let Some(process) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else { return };
    // Still the same one: it cannot be given to another process before it was waited for.
    let is_adopted = ProcessStat::read(id).is_some_and(|stat| stat.parent == own);
    if is_adopted && pidfd_send_signal(handle, Signal::KILL).is_ok() {
        for _ in 0..100 {
            match waitpid(Some(process), WaitOptions::NOHANG) {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Waits for adopted processes that have ended, which otherwise stay in the table of processes.
fn reap() {
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    let mut children = children();
    let now = Instant::now();
    if children.last_reaped.is_some_and(|last| now.duration_since(last) < REAP_AFTER) {
        return;
    }
    children.last_reaped = Some(now);
    let own = std::process::id();
    let ended: BTreeSet<ProcessKey> = processes()
        .filter(|id| !children.confined.contains(id))
        .filter_map(|id| Some((id, ProcessStat::read(id)?)))
        .filter(|(_, stat)| stat.parent == own && stat.has_ended())
        .map(|(id, stat)| (id, stat.started))
        .collect();
    children.ended.retain(|process, _| ended.contains(process));
    for process in ended {
        let since = *children.ended.entry(process).or_insert(now);
        if now.duration_since(since) >= REAP_AFTER
            && let Some(id) = i32::try_from(process.0).ok().and_then(Pid::from_raw)
        {
            let _ = waitpid(Some(id), WaitOptions::NOHANG);
        }
    }
}

/// The numbers of all processes.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// How many filters of system calls a process has.
fn filters(process: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    value("Seccomp_filters:").or_else(|| value("Seccomp:"))
}

fn is_of_tool(process: u32) -> bool {
    let Some((name, value)) = tool_marker() else { return false };
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_some_and(|process| has_variable(process, &format!("{name}={value}")))
}
