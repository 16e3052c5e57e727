//! Finds the process that is the client of this gateway: the one that started it.
//!
//! A process is identified by its PID and start time, within one boot and one PID namespace: PIDs
//! are reused, such a pair is not. Wrappers between client and gateway (`sh -c`, `npx` …) are
//! skipped. Where no client is found, the gateway gets a key of its own, so it never gets somebody
//! else's run.

#[cfg(windows)]
mod windows_processes;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weaver_types::{OsRandom, RandomError, random_text};

/// The most wrappers between client and gateway.
const MAX_WRAPPERS: usize = 8;
/// The most bytes read of a file under `/proc`.
const MAX_READ: u64 = 16 * 1024;

/// Identifies the client that a run belongs to, within a principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKey {
    /// The process that started the gateway.
    Process(ClientProcess),
    /// One gateway process, under a random name: its client is unknown.
    Gateway(String),
    /// The bearer of a token, over HTTP, by the token's id.
    Token(String),
}

/// A process of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientProcess {
    /// The kernel's boot id.
    boot: String,
    /// The PID namespace that the number belongs to.
    namespace: u64,
    /// The PID.
    pid: u32,
    /// Its start time, in clock ticks since boot.
    started: u64,
}

impl ClientKey {
    /// The key of the client that started this process.
    ///
    /// # Errors
    /// [`RandomError`], when the client is unknown and no random name can be made.
    pub fn for_starter_of_this_process() -> Result<Self, RandomError> {
        #[cfg(windows)]
        return Self::from_process(windows_processes::client_of(std::process::id()));
        #[cfg(not(windows))]
        Self::from_process(ProcessTable::default().client_of("self"))
    }

    /// The key of the client that started the running process with this PID.
    ///
    /// # Errors
    /// As [`for_starter_of_this_process`](Self::for_starter_of_this_process).
    pub fn for_starter_of(pid: u32) -> Result<Self, RandomError> {
        #[cfg(windows)]
        return Self::from_process(windows_processes::client_of(pid));
        #[cfg(not(windows))]
        Self::from_process(ProcessTable::default().client_of(&pid.to_string()))
    }

    /// A random key for an unknown client.
    ///
    /// # Errors
    /// [`RandomError`], when no random name can be made.
    pub fn unknown() -> Result<Self, RandomError> {
        Ok(Self::Gateway(random_text("gw_", 16, &OsRandom)?))
    }

    fn from_process(process: Option<ClientProcess>) -> Result<Self, RandomError> {
        process.map_or_else(Self::unknown, |process| Ok(Self::Process(process)))
    }

    /// The key as part of a record's id: without blanks, and at most 100 bytes as this build writes
    /// it.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Process(ClientProcess { boot, namespace, pid, started }) => {
                format!("process/{boot}/{namespace}/{pid}/{started}")
            }
            Self::Gateway(name) => format!("gateway/{name}"),
            Self::Token(id) => format!("token/{id}"),
        }
    }

    /// The name of the client that is registered at the gateway.
    pub(crate) fn token_name(&self) -> Option<&str> {
        match self {
            // Keys of other callers over HTTP contain a colon, which no client's name does.
            Self::Token(name) if !name.contains(':') => Some(name),
            _ => None,
        }
    }

    /// The client in words, for people.
    pub fn display_text(&self) -> String {
        match self {
            Self::Process(process) => format!("process {}", process.pid),
            Self::Gateway(_) => "a client that is not known".to_owned(),
            Self::Token(id) => format!("the token {id}"),
        }
    }
}

/// The system's process table, `/proc`. Without one, no client can be identified.
pub struct ProcessTable {
    root: PathBuf,
}

impl Default for ProcessTable {
    fn default() -> Self {
        Self { root: PathBuf::from("/proc") }
    }
}

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    started: u64,
}

impl ProcessTable {
    /// The client of a process, by its name under `/proc`; `None` where it cannot be determined.
    #[cfg_attr(windows, expect(dead_code, reason = "there is no such table"))]
    fn client_of(&self, pid_name: &str) -> Option<ClientProcess> {
        let (boot, namespace) = (self.boot_id()?, self.pid_namespace()?);
        let mut process = self.process(pid_name).ok()??;
        for _ in 0..=MAX_WRAPPERS {
            process = self.parent_of(&process)?;
            let words = self.command_words(process.pid)?;
            if is_reaper(&words) {
                return None;
            }
            if !is_wrapper(&words) {
                let Process { pid, started, .. } = process;
                return Some(ClientProcess { boot, namespace, pid, started });
            }
        }
        None
    }

