//! The requests under way: each answered exactly once, unless the client cancels it; bounded in
//! number and in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use super::call::CallOptions;
use super::call_progress;
use super::client::Client;
use super::client_call::{CallFollowing, ClientCall, RequestLog};
use super::dispatch::{self, Session};
use super::lines::{MAX_LINE, Outbox};
use super::message::{self, ClientMessage, Request, RpcError, code};
use super::open_requests::{OpenRequests, RequestTokens};
use super::parked_calls::{self, CallStep, RequestIdentity, RequestPermits, RunningCall};
use super::progress_reporter::ProgressReporter;
use super::server_requests;
use super::task::Task;
use crate::telemetry::TraceParent;

/// How many requests are worked on at once.
const MAX_IN_FLIGHT: u32 = 256;
/// How many kibibytes of lines are worked on at once.
const MAX_KIB: u32 = 64 * 1024;

/// The methods that call a server: a client that cancels one has it given up there.
const CALLS: [&str; 4] = ["tools/call", "resources/read", "prompts/get", "completion/complete"];

/// The requests of one client.
pub(crate) struct Requests {
    client: Arc<Client>,
    session: Arc<Session>,
    open: Arc<OpenRequests>,
    /// How many requests came alone.
    alone: AtomicU64,
    places: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

impl Requests {
    pub(crate) fn new(client: Arc<Client>, session: Arc<Session>) -> Self {
        let semaphore = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        let (places, room) = (semaphore(MAX_IN_FLIGHT), semaphore(MAX_KIB));
        let (open, alone) = (Arc::default(), AtomicU64::default());
        Self { client, session, open, alone, places, room }
    }

    /// Takes a line, whose answers go to `outbox`.
    pub(crate) async fn take(&self, line: &[u8], outbox: &Outbox, reads: ClientReads) {
        self.take_in(line, outbox, Connection::Shared(reads)).await;
    }

    /// Takes a message that stands alone on its connection (2026-07-28 over HTTP). Other clients may
    /// use the same id at the same time, and closing the connection cancels the request.
    pub(crate) async fn take_alone(&self, line: &[u8], outbox: &Outbox) {
        self.take_in(line, outbox, Connection::Own).await;
    }

    async fn take_in(&self, line: &[u8], outbox: &Outbox, connection: Connection) {
        match message::read(line) {
            ClientMessage::Response { id, answer } => self.client.link.answered(&id, answer),
            ClientMessage::Malformed { id, error } => {
                let _ = outbox.send(message::answer(&id, Err(error))).await;
            }
            ClientMessage::Notification { method, params } => {
                self.notice(&method, params.get("requestId"));
            }
            ClientMessage::Request(request) => {
                let arrival = Arrival { bytes: line.len(), connection };
                self.begin(request, arrival, outbox).await;
            }
        }
    }

    /// Takes a line that was too long to be read.
    pub(crate) async fn too_long(&self, outbox: &Outbox) {
        let problem = format!("a line is longer than {MAX_LINE} bytes; it was not read");
        let error = RpcError::new(code::INVALID_REQUEST, problem);
        let _ = outbox.send(message::answer(&Value::Null, Err(error))).await;
    }

    /// Ends every wait for a person or the client: it has nothing more to say.
    pub(crate) fn stop_waiting(&self) {
        self.open.stop_waiting();
        self.client.link.leave();
    }

    /// Waits until nothing is under way.
    pub(crate) async fn all_done(&self) {
        let _ = self.places.acquire_many(MAX_IN_FLIGHT).await;
    }

    /// The state of the protocol.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// How many requests are under way.
    pub(crate) fn under_way(&self) -> usize {
        (MAX_IN_FLIGHT as usize).saturating_sub(self.places.available_permits())
    }

    /// A cancelled call is given up, which its server is told and the log keeps; its answer is not
    /// sent.
    fn notice(&self, method: &str, id: Option<&Value>) {
        match (method, id) {
            ("notifications/cancelled", Some(id)) => self.open.cancel(&id.to_string()),
            ("notifications/initialized", _) => {
                self.session.initialized();
                self.client.link.open();
                // A server that asked before this client was there got no roots.
                if self.client.link.session_capability("roots").is_some() {
                    server_requests::tell_roots_changed(&self.client.gateway);
                }
            }
            ("notifications/roots/list_changed", _) => {
                server_requests::tell_roots_changed(&self.client.gateway);
            }
            _ => {}
        }
    }

