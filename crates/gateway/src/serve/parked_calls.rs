//! Calls of modern clients that wait for answers of their client (2026-07-28, multi round-trip
//! requests).
//!
//! Such a client is asked in the result of its own request. Meanwhile the call keeps running,
//! parked under an unguessable state. The client resumes it by repeating the same request with that
//! state and its answers. Every question was decided by the policy before, as for any client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use weaver_drivers::mcp;
use weaver_types::{OsRandom, RunId, random_text};

use super::message::{self, Request, RpcError, code};
use super::request_limits::RequestPermits;
use super::task::Task;

/// The most parked calls of one client.
const MAX_PARKED: usize = 64;
/// The most questions of one call.
pub(crate) const MAX_QUESTIONS: usize = 16;
/// The most names of questions that are remembered for one call.
const MAX_USED_KEYS: usize = 1024;
/// How long to wait for further questions, because a server may ask several at once.
const QUESTION_BATCH_WAIT: Duration = Duration::from_millis(30);
const STATE_FIELD: &str = "requestState";
const RESPONSES_FIELD: &str = "inputResponses";

/// A question to a client.
pub(crate) struct Question {
    /// The server's name for it.
    pub(crate) key: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) reply_to: oneshot::Sender<Result<Value, mcp::RpcError>>,
}

/// The queue of the questions of one request.
pub(crate) type QuestionSender = mpsc::Sender<Question>;

/// A request in flight whose client can be asked questions.
pub(crate) struct RunningCall {
    identity: RequestIdentity,
    answer_task: JoinHandle<Result<Value, RpcError>>,
    /// Ends its waits for a person. A request that resumes the call has a token of its own.
    cancellation: CancellationToken,
    /// The task as which it may go on, if it takes long.
    task: Option<Arc<Task>>,
    /// The run in which it is made, once that is known.
    run: Arc<OnceLock<RunId>>,
    questions: mpsc::Receiver<Question>,
    open_questions: BTreeMap<String, Question>,
    /// Servers' names of earlier questions: none is used twice.
    used_keys: BTreeSet<String>,
    question_count: usize,
}

/// The next event of a running request.
pub(crate) enum CallStep {
    Ended(Result<Result<Value, RpcError>, JoinError>),
    /// The client is asked something.
    InputRequired,
}

/// What two requests must agree in to be the same one.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    method: String,
    params: Map<String, Value>,
    /// The client's declared capabilities, if it can be asked at all.
    capabilities: Option<Map<String, Value>>,
}

impl RequestIdentity {
    /// The identity of a request that can be neither parked nor resumed: it calls no server, or its
    /// client is asked otherwise.
    pub(crate) fn not_resumable(request: &Request) -> Self {
        Self { method: request.method.clone(), params: Map::new(), capabilities: None }
    }

    /// The identity of a request that calls a server: its method and parameters without the resume
    /// fields.
    pub(crate) fn resumable(request: &Request) -> Self {
        if !is_modern(request) {
            return Self::not_resumable(request);
        }
        let (mut params, method) = (Map::new(), request.method.clone());
        params.extend(request.params.iter().map(|(name, value)| (name.clone(), value.clone())));
        for name in [STATE_FIELD, RESPONSES_FIELD, "_meta"] {
            params.remove(name);
        }
        Self { method, params, capabilities: Some(message::declared_capabilities(&request.params)) }
    }

    /// The client's declared capabilities, if it can be asked in the result.
    pub(crate) fn capabilities(&self) -> Option<&Map<String, Value>> {
        self.capabilities.as_ref()
    }

    fn matches(&self, other: &Self) -> bool {
        (&self.method, &self.params) == (&other.method, &other.params)
    }
}

impl RunningCall {
    /// Runs `answer` in a task of its own, so that a panic in it is answered too.
    pub(crate) fn start(
        identity: RequestIdentity,
        questions: mpsc::Receiver<Question>,
        permits: RequestPermits,
        cancellation: CancellationToken,
        answer: impl Future<Output = Result<Value, RpcError>> + Send + 'static,
    ) -> Self {
        // The task owns the permits: it may end while nobody waits for it, or outlive its client.
        let answer_task = tokio::spawn(answer.map(move |answer| {
            drop(permits);
            answer
        }));
        Self {
            identity,
            answer_task,
            cancellation,
            task: None,
            run: Arc::default(),
            questions,
            open_questions: BTreeMap::new(),
            used_keys: BTreeSet::new(),
            question_count: 0,
        }
    }

    /// Sets the task as which it may go on, and where its run will be known.
    pub(crate) fn with(self, task: Option<Arc<Task>>, run: Arc<OnceLock<RunId>>) -> Self {
        Self { task, run, ..self }
    }

