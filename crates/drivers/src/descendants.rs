//! What a server leaves behind its process group when it ends.
//!
//! A descendant that begins a group or session of its own (a browser, a daemon) is not ended with the
//! group, and once its parent is gone nothing in the process table says whose it was. So each server
//! gets a variable with a random value, which its descendants inherit: whoever has it in its
//! environment when the server ends is ended too. One that clears its environment stays.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use weaver_types::{OsRandom, random_text};

/// The variable. Who starts something there that is not the server's alone takes it away.
const VARIABLE: &str = "WEAVER_SERVER_ID";
/// The most bytes of an environment that are looked at.
const MAX_ENVIRONMENT: u64 = 256 * 1024;
/// How often is looked again for what was started meanwhile.
const LOOKS: usize = 8;

/// Ends the descendants of a server when dropped.
pub(crate) struct DescendantsGuard {
    /// The variable with its value; `None` where no value could be made.
    entry: Option<String>,
}

impl DescendantsGuard {
    /// Marks a server that is yet to be started, by its variables.
    pub(crate) fn mark(variables: &mut BTreeMap<String, String>) -> Self {
        let id = random_text("", 16, &OsRandom).ok();
        let entry = id.map(|id| {
            let entry = format!("{VARIABLE}={id}");
            variables.insert(VARIABLE.to_owned(), id);
            entry
        });
        Self { entry }
    }
}

impl Drop for DescendantsGuard {
    fn drop(&mut self) {
        let Some(entry) = &self.entry else { return };
        for _ in 0..LOOKS {
            if end_marked(entry) == 0 {
                return;
            }
        }
    }
}

/// Ends every process with this variable; how many there were.
fn end_marked(entry: &str) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let ids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| end_if_marked(*id, entry)).count()
}

/// Ends a process where it has this variable. It is held before it is looked at, so that the signal
/// reaches no other process that got its number meanwhile.
fn end_if_marked(id: i32, entry: &str) -> bool {
    let Some(process) = Pid::from_raw(id) else { return false };
    let Ok(held) = pidfd_open(process, PidfdFlags::empty()) else { return false };
    let mut environment = Vec::new();
    // That of another user's process cannot be read, and that of one that has ended is empty.
    let read = File::open(format!("/proc/{id}/environ"))
        .and_then(|file| file.take(MAX_ENVIRONMENT).read_to_end(&mut environment));
    let is_marked = read.is_ok()
        && environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes());
    is_marked && pidfd_send_signal(held, Signal::KILL).is_ok()
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
        let guard = DescendantsGuard::mark(&mut variables);
        let other = DescendantsGuard::mark(&mut others);
        let (mut left, kept) = (start(&variables), start(&others));
        drop(guard);
        // The pipe ends with its last writer.
        let begin = Instant::now();
        left.read_to_end(&mut Vec::new()).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(60));
        assert_eq!(end_marked(other.entry.as_ref().unwrap()), 1, "the other server's goes on");
        drop((other, kept));
    }
}
