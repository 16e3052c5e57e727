//! Calls that a server goes on with as tasks, followed to their end: that is the result of the call.
//!
//! In 2025-11-25 a client asks for a task, polls it (`tasks/get`) and fetches its result
//! (`tasks/result`). For 2026-07-28 an extension has it otherwise: the server decides, and the task has
//! its result in it. Whoever makes the call waits in both cases as for any other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::ask::Ask;
use super::call::{CallOutcome, Reply};
use super::call_timer::CallTimer;
use super::client_features::ClientFeatures;
use super::config::Era;
use super::connection::Connection;
use super::error::{McpError, RpcError};
use super::fault::Fault;
use super::input_required::answers;
use super::message::{RpcResult, rpc_error};
use super::method::Method;
use super::progress_token::ProgressToken;
use super::wire::Wire;

/// The extension of 2026-07-28.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How often a task is looked at where its server does not say, and the bounds of what it says.
const PAUSE: Duration = Duration::from_millis(500);
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Longest id of a task, in bytes.
const LONGEST_ID: usize = 1024;

/// Within which bounds a task is followed, and for whom.
pub(super) struct TaskContext<'a> {
    pub(super) client: Option<Arc<dyn ClientFeatures>>,
    pub(super) limit: Duration,
    pub(super) timer: Option<CallTimer>,
    /// Under which token is told what the server says of how far the task is.
    pub(super) token: Option<&'a ProgressToken<'a>>,
}

/// A task as a server describes it.
struct Task {
    id: String,
    pause: Duration,
    message: Option<String>,
}

/// Cancels a task that nobody follows to its end.
struct CancelTask<'a> {
    wire: &'a Wire,
    id: String,
    era: Era,
    is_over: bool,
}

impl Task {
    fn read(value: &Value) -> Option<Self> {
        let task = value.get("task").filter(|task| task.is_object()).unwrap_or(value);
        let id = task.get("taskId")?.as_str()?;
        let pause = ["pollIntervalMs", "pollInterval"].iter().find_map(|key| task.get(*key));
        let pause = pause.and_then(Value::as_u64).map_or(PAUSE, Duration::from_millis);
        let pause = pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let message = task.get("statusMessage").and_then(Value::as_str).map(str::to_owned);
        (id.len() <= LONGEST_ID).then(|| Self { id: id.to_owned(), pause, message })
    }

    fn params(&self) -> Map<String, Value> {
        Map::from_iter([("taskId".to_owned(), Value::from(self.id.as_str()))])
    }
}

impl Connection {
    /// What a client of this server says that it can do, where tasks are among it.
    pub(super) fn with_tasks(&self, mut capabilities: Map<String, Value>) -> Map<String, Value> {
        let extensions = self.server().capability("extensions");
        if extensions.is_some_and(|offered| offered.get(EXTENSION).is_some()) {
            let named = capabilities.entry("extensions").or_insert_with(|| json!({}));
            if let Some(named) = named.as_object_mut() {
                named.insert(EXTENSION.to_owned(), json!({}));
            }
        }
        capabilities
    }

    /// Whether the server of the legacy era takes calls of tools as tasks.
    pub(super) fn takes_tasks(&self) -> bool {
        let tasks = self.server().capability("tasks");
        tasks.is_some_and(|tasks| tasks.pointer("/requests/tools/call").is_some())
    }

    /// Follows a task to its end. One that nobody waits for any more is cancelled.
    pub(super) async fn follow(
        &self,
        begun: &Reply,
        context: TaskContext<'_>,
    ) -> Result<CallOutcome, McpError> {
        let malformed = || self.wire().inbox.malformed(Fault::MissingField);
        let task = Task::read(begun.value()).ok_or_else(malformed)?;
        let (era, id) = (self.server().era(), task.id.clone());
        let mut cancel = CancelTask { wire: self.wire(), id, era, is_over: false };
        let timer = context.timer.clone().unwrap_or_default();
        let limit = context.limit;
        let followed = timer.timeout(limit, self.followed(task, &context)).await;
        let outcome = followed.unwrap_or_else(|| {
            let (upstream, method) = (self.wire().config.name.clone(), Method::CallTool.as_str());
            Err(McpError::Timeout { upstream, method, after: limit })
        });
        cancel.is_over = outcome.is_ok();
        outcome
    }

