//! A connection after its handshake: listing and calling tools.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tokio::time::timeout;

use super::call::{CallOutcome, CallRequest, Reply};
use super::config::UpstreamConfig;
use super::error::McpError;
use super::inbox::{Counts, Inbox};
use super::lifecycle::{self, ServerInfo};
use super::pending::LateSink;
use super::tool::{ListedTool, Page};
use super::wire::{Ask, Wire};
use crate::confine::Enforced;

/// Longest cursor of a list, in bytes.
const LONGEST_CURSOR: usize = 4 * 1024;

/// One live connection to a server. It does not come back when it ends; an
/// [`Upstream`](super::Upstream) does. Dropping it ends the child process at once.
pub struct Connection {
    wire: Wire,
    server: ServerInfo,
    enforced: Option<Enforced>,
    generation: u64,
    listed: AtomicBool,
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
        Ok(Self { wire, server, enforced, generation: 0, listed: AtomicBool::new(false) })
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
    pub fn enforced(&self) -> Option<&Enforced> {
        self.enforced.as_ref()
    }

    /// Lists all tools, page after page, in the server's order.
    ///
    /// # Errors
    ///
    /// [`McpError`]; among others when there are too many pages, tools or bytes, when a cursor
    /// comes twice or is too long, or when the whole takes too long.
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>, McpError> {
        self.wire.inbox.clear_tools_stale();
        let mut unlisted = Unlisted { inbox: &self.wire.inbox, listed: false };
        let limit = self.wire.config.limits.list_time;
        let listed = timeout(limit, self.pages()).await;
        let listed =
            listed.map_err(|_| self.refused_list("it takes longer than the limit")).flatten();
        unlisted.listed = listed.is_ok();
        if listed.is_ok() {
            self.listed.store(true, Ordering::Release);
        }
        listed
    }

    async fn pages(&self) -> Result<Vec<ListedTool>, McpError> {
        let limits = &self.wire.config.limits;
        let mut tools = Vec::new();
        let mut seen = BTreeSet::new();
        let mut cursor: Option<String> = None;
        let mut bytes = 0_usize;
        for _ in 0..limits.list_pages {
            let reply = self.page(cursor.take()).await?;
            bytes = bytes.saturating_add(reply.raw().len());
            if bytes > limits.list_bytes {
                return Err(self.refused_list("it has more bytes than the limit"));
            }
            let page = Page::read(reply).map_err(|fault| self.wire.inbox.malformed(fault))?;
            if tools.len().saturating_add(page.tools.len()) > limits.tools {
                return Err(self.refused_list("it has more tools than the limit"));
            }
            tools.extend(page.tools);
            match page.next {
                None => return Ok(tools),
                Some(next) if next.len() > LONGEST_CURSOR => {
                    return Err(self.refused_list("a cursor is longer than 4 KiB"));
                }
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(_) => return Err(self.refused_list("a cursor came twice, so it has no end")),
            }
        }
        Err(self.refused_list("it has more pages than the limit"))
    }

    async fn page(&self, cursor: Option<String>) -> Result<Reply, McpError> {
        let method = "tools/list";
        let mut params = Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), Value::String(cursor));
        }
        let (era, limit) = (self.server.era(), self.wire.config.limits.list_timeout);
        let ask = Ask { method, name: None, params, era, limit, progress: None, late: None };
        self.wire.request(ask).await?.map_err(|error| McpError::Refused {
            upstream: self.wire.config.name.clone(),
            method,
            error,
        })
    }

    /// Calls a tool once. When the future is dropped, the server is told to cancel.
    ///
    /// # Errors
    ///
    /// [`McpError`] when there is no valid reply. A JSON-RPC error is an outcome, not an error.
    pub async fn call(&self, request: CallRequest) -> Result<CallOutcome, McpError> {
        let era = self.server.era();
        let limit = request.timeout.unwrap_or(self.wire.config.limits.call_timeout);
        let mut params = Map::new();
        params.insert("name".to_owned(), Value::String(request.name.clone()));
        params.insert("arguments".to_owned(), Value::Object(request.arguments));
        if !request.meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(request.meta));
        }
        let upstream = self.wire.config.name.clone();
        let late = request.late.map(|tell| -> LateSink {
            Box::new(move |outcome| {
                let sorted = outcome.and_then(|answer| {
                    let malformed = |fault| McpError::Malformed { upstream, fault };
                    CallOutcome::sort(answer, era).map_err(malformed)
                });
                tell(sorted);
            })
        });
        let (name, progress) = (Some(request.name.as_str()), request.progress);
        let ask = Ask { method: "tools/call", name, params, era, limit, progress, late };
        let answer = self.wire.request(ask).await?;
        CallOutcome::sort(answer, era).map_err(|fault| self.wire.inbox.malformed(fault))
    }

    /// Whether the server said that its tools changed since they were last listed.
    #[must_use]
    pub fn tools_stale(&self) -> bool {
        self.wire.inbox.tools_stale()
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

    fn refused_list(&self, reason: &'static str) -> McpError {
        McpError::ToolList { upstream: self.wire.config.name.clone(), reason }
    }
}

/// A listing under way. One that fails or is abandoned leaves the tools stale.
struct Unlisted<'a> {
    inbox: &'a Inbox,
    listed: bool,
}

impl Drop for Unlisted<'_> {
    fn drop(&mut self) {
        if !self.listed {
            self.inbox.mark_tools_stale();
        }
    }
}
