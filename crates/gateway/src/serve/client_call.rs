//! One request of a client in flight: the questions a server may ask in it, and its progress.
//!
//! The kernel knows runs but not requests, so the current request reaches the drivers in a
//! task-local value.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{mpsc, oneshot};
use weaver_drivers::mcp::{CallTimer, LogLevel, RpcError};
use weaver_types::RunId;

use super::client_link::{ClientLink, QuestionStream};
use super::lines::Outbox;
use super::parked_calls::{MAX_QUESTIONS, Question, QuestionSender};
use super::progress_reporter::ProgressReporter;
use super::task::Task;
use crate::serve::code;

tokio::task_local! {
    static CURRENT: Arc<ClientCall>;
}

/// One request of a client in flight.
pub(crate) struct ClientCall {
    link: Arc<ClientLink>,
    /// How questions reach its client in the result of the request (modern era).
    input_requests: Option<InputRequestChannel>,
    /// The pausable timer behind its time limits.
    pub(crate) timer: CallTimer,
    /// The server's refusal because the client lacks a capability.
    missing_capability: OnceLock<RpcError>,
    /// Reports its progress.
    pub(crate) progress: Option<Arc<ProgressReporter>>,
    /// The task under which its client follows it.
    task: Option<Arc<Task>>,
    /// The stream of the answer, where the client reads notifications on it too.
    stream: Option<WeakSender<Vec<u8>>>,
    /// The log messages requested with it.
    log: Option<LogSubscription>,
    /// The run in which it was made, once that is known.
    run: Arc<OnceLock<RunId>>,
    /// The connection to the process that serves it; 0 for none.
    serving_process: AtomicU64,
    /// How long it has waited for servers to start, in milliseconds.
    start_wait_ms: AtomicU64,
}

/// The log messages that a request of the modern era asks for.
#[derive(Debug, Clone)]
pub(crate) struct LogSubscription {
    /// The lowest level that is sent.
    pub(crate) level: LogLevel,
    /// The channel of the answer.
    pub(crate) stream: WeakSender<Vec<u8>>,
}

/// The channels by which a client follows its request.
#[derive(Default)]
pub(crate) struct CallChannels {
    /// Reports its progress.
    pub(crate) progress: Option<Arc<ProgressReporter>>,
    /// The task that the request was answered with.
    pub(crate) task: Option<Arc<Task>>,
    /// The stream of the answer, where the client reads notifications on it too.
    pub(crate) stream: Option<WeakSender<Vec<u8>>>,
    /// The log messages requested with it.
    pub(crate) log: Option<LogSubscription>,
}

/// How questions reach a client of the modern era in the result of its request.
struct InputRequestChannel {
    capabilities: Map<String, Value>,
    questions: QuestionSender,
}

impl ClientCall {
    /// Opens a request, and returns the receiver of the questions for its result. `capabilities`
    /// are those that a request of the modern era declares.
    pub(crate) fn open(
        link: &Arc<ClientLink>,
        capabilities: Option<Map<String, Value>>,
        channels: CallChannels,
    ) -> (Arc<Self>, mpsc::Receiver<Question>) {
        let (questions, received) = mpsc::channel(MAX_QUESTIONS);
        let input_requests = capabilities
            .map(|capabilities| InputRequestChannel { capabilities, questions: questions.clone() });
        let (link, timer) = (Arc::clone(link), CallTimer::default());
        let CallChannels { progress, task, stream, log } = channels;
        let missing_capability = OnceLock::new();
        (
            Arc::new(Self {
                link,
                input_requests,
                timer,
                missing_capability,
                progress,
                task,
                stream,
                log,
                run: Arc::default(),
                serving_process: AtomicU64::new(0),
                start_wait_ms: AtomicU64::new(0),
            }),
            received,
        )
    }

