//! The inbox for messages from the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use serde_json::value::RawValue;

use super::client_features::ClientFeatures;
use super::config::UpstreamConfig;
use super::error::{McpError, RpcError};
use super::fault::Fault;
use super::message::{self, IncomingMessage};
use super::notification::{NotificationSink, ServerNotification};
use super::pending_requests::{Delivery, PendingRequests};
use super::progress_token::ProgressTokens;
use super::server_list::ServerList;
use super::server_request::{OpenServerRequests, RequestHandler, encode};

/// Longest id of a server's request that is answered.
const LONGEST_ID: usize = 1024;

/// How many messages of each kind came in that no caller sees. For logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Lines or events that are no JSON-RPC message.
    pub noise: u64,
    /// Replies that are double or to no request, or late where nobody wants to know; and messages
    /// refused for their form that end no call.
    pub dropped: u64,
    /// Replies to calls that were given up, of which their caller was told.
    pub late: u64,
    /// Notifications that are not progress of a waiting call.
    pub notifications: u64,
    /// Requests from the server, answered or refused.
    pub requests: u64,
}

#[derive(Default)]
struct InboxCounters {
    noise: AtomicU64,
    dropped: AtomicU64,
    late: AtomicU64,
    notifications: AtomicU64,
    requests: AtomicU64,
}

/// The receiving side of one connection.
pub(crate) struct Inbox {
    upstream: String,
    pub(crate) pending: PendingRequests,
    pub(crate) progress: ProgressTokens,
    tally: InboxCounters,
    stale: StaleLists,
    notifications: Option<NotificationSink>,
    handler: Option<RequestHandler>,
    pub(crate) asked: Arc<OpenServerRequests>,
}

/// Which lists the server said have changed since they were last asked for.
#[derive(Default)]
struct StaleLists {
    tools: AtomicBool,
    resources: AtomicBool,
    templates: AtomicBool,
    prompts: AtomicBool,
}

impl StaleLists {
    fn of(&self, list: ServerList) -> &AtomicBool {
        match list {
            ServerList::Tools => &self.tools,
            ServerList::Resources => &self.resources,
            ServerList::ResourceTemplates => &self.templates,
            ServerList::Prompts => &self.prompts,
        }
    }
}

/// What a message led to.
#[derive(Debug)]
pub(crate) enum HandledMessage {
    /// It was no message.
    Noise,
    /// It was handled; these bytes, if any, answer it.
    Message(Option<Vec<u8>>),
}

impl Inbox {
    pub(crate) fn new(config: &UpstreamConfig) -> Self {
        Self {
            upstream: config.name.clone(),
            pending: PendingRequests::default(),
            progress: ProgressTokens::default(),
            tally: InboxCounters::default(),
            stale: StaleLists::default(),
            notifications: config.notifications.clone(),
            handler: config.request_handler.clone(),
            asked: Arc::default(),
        }
    }

    /// Handles one message of a connection on which any reply may come.
    pub(crate) fn take(&self, bytes: &[u8]) -> HandledMessage {
        match message::classify(bytes) {
            IncomingMessage::Noise => {
                self.count_noise();
                return HandledMessage::Noise;
            }
            IncomingMessage::Reply { id, answer } => {
                match id.map(|id| self.pending.complete(id, Ok(answer))) {
                    Some(Delivery::InTime) => {}
                    Some(Delivery::Late) => {
                        self.tally.late.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(Delivery::Nowhere) | None => self.count_dropped(),
                }
            }
            IncomingMessage::Faulty { fault, ids } => self.blame(fault, &ids),
            other => return HandledMessage::Message(self.aside(other)),
        }
        HandledMessage::Message(None)
    }

    /// Ends the calls that a broken message belongs to.
    pub(crate) fn blame(&self, fault: Fault, ids: &[u64]) {
        if self.pending.blame(ids, &self.malformed(fault)) == 0 {
            self.count_dropped();
        }
    }

    /// Handles what is no reply.
    pub(crate) fn aside(&self, incoming: IncomingMessage) -> Option<Vec<u8>> {
        match incoming {
            IncomingMessage::Request { id, method, params } => {
                self.asked_in(None, &id, method, params)
            }
            IncomingMessage::Notification { method, params } => {
                if method != "notifications/progress" || !self.progress.tell(&params) {
                    self.tally.notifications.fetch_add(1, Ordering::Relaxed);
                    self.hear(&method, &params);
                }
                None
            }
            _ => {
                self.count_dropped();
                None
            }
        }
    }

    fn hear(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            self.asked.cancel(params);
        }
        for told in ServerNotification::read(method, params) {
            self.hear_one(told);
        }
    }

