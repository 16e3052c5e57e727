//! One task: its status and its result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use weaver_types::{Clock, Timestamp};

use super::lines::Outbox;
use super::message::{self, RpcError, code};

/// The poll interval suggested to clients, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1_000;
/// How long a task is kept after its end, whatever its lifetime, so that its client can see the
/// result.
const MIN_KEPT_AFTER_END: Duration = Duration::from_secs(60);
/// The longest failure in the status message, in characters; the result has the full text.
const MAX_MESSAGE_CHARS: usize = 500;
/// The `_meta` key of the task that a message is about.
const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

/// A call that its client follows as a task.
pub(crate) struct Task {
    id: String,
    clock: Arc<dyn Clock>,
    created: Timestamp,
    lifetime: Duration,
    state: watch::Sender<TaskState>,
    /// Cancelled when the client cancels the task, which abandons its call.
    cancellation: CancellationToken,
    /// The streams on which its client waits for the result.
    result_streams: watch::Sender<Vec<WeakSender<Vec<u8>>>>,
}

struct TaskState {
    status: TaskStatus,
    message: Option<String>,
    /// The number of questions its client is being asked.
    questions: usize,
    updated: Timestamp,
    outcome: Option<TaskOutcome>,
}

/// The outcome of the call.
struct TaskOutcome {
    result: Result<Value, RpcError>,
    bytes: usize,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskStatus {
    Working,
    /// Its client is being asked something.
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

    /// How long it is kept, counted from its beginning.
    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Completes when the client has cancelled it.
    pub(crate) async fn wait_until_cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Sets the status message.
    pub(crate) fn set_message(&self, message: &str) {
        self.update(|state| state.message = Some(message.to_owned()));
    }

    /// Clears the status message, because what it waited for is over.
    pub(crate) fn clear_message(&self) {
        self.update(|state| state.message = None);
    }

    /// Marks the task as waiting for input until the guard is dropped, and relates the question to
    /// the task in its `_meta`.
    pub(crate) fn begin_question(self: &Arc<Self>, params: &mut Value) -> InputRequiredGuard {
        self.add_related_task(params);
        self.update(|state| {
            state.questions = state.questions.saturating_add(1);
            state.status = TaskStatus::InputRequired;
        });
        InputRequiredGuard(Arc::clone(self))
    }

    /// Ends the task with the answer to its call. Does nothing where it has ended already.
    pub(crate) fn finish(&self, result: Result<Value, RpcError>) {
        let is_error = result.as_ref().ok().and_then(|result| result.get("isError"));
        let has_failed = result.is_err() || is_error == Some(&Value::Bool(true));
        let bytes = result.as_ref().map_or(0, |result| result.to_string().len());
        self.update(|state| {
            state.status = if has_failed { TaskStatus::Failed } else { TaskStatus::Completed };
            state.message = if has_failed { failure_message(&result) } else { None };
            state.outcome = Some(TaskOutcome { result, bytes });
        });
    }

    /// Cancels it, and returns its status.
    pub(super) fn cancel(&self) -> Result<Value, RpcError> {
        if !self.abandon() {
            let problem = format!("task `{}` has ended; it cannot be cancelled", self.id);
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        }
        Ok(self.to_json())
    }

    /// Abandons its call. False where it has ended already.
    pub(crate) fn abandon(&self) -> bool {
        let was_running = self.update(|state| {
            state.status = TaskStatus::Cancelled;
            state.message = None;
        });
        if was_running {
            self.cancellation.cancel();
        }
        was_running
    }

    /// Adds a stream on which its client waits for the result and reads questions.
    pub(super) fn add_result_stream(&self, stream: &WeakSender<Vec<u8>>) {
        self.result_streams.send_modify(|streams| {
            streams.retain(|stream| stream.strong_count() > 0);
            streams.push(stream.clone());
        });
    }

    /// Waits for a stream on which its client waits for the result.
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

    /// Waits for its end, and returns the answer to its call.
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
        self.add_related_task(&mut result);
        Ok(result)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.borrow().status.is_final()
    }

    /// True when it has ended and both its lifetime and the minimum time after its end are over.
    pub(super) fn has_expired(&self) -> bool {
        let now = self.clock.now();
        now.since(self.created) >= self.lifetime
            && self.ended_at().is_some_and(|ended_at| now.since(ended_at) >= MIN_KEPT_AFTER_END)
    }

    /// When it ended; `None` while it runs.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        let state = self.state.borrow();
        state.status.is_final().then_some(state.updated)
    }

    pub(super) fn result_bytes(&self) -> usize {
        self.state.borrow().outcome.as_ref().map_or(0, |outcome| outcome.bytes)
    }

    /// The task as its client sees it.
    pub(crate) fn to_json(&self) -> Value {
        let state = self.state.borrow();
        let mut task = json!({
            "taskId": self.id,
            "status": state.status.as_str(),
            "createdAt": self.created.rfc3339(),
            "lastUpdatedAt": state.updated.rfc3339(),
            "ttl": u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX),
            "pollInterval": POLL_INTERVAL_MS,
        });
        if let (Some(message), Some(task)) = (&state.message, task.as_object_mut()) {
            task.insert("statusMessage".to_owned(), json!(message));
        }
        task
    }

    /// The notification of its status.
    pub(crate) fn notification(&self) -> Vec<u8> {
        message::notification_with("notifications/tasks/status", self.to_json())
    }

    /// Names this task in the `_meta` of a message.
    pub(super) fn add_related_task(&self, message: &mut Value) {
        let Some(fields) = message.as_object_mut() else { return };
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(RELATED_TASK_KEY.to_owned(), json!({ "taskId": self.id }));
        }
    }

    /// Changes its state, unless it has ended.
    fn update(&self, change: impl FnOnce(&mut TaskState)) -> bool {
        self.state.send_if_modified(|state| {
            let is_running = !state.status.is_final();
            if is_running {
                change(state);
                state.updated = self.clock.now();
            }
            is_running
        })
    }
}

/// A short reason of a failure. The answer is masked already.
fn failure_message(result: &Result<Value, RpcError>) -> Option<String> {
    let message = match result {
        Ok(result) => {
            let message = result.pointer("/structuredContent/message");
            message.or_else(|| result.pointer("/content/0/text"))?.as_str()?
        }
        Err(error) => error.message.as_str(),
    };
    Some(message.chars().take(MAX_MESSAGE_CHARS).collect())
}

/// Keeps a task in the status `input_required`.
pub(crate) struct InputRequiredGuard(Arc<Task>);

impl Drop for InputRequiredGuard {
    fn drop(&mut self) {
        self.0.update(|state| {
            state.questions = state.questions.saturating_sub(1);
            if state.questions == 0 {
                state.status = TaskStatus::Working;
                // The message so far said that it waits.
                state.message = None;
            }
        });
    }
}
