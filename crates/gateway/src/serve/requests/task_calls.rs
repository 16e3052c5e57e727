//! Calls that go on as tasks after their requests were answered.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{CallFollowers, RequestTask};
use crate::serve::message::{self, Request, RpcError, code};
use crate::serve::parked_calls::{self, CallStep, RequestIdentity, RunningCall};
use crate::serve::progress_notification;
use crate::serve::progress_reporter::ProgressReporter;
use crate::serve::task::Task;
use crate::serve::tasks;

/// How long a client that knows tasks waits for the answer to a call before it is given a task.
/// Calls that are known to take longer, because they wait for a person or their server continues
/// them as tasks, are answered so at once.
const DEFER_AFTER: Duration = Duration::from_secs(5);

/// Waits until a call has become slow, and takes its task; never completes without one.
pub(super) async fn next_slow(task: &mut Option<Arc<Task>>) -> Arc<Task> {
    let Some(call) = task else { return std::future::pending().await };
    tokio::select! {
        () = call.wait_until_deferred() => {}
        () = tokio::time::sleep(DEFER_AFTER) => {}
    }
    match task.take() {
        Some(task) => task,
        None => std::future::pending().await,
    }
}

impl RequestTask {
    /// Whether a call of this request may go on as a task (modern era).
    pub(super) fn knows_tasks(&self, request: &Request) -> bool {
        request.method == "tools/call"
            && parked_calls::is_modern(request)
            && tasks::is_declared(&request.params)
    }

    /// Answers a call with the task that its client asked for, and then executes it (legacy era).
    pub(super) async fn run_as_task(self, request: Request, task: Arc<Task>) {
        let answer = Map::from_iter([("task".to_owned(), Value::Object(task.to_json()))]);
        let Some(followed) = self.answer_with_task(&request.id, &task, answer).await else {
            return;
        };
        let token = progress_notification::requested_token(&request.params);
        let progress = Some(followed.task_reporter(&task, token));
        let identity = RequestIdentity::not_resumable(&request);
        // Its request is answered, so it has no stream.
        let followers = CallFollowers { progress, task: Some(Arc::clone(&task)), stream: None };
        let call = followed.run_call(request, identity, followers);
        let client = Arc::clone(&followed.client);
        followed.follow(&task, call).await;
        client.link.try_send(task.notification());
    }

    /// Answers a call that takes long with its task, and follows it to its end (modern era).
    pub(super) async fn go_on_as_task(self, id: &Value, task: Arc<Task>, call: RunningCall) {
        let mut answer = task.to_json();
        answer.insert("resultType".to_owned(), json!("task"));
        match self.answer_with_task(id, &task, answer).await {
            Some(followed) => followed.follow(&task, call).await,
            None => call.abandon().await,
        }
    }

    /// Answers a request with a task, under whose id its call then is. `None` where its client has
    /// cancelled it before it could know the task.
    async fn answer_with_task(
        mut self,
        id: &Value,
        task: &Task,
        answer: Map<String, Value>,
    ) -> Option<Self> {
        // A task's id is not quoted as a JSON string is, so it cannot collide with a request's.
        let Some((number, cancellation)) =
            self.open.begin_continuation(task.id(), &self.cancellation)
        else {
            let problem = RpcError::new(code::INTERNAL, "two tasks have the same id");
            self.answer(id, Err(problem)).await;
            return None;
        };
        if !self.open.finish(&self.key, self.number) {
            self.open.finish(task.id(), number);
            task.abandon();
            return None;
        }
        let _ = self.outbox.send(message::answer(id, Ok(Value::Object(answer)))).await;
        // The request is answered, so its stream ends. Later messages go to the session's channel.
        self.outbox = mpsc::channel(1).0;
        (self.key, self.number, self.cancellation) = (task.id().to_owned(), number, cancellation);
        Some(self)
    }

    /// Follows a call to its end, which its task then shows.
    async fn follow(self, task: &Task, mut call: RunningCall) {
        let outcome = tokio::select! {
            step = self.answer_questions(task, &mut call) => self.final_answer(step, call.run()).await,
            () = task.wait_until_cancelled() => {
                call.abandon().await;
                Err(RpcError::new(code::INTERNAL, "the task was cancelled"))
            }
            () = self.cancellation.cut_off.cancelled() => {
                call.abandon().await;
                message::cut_off_outcome("tools/call")
            }
        };
        task.finish(outcome);
        self.open.finish(&self.key, self.number);
    }

    /// Waits for the end of a call. Its client is asked in the task, and answers there.
    async fn answer_questions(&self, task: &Task, call: &mut RunningCall) -> CallStep {
        let waits = &self.cancellation.wait_ended;
        loop {
            if let ended @ CallStep::Ended(_) = call.next_step(waits).await {
                return ended;
            }
            task.ask(call.input_requests());
            let answers = tokio::select! {
                step = call.next_change(waits) => match step {
                    ended @ CallStep::Ended(_) => return ended,
                    CallStep::InputRequired => continue,
                },
                answers = task.answers() => answers,
            };
            call.deliver_answers(answers);
        }
    }

    /// Reports progress in the task's status, and to the client under its token if it sent one.
    fn task_reporter(&self, task: &Arc<Task>, token: Option<&Value>) -> Arc<ProgressReporter> {
        let (task, token, client) = (Arc::clone(task), token.cloned(), Arc::clone(&self.client));
        Arc::new(ProgressReporter::new(move |progress| {
            if task.has_ended() {
                return;
            }
            if let Some(message) = &progress.message {
                task.set_message(message);
            }
            if let Some(token) = &token {
                let mut params = progress_notification::params(token, progress);
                task.add_related_task(&mut params);
                client.link.try_send(progress_notification::line(params));
            }
        }))
    }

    /// Reports progress in the status of the task that the call may become, and to the client under
    /// its token until its request is answered: tasks of the modern era have no progress.
    pub(super) fn deferrable_reporter(
        &self,
        task: &Arc<Task>,
        token: Option<&Value>,
    ) -> Arc<ProgressReporter> {
        let task = Arc::clone(task);
        let sink = token.map(|token| self.progress_sink(token));
        Arc::new(ProgressReporter::new(move |progress| {
            if let Some(message) = &progress.message {
                task.set_message(message);
            }
            if let Some(sink) = &sink {
                sink(progress);
            }
        }))
    }
}
