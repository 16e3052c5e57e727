//! Results that ask: a modern server that needs more input says so in its result, and the client
//! makes the same request again with the answers.

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

/// Most rounds of questions of one request.
const MAX_ROUNDS: usize = 8;
/// Most questions of one round.
const MAX_QUESTIONS: usize = 16;

impl Connection {
    /// Makes a request, follows it where the server goes on with it as a task, and makes it again with
    /// the answers where its result asks for something that somebody answers. A question that is refused, or one too many, leaves
    /// the result as it is: [`CallOutcome::InputRequired`].
    ///
    /// # Errors
    ///
    /// As [`Connection::call`].
    pub async fn call_answering(&self, request: CallRequest) -> Result<CallOutcome, McpError> {
        let handler = self.request_handler().cloned();
        let handler = handler.map(|handler| -> Arc<dyn ClientFeatures> { Arc::new(handler) });
        let client = request.client.clone().or(handler);
        let limit = request.timeout.unwrap_or(self.wire().config.limits.call_timeout);
        let timer = request.timer.clone();
        let mut request = request;
        let token = request.progress.take().map(|sink| self.progress_token(sink));
        let token = token.as_ref();
        let mut outcome = self.call_under(token, request.clone()).await?;
        for _ in 0..MAX_ROUNDS {
            let (CallOutcome::InputRequired(reply), Some(client)) = (&outcome, &client) else {
                break;
            };
            let Some(input) = answers(reply, client).await else { break };
            request.input = Some(input);
            outcome = self.call_under(token, request.clone()).await?;
        }
        match outcome {
            CallOutcome::Task(begun) => {
                self.follow(&begun, TaskContext { client, limit, timer, token }).await
            }
            other => Ok(other),
        }
    }
}

/// The answers to the questions of a result; `None` where one of them is not answered.
pub(super) async fn answers(
    reply: &Reply,
    client: &Arc<dyn ClientFeatures>,
) -> Option<InputResponses> {
    let asked = reply.value().get("inputRequests");
    let none = Map::new();
    let asked = asked.and_then(Value::as_object).unwrap_or(&none);
    if asked.len() > MAX_QUESTIONS {
        return None;
    }
    // Together: whoever is asked may be shown all of it at once.
    let mut asking = JoinSet::new();
    for (key, question) in asked {
        let method = question.get("method")?.as_str()?.to_owned();
        let params = question.get("params").cloned().unwrap_or_default();
        let (key, client) = (key.clone(), Arc::clone(client));
        let question = InputRequest { key: key.clone(), method, params };
        asking.spawn(async move { (key, question.answered_by(client.as_ref()).await) });
    }
    let mut answers = Map::new();
    while let Some(answered) = asking.join_next().await {
        let (key, answer) = answered.ok()?;
        answers.insert(key, answer.ok()?);
    }
    let state = reply.value().get("requestState").cloned();
    Some(InputResponses { answers, state })
}