    async fn begin(&self, request: Request, arrival: Arrival, outbox: &Outbox) {
        let refuse = |problem: &str| {
            message::answer(&request.id, Err(RpcError::new(code::INVALID_REQUEST, problem)))
        };
        let Some(permits) = self.room_for(arrival.bytes) else {
            let _ = outbox.send(refuse("too many requests at once; wait for answers")).await;
            return;
        };
        let name = match arrival.connection {
            Connection::Shared(_) => request.id.to_string(),
            // No id has a blank before it.
            Connection::Own => format!(" {}", self.alone.fetch_add(1, Ordering::Relaxed)),
        };
        let Some((number, tokens)) = self.open.begin(&name) else {
            let _ = outbox.send(refuse("a request with this id is being worked on")).await;
            return;
        };
        let work = Work {
            client: Arc::clone(&self.client),
            session: Arc::clone(&self.session),
            outbox: outbox.clone(),
            open: Arc::clone(&self.open),
            name,
            number,
            tokens,
            connection: arrival.connection,
            permits,
        };
        // A handshake is answered before the next line is read.
        if matches!(request.method.as_str(), "initialize" | "server/discover" | "ping") {
            work.run(request).await;
        } else {
            tokio::spawn(work.run(request));
        }
    }

    fn room_for(&self, bytes: usize) -> Option<RequestPermits> {
        let kib = u32::try_from(bytes / 1024).ok()?.saturating_add(1);
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib).ok()?;
        Some(Arc::new([place, room]))
    }
}

/// What a client reads where its request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientReads {
    /// The answer alone.
    Answer,
    /// What it is told and asked before the answer, too.
    Stream,
}

/// Whether a request has its connection for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// Other requests of the client come on it.
    Shared(ClientReads),
    Own,
}

/// How a request arrived.
struct Arrival {
    bytes: usize,
    connection: Connection,
}

/// One request under way.
struct Work {
    client: Arc<Client>,
    session: Arc<Session>,
    outbox: Outbox,
    open: Arc<OpenRequests>,
    name: String,
    number: u64,
    tokens: RequestTokens,
    connection: Connection,
    permits: RequestPermits,
}

impl Work {
    async fn run(self, mut request: Request) {
        let begun = tokio::select! {
            begun = self.session.begin_task(&self.client, &mut request) => begun,
            () = self.is_abandoned() => {
                self.open.end(&self.name, self.number);
                return;
            }
        };
        match begun {
            None => self.work(request).await,
            Some(Ok(task)) => self.follow(request, task).await,
            Some(Err(error)) => self.answer(&request.id, Err(error)).await,
        }
    }

    /// Answers a call with a task, and works on it under the name of the task.
    async fn follow(mut self, request: Request, task: Arc<Task>) {
        // No id of a request, in JSON, is what a task is called.
        let Some((number, tokens)) = self.open.go_on(task.id(), &self.tokens) else {
            let problem = RpcError::new(code::INTERNAL, "two tasks have one name");
            return self.answer(&request.id, Err(problem)).await;
        };
        if !self.open.end(&self.name, self.number) {
            // It was cancelled before there was a task that the client could know.
            self.open.end(task.id(), number);
            task.abandon();
            return;
        }
        let answer = Ok(json!({ "task": task.to_json() }));
        let _ = self.outbox.send(message::answer(&request.id, answer)).await;
        // Its request is answered: the stream of the answer ends, and what is still said goes where
        // the session's notices go.
        self.outbox = mpsc::channel(1).0;
        (self.name, self.number, self.tokens) = (task.id().to_owned(), number, tokens);
        let identity = RequestIdentity::of_other(&request);
        let mut call = self.begin(request, identity, Some(&task));
        let outcome = tokio::select! {
            step = call.next_step() => ended(step),
            () = task.cancelled() => {
                call.abandon().await;
                Err(RpcError::new(code::INTERNAL, "the task was cancelled"))
            }
        };
        task.end(outcome);
        self.open.end(&self.name, self.number);
        self.client.link.try_send(task.notification());
    }

