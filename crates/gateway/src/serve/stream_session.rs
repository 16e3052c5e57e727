//! One client's session on a stream of lines: standard input and output, or a socket. Only protocol
//! messages are written to it.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weaver_drivers::mcp::{Line, LineReader};

use super::client::Client;
use super::dispatch::Session;
use super::error::ServeError;
use super::lines::{self, MAX_LINE_BYTES, Outbox};
use super::message;
use super::notice_forwarder::NoticeForwarder;
use super::requests::{Requests, ResponseStreaming};

/// The most queued lines for a slow reader.
const MAX_QUEUED_LINES: usize = 64;

/// A session: its requests in flight, and the tasks that write to its client.
pub(crate) struct StreamSession {
    pub(crate) requests: Arc<Requests>,
    outbox: Outbox,
    writer: JoinHandle<()>,
    notices: JoinHandle<()>,
    forwarder: NoticeForwarder,
}

impl StreamSession {
    /// Begins a session whose answers go to `writer`.
    pub(crate) fn begin(
        client: &Arc<Client>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (outbox, queue) = mpsc::channel::<Vec<u8>>(MAX_QUEUED_LINES);
        let writer = tokio::spawn(lines::write(queue, writer));
        let session = Arc::new(Session::default());
        let tool_list_changes = client.gateway.tool_list_changes();
        let forwarding = forward_tool_changes(
            tool_list_changes,
            Arc::clone(client),
            Arc::clone(&session),
            outbox.clone(),
        );
        let notices = tokio::spawn(forwarding);
        let requests = Arc::new(Requests::new(Arc::clone(client), session));
        let forwarder = NoticeForwarder::start(client, &outbox);
        Self { requests, outbox, writer, notices, forwarder }
    }

    /// The channel for messages outside answers, for as long as the session lasts.
    pub(crate) fn announcements(&self) -> WeakSender<Vec<u8>> {
        self.outbox.downgrade()
    }

    /// Processes the lines of `reader` until it ends, or `stopped` is cancelled.
    ///
    /// # Errors
    /// [`ServeError::Pipe`], when the stream fails.
    pub(crate) async fn read(
        &self,
        reader: impl AsyncRead + Unpin,
        stopped: &CancellationToken,
    ) -> Result<(), ServeError> {
        let reader = BufReader::with_capacity(64 * 1024, reader);
        let mut lines = LineReader::new(reader, MAX_LINE_BYTES);
        loop {
            let line = tokio::select! {
                biased;
                () = stopped.cancelled() => return Ok(()),
                line = lines.next() => line,
            };
            match line {
                Ok(Some(Line::Complete(line))) => {
                    self.requests.take(&line, &self.outbox, ResponseStreaming::Streamed).await;
                }
                Ok(Some(Line::Oversize(_))) => self.requests.refuse_too_long(&self.outbox).await,
                Ok(None) => return Ok(()),
                Err(error) => return Err(ServeError::Pipe { problem: error.to_string() }),
            }
        }
    }

    /// Waits until the last answers are written.
    pub(crate) async fn finish(self) {
        self.notices.abort();
        let Self { requests, writer, outbox, forwarder, .. } = self;
        forwarder.end();
        drop((requests, outbox));
        let _ = writer.await;
    }
}

/// Notifies a client of changes of the tool list, if it wants them.
async fn forward_tool_changes(
    mut tool_list_changes: watch::Receiver<u64>,
    client: Arc<Client>,
    session: Arc<Session>,
    outbox: Outbox,
) {
    while tool_list_changes.changed().await.is_ok() {
        if session.wants_tool_list_changes(&client)
            && outbox.send(message::notification("notifications/tools/list_changed")).await.is_err()
        {
            return;
        }
    }
}
