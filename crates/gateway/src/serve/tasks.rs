//! Calls that a client follows as tasks (2025-11-25).
//!
//! Such a client gets a task in answer to its call, at once. It asks how the task is, or waits for the
//! result, when it likes; the call itself is decided, made and recorded as one whose progress is followed. Tasks belong to
//! the session in which they began, and end with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::WeakSender;
use weaver_types::{Clock, OsRandom, random_text};

use super::message::{Request, RpcError, code, shown};
use super::task::Task;

/// The most tasks of one session, and how many of them may be at work: other requests go on beside
/// them.
const MAX_TASKS: usize = 256;
const MAX_WORKING: usize = 64;
/// The most bytes of results that are kept for one session.
const MAX_RESULTS: usize = 32 * 1024 * 1024;
/// How long a task is kept from its beginning on, where its client does not say, and at most.
const USUAL_LIFETIME: Duration = Duration::from_secs(60 * 60);
const LONGEST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The most tasks on one page of a list.
const PAGE: usize = 100;

/// What a client of 2025-11-25 is told of tasks when it opens a session.
pub(crate) fn declared() -> Value {
    json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } })
}

/// Takes out of a call how its client wants it as a task, if it does: how long it is kept.
pub(crate) fn take_lifetime(request: &mut Request) -> Option<Result<Duration, RpcError>> {
    let asked = request.params.remove("task")?;
    let lifetime = match asked.get("ttl") {
        _ if !asked.is_object() => None,
        None | Some(Value::Null) => Some(USUAL_LIFETIME),
        Some(ttl) => ttl.as_u64().map(|ttl| Duration::from_millis(ttl).min(LONGEST_LIFETIME)),
    };
    let problem = "`task` must be an object, and its `ttl` a whole number of milliseconds";
    Some(lifetime.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, problem)))
}

/// The tasks of one session, in the order in which they began.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<TaskTable>);

#[derive(Default)]
struct TaskTable {
    last: u64,
    by_number: BTreeMap<u64, Arc<Task>>,
}

impl Tasks {
    /// Begins a task.
    pub(crate) fn begin(
        &self,
        clock: &Arc<dyn Clock>,
        lifetime: Duration,
    ) -> Result<Arc<Task>, RpcError> {
        let id = random_text("task_", 16, &OsRandom)
            .map_err(|error| RpcError::new(code::INTERNAL, error.to_string()))?;
        let task = Arc::new(Task::begin(id, Arc::clone(clock), lifetime));
        let mut table = self.lock();
        table.make_room(1);
        let working = table.by_number.values().filter(|task| !task.has_ended()).count();
        if working >= MAX_WORKING {
            let problem = "too many tasks at once; wait for one, or cancel it";
            return Err(RpcError::new(code::INTERNAL, problem));
        }
        table.last = table.last.saturating_add(1);
        let number = table.last;
        table.by_number.insert(number, Arc::clone(&task));
        Ok(task)
    }

    /// Answers a request about tasks; `None` for any other. `stream` is where its client reads more
    /// than the answer.
    pub(crate) async fn answer(
        &self,
        request: &Request,
        stream: Option<&WeakSender<Vec<u8>>>,
    ) -> Option<Result<Value, RpcError>> {
        let params = &request.params;
        Some(match request.method.as_str() {
            "tasks/list" => self.list(params),
            "tasks/get" => self.find(params).map(|task| task.to_json()),
            "tasks/cancel" => self.find(params).and_then(|task| task.cancel()),
            "tasks/result" => match self.find(params) {
                Ok(task) => {
                    stream.into_iter().for_each(|stream| task.read_result_on(stream));
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
        table.make_room(0);
        let found = table.by_number.values().find(|task| task.id() == id);
        found.cloned().ok_or_else(|| {
            invalid(format!("task `{}` is not there; it has expired, or never was", shown(id)))
        })
    }

    fn list(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let after = match params.get("cursor") {
            None => 0,
            Some(cursor) => {
                cursor.as_str().and_then(|cursor| cursor.parse().ok()).ok_or_else(|| {
                    RpcError::new(code::INVALID_PARAMS, "`cursor` is none of an earlier list")
                })?
            }
        };
        let mut table = self.lock();
        table.make_room(0);
        let mut later = table.by_number.range(after..).skip_while(|(number, _)| **number == after);
        let page: Vec<_> = later.by_ref().take(PAGE).collect();
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
    /// Drops what has ended and is kept no longer: what has expired, and what ended first where with
    /// `more` there are too many, or their results are too large.
    fn make_room(&mut self, more: usize) {
        self.by_number.retain(|_, task| !task.has_expired());
        let mut bytes: usize = self.by_number.values().map(|task| task.result_bytes()).sum();
        let mut count = self.by_number.len().saturating_add(more);
        if count <= MAX_TASKS && bytes <= MAX_RESULTS {
            return;
        }
        let ended =
            self.by_number.iter().filter_map(|(number, task)| Some((task.ended()?, *number)));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        for (_, number) in ended {
            if count <= MAX_TASKS && bytes <= MAX_RESULTS {
                break;
            }
            let gone = self.by_number.remove(&number);
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(gone.map_or(0, |task| task.result_bytes()));
        }
    }
}

#[cfg(test)]
mod tests;
