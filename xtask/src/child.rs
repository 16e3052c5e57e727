//! Runs child processes for a limited time: each leads a process group that is killed at the end.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How much of one stream is read, in bytes.
const MAX_OUTPUT_BYTES: u64 = 16 * 1024 * 1024;
/// How long a stream may stay open after its process has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process with everything that it starts in its group. Killed when dropped.
pub struct ProcessGroup(Child);

impl ProcessGroup {
    /// Starts the command as the leader of a new process group.
    pub fn start(command: &mut Command) -> Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot start {}", program_name(command)))?;
        Ok(Self(child))
    }

    /// The leader of the group.
    pub fn leader(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Waits until the leader ends; `None` if it takes longer than `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The group may outlive its leader. Errors are ignored, because the processes may have
        // ended.
        #[cfg(unix)]
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{}", self.0.id())])
            .stderr(Stdio::null())
            .status();
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The exit status of a command, and what it printed.
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The last lines of both streams, for an error message.
    pub fn tail(&self) -> String {
        let lines: Vec<&str> = self.stdout.lines().chain(self.stderr.lines()).collect();
        lines.iter().skip(lines.len().saturating_sub(12)).copied().collect::<Vec<_>>().join("\n")
    }

    /// Standard output, if the command succeeded.
    pub fn succeeded(self, what: &str) -> Result<String> {
        if !self.status.success() {
            bail!("{what} ended with {}:\n{}", self.status, self.tail());
        }
        Ok(self.stdout)
    }
}

/// Runs a command to its end with `input` as standard input, for at most `limit`.
pub fn run(command: &mut Command, input: &str, limit: Duration) -> Result<Output> {
    let name = program_name(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = ProcessGroup::start(command)?;
    let stdout = collect_output(group.leader().stdout.take());
    let stderr = collect_output(group.leader().stderr.take());
    if let Some(mut stdin) = group.leader().stdin.take() {
        let input = input.to_owned();
        // A process that does not read its input must not block this one.
        thread::spawn(move || {
            let _ = stdin.write_all(input.as_bytes());
        });
    }
    let status = group.wait(limit)?;
    drop(group);
    let Some(status) = status else {
        bail!("{name} took longer than {} s and was killed", limit.as_secs());
    };
    let text = |from: &mpsc::Receiver<String>| from.recv_timeout(DRAIN_TIMEOUT).unwrap_or_default();
    Ok(Output { status, stdout: text(&stdout), stderr: text(&stderr) })
}

fn collect_output(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
        }
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

fn program_name(command: &Command) -> String {
    format!("`{}`", command.get_program().to_string_lossy())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_goes_in_and_both_streams_come_out() {
        let output = run(&mut sh("cat; echo bad >&2; exit 3"), "hello", DRAIN_TIMEOUT).unwrap();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("hello", "bad\n"));
        assert_eq!(output.status.code(), Some(3));
        assert!(output.succeeded("it").unwrap_err().to_string().contains("bad"));
    }

    #[test]
    fn what_takes_too_long_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let error = run(&mut sh(&script), "", Duration::from_millis(500)).err().unwrap();
        assert!(error.to_string().contains("was killed"), "{error}");
        let pid = std::fs::read_to_string(file).unwrap();
        let alive = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            state.is_ok_and(|stat| !stat.contains(") Z "))
        };
        let end = Instant::now() + Duration::from_secs(10);
        while alive() && Instant::now() < end {
            thread::sleep(POLL_INTERVAL);
        }
        assert!(!alive());
    }
}
