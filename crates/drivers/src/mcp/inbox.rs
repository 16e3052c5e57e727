//! Receives the messages of one server: matches replies and handles its requests and notifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use serde_json::value::RawValue;

use super::client_features::ClientFeatures;
use super::config::UpstreamConfig;
use super::error::{McpError, McpErrorKind, RpcError};
use super::fault::MessageFault;
use super::message::{self, IncomingMessage};
use super::notification::{NotificationSink, ServerNotification};
use super::pending_requests::{Delivery, PendingRequests};
use super::progress_token::ProgressTokens;
use super::server_list::ServerList;
use super::server_request::{OpenServerRequests, RequestHandler, encode_response};
use super::silence::SilenceWatch;

/// Longest id of a server's request that is answered.
const MAX_REQUEST_ID_BYTES: usize = 1024;

/// How many messages of each kind arrived that no caller sees. For logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MessageCounts {
    /// Lines or events that are not JSON-RPC messages.
    pub not_json_rpc: u64,
    /// Replies that are duplicates, match no request, or arrive late without a receiver; and malformed messages that
    /// end no call.
    pub dropped: u64,
    /// Replies to abandoned calls that were handed to a late-answer handler.
    pub late: u64,
    /// Notifications that are not progress of a waiting call.
    pub notifications: u64,
    /// Requests from the server, answered or refused.
    pub requests: u64,
}

#[derive(Default)]
struct InboxCounters {
    not_json_rpc: AtomicU64,
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
    pub(crate) silence: SilenceWatch,
    counters: InboxCounters,
    stale: StaleLists,
    notifications: Option<NotificationSink>,
    handler: Option<RequestHandler>,
    pub(crate) open_requests: Arc<OpenServerRequests>,
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
    fn flag(&self, list: ServerList) -> &AtomicBool {
        match list {
            ServerList::Tools => &self.tools,
            ServerList::Resources => &self.resources,
            ServerList::ResourceTemplates => &self.templates,
            ServerList::Prompts => &self.prompts,
        }
    }
}

/// How a message was handled.
#[derive(Debug)]
pub(crate) enum HandledMessage {
    /// It was not a JSON-RPC message.
    NotJsonRpc,
    /// It was handled; these bytes, if any, answer it.
    Message(Option<Vec<u8>>),
}

impl Inbox {
    pub(crate) fn new(config: &UpstreamConfig) -> Self {
        Self {
            upstream: config.name.clone(),
            pending: PendingRequests::default(),
            progress: ProgressTokens::default(),
            silence: SilenceWatch::new(config.limits.silent_wait),
            counters: InboxCounters::default(),
            stale: StaleLists::default(),
            notifications: config.notifications.clone(),
            handler: config.request_handler.clone(),
            open_requests: Arc::default(),
        }
    }

    /// Handles one message of a connection that may carry any reply.
    pub(crate) fn handle(&self, bytes: &[u8]) -> HandledMessage {
        self.silence.note_message();
        match message::classify(bytes) {
            IncomingMessage::NotJsonRpc => {
                self.count_not_json_rpc();
                return HandledMessage::NotJsonRpc;
            }
            IncomingMessage::Reply { id, answer } => {
                match id.map(|id| self.pending.complete(id, Ok(answer))) {
                    Some(Delivery::Delivered) => {}
                    Some(Delivery::DeliveredLate) => {
                        self.counters.late.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(Delivery::Unmatched) | None => self.count_dropped(),
                }
            }
            IncomingMessage::Invalid { fault, ids } => self.fail_requests(fault, &ids),
            other => return HandledMessage::Message(self.handle_non_reply(other)),
        }
        HandledMessage::Message(None)
    }

    /// Fails the calls that a malformed message names.
    pub(crate) fn fail_requests(&self, fault: MessageFault, ids: &[u64]) {
        if self.pending.fail(ids, &self.malformed(fault)) == 0 {
            self.count_dropped();
        }
    }

    /// Handles a message that is not a reply.
    pub(crate) fn handle_non_reply(&self, incoming: IncomingMessage) -> Option<Vec<u8>> {
        match incoming {
            IncomingMessage::Request { id, method, params } => {
                self.handle_server_request(None, &id, method, params)
            }
            IncomingMessage::Notification { method, params } => {
                if method != "notifications/progress" || !self.progress.deliver(&params) {
                    self.counters.notifications.fetch_add(1, Ordering::Relaxed);
                    self.handle_notification(&method, &params);
                }
                None
            }
            _ => {
                self.count_dropped();
                None
            }
        }
    }

    fn handle_notification(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            self.open_requests.cancel_request(params);
        }
        for notification in ServerNotification::parse(method, params) {
            self.deliver_notification(notification);
        }
    }

