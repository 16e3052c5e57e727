//! A connection after its handshake: what a server lists, and requests of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use weaver_types::ProgressSink;

use super::ask::{Ask, CLIENT_CAPABILITIES};
use super::call::{CallOutcome, CallRequest, Reply};
use super::config::{Era, UpstreamConfig};
use super::error::{McpError, RpcError};
use super::inbox::{Counts, Inbox};
use super::lifecycle::{self, ServerInfo};
use super::listing::{ListPage, ListedItem, ListedTool};
use super::method::Method;
use super::notification::LogLevel;
use super::parameter_headers::ParameterHeaders;
use super::pending_requests::LateSink;
use super::progress_token::ProgressToken;
use super::server_list::ServerList;
use super::server_request::RequestHandler;
use super::wire::Wire;
use crate::confine::EnforcedConfinement;
use crate::escape::escape;

/// Longest cursor of a list, in bytes.
const LONGEST_CURSOR: usize = 4 * 1024;

/// One live connection to a server. It does not come back when it ends; an
/// [`Upstream`](super::Upstream) does. Dropping it ends the child process at once.
pub struct Connection {
    wire: Wire,
    server: ServerInfo,
    enforced: Option<EnforcedConfinement>,
    generation: u64,
    listed: AtomicBool,
    /// The headers that repeat arguments, by tool.
    headers: RwLock<BTreeMap<String, ParameterHeaders>>,
}

impl Connection {
    /// Starts or reaches the server and does the handshake. Needs a tokio runtime with IO and time.
    ///
    /// # Errors
    ///
    /// [`McpError`]: the command cannot be started, no connection, no answer in time, no common
    /// version, or an answer that breaks the protocol.
    pub async fn connect(config: Arc<UpstreamConfig>) -> Result<Self, McpError> {
        let wire = Wire::open(config)?;
        let (enforced, server) = lifecycle::handshake(&wire).await?;
        let (listed, headers) = (AtomicBool::new(false), RwLock::default());
        Ok(Self { wire, server, enforced, generation: 0, listed, headers })
    }

    /// The same connection with its number among those of one upstream.
    pub(crate) fn numbered(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// Which connection of its [`Upstream`](super::Upstream) this is, counted from 1 and never used
    /// twice; 0 for one that was made without an upstream.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What the server said in the handshake.
    #[must_use]
    pub fn server(&self) -> &ServerInfo {
        &self.server
    }

    /// What is kept from the child; `None` where no launcher started it, and over HTTP.
    #[must_use]
    pub fn enforced(&self) -> Option<&EnforcedConfinement> {
        self.enforced.as_ref()
    }

    /// Lists all tools, page after page, in the server's order.
    ///
    /// # Errors
    ///
    /// As [`Connection::list`].
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>, McpError> {
        let mut items = self.list(ServerList::Tools).await?;
        self.listed.store(true, Ordering::Release);
        if self.server.era() == Era::Modern && self.wire.has_headers() {
            self.take_headers(&mut items);
        }
        Ok(items.into_iter().map(ListedTool::from).collect())
    }

    /// Keeps which arguments of the tools stand in headers too. A tool that names headers which
    /// cannot be is left out, as the protocol demands.
    fn take_headers(&self, tools: &mut Vec<ListedItem>) {
        let mut headers = BTreeMap::new();
        tools.retain(|tool| match ParameterHeaders::of(tool.value()) {
            Some(found) => {
                headers.insert(tool.identifier().to_owned(), found);
                true
            }
            None => {
                let (upstream, tool) = (&self.wire.config.name, escape(tool.identifier()));
                tracing::warn!(%upstream, %tool, "a tool is left out: its headers cannot be");
                false
            }
        });
        *self.headers.write().unwrap_or_else(PoisonError::into_inner) = headers;
    }

    fn headers_of(&self, request: &CallRequest) -> Vec<(HeaderName, HeaderValue)> {
        if request.method != Method::CallTool {
            return Vec::new();
        }
        let known = self.headers.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&request.name).map(|known| known.values(&request.arguments)).unwrap_or_default()
    }