    /// True when the client has certainly ended. An error or a foreign PID namespace says nothing.
    pub fn has_exited(&self, client: &ClientProcess) -> bool {
        #[cfg(windows)]
        return windows_processes::has_exited(client);
        #[cfg(not(windows))]
        self.has_left_table(client)
    }

    #[cfg_attr(windows, expect(dead_code, reason = "there is no such table"))]
    fn has_left_table(&self, client: &ClientProcess) -> bool {
        if self.boot_id().is_none_or(|boot| boot != client.boot) {
            return self.boot_id().is_some();
        }
        if self.pid_namespace() != Some(client.namespace) {
            // A PID of another namespace says nothing here.
            return false;
        }
        match self.process(&client.pid.to_string()) {
            Ok(process) => process.is_none_or(|process| process.started != client.started),
            Err(_) => false,
        }
    }

    /// The parent of a process. Its PID may be reused at any moment, so the child is read again
    /// afterwards: it must be unchanged, and the parent must not be younger.
    fn parent_of(&self, child: &Process) -> Option<Process> {
        if child.parent <= 1 {
            return None;
        }
        let parent = self.process(&child.parent.to_string()).ok()??;
        let child_now = self.process(&child.pid.to_string()).ok()??;
        (child_now == *child && parent.started <= child.started).then_some(parent)
    }

    /// A running process, or `None` when there is none of this name.
    fn process(&self, name: &str) -> io::Result<Option<Process>> {
        let stat = match self.read(&format!("{name}/stat")) {
            Ok(stat) => stat,
            Err(error) if is_no_such_process(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        parse_stat(&stat)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
            .map(|(process, state)| (!matches!(state, 'Z' | 'X' | 'x')).then_some(process))
    }

    /// The command line of a process, split into words.
    fn command_words(&self, pid: u32) -> Option<Vec<String>> {
        let text = self.read(&format!("{pid}/cmdline")).ok()?;
        let words = |by: char| text.split(by).filter(|word| !word.is_empty()).map(str::to_owned);
        let parts: Vec<String> = words('\0').collect();
        // A program that renames itself (npm) leaves one string in place of its arguments.
        let blanks = |c: char| c == '\0' || c == ' ';
        if parts.len() == 1 {
            return Some(text.split(blanks).filter(|w| !w.is_empty()).map(str::to_owned).collect());
        }
        Some(parts)
    }

    fn boot_id(&self) -> Option<String> {
        let text = self.read("sys/kernel/random/boot_id").ok()?;
        let boot_id = text.trim();
        let has_uuid_chars = boot_id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        (boot_id.len() == 36 && has_uuid_chars).then(|| boot_id.to_owned())
    }

    fn pid_namespace(&self) -> Option<u64> {
        let link = std::fs::read_link(self.root.join("self/ns/pid")).ok()?;
        link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
    }

    fn read(&self, name: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        File::open(self.root.join(name))?.take(MAX_READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// True for the errors that mean that there is no such process. If one ends while its file is read,
/// the read fails with `ESRCH`.
fn is_no_such_process(error: &io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

/// Parses `/proc/PID/stat` (proc_pid_stat(5)): the PID, then the name in parentheses, which may
/// contain any characters, then the other fields. The parent is field 4, the start time field 22.
fn parse_stat(stat: &str) -> Option<(Process, char)> {
    let pid = stat.split_once(' ')?.0.parse().ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((Process { pid, parent, started }, state))
}

/// True for a subreaper, which adopts orphaned processes: its children were left behind by their
/// client.
fn is_reaper(words: &[String]) -> bool {
    words.first().is_some_and(|program| file_name(program) == "systemd")
}

/// True for a command that only starts another one.
fn is_wrapper(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let Some(mut program) = words.next().map(file_name) else { return false };
    if program == "node" {
        // npm runs scripts by their path.
        let script = words.find(|word| !word.starts_with('-'));
        program = script.map(file_name).unwrap_or_default();
    }
    let mut words = words.peekable();
    match program {
        "sh" | "bash" | "dash" | "zsh" | "-sh" | "-bash" | "-dash" | "-zsh" => {
            let mut options = words.take_while(|word| word.starts_with(['-', '+']));
            options.any(|word| !word.starts_with("--") && word.contains('c'))
        }
        "npx" | "npx-cli.js" | "uvx" | "env" => true,
        "npm" | "npm-cli.js" => words
            .find(|word| !word.starts_with('-'))
            .is_some_and(|verb| matches!(verb, "exec" | "x")),
        // What `uvx` becomes.
        "uv" => words.next() == Some("tool") && matches!(words.next(), Some("uvx" | "run")),
        _ => false,
    }
}

fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(not(windows))]
#[cfg(test)]
mod tests;
