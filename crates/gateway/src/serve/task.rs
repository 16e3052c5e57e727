//! One task: its status and its result.

mod view;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use view::failure_message;
use weaver_types::{Clock, RunId, Timestamp};

use super::era::Era;
use super::lines::Outbox;
use super::message::{self, RpcError, code};
use super::result_budget::{KeptBytes, ResultBudget};

/// How long a task is kept after its end, whatever its lifetime, so that its client can see the
/// result.
const MIN_KEPT_AFTER_END: Duration = Duration::from_secs(60);

/// The outcome of a call whose result would take too much memory.
const NOT_KEPT: &str = "the call has ended, but too many large results of tasks are kept for this client; \
                        make it again once they have expired, or without a task";

/// A call that its client follows as a task.
pub(crate) struct Task {
    id: String,
    /// Legacy: the client asked for the task (2025-11-25). Modern: the gateway decides whether the
    /// call becomes one (the extension of 2026-07-28).
    era: Era,
    clock: Arc<dyn Clock>,
    created: Timestamp,
    lifetime: Duration,
    results: Arc<ResultBudget>,
    /// The run in which its call is made, once that is known.
    run: OnceLock<RunId>,
    state: watch::Sender<TaskState>,
    /// Cancelled when the client cancels the task, which abandons its call.
    cancellation: CancellationToken,
    /// Cancelled when the call is known to take long, so that its request should be answered with
    /// the task (modern era).
    deferral: CancellationToken,
    /// The streams on which its client waits for the result.
    result_streams: watch::Sender<Vec<WeakSender<Vec<u8>>>>,
}

struct TaskState {
    status: TaskStatus,
    message: Option<String>,
    /// The number of questions its client is being asked (legacy era).
    questions: usize,
    /// What its client is being asked, and the answers that the call has not taken yet (modern
    /// era).
    input: TaskInput,
    updated: Timestamp,
    outcome: Option<TaskOutcome>,
}

#[derive(Default)]
struct TaskInput {
    requests: Map<String, Value>,
    answers: Map<String, Value>,
}

/// The outcome of the call.
struct TaskOutcome {
    result: Result<Value, RpcError>,
    kept: Option<KeptBytes>,
}