    /// Lists all items of a list, page after page, in the server's order.
    ///
    /// # Errors
    ///
    /// [`McpError`]; among others when there are too many pages, items or bytes, when a cursor
    /// comes twice or is too long, or when the whole takes too long.
    pub async fn list(&self, list: ServerList) -> Result<Vec<ListedItem>, McpError> {
        self.wire.inbox.clear_stale(list);
        let mut unlisted = ListingGuard { inbox: &self.wire.inbox, list, listed: false };
        let limit = self.wire.config.limits.list_time;
        let listed = timeout(limit, self.pages(list)).await;
        let listed =
            listed.map_err(|_| self.refused_list(list, "it takes longer than the limit")).flatten();
        // A server that refuses a list beside that of its tools would refuse it again.
        let refused = matches!(listed, Err(McpError::Refused { .. }));
        unlisted.listed = listed.is_ok() || (refused && list != ServerList::Tools);
        listed
    }

    async fn pages(&self, list: ServerList) -> Result<Vec<ListedItem>, McpError> {
        let limits = &self.wire.config.limits;
        let refused = |reason| self.refused_list(list, reason);
        let mut items = Vec::new();
        let mut seen = BTreeSet::new();
        let mut cursor: Option<String> = None;
        let mut bytes = 0_usize;
        for _ in 0..limits.list_pages {
            let reply = self.page(list, cursor.take()).await?;
            bytes = bytes.saturating_add(reply.raw().len());
            if bytes > limits.list_bytes {
                return Err(refused("it has more bytes than the limit"));
            }
            let page =
                ListPage::read(list, reply).map_err(|fault| self.wire.inbox.malformed(fault))?;
            if items.len().saturating_add(page.items.len()) > limits.tools {
                return Err(refused("it has more items than the limit"));
            }
            items.extend(page.items);
            match page.next {
                None => return Ok(items),
                Some(next) if next.len() > LONGEST_CURSOR => {
                    return Err(refused("a cursor is longer than 4 KiB"));
                }
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(_) => return Err(refused("a cursor came twice, so it has no end")),
            }
        }
        Err(refused("it has more pages than the limit"))
    }

