//! One request of a client under way: what a server may ask of the client in it, and how far it is.
//!
//! The kernel knows runs and no requests, so the request that a driver works for is handed to it
//! beside the kernel, in a task-local value.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{mpsc, oneshot};
use weaver_drivers::mcp::{CallTimer, LogLevel, RpcError};

use super::client_link::{ClientLink, QuestionStream};
use super::lines::Outbox;
use super::parked_calls::{MAX_QUESTIONS, Question, QuestionSender};
use super::progress_reporter::ProgressReporter;
use super::task::Task;

tokio::task_local! {
    static CURRENT: Arc<ClientCall>;
}

/// One request of a client under way.
pub(crate) struct ClientCall {
    link: Arc<ClientLink>,
    /// How its client is asked in its result (modern era).
    in_result: Option<ResultQuestions>,
    /// What its time limits run on.
    pub(crate) timer: CallTimer,
    /// What a server says that its client lacks.
    lacking: OnceLock<RpcError>,
    /// Where its progress goes.
    pub(crate) progress: Option<Arc<ProgressReporter>>,
    /// The task as which its client follows it.
    task: Option<Arc<Task>>,
    /// Where its client reads more than the answer.
    stream: Option<WeakSender<Vec<u8>>>,
    /// The log messages that its client wants on the way to the answer.
    log: Option<RequestLog>,
}

/// The log messages that a request of the modern era asks for.
#[derive(Debug, Clone)]
pub(crate) struct RequestLog {
    /// From which level on.
    pub(crate) level: LogLevel,
    /// Where the request is answered.
    pub(crate) stream: WeakSender<Vec<u8>>,
}

/// How the client of a request follows it.
#[derive(Default)]
pub(crate) struct CallFollowing {
    /// Where its progress goes.
    pub(crate) progress: Option<Arc<ProgressReporter>>,
    /// The task that it was answered with.
    pub(crate) task: Option<Arc<Task>>,
    /// Where its client reads more than the answer, if it does.
    pub(crate) stream: Option<WeakSender<Vec<u8>>>,
    /// The log messages that it wants.
    pub(crate) log: Option<RequestLog>,
}

/// How the client of the modern era is asked in the result of its request.
struct ResultQuestions {
    capabilities: Map<String, Value>,
    questions: QuestionSender,
}

impl ClientCall {
    /// A request of a client, and what the client is asked in its result. `capabilities` are those
    /// that a request of the modern era names.
    pub(crate) fn open(
        link: &Arc<ClientLink>,
        capabilities: Option<Map<String, Value>>,
        following: CallFollowing,
    ) -> (Arc<Self>, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(MAX_QUESTIONS);
        let in_result = capabilities
            .map(|capabilities| ResultQuestions { capabilities, questions: questions.clone() });
        let (link, timer) = (Arc::clone(link), CallTimer::default());
        let CallFollowing { progress, task, stream, log } = following;
        let lacking = OnceLock::new();
        (Arc::new(Self { link, in_result, timer, lacking, progress, task, stream, log }), asked)
    }

    /// Does the work for this request.
    pub(crate) async fn scope<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(Arc::clone(self), work).await
    }

    /// The request that is worked for.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// The task as which its client follows it.
    pub(crate) fn task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref()
    }

    pub(crate) fn link(&self) -> &Arc<ClientLink> {
        &self.link
    }

    /// True where its client wants log messages on the way to the answer.
    pub(crate) fn wants_log(&self) -> bool {
        self.log.is_some()
    }

    /// Where a log message of this level goes, if its client wants it.
    pub(crate) fn log_outbox(&self, level: LogLevel) -> Option<Outbox> {
        self.log.as_ref().filter(|log| log.level <= level)?.stream.upgrade()
    }

    /// What its client says of one of its capabilities.
    pub(crate) fn capability(&self, name: &str) -> Option<Value> {
        let said = match &self.in_result {
            Some(in_result) => in_result.capabilities.get(name).cloned(),
            None => self.link.session_capability(name),
        };
        said.filter(Value::is_object)
    }

    /// A server refused it, since its client lacks a capability.
    pub(crate) fn lacks(&self, refusal: &RpcError) {
        if self.asks_in_result() {
            let _ = self.lacking.set(refusal.clone());
        }
    }

    /// The refusal of a server whose client lacks a capability.
    pub(crate) fn lacking(&self) -> Option<&RpcError> {
        self.lacking.get()
    }

    /// True where its client is asked in its result.
    pub(crate) fn asks_in_result(&self) -> bool {
        self.in_result.is_some()
    }

    /// Where its client reads more than the answer.
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

    /// Asks its client, and waits for the answer. `key` is the name of the question at its server.
    pub(crate) async fn ask(
        &self,
        key: Option<String>,
        method: &str,
        mut params: Value,
    ) -> Result<Value, RpcError> {
        let _input_required = self.task.as_ref().map(|task| task.ask(&mut params));
        let Some(ResultQuestions { questions, .. }) = &self.in_result else {
            return self.link.ask(self.question_stream(), method, params).await;
        };
        let gone = || RpcError::new(-32603, "the client is gone");
        if self.link.has_left() {
            return Err(gone());
        }
        let (tell, told) = oneshot::channel();
        let question = Question { key, method: method.to_owned(), params, tell };
        questions.send(question).await.map_err(|_| gone())?;
        told.await.unwrap_or_else(|_| Err(gone()))
    }
}
