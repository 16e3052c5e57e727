//! Requests that a server makes of its client: elicitation, sampling and roots.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};

use super::client_features::ClientFeatures;
use super::error::RpcError;

/// Most requests of one server that may wait for an answer at once.
const MAX_OPEN: usize = 64;
/// The methods that a client may answer; all others are unknown methods.
const ANSWERABLE: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// Sends the bytes of an answer to the server.
pub(crate) type AnswerSink = Arc<dyn Fn(Vec<u8>) + Send + Sync>;

/// A request of a server. Everything in it is untrusted.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its complete parameters.
    pub params: Value,
    /// Its key, if it is an input request in a result; its answer goes under the same key.
    pub key: Option<String>,
    /// Where the answer goes.
    pub responder: Responder,
}

/// Answers requests of the server. It runs on the reading task, so it must return at once and answer later.
#[derive(Clone)]
pub struct RequestHandler(Arc<dyn Fn(ServerRequest) + Send + Sync>);

impl RequestHandler {
    /// A handler that does this.
    #[must_use]
    pub fn new(handle: impl Fn(ServerRequest) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }
}

impl ClientFeatures for RequestHandler {
    /// The connection declares its own configured capabilities instead.
    fn capabilities(&self) -> Map<String, Value> {
        Map::new()
    }

    fn handle(&self, request: ServerRequest) {
        (self.0)(request);
    }
}

/// An input request in a result, with its key.
pub(crate) struct InputRequest {
    pub(crate) key: String,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl InputRequest {
    /// Lets `client` answer it, and waits for the answer.
    pub(crate) async fn answer_with(self, client: &dyn ClientFeatures) -> Result<Value, RpcError> {
        let Self { key, method, params } = self;
        if !ANSWERABLE.contains(&method.as_str()) {
            return Err(RpcError::method_not_found());
        }
        let (sender, receiver) = oneshot::channel();
        let (_open, cancelled) = watch::channel(false);
        let target = Some(AnswerTarget::Caller(sender));
        let responder = Responder { target, cancelled };
        client.handle(ServerRequest { method, params, key: Some(key), responder });
        receiver.await.unwrap_or_else(|_| Err(RpcError::unanswered()))
    }
}

weaver_types::opaque_debug!(RequestHandler);

/// Takes the answer to one request. If it is dropped unanswered, the request fails.
pub struct Responder {
    target: Option<AnswerTarget>,
    cancelled: watch::Receiver<bool>,
}

enum AnswerTarget {
    /// The server, under the id of its request.
    Server { id: Box<RawValue>, open: Arc<OpenServerRequests> },
    /// A task that waits in this process.
    Caller(oneshot::Sender<Result<Value, RpcError>>),
}

impl Responder {
    /// Answers.
    pub fn answer(mut self, outcome: Result<Value, RpcError>) {
        self.send(outcome);
    }

    /// Returns when the server no longer wants an answer, or has gone.
    pub async fn cancelled(&self) {
        let mut cancelled = self.cancelled.clone();
        let _ = cancelled.wait_for(|cancelled| *cancelled).await;
    }

    fn send(&mut self, outcome: Result<Value, RpcError>) {
        match self.target.take() {
            Some(AnswerTarget::Server { id, open }) => open.answer(&id, outcome),
            Some(AnswerTarget::Caller(sender)) => {
                let _ = sender.send(outcome);
            }
            None => {}
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.send(Err(RpcError::unanswered()));
    }
}

weaver_types::opaque_debug!(Responder);

/// The requests of one server that wait for an answer, by id.
#[derive(Default)]
pub(crate) struct OpenServerRequests {
    open: Mutex<BTreeMap<String, watch::Sender<bool>>>,
    sink: Mutex<Option<AnswerSink>>,
}

impl OpenServerRequests {
    /// Sets where answers go from now on.
    pub(crate) fn set_sink(&self, sink: AnswerSink) {
        *self.sink.lock().unwrap_or_else(PoisonError::into_inner) = Some(sink);
    }