    fn deliver_notification(&self, notification: ServerNotification) {
        if let ServerNotification::ListChanged(list) = notification {
            self.mark_stale(list);
        }
        if let Some(sink) = &self.notifications {
            sink.send(notification);
        }
    }

    /// Notifications may have been missed, so these lists count as changed.
    pub(crate) fn mark_possibly_changed(&self, lists: &[ServerList]) {
        for list in lists {
            self.deliver_notification(ServerNotification::ListChanged(*list));
        }
    }

    /// Handles a request of the server and returns the answer if there is one at once. `client` is the client of the
    /// call on whose stream it arrived; without one, the connection's handler answers.
    pub(crate) fn handle_server_request(
        &self,
        client: Option<&dyn ClientFeatures>,
        id: &RawValue,
        method: String,
        params: Value,
    ) -> Option<Vec<u8>> {
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        let raw = id.get();
        if raw.len() > MAX_REQUEST_ID_BYTES || raw.starts_with(['{', '[', 't', 'f', 'n']) {
            return None;
        }
        let handler = self.handler.as_ref().map(|handler| -> &dyn ClientFeatures { handler });
        let immediate_answer = match (method.as_str(), client.or(handler)) {
            ("ping", _) => Ok(Value::Object(serde_json::Map::new())),
            (_, Some(handler)) => match self.open_requests.open(id, method, params) {
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
        Some(encode_response(id, immediate_answer))
    }

    pub(crate) fn malformed(&self, fault: MessageFault) -> McpError {
        self.error(McpErrorKind::Malformed { fault })
    }

    pub(crate) fn error(&self, kind: McpErrorKind) -> McpError {
        kind.at(&self.upstream)
    }

    pub(crate) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(crate) fn count_not_json_rpc(&self) {
        self.counters.not_json_rpc.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_dropped(&self) {
        self.counters.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_stale(&self, list: ServerList) -> bool {
        self.stale.flag(list).load(Ordering::Acquire)
    }

    pub(crate) fn mark_stale(&self, list: ServerList) {
        self.stale.flag(list).store(true, Ordering::Release);
    }

    pub(crate) fn clear_stale(&self, list: ServerList) {
        self.stale.flag(list).store(false, Ordering::Release);
    }

    pub(crate) fn counts(&self) -> MessageCounts {
        MessageCounts {
            not_json_rpc: self.counters.not_json_rpc.load(Ordering::Relaxed),
            dropped: self.counters.dropped.load(Ordering::Relaxed),
            late: self.counters.late.load(Ordering::Relaxed),
            notifications: self.counters.notifications.load(Ordering::Relaxed),
            requests: self.counters.requests.load(Ordering::Relaxed),
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
        match inbox().handle(line.as_bytes()) {
            HandledMessage::Message(reply) => reply.map(|bytes| String::from_utf8(bytes).unwrap()),
            HandledMessage::NotJsonRpc => panic!("noise"),
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
        inbox.handle(br#"{"jsonrpc":"2.0","id":1,"method":"ping","a":1,"a":2}"#);
        assert!(open.try_recv().is_err());
        assert_eq!(inbox.counts().dropped, 1);
        inbox.handle(br#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
        assert_eq!(open.try_recv().unwrap().unwrap_err().code(), "mcp.null_id");
    }
}
