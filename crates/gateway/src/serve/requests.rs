//! The requests of one client in flight: each is answered exactly once, unless the client cancels
//! it. Their number and size are bounded.

mod task_calls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tokio::sync::mpsc::WeakSender;
use weaver_types::{Progress, RunId};

use super::call::CallOptions;
use super::client::Client;
use super::client_call::{CallChannels, ClientCall, LogSubscription};
use super::dispatch::{self, Session};
use super::in_flight_requests::{InFlightRequests, RequestCancellation};
use super::lines::{MAX_LINE_BYTES, Outbox};
use super::message::{self, ClientMessage, Request, RpcError, code};
use super::parked_calls::{self, CallStep, RequestIdentity, RunningCall};
use super::progress_notification;
use super::progress_reporter::ProgressReporter;
use super::request_limits::{RequestLimits, RequestPermits};
use super::task::Task;
use super::tasks;
use crate::telemetry::TraceParent;

/// The methods that call a server. Cancelling one of them cancels the call there.
const CALL_METHODS: [&str; 4] =
    ["tools/call", "resources/read", "prompts/get", "completion/complete"];

/// The requests of one client.
pub(crate) struct Requests {
    client: Arc<Client>,
    session: Arc<Session>,
    open: Arc<InFlightRequests>,
    /// Counts the standalone requests.
    standalone_count: AtomicU64,
    limits: RequestLimits,
}

impl Requests {
    pub(crate) fn new(client: Arc<Client>, session: Arc<Session>) -> Self {
        let (open, standalone_count) = (Arc::default(), AtomicU64::default());
        Self { client, session, open, standalone_count, limits: RequestLimits::default() }
    }

    /// Processes a line; its answers go to `outbox`. False when it has none.
    pub(crate) async fn take(
        &self,
        line: &[u8],
        outbox: &Outbox,
        streaming: ResponseStreaming,
    ) -> bool {
        self.dispatch(line, outbox, RequestConnection::Shared(streaming)).await
    }

    /// Processes a standalone message on a connection of its own (2026-07-28 over HTTP). Other
    /// clients may use the same id at the same time, and closing the connection cancels the
    /// request. False when it has no answer.
    pub(crate) async fn take_standalone(&self, line: &[u8], outbox: &Outbox) -> bool {
        self.dispatch(line, outbox, RequestConnection::Own).await
    }

    async fn dispatch(&self, line: &[u8], outbox: &Outbox, connection: RequestConnection) -> bool {
        let message = message::parse(line);
        let is_answered = message.is_answered();
        match message {
            ClientMessage::Response { id, answer } => self.client.link.deliver_answer(&id, answer),
            ClientMessage::Malformed { id, error } => {
                let _ = outbox.send(message::answer(&id, Err(error))).await;
            }
            ClientMessage::Notification { method, params } => {
                self.handle_notification(&method, params.get("requestId"));
            }
            ClientMessage::Request(request) => {
                let arrival = Arrival { bytes: line.len(), connection };
                self.begin(request, arrival, outbox).await;
            }
        }
        is_answered
    }

    /// Answers a line that was too long to be read.
    pub(crate) async fn refuse_too_long(&self, outbox: &Outbox) {
        let problem = format!("a line is longer than {MAX_LINE_BYTES} bytes; it was not read");
        let error = RpcError::new(code::INVALID_REQUEST, problem);
        let _ = outbox.send(message::answer(&Value::Null, Err(error))).await;
    }

    /// Ends every wait for a person or the client, because the client has left.
    pub(crate) fn stop_waiting(&self) {
        self.open.stop_waiting();
        self.client.link.close();
    }

    /// Answers every call that has not ended, because the gateway ends: each may have run.
    pub(crate) fn cut_off(&self) {
        self.open.cut_off();
    }

    /// Waits until no request is in flight.
    pub(crate) async fn wait_until_idle(&self) {
        self.limits.wait_until_idle().await;
    }

