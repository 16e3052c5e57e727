//! One connection: requests out, replies matched, bounds held.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::ask::{Ask, introduce, subscription};
use super::config::{Endpoint, Era, UpstreamConfig};
use super::error::McpError;
use super::http::{Exchange, HttpLink, StreamState};
use super::inbox::Inbox;
use super::message::RpcResult;
use super::notification::LogLevel;
use super::stdio::StdioLink;
use super::subscription::SubscriptionFilter;
use crate::confine::EnforcedConfinement;

/// Most resources that one connection watches. Each change of them sends all of them again.
const MAX_WATCHED: usize = 256;

enum Link {
    Stdio(StdioLink),
    Http(Arc<HttpLink>),
}

/// An open connection to a server.
pub(crate) struct Wire {
    pub(crate) config: Arc<UpstreamConfig>,
    pub(crate) inbox: Arc<Inbox>,
    link: Link,
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Held while the request is sent, so that the last filter is the last one sent.
    listening: tokio::sync::Mutex<ListenRequest>,
    /// The level that requests of the modern era name.
    log_level: Mutex<Option<LogLevel>>,
}

/// What is listened for, and how it was asked for.
#[derive(Default)]
struct ListenRequest {
    filter: SubscriptionFilter,
    /// The id of the request of the modern era that is open over pipes.
    id: Option<u64>,
}

impl Wire {
    /// Starts the child, or prepares the HTTP client. Nothing is said yet.
    pub(crate) fn open(config: Arc<UpstreamConfig>) -> Result<Self, McpError> {
        let inbox = Arc::new(Inbox::new(&config));
        let link = match &config.endpoint {
            Endpoint::Stdio(stdio) => Link::Stdio(StdioLink::start(
                stdio,
                &config.limits,
                config.redactor.as_ref(),
                Arc::clone(&inbox),
            )?),
            Endpoint::Http(http) => {
                Link::Http(Arc::new(HttpLink::new(http, &config.limits, Arc::clone(&inbox))?))
            }
        };
        inbox.asked.send_to(match &link {
            Link::Stdio(link) => link.answer_sink(),
            Link::Http(link) => link.answer_sink(),
        });
        let slots = Arc::new(Semaphore::new(config.limits.in_flight.max(1)));
        let (waiting, log_level) = (AtomicUsize::new(0), Mutex::default());
        let listening = tokio::sync::Mutex::default();
        Ok(Self { config, inbox, link, slots, waiting, listening, log_level })
    }

    /// Sends a request and waits for its answer, at most for its limit. When the caller stops
    /// waiting, the server is told.
    pub(crate) async fn request(&self, mut ask: Ask<'_>) -> Result<RpcResult, McpError> {
        let (method, limit) = (ask.method, ask.limit);
        let timer = ask.timer.take();
        let outcome = async {
            let _place = self.place().await?;
            self.exchange(ask).await
        };
        let outcome = match timer {
            Some(timer) => timer.timeout(limit, outcome).await,
            None => timeout(limit, outcome).await.ok(),
        };
        outcome.unwrap_or_else(|| {
            let upstream = self.config.name.clone();
            Err(McpError::Timeout { upstream, method, after: limit })
        })
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &'static str) -> Result<(), McpError> {
        let body = json!({"jsonrpc": "2.0", "method": method}).to_string().into_bytes();
        match &self.link {
            Link::Stdio(link) => link.send(body).await,
            Link::Http(link) => link.notify(method, body).await,
        }
    }

    /// Settles era and version once the handshake is done.
    pub(crate) fn settle(&self, era: Era, version: &str) {
        if let Link::Http(link) = &self.link {
            link.settle(era, version);
        }
    }

    /// Asks a modern server to tell of what the filter says.
    pub(crate) async fn listen(&self, filter: SubscriptionFilter) -> Result<(), McpError> {
        let mut listening = self.listening.lock().await;
        listening.filter = filter;
        if listening.filter.is_empty(Era::Modern) {
            return Ok(());
        }
        self.listen_anew(&mut listening).await
    }