    async fn page(&self, list: ServerList, cursor: Option<String>) -> Result<Reply, McpError> {
        let method = list.method();
        let mut params = Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), Value::String(cursor));
        }
        let (era, limit) = (self.server.era(), self.wire.config.limits.list_timeout);
        let ask = Ask { params, ..Ask::new(method, era, limit) };
        self.wire.request(ask).await?.map_err(|error| self.refused(method, error))
    }

    /// Asks to be told when a resource changes.
    ///
    /// # Errors
    ///
    /// [`McpError`] when the server refuses, or too many are watched already.
    pub async fn subscribe(&self, uri: &str) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.settle(Method::Subscribe, uri).await,
            Era::Modern => self.wire.watch(uri).await,
        }
    }

    /// Asks no longer to be told of a resource.
    ///
    /// # Errors
    ///
    /// [`McpError`] when the server refuses.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.settle(Method::Unsubscribe, uri).await,
            Era::Modern => self.wire.unwatch(uri).await,
        }
    }

    /// Names the level from which on log messages are wanted. In the modern era the next requests
    /// name it.
    ///
    /// # Errors
    ///
    /// [`McpError`] when the server refuses.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.settle(Method::SetLogLevel, level.as_str()).await,
            Era::Modern => {
                self.wire.name_log_level(level);
                Ok(())
            }
        }
    }

    /// Tells the server that the roots of its client are no longer as they were. A modern server
    /// asks anew with each of its calls.
    ///
    /// # Errors
    ///
    /// [`McpError`] when the server is gone.
    pub async fn tell_roots_changed(&self) -> Result<(), McpError> {
        match self.server.era() {
            Era::Legacy => self.wire.notify("notifications/roots/list_changed").await,
            Era::Modern => Ok(()),
        }
    }

    /// A request whose result has nothing in it.
    async fn settle(&self, method: Method, name: &str) -> Result<(), McpError> {
        let limit = self.wire.config.limits.list_timeout;
        let request = CallRequest::of(method, name, Map::new()).timeout(limit);
        match self.call(request).await? {
            CallOutcome::Error(error) => Err(self.refused(method.as_str(), error)),
            _ => Ok(()),
        }
    }

    fn refused(&self, method: &'static str, error: RpcError) -> McpError {
        McpError::Refused { upstream: self.wire.config.name.clone(), method, error }
    }

    /// Makes a request once: most often, calls a tool. When the future is dropped, the server is told
    /// to cancel.
    ///
    /// # Errors
    ///
    /// [`McpError`] when there is no valid reply. A JSON-RPC error is an outcome, not an error.
    pub async fn call(&self, mut request: CallRequest) -> Result<CallOutcome, McpError> {
        let token = request.progress.take().map(|sink| self.progress_token(sink));
        self.call_under(token.as_ref(), request).await
    }

    /// A token under which progress goes to `sink`, until it is dropped.
    pub(super) fn progress_token(&self, sink: ProgressSink) -> ProgressToken<'_> {
        let inbox = &self.wire.inbox;
        inbox.progress.open(inbox.pending.next_id(), sink)
    }

    /// As [`Connection::call`], with progress told under a token of the caller's.
    pub(super) async fn call_under(
        &self,
        token: Option<&ProgressToken<'_>>,
        request: CallRequest,
    ) -> Result<CallOutcome, McpError> {
        let era = self.server.era();
        let limit = request.timeout.unwrap_or(self.wire.config.limits.call_timeout);
        let (method, headers) = (request.method, self.headers_of(&request));
        let mut params = method.params(&request.name, request.arguments);
        if let Some(input) = request.input {
            input.add_to(&mut params);
        }
        let mut meta = request.meta;
        if era == Era::Modern && !meta.contains_key(CLIENT_CAPABILITIES) {
            let said = match &request.client {
                Some(client) => client.capabilities(),
                None => self.wire.config.client_capabilities.clone(),
            };
            let said = if method == Method::CallTool { self.with_tasks(said) } else { said };
            meta.insert(CLIENT_CAPABILITIES.to_owned(), said.into());
        }
        if request.as_task && era == Era::Legacy && self.takes_tasks() {
            let kept = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            params.insert("task".to_owned(), json!({ "ttl": kept }));
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let upstream = self.wire.config.name.clone();
        let late = request.late.map(|tell| -> LateSink {
            Box::new(move |outcome| {
                let sorted = outcome.and_then(|answer| {
                    let malformed = |fault| McpError::Malformed { upstream, fault };
                    CallOutcome::sort(method, answer, era).map_err(malformed)
                });
                tell(sorted);
            })
        });
        let name = Some(request.name).filter(|_| method.has_name_header());
        let name = name.as_deref();
        let CallRequest { client, timer, .. } = request;
        let ask = Ask {
            name,
            params,
            progress: token.map(ProgressToken::number),
            late,
            headers,
            client,
            timer,
            ..Ask::new(method.as_str(), era, limit)
        };
        let answer = self.wire.request(ask).await?;
        CallOutcome::sort(method, answer, era).map_err(|fault| self.wire.inbox.malformed(fault))
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    pub(crate) fn request_handler(&self) -> Option<&RequestHandler> {
        self.wire.config.request_handler.as_ref()
    }

    /// Whether the server said that its tools changed since they were last listed.
    #[must_use]
    pub fn tools_stale(&self) -> bool {
        self.is_stale(ServerList::Tools)
    }

    /// Whether the server said that the list changed since it was last asked for.
    #[must_use]
    pub fn is_stale(&self, list: ServerList) -> bool {
        self.wire.inbox.is_stale(list)
    }

    /// Whether its tools were ever listed to the end.
    #[must_use]
    pub fn tools_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// How many messages came in that no caller saw.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.wire.inbox.counts()
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn closed(&self) -> Option<McpError> {
        self.wire.inbox.pending.closed()
    }

    /// Ends the connection in good order: a child gets two seconds after its input is closed, an
    /// HTTP session is deleted. Pending calls fail at once.
    pub async fn close(&self) {
        self.wire.close().await;
    }

    /// Ends the child at once. Pending calls fail.
    pub(crate) fn kill(&self) {
        self.wire.kill();
    }

    /// Takes no further calls; those that are under way may still be answered.
    pub(crate) fn retire(&self, reason: &McpError) {
        self.wire.inbox.pending.retire(reason);
    }

    fn refused_list(&self, list: ServerList, reason: &'static str) -> McpError {
        McpError::List { upstream: self.wire.config.name.clone(), list, reason }
    }
}

/// A listing under way. One that fails or is abandoned leaves the list stale.
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