/// What a new task needs of its client and gateway.
#[derive(Clone, Copy)]
pub(crate) struct TaskContext<'a> {
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) results: &'a Arc<ResultBudget>,
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
    pub(super) fn begin(
        id: String,
        era: Era,
        context: TaskContext<'_>,
        lifetime: Duration,
    ) -> Self {
        let (clock, results) = (Arc::clone(context.clock), Arc::clone(context.results));
        let created = clock.now();
        let state = TaskState {
            status: TaskStatus::Working,
            message: None,
            questions: 0,
            input: TaskInput::default(),
            updated: created,
            outcome: None,
        };
        let (cancellation, deferral) = (CancellationToken::new(), CancellationToken::new());
        let (state, result_streams) = (watch::Sender::new(state), watch::Sender::default());
        Self {
            id,
            era,
            clock,
            created,
            lifetime,
            results,
            run: OnceLock::new(),
            state,
            cancellation,
            deferral,
            result_streams,
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether its client asked for it. Otherwise the gateway made the call a task because it takes
    /// long.
    pub(crate) fn was_asked_for(&self) -> bool {
        self.era == Era::Legacy
    }

    /// How long it is kept, counted from its beginning.
    pub(crate) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Sets the run in which its call is made.
    pub(crate) fn set_run(&self, run: &RunId) {
        let _ = self.run.set(run.clone());
    }

    /// Replaces its result, if it is of another run than this: it would be shown in a run that it
    /// does not taint.
    pub(super) fn drop_result_of_another_run(&self, run: &RunId) {
        if self.run.get().is_none_or(|own| own == run) {
            return;
        }
        self.state.send_if_modified(|state| {
            let Some(TaskOutcome { result: Ok(result), .. }) = &state.outcome else { return false };
            if !message::is_of_server(result) {
                return false;
            }
            let result = Err(message::ended_run_error(result));
            state.outcome = Some(TaskOutcome { result, kept: None });
            state.status = TaskStatus::Failed;
            true
        });
    }

    /// Completes when the client has cancelled it.
    pub(crate) async fn wait_until_cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// The call is known to take long: its request need not wait for it.
    pub(crate) fn defer(&self) {
        self.deferral.cancel();
    }

    /// Completes when the call is known to take long.
    pub(crate) async fn wait_until_deferred(&self) {
        self.deferral.cancelled().await;
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
    /// the task in its `_meta`. Clients of the modern era read questions in the task itself.
    pub(crate) fn begin_question(
        self: &Arc<Self>,
        params: &mut Value,
    ) -> Option<InputRequiredGuard> {
        if self.era == Era::Modern {
            return None;
        }
        self.add_related_task(params);
        self.update(|state| {
            state.questions = state.questions.saturating_add(1);
            state.status = TaskStatus::InputRequired;
        });
        Some(InputRequiredGuard(Arc::clone(self)))
    }

    /// Asks its client these questions (modern era). Those that are answered already are not asked
    /// again.
    pub(crate) fn ask(&self, mut requests: Map<String, Value>) {
        self.update(|state| {
            requests.retain(|key, _| !state.input.answers.contains_key(key));
            state.input.requests = requests;
            state.update_input_status();
        });
    }

    /// Takes answers of its client. Answers to anything that is not asked are ignored.
    pub(super) fn take_answers(&self, answers: &Map<String, Value>) {
        self.update(|state| {
            for (key, answer) in answers.iter().filter(|(_, answer)| answer.is_object()) {
                if state.input.requests.remove(key).is_some() {
                    state.input.answers.insert(key.clone(), answer.clone());
                }
            }
            state.update_input_status();
        });
    }

    /// Waits for answers of its client.
    pub(crate) async fn answers(&self) -> Map<String, Value> {
        let mut states = self.state.subscribe();
        // The sender lives as long as the task.
        let _ = states.wait_for(|state| !state.input.answers.is_empty()).await;
        drop(states);
        let mut answers = Map::new();
        self.state.send_modify(|state| answers = std::mem::take(&mut state.input.answers));
        answers
    }

    /// Ends the task with the answer to its call. Does nothing where it has ended already.
    pub(crate) fn finish(&self, result: Result<Value, RpcError>) {
        let is_error = result.as_ref().ok().and_then(|result| result.get("isError"));
        // In the modern era a tool's own failure is a result like any other.
        let has_failed =
            result.is_err() || (self.era == Era::Legacy && is_error == Some(&Value::Bool(true)));
        let bytes = result.as_ref().map_or(0, |result| result.to_string().len());
        let kept = self.results.try_keep(bytes);
        let result = match kept {
            Some(_) => result,
            None => Err(RpcError::new(code::INTERNAL, NOT_KEPT)),
        };
        self.update(|state| {
            state.status = if has_failed { TaskStatus::Failed } else { TaskStatus::Completed };
            state.message = if has_failed { failure_message(&result) } else { None };
            state.input = TaskInput::default();
            state.outcome = Some(TaskOutcome { result, kept });
        });
    }

    /// Cancels it, and returns its status.
    pub(super) fn cancel(&self) -> Result<Value, RpcError> {
        if !self.abandon() {
            let problem = format!("task `{}` has ended; it cannot be cancelled", self.id);
            return Err(RpcError::new(code::INVALID_PARAMS, problem));
        }
        Ok(Value::Object(self.to_json()))
    }

    /// Abandons its call. False where it has ended already.
    pub(crate) fn abandon(&self) -> bool {
        let was_running = self.update(|state| {
            state.status = TaskStatus::Cancelled;
            state.message = None;
            state.input = TaskInput::default();
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
        self.state
            .borrow()
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.kept.as_ref())
            .map_or(0, |kept| kept.bytes)
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

impl TaskState {
    /// Sets the status by whether its client is being asked something (modern era).
    fn update_input_status(&mut self) {
        self.status = match self.input.requests.is_empty() {
            true => TaskStatus::Working,
            false => TaskStatus::InputRequired,
        };
    }
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
