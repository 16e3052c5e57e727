//! Follows calls that a server runs as tasks; the outcome of the task is the outcome of the call.
//!
//! In 2025-11-25 a client asks for a task, polls it (`tasks/get`) and fetches its result (`tasks/result`). In the
//! extension to 2026-07-28 the server decides, and the finished task contains its result. The caller waits in both
//! cases as for any other call.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::call::{CallOutcome, Reply};
use super::call_timer::CallTimer;
use super::client_features::ClientFeatures;
use super::code;
use super::config::Era;
use super::connection::Connection;
use super::error::{McpError, McpErrorKind, RpcError};
use super::fault::MessageFault;
use super::input_required::answer_questions;
use super::message::{RpcResult, parse_rpc_error};
use super::method::Method;
use super::outgoing_request::{CLIENT_CAPABILITIES, OutgoingRequest};
use super::progress_token::ProgressToken;
use super::rpc_channel::RpcChannel;

/// The name of the extension to 2026-07-28.
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How often a task is polled if the server does not say, and the bounds of what it may say.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(500);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Longest id of a task, in bytes.
const MAX_TASK_ID_BYTES: usize = 1024;

/// The limits under which a task is followed, and the client that it runs for.
pub(super) struct TaskContext<'a> {
    pub(super) client: Option<Arc<dyn ClientFeatures>>,
    pub(super) limit: Duration,
    pub(super) timer: Option<CallTimer>,
    /// The token under which the server's status messages are reported.
    pub(super) token: Option<&'a ProgressToken<'a>>,
}

/// A task as a server describes it.
struct Task {
    id: String,
    poll_interval: Duration,
    message: Option<String>,
}

/// Cancels the task when dropped, unless the task has finished.
struct CancelTaskGuard<'a> {
    channel: &'a RpcChannel,
    id: String,
    era: Era,
    /// What the call declared.
    declared: Map<String, Value>,
    is_finished: bool,
}

impl Task {
    fn parse(value: &Value) -> Option<Self> {
        let task = value.get("task").filter(|task| task.is_object()).unwrap_or(value);
        let id = task.get("taskId")?.as_str()?;
        let poll_interval =
            ["pollIntervalMs", "pollInterval"].iter().find_map(|key| task.get(*key));
        let poll_interval = poll_interval
            .and_then(Value::as_u64)
            .map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis);
        let poll_interval = poll_interval.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL);
        let message = task.get("statusMessage").and_then(Value::as_str).map(str::to_owned);
        (id.len() <= MAX_TASK_ID_BYTES).then(|| Self { id: id.to_owned(), poll_interval, message })
    }
}

/// A request about a task. In the modern era each names the task in a header and declares what the
/// call declared.
fn task_request<'a>(
    method: &'static str,
    id: &'a str,
    era: Era,
    declared: &Map<String, Value>,
) -> OutgoingRequest<'a> {
    let mut params = Map::from_iter([("taskId".to_owned(), Value::from(id))]);
    if era == Era::Modern {
        params.insert("_meta".to_owned(), json!({ CLIENT_CAPABILITIES: declared }));
    }
    OutgoingRequest { params, name: Some(id), ..OutgoingRequest::new(method, era, Duration::ZERO) }
}

impl Connection {
    /// What a request for this client declares (modern era).
    pub(super) fn declared_capabilities(
        &self,
        client: Option<&Arc<dyn ClientFeatures>>,
    ) -> Map<String, Value> {
        match client {
            Some(client) => client.capabilities(),
            None => self.channel().config.client_capabilities.clone(),
        }
    }

    /// What a tool call for this client declares: also the tasks extension, if the server offers it.
    pub(super) fn capabilities_with_tasks(
        &self,
        client: Option<&Arc<dyn ClientFeatures>>,
    ) -> Map<String, Value> {
        let mut capabilities = self.declared_capabilities(client);
        let extensions = self.server().capability("extensions");
        if extensions.is_some_and(|offered| offered.get(TASKS_EXTENSION).is_some()) {
            let extensions = capabilities.entry("extensions").or_insert_with(|| json!({}));
            if let Some(extensions) = extensions.as_object_mut() {
                extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
            }
        }
        capabilities
    }

    /// Whether a legacy server accepts tool calls as tasks.
    pub(super) fn supports_tasks(&self) -> bool {
        let tasks = self.server().capability("tasks");
        tasks.is_some_and(|tasks| tasks.pointer("/requests/tools/call").is_some())
    }

