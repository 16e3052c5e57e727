//! Sends JSON-RPC requests over a transport, matches their replies and enforces the bounds.

use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::config::{Endpoint, Era, UpstreamConfig};
use super::error::{McpError, McpErrorKind};
use super::http::{Exchange, HttpTransport, StreamState};
use super::inbox::Inbox;
use super::message::RpcResult;
use super::notification::LogLevel;
use super::outgoing_request::{OutgoingRequest, add_modern_meta, listen_request};
use super::queue_position::QueuePosition;
use super::silence::SentRequest;
use super::started_child::StartedChild;
use super::stdio::StdioTransport;
use super::subscription::SubscriptionFilter;
use crate::confine::EnforcedConfinement;

/// Most resources that one connection subscribes to. Each change of the set sends all of it again.
const MAX_SUBSCRIPTIONS: usize = 256;

enum Transport {
    Stdio(StdioTransport),
    Http(Arc<HttpTransport>),
}

/// An open connection to a server, before and after its handshake.
pub(crate) struct RpcChannel {
    pub(crate) config: Arc<UpstreamConfig>,
    pub(crate) inbox: Arc<Inbox>,
    transport: Transport,
    permits: Arc<Semaphore>,
    queued: AtomicUsize,
    /// Held while a filter is sent, so that the filter sent last is the newest one.
    listen_state: tokio::sync::Mutex<ListenState>,
    /// The log level that requests of the modern era carry.
    log_level: Mutex<Option<LogLevel>>,
}

/// The current subscription filter, and the request that carries it.
#[derive(Default)]
struct ListenState {
    filter: SubscriptionFilter,
    /// The id of the open `subscriptions/listen` request of the modern era over stdio.
    id: Option<u64>,
}

impl RpcChannel {
    /// Starts the child, or prepares the HTTP client. Nothing is sent yet.
    pub(crate) fn open(config: Arc<UpstreamConfig>) -> Result<Self, McpError> {
        let inbox = Arc::new(Inbox::new(&config));
        let transport = match &config.endpoint {
            Endpoint::Stdio(stdio) => Transport::Stdio(StdioTransport::start(
                stdio,
                &config.limits,
                config.redactor.as_ref(),
                Arc::clone(&inbox),
            )?),
            Endpoint::Http(http) => Transport::Http(Arc::new(HttpTransport::new(
                http,
                &config.limits,
                Arc::clone(&inbox),
            )?)),
        };
        inbox.open_requests.set_sink(match &transport {
            Transport::Stdio(transport) => transport.answer_sink(),
            Transport::Http(transport) => transport.answer_sink(),
        });
        let permits = Arc::new(Semaphore::new(config.limits.in_flight.max(1)));
        let (queued, log_level) = (AtomicUsize::new(0), Mutex::default());
        let listen_state = tokio::sync::Mutex::default();
        Ok(Self { config, inbox, transport, permits, queued, listen_state, log_level })
    }

    /// Sends a request and waits for its answer within its time limit. Dropping the future cancels the request at the
    /// server.
    pub(crate) async fn request(
        &self,
        mut ask: OutgoingRequest<'_>,
    ) -> Result<RpcResult, McpError> {
        let (method, limit) = (ask.method, ask.timeout);
        let timer = ask.timer.take();
        // Pinned here: a future that is passed by value is stored once more by whoever awaits it.
        let outcome = pin!(async {
            let _permit = self.acquire_permit().await?;
            self.exchange(ask).await
        });
        let outcome = match timer {
            Some(timer) => timer.timeout(limit, outcome).await,
            None => timeout(limit, outcome).await.ok(),
        };
        outcome.unwrap_or_else(|| Err(self.error(McpErrorKind::Timeout { method, after: limit })))
    }

    /// Whether the server still answers. One that fell silent in an earlier request is pinged. Over HTTP each request
    /// is answered by itself, so nothing is known.
    pub(crate) async fn is_answering(&self, era: Era) -> bool {
        let is_suspect = self.inbox.silence.is_suspect() && self.inbox.pending.open_count() == 0;
        if !matches!(self.transport, Transport::Stdio(_)) || !is_suspect {
            return true;
        }
        // Any answer will do, also that there is no such method.
        let limit = self.config.limits.ping_timeout;
        let ping = OutgoingRequest::new("ping", era, limit);
        let answer = timeout(limit, self.exchange(ping)).await;
        answer.is_ok_and(|answer| answer.is_ok()) || !self.inbox.silence.is_suspect()
    }

