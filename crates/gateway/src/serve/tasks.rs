//! Calls that a client follows as tasks.
//!
//! In 2025-11-25 a client asks for a task: the call is answered with it at once, and the client polls
//! its status or waits for its result. In the extension to 2026-07-28 (SEP-2663) a client only says
//! that it knows tasks: a call that takes long is answered with one, and the client polls it until it
//! contains the result. The call itself is decided, executed and recorded like any other. Tasks
//! belong to the session in which they began, and end with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::WeakSender;
use weaver_types::{OsRandom, RunId, random_text};

use super::era::Era;
use super::message::{self, Request, RpcError, code, excerpt, outcome_unknown_body};
use super::task::{Task, TaskContext};

/// The name of the extension to 2026-07-28.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The most tasks of one session, and how many of them may run: other requests need capacity as
/// well.
const MAX_TASKS: usize = 256;
const MAX_WORKING: usize = 64;
/// The most bytes of results kept for one session.
const MAX_RESULT_BYTES: usize = 32 * 1024 * 1024;
/// The default and the longest lifetime of a task, counted from its beginning.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60 * 60);
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The ids of tasks: this, and so many random bytes in hexadecimal.
const ID_PREFIX: &str = "task_";
const ID_BYTES: usize = 16;
/// The most tasks on one page of a list.
const PAGE_SIZE: usize = 100;

/// The task capability that is declared to a client of 2025-11-25.
pub(crate) fn capability() -> Value {
    json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } })
}

/// Whether the parameters of a request declare that its client knows tasks (modern era).
pub(crate) fn is_declared(params: &Map<String, Value>) -> bool {
    let capabilities = message::declared_capabilities(params);
    let declared = capabilities.get("extensions").and_then(|extensions| extensions.get(EXTENSION));
    declared.is_some_and(Value::is_object)
}

/// The refusal of a request about tasks that does not declare the extension.
pub(crate) fn undeclared_error() -> RpcError {
    let required = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
    let problem = format!("the request does not declare the extension `{EXTENSION}`");
    RpcError::new(code::MISSING_CAPABILITY, problem).with_data(required)
}

/// A task that no session has yet, for a call that may take long.
pub(crate) fn prepare(context: TaskContext<'_>) -> Result<Arc<Task>, RpcError> {
    new_task(Era::Modern, context, DEFAULT_LIFETIME)
}

/// The error where no task has this id. One of ours had a call, and has expired or was lost.
fn unknown_task_error(id: &str) -> RpcError {
    let problem = format!("task `{}` does not exist", excerpt(id));
    let digits = id.strip_prefix(ID_PREFIX).filter(|digits| digits.len() == 2 * ID_BYTES);
    let is_ours = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !is_ours {
        return RpcError::new(code::INVALID_PARAMS, problem);
    }
    let problem = format!(
        "outcome_unknown: {problem}; it has expired, or the gateway ended meanwhile. Its call may \
         have run. Look at its effect before you repeat it."
    );
    RpcError::new(code::INVALID_PARAMS, problem).with_data(outcome_unknown_body())
}

fn new_task(era: Era, context: TaskContext<'_>, lifetime: Duration) -> Result<Arc<Task>, RpcError> {
    let id = random_text(ID_PREFIX, ID_BYTES, &OsRandom)
        .map_err(|error| RpcError::new(code::INTERNAL, error.to_string()))?;
    Ok(Arc::new(Task::begin(id, era, context, lifetime)))
}

/// Removes the task parameters from a call, and returns the requested lifetime; `None` for a plain
/// call.
pub(crate) fn take_lifetime(request: &mut Request) -> Option<Result<Duration, RpcError>> {
    let task_params = request.params.remove("task")?;
    let lifetime = match task_params.get("ttl") {
        _ if !task_params.is_object() => None,
        None | Some(Value::Null) => Some(DEFAULT_LIFETIME),
        Some(ttl) => ttl.as_u64().map(|ttl| Duration::from_millis(ttl).min(MAX_LIFETIME)),
    };
    let problem = "`task` must be an object, and its `ttl` a whole number of milliseconds";
    Some(lifetime.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, problem)))
}

/// The tasks of one session, in the order in which they began.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<TaskTable>);

#[derive(Default)]
struct TaskTable {
    last_number: u64,
    by_number: BTreeMap<u64, Arc<Task>>,
}

impl Tasks {
    /// Begins a task that a client asked for (legacy era).
    pub(crate) fn begin(
        &self,
        context: TaskContext<'_>,
        lifetime: Duration,
    ) -> Result<Arc<Task>, RpcError> {
        let task = new_task(Era::Legacy, context, lifetime)?;
        self.add(&task)?;
        Ok(task)
    }

