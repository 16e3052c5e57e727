//! One client beyond its calls: what it wants to be told, and what it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::oneshot;
use weaver_drivers::mcp::{LogLevel, RpcError, ServerList};

use super::client::Client;
use super::feature_snapshot::ResourceAddress;
use super::lines::Outbox;
use super::message;
use super::parked_calls::{AskableClient, AskingGuard, ParkedCalls, Question, QuestionSender};

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
    /// The client itself.
    client: OnceLock<Weak<Client>>,
    /// What it said that it can do, when it opened a session of the legacy era.
    capabilities: OnceLock<Map<String, Value>>,
    /// It has opened its session, so that it may be told what it did not ask for (legacy era).
    opened: AtomicBool,
    state: Mutex<LinkState>,
    /// Its calls that wait for answers of it.
    pub(crate) parked: ParkedCalls,
    last_id: AtomicU64,
}

#[derive(Default)]
struct LinkState {
    /// From which level on it wants log messages.
    log_level: Option<LogLevel>,
    /// The levels of its requests of the modern era that are under way.
    request_levels: BTreeMap<u64, LogLevel>,
    /// The resources that it watches, by the URIs that it has for them.
    watched: BTreeMap<String, ResourceAddress>,
    /// Its streams of notifications (modern era), by the ids of the requests that opened them.
    streams: BTreeMap<String, NoticeStream>,
    /// What it is asked, by the id of the request.
    asked: BTreeMap<String, oneshot::Sender<Result<Value, RpcError>>>,
    /// The requests of the modern era under way in whose results it can be asked.
    requests: BTreeMap<u64, OpenRequest>,
}

/// A request of the modern era in whose result its client can be asked something.
struct OpenRequest {
    capabilities: Map<String, Value>,
    questions: QuestionSender,
}

/// A stream of notifications that a client of the modern era has opened.
#[derive(Debug, Clone)]
pub(crate) struct NoticeStream {
    /// The id of the request that opened it.
    pub(crate) id: Value,
    /// Where its lines go.
    pub(crate) outbox: WeakSender<Vec<u8>>,
    pub(crate) lists: BTreeSet<ServerList>,
    pub(crate) watched: BTreeMap<String, ResourceAddress>,
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
    pub(crate) fn connect(&self, client: &Arc<Client>, outbox: &Outbox) {
        let _ = self.client.set(Arc::downgrade(client));
        self.send_to(outbox);
    }

    fn send_to(&self, outbox: &Outbox) {
        // A client has one way out for as long as it is there.
        let _ = self.outbox.set(outbox.downgrade());
    }

    /// The client, while it is there.
    pub(crate) fn client(&self) -> Option<Arc<Client>> {
        self.client.get()?.upgrade()
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

    /// What the client says of one of its capabilities.
    pub(crate) fn capability(&self, name: &str) -> Option<Value> {
        let said = match self.capabilities.get() {
            Some(session) => session.get(name).cloned(),
            None => {
                let state = self.state();
                the_only(&state.requests).and_then(|open| open.capabilities.get(name).cloned())
            }
        };
        said.filter(Value::is_object)
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

    /// Counts the level of a request until what is given back is dropped.
    pub(crate) fn hold_log_level(self: &Arc<Self>, level: LogLevel) -> RequestLevel {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed);
        self.state().request_levels.insert(number, level);
        RequestLevel { link: Arc::clone(self), number }
    }

    /// From which level on log messages are wanted now.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let state = self.state();
        state.request_levels.values().copied().chain(state.log_level).min()
    }

    /// Watches a resource. False where it was watched already.
    pub(crate) fn watch(&self, uri: &str, address: ResourceAddress) -> Result<bool, TooMany> {
        let mut state = self.state();
        if state.watched.contains_key(uri) {
            return Ok(false);
        }
        if state.watched.len() >= MAX_WATCHED {
            return Err(TooMany { limit: MAX_WATCHED, of: "resources are watched" });
        }
        state.watched.insert(uri.to_owned(), address);
        Ok(true)
    }

    /// Watches a resource no longer; where it was, if it was watched.
    pub(crate) fn unwatch(&self, uri: &str) -> Option<ResourceAddress> {
        self.state().watched.remove(uri)
    }

    /// Opens a stream of notifications.
    pub(crate) fn open_stream(&self, stream: NoticeStream) -> Result<(), TooMany> {
        let mut state = self.state();
        if state.streams.len() >= MAX_STREAMS {
            return Err(TooMany { limit: MAX_STREAMS, of: "subscriptions are open" });
        }
        if stream.watched.len() > MAX_WATCHED {
            return Err(TooMany { limit: MAX_WATCHED, of: "resources are watched" });
        }
        state.streams.insert(stream.id.to_string(), stream);
        Ok(())
    }

