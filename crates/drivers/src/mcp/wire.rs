//! One connection: requests out, replies matched, bounds held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use weaver_types::ProgressSink;

use super::config::{Endpoint, Era, MODERN_VERSION, UpstreamConfig};
use super::error::McpError;
use super::http::{Exchange, HttpLink};
use super::inbox::Inbox;
use super::message::Answer;
use super::pending::LateSink;
use super::stdio::StdioLink;
use crate::confine::Enforced;

/// A request before it has an id.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    pub(crate) name: Option<&'a str>,
    pub(crate) params: Map<String, Value>,
    pub(crate) era: Era,
    pub(crate) limit: Duration,
    pub(crate) progress: Option<ProgressSink>,
    /// Told of an answer that comes after the caller has gone.
    pub(crate) late: Option<LateSink>,
}

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
}

impl Wire {
    /// Starts the child, or prepares the HTTP client. Nothing is said yet.
    pub(crate) fn open(config: Arc<UpstreamConfig>) -> Result<Self, McpError> {
        let inbox = Arc::new(Inbox::new(config.name.clone()));
        let bounds = (&config.limits, config.redactor.as_ref());
        let link = match &config.endpoint {
            Endpoint::Stdio(stdio) => {
                Link::Stdio(StdioLink::start(stdio, bounds, Arc::clone(&inbox))?)
            }
            Endpoint::Http(http) => {
                Link::Http(Arc::new(HttpLink::new(http, &config.limits, Arc::clone(&inbox))?))
            }
        };
        let slots = Arc::new(Semaphore::new(config.limits.in_flight.max(1)));
        Ok(Self { config, inbox, link, slots, waiting: AtomicUsize::new(0) })
    }

    /// Sends a request and waits for its answer, at most for its limit. When the caller stops
    /// waiting, the server is told.
    pub(crate) async fn request(&self, ask: Ask<'_>) -> Result<Answer, McpError> {
        let (method, limit) = (ask.method, ask.limit);
        let outcome = timeout(limit, async {
            let _place = self.place().await?;
            self.exchange(ask).await
        });
        outcome.await.unwrap_or_else(|_| {
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

    /// Asks to hear of changes to the tools. Over stdio a legacy server tells unasked.
    pub(crate) fn listen(&self, era: Era) {
        let body = match era {
            Era::Legacy => None,
            Era::Modern => {
                match self.encode(self.inbox.pending.next_id(), &mut subscription(era)) {
                    Ok(body) => Some(body),
                    Err(_) => return,
                }
            }
        };
        match (&self.link, body) {
            (Link::Stdio(_), None) => {}
            // Its answer, when the subscription ends, is of no use and counted as dropped.
            (Link::Stdio(link), Some(body)) => link.try_send(body),
            (Link::Http(link), body) => link.listen(body),
        }
    }

    /// What is kept from a child that a launcher started; nothing over HTTP.
    pub(crate) async fn enforced(&self) -> Result<Option<Enforced>, McpError> {
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
        match &self.link {
            Link::Stdio(link) => link.close().await,
            Link::Http(link) => link.close().await,
        }
    }

    /// Ends the connection without waiting for anybody.
    pub(crate) fn kill(&self) {
        self.inbox.pending.close(&McpError::Shutdown { upstream: self.config.name.clone() });
        match &self.link {
            Link::Stdio(link) => link.kill(),
            Link::Http(link) => link.stop_listening(),
        }
    }

    async fn exchange(&self, mut ask: Ask<'_>) -> Result<Answer, McpError> {
        let id = self.inbox.pending.next_id();
        let body = self.encode(id, &mut ask)?;
        let ended = || McpError::Shutdown { upstream: self.config.name.clone() };
        let mut cancel = CancelGuard { wire: self, id, tell: ask.method != "initialize" };
        let answer = match &self.link {
            Link::Stdio(link) => {
                let reply = self.inbox.pending.open(id, ask.progress, ask.late)?;
                link.send(body).await?;
                reply.await.unwrap_or_else(|_| Err(ended()))
            }
            Link::Http(link) => {
                // A call that is given up closes its stream: no late answer can come.
                let reply = self.inbox.pending.open(id, None, None)?;
                let Ask { method, name, progress, era, .. } = ask;
                // In the modern era, and in no other, closing the stream is the cancellation.
                cancel.tell &= era == Era::Legacy;
                let exchange = Exchange { id, method, name, progress };
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
        if ask.progress.is_some() {
            meta.insert("progressToken".to_owned(), Value::from(id));
        }
        if ask.era == Era::Modern {
            introduce(&self.config, &mut meta);
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

    async fn place(&self) -> Result<OwnedSemaphorePermit, McpError> {
        if let Ok(place) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(place);
        }
        let limit = self.config.limits.waiting;
        let upstream = self.config.name.clone();
        let queued = Queued::join(&self.waiting);
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
        let body = message.to_string().into_bytes();
        match &self.link {
            Link::Stdio(link) => link.try_send(body),
            Link::Http(link) => {
                let link = Arc::clone(link);
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn(async move {
                        let _ = link.notify("notifications/cancelled", body).await;
                    });
                }
            }
        }
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

/// What this client says of itself.
pub(crate) fn client_info(config: &UpstreamConfig) -> Value {
    json!({"name": config.client_name, "version": config.client_version})
}

const SUBSCRIBE: &str = "subscriptions/listen";

/// The request of the modern era for news of the tools.
fn subscription(era: Era) -> Ask<'static> {
    let mut params = Map::new();
    params.insert("notifications".to_owned(), json!({"toolsListChanged": true}));
    Ask {
        method: SUBSCRIBE,
        name: None,
        params,
        era,
        limit: Duration::ZERO,
        progress: None,
        late: None,
    }
}

/// What each request of the modern era says: version, client and capabilities.
fn introduce(config: &UpstreamConfig, meta: &mut Map<String, Value>) {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    meta.entry(key("clientCapabilities")).or_insert_with(|| json!({}));
    meta.insert(key("protocolVersion"), Value::from(MODERN_VERSION));
    meta.insert(key("clientInfo"), client_info(config));
}

/// A caller that waits for a place.
struct Queued<'a> {
    count: &'a AtomicUsize,
    ahead: usize,
}

impl<'a> Queued<'a> {
    fn join(count: &'a AtomicUsize) -> Self {
        Self { count, ahead: count.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for Queued<'_> {
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
        let open = self.wire.inbox.pending.forget(self.id);
        if self.tell && open {
            self.wire.cancel(self.id);
        }
    }
}