    /// The protocol state of the session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.limits.in_flight()
    }

    /// Handles a notification. Cancelling a call abandons it: the server is notified, the log
    /// records it, and its answer is not sent.
    fn handle_notification(&self, method: &str, id: Option<&Value>) {
        match (method, id) {
            ("notifications/cancelled", Some(id)) => self.open.cancel(&id.to_string()),
            ("notifications/initialized", _) => {
                self.session.mark_initialized();
                self.client.link.mark_initialized();
                // A server that asked for roots before this client connected got none.
                if self.client.link.session_capability("roots").is_some() {
                    self.client.gateway.upstreams.roots_changes.report();
                }
            }
            ("notifications/roots/list_changed", _) => {
                self.client.gateway.upstreams.roots_changes.report();
            }
            _ => {}
        }
    }

    async fn begin(&self, request: Request, arrival: Arrival, outbox: &Outbox) {
        let refuse = |problem: &str| {
            message::answer(&request.id, Err(RpcError::new(code::INVALID_REQUEST, problem)))
        };
        let Some(permits) = self.limits.try_reserve(arrival.bytes) else {
            let _ = outbox.send(refuse("too many requests at once; wait for answers")).await;
            return;
        };
        let key = match arrival.connection {
            RequestConnection::Shared(_) => request.id.to_string(),
            // No id in JSON begins with a blank, so the keys cannot collide.
            RequestConnection::Own => {
                format!(" {}", self.standalone_count.fetch_add(1, Ordering::Relaxed))
            }
        };
        let Some((number, cancellation)) = self.open.begin(&key) else {
            let _ = outbox.send(refuse("a request with this id is being worked on")).await;
            return;
        };
        let task = RequestTask {
            client: Arc::clone(&self.client),
            session: Arc::clone(&self.session),
            outbox: outbox.clone(),
            open: Arc::clone(&self.open),
            key,
            number,
            cancellation,
            connection: arrival.connection,
            // What follows may run in another task.
            trace_parent: TraceParent::of_http_request(),
            permits,
        };
        // A handshake is answered before the next line is read.
        if matches!(request.method.as_str(), "initialize" | "server/discover" | "ping") {
            task.run(request).await;
        } else {
            tokio::spawn(task.run(request));
        }
    }
}

/// Whether the stream of an answer also carries notifications and questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStreaming {
    /// It carries only the answer.
    AnswerOnly,
    /// It carries notifications and questions before the answer.
    Streamed,
}

/// Whether a request has a connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestConnection {
    /// Other requests of the client share it.
    Shared(ResponseStreaming),
    Own,
}

/// How a request arrived.
struct Arrival {
    bytes: usize,
    connection: RequestConnection,
}

/// The task of one request in flight.
struct RequestTask {
    client: Arc<Client>,
    session: Arc<Session>,
    outbox: Outbox,
    open: Arc<InFlightRequests>,
    key: String,
    number: u64,
    cancellation: RequestCancellation,
    connection: RequestConnection,
    /// The trace context of the HTTP request.
    trace_parent: Option<TraceParent>,
    permits: RequestPermits,
}

impl RequestTask {
    async fn run(self, mut request: Request) {
        let task = tokio::select! {
            task = self.session.begin_task(&self.client, &mut request) => task,
            () = self.wait_until_abandoned() => {
                self.open.finish(&self.key, self.number);
                return;
            }
        };
        match task {
            None => self.process(request).await,
            Some(Ok(task)) => self.run_as_task(request, task).await,
            Some(Err(error)) => self.answer(&request.id, Err(error)).await,
        }
    }

    async fn process(self, request: Request) {
        let (id, method) = (request.id.clone(), request.method.clone());
        let is_call = is_call(&request);
        let is_abandonable = is_call || method == "tasks/result";
        let knows_tasks = self.knows_tasks(&request);
        let resumed = match is_call && parked_calls::is_modern(&request) {
            true => self.client.link.parked.resume(&request),
            false => Ok(None),
        };
        let mut call = match resumed {
            Ok(Some(call)) => call,
            Ok(None) => match self.start_call(request) {
                Ok(call) => call,
                Err(error) => return self.answer(&id, Err(error)).await,
            },
            Err(error) => return self.answer(&id, Err(error)).await,
        };
        let mut task = call.task().filter(|_| knows_tasks).cloned();
        let step = loop {
            tokio::select! {
                step = call.next_step(&self.cancellation.wait_ended) => break step,
                () = self.wait_until_abandoned(), if is_abandonable => {
                    // Abandoning it notifies the server and records how far the call came.
                    call.abandon().await;
                    self.open.finish(&self.key, self.number);
                    return;
                }
                () = self.cancellation.cut_off.cancelled(), if is_call => {
                    call.abandon().await;
                    return self.answer(&id, message::cut_off_outcome(&method)).await;
                }
                slow = task_calls::next_slow(&mut task) => {
                    match self.client.link.tasks.add(&slow) {
                        Ok(()) => return self.go_on_as_task(&id, slow, call).await,
                        // The session has too many. So the call is answered like any other, and a
                        // wait for a person ends.
                        Err(_) => self.cancellation.wait_ended.cancel(),
                    }
                }
            }
        };
        let outcome = match step {
            CallStep::InputRequired => self.client.link.parked.park(call),
            step @ CallStep::Ended(_) => self.final_answer(step, call.run()).await,
        };
        self.answer(&id, outcome).await;
    }

