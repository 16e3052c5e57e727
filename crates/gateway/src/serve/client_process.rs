//! Which process is the client of this gateway: whoever started it.
//!
//! A process is known by its number and the moment of its start, within one boot and one PID
//! namespace: numbers are given again, such a pair is not. What only stands between client and
//! gateway (`sh -c`, `npx` …) is no client, and is walked over. Where the client cannot be told, the
//! gateway process stands for itself: it never gets the run of somebody else.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weaver_types::{OsRandom, RandomError, random_text};

/// How many wrappers may stand between client and gateway.
const MAX_WRAPPERS: usize = 8;
/// How much of a file under `/proc` is read, in bytes.
const MAX_READ: u64 = 16 * 1024;

/// Whose run it is, within a principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKey {
    /// The process that started the gateway.
    Process(ClientProcess),
    /// One gateway process, under a random name: its client is not known.
    Gateway(String),
    /// Whoever holds a token, over HTTP: the token's own id.
    Token(String),
}

/// A process of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientProcess {
    /// The boot, as the kernel names it.
    boot: String,
    /// The PID namespace in which the number counts.
    namespace: u64,
    /// The number.
    pid: u32,
    /// When it started, in clock ticks since the boot.
    started: u64,
}

impl ClientKey {
    /// The key of whoever started this process.
    ///
    /// # Errors
    /// [`RandomError`], when the client is not known and no name can be made.
    pub fn of_this_process() -> Result<Self, RandomError> {
        Self::starter_of(ProcessTable::default().client("self"))
    }

    /// The key of whoever started the process of this number, which still runs.
    ///
    /// # Errors
    /// As [`of_this_process`](Self::of_this_process).
    pub fn of_starter(pid: u32) -> Result<Self, RandomError> {
        Self::starter_of(ProcessTable::default().client(&pid.to_string()))
    }

    /// A key of its own, for a client that is not known.
    ///
    /// # Errors
    /// [`RandomError`], when no name can be made.
    pub fn unknown() -> Result<Self, RandomError> {
        Ok(Self::Gateway(random_text("gw_", 16, &OsRandom)?))
    }

    fn starter_of(process: Option<ClientProcess>) -> Result<Self, RandomError> {
        process.map_or_else(Self::unknown, |process| Ok(Self::Process(process)))
    }

    /// Its part of a record's id: no blanks, at most 100 bytes as this build writes it.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Process(ClientProcess { boot, namespace, pid, started }) => {
                format!("process/{boot}/{namespace}/{pid}/{started}")
            }
            Self::Gateway(name) => format!("gateway/{name}"),
            Self::Token(id) => format!("token/{id}"),
        }
    }

    /// The client as shown to a person.
    pub fn shown(&self) -> String {
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

/// A process that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    started: u64,
}

impl ProcessTable {
    /// The client of a process, by its name under `/proc`; `None` where it cannot be told.
    fn client(&self, of: &str) -> Option<ClientProcess> {
        let (boot, namespace) = (self.boot()?, self.namespace()?);
        let mut process = self.process(of).ok()??;
        for _ in 0..=MAX_WRAPPERS {
            process = self.parent_of(&process)?;
            let words = self.command(process.pid)?;
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

    /// True when the client does not run any more, for sure.
    pub fn is_gone(&self, client: &ClientProcess) -> bool {
        if self.boot().is_none_or(|boot| boot != client.boot) {
            return self.boot().is_some();
        }
        if self.namespace() != Some(client.namespace) {
            // Its number says nothing here.
            return false;
        }
        match self.process(&client.pid.to_string()) {
            Ok(found) => found.is_none_or(|process| process.started != client.started),
            Err(_) => false,
        }
    }

    /// The parent. The number of one that has just ended may be given again, so it must still be
    /// the parent after it was looked at.
    fn parent_of(&self, child: &Process) -> Option<Process> {
        if child.parent <= 1 {
            return None;
        }
        let parent = self.process(&child.parent.to_string()).ok()??;
        let again = self.process(&child.pid.to_string()).ok()??;
        (again == *child && parent.started <= child.started).then_some(parent)
    }

    /// A process, or `None` when there is none of this name that runs.
    fn process(&self, name: &str) -> io::Result<Option<Process>> {
        let stat = match self.read(&format!("{name}/stat")) {
            Ok(stat) => stat,
            Err(error) if no_process(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        read_stat(&stat)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
            .map(|(process, state)| (!matches!(state, 'Z' | 'X' | 'x')).then_some(process))
    }

    /// The words of its command.
    fn command(&self, pid: u32) -> Option<Vec<String>> {
        let text = self.read(&format!("{pid}/cmdline")).ok()?;
        let words = |by: char| text.split(by).filter(|word| !word.is_empty()).map(str::to_owned);
        let parts: Vec<String> = words('\0').collect();
        // A program that names itself anew (npm) leaves one text in place of its arguments.
        let blanks = |c: char| c == '\0' || c == ' ';
        if parts.len() == 1 {
            return Some(text.split(blanks).filter(|w| !w.is_empty()).map(str::to_owned).collect());
        }
        Some(parts)
    }

    fn boot(&self) -> Option<String> {
        let text = self.read("sys/kernel/random/boot_id").ok()?;
        let boot = text.trim();
        let plain = boot.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        (boot.len() == 36 && plain).then(|| boot.to_owned())
    }

    fn namespace(&self) -> Option<u64> {
        let link = std::fs::read_link(self.root.join("self/ns/pid")).ok()?;
        link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
    }

    fn read(&self, name: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        File::open(self.root.join(name))?.take(MAX_READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// True for the errors that say that there is no such process: one that ends while its file is
/// read gives `ESRCH`.
fn no_process(error: &io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)): the number, then the name in parentheses, which may
/// hold any characters, then the other fields, of which the parent is the fourth and the start the
/// twenty-second.
fn read_stat(stat: &str) -> Option<(Process, char)> {
    let pid = stat.split_once(' ')?.0.parse().ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((Process { pid, parent, started }, state))
}

/// True for a process that takes in the children of others: whoever it stands above was left behind
/// by its client.
fn is_reaper(words: &[String]) -> bool {
    words.first().is_some_and(|program| base(program) == "systemd")
}

/// True for a command that does nothing but start another one.
fn is_wrapper(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let Some(mut program) = words.next().map(base) else { return false };
    if program == "node" {
        // Scripts of npm are started by their path.
        let script = words.find(|word| !word.starts_with('-'));
        program = script.map(base).unwrap_or_default();
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

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests;
