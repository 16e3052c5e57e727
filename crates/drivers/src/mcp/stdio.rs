//! The stdio transport: a server that runs as a child process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::config::Limits;
use super::error::{McpError, McpErrorKind};
use super::fault::MessageFault;
use super::inbox::{HandledMessage, Inbox};
use super::line_reader::{Line, LineReader};
use super::server_request::AnswerSink;
use super::started_child::StartedChild;
use crate::abort_on_drop::AbortOnDrop;
use crate::child::{self, ProcessGroupGuard, SpawnError, StderrTail};
use crate::child_config::{Redactor, StdioConfig};
use crate::confine::{ConfineError, EnforcedConfinement, RunningChild, denied_places};
#[cfg(target_os = "linux")]
use crate::descendants::DescendantsGuard;

/// Most messages that may wait to be written.
const OUTBOX_CAPACITY: usize = 64;
/// How much of standard output is read at once.
const READ_BUFFER_BYTES: usize = 64 * 1024;
/// Time to read the remaining output of a child that has exited.
const FINAL_OUTPUT_WAIT: Duration = Duration::from_millis(500);
/// Time for a child to exit after its input was closed.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// A running child and its pipes. Dropping it kills the child and its process group.
pub(crate) struct StdioTransport {
    inbox: Arc<Inbox>,
    command: String,
    stderr_tail: Arc<StderrTail>,
    outbox: mpsc::Sender<OutgoingItem>,
    supervisor: Mutex<Option<JoinHandle<()>>>,
    child: Option<StartedChild>,
    confinement_report: Mutex<Option<oneshot::Receiver<Result<EnforcedConfinement, ConfineError>>>>,
}

enum OutgoingItem {
    Line(Vec<u8>),
    End,
}