    /// Follows a task to its end. Dropping the future cancels the task.
    pub(super) async fn follow_task(
        &self,
        begun: &Reply,
        context: TaskContext<'_>,
    ) -> Result<CallOutcome, McpError> {
        let malformed = || self.channel().inbox.malformed(MessageFault::MissingField);
        let task = Task::parse(begun.value()).ok_or_else(malformed)?;
        let (era, id) = (self.server().era(), task.id.clone());
        let declared = self.capabilities_with_tasks(context.client.as_ref());
        let channel = self.channel();
        let mut cancel = CancelTaskGuard { channel, id, era, declared, is_finished: false };
        if let Some(client) = &context.client {
            client.on_task();
        }
        let timer = context.timer.clone().unwrap_or_default();
        let limit = context.limit;
        let followed = timer.timeout(limit, self.poll_task(task, &context)).await;
        let outcome = followed.unwrap_or_else(|| {
            let method = Method::CallTool.as_str();
            Err(self.channel().error(McpErrorKind::Timeout { method, after: limit }))
        });
        cancel.is_finished = outcome.is_ok();
        outcome
    }

    async fn poll_task(
        &self,
        mut task: Task,
        context: &TaskContext<'_>,
    ) -> Result<CallOutcome, McpError> {
        let era = self.server().era();
        let tell = |message: &Option<String>| {
            if let (Some(token), Some(message)) = (context.token, message) {
                token.deliver(message);
            }
        };
        tell(&task.message);
        loop {
            sleep(task.poll_interval).await;
            let reply = match self.request_about_task("tasks/get", &task.id, context).await? {
                Ok(reply) => reply,
                Err(error) => return Ok(CallOutcome::Error(error)),
            };
            if let Some(update) = Task::parse(reply.value()) {
                task.poll_interval = update.poll_interval;
                if task.message != update.message {
                    tell(&update.message);
                }
                task.message = update.message;
            }
            match (reply.value().get("status").and_then(Value::as_str), era) {
                (Some("working" | "submitted"), _) => {}
                (Some("completed" | "failed" | "input_required"), Era::Legacy) => {
                    // A task that waits for input sends its requests while its result is being fetched.
                    let answer = self.request_about_task("tasks/result", &task.id, context).await?;
                    return CallOutcome::classify(Method::CallTool, answer, era)
                        .map_err(|fault| self.channel().inbox.malformed(fault));
                }
                (Some("completed" | "failed"), Era::Modern) => return self.task_outcome(&reply),
                (Some("input_required"), Era::Modern) => {
                    if !self.answer_task(&task, &reply, context).await? {
                        return Ok(CallOutcome::InputRequired(reply));
                    }
                }
                (Some("cancelled"), _) => {
                    let error = RpcError::new(code::INTERNAL, "the server cancelled the task");
                    return Ok(CallOutcome::Error(error));
                }
                _ => return Err(self.channel().inbox.malformed(MessageFault::MissingField)),
            }
        }
    }

    /// The outcome that a finished task contains.
    fn task_outcome(&self, reply: &Reply) -> Result<CallOutcome, McpError> {
        let malformed = || self.channel().inbox.malformed(MessageFault::NeitherResultNorError);
        let value = reply.value();
        if let Some(result) = value.get("result").filter(|result| result.is_object()) {
            let raw = serde_json::value::to_raw_value(result).map_err(|_| malformed())?;
            let warnings = reply.warnings().to_vec();
            return Ok(CallOutcome::Complete(Reply::new(raw, result.clone(), warnings)));
        }
        let error = value.get("error").cloned().and_then(parse_rpc_error);
        error.map(CallOutcome::Error).ok_or_else(malformed)
    }

    /// Answers the input requests of a task. False if one of them is not answered.
    async fn answer_task(
        &self,
        task: &Task,
        reply: &Reply,
        context: &TaskContext<'_>,
    ) -> Result<bool, McpError> {
        let Some(client) = &context.client else { return Ok(false) };
        let Some(input) = answer_questions(reply, client).await else { return Ok(false) };
        let mut update = self.task_request("tasks/update", &task.id, context);
        update.params.insert("inputResponses".to_owned(), Value::Object(input.answers));
        Ok(self.send_task_request(update, context).await?.is_ok())
    }

    async fn request_about_task(
        &self,
        method: &'static str,
        id: &str,
        context: &TaskContext<'_>,
    ) -> Result<RpcResult, McpError> {
        self.send_task_request(self.task_request(method, id, context), context).await
    }

    fn task_request<'a>(
        &self,
        method: &'static str,
        id: &'a str,
        context: &TaskContext<'_>,
    ) -> OutgoingRequest<'a> {
        let declared = self.capabilities_with_tasks(context.client.as_ref());
        let request = task_request(method, id, self.server().era(), &declared);
        OutgoingRequest { timeout: context.limit, ..request }
    }

    async fn send_task_request(
        &self,
        request: OutgoingRequest<'_>,
        context: &TaskContext<'_>,
    ) -> Result<RpcResult, McpError> {
        let (client, timer) = (context.client.clone(), context.timer.clone());
        self.channel().request(OutgoingRequest { client, timer, ..request }).await
    }
}

impl Drop for CancelTaskGuard<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            let request = task_request("tasks/cancel", &self.id, self.era, &self.declared);
            self.channel.request_unawaited(request);
        }
    }
}
