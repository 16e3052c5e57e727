//! Where messages from the server arrive.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::{Fault, McpError};
use super::message::{self, Incoming};
use super::pending::{Delivered, Pending};

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
struct Tally {
    noise: AtomicU64,
    dropped: AtomicU64,
    late: AtomicU64,
    notifications: AtomicU64,
    requests: AtomicU64,
}

/// The receiving side of one connection.
pub(crate) struct Inbox {
    upstream: String,
    pub(crate) pending: Pending,
    tally: Tally,
    tools_stale: AtomicBool,
}

/// What a message led to.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It was no message.
    Noise,
    /// It was handled; these bytes, if any, answer it.
    Message(Option<Vec<u8>>),
}

impl Inbox {
    pub(crate) fn new(upstream: String) -> Self {
        let tools_stale = AtomicBool::new(false);
        Self { upstream, pending: Pending::default(), tally: Tally::default(), tools_stale }
    }

    /// Handles one message of a connection on which any reply may come.
    pub(crate) fn take(&self, bytes: &[u8]) -> Taken {
        match message::classify(bytes) {
            Incoming::Noise => {
                self.count_noise();
                return Taken::Noise;
            }
            Incoming::Reply { id, answer } => {
                match id.map(|id| self.pending.complete(id, Ok(answer))) {
                    Some(Delivered::InTime) => {}
                    Some(Delivered::Late) => {
                        self.tally.late.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(Delivered::Nowhere) | None => self.count_dropped(),
                }
            }
            Incoming::Faulty { fault, ids } => self.blame(fault, &ids),
            other => return Taken::Message(self.aside(other, |p| self.pending.progress(p))),
        }
        Taken::Message(None)
    }

    /// Ends the calls that a broken message belongs to.
    pub(crate) fn blame(&self, fault: Fault, ids: &[u64]) {
        if self.pending.blame(ids, &self.malformed(fault)) == 0 {
            self.count_dropped();
        }
    }

    /// Handles what is no reply. `progress` says whether it delivered the parameters.
    pub(crate) fn aside(
        &self,
        incoming: Incoming,
        progress: impl Fn(&Value) -> bool,
    ) -> Option<Vec<u8>> {
        match incoming {
            Incoming::Request { id, method } => {
                self.tally.requests.fetch_add(1, Ordering::Relaxed);
                answer(&id, &method)
            }
            Incoming::Notification { method, params } => {
                if method == "notifications/tools/list_changed" {
                    self.tools_stale.store(true, Ordering::Release);
                }
                if method != "notifications/progress" || !progress(&params) {
                    self.tally.notifications.fetch_add(1, Ordering::Relaxed);
                }
                None
            }
            _ => {
                self.count_dropped();
                None
            }
        }
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

    pub(crate) fn tools_stale(&self) -> bool {
        self.tools_stale.load(Ordering::Acquire)
    }

    pub(crate) fn mark_tools_stale(&self) {
        self.tools_stale.store(true, Ordering::Release);
    }

    pub(crate) fn clear_tools_stale(&self) {
        self.tools_stale.store(false, Ordering::Release);
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

/// Answers a request from the server: it may ask whether we live and which roots there are
/// (none). Sampling and elicitation are not offered, so asking for them is an error.
fn answer(id: &RawValue, method: &str) -> Option<Vec<u8>> {
    let raw = id.get();
    if raw.len() > LONGEST_ID || raw.starts_with(['{', '[', 't', 'f', 'n']) {
        return None;
    }
    let body = match method {
        "ping" => r#""result":{}"#,
        "roots/list" => r#""result":{"roots":[]}"#,
        _ => r#""error":{"code":-32601,"message":"this client does not offer the method"}"#,
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{raw},{body}}}"#).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply_to(line: &str) -> Option<String> {
        match Inbox::new("x".to_owned()).take(line.as_bytes()) {
            Taken::Message(reply) => reply.map(|bytes| String::from_utf8(bytes).unwrap()),
            Taken::Noise => panic!("noise"),
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
        let inbox = Inbox::new("x".to_owned());
        let mut open = inbox.pending.open(1, None, None).unwrap();
        inbox.take(br#"{"jsonrpc":"2.0","id":1,"method":"ping","a":1,"a":2}"#);
        assert!(open.try_recv().is_err());
        assert_eq!(inbox.counts().dropped, 1);
        inbox.take(br#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
        assert_eq!(open.try_recv().unwrap().unwrap_err().code(), "mcp.null_id");
    }
}
