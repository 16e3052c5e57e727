//! One client's session on a stream of lines: standard input and output, or a socket. Only protocol
//! messages are written to it.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::dispatch::Session;
use super::error::ServeError;
use super::lines::Outbox;
use super::lines::{self, Line};
use super::message;
use super::notices::LinkedClient;
use super::requests::{ClientReads, Requests};

/// How many answers are queued for a slow reader.
const MAX_OUTBOX: usize = 64;

/// A session: the requests that are under way, and the task that writes their answers.
pub(crate) struct StreamSession {
    pub(crate) requests: Arc<Requests>,
    outbox: Outbox,
    writer: JoinHandle<()>,
    notices: JoinHandle<()>,
    linked: LinkedClient,
}

impl StreamSession {
    /// Begins a session whose answers go to `writer`.
    pub(crate) fn begin(
        client: &Arc<Client>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (outbox, inbox) = mpsc::channel::<Vec<u8>>(MAX_OUTBOX);
        let writer = tokio::spawn(lines::write(inbox, writer));
        let session = Arc::new(Session::default());
        let changes = client.gateway.changes();
        let told = tell_changes(changes, Arc::clone(client), Arc::clone(&session), outbox.clone());
        let notices = tokio::spawn(told);
        let requests = Arc::new(Requests::new(Arc::clone(client), session));
        let linked = LinkedClient::of(client, &outbox);
        Self { requests, outbox, writer, notices, linked }
    }

    /// Where messages that answer no request can be put for as long as the session lasts.
    pub(crate) fn announcements(&self) -> WeakSender<Vec<u8>> {
        self.outbox.downgrade()
    }

    /// Takes the lines of `reader` until it ends, or `stopped` is cancelled.
    ///
    /// # Errors
    /// [`ServeError::Pipe`], when the stream fails.
    pub(crate) async fn read(
        &self,
        reader: impl AsyncRead + Unpin,
        stopped: &CancellationToken,
    ) -> Result<(), ServeError> {
        let mut reader = BufReader::with_capacity(64 * 1024, reader);
        loop {
            let line = tokio::select! {
                biased;
                () = stopped.cancelled() => return Ok(()),
                line = lines::read(&mut reader) => line,
            };
            match line {
                Ok(Some(Line::Whole(line))) => {
                    self.requests.take(&line, &self.outbox, ClientReads::Stream).await
                }
                Ok(Some(Line::TooLong)) => self.requests.too_long(&self.outbox).await,
                Ok(None) => return Ok(()),
                Err(error) => return Err(ServeError::Pipe { problem: error.to_string() }),
            }
        }
    }

    /// Waits until the last answers are written.
    pub(crate) async fn finish(self) {
        self.notices.abort();
        let Self { requests, writer, outbox, linked, .. } = self;
        linked.end().await;
        drop((requests, outbox));
        let _ = writer.await;
    }
}

/// Tells a client that listens for it whenever the list of tools changes.
async fn tell_changes(
    mut changes: watch::Receiver<u64>,
    client: Arc<Client>,
    session: Arc<Session>,
    outbox: Outbox,
) {
    while changes.changed().await.is_ok() {
        if session.wants_changes(&client)
            && outbox.send(message::notification("notifications/tools/list_changed")).await.is_err()
        {
            return;
        }
    }
}