    /// Adds a task, so that its client can ask for it.
    pub(crate) fn add(&self, task: &Arc<Task>) -> Result<(), RpcError> {
        let mut table = self.lock();
        table.evict_for(1);
        let working = table.by_number.values().filter(|task| !task.has_ended()).count();
        if working >= MAX_WORKING {
            let problem = "too many tasks at once; wait for one, or cancel it";
            return Err(RpcError::new(code::INTERNAL, problem));
        }
        table.last_number = table.last_number.saturating_add(1);
        let number = table.last_number;
        table.by_number.insert(number, Arc::clone(task));
        Ok(())
    }

    /// Answers a request about tasks (modern era); `None` for any other.
    pub(crate) fn answer_modern(&self, request: &Request) -> Option<Result<Value, RpcError>> {
        let method = request.method.as_str();
        matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel").then(|| {
            if !is_declared(&request.params) {
                return Err(undeclared_error());
            }
            let task = self.find(&request.params)?;
            let mut fields = match method {
                "tasks/get" => task.to_detailed_json(),
                _ => Map::new(),
            };
            if method == "tasks/update" {
                let answers = request.params.get("inputResponses").and_then(Value::as_object);
                let problem = "`inputResponses` must be an object";
                let invalid = || RpcError::new(code::INVALID_PARAMS, problem);
                task.take_answers(answers.ok_or_else(invalid)?);
            }
            if method == "tasks/cancel" {
                task.abandon();
            }
            fields.insert("resultType".to_owned(), json!("complete"));
            Ok(Value::Object(fields))
        })
    }

    /// Drops the results of other runs than this.
    pub(crate) fn drop_results_of_other_runs(&self, run: &RunId) {
        self.lock().by_number.values().for_each(|task| task.drop_result_of_another_run(run));
    }

    /// The tasks with these ids. Unknown ones are left out.
    pub(crate) fn find_each(&self, ids: &[&str]) -> Vec<Arc<Task>> {
        let table = self.lock();
        let tasks = table.by_number.values();
        tasks.filter(|task| ids.contains(&task.id())).cloned().collect()
    }

    /// Answers a request about tasks (legacy era); `None` for any other. `stream` is where its
    /// client reads more than the answer.
    pub(crate) async fn answer(
        &self,
        request: &Request,
        stream: Option<&WeakSender<Vec<u8>>>,
    ) -> Option<Result<Value, RpcError>> {
        let params = &request.params;
        Some(match request.method.as_str() {
            "tasks/list" => self.list(params),
            "tasks/get" => self.find(params).map(|task| Value::Object(task.to_json())),
            "tasks/cancel" => self.find(params).and_then(|task| task.cancel()),
            "tasks/result" => match self.find(params) {
                Ok(task) => {
                    stream.into_iter().for_each(|stream| task.add_result_stream(stream));
                    task.result().await
                }
                Err(error) => Err(error),
            },
            _ => return None,
        })
    }

    fn find(&self, params: &Map<String, Value>) -> Result<Arc<Task>, RpcError> {
        let invalid = |problem: String| RpcError::new(code::INVALID_PARAMS, problem);
        let id = params.get("taskId").and_then(Value::as_str);
        let id = id.ok_or_else(|| invalid("`taskId` must be a string".to_owned()))?;
        let mut table = self.lock();
        table.evict_for(0);
        let task = table.by_number.values().find(|task| task.id() == id);
        task.cloned().ok_or_else(|| unknown_task_error(id))
    }

    fn list(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let after = match params.get("cursor") {
            None => 0,
            Some(cursor) => {
                cursor.as_str().and_then(|cursor| cursor.parse().ok()).ok_or_else(|| {
                    RpcError::new(code::INVALID_PARAMS, "`cursor` is not from an earlier list")
                })?
            }
        };
        let mut table = self.lock();
        table.evict_for(0);
        let mut later = table.by_number.range(after..).skip_while(|(number, _)| **number == after);
        let page: Vec<_> = later.by_ref().take(PAGE_SIZE).collect();
        let mut result = json!({
            "tasks": page.iter().map(|(_, task)| task.to_json()).collect::<Vec<_>>(),
        });
        if later.next().is_some()
            && let (Some((last, _)), Some(result)) = (page.last(), result.as_object_mut())
        {
            result.insert("nextCursor".to_owned(), json!(last.to_string()));
        }
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskTable {
    /// Removes expired tasks. If there would be too many with `upcoming` more, or their results are
    /// too large, it also removes ended tasks, those that ended first first.
    fn evict_for(&mut self, upcoming: usize) {
        self.by_number.retain(|_, task| !task.has_expired());
        let mut bytes: usize = self.by_number.values().map(|task| task.result_bytes()).sum();
        let mut count = self.by_number.len().saturating_add(upcoming);
        if count <= MAX_TASKS && bytes <= MAX_RESULT_BYTES {
            return;
        }
        let ended =
            self.by_number.iter().filter_map(|(number, task)| Some((task.ended_at()?, *number)));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        for (_, number) in ended {
            if count <= MAX_TASKS && bytes <= MAX_RESULT_BYTES {
                break;
            }
            let removed = self.by_number.remove(&number);
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(removed.map_or(0, |task| task.result_bytes()));
        }
    }
}

#[cfg(test)]
mod tests;
