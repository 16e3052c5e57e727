//! Calls of clients of the modern era in which their server asks something (2026-07-28, multi
//! round-trip requests).
//!
//! Such a client is asked in the result of its own request. The call goes on meanwhile: it is parked
//! under a name that nobody can guess, and the client takes it up again by making the same request
//! with that name and its answers. Whatever is asked was decided on before, as for any client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};
use weaver_drivers::mcp;
use weaver_types::{OsRandom, random_text};

use super::message::{Request, RpcError, code};

/// The most calls of one client that are parked at once.
const MAX_PARKED: usize = 64;
/// The most questions of one call.
pub(crate) const MAX_QUESTIONS: usize = 16;
/// How long further questions are waited for: a server may ask several things at once.
const TOGETHER: Duration = Duration::from_millis(30);
const STATE: &str = "requestState";
const RESPONSES: &str = "inputResponses";

/// Something that a client is asked.
pub(crate) struct Question {
    /// The name that it has at its server.
    pub(crate) key: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) tell: oneshot::Sender<Result<Value, mcp::RpcError>>,
}

/// Where the questions of one request go.
pub(crate) type QuestionSender = mpsc::Sender<Question>;

/// A request under way, whose client can be asked something.
pub(crate) struct RunningCall {
    request: RequestIdentity,
    answering: JoinHandle<Result<Value, RpcError>>,
    questions: mpsc::Receiver<Question>,
    open: BTreeMap<String, Question>,
    numbered: usize,
}

/// What a request takes of the bounds of its client, until it has ended and is answered.
pub(crate) type RequestPermits = Arc<[OwnedSemaphorePermit; 2]>;

/// How far a request has come.
pub(crate) enum CallStep {
    Ended(Result<Result<Value, RpcError>, JoinError>),
    /// The client is asked something.
    Asked,
}

/// What makes two requests the same one.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    method: String,
    params: Map<String, Value>,
    /// What the client says that it can do, where it can be asked at all.
    capabilities: Option<Map<String, Value>>,
}

impl RequestIdentity {
    /// What is kept of a request that can be neither parked nor resumed: it calls no server, or its
    /// client is asked otherwise.
    pub(crate) fn of_other(request: &Request) -> Self {
        Self { method: request.method.clone(), params: Map::new(), capabilities: None }
    }

    /// What is kept of a request that calls a server.
    pub(crate) fn of_call(request: &Request) -> Self {
        if !is_modern(request) {
            return Self::of_other(request);
        }
        let (mut params, method) = (Map::new(), request.method.clone());
        params.extend(request.params.iter().map(|(name, value)| (name.clone(), value.clone())));
        for name in [STATE, RESPONSES, "_meta"] {
            params.remove(name);
        }
        Self { method, params, capabilities: Some(capabilities(request)) }
    }

    /// What the client says that it can do, where it can be asked in the result.
    pub(crate) fn capabilities(&self) -> Option<&Map<String, Value>> {
        self.capabilities.as_ref()
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.method, &self.params) == (&other.method, &other.params)
    }
}

impl RunningCall {
    /// A request that `answer` works on, in a task of its own, so that a fault in it is answered too.
    pub(crate) fn start(
        request: RequestIdentity,
        questions: mpsc::Receiver<Question>,
        permits: RequestPermits,
        answer: impl Future<Output = Result<Value, RpcError>> + Send + 'static,
    ) -> Self {
        // They go with the work: it may end while nobody waits for it, and go on after its client.
        let answering = tokio::spawn(async move {
            let answer = answer.await;
            drop(permits);
            answer
        });
        Self { request, answering, questions, open: BTreeMap::new(), numbered: 0 }
    }

    /// Waits until the request is answered, or its client is asked something.
    pub(crate) async fn next_step(&mut self) -> CallStep {
        self.forget_withdrawn();
        if !self.open.is_empty() {
            return CallStep::Asked;
        }
        tokio::select! {
            biased;
            ended = &mut self.answering => return CallStep::Ended(ended),
            Some(question) = self.questions.recv() => self.add(question),
        }
        while let Ok(Some(question)) = tokio::time::timeout(TOGETHER, self.questions.recv()).await {
            self.add(question);
        }
        CallStep::Asked
    }