    /// Opens the stream on which a legacy server tells what the filter says, and on which it asks
    /// outside of the answer to a call. Over stdio it tells and asks without one.
    pub(crate) async fn open_stream(&self, filter: &SubscriptionFilter) -> StreamState {
        let is_needed = self.config.request_handler.is_some() || !filter.is_empty(Era::Legacy);
        match &self.link {
            Link::Http(link) if is_needed => link.listen(None, filter.lists()).state().await,
            _ => StreamState::Open,
        }
    }

    /// A modern server is asked by one request for everything: another filter replaces it.
    async fn listen_anew(&self, listening: &mut ListenRequest) -> Result<(), McpError> {
        let id = self.inbox.pending.next_id();
        let body = self.encode(id, &mut subscription(listening.filter.params()))?;
        match &self.link {
            // Its answer, when the subscription ends, is of no use and counted as dropped.
            Link::Stdio(link) => {
                link.send(body).await?;
                if let Some(before) = listening.id.replace(id) {
                    self.cancel(before);
                }
            }
            Link::Http(link) => {
                link.listen(Some(body), listening.filter.lists());
            }
        }
        Ok(())
    }

    /// Has a modern server tell of changes of this resource too.
    pub(crate) async fn watch(&self, uri: &str) -> Result<(), McpError> {
        let mut listening = self.listening.lock().await;
        if listening.filter.uris.contains(uri) {
            return Ok(());
        }
        if listening.filter.uris.len() >= MAX_WATCHED {
            let upstream = self.config.name.clone();
            return Err(McpError::TooManySubscriptions { upstream, limit: MAX_WATCHED });
        }
        listening.filter.uris.insert(uri.to_owned());
        self.listen_anew(&mut listening).await
    }

    /// Has a modern server no longer tell of changes of this resource.
    pub(crate) async fn unwatch(&self, uri: &str) -> Result<(), McpError> {
        let mut listening = self.listening.lock().await;
        if !listening.filter.uris.remove(uri) {
            return Ok(());
        }
        self.listen_anew(&mut listening).await
    }

