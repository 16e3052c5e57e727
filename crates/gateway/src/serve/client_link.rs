//! The channel to one client outside the answers to its requests: notifications, subscriptions, and
//! questions.

mod subscriptions;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use weaver_drivers::mcp::{LogLevel, RpcError};
use weaver_types::{OsRandom, random_text};

use super::lines::{self, Outbox};
use super::message;
use super::parked_calls::ParkedCalls;
use super::task::Task;
use super::tasks::Tasks;

use super::message::code;
use subscriptions::Subscriptions;
pub(crate) use subscriptions::{
    MAX_SUBSCRIPTIONS, ResourceUpdateTarget, SubscriptionLimitError, SubscriptionStream,
};

/// The most questions that one client is asked at once.
const MAX_PENDING_QUESTIONS: usize = 16;

/// The channel to one client outside the answers to its requests.
#[derive(Default)]
pub(crate) struct ClientLink {
    /// The channel of lines for the client, once it is connected.
    outbox: OnceLock<WeakSender<Vec<u8>>>,
    /// The capabilities it declared when it opened a session of the legacy era.
    capabilities: OnceLock<Map<String, Value>>,
    /// Set once it sent `notifications/initialized`, after which it may get unsolicited
    /// notifications (legacy era).
    initialized: AtomicBool,
    state: Mutex<LinkState>,
    /// What it wants to hear of.
    pub(crate) subscriptions: Subscriptions,
    /// Its calls that wait for its answers.
    pub(crate) parked: ParkedCalls,
    /// Its calls that it follows as tasks.
    pub(crate) tasks: Tasks,
    /// The number of streams on which the client reads notifications; `None` where notifications
    /// share the channel of the answers.
    listener_count: watch::Sender<Option<usize>>,
    /// Cancelled once the client has left and will answer nothing more.
    closed: CancellationToken,
}

