//! One task: how it is, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use weaver_types::{Clock, Timestamp};

use super::lines::Outbox;
use super::message::{self, RpcError, code};

/// How often a client should ask how a task is, in milliseconds.
const POLL_INTERVAL: u64 = 1_000;
/// How long a task is kept after its end whatever its lifetime, so that its client can see it.
const LINGER: Duration = Duration::from_secs(60);
/// How much of a failure is said in the status, in characters; its result has all of it.
const MAX_MESSAGE: usize = 500;
/// The key in `_meta` of the task that a message is about.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A call that its client follows as a task.
pub(crate) struct Task {
    id: String,
    clock: Arc<dyn Clock>,
    created: Timestamp,
    lifetime: Duration,
    state: watch::Sender<TaskState>,
    /// Cancelled when the client cancels the task: its call is given up.
    cancellation: CancellationToken,
    /// The streams on which its client waits for its result.
    result_streams: watch::Sender<Vec<WeakSender<Vec<u8>>>>,
}

struct TaskState {
    status: TaskStatus,
    message: Option<String>,
    /// How many questions its client is asked now.
    questions: usize,
    updated: Timestamp,
    outcome: Option<TaskOutcome>,
}

/// What came of the call.
struct TaskOutcome {
    result: Result<Value, RpcError>,
    bytes: usize,
}

