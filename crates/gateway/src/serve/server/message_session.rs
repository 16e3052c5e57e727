//! A session that receives single messages.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use weaver_drivers::mcp::ParameterHeaders;
use weaver_types::RunId;

use super::{MAX_QUEUED_LINES, Server, close_client};
use crate::serve::client::Client;
use crate::serve::client_link::ListenerGuard;
use crate::serve::message;
use crate::serve::notice_forwarder::NoticeForwarder;
use crate::serve::proxy;
use crate::serve::requests::{Requests, ResponseStreaming};

/// A session that receives single messages, as over HTTP.
pub struct MessageSession {
    pub(super) server: Arc<Server>,
    pub(super) client: Arc<Client>,
    pub(super) requests: Arc<Requests>,
    pub(super) number: u64,
    pub(super) forwarder: tokio::sync::Mutex<Option<NoticeForwarder>>,
    pub(super) notices: tokio::sync::Mutex<SessionNotices>,
    pub(super) _outbox: mpsc::Sender<Vec<u8>>,
}

impl MessageSession {
    /// Processes a message. `None` for a notification or an answer of the client. Otherwise the
    /// receiver yields notifications and finally the answer; then it ends. Questions in a request
    /// come before its answer, or through [`Self::next_notice`] if the client reads only the answer.
    pub async fn take(
        &self,
        message: &[u8],
        streaming: ResponseStreaming,
    ) -> Option<mpsc::Receiver<Vec<u8>>> {
        let (outbox, answers) = mpsc::channel(MAX_QUEUED_LINES);
        let is_answered = self.requests.take(message, &outbox, streaming).await;
        is_answered.then_some(answers)
    }

    /// Processes a standalone message (2026-07-28): its id is unrelated to other messages, and
    /// dropping the receiver cancels the request.
    pub async fn take_standalone(&self, message: &[u8]) -> Option<mpsc::Receiver<Vec<u8>>> {
        let (outbox, answers) = mpsc::channel(MAX_QUEUED_LINES);
        let is_answered = self.requests.take_standalone(message, &outbox).await;
        is_answered.then_some(answers)
    }

    /// Sets the session's id for traces.
    pub(crate) fn set_id(&self, id: &str) {
        self.requests.session().set_id(id);
    }

    /// The headers that repeat arguments of a tool, according to its listed schema.
    pub(crate) async fn parameter_headers(&self, tool: &str) -> Option<Arc<ParameterHeaders>> {
        proxy::parameter_headers(&self.client, tool).await
    }

    /// Waits for the next line to the client outside the answers to its requests: a notification or
    /// a question.
    pub async fn next_notice(&self) -> Vec<u8> {
        let wants_tool_list_changes =
            || self.requests.session().wants_tool_list_changes(&self.client);
        self.notices.lock().await.next(wants_tool_list_changes).await
    }

    /// Registers the client as a reader of [`Self::next_notice`] until the returned guard is
    /// dropped. A question about a task waits for such a reader, or for the request for the task's
    /// result.
    pub(crate) fn add_listener(&self) -> ListenerGuard {
        self.client.link.add_listener()
    }

    /// The run of the last call; `None` before the first.
    pub(crate) async fn last_run(&self) -> Option<RunId> {
        self.client.last_run().await
    }

    /// Whether this run is the client's current one, which begins if the last has been idle.
    pub(crate) async fn is_in_run(&self, run: &RunId) -> bool {
        self.client.run().await.is_ok_and(|current| current.run_id == *run)
    }

    /// Whether the client reads [`Self::next_notice`] now.
    pub(crate) fn has_listener(&self) -> bool {
        self.client.link.has_listener()
    }

    /// The number of requests in flight.
    #[must_use]
    pub fn requests_in_flight(&self) -> usize {
        self.requests.in_flight()
    }

    /// Ends the session. Calls in flight run to their ends.
    pub async fn end(&self) {
        self.requests.stop_waiting();
        self.requests.wait_until_idle().await;
        self.server.sessions.end(self.number);
        if let Some(forwarder) = self.forwarder.lock().await.take() {
            forwarder.end();
        }
        close_client(Arc::clone(&self.client)).await;
    }
}

impl Drop for MessageSession {
    fn drop(&mut self) {
        self.server.sessions.end(self.number);
    }
}

/// The lines for the client of a session outside the answers to its requests.
pub(super) struct SessionNotices {
    pub(super) lines: mpsc::Receiver<Vec<u8>>,
    /// Kept across notices, so that a change between two of them is not missed.
    pub(super) tool_list_changes: watch::Receiver<u64>,
}

impl SessionNotices {
    /// The next line. Changes of the tool list are reported if the client wants them.
    async fn next(&mut self, wants_tool_list_changes: impl Fn() -> bool) -> Vec<u8> {
        loop {
            tokio::select! {
                Some(line) = self.lines.recv() => return line,
                Ok(()) = self.tool_list_changes.changed() => {
                    if wants_tool_list_changes() {
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
        let tool_list_changes = watch::Sender::new(0);
        let mut notices =
            SessionNotices { lines, tool_list_changes: tool_list_changes.subscribe() };
        // Which of the two comes first is left to chance.
        for number in 1..=64 {
            outbox.try_send(b"line".to_vec()).unwrap();
            tool_list_changes.send_replace(number);
            let both = [notices.next(|| true).await, notices.next(|| true).await];
            let told = both.iter().filter(|line| *line != b"line").count();
            assert_eq!(told, 1, "{both:?}");
        }
        let nothing = tokio::time::timeout(std::time::Duration::ZERO, notices.next(|| true)).await;
        assert!(nothing.is_err());
        tool_list_changes.send_replace(0);
        let told = String::from_utf8(notices.next(|| true).await).unwrap();
        assert!(told.contains("notifications/tools/list_changed"), "{told}");
    }
}