    async fn followed(
        &self,
        mut task: Task,
        context: &TaskContext<'_>,
    ) -> Result<CallOutcome, McpError> {
        let era = self.server().era();
        let tell = |message: &Option<String>| {
            if let (Some(token), Some(message)) = (context.token, message) {
                token.tell(message);
            }
        };
        tell(&task.message);
        loop {
            sleep(task.pause).await;
            let reply = match self.of_task("tasks/get", task.params(), context).await? {
                Ok(reply) => reply,
                Err(error) => return Ok(CallOutcome::Error(error)),
            };
            if let Some(fresh) = Task::read(reply.value()) {
                task.pause = fresh.pause;
                if task.message != fresh.message {
                    tell(&fresh.message);
                }
                task.message = fresh.message;
            }
            match (reply.value().get("status").and_then(Value::as_str), era) {
                (Some("working" | "submitted"), _) => {}
                (Some("completed" | "failed" | "input_required"), Era::Legacy) => {
                    // Where it waits for input, the server asks while its result is asked for.
                    let answer = self.of_task("tasks/result", task.params(), context).await?;
                    return CallOutcome::sort(Method::CallTool, answer, era)
                        .map_err(|fault| self.wire().inbox.malformed(fault));
                }
                (Some("completed" | "failed"), Era::Modern) => return self.ended(&reply),
                (Some("input_required"), Era::Modern) => {
                    if !self.answer_task(&task, &reply, context).await? {
                        return Ok(CallOutcome::InputRequired(reply));
                    }
                }
                (Some("cancelled"), _) => {
                    let error = RpcError::new(-32603, "the server cancelled the task");
                    return Ok(CallOutcome::Error(error));
                }
                _ => return Err(self.wire().inbox.malformed(Fault::MissingField)),
            }
        }
    }

    /// What a task came to that has its result in it.
    fn ended(&self, reply: &Reply) -> Result<CallOutcome, McpError> {
        let malformed = || self.wire().inbox.malformed(Fault::NeitherResultNorError);
        let value = reply.value();
        if let Some(result) = value.get("result").filter(|result| result.is_object()) {
            let raw = serde_json::value::to_raw_value(result).map_err(|_| malformed())?;
            let findings = reply.findings().to_vec();
            return Ok(CallOutcome::Complete(Reply::new(raw, result.clone(), findings)));
        }
        let error = value.get("error").cloned().and_then(rpc_error);
        error.map(CallOutcome::Error).ok_or_else(malformed)
    }

    /// Has the questions of a task answered. False where one of them is not.
    async fn answer_task(
        &self,
        task: &Task,
        reply: &Reply,
        context: &TaskContext<'_>,
    ) -> Result<bool, McpError> {
        let Some(client) = &context.client else { return Ok(false) };
        let Some(input) = answers(reply, client).await else { return Ok(false) };
        let mut params = task.params();
        params.insert("inputResponses".to_owned(), Value::Object(input.answers));
        Ok(self.of_task("tasks/update", params, context).await?.is_ok())
    }

    async fn of_task(
        &self,
        method: &'static str,
        params: Map<String, Value>,
        context: &TaskContext<'_>,
    ) -> Result<RpcResult, McpError> {
        let (client, timer) = (context.client.clone(), context.timer.clone());
        let ask = Ask::new(method, self.server().era(), context.limit);
        self.wire().request(Ask { params, client, timer, ..ask }).await
    }
}

impl Drop for CancelTask<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let params = Map::from_iter([("taskId".to_owned(), Value::from(self.id.as_str()))]);
            self.wire
                .ask_aside(Ask { params, ..Ask::new("tasks/cancel", self.era, Duration::ZERO) });
        }
    }
}