    /// Completes when the client no longer wants the answer.
    async fn wait_until_abandoned(&self) {
        tokio::select! {
            () = self.cancellation.abandoned.cancelled() => {}
            () = self.outbox.closed(), if self.connection == RequestConnection::Own => {}
        }
    }

    /// Starts to answer a request.
    fn start_call(&self, request: Request) -> Result<RunningCall, RpcError> {
        let identity = match is_call(&request) {
            true => RequestIdentity::resumable(&request),
            false => RequestIdentity::not_resumable(&request),
        };
        let token = progress_notification::requested_token(&request.params);
        let task = match self.knows_tasks(&request) {
            true => Some(tasks::prepare(self.client.task_context())?),
            false => None,
        };
        let progress = match &task {
            None => token.map(|token| self.progress_reporter(token)),
            Some(task) => Some(self.deferrable_reporter(task, token)),
        };
        let is_streamed = self.connection == RequestConnection::Shared(ResponseStreaming::Streamed);
        let stream = is_streamed.then(|| self.outbox.downgrade());
        Ok(self.run_call(request, identity, CallFollowers { progress, task, stream }))
    }

    /// Runs what answers a request, which its client follows in these ways.
    fn run_call(
        &self,
        request: Request,
        identity: RequestIdentity,
        followers: CallFollowers,
    ) -> RunningCall {
        let (client, session) = (Arc::clone(&self.client), Arc::clone(&self.session));
        let CallFollowers { progress, task, stream } = followers;
        let level = match parked_calls::is_modern(&request) {
            // An invalid level is reported in the answer.
            true => dispatch::log_level(&request.params).unwrap_or_default(),
            false => None,
        };
        let outbox = self.outbox.downgrade();
        let log = level.map(|level| LogSubscription { level, stream: outbox.clone() });
        let channels = CallChannels { progress, task: task.clone(), stream, log };
        let (call, questions) =
            ClientCall::open(&client.link, identity.capabilities().cloned(), channels);
        let run = call.run();
        let options = CallOptions {
            argument_problem: None,
            cancellation: self.cancellation.wait_ended.clone(),
            client_call: call,
            outbox,
            trace_parent: TraceParent::from_params(&request.params).or(self.trace_parent),
            origin: session.request_origin(&request),
        };
        let answer = async move { session.answer(&client, request, options).await };
        let cancellation = self.cancellation.wait_ended.clone();
        let permits = Arc::clone(&self.permits);
        let running = RunningCall::start(identity, questions, permits, cancellation, answer);
        running.with(task, run)
    }

    /// The final answer of a request. The result of a run that has ended is not shown in another,
    /// which it does not taint.
    async fn final_answer(&self, step: CallStep, run: Option<RunId>) -> Result<Value, RpcError> {
        let CallStep::Ended(Ok(outcome)) = step else {
            tracing::error!("a request ended without an answer");
            return Err(RpcError::new(code::INTERNAL, "the request failed internally"));
        };
        match (outcome, run) {
            (Ok(result), Some(run))
                if message::is_of_server(&result) && !self.client.is_in_run(&run).await =>
            {
                Err(message::ended_run_error(&result))
            }
            (outcome, _) => outcome,
        }
    }

    async fn answer(&self, id: &Value, outcome: Result<Value, RpcError>) {
        if self.open.finish(&self.key, self.number) {
            let _ = self.outbox.send(message::answer(id, outcome)).await;
        }
    }

    /// Reports progress to the client under its token, until the request is answered or cancelled.
    /// A slow client misses reports, and no call waits for it.
    fn progress_reporter(&self, token: &Value) -> Arc<ProgressReporter> {
        Arc::new(ProgressReporter::new(self.progress_sink(token)))
    }

    fn progress_sink(&self, token: &Value) -> impl Fn(Progress) + Send + Sync + use<> {
        let (open, outbox) = (Arc::clone(&self.open), self.outbox.downgrade());
        let (key, number, token) = (self.key.clone(), self.number, token.clone());
        move |progress| {
            if open.is_open(&key, number)
                && let Some(outbox) = outbox.upgrade()
            {
                let _ = outbox.try_send(progress_notification::line(
                    progress_notification::params(&token, progress),
                ));
            }
        }
    }
}

/// Whether a request calls a server.
fn is_call(request: &Request) -> bool {
    CALL_METHODS.contains(&request.method.as_str())
}

/// How a client follows its request.
struct CallFollowers {
    progress: Option<Arc<ProgressReporter>>,
    task: Option<Arc<Task>>,
    /// The stream of the answer, where the client reads notifications on it too.
    stream: Option<WeakSender<Vec<u8>>>,
}
