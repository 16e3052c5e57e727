//! Starting and ending child processes.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::confine::{ConfineError, Enforced, Launcher, MAX_REPORT, read_report};
use crate::mcp::{Confined, StdioConfig, escape};

/// Variables that a child inherits. Everything else is named in its configuration.
const INHERITED: [&str; 16] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "APPDATA",
    "USERPROFILE",
];

/// The environment of a child: the few variables that all have, and those of its own.
pub(crate) fn scope(command: &mut std::process::Command, own: &BTreeMap<String, String>) {
    command.env_clear();
    for name in INHERITED {
        // A shell function exported under one of these names is not passed on.
        if let Some(value) = std::env::var_os(name)
            && !value.as_encoded_bytes().starts_with(b"()")
        {
            command.env(name, value);
        }
    }
    command.envs(own);
}

/// Starts the program, without a shell, in a process group of its own.
pub(crate) fn start(config: &StdioConfig) -> Result<Child, String> {
    let mut command = match &config.confined {
        Some(Confined { launcher, confinement }) => {
            let argv: Vec<&String> = std::iter::once(&config.command).chain(&config.args).collect();
            launcher.command(&argv, confinement).map_err(|error| error.to_string())?
        }
        None => {
            let mut command = std::process::Command::new(&config.command);
            command.args(&config.args);
            command
        }
    };
    scope(&mut command, &config.env);
    if let Some(folder) = &config.cwd {
        command.current_dir(folder);
    }
    spawn(command).map_err(|error| error.kind().to_string())
}

/// Starts a command with pipes, in a process group of its own.
pub(crate) fn spawn(command: std::process::Command) -> io::Result<Child> {
    let mut command = Command::from(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

/// Reads the launcher's report, the first line of the child's standard error.
pub(crate) async fn report(
    source: &mut (impl AsyncBufRead + Unpin),
    launcher: &Launcher,
) -> Result<Enforced, ConfineError> {
    let mut line = Vec::new();
    // A source that fails gives what there was, which is then no report.
    let _ = source.take(MAX_REPORT).read_until(b'\n', &mut line).await;
    read_report(&line, launcher.program())
}

/// Ends the child's process group when dropped, so that grandchildren do not stay behind.
pub(crate) struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        #[cfg(unix)]
        {
            let id = child.id().and_then(|id| i32::try_from(id).ok());
            Self { leader: id.and_then(rustix::process::Pid::from_raw) }
        }
        #[cfg(not(unix))]
        {
            let _ = child;
            Self {}
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // Fails when the whole group has ended already, which is what is wanted.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// The last bytes that the child wrote to standard error.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    const KEPT: usize = 4 * 1024;

    /// Reads to the end, and keeps the last 4 KiB.
    pub(crate) async fn follow(&self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = [0_u8; 1024];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            self.push(chunk.get(..count).unwrap_or_default());
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let surplus = kept.len().saturating_sub(Self::KEPT);
        kept.drain(..surplus);
    }

    /// What is kept, escaped.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        escape(String::from_utf8_lossy(&bytes).trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_escaped() {
        let tail = Tail::default();
        for _ in 0..100 {
            tail.push(&[b'x'; 1000]);
        }
        tail.push(b"\x1b[31mlast\xff\n");
        let text = tail.text();
        assert!(text.len() < 5000 && text.contains("\\u{1b}[31mlast"), "{text}");
    }
}