impl StdioTransport {
    /// Starts the child and the tasks that serve its pipes.
    pub(crate) fn start(
        config: &StdioConfig,
        limits: &Limits,
        redactor: Option<&Redactor>,
        inbox: Arc<Inbox>,
    ) -> Result<Self, McpError> {
        let spawn_error = |error: SpawnError| {
            let (command, reason) = (config.command.clone(), error.to_string());
            inbox.error(McpErrorKind::Spawn { command, reason })
        };
        #[cfg(target_os = "linux")]
        let mut tagged = config.clone();
        #[cfg(target_os = "linux")]
        let (mut descendants, config) = (DescendantsGuard::new(&mut tagged.env), &tagged);
        // Before the launcher looks for the same.
        let denied = config.confinement.as_ref().map(|one| denied_places(&one.confinement.denied));
        let mut child = child::start(config).map_err(spawn_error)?;
        let group = ProcessGroupGuard::of(&child);
        let running = child.id().map(RunningChild::new);
        #[cfg(target_os = "linux")]
        let running =
            running.map(|child| child.with_marker(descendants.entry().map(str::to_owned)));
        #[cfg(target_os = "linux")]
        descendants.set_server(running.clone());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(spawn_error(SpawnError::NoPipes));
        };
        let (outbox, lines) = mpsc::channel(OUTBOX_CAPACITY);
        let stderr_tail = Arc::new(StderrTail::new(config, redactor.cloned()));
        let supervisor = Supervisor {
            inbox: Arc::clone(&inbox),
            command: config.command.clone(),
            stderr_tail: Arc::clone(&stderr_tail),
            answers: outbox.downgrade(),
            reader: LineReader::new(
                BufReader::with_capacity(READ_BUFFER_BYTES, stdout),
                limits.message_bytes,
            ),
            garbage_limit: limits.garbage_lines,
            garbage: 0,
            #[cfg(target_os = "linux")]
            descendants,
            child,
            group,
        };
        let (sender, report_receiver) = oneshot::channel();
        let (enforced_sender, enforced) = watch::channel(None);
        let denied = denied.unwrap_or_default();
        let running = running.map(|child| StartedChild { child, enforced, denied });
        let follower = {
            let stderr_tail = Arc::clone(&stderr_tail);
            let launcher = config.confinement.as_ref().map(|confined| confined.launcher.clone());
            tokio::spawn(async move {
                let mut stderr = BufReader::with_capacity(1024, stderr);
                if let Some(launcher) = launcher {
                    let enforced_sender = enforced_sender;
                    // Nobody may be waiting for it any more.
                    let report = child::read_launcher_report(&mut stderr, &launcher).await;
                    if let Ok(enforced) = &report {
                        stderr_tail.set_enforced(enforced);
                        enforced_sender.send_replace(Some(enforced.clone()));
                    }
                    let _ = sender.send(report);
                }
                stderr_tail.read_to_end(stderr).await;
            })
        };
        let confinement_report =
            Mutex::new(config.confinement.is_some().then_some(report_receiver));
        let writer =
            tokio::spawn(write_lines(stdin, lines, Arc::clone(&inbox), config.command.clone()));
        let task = tokio::spawn(supervisor.run(AbortOnDrop(follower), AbortOnDrop(writer)));
        let supervisor = Mutex::new(Some(task));
        Ok(Self {
            inbox,
            command: config.command.clone(),
            stderr_tail,
            outbox,
            supervisor,
            child: running,
            confinement_report,
        })
    }

    /// The confinement that the launcher reports, once; `None` for a child without a launcher.
    pub(crate) async fn enforced(&self) -> Result<Option<EnforcedConfinement>, McpError> {
        let receiver =
            self.confinement_report.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(receiver) = receiver else { return Ok(None) };
        let report = receiver.await.map_err(|_| self.closed_error())?;
        report.map(Some).map_err(|error| {
            if error.code() == "confine.program" {
                let message = error.to_string();
                let opening = format!("cannot start `{}`: ", self.command);
                let reason = message.strip_prefix(&opening).unwrap_or(&message).to_owned();
                let command = self.command.clone();
                return self.inbox.error(McpErrorKind::Spawn { command, reason });
            }
            self.inbox.error(McpErrorKind::Confinement { error })
        })
    }

    /// The child.
    pub(crate) fn child(&self) -> Option<&StartedChild> {
        self.child.as_ref()
    }

    /// Queues one message. Fails if the child no longer reads.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), McpError> {
        self.outbox.send(OutgoingItem::Line(message)).await.map_err(|_| self.closed_error())
    }

    /// Queues one message if there is room. For messages that may be lost.
    pub(crate) fn try_send(&self, message: Vec<u8>) {
        if self.outbox.try_send(OutgoingItem::Line(message)).is_err() {
            self.inbox.count_dropped();
        }
    }

    /// Sends answers to the server's requests for as long as the child reads.
    pub(crate) fn answer_sink(&self) -> AnswerSink {
        let (outbox, inbox) = (self.outbox.downgrade(), Arc::downgrade(&self.inbox));
        Arc::new(move |answer| {
            let Some(outbox) = outbox.upgrade() else { return };
            if outbox.try_send(OutgoingItem::Line(answer)).is_err()
                && let Some(inbox) = inbox.upgrade()
            {
                inbox.count_dropped();
            }
        })
    }

    /// The last lines of standard error, redacted and escaped.
    pub(crate) fn stderr(&self) -> String {
        self.stderr_tail.last_lines()
    }

    /// Closes the child's input, waits briefly, then kills it.
    pub(crate) async fn close(&self) {
        let _ = self.outbox.try_send(OutgoingItem::End);
        // The guard kills the child even if this future is dropped.
        let Some(mut supervisor) = self.take_supervisor().map(AbortOnDrop) else { return };
        let _ = timeout(SHUTDOWN_GRACE, &mut supervisor.0).await;
    }

    /// Kills the child and its process group.
    pub(crate) fn kill(&self) {
        drop(self.take_supervisor().map(AbortOnDrop));
    }

    fn take_supervisor(&self) -> Option<JoinHandle<()>> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn closed_error(&self) -> McpError {
        self.inbox.pending.close_reason().unwrap_or_else(|| {
            self.inbox.error(McpErrorKind::UpstreamClosed {
                command: self.command.clone(),
                status: "its input is closed".to_owned(),
                stderr: self.stderr_tail.last_lines(),
            })
        })
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        if let Some(supervisor) = self.take_supervisor() {
            supervisor.abort();
        }
    }
}