/// How a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskStatus {
    Working,
    /// Its client is asked something.
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl Task {
    pub(crate) fn begin(id: String, clock: Arc<dyn Clock>, lifetime: Duration) -> Self {
        let created = clock.now();
        let status = TaskStatus::Working;
        let state =
            TaskState { status, message: None, questions: 0, updated: created, outcome: None };
        let (state, cancellation) = (watch::Sender::new(state), CancellationToken::new());
        let result_streams = watch::Sender::default();
        Self { id, clock, created, lifetime, state, cancellation, result_streams }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// How long it is kept from its beginning on.
    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Done when the client has cancelled it.
    pub(crate) async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Says how far its call is, in words.
    pub(crate) fn tell(&self, message: &str) {
        self.update(|state| state.message = Some(message.to_owned()));
    }

    /// What it was said to wait for is over.
    pub(crate) fn go_on(&self) {
        self.update(|state| state.message = None);
    }

    /// Its client is asked something, for as long as the guard lives. A message that asks names the
    /// task in its `_meta`.
    pub(crate) fn ask(self: &Arc<Self>, params: &mut Value) -> InputRequired {
        self.relate(params);
        self.update(|state| {
            state.questions = state.questions.saturating_add(1);
            state.status = TaskStatus::InputRequired;
        });
        InputRequired(Arc::clone(self))
    }

    /// Its call is over, and this is what it was answered with. Does nothing where it has ended.
    pub(crate) fn end(&self, result: Result<Value, RpcError>) {
        let said = result.as_ref().ok().and_then(|result| result.get("isError"));
        let failed = result.is_err() || said == Some(&Value::Bool(true));
        let bytes = result.as_ref().map_or(0, |result| result.to_string().len());
        self.update(|state| {
            state.status = if failed { TaskStatus::Failed } else { TaskStatus::Completed };
            state.message = if failed { failure(&result) } else { None };
            state.outcome = Some(TaskOutcome { result, bytes });
        });
    }

    /// Cancels it; how it is then.
    pub(super) fn cancel(&self) -> Result<Value, RpcError> {
        if !self.abandon() {
            let problem = format!("task `{}` has ended; it cannot be cancelled", self.id);
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        }
        Ok(self.to_json())
    }

    /// Gives its call up. False where it has ended.
    pub(crate) fn abandon(&self) -> bool {
        let goes_on = self.update(|state| {
            state.status = TaskStatus::Cancelled;
            state.message = None;
        });
        if goes_on {
            self.cancellation.cancel();
        }
        goes_on
    }

    /// Its client waits for its result on this stream, and reads there what it is asked.
    pub(super) fn read_result_on(&self, stream: &WeakSender<Vec<u8>>) {
        self.result_streams.send_modify(|streams| {
            streams.retain(|stream| stream.strong_count() > 0);
            streams.push(stream.clone());
        });
    }

    /// A stream on which its client waits for its result, once it does.
    pub(crate) async fn result_stream(&self) -> Outbox {
        let mut streams = self.result_streams.subscribe();
        loop {
            let open = streams.borrow_and_update().iter().find_map(WeakSender::upgrade);
            match open {
                Some(open) => return open,
                // The sender lives as long as the task.
                None => _ = streams.changed().await,
            }
        }
    }

    /// Waits until it has ended; what its call was answered with.
    pub(super) async fn result(&self) -> Result<Value, RpcError> {
        let mut states = self.state.subscribe();
        // The sender lives as long as the task.
        let Ok(state) = states.wait_for(|state| state.status.is_final()).await else {
            return Err(RpcError::new(code::INTERNAL, "the task is gone"));
        };
        let Some(outcome) = &state.outcome else {
            let problem = format!("task `{}` was cancelled; it has no result", self.id);
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        };
        let mut result = outcome.result.clone()?;
        self.relate(&mut result);
        Ok(result)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.borrow().status.is_final()
    }

    /// True when it has ended and was kept for its time, which may have been over before its end.
    pub(super) fn has_expired(&self) -> bool {
        let now = self.clock.now();
        now.since(self.created) >= self.lifetime
            && self.ended().is_some_and(|ended| now.since(ended) >= LINGER)
    }

    /// When it ended; `None` while it goes on.
    pub(super) fn ended(&self) -> Option<Timestamp> {
        let state = self.state.borrow();
        state.status.is_final().then_some(state.updated)
    }

    pub(super) fn result_bytes(&self) -> usize {
        self.state.borrow().outcome.as_ref().map_or(0, |outcome| outcome.bytes)
    }

    /// How it is, as its client sees it.
    pub(crate) fn to_json(&self) -> Value {
        let state = self.state.borrow();
        let mut task = json!({
            "taskId": self.id,
            "status": state.status.as_str(),
            "createdAt": self.created.rfc3339(),
            "lastUpdatedAt": state.updated.rfc3339(),
            "ttl": u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX),
            "pollInterval": POLL_INTERVAL,
        });
        if let (Some(message), Some(task)) = (&state.message, task.as_object_mut()) {
            task.insert("statusMessage".to_owned(), json!(message));
        }
        task
    }

    /// The line that tells how it is.
    pub(crate) fn notification(&self) -> Vec<u8> {
        message::notification_with("notifications/tasks/status", self.to_json())
    }

    /// Says in the `_meta` of a message that it is about this task.
    pub(super) fn relate(&self, message: &mut Value) {
        let Some(fields) = message.as_object_mut() else { return };
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(RELATED.to_owned(), json!({ "taskId": self.id }));
        }
    }

    /// Changes its state, unless it has ended.
    fn update(&self, change: impl FnOnce(&mut TaskState)) -> bool {
        self.state.send_if_modified(|state| {
            let goes_on = !state.status.is_final();
            if goes_on {
                change(state);
                state.updated = self.clock.now();
            }
            goes_on
        })
    }
}

/// Why a call failed, in a few words: what it was answered with is masked already.
fn failure(result: &Result<Value, RpcError>) -> Option<String> {
    let said = match result {
        Ok(result) => {
            let said = result.pointer("/structuredContent/message");
            said.or_else(|| result.pointer("/content/0/text"))?.as_str()?
        }
        Err(error) => error.message.as_str(),
    };
    Some(said.chars().take(MAX_MESSAGE).collect())
}

/// The client of a task is asked something.
pub(crate) struct InputRequired(Arc<Task>);

impl Drop for InputRequired {
    fn drop(&mut self) {
        self.0.update(|state| {
            state.questions = state.questions.saturating_sub(1);
            if state.questions == 0 {
                state.status = TaskStatus::Working;
                // What was said meanwhile was that it waits.
                state.message = None;
            }
        });
    }
}
