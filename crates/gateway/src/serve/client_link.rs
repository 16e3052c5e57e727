//! One client beyond its calls: what it wants to be told, and what it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use weaver_drivers::mcp::{LogLevel, RpcError, ServerList};
use weaver_types::{OsRandom, random_text};

use super::lines::Outbox;
use super::message;
use super::parked_calls::ParkedCalls;
use super::task::Task;
use super::watched_resource::WatchedResource;

/// Most resources that one client watches.
const MAX_WATCHED: usize = 256;
/// Most streams of notifications that one client of the modern era opens.
const MAX_STREAMS: usize = 16;
/// Most requests that one client is asked at once.
const MAX_ASKED: usize = 16;

/// One client beyond its calls.
#[derive(Default)]
pub(crate) struct ClientLink {
    /// Where lines for the client go, once it is connected.
    outbox: OnceLock<WeakSender<Vec<u8>>>,
    /// What it said that it can do, when it opened a session of the legacy era.
    capabilities: OnceLock<Map<String, Value>>,
    /// It has opened its session, so that it may be told what it did not ask for (legacy era).
    opened: AtomicBool,
    state: Mutex<LinkState>,
    /// Its calls that are waiting for its answers.
    pub(crate) parked: ParkedCalls,
    /// The number of the last stream of notifications.
    last_stream: AtomicU64,
    /// How many read what it is told beside the answers to its requests; `None` where what it is
    /// told and what it is answered come the same way.
    listeners: watch::Sender<Option<usize>>,
    /// It has nothing more to say, so it answers nothing.
    left: CancellationToken,
}