/// Owns the child and reads its output.
struct Supervisor {
    inbox: Arc<Inbox>,
    command: String,
    stderr_tail: Arc<StderrTail>,
    answers: mpsc::WeakSender<OutgoingItem>,
    reader: LineReader<BufReader<ChildStdout>>,
    garbage_limit: usize,
    garbage: usize,
    /// Dropped before the child, whose descendants are found while it runs.
    #[cfg(target_os = "linux")]
    descendants: DescendantsGuard,
    child: Child,
    group: ProcessGroupGuard,
}

impl Supervisor {
    async fn run(mut self, mut stderr: AbortOnDrop<()>, writer: AbortOnDrop<()>) {
        let mut exited = None;
        let open = loop {
            tokio::select! {
                line = self.reader.next() => match line {
                    Ok(Some(line)) => if !self.handle_line(line) { break false },
                    Ok(None) | Err(_) => break true,
                },
                status = self.child.wait() => {
                    exited = Some(status);
                    let _ = timeout(FINAL_OUTPUT_WAIT, self.drain()).await;
                    break true;
                }
            }
        };
        if open && exited.is_none() {
            exited = timeout(FINAL_OUTPUT_WAIT, self.child.wait()).await.ok();
        }
        // Grandchildren may hold the pipes open; killing them ends the pipe of standard error.
        #[cfg(target_os = "linux")]
        drop(self.descendants);
        drop(self.group);
        let _ = timeout(FINAL_OUTPUT_WAIT, &mut stderr.0).await;
        let status = match exited {
            Some(Ok(status)) => status.to_string(),
            Some(Err(_)) => "its exit status is unknown".to_owned(),
            None => "it closed its output".to_owned(),
        };
        tracing::debug!(target: "weaver_drivers", upstream = self.inbox.upstream(), %status, "upstream ended");
        self.inbox.open_requests.cancel_all();
        let (command, stderr) = (self.command, self.stderr_tail.last_lines());
        let ended = McpErrorKind::UpstreamClosed { command, status, stderr };
        self.inbox.pending.close(&self.inbox.error(ended));
        drop(writer);
    }

    async fn drain(&mut self) {
        while let Ok(Some(line)) = self.reader.next().await {
            if !self.handle_line(line) {
                break;
            }
        }
    }

    /// Handles a line. False if the connection must end.
    fn handle_line(&mut self, line: Line) -> bool {
        let line = match line {
            Line::Complete(line) => line,
            Line::Oversize(head) => {
                let id = super::message::id_in_prefix(&head);
                self.inbox.fail_requests(MessageFault::LineTooLong, id.as_slice());
                return true;
            }
        };
        match self.inbox.handle(&line) {
            HandledMessage::NotJsonRpc => self.garbage = self.garbage.saturating_add(1),
            HandledMessage::Message(answer) => {
                self.garbage = 0;
                if let (Some(answer), Some(outbox)) = (answer, self.answers.upgrade())
                    && outbox.try_send(OutgoingItem::Line(answer)).is_err()
                {
                    self.inbox.count_dropped();
                }
            }
        }
        if self.garbage < self.garbage_limit {
            return true;
        }
        let lines = self.garbage_limit;
        self.inbox.pending.close(&self.inbox.error(McpErrorKind::Garbage { lines }));
        false
    }
}

/// Writes messages to the child, one per line, until it no longer reads.
async fn write_lines(
    mut stdin: ChildStdin,
    mut lines: mpsc::Receiver<OutgoingItem>,
    inbox: Arc<Inbox>,
    command: String,
) {
    while let Some(OutgoingItem::Line(mut line)) = lines.recv().await {
        line.push(b'\n');
        let written = async {
            stdin.write_all(&line).await?;
            stdin.flush().await
        };
        if written.await.is_err() {
            lines.close();
            // The exit status says more, if it arrives soon.
            sleep(FINAL_OUTPUT_WAIT.saturating_mul(3)).await;
            let (status, stderr) = ("it closed its input".to_owned(), String::new());
            let ended = McpErrorKind::UpstreamClosed { command, status, stderr };
            inbox.pending.close(&inbox.error(ended));
            return;
        }
    }
}
