//! A connection after its handshake: lists, subscriptions and requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use weaver_types::ProgressSink;

use super::call::{CallOutcome, CallRequest, Reply};
use super::config::{Era, UpstreamConfig};
use super::error::{McpError, McpErrorKind, RpcError};
use super::inbox::{Inbox, MessageCounts};
use super::lifecycle::{self, ServerInfo};
use super::listing::{ListPage, ListedItem, ListedTool};
use super::method::Method;
use super::notification::LogLevel;
use super::outgoing_request::{CLIENT_CAPABILITIES, OutgoingRequest};
use super::parameter_headers::ParameterHeaders;
use super::pending_requests::LateSink;
use super::progress_token::ProgressToken;
use super::rpc_channel::RpcChannel;
use super::server_list::ServerList;
use super::server_request::RequestHandler;
use crate::confine::EnforcedConfinement;
use crate::escape::escape;

/// Longest cursor of a list.
const MAX_CURSOR_BYTES: usize = 4 * 1024;

/// One live connection to a server. A connection that has ended stays ended; [`Upstream`](super::Upstream) makes a new
/// one. Dropping it kills the child process.
pub struct Connection {
    channel: RpcChannel,
    server: ServerInfo,
    enforced: Option<EnforcedConfinement>,
    generation: u64,
    tools_listed: AtomicBool,
    /// The headers that repeat arguments, by tool.
    parameter_headers: RwLock<BTreeMap<String, ParameterHeaders>>,
}

weaver_types::opaque_debug!(Connection);

impl Connection {
    /// Starts or reaches the server and does the handshake. Needs a tokio runtime with IO and time.
    ///
    /// # Errors
    /// [`McpError`]: the command cannot be started, no connection, no answer in time, no common
    /// version, or an answer that breaks the protocol.
    pub async fn connect(config: Arc<UpstreamConfig>) -> Result<Self, McpError> {
        Self::over(RpcChannel::open(config)?).await
    }

    /// Does the handshake with a server that was started or can be reached.
    pub(crate) async fn over(channel: RpcChannel) -> Result<Self, McpError> {
        let (enforced, server) = lifecycle::handshake(&channel).await?;
        let (tools_listed, parameter_headers) = (AtomicBool::new(false), RwLock::default());
        Ok(Self { channel, server, enforced, generation: 0, tools_listed, parameter_headers })
    }

    /// Sets the generation, which identifies this connection among those of one upstream.
    pub(crate) fn with_generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// Identifies this connection among all that an [`Upstream`](super::Upstream) made in this process; 0 for one made
    /// without an upstream.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What the server said in the handshake.
    #[must_use]
    pub fn server(&self) -> &ServerInfo {
        &self.server
    }

    /// The confinement of the child as its launcher reported it; `None` without a launcher and over HTTP.
    #[must_use]
    pub fn enforced(&self) -> Option<&EnforcedConfinement> {
        self.enforced.as_ref()
    }

    /// Lists all tools, page after page, in the server's order.
    ///
    /// # Errors
    /// As [`Connection::list`].
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>, McpError> {
        let mut items = self.list(ServerList::Tools).await?;
        self.tools_listed.store(true, Ordering::Release);
        if self.server.era() == Era::Modern && self.channel.uses_http_headers() {
            self.store_parameter_headers(&mut items);
        }
        Ok(items.into_iter().map(ListedTool::from).collect())
    }

    /// Records which arguments of the tools are repeated in headers. Tools whose header declarations are invalid are
    /// removed from the list, as the protocol demands.
    fn store_parameter_headers(&self, tools: &mut Vec<ListedItem>) {
        let mut by_tool = BTreeMap::new();
        tools.retain(|tool| match ParameterHeaders::from_tool(tool.value()) {
            Some(headers_of_tool) => {
                by_tool.insert(tool.identifier().to_owned(), headers_of_tool);
                true
            }
            None => {
                let (upstream, tool) = (&self.channel.config.name, escape(tool.identifier()));
                tracing::warn!(%upstream, %tool, "a tool is left out: its headers cannot be");
                false
            }
        });
        *self.parameter_headers.write().unwrap_or_else(PoisonError::into_inner) = by_tool;
    }

    fn parameter_headers_for(&self, request: &CallRequest) -> Vec<(HeaderName, HeaderValue)> {
        if request.method != Method::CallTool {
            return Vec::new();
        }
        let by_tool = self.parameter_headers.read().unwrap_or_else(PoisonError::into_inner);
        by_tool
            .get(&request.name)
            .map(|headers| headers.for_arguments(&request.arguments))
            .unwrap_or_default()
    }