    async fn work(self, request: Request) {
        let id = request.id.clone();
        let is_call = CALLS.contains(&request.method.as_str());
        let is_abandonable = is_call || request.method == "tasks/result";
        let resumed = match is_call && parked_calls::is_modern(&request) {
            true => self.client.link.parked.resume(&request),
            false => Ok(None),
        };
        let identity = match is_call {
            true => RequestIdentity::of_call(&request),
            false => RequestIdentity::of_other(&request),
        };
        let mut call = match resumed {
            Ok(Some(call)) => call,
            Ok(None) => self.begin(request, identity, None),
            Err(error) => return self.answer(&id, Err(error)).await,
        };
        let turn = tokio::select! {
            turn = call.next_step() => turn,
            () = self.is_abandoned(), if is_abandonable => {
                // Dropping it tells the server and records how far it came.
                call.abandon().await;
                self.open.end(&self.name, self.number);
                return;
            }
        };
        let outcome = match turn {
            CallStep::Asked => self.client.link.parked.park(call),
            step @ CallStep::Ended(_) => ended(step),
        };
        self.answer(&id, outcome).await;
    }

    /// Done when the client no longer wants the answer.
    async fn is_abandoned(&self) {
        tokio::select! {
            () = self.tokens.abandoned.cancelled() => {}
            () = self.outbox.closed(), if self.connection == Connection::Own => {}
        }
    }

    /// Begins to work on a request.
    fn begin(
        &self,
        request: Request,
        identity: RequestIdentity,
        task: Option<&Arc<Task>>,
    ) -> RunningCall {
        let (client, session) = (Arc::clone(&self.client), Arc::clone(&self.session));
        let token = call_progress::token(&request.params);
        let progress = match task {
            None => token.map(|token| self.reporter(token)),
            Some(task) => Some(self.task_reporter(task, token)),
        };
        // The request of a task was answered with it.
        let reads_on = self.connection == Connection::Shared(ClientReads::Stream) && task.is_none();
        let stream = reads_on.then(|| self.outbox.downgrade());
        let level = match parked_calls::is_modern(&request) {
            // A level that is none is answered with the request.
            true => dispatch::log_level(&request.params).unwrap_or_default(),
            false => None,
        };
        let log = level.map(|level| RequestLog { level, stream: self.outbox.downgrade() });
        let following = CallFollowing { progress, task: task.cloned(), stream, log };
        let (call, questions) =
            ClientCall::open(&client.link, identity.capabilities().cloned(), following);
        let options = CallOptions {
            argument_problem: None,
            cancellation: self.tokens.cancellation.clone(),
            call,
            outbox: self.outbox.clone(),
            trace_parent: TraceParent::of_params(&request.params),
            origin: session.origin(&request),
        };
        let answer = async move { session.answer(&client, request, options).await };
        RunningCall::start(identity, questions, Arc::clone(&self.permits), answer)
    }

    async fn answer(&self, id: &Value, outcome: Result<Value, RpcError>) {
        if self.open.end(&self.name, self.number) {
            let _ = self.outbox.send(message::answer(id, outcome)).await;
        }
    }

    /// Says in a task how far its call is, and tells the client under its token where it has one.
    fn task_reporter(&self, task: &Arc<Task>, token: Option<&Value>) -> Arc<ProgressReporter> {
        let (task, token, client) = (Arc::clone(task), token.cloned(), Arc::clone(&self.client));
        Arc::new(ProgressReporter::new(move |progress| {
            if task.has_ended() {
                return;
            }
            if let Some(message) = &progress.message {
                task.tell(message);
            }
            if let Some(token) = &token {
                let mut params = call_progress::params(token, progress);
                task.relate(&mut params);
                client.link.try_send(call_progress::line(params));
            }
        }))
    }

    /// Tells the client under its token how far the request is, until it is answered or cancelled.
    /// One that reads too slowly misses some of it, and no call waits for it.
    fn reporter(&self, token: &Value) -> Arc<ProgressReporter> {
        let (open, outbox) = (Arc::clone(&self.open), self.outbox.clone());
        let (name, number, token) = (self.name.clone(), self.number, token.clone());
        Arc::new(ProgressReporter::new(move |progress| {
            if open.is_open(&name, number) {
                let _ =
                    outbox.try_send(call_progress::line(call_progress::params(&token, progress)));
            }
        }))
    }
}

/// What a request is answered with whose call asks nothing more.
fn ended(step: CallStep) -> Result<Value, RpcError> {
    let CallStep::Ended(Ok(outcome)) = step else {
        tracing::error!("a request ended without an answer");
        return Err(RpcError::new(code::INTERNAL, "the request failed inside"));
    };
    outcome
}