/// The channel on which a client reads a question.
#[derive(Clone, Copy)]
pub(crate) enum QuestionStream<'a> {
    /// The session's own channel, as for notifications that belong to no request.
    Session,
    /// The stream of the answer to its request.
    Request(&'a WeakSender<Vec<u8>>),
    /// The stream on which it waits for a task's result, or the session's channel: whichever it
    /// reads first.
    Task(&'a Task),
}

#[derive(Default)]
struct LinkState {
    /// The lowest level of log messages it asked for (legacy era).
    log_level: Option<LogLevel>,
    /// The lowest level that one of its requests asked for (modern era).
    requested_log_level: Option<LogLevel>,
    /// The questions in flight, by request id.
    pending_questions: BTreeMap<String, oneshot::Sender<Result<Value, RpcError>>>,
}

impl ClientLink {
    /// Sets the channel of lines for the client.
    pub(crate) fn set_outbox(&self, outbox: &Outbox) {
        // A client keeps its first channel.
        let _ = self.outbox.set(outbox.downgrade());
    }

    /// Makes notifications wait for a listener: they arrive on streams of their own, none of which
    /// is open yet.
    pub(crate) fn require_listeners(&self) {
        self.listener_count.send_replace(Some(0));
    }

    /// Counts a listener until the returned guard is dropped.
    pub(crate) fn add_listener(self: &Arc<Self>) -> ListenerGuard {
        self.listener_count
            .send_modify(|count| *count = count.map(|count| count.saturating_add(1)));
        ListenerGuard { link: Arc::clone(self) }
    }

    /// Whether some stream delivers notifications to the client.
    pub(crate) fn has_listener(&self) -> bool {
        self.listener_count.borrow().is_none_or(|count| count > 0)
    }

    /// Completes once some stream delivers notifications to the client.
    async fn wait_for_listener(&self) {
        let mut listeners = self.listener_count.subscribe();
        // The sender lives as long as the link.
        let _ = listeners.wait_for(|count| count.is_none_or(|count| count > 0)).await;
    }

    /// Marks the session as opened by the client.
    pub(crate) fn mark_initialized(&self) {
        self.initialized.store(true, Ordering::Release);
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Acquire)
    }

    /// Stores the client's capabilities. The first declaration stays.
    pub(crate) fn set_capabilities(&self, capabilities: Option<&Value>) {
        let declared = capabilities.and_then(Value::as_object).cloned().unwrap_or_default();
        let _ = self.capabilities.set(declared);
    }

    /// What the client declared about a capability when it opened a session.
    pub(crate) fn session_capability(&self, name: &str) -> Option<Value> {
        self.capabilities.get()?.get(name).cloned()
    }

    /// Sends a line, unless the queue is full: a slow client misses notices.
    pub(crate) fn try_send(&self, line: Vec<u8>) {
        if let Some(outbox) = self.outbox.get().and_then(WeakSender::upgrade) {
            let _ = outbox.try_send(line);
        }
    }

    /// Sends a log message, unless that would take room from other notices.
    pub(crate) fn try_send_log(&self, line: Vec<u8>) {
        if let Some(outbox) = self.outbox.get().and_then(WeakSender::upgrade) {
            lines::try_send_to_spare_room(&outbox, line);
        }
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = Some(level);
    }

    /// The lowest level of log messages it asked for (legacy era).
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.state().log_level
    }

    /// Notes the level of log messages that a request asks for (modern era). True where no earlier
    /// request asked for as low a level.
    pub(crate) fn note_requested_log_level(&self, level: LogLevel) -> bool {
        let mut state = self.state();
        let is_lower = state.requested_log_level.is_none_or(|lowest| level < lowest);
        if is_lower {
            state.requested_log_level = Some(level);
        }
        is_lower
    }

    /// The lowest level of log messages that it wants; `None` where it wants none.
    pub(crate) fn wanted_log_level(&self) -> Option<LogLevel> {
        let state = self.state();
        state.log_level.into_iter().chain(state.requested_log_level).min()
    }

    /// Forgets which log messages it wants. True where it wanted some.
    pub(crate) fn take_log_levels(&self) -> bool {
        let mut state = self.state();
        let levels = [state.log_level.take(), state.requested_log_level.take()];
        levels.iter().any(Option::is_some)
    }

    /// False where the client certainly wants no log message of this level.
    pub(crate) fn may_want_log(&self, level: LogLevel) -> bool {
        let state = self.state();
        state.requested_log_level.is_some() || state.log_level.is_some_and(|wanted| level >= wanted)
    }

    /// The channel on which the client reads a question, once it is open.
    async fn question_outbox(&self, stream: QuestionStream<'_>) -> Option<Outbox> {
        let session = || self.outbox.get().and_then(WeakSender::upgrade);
        match stream {
            QuestionStream::Session => session(),
            QuestionStream::Request(stream) => stream.upgrade().or_else(session),
            QuestionStream::Task(task) => tokio::select! {
                biased;
                outbox = task.result_stream() => Some(outbox),
                () = self.wait_for_listener() => session(),
            },
        }
    }

    /// Asks the client of a session, and waits for its answer. If the caller stops waiting, the
    /// client gets a cancellation on the same channel.
    pub(crate) async fn ask(
        &self,
        stream: QuestionStream<'_>,
        method: &str,
        params: Value,
    ) -> Result<Value, RpcError> {
        if self.capabilities.get().is_none() {
            return Err(RpcError::method_not_found());
        }
        let client_gone = || RpcError::new(code::INTERNAL, "the client is gone");
        let outbox = tokio::select! {
            outbox = self.question_outbox(stream) => outbox.ok_or_else(RpcError::method_not_found)?,
            () = self.closed.cancelled() => return Err(client_gone()),
        };
        // Random, because a client's session outlives the daemon: the answer to a question of an
        // earlier daemon must not be mistaken for the answer to a new one.
        let id = random_text("weaver-", 12, &OsRandom)
            .map_err(|error| RpcError::new(code::INTERNAL, error.to_string()))?;
        let (reply_to, reply) = oneshot::channel();
        {
            let mut state = self.state();
            if self.closed.is_cancelled() {
                return Err(client_gone());
            }
            if state.pending_questions.len() >= MAX_PENDING_QUESTIONS {
                return Err(RpcError::new(
                    code::INTERNAL,
                    "too many questions to the client at once",
                ));
            }
            state.pending_questions.insert(id.clone(), reply_to);
        }
        let stream = outbox.downgrade();
        let mut question = PendingQuestion { link: self, id, stream, is_answered: false };
        let line = message::request(&question.id, method, params);
        outbox.send(line).await.map_err(|_| client_gone())?;
        drop(outbox);
        let answer = reply.await;
        question.is_answered = true;
        answer.unwrap_or_else(|_| Err(client_gone()))
    }

    /// True once the client has left.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Marks the client as gone: all pending questions and parked calls end.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        self.closed.cancel();
        state.pending_questions.clear();
        drop(state);
        self.parked.close();
    }

    /// Delivers the client's answer to a question. An answer that nobody waits for is dropped.
    pub(crate) fn deliver_answer(&self, id: &Value, answer: Result<Value, RpcError>) {
        let Some(id) = id.as_str() else { return };
        let pending = self.state().pending_questions.remove(id);
        if let Some(reply_to) = pending {
            let _ = reply_to.send(answer);
        }
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one stream on which a client reads notifications.
pub(crate) struct ListenerGuard {
    link: Arc<ClientLink>,
}

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        let listener_count = &self.link.listener_count;
        listener_count.send_modify(|count| *count = count.map(|count| count.saturating_sub(1)));
    }
}

/// A question without an answer yet. Dropping it cancels the question at the client.
struct PendingQuestion<'a> {
    link: &'a ClientLink,
    id: String,
    /// The channel on which it was asked.
    stream: WeakSender<Vec<u8>>,
    is_answered: bool,
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        self.link.state().pending_questions.remove(&self.id);
        if !self.is_answered {
            let params =
                json!({ "requestId": self.id, "reason": "the answer is no longer needed" });
            if let Some(stream) = self.stream.upgrade() {
                let line = message::notification_with("notifications/cancelled", params);
                let _ = stream.try_send(line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