    /// Gives the call up: its server is told, and the log says how far it came.
    pub(crate) async fn abandon(mut self) {
        self.answering.abort();
        let _ = (&mut self.answering).await;
    }

    fn add(&mut self, question: Question) {
        if self.open.len() < MAX_QUESTIONS {
            self.numbered = self.numbered.saturating_add(1);
            let key = question.key.clone().filter(|key| !self.open.contains_key(key));
            let key = key.unwrap_or_else(|| format!("question_{}", self.numbered));
            self.open.insert(key, question);
        }
    }

    /// Drops questions whose answers nobody waits for any more.
    fn forget_withdrawn(&mut self) {
        self.open.retain(|_, question| !question.tell.is_closed());
    }

    /// Hands the answers on that are there. What is not answered is asked again.
    fn take_answers(&mut self, responses: Map<String, Value>) {
        for (name, answer) in responses.into_iter().filter(|(_, answer)| answer.is_object()) {
            if let Some(question) = self.open.remove(&name) {
                let _ = question.tell.send(Ok(answer));
            }
        }
    }

    /// The result that asks.
    fn result(&self, state: &str) -> Value {
        let asked = self.open.iter().map(|(name, question)| {
            (name.clone(), json!({ "method": question.method, "params": question.params }))
        });
        json!({
            "resultType": "input_required",
            "inputRequests": asked.collect::<Map<String, Value>>(),
            "requestState": state,
        })
    }
}

/// The parked calls of one client.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<ParkedTable>);

#[derive(Default)]
struct ParkedTable {
    by_state: BTreeMap<String, RunningCall>,
    /// The client is gone: nobody would take up what is parked.
    is_closed: bool,
}

impl ParkedCalls {
    /// Parks a call, and returns the result that asks its client.
    pub(crate) fn park(&self, call: RunningCall) -> Result<Value, RpcError> {
        let state = random_text("parked_", 16, &OsRandom)
            .map_err(|error| RpcError::new(code::INTERNAL, error.to_string()))?;
        let mut parked = self.lock();
        if parked.is_closed {
            return Err(RpcError::new(code::INTERNAL, "the client is gone"));
        }
        // What has ended meanwhile is not taken up again.
        parked.by_state.retain(|_, call| !call.answering.is_finished());
        if parked.by_state.len() >= MAX_PARKED {
            return Err(RpcError::new(code::INTERNAL, "too many calls wait for answers"));
        }
        let result = call.result(&state);
        parked.by_state.insert(state, call);
        Ok(result)
    }

    /// Takes the call up again that a request names, with its answers; `None` for a request that
    /// names none.
    pub(crate) fn resume(&self, request: &Request) -> Result<Option<RunningCall>, RpcError> {
        let invalid = |problem: &str| RpcError::new(code::INVALID_PARAMS, problem);
        let responses = match request.params.get(RESPONSES) {
            None => Map::new(),
            Some(Value::Object(responses)) => responses.clone(),
            Some(_) => return Err(invalid("`inputResponses` must be an object")),
        };
        let Some(state) = request.params.get(STATE) else { return Ok(None) };
        let state = state.as_str().ok_or_else(|| invalid("`requestState` must be a string"))?;
        let identity = RequestIdentity::of_call(request);
        let mut parked = self.lock();
        let same = parked.by_state.get(state).is_some_and(|call| call.request.is_same(&identity));
        let call = if same { parked.by_state.remove(state) } else { None };
        drop(parked);
        let unknown = "no request waits under this `requestState`; it was changed, or has ended";
        let mut call = call.ok_or_else(|| invalid(unknown))?;
        call.take_answers(responses);
        Ok(Some(call))
    }

    /// Answers every question with nothing, from here on too: the client is gone.
    pub(crate) fn give_up(&self) {
        let mut parked = self.lock();
        parked.is_closed = true;
        parked.by_state.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ParkedTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The capabilities that a request of the modern era says its client has.
fn capabilities(request: &Request) -> Map<String, Value> {
    let meta = request.params.get("_meta");
    let said = meta.and_then(|meta| meta.get("io.modelcontextprotocol/clientCapabilities"));
    said.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// True for a request of the modern era.
pub(crate) fn is_modern(request: &Request) -> bool {
    let meta = request.params.get("_meta");
    meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion")).is_some()
}

#[cfg(test)]
mod tests;