    /// Registers a request that may be answered; `None` if it must be refused.
    pub(crate) fn open(
        self: &Arc<Self>,
        id: &RawValue,
        method: String,
        params: Value,
    ) -> Option<ServerRequest> {
        if !ANSWERABLE.contains(&method.as_str()) {
            return None;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_OPEN || open.contains_key(&id_key(id)) {
            return None;
        }
        let (cancel, cancelled) = watch::channel(false);
        open.insert(id_key(id), cancel);
        let target = Some(AnswerTarget::Server { id: id.to_owned(), open: Arc::clone(self) });
        let responder = Responder { target, cancelled };
        Some(ServerRequest { method, params, key: None, responder })
    }

    /// The server cancelled its request.
    pub(crate) fn cancel_request(&self, params: &Value) {
        let Some(id) = params.get("requestId") else { return };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = open.remove(&id.to_string()) {
            cancel.send_replace(true);
        }
    }

    /// The server is gone.
    pub(crate) fn cancel_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *open).into_values().for_each(|cancel| {
            cancel.send_replace(true);
        });
    }

    /// Sends the answer, unless the request was cancelled.
    fn answer(&self, id: &RawValue, outcome: Result<Value, RpcError>) {
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.remove(&id_key(id)).is_none() {
                return;
            }
        }
        let sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(send) = sink {
            send(encode_response(id, outcome));
        }
    }
}

/// Encodes an answer. The id is returned byte for byte as it was received.
pub(crate) fn encode_response(id: &RawValue, outcome: Result<Value, RpcError>) -> Vec<u8> {
    let (key, body) = match outcome {
        Ok(result) => ("result", result),
        Err(error) => ("error", error.to_json()),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":{body}}}"#, id.get()).into_bytes()
}

/// An id in one form for all JSON spellings of the same text.
fn id_key(id: &RawValue) -> String {
    let text = serde_json::from_str::<String>(id.get());
    text.map_or_else(|_| id.get().to_owned(), |text| Value::String(text).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// An open table and what it sends.
    fn table() -> (Arc<OpenServerRequests>, Arc<Mutex<Vec<Value>>>) {
        let (open, sent) =
            (Arc::<OpenServerRequests>::default(), Arc::<Mutex<Vec<Value>>>::default());
        let seen = Arc::clone(&sent);
        open.set_sink(Arc::new(move |bytes| {
            seen.lock().unwrap().push(serde_json::from_slice(&bytes).unwrap());
        }));
        (open, sent)
    }

    #[test]
    fn each_request_is_answered_once_also_when_nobody_does() {
        let (open, sent) = table();
        let ask = |id_of: &str| open.open(&id(id_of), "roots/list".to_owned(), Value::Null);
        ask("\"a\"").unwrap().responder.answer(Ok(json!({"roots": []})));
        drop(ask("7"));
        let sent = sent.lock().unwrap();
        assert_eq!(sent[0], json!({"jsonrpc": "2.0", "id": "a", "result": {"roots": []}}));
        assert_eq!((&sent[1]["id"], &sent[1]["error"]["code"]), (&json!(7), &json!(-32603)));
        assert_eq!(sent.len(), 2);
    }

    #[tokio::test]
    async fn a_cancelled_request_is_not_answered() {
        let (open, sent) = table();
        let asked = open.open(&id("1"), "elicitation/create".to_owned(), Value::Null).unwrap();
        open.cancel_request(&json!({"requestId": 1}));
        asked.responder.cancelled().await;
        asked.responder.answer(Ok(json!({})));
        assert!(sent.lock().unwrap().is_empty());
    }

    #[test]
    fn what_waits_is_bounded_and_unknown_methods_are_refused() {
        let (open, _sent) = table();
        let ask = |n: usize| open.open(&id(&n.to_string()), "roots/list".to_owned(), Value::Null);
        let waiting: Vec<_> = (0..MAX_OPEN).map(|n| ask(n).unwrap()).collect();
        assert!(ask(MAX_OPEN).is_none() && ask(0).is_none());
        drop(waiting);
        assert!(ask(0).is_some());
        assert!(open.open(&id("9"), "tasks/get".to_owned(), Value::Null).is_none());
    }
}