    pub(crate) fn error(&self, kind: McpErrorKind) -> McpError {
        kind.at(&self.config.name)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &'static str) -> Result<(), McpError> {
        let body = json!({"jsonrpc": "2.0", "method": method}).to_string().into_bytes();
        match &self.transport {
            Transport::Stdio(transport) => transport.send(body).await,
            Transport::Http(transport) => transport.notify(method, None, body).await,
        }
    }

    /// Sets the era and version that the handshake agreed on.
    pub(crate) fn set_negotiated(&self, era: Era, version: &str) {
        if let Transport::Http(transport) = &self.transport {
            transport.set_negotiated(era, version);
        }
    }

    /// Subscribes to what the filter names at a modern server.
    pub(crate) async fn listen(&self, filter: SubscriptionFilter) -> Result<(), McpError> {
        let mut listening = self.listen_state.lock().await;
        listening.filter = filter;
        if listening.filter.is_empty(Era::Modern) {
            return Ok(());
        }
        self.replace_listen_request(&mut listening).await
    }

    /// Opens the stream on which a legacy server sends notifications, and requests that belong to no call. Stdio needs
    /// no such stream.
    pub(crate) async fn open_notification_stream(
        &self,
        filter: &SubscriptionFilter,
    ) -> StreamState {
        let is_needed = self.config.request_handler.is_some() || !filter.is_empty(Era::Legacy);
        match &self.transport {
            Transport::Http(transport) if is_needed => {
                transport.start_notification_stream(None, filter.lists()).state().await
            }
            _ => StreamState::Open,
        }
    }

    /// Sends the whole filter in one new request, which replaces the previous one at a modern server.
    async fn replace_listen_request(&self, listening: &mut ListenState) -> Result<(), McpError> {
        let id = self.inbox.pending.next_id();
        let body = self.encode(id, &mut listen_request(listening.filter.params()))?;
        match &self.transport {
            // Its answer, sent when the subscription ends, is not needed and counted as dropped.
            Transport::Stdio(transport) => {
                transport.send(body).await?;
                if let Some(before) = listening.id.replace(id) {
                    self.cancel(before);
                }
            }
            Transport::Http(transport) => {
                transport.start_notification_stream(Some(body), listening.filter.lists());
            }
        }
        Ok(())
    }

    /// Adds a resource to the subscription at a modern server.
    pub(crate) async fn subscribe(&self, uri: &str) -> Result<(), McpError> {
        let mut listening = self.listen_state.lock().await;
        if listening.filter.uris.contains(uri) {
            return Ok(());
        }
        if listening.filter.uris.len() >= MAX_SUBSCRIPTIONS {
            let limit = MAX_SUBSCRIPTIONS;
            return Err(self.error(McpErrorKind::TooManySubscriptions { limit }));
        }
        listening.filter.uris.insert(uri.to_owned());
        let replaced = self.replace_listen_request(&mut listening).await;
        if replaced.is_err() {
            // The server did not get the new filter, so the old one still holds.
            listening.filter.uris.remove(uri);
        }
        replaced
    }

    /// Removes a resource from the subscription at a modern server.
    pub(crate) async fn unsubscribe(&self, uri: &str) -> Result<(), McpError> {
        let mut listening = self.listen_state.lock().await;
        if !listening.filter.uris.remove(uri) {
            return Ok(());
        }
        self.replace_listen_request(&mut listening).await
    }

    /// Sets the log level that requests to a modern server carry from now on.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Whether requests to a modern server repeat arguments in headers.
    pub(crate) fn uses_http_headers(&self) -> bool {
        matches!(self.transport, Transport::Http(_))
    }

    /// The confinement of a child that a launcher started; `None` over HTTP.
    pub(crate) async fn enforced(&self) -> Result<Option<EnforcedConfinement>, McpError> {
        match &self.transport {
            Transport::Stdio(transport) => transport.enforced().await,
            Transport::Http(_) => Ok(None),
        }
    }

    /// The child; `None` over HTTP.
    pub(crate) fn child(&self) -> Option<&StartedChild> {
        match &self.transport {
            Transport::Stdio(transport) => transport.child(),
            Transport::Http(_) => None,
        }
    }

    /// The end of the child's standard error; empty over HTTP.
    pub(crate) fn stderr(&self) -> String {
        match &self.transport {
            Transport::Stdio(transport) => transport.stderr(),
            Transport::Http(_) => String::new(),
        }
    }

    /// Closes the connection gracefully.
    pub(crate) async fn close(&self) {
        self.inbox.pending.close(&self.error(McpErrorKind::Shutdown));
        self.inbox.open_requests.cancel_all();
        match &self.transport {
            Transport::Stdio(transport) => transport.close().await,
            Transport::Http(transport) => transport.close().await,
        }
    }