    /// Runs work with this request as the current one.
    pub(crate) fn scope<T>(
        self: &Arc<Self>,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = T> {
        CURRENT.scope(Arc::clone(self), work)
    }

    /// The request that the current task works on.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Sets the run in which it is made.
    pub(crate) fn set_run(&self, run: &RunId) {
        let _ = self.run.set(run.clone());
        if let Some(task) = &self.task {
            task.set_run(run);
        }
    }

    /// Where its run is known as soon as there is one.
    pub(crate) fn run(&self) -> Arc<OnceLock<RunId>> {
        Arc::clone(&self.run)
    }

    /// Notes the connection to the process that serves it.
    pub(crate) fn note_serving_process(&self, generation: u64) {
        self.serving_process.store(generation, Ordering::Release);
    }

    /// The connection to the process that served it; `None` where none did.
    pub(crate) fn serving_process(&self) -> Option<u64> {
        Some(self.serving_process.load(Ordering::Acquire)).filter(|generation| *generation > 0)
    }

    /// What is left of the time that it may wait for servers to start.
    pub(crate) fn start_wait_left(&self, limit: Duration) -> Duration {
        limit.saturating_sub(Duration::from_millis(self.start_wait_ms.load(Ordering::Relaxed)))
    }

    /// Notes that it has waited for a server to start.
    pub(crate) fn note_start_wait(&self, waited: Duration) {
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.start_wait_ms.fetch_add(waited, Ordering::Relaxed);
    }

    /// The task under which its client follows it.
    pub(crate) fn task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref()
    }

    pub(crate) fn link(&self) -> &Arc<ClientLink> {
        &self.link
    }

    /// True where its client asked for log messages.
    pub(crate) fn wants_log(&self) -> bool {
        self.log.is_some()
    }

    /// The channel for a log message of this level, if its client asked for it.
    pub(crate) fn log_outbox(&self, level: LogLevel) -> Option<Outbox> {
        self.log.as_ref().filter(|log| log.level <= level)?.stream.upgrade()
    }

    /// What its client declared about a capability.
    pub(crate) fn capability(&self, name: &str) -> Option<Value> {
        let declared = match &self.input_requests {
            Some(input_requests) => input_requests.capabilities.get(name).cloned(),
            None => self.link.session_capability(name),
        };
        declared.filter(Value::is_object)
    }

    /// Records that a server refused the request because the client lacks a capability.
    pub(crate) fn record_missing_capability(&self, refusal: &RpcError) {
        if self.asks_in_result() {
            let _ = self.missing_capability.set(refusal.clone());
        }
    }

    /// The server's refusal because the client lacks a capability.
    pub(crate) fn missing_capability(&self) -> Option<&RpcError> {
        self.missing_capability.get()
    }

    /// True where questions reach its client in the result of the request.
    pub(crate) fn asks_in_result(&self) -> bool {
        self.input_requests.is_some()
    }

    /// The stream of the answer, where the client reads notifications on it too.
    pub(crate) fn stream(&self) -> Option<&WeakSender<Vec<u8>>> {
        self.stream.as_ref()
    }

    fn question_stream(&self) -> QuestionStream<'_> {
        match (&self.task, &self.stream) {
            (Some(task), _) => QuestionStream::Task(task),
            (None, Some(stream)) => QuestionStream::Request(stream),
            (None, None) => QuestionStream::Session,
        }
    }

    /// Asks its client, and waits for the answer. `key` is the server's name for the question.
    pub(crate) async fn ask(
        &self,
        key: Option<String>,
        method: &str,
        mut params: Value,
    ) -> Result<Value, RpcError> {
        let task = self.task.as_ref();
        let _input_required = task.and_then(|task| task.begin_question(&mut params));
        let Some(InputRequestChannel { questions, .. }) = &self.input_requests else {
            return self.link.ask(self.question_stream(), method, params).await;
        };
        let client_gone = || RpcError::new(code::INTERNAL, "the client is gone");
        if self.link.is_closed() {
            return Err(client_gone());
        }
        let (reply_to, reply) = oneshot::channel();
        let question = Question { key, method: method.to_owned(), params, reply_to };
        questions.send(question).await.map_err(|_| client_gone())?;
        reply.await.unwrap_or_else(|_| Err(client_gone()))
    }
}