    /// Lists all items of a list, page after page, in the server's order.
    ///
    /// # Errors
    /// [`McpError`], for example when there are too many pages, items or bytes, when a cursor repeats or is too long,
    /// or when the list takes too long.
    pub async fn list(&self, list: ServerList) -> Result<Vec<ListedItem>, McpError> {
        self.channel.inbox.clear_stale(list);
        let mut guard = ListingGuard { inbox: &self.channel.inbox, list, listed: false };
        let limit = self.channel.config.limits.list_total_timeout;
        let outcome = timeout(limit, self.list_pages(list)).await;
        let outcome =
            outcome.map_err(|_| self.list_error(list, "it takes longer than the limit")).flatten();
        // A server that refuses a list other than its tools would refuse it again, so the list is not left stale.
        let is_refused = outcome.as_ref().is_err_and(McpError::is_refusal);
        guard.listed = outcome.is_ok() || (is_refused && list != ServerList::Tools);
        outcome
    }

    async fn list_pages(&self, list: ServerList) -> Result<Vec<ListedItem>, McpError> {
        let limits = &self.channel.config.limits;
        let refused = |reason| self.list_error(list, reason);
        let mut items = Vec::new();
        let mut seen = BTreeSet::new();
        let mut cursor: Option<String> = None;
        let mut bytes = 0_usize;
        for _ in 0..limits.list_pages {
            let reply = self.fetch_page(list, cursor.take()).await?;
            bytes = bytes.saturating_add(reply.raw().len());
            if bytes > limits.list_bytes {
                return Err(refused("it has more bytes than the limit"));
            }
            let page = ListPage::parse(list, reply)
                .map_err(|fault| self.channel.inbox.malformed(fault))?;
            if items.len().saturating_add(page.items.len()) > limits.tools {
                return Err(refused("it has more items than the limit"));
            }
            items.extend(page.items);
            match page.next {
                None => return Ok(items),
                Some(next) if next.len() > MAX_CURSOR_BYTES => {
                    return Err(refused("a cursor is longer than 4 KiB"));
                }
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(_) => return Err(refused("a cursor came twice, so it has no end")),
            }
        }
        Err(refused("it has more pages than the limit"))
    }

