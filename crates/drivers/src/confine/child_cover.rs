//! Covers denied files in the mount namespaces of a running child, with the help of a process that
//! enters each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::cover_refresh::{CoverRequest, HELPER_ARGUMENT};
use super::launcher_protocol::{MAX_REPORT_BYTES, read_report};
use super::linux::open_files::{self, DeniedFiles};
use super::linux::server_processes;
use super::linux::server_processes::KnownChild;
use super::work_limit::WorkLimit;
use super::{ConfineError, CoverRefreshError, Launcher};

/// How often the processes are searched for new mount namespaces.
const MAX_ROUNDS: usize = 8;
const HELPER_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Covers the denied files in every mount namespace of a child, then makes sure that none of its
/// processes opened one before. The child may hold that up, so both are bounded.
pub(super) fn cover_in_child(
    launcher: &Launcher,
    child: KnownChild<'_>,
    denied: &BTreeSet<PathBuf>,
) -> Result<(), CoverRefreshError> {
    let own = server_processes::own_mount_namespace()
        .map_err(|error| server_processes::unreadable(std::process::id(), &error))?;
    let (mut limit, mut covered) = (WorkLimit::new(), BTreeSet::new());
    for _ in 0..MAX_ROUNDS {
        let processes = server_processes::find(child, &mut limit)?;
        let mut uncovered: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (process, namespace) in &processes {
            if *namespace == own {
                return Err(CoverRefreshError::NoMounts);
            }
            if !covered.contains(namespace) {
                uncovered.entry(*namespace).or_default().push(*process);
            }
        }
        if uncovered.is_empty() {
            let files = DeniedFiles::at(denied, &mut limit)?;
            let check = |id: &u32| open_files::check_not_open(*id, &files, &mut limit);
            return processes.keys().try_for_each(check);
        }
        for (namespace, processes) in uncovered {
            cover_namespace(launcher, namespace, &processes, denied, &mut limit)?;
            covered.insert(namespace);
        }
    }
    Err(CoverRefreshError::Unsettled)
}

/// Covers the files in one mount namespace, entered through the first of its processes that allows
/// it: one that made a further user namespace does not.
fn cover_namespace(
    launcher: &Launcher,
    namespace: u64,
    processes: &[u32],
    denied: &BTreeSet<PathBuf>,
    limit: &mut WorkLimit,
) -> Result<(), CoverRefreshError> {
    let mut failure = CoverRefreshError::Unsettled;
    for process in processes {
        limit.spend()?;
        let request = CoverRequest::new(*process, namespace, denied)?;
        match run_helper(launcher, &request, limit) {
            Ok(()) => return Ok(()),
            Err(error) => failure = error.into(),
        }
    }
    Err(failure)
}

fn run_helper(
    launcher: &Launcher,
    request: &CoverRequest,
    limit: &WorkLimit,
) -> Result<(), ConfineError> {
    let silent = || ConfineError::NoReport { launcher: launcher.program().display().to_string() };
    let mut command = launcher.own_command()?;
    command.arg(HELPER_ARGUMENT).arg(request.write()?).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut helper = command.spawn().map_err(|_| silent())?;
    let has_ended = wait(&mut helper, limit);
    let mut line = Vec::new();
    // A report fits into the pipe, so the helper does not wait for a reader.
    if let Some(stderr) = helper.stderr.take().filter(|_| has_ended) {
        stderr.take(MAX_REPORT_BYTES).read_to_end(&mut line).map_err(|_| silent())?;
    }
    read_report(&line, launcher.program()).map(drop)
}

/// Waits for the helper, and kills it if it takes too long: the child could stop it with a signal.
fn wait(helper: &mut Child, limit: &WorkLimit) -> bool {
    while limit.remaining() > Duration::ZERO {
        match helper.try_wait() {
            Ok(None) => std::thread::sleep(HELPER_POLL_INTERVAL),
            Ok(Some(_)) => return true,
            Err(_) => break,
        }
    }
    let _ = helper.kill();
    let _ = helper.wait();
    false
}
