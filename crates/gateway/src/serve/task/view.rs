//! What a client sees of a task.

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::WeakSender;

use super::{Task, TaskState};
use crate::serve::era::Era;
use crate::serve::message::{self, RpcError, SUBSCRIPTION_ID};

/// The poll interval suggested to clients, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1_000;
/// The longest failure in the status message, in characters; the result has the full text.
const MAX_MESSAGE_CHARS: usize = 500;
/// The `_meta` key of the task that a message is about.
const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

impl Task {
    /// The task as its client sees it, without its result.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        self.fields(&self.state.borrow())
    }

    /// The task with its result, its error or its open questions (modern era).
    pub(crate) fn to_detailed_json(&self) -> Map<String, Value> {
        let state = self.state.borrow();
        let mut task = self.fields(&state);
        if !state.input.requests.is_empty() {
            task.insert("inputRequests".to_owned(), json!(state.input.requests));
        }
        match state.outcome.as_ref().map(|outcome| &outcome.result) {
            Some(Ok(result)) => _ = task.insert("result".to_owned(), result.clone()),
            Some(Err(error)) => _ = task.insert("error".to_owned(), error.to_json()),
            None => {}
        }
        task
    }

    fn fields(&self, state: &TaskState) -> Map<String, Value> {
        let (lifetime, poll_interval) = match self.era {
            Era::Legacy => ("ttl", "pollInterval"),
            Era::Modern => ("ttlMs", "pollIntervalMs"),
        };
        let lifetime_ms = u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX);
        let message = state.message.as_ref().map(|message| ("statusMessage", json!(message)));
        let fields = [
            ("taskId", json!(self.id)),
            ("status", json!(state.status.as_str())),
            ("createdAt", json!(self.created.rfc3339())),
            ("lastUpdatedAt", json!(state.updated.rfc3339())),
            (lifetime, json!(lifetime_ms)),
            (poll_interval, json!(POLL_INTERVAL_MS)),
        ];
        fields.into_iter().chain(message).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Sends the task as it is now and after each change, until it ends or nobody reads any more
    /// (modern era). `subscription` is the id of the request that asked for it.
    pub(in crate::serve) async fn report_changes(
        &self,
        subscription: &Value,
        outbox: &WeakSender<Vec<u8>>,
    ) {
        let mut states = self.state.subscribe();
        loop {
            states.mark_unchanged();
            let mut params = self.to_detailed_json();
            params.insert("_meta".to_owned(), json!({ SUBSCRIPTION_ID: subscription }));
            let line = message::notification_with("notifications/tasks", Value::Object(params));
            let Some(outbox) = outbox.upgrade() else { return };
            if outbox.send(line).await.is_err() || self.has_ended() {
                return;
            }
            drop(outbox);
            // The sender lives as long as the task.
            let _ = states.changed().await;
        }
    }

    /// The notification of its status (legacy era).
    pub(crate) fn notification(&self) -> Vec<u8> {
        message::notification_with("notifications/tasks/status", Value::Object(self.to_json()))
    }

    /// Names this task in the `_meta` of a message.
    pub(in crate::serve) fn add_related_task(&self, message: &mut Value) {
        let Some(fields) = message.as_object_mut() else { return };
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(RELATED_TASK_KEY.to_owned(), json!({ "taskId": self.id }));
        }
    }
}

/// A short reason of a failure. The answer is masked already.
pub(super) fn failure_message(result: &Result<Value, RpcError>) -> Option<String> {
    let message = match result {
        Ok(result) => {
            let message = result.pointer("/structuredContent/message");
            message.or_else(|| result.pointer("/content/0/text"))?.as_str()?
        }
        Err(error) => error.message.as_str(),
    };
    Some(message.chars().take(MAX_MESSAGE_CHARS).collect())
}