    async fn fetch_page(
        &self,
        list: ServerList,
        cursor: Option<String>,
    ) -> Result<Reply, McpError> {
        let method = list.method();
        let mut params = Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), Value::String(cursor));
        }
        let (era, limit) = (self.server.era(), self.channel.config.limits.list_page_timeout);
        let ask = OutgoingRequest { params, ..OutgoingRequest::new(method, era, limit) };
        self.channel.request(ask).await?.map_err(|error| self.refused_error(method, error))
    }

    /// Asks to be told when a resource changes.
    ///
    /// # Errors
    /// [`McpError`] when the server refuses, or too many are watched already.
    pub async fn subscribe(&self, uri: &str) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.request_without_result(Method::Subscribe, uri).await,
            Era::Modern => self.channel.subscribe(uri).await,
        }
    }

    /// Cancels a subscription to a resource.
    ///
    /// # Errors
    /// [`McpError`] when the server refuses.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.request_without_result(Method::Unsubscribe, uri).await,
            Era::Modern => self.channel.unsubscribe(uri).await,
        }
    }

    /// Sets the lowest level of log messages to receive. In the modern era each later request names it.
    ///
    /// # Errors
    /// [`McpError`] when the server refuses.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.request_without_result(Method::SetLogLevel, level.as_str()).await,
            Era::Modern => {
                self.channel.set_log_level(level);
                Ok(())
            }
        }
    }

    /// Tells a legacy server that the roots of its client have changed. A modern server asks for roots in each call.
    ///
    /// # Errors
    /// [`McpError`] when the server is gone.
    pub async fn tell_roots_changed(&self) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.channel.notify("notifications/roots/list_changed").await,
            Era::Modern => Ok(()),
        }
    }

    /// Makes a request whose result carries no data.
    async fn request_without_result(&self, method: Method, name: &str) -> Result<(), McpError> {
        let limit = self.channel.config.limits.list_page_timeout;
        let request = CallRequest::with_method(method, name, Map::new()).timeout(limit);
        match self.call(request).await? {
            CallOutcome::Error(error) => Err(self.refused_error(method.as_str(), error)),
            _ => Ok(()),
        }
    }

    fn refused_error(&self, method: &'static str, error: RpcError) -> McpError {
        self.channel.error(McpErrorKind::Refused { method, error })
    }

    /// Makes a request once. Dropping the future sends the server a cancellation.
    ///
    /// # Errors
    /// [`McpError`] when there is no valid reply. A JSON-RPC error is an outcome, not an error.
    pub async fn call(&self, mut request: CallRequest) -> Result<CallOutcome, McpError> {
        let token = request.progress.take().map(|sink| self.progress_token(sink));
        self.call_with_progress_token(token.as_ref(), request).await
    }

    /// Registers a progress token whose reports go to `sink` until it is dropped.
    pub(super) fn progress_token(&self, sink: ProgressSink) -> ProgressToken<'_> {
        let inbox = &self.channel.inbox;
        inbox.progress.register(inbox.pending.next_id(), sink)
    }

    /// As [`Connection::call`], with progress reported under the caller's token.
    pub(super) async fn call_with_progress_token(
        &self,
        token: Option<&ProgressToken<'_>>,
        request: CallRequest,
    ) -> Result<CallOutcome, McpError> {
        let era = self.server.era();
        let limit = request.timeout.unwrap_or(self.channel.config.limits.call_timeout);
        let (method, headers) = (request.method, self.parameter_headers_for(&request));
        let mut params = method.params(&request.name, request.arguments);
        if let Some(input) = request.input_responses {
            input.add_to(&mut params);
        }
        let mut meta = request.meta;
        if era == Era::Modern && !meta.contains_key(CLIENT_CAPABILITIES) {
            let client = request.client.as_ref();
            let capabilities = match method {
                Method::CallTool => self.capabilities_with_tasks(client),
                _ => self.declared_capabilities(client),
            };
            meta.insert(CLIENT_CAPABILITIES.to_owned(), capabilities.into());
        }
        if request.as_task && era == Era::Legacy && self.supports_tasks() {
            let ttl = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            params.insert("task".to_owned(), json!({ "ttl": ttl }));
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let upstream = self.channel.config.name.clone();
        let late_sink = request.on_late_answer.map(|handler| -> LateSink {
            Box::new(move |outcome| {
                let classified = outcome.and_then(|answer| {
                    let malformed = |fault| McpErrorKind::Malformed { fault }.at(&upstream);
                    CallOutcome::classify(method, answer, era).map_err(malformed)
                });
                handler(classified);
            })
        });
        let name = Some(request.name).filter(|_| method.has_name_header());
        let name = name.as_deref();
        let CallRequest { client, timer, .. } = request;
        let ask = OutgoingRequest {
            name,
            params,
            progress_token: token.map(ProgressToken::number),
            late_sink,
            headers,
            client,
            timer,
            ..OutgoingRequest::new(method.as_str(), era, limit)
        };
        let answer = self.channel.request(ask).await?;
        CallOutcome::classify(method, answer, era)
            .map_err(|fault| self.channel.inbox.malformed(fault))
    }

    pub(super) fn channel(&self) -> &RpcChannel {
        &self.channel
    }

    pub(crate) fn request_handler(&self) -> Option<&RequestHandler> {
        self.channel.config.request_handler.as_ref()
    }

    /// Whether the server said that its tools changed since they were last listed.
    #[must_use]
    pub fn tools_stale(&self) -> bool {
        self.is_stale(ServerList::Tools)
    }

    /// Whether the server has reported a change of the list since it was last requested.
    #[must_use]
    pub fn is_stale(&self, list: ServerList) -> bool {
        self.channel.inbox.is_stale(list)
    }

    /// Whether its tools have been listed completely at least once.
    #[must_use]
    pub fn tools_listed(&self) -> bool {
        self.tools_listed.load(Ordering::Acquire)
    }

    /// How many messages arrived that no caller saw.
    #[must_use]
    pub fn counts(&self) -> MessageCounts {
        self.channel.inbox.counts()
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn close_reason(&self) -> Option<McpError> {
        self.channel.inbox.pending.close_reason()
    }

    /// Closes the connection gracefully: a child gets two seconds after its input is closed; an HTTP session is
    /// deleted. Pending calls fail at once.
    pub async fn close(&self) {
        self.channel.close().await;
    }

    /// Kills the child at once. Pending calls fail.
    pub(crate) fn kill(&self) {
        self.channel.kill();
    }

    /// Accepts no further calls; those in flight may still be answered.
    pub(crate) fn retire(&self, reason: &McpError) {
        self.channel.inbox.pending.retire(reason);
    }

    fn list_error(&self, list: ServerList, reason: &'static str) -> McpError {
        self.channel.error(McpErrorKind::List { list, reason })
    }
}

/// Guards a listing in progress. A listing that fails or is abandoned leaves the list stale.
struct ListingGuard<'a> {
    inbox: &'a Inbox,
    list: ServerList,
    listed: bool,
}

impl Drop for ListingGuard<'_> {
    fn drop(&mut self) {
        if !self.listed {
            self.inbox.mark_stale(self.list);
        }
    }
}
