//! A session that is fed message by message.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
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
    pub(super) notices: tokio::sync::Mutex<SessionNotices>,
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
        let wants_changes = || self.requests.session().wants_changes(&self.client);
        self.notices.lock().await.next(wants_changes).await
    }

    /// The client reads what [`Self::next_notice`] gives, until what is given back is dropped. What it
    /// is asked about a task waits for that, or for the request for the task's result.
    pub(crate) fn listen(&self) -> Listener {
        self.client.link.listen()
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

/// What goes to the client of a session beside the answers to its requests.
pub(super) struct SessionNotices {
    pub(super) lines: mpsc::Receiver<Vec<u8>>,
    /// Kept from one notice to the next: a change that comes between them is not missed.
    pub(super) changes: watch::Receiver<u64>,
}

impl SessionNotices {
    /// The next line; changes of the list of tools are told where the client wants them.
    async fn next(&mut self, wants_changes: impl Fn() -> bool) -> Vec<u8> {
        loop {
            tokio::select! {
                Some(line) = self.lines.recv() => return line,
                Ok(()) = self.changes.changed() => {
                    if wants_changes() {
                        return message::notification("notifications/tools/list_changed");
                    }
                }
                else => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_of_the_tools_is_told_beside_a_line_and_between_two_looks() {
        let (outbox, lines) = mpsc::channel(1);
        let changes = watch::Sender::new(0);
        let mut notices = SessionNotices { lines, changes: changes.subscribe() };
        // Which of the two comes first is left to chance.
        for number in 1..=64 {
            outbox.try_send(b"line".to_vec()).unwrap();
            changes.send_replace(number);
            let both = [notices.next(|| true).await, notices.next(|| true).await];
            let told = both.iter().filter(|line| *line != b"line").count();
            assert_eq!(told, 1, "{both:?}");
        }
        let nothing = tokio::time::timeout(std::time::Duration::ZERO, notices.next(|| true)).await;
        assert!(nothing.is_err());
        changes.send_replace(0);
        let told = String::from_utf8(notices.next(|| true).await).unwrap();
        assert!(told.contains("notifications/tools/list_changed"), "{told}");
    }
}