    /// Closes a stream of notifications; what it watched.
    pub(crate) fn close_stream(&self, id: &Value) -> Vec<ResourceAddress> {
        let stream = self.state().streams.remove(&id.to_string());
        stream.map(|stream| stream.watched.into_values().collect()).unwrap_or_default()
    }

    /// The streams that are told of a change of this list.
    pub(crate) fn streams_for(&self, list: ServerList) -> Vec<StreamOutlet> {
        let state = self.state();
        let told = state.streams.values().filter(|stream| stream.lists.contains(&list));
        told.map(NoticeStream::outlet).collect()
    }

    /// Who watches a resource: whether the client does by itself, and which of its streams. A server
    /// may tell of a part of what is watched.
    pub(crate) fn watching(&self, address: &ResourceAddress) -> (bool, Vec<StreamOutlet>) {
        let covers = |watched: &ResourceAddress| {
            watched.server == address.server && address.uri.starts_with(&watched.uri)
        };
        let state = self.state();
        let own = state.watched.values().any(covers);
        let streams = state.streams.values().filter(|one| one.watched.values().any(covers));
        (own, streams.map(NoticeStream::outlet).collect())
    }

    /// Everything that it watches, which it no longer does.
    pub(crate) fn unwatch_all(&self) -> Vec<ResourceAddress> {
        let mut state = self.state();
        let streams = std::mem::take(&mut state.streams).into_values();
        let streamed = streams.flat_map(|stream| stream.watched.into_values());
        let watched: Vec<ResourceAddress> = streamed.collect();
        std::mem::take(&mut state.watched).into_values().chain(watched).collect()
    }

    /// Asks the client, and waits for its answer. When nobody waits any more, the client is told.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        if self.capabilities.get().is_none() {
            return self.ask_in_result(method, params).await;
        }
        let outbox = self.outbox.get().and_then(WeakSender::upgrade);
        let outbox = outbox.ok_or_else(RpcError::method_not_found)?;
        let id = format!("weaver-{}", self.last_id.fetch_add(1, Ordering::Relaxed));
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.state();
            if state.asked.len() >= MAX_ASKED {
                return Err(RpcError::new(-32603, "the client is asked too much at once"));
            }
            state.asked.insert(id.clone(), tell);
        }
        let mut question = OpenQuestion { link: self, id, is_answered: false };
        let line = message::request(&question.id, method, params);
        let gone = || RpcError::new(-32603, "the client is gone");
        outbox.send(line).await.map_err(|_| gone())?;
        drop(outbox);
        let answer = told.await;
        question.is_answered = true;
        answer.unwrap_or_else(|_| Err(gone()))
    }

    /// Asks a client of the modern era in the result of its one request under way. Where there are
    /// several, it is not known in which the question arose.
    async fn ask_in_result(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let questions = the_only(&self.state().requests).map(|open| open.questions.clone());
        let questions = questions.ok_or_else(RpcError::method_not_found)?;
        let gone = || RpcError::new(-32603, "the client is gone");
        let (tell, told) = oneshot::channel();
        let question = Question { method: method.to_owned(), params, tell };
        questions.send(question).await.map_err(|_| gone())?;
        drop(questions);
        told.await.unwrap_or_else(|_| Err(gone()))
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

fn the_only(requests: &BTreeMap<u64, OpenRequest>) -> Option<&OpenRequest> {
    requests.values().next().filter(|_| requests.len() == 1)
}

impl AskableClient for Arc<ClientLink> {
    fn may_ask(&self, capabilities: Map<String, Value>, questions: QuestionSender) -> AskingGuard {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed);
        self.state().requests.insert(number, OpenRequest { capabilities, questions });
        Box::new(AskedRequest { link: Self::clone(self), number })
    }
}

/// A request of the modern era under way, in whose result its client can be asked.
struct AskedRequest {
    link: Arc<ClientLink>,
    number: u64,
}

impl Drop for AskedRequest {
    fn drop(&mut self) {
        self.link.state().requests.remove(&self.number);
    }
}

/// The level of log messages of one request under way.
pub(crate) struct RequestLevel {
    link: Arc<ClientLink>,
    number: u64,
}

impl Drop for RequestLevel {
    fn drop(&mut self) {
        self.link.state().request_levels.remove(&self.number);
    }
}