    /// Ends the connection without waiting.
    pub(crate) fn kill(&self) {
        self.inbox.pending.close(&self.error(McpErrorKind::Shutdown));
        self.inbox.open_requests.cancel_all();
        match &self.transport {
            Transport::Stdio(transport) => transport.kill(),
            Transport::Http(transport) => transport.stop_listening(),
        }
    }

    async fn exchange(&self, mut ask: OutgoingRequest<'_>) -> Result<RpcResult, McpError> {
        let id = self.inbox.pending.next_id();
        let body = self.encode(id, &mut ask)?;
        let ended = || self.error(McpErrorKind::Shutdown);
        let mut cancel = CancelGuard::new(self, id, ask.method != "initialize");
        let answer = match &self.transport {
            Transport::Stdio(transport) => {
                let reply = self.inbox.pending.open(id, ask.late_sink)?;
                transport.send(body).await?;
                reply.await.unwrap_or_else(|_| Err(ended()))
            }
            Transport::Http(transport) => {
                // Abandoning a call closes its stream, so no late answer can arrive.
                let reply = self.inbox.pending.open(id, None)?;
                let OutgoingRequest { method, name, era, client, headers, .. } = ask;
                // In the modern era, and only there, closing the stream is the cancellation.
                cancel.notify_server &= era == Era::Legacy;
                let exchange = Exchange { id, method, name, headers, client };
                tokio::select! {
                    answer = Box::pin(transport.exchange(&exchange, body)) => answer,
                    reply = reply => reply.unwrap_or_else(|_| Err(ended())),
                }
            }
        };
        cancel.notify_server = false;
        answer
    }

    fn encode(&self, id: u64, ask: &mut OutgoingRequest<'_>) -> Result<Vec<u8>, McpError> {
        let mut params = std::mem::take(&mut ask.params);
        let mut meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.remove("progressToken");
        if let Some(token) = ask.progress_token {
            meta.insert("progressToken".to_owned(), Value::from(token));
        }
        if ask.era == Era::Modern {
            let level = *self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
            add_modern_meta(&self.config, level, &mut meta);
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": ask.method, "params": params});
        let body = message.to_string().into_bytes();
        let limit = self.config.limits.message_bytes;
        if body.len() > limit {
            let (method, bytes) = (ask.method, body.len());
            return Err(self.error(McpErrorKind::RequestTooLarge { method, bytes, limit }));
        }
        Ok(body)
    }

    /// Makes a request whose answer nobody waits for.
    pub(crate) fn request_unawaited(&self, mut ask: OutgoingRequest<'_>) {
        let (id, method) = (self.inbox.pending.next_id(), ask.method);
        let Ok(body) = self.encode(id, &mut ask) else { return };
        self.send_unawaited(method, ask.name, body);
    }

    fn send_unawaited(&self, method: &'static str, name: Option<&str>, body: Vec<u8>) {
        match &self.transport {
            Transport::Stdio(transport) => transport.try_send(body),
            Transport::Http(transport) => {
                let (transport, name) = (Arc::clone(transport), name.map(str::to_owned));
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn(async move {
                        let _ = transport.notify(method, name.as_deref(), body).await;
                    });
                }
            }
        }
    }

    async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, McpError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let limit = self.config.limits.queued_calls;
        let queued = QueuePosition::join(&self.queued);
        if queued.ahead >= limit {
            return Err(self.error(McpErrorKind::TooManyCalls { waiting: limit }));
        }
        let place = Arc::clone(&self.permits).acquire_owned().await;
        place.map_err(|_| self.error(McpErrorKind::Shutdown))
    }

    fn cancel(&self, id: u64) {
        let params = json!({"requestId": id, "reason": "the caller no longer waits"});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.send_unawaited("notifications/cancelled", None, message.to_string().into_bytes());
    }
}

impl Drop for RpcChannel {
    /// The stream's tasks hold the transport, so dropping the transport would come too late.
    fn drop(&mut self) {
        if let Transport::Http(link) = &self.transport {
            link.stop_listening();
        }
    }
}

/// Abandons the request when its future is dropped, and notifies the server.
struct CancelGuard<'a> {
    channel: &'a RpcChannel,
    id: u64,
    notify_server: bool,
    sent: SentRequest,
}

impl<'a> CancelGuard<'a> {
    fn new(channel: &'a RpcChannel, id: u64, notify_server: bool) -> Self {
        Self { channel, id, notify_server, sent: channel.inbox.silence.note_request() }
    }
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        let open = self.channel.inbox.pending.abandon(self.id);
        if open {
            self.channel.inbox.silence.note_abandoned(self.sent);
        }
        if self.notify_server && open {
            self.channel.cancel(self.id);
        }
    }
}