    /// The level that requests to a modern server name from here on.
    pub(crate) fn name_log_level(&self, level: LogLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Whether requests to a modern server repeat arguments in headers.
    pub(crate) fn has_headers(&self) -> bool {
        matches!(self.link, Link::Http(_))
    }

    /// What is kept from a child that a launcher started; nothing over HTTP.
    pub(crate) async fn enforced(&self) -> Result<Option<EnforcedConfinement>, McpError> {
        match &self.link {
            Link::Stdio(link) => link.enforced().await,
            Link::Http(_) => Ok(None),
        }
    }

    /// The end of the child's standard error; empty over HTTP.
    pub(crate) fn stderr(&self) -> String {
        match &self.link {
            Link::Stdio(link) => link.stderr(),
            Link::Http(_) => String::new(),
        }
    }

    /// Ends the connection in good order.
    pub(crate) async fn close(&self) {
        self.inbox.pending.close(&McpError::Shutdown { upstream: self.config.name.clone() });
        self.inbox.asked.cancel_all();
        match &self.link {
            Link::Stdio(link) => link.close().await,
            Link::Http(link) => link.close().await,
        }
    }

    /// Ends the connection without waiting for anybody.
    pub(crate) fn kill(&self) {
        self.inbox.pending.close(&McpError::Shutdown { upstream: self.config.name.clone() });
        self.inbox.asked.cancel_all();
        match &self.link {
            Link::Stdio(link) => link.kill(),
            Link::Http(link) => link.stop_listening(),
        }
    }

    async fn exchange(&self, mut ask: Ask<'_>) -> Result<RpcResult, McpError> {
        let id = self.inbox.pending.next_id();
        let body = self.encode(id, &mut ask)?;
        let ended = || McpError::Shutdown { upstream: self.config.name.clone() };
        let mut cancel = CancelGuard { wire: self, id, tell: ask.method != "initialize" };
        let answer = match &self.link {
            Link::Stdio(link) => {
                let reply = self.inbox.pending.open(id, ask.late)?;
                link.send(body).await?;
                reply.await.unwrap_or_else(|_| Err(ended()))
            }
            Link::Http(link) => {
                // A call that is given up closes its stream: no late answer can come.
                let reply = self.inbox.pending.open(id, None)?;
                let Ask { method, name, era, client, headers, .. } = ask;
                // In the modern era, and in no other, closing the stream is the cancellation.
                cancel.tell &= era == Era::Legacy;
                let exchange = Exchange { id, method, name, headers, client };
                tokio::select! {
                    answer = link.exchange(&exchange, body) => answer,
                    reply = reply => reply.unwrap_or_else(|_| Err(ended())),
                }
            }
        };
        cancel.tell = false;
        answer
    }

    fn encode(&self, id: u64, ask: &mut Ask<'_>) -> Result<Vec<u8>, McpError> {
        let mut params = std::mem::take(&mut ask.params);
        let mut meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.remove("progressToken");
        if let Some(token) = ask.progress {
            meta.insert("progressToken".to_owned(), Value::from(token));
        }
        if ask.era == Era::Modern {
            let level = *self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
            introduce(&self.config, level, &mut meta);
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": ask.method, "params": params});
        let body = message.to_string().into_bytes();
        if body.len() > self.config.limits.message_bytes {
            let (upstream, bytes) = (self.config.name.clone(), body.len());
            return Err(McpError::RequestTooLarge { upstream, method: ask.method, bytes });
        }
        Ok(body)
    }

    /// Makes a request whose answer nobody waits for.
    pub(crate) fn ask_aside(&self, mut ask: Ask<'_>) {
        let (id, method) = (self.inbox.pending.next_id(), ask.method);
        let Ok(body) = self.encode(id, &mut ask) else { return };
        self.send_aside(method, body);
    }

    fn send_aside(&self, method: &'static str, body: Vec<u8>) {
        match &self.link {
            Link::Stdio(link) => link.try_send(body),
            Link::Http(link) => {
                let link = Arc::clone(link);
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn(async move {
                        let _ = link.notify(method, body).await;
                    });
                }
            }
        }
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, McpError> {
        if let Ok(place) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(place);
        }
        let limit = self.config.limits.waiting;
        let upstream = self.config.name.clone();
        let queued = QueuePlace::join(&self.waiting);
        if queued.ahead >= limit {
            return Err(McpError::TooManyCalls { upstream, waiting: limit });
        }
        let place = Arc::clone(&self.slots).acquire_owned().await;
        place.map_err(|_| McpError::Shutdown { upstream })
    }

    fn cancel(&self, id: u64) {
        let params = json!({"requestId": id, "reason": "the caller no longer waits"});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.send_aside("notifications/cancelled", message.to_string().into_bytes());
    }
}

impl Drop for Wire {
    /// The listening task holds the link, so the link's own end would come too late.
    fn drop(&mut self) {
        if let Link::Http(link) = &self.link {
            link.stop_listening();
        }
    }
}

/// A caller that waits for a place.
struct QueuePlace<'a> {
    count: &'a AtomicUsize,
    ahead: usize,
}

impl<'a> QueuePlace<'a> {
    fn join(count: &'a AtomicUsize) -> Self {
        Self { count, ahead: count.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Forgets the request when its future is dropped, and tells the server.
struct CancelGuard<'a> {
    wire: &'a Wire,
    id: u64,
    tell: bool,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        let open = self.wire.inbox.pending.give_up(self.id);
        if self.tell && open {
            self.wire.cancel(self.id);
        }
    }
}