/// Where a client reads a question.
#[derive(Clone, Copy)]
pub(crate) enum QuestionStream<'a> {
    /// Where it is told what concerns no request.
    Session,
    /// Where its request is answered.
    Request(&'a WeakSender<Vec<u8>>),
    /// Where it waits for the result of a task, or where it is told what concerns no request:
    /// whichever it reads.
    Task(&'a Task),
}

#[derive(Default)]
struct LinkState {
    /// From which level on it wants log messages (legacy era).
    log_level: Option<LogLevel>,
    /// The resources that it watches, by the URIs that it has for them.
    watched: BTreeMap<String, WatchedResource>,
    /// Its streams of notifications (modern era), by numbers of our own: over HTTP the requests of
    /// many connections stand alone here, and several may have one id.
    streams: BTreeMap<u64, NoticeStream>,
    /// What it is asked, by the id of the request.
    asked: BTreeMap<String, oneshot::Sender<Result<Value, RpcError>>>,
}

/// A stream of notifications that a client of the modern era has opened.
#[derive(Debug, Clone)]
pub(crate) struct NoticeStream {
    /// The id of the request that opened it.
    pub(crate) id: Value,
    /// Where its lines go.
    pub(crate) outbox: WeakSender<Vec<u8>>,
    pub(crate) lists: BTreeSet<ServerList>,
    pub(crate) watched: BTreeMap<String, WatchedResource>,
}

/// Where the lines of one stream go.
#[derive(Debug, Clone)]
pub(crate) struct StreamOutlet {
    /// The id of the request that opened it.
    pub(crate) id: Value,
    outbox: WeakSender<Vec<u8>>,
}

impl StreamOutlet {
    /// Sends a line if there is room.
    pub(crate) fn try_send(&self, line: Vec<u8>) {
        if let Some(outbox) = self.outbox.upgrade() {
            let _ = outbox.try_send(line);
        }
    }
}

/// Where a client is told that a resource changed, and as which one.
#[derive(Debug)]
pub(crate) struct ResourceListener {
    /// The stream that watches it; `None` where the client does by itself.
    pub(crate) stream: Option<StreamOutlet>,
    /// The URI under which the client watches it, and the part of it that changed.
    pub(crate) uri: String,
}

impl NoticeStream {
    fn outlet(&self) -> StreamOutlet {
        StreamOutlet { id: self.id.clone(), outbox: self.outbox.clone() }
    }
}

/// Too much is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no more than {limit} {of} at once")]
pub(crate) struct TooMany {
    limit: usize,
    of: &'static str,
}

impl ClientLink {
    /// Lines for the client go this way from here on.
    pub(crate) fn send_to(&self, outbox: &Outbox) {
        // A client has one way out for as long as it is there.
        let _ = self.outbox.set(outbox.downgrade());
    }

    /// What the client is told comes on streams of its own, of which none is open yet.
    pub(crate) fn await_listeners(&self) {
        self.listeners.send_replace(Some(0));
    }

    /// The client reads such a stream until what is given back is dropped.
    pub(crate) fn listen(self: &Arc<Self>) -> Listener {
        self.listeners.send_modify(|count| *count = count.map(|count| count.saturating_add(1)));
        Listener { link: Arc::clone(self) }
    }

    /// Done when somebody reads what the client is told.
    async fn is_heard(&self) {
        let mut listeners = self.listeners.subscribe();
        // The sender lives as long as the link.
        let _ = listeners.wait_for(|count| count.is_none_or(|count| count > 0)).await;
    }

    /// The client has opened its session.
    pub(crate) fn open(&self) {
        self.opened.store(true, Ordering::Release);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opened.load(Ordering::Acquire)
    }

    /// Takes in what the client can do. What it said first counts.
    pub(crate) fn declare(&self, capabilities: Option<&Value>) {
        let said = capabilities.and_then(Value::as_object).cloned().unwrap_or_default();
        let _ = self.capabilities.set(said);
    }

    /// What the client says of one of its capabilities, where it opened a session.
    pub(crate) fn session_capability(&self, name: &str) -> Option<Value> {
        self.capabilities.get()?.get(name).cloned()
    }

    /// Sends a line if there is room: a client that reads too slowly misses notices.
    pub(crate) fn try_send(&self, line: Vec<u8>) {
        if let Some(outbox) = self.outbox.get().and_then(WeakSender::upgrade) {
            let _ = outbox.try_send(line);
        }
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = Some(level);
    }

    /// From which level on log messages are wanted (legacy era).
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.state().log_level
    }

    /// Watches a resource. False where it was watched already.
    pub(crate) fn watch(&self, uri: &str, watched: WatchedResource) -> Result<bool, TooMany> {
        let mut state = self.state();
        if state.watched.contains_key(uri) {
            return Ok(false);
        }
        if state.watched.len() >= MAX_WATCHED {
            return Err(TooMany { limit: MAX_WATCHED, of: "resources are watched" });
        }
        state.watched.insert(uri.to_owned(), watched);
        Ok(true)
    }

    /// Watches a resource no longer; where it was, if it was watched.
    pub(crate) fn unwatch(&self, uri: &str) -> Option<WatchedResource> {
        self.state().watched.remove(uri)
    }

    /// Opens a stream of notifications; its number.
    pub(crate) fn open_stream(&self, stream: NoticeStream) -> Result<u64, TooMany> {
        let mut state = self.state();
        if state.streams.len() >= MAX_STREAMS {
            return Err(TooMany { limit: MAX_STREAMS, of: "subscriptions are open" });
        }
        if stream.watched.len() > MAX_WATCHED {
            return Err(TooMany { limit: MAX_WATCHED, of: "resources are watched" });
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed);
        state.streams.insert(number, stream);
        Ok(number)
    }

    /// Closes a stream of notifications; what it watched.
    pub(crate) fn close_stream(&self, number: u64) -> Vec<WatchedResource> {
        let stream = self.state().streams.remove(&number);
        stream.map(|stream| stream.watched.into_values().collect()).unwrap_or_default()
    }

    /// The streams that are told of a change of this list.
    pub(crate) fn streams_for(&self, list: ServerList) -> Vec<StreamOutlet> {
        let state = self.state();
        let told = state.streams.values().filter(|stream| stream.lists.contains(&list));
        told.map(NoticeStream::outlet).collect()
    }

    /// Where the client is told of a change of this resource, each stream once.
    pub(crate) fn listeners_for(&self, changed: &WatchedResource) -> Vec<ResourceListener> {
        let uri_in = |watched: &BTreeMap<String, WatchedResource>| {
            watched.iter().find_map(|(uri, one)| Some(format!("{uri}{}", one.part_of(changed)?)))
        };
        let state = self.state();
        let own = uri_in(&state.watched).map(|uri| ResourceListener { stream: None, uri });
        let streams = state.streams.values().filter_map(|stream| {
            let uri = uri_in(&stream.watched)?;
            Some(ResourceListener { stream: Some(stream.outlet()), uri })
        });
        own.into_iter().chain(streams).collect()
    }

    /// Everything that it watches, which it no longer does.
    pub(crate) fn unwatch_all(&self) -> Vec<WatchedResource> {
        let mut state = self.state();
        let streams = std::mem::take(&mut state.streams).into_values();
        let streamed = streams.flat_map(|stream| stream.watched.into_values());
        let watched: Vec<WatchedResource> = streamed.collect();
        std::mem::take(&mut state.watched).into_values().chain(watched).collect()
    }

    /// Where the client reads a question, once it does.
    async fn question_outbox(&self, stream: QuestionStream<'_>) -> Option<Outbox> {
        let session = || self.outbox.get().and_then(WeakSender::upgrade);
        match stream {
            QuestionStream::Session => session(),
            QuestionStream::Request(stream) => stream.upgrade().or_else(session),
            QuestionStream::Task(task) => tokio::select! {
                biased;
                outbox = task.result_stream() => Some(outbox),
                () = self.is_heard() => session(),
            },
        }
    }

    /// Asks the client of a session, and waits for its answer. When nobody waits any more, the client
    /// is told where it was asked.
    pub(crate) async fn ask(
        &self,
        stream: QuestionStream<'_>,
        method: &str,
        params: Value,
    ) -> Result<Value, RpcError> {
        if self.capabilities.get().is_none() {
            return Err(RpcError::method_not_found());
        }
        let gone = || RpcError::new(-32603, "the client is gone");
        let outbox = tokio::select! {
            outbox = self.question_outbox(stream) => outbox.ok_or_else(RpcError::method_not_found)?,
            () = self.left.cancelled() => return Err(gone()),
        };
        // Random, since a client's session outlives the daemon: the answer to what an earlier one asked
        // must not be taken for that to another question.
        let id = random_text("weaver-", 12, &OsRandom)
            .map_err(|error| RpcError::new(-32603, error.to_string()))?;
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.state();
            if self.left.is_cancelled() {
                return Err(gone());
            }
            if state.asked.len() >= MAX_ASKED {
                return Err(RpcError::new(-32603, "the client is asked too much at once"));
            }
            state.asked.insert(id.clone(), tell);
        }
        let stream = outbox.downgrade();
        let mut question = OpenQuestion { link: self, id, stream, is_answered: false };
        let line = message::request(&question.id, method, params);
        outbox.send(line).await.map_err(|_| gone())?;
        drop(outbox);
        let answer = told.await;
        question.is_answered = true;
        answer.unwrap_or_else(|_| Err(gone()))
    }

    /// True once the client has nothing more to say.
    pub(crate) fn has_left(&self) -> bool {
        self.left.is_cancelled()
    }

    /// The client has nothing more to say: nobody waits for its answers.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        self.left.cancel();
        state.asked.clear();
        drop(state);
        self.parked.give_up();
    }

    /// Takes the client's answer to a question. One that nobody waits for is dropped.
    pub(crate) fn answered(&self, id: &Value, answer: Result<Value, RpcError>) {
        let Some(id) = id.as_str() else { return };
        let waiting = self.state().asked.remove(id);
        if let Some(tell) = waiting {
            let _ = tell.send(answer);
        }
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream on which a client reads what it is told.
pub(crate) struct Listener {
    link: Arc<ClientLink>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let listeners = &self.link.listeners;
        listeners.send_modify(|count| *count = count.map(|count| count.saturating_sub(1)));
    }
}

/// A question that the client has not answered.
struct OpenQuestion<'a> {
    link: &'a ClientLink,
    id: String,
    /// Where it was asked.
    stream: WeakSender<Vec<u8>>,
    is_answered: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.link.state().asked.remove(&self.id);
        if !self.is_answered {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            if let Some(stream) = self.stream.upgrade() {
                let line = message::notification_with("notifications/cancelled", params);
                let _ = stream.try_send(line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