    /// The task as which it may go on.
    pub(crate) fn task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref()
    }

    /// The run in which it was made; `None` where it was made in none.
    pub(crate) fn run(&self) -> Option<RunId> {
        self.run.get().cloned()
    }

    /// Waits until the request is answered, or its client is asked something. Cancelling
    /// `cancellation`, the token of the request that waits here, also ends the call's waits for a
    /// person.
    pub(crate) async fn next_step(&mut self, cancellation: &CancellationToken) -> CallStep {
        self.drop_withdrawn_questions();
        match self.open_questions.is_empty() {
            true => self.next_change(cancellation).await,
            false => CallStep::InputRequired,
        }
    }

    /// As [`Self::next_step`], but questions that are open already do not count.
    pub(crate) async fn next_change(&mut self, cancellation: &CancellationToken) -> CallStep {
        let call_cancellation = self.cancellation.clone();
        let cancelled = async {
            cancellation.cancelled().await;
            call_cancellation.cancel();
            std::future::pending().await
        };
        tokio::select! {
            step = self.wait_for_change() => step,
            never = cancelled => never,
        }
    }

    async fn wait_for_change(&mut self) -> CallStep {
        tokio::select! {
            biased;
            ended = &mut self.answer_task => return CallStep::Ended(ended),
            Some(question) = self.questions.recv() => self.add(question),
        }
        while let Ok(Some(question)) =
            tokio::time::timeout(QUESTION_BATCH_WAIT, self.questions.recv()).await
        {
            self.add(question);
        }
        CallStep::InputRequired
    }

    /// Gives the call up: its server is notified, and the log records how far it came.
    pub(crate) async fn abandon(mut self) {
        self.answer_task.abort();
        let _ = (&mut self.answer_task).await;
    }

    fn add(&mut self, question: Question) {
        if self.open_questions.len() < MAX_QUESTIONS {
            let may_keep = self.used_keys.len() < MAX_USED_KEYS;
            let key = question.key.clone().filter(|_| may_keep);
            let key = key.filter(|key| self.used_keys.insert(key.clone()));
            let key = key.unwrap_or_else(|| self.new_key());
            self.open_questions.insert(key, question);
        }
    }

    /// A name for a question that no other question of the call has.
    fn new_key(&mut self) -> String {
        loop {
            self.question_count = self.question_count.saturating_add(1);
            let key = format!("question_{}", self.question_count);
            if !self.used_keys.contains(&key) {
                return key;
            }
        }
    }

    /// Drops questions whose answers nobody waits for any more.
    fn drop_withdrawn_questions(&mut self) {
        self.open_questions.retain(|_, question| !question.reply_to.is_closed());
    }

    /// Delivers the answers that arrived. Unanswered questions are asked again.
    pub(crate) fn deliver_answers(&mut self, responses: Map<String, Value>) {
        for (name, answer) in responses.into_iter().filter(|(_, answer)| answer.is_object()) {
            if let Some(question) = self.open_questions.remove(&name) {
                let _ = question.reply_to.send(Ok(answer));
            }
        }
    }

    /// The open questions, by name.
    pub(crate) fn input_requests(&self) -> Map<String, Value> {
        let requests = self.open_questions.iter().map(|(name, question)| {
            (name.clone(), json!({ "method": question.method, "params": question.params }))
        });
        requests.collect()
    }

    /// The `input_required` result that asks the open questions.
    fn input_required_result(&self, state: &str) -> Value {
        json!({
            "resultType": "input_required",
            "inputRequests": self.input_requests(),
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
    /// Set once the client is gone and nobody would resume a call.
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
        // Calls that have ended meanwhile are not resumed any more.
        parked.by_state.retain(|_, call| !call.answer_task.is_finished());
        if parked.by_state.len() >= MAX_PARKED {
            return Err(RpcError::new(code::INTERNAL, "too many calls wait for answers"));
        }
        let result = call.input_required_result(&state);
        parked.by_state.insert(state, call);
        Ok(result)
    }

    /// Resumes the call that a request names, with its answers; `None` for a request that names
    /// none. Only a request with the same identity may do so.
    pub(crate) fn resume(&self, request: &Request) -> Result<Option<RunningCall>, RpcError> {
        let invalid = |problem: &str| RpcError::new(code::INVALID_PARAMS, problem);
        let responses = match request.params.get(RESPONSES_FIELD) {
            None => Map::new(),
            Some(Value::Object(responses)) => responses.clone(),
            Some(_) => return Err(invalid("`inputResponses` must be an object")),
        };
        let Some(state) = request.params.get(STATE_FIELD) else { return Ok(None) };
        let state = state.as_str().ok_or_else(|| invalid("`requestState` must be a string"))?;
        let identity = RequestIdentity::resumable(request);
        let mut parked = self.lock();
        let same = parked.by_state.get(state).is_some_and(|call| call.identity.matches(&identity));
        let call = if same { parked.by_state.remove(state) } else { None };
        drop(parked);
        let unknown = "no request waits under this `requestState`; it was changed, or has ended";
        let mut call = call.ok_or_else(|| invalid(unknown))?;
        call.deliver_answers(responses);
        Ok(Some(call))
    }

    /// Drops all parked calls, and refuses new ones: the client is gone.
    pub(crate) fn close(&self) {
        let mut parked = self.lock();
        parked.is_closed = true;
        parked.by_state.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ParkedTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for a request of the modern era.
pub(crate) fn is_modern(request: &Request) -> bool {
    let meta = request.params.get("_meta");
    meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion")).is_some()
}

#[cfg(test)]
mod tests;