/// A question that the client has not answered.
struct OpenQuestion<'a> {
    link: &'a ClientLink,
    id: String,
    is_answered: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.link.state().asked.remove(&self.id);
        if !self.is_answered {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            self.link.try_send(message::notification_with("notifications/cancelled", params));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use weaver_types::UpstreamName;

    use super::*;

    fn address(uri: &str) -> ResourceAddress {
        ResourceAddress { server: UpstreamName::parse("s").unwrap(), uri: uri.to_owned() }
    }

    /// A link with its way out, which lives as long as the sender.
    fn linked() -> (Arc<ClientLink>, Outbox, mpsc::Receiver<Vec<u8>>) {
        let (outbox, lines) = mpsc::channel(8);
        let link = Arc::<ClientLink>::default();
        link.send_to(&outbox);
        (link, outbox, lines)
    }

    /// A client of the legacy era, which is asked by requests.
    fn session() -> (Arc<ClientLink>, Outbox, mpsc::Receiver<Vec<u8>>) {
        let linked = linked();
        linked.0.declare(None);
        linked
    }

    fn read(line: &[u8]) -> Value {
        serde_json::from_slice(line).unwrap()
    }

    #[tokio::test]
    async fn each_question_gets_its_own_answer() {
        let (link, _outbox, mut lines) = session();
        let ask = |n: u64| {
            let link = Arc::clone(&link);
            tokio::spawn(async move { link.ask("roots/list", json!({ "n": n })).await })
        };
        let asked = [ask(1), ask(2)];
        for _ in 0..2 {
            let question = read(&lines.recv().await.unwrap());
            link.answered(&json!(7), Ok(json!("to nothing")));
            link.answered(&question["id"], Ok(question["params"]["n"].clone()));
            link.answered(&question["id"], Ok(json!("twice")));
        }
        for (asked, n) in asked.into_iter().zip([1, 2]) {
            assert_eq!(asked.await.unwrap().unwrap(), n);
        }
    }

    #[tokio::test]
    async fn a_question_that_is_given_up_is_taken_back() {
        let (link, _outbox, mut lines) = session();
        let asking = Arc::clone(&link);
        let asked = tokio::spawn(async move { asking.ask("roots/list", json!({})).await });
        let question = read(&lines.recv().await.unwrap());
        asked.abort();
        let told = read(&lines.recv().await.unwrap());
        assert_eq!(told["method"], "notifications/cancelled");
        assert_eq!(told["params"]["requestId"], question["id"]);
        link.answered(&question["id"], Ok(json!({})));
    }

    #[tokio::test]
    async fn a_client_without_a_session_is_asked_in_its_only_request() {
        let (link, _outbox, _lines) = linked();
        let none = link.ask("roots/list", json!({})).await.unwrap_err();
        assert_eq!(none.code, RpcError::method_not_found().code);
        let (sender, mut questions) = mpsc::channel(1);
        let said = Map::from_iter([("roots".to_owned(), json!({}))]);
        let open = link.may_ask(said.clone(), sender.clone());
        assert!(link.capability("roots").is_some() && link.capability("sampling").is_none());
        let asking = Arc::clone(&link);
        let asked = tokio::spawn(async move { asking.ask("roots/list", json!({})).await });
        let _ = questions.recv().await.unwrap().tell.send(Ok(json!({ "roots": [] })));
        assert_eq!(asked.await.unwrap(), Ok(json!({ "roots": [] })));
        let second = link.may_ask(said, sender);
        assert!(link.ask("roots/list", json!({})).await.is_err(), "it could be either");
        drop(open);
        assert!(link.capability("roots").is_some());
        drop(second);
        assert!(link.capability("roots").is_none());
    }

    #[test]
    fn the_lowest_level_that_is_asked_for_now_counts() {
        let (link, _outbox, _lines) = linked();
        assert_eq!(link.log_level(), None);
        link.set_log_level(LogLevel::Error);
        let held = link.hold_log_level(LogLevel::Debug);
        assert_eq!(link.log_level(), Some(LogLevel::Debug));
        drop(held);
        assert_eq!(link.log_level(), Some(LogLevel::Error));
    }

    #[test]
    fn what_is_watched_is_bounded_and_covers_its_parts() {
        let (link, _outbox, _lines) = linked();
        for n in 0..MAX_WATCHED {
            assert_eq!(link.watch(&format!("x://{n}/"), address(&format!("x://{n}/"))), Ok(true));
        }
        assert_eq!(link.watch("x://0/", address("x://0/")), Ok(false));
        assert!(link.watch("x://more", address("x://more")).is_err());
        assert!(link.watching(&address("x://1/part")).0);
        assert!(!link.watching(&address("x://1")).0);
        let other =
            ResourceAddress { server: UpstreamName::parse("t").unwrap(), ..address("x://1/") };
        assert!(!link.watching(&other).0);
        assert_eq!(link.unwatch_all().len(), MAX_WATCHED);
    }
}
