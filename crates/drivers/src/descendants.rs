//! Kills the processes that a server leaves outside of its process group.
//!
//! A descendant that starts its own process group or session (a browser, a daemon) is not killed
//! with the server's group. A server that a launcher started adopts its orphans, so that all of its
//! descendants are found while it runs, and what it leaves passes to a host that adopts orphans.
//! Where neither is the case, the process table no longer shows where they came from. So each server
//! gets an environment variable with a random value, which its descendants inherit. When the server
//! ends, every process with this variable is killed too.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use weaver_types::{OsRandom, random_text};

use crate::adopted;
use crate::confine::RunningChild;

/// The variable.
const VARIABLE: &str = "WEAVER_SERVER_ID";
/// How much of an environment is searched.
const MAX_ENVIRONMENT_BYTES: u64 = 256 * 1024;
/// How often the search is repeated, for processes started in the meantime.
const MAX_SWEEPS: usize = 8;

/// Kills the descendants of a server when dropped.
pub(crate) struct DescendantsGuard {
    /// The variable and its value; `None` if no random value was available.
    entry: Option<String>,
    server: Option<RunningChild>,
}

impl DescendantsGuard {
    /// Adds the marking variable to a server's environment before it is started.
    pub(crate) fn new(variables: &mut BTreeMap<String, String>) -> Self {
        let id = random_text("", 16, &OsRandom).ok();
        let entry = id.map(|id| {
            let entry = format!("{VARIABLE}={id}");
            variables.insert(VARIABLE.to_owned(), id);
            entry
        });
        Self { entry, server: None }
    }

    /// Sets the server, once it was started.
    pub(crate) fn set_server(&mut self, server: Option<RunningChild>) {
        self.server = server;
    }

    /// The variable and its value, which only the server and its descendants have.
    pub(crate) fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }
}

impl Drop for DescendantsGuard {
    fn drop(&mut self) {
        // Before the server itself, with which their descent would be lost.
        if let Some(server) = &self.server {
            server.kill_descendants();
        }
        for _ in 0..MAX_SWEEPS {
            if self.entry.as_ref().is_none_or(|entry| kill_marked(entry) == 0) {
                break;
            }
        }
        if self.server.as_ref().is_some_and(|server| !server.is_running()) {
            let _ = adopted::kill_leftovers();
        }
    }
}

/// Kills every process with this variable, and returns how many there were.
fn kill_marked(entry: &str) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let ids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| kill_if_marked(*id, entry)).count()
}

/// Kills a process if it has this variable. The pidfd is opened before the check, so that the
/// signal cannot reach a later process with the same id.
fn kill_if_marked(id: i32, entry: &str) -> bool {
    let Some(process) = Pid::from_raw(id) else { return false };
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else { return false };
    has_variable(process, entry) && pidfd_send_signal(handle, Signal::KILL).is_ok()
}

/// Whether a process has this variable with this value. Another user's environment is unreadable,
/// and that of an exited process is empty.
pub(crate) fn has_variable(process: Pid, entry: &str) -> bool {
    let mut environment = Vec::new();
    let read = File::open(format!("/proc/{}/environ", process.as_raw_nonzero()))
        .and_then(|file| file.take(MAX_ENVIRONMENT_BYTES).read_to_end(&mut environment));
    read.is_ok() && environment.split(|byte| *byte == 0).any(|one| one == entry.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_left_the_group_of_a_server_ends_with_it_and_nothing_else_does() {
        let start = |variables: &BTreeMap<String, String>| {
            // The child that is left behind says that it runs; its parent has ended by then.
            let mut command = Command::new("sh");
            command.args(["-c", "setsid sh -c 'echo runs; exec sleep 600' & exit 0"]);
            let mut parent = command.envs(variables).stdout(Stdio::piped()).spawn().unwrap();
            let mut output = parent.stdout.take().unwrap();
            assert!(parent.wait().unwrap().success());
            let mut said = [0; 5];
            output.read_exact(&mut said).unwrap();
            output
        };
        let (mut variables, mut others) = (BTreeMap::new(), BTreeMap::new());
        let guard = DescendantsGuard::new(&mut variables);
        let other = DescendantsGuard::new(&mut others);
        let (mut left, kept) = (start(&variables), start(&others));
        drop(guard);
        // The pipe ends with its last writer.
        let begin = Instant::now();
        left.read_to_end(&mut Vec::new()).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(60));
        assert_eq!(kill_marked(other.entry.as_ref().unwrap()), 1, "the other server's goes on");
        drop((other, kept));
    }
}
