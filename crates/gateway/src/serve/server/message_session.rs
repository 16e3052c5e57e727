//! A session that is fed message by message.

use std::sync::Arc;

use tokio::sync::mpsc;
use weaver_drivers::mcp::ParameterHeaders;

use super::{MAX_ANSWERS, Server, left};
use crate::serve::client::Client;
use crate::serve::client_link::Listener;
use crate::serve::message;
use crate::serve::notices::LinkedClient;
use crate::serve::proxy;
use crate::serve::requests::{ClientReads, Requests};

/// A session that is fed message by message, as over HTTP.
pub struct MessageSession {
    pub(super) server: Arc<Server>,
    pub(super) client: Arc<Client>,
    pub(super) requests: Arc<Requests>,
    pub(super) number: u64,
    pub(super) linked: tokio::sync::Mutex<Option<LinkedClient>>,
    /// What goes to the client beside the answers to its requests.
    pub(super) lines: tokio::sync::Mutex<mpsc::Receiver<Vec<u8>>>,
    pub(super) _outbox: mpsc::Sender<Vec<u8>>,
}

impl MessageSession {
    /// Takes a message. The receiver gives notifications and, for a request, at last its answer; then it
    /// ends. Questions that arise in a request come before its answer, or, where the client reads the
    /// answer alone, by [`Self::next_notice`].
    pub async fn take(&self, message: &[u8], reads: ClientReads) -> mpsc::Receiver<Vec<u8>> {
        let (outbox, answers) = mpsc::channel(MAX_ANSWERS);
        self.requests.take(message, &outbox, reads).await;
        answers
    }

    /// The same for a message that stands alone (2026-07-28): its id is no other message's concern, and
    /// whoever stops to receive no longer wants the answer.
    pub async fn take_alone(&self, message: &[u8]) -> mpsc::Receiver<Vec<u8>> {
        let (outbox, answers) = mpsc::channel(MAX_ANSWERS);
        self.requests.take_alone(message, &outbox).await;
        answers
    }

    /// The session has this id, for whoever traces its calls.
    pub(crate) fn identify(&self, id: &str) {
        self.requests.session().identify(id);
    }

    /// The headers that repeat arguments of a tool, by its listed schema.
    pub(crate) async fn parameter_headers(&self, tool: &str) -> Option<Arc<ParameterHeaders>> {
        proxy::parameter_headers(&self.client, tool).await
    }

    /// Ends when there is something to tell the client, or to ask it, beside the answers to its
    /// requests; the line says it.
    pub async fn next_notice(&self) -> Vec<u8> {
        let mut lines = self.lines.lock().await;
        tokio::select! {
            Some(line) = lines.recv() => line,
            line = self.tools_changed() => line,
        }
    }

    /// The client reads what [`Self::next_notice`] gives, until what is given back is dropped. What it
    /// is asked about a task waits for that, or for the request for the task's result.
    pub(crate) fn listen(&self) -> Listener {
        self.client.link.listen()
    }

    async fn tools_changed(&self) -> Vec<u8> {
        let mut changes = self.client.gateway.changes();
        while changes.changed().await.is_ok() {
            if self.requests.session().wants_changes(&self.client) {
                return message::notification("notifications/tools/list_changed");
            }
        }
        std::future::pending().await
    }

    /// How many requests are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.requests.under_way()
    }

    /// Ends the session. Calls under way go on to their ends.
    pub async fn end(&self) {
        self.requests.stop_waiting();
        self.requests.all_done().await;
        self.server.sessions.end(self.number);
        if let Some(linked) = self.linked.lock().await.take() {
            linked.end().await;
        }
        left(Arc::clone(&self.client)).await;
    }
}

impl Drop for MessageSession {
    fn drop(&mut self) {
        self.server.sessions.end(self.number);
    }
}