    fn hear_one(&self, told: ServerNotification) {
        if let ServerNotification::ListChanged(list) = told {
            self.mark_stale(list);
        }
        if let Some(sink) = &self.notifications {
            sink.hear(told);
        }
    }

    /// Nobody heard for a while whether these lists changed, so they count as changed.
    pub(crate) fn has_missed(&self, lists: &[ServerList]) {
        for list in lists {
            self.hear_one(ServerNotification::ListChanged(*list));
        }
    }

    /// The answer to a request of the server, where it can be given at once. `client` is whoever the
    /// call is made for in which it came; without one, the handler of the connection has it answered.
    pub(crate) fn asked_in(
        &self,
        client: Option<&dyn ClientFeatures>,
        id: &RawValue,
        method: String,
        params: Value,
    ) -> Option<Vec<u8>> {
        self.tally.requests.fetch_add(1, Ordering::Relaxed);
        let raw = id.get();
        if raw.len() > LONGEST_ID || raw.starts_with(['{', '[', 't', 'f', 'n']) {
            return None;
        }
        let handler = self.handler.as_ref().map(|handler| -> &dyn ClientFeatures { handler });
        let at_once = match (method.as_str(), client.or(handler)) {
            ("ping", _) => Ok(Value::Object(serde_json::Map::new())),
            (_, Some(handler)) => match self.asked.open(id, method, params) {
                Some(request) => {
                    handler.handle(request);
                    return None;
                }
                None => Err(RpcError::method_not_found()),
            },
            // Without a handler there are no roots, and nothing else is offered.
            ("roots/list", None) => Ok(serde_json::json!({ "roots": [] })),
            (_, None) => Err(RpcError::method_not_found()),
        };
        Some(encode(id, at_once))
    }

    pub(crate) fn malformed(&self, fault: Fault) -> McpError {
        McpError::Malformed { upstream: self.upstream.clone(), fault }
    }

    pub(crate) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(crate) fn count_noise(&self) {
        self.tally.noise.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_dropped(&self) {
        self.tally.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_stale(&self, list: ServerList) -> bool {
        self.stale.of(list).load(Ordering::Acquire)
    }

    pub(crate) fn mark_stale(&self, list: ServerList) {
        self.stale.of(list).store(true, Ordering::Release);
    }

    pub(crate) fn clear_stale(&self, list: ServerList) {
        self.stale.of(list).store(false, Ordering::Release);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            noise: self.tally.noise.load(Ordering::Relaxed),
            dropped: self.tally.dropped.load(Ordering::Relaxed),
            late: self.tally.late.load(Ordering::Relaxed),
            notifications: self.tally.notifications.load(Ordering::Relaxed),
            requests: self.tally.requests.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox() -> Inbox {
        let endpoint = crate::mcp::Endpoint::Stdio(crate::mcp::StdioConfig::default());
        Inbox::new(&UpstreamConfig::new("x", endpoint))
    }

    fn reply_to(line: &str) -> Option<String> {
        match inbox().take(line.as_bytes()) {
            HandledMessage::Message(reply) => reply.map(|bytes| String::from_utf8(bytes).unwrap()),
            HandledMessage::Noise => panic!("noise"),
        }
    }

    #[test]
    fn the_server_may_ask_little() {
        let ping = reply_to(r#"{"jsonrpc":"2.0","id":"a\n","method":"ping"}"#);
        assert_eq!(ping.as_deref(), Some(r#"{"jsonrpc":"2.0","id":"a\n","result":{}}"#));
        assert!(
            reply_to(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).unwrap().contains("[]")
        );
        for method in ["sampling/createMessage", "elicitation/create", "tasks/get"] {
            let reply = reply_to(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#));
            assert!(reply.unwrap().contains("-32601"), "{method}");
        }
        assert_eq!(reply_to(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#), None);
    }

    #[test]
    fn a_broken_request_from_the_server_ends_no_call() {
        let inbox = inbox();
        let mut open = inbox.pending.open(1, None).unwrap();
        inbox.take(br#"{"jsonrpc":"2.0","id":1,"method":"ping","a":1,"a":2}"#);
        assert!(open.try_recv().is_err());
        assert_eq!(inbox.counts().dropped, 1);
        inbox.take(br#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
        assert_eq!(open.try_recv().unwrap().unwrap_err().code(), "mcp.null_id");
    }
}
