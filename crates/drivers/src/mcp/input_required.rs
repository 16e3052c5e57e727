//! Retries a request with the client's answers when its result asks for input.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::call::{CallOutcome, CallRequest, Reply};
use super::client_features::ClientFeatures;
use super::connection::Connection;
use super::error::McpError;
use super::input_responses::InputResponses;
use super::server_request::InputRequest;
use super::task::TaskContext;

/// Most rounds of input requests for one request.
const MAX_ROUNDS: usize = 8;
/// Most input requests in one round.
const MAX_QUESTIONS: usize = 16;

impl Connection {
    /// Makes a request and follows it to its final outcome: a task is polled to its end, and a result that asks for
    /// input is answered by the client and the request retried. If an input request is refused, or there are too many,
    /// the outcome is [`CallOutcome::InputRequired`].
    ///
    /// # Errors
    ///
    /// As [`Connection::call`].
    pub async fn call_to_completion(&self, request: CallRequest) -> Result<CallOutcome, McpError> {
        let handler = self.request_handler().cloned();
        let handler = handler.map(|handler| -> Arc<dyn ClientFeatures> { Arc::new(handler) });
        let client = request.client.clone().or(handler);
        let limit = request.timeout.unwrap_or(self.channel().config.limits.call_timeout);
        let timer = request.timer.clone();
        let mut request = request;
        let token = request.progress.take().map(|sink| self.progress_token(sink));
        let token = token.as_ref();
        let mut outcome = self.call_with_progress_token(token, request.clone()).await?;
        for _ in 0..MAX_ROUNDS {
            let (CallOutcome::InputRequired(reply), Some(client)) = (&outcome, &client) else {
                break;
            };
            let Some(input) = answer_questions(reply, client).await else { break };
            request.input_responses = Some(input);
            outcome = self.call_with_progress_token(token, request.clone()).await?;
        }
        match outcome {
            CallOutcome::Task(task) => {
                self.follow_task(&task, TaskContext { client, limit, timer, token }).await
            }
            other => Ok(other),
        }
    }
}

/// The client's answers to the input requests of a result; `None` if one is not answered.
pub(super) async fn answer_questions(
    reply: &Reply,
    client: &Arc<dyn ClientFeatures>,
) -> Option<InputResponses> {
    let requests = reply.value().get("inputRequests");
    let none = Map::new();
    let requests = requests.and_then(Value::as_object).unwrap_or(&none);
    if requests.len() > MAX_QUESTIONS {
        return None;
    }
    // All at once, so that a client can show them together.
    let mut pending = JoinSet::new();
    for (key, question) in requests {
        let method = question.get("method")?.as_str()?.to_owned();
        let params = question.get("params").cloned().unwrap_or_default();
        let (key, client) = (key.clone(), Arc::clone(client));
        let question = InputRequest { key: key.clone(), method, params };
        pending.spawn(async move { (key, question.answer_with(client.as_ref()).await) });
    }
    let mut answers = Map::new();
    while let Some(answered) = pending.join_next().await {
        let (key, answer) = answered.ok()?;
        answers.insert(key, answer.ok()?);
    }
    let state = reply.value().get("requestState").cloned();
    Some(InputResponses { answers, state })
}
