//! Results that ask: a modern server that needs more input says so in its result, and the client
//! makes the same request again with the answers.

use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::call::{CallOutcome, CallRequest, Reply};
use super::config::Era;
use super::connection::Connection;
use super::error::McpError;
use super::input_responses::InputResponses;

/// Most rounds of questions of one request.
const MAX_ROUNDS: usize = 8;
/// Most questions of one round.
const MAX_QUESTIONS: usize = 16;

impl Connection {
    /// Makes a request, and makes it again with the answers where its result asks for something
    /// that the handler of requests answers. A question that is refused, or one too many, leaves
    /// the result as it is: [`CallOutcome::InputRequired`].
    ///
    /// # Errors
    ///
    /// As [`Connection::call`].
    pub async fn call_answering(&self, request: CallRequest) -> Result<CallOutcome, McpError> {
        if self.server().era() == Era::Legacy || self.request_handler().is_none() {
            return self.call(request).await;
        }
        let mut request = request;
        let mut outcome = self.call(request.clone()).await?;
        for _ in 0..MAX_ROUNDS {
            let CallOutcome::InputRequired(reply) = &outcome else { break };
            let Some(input) = self.answers(reply).await else { break };
            request.input = Some(input);
            outcome = self.call(request.clone()).await?;
        }
        Ok(outcome)
    }

    /// The answers to the questions of a result; `None` where one of them is not answered.
    async fn answers(&self, reply: &Reply) -> Option<InputResponses> {
        let handler = self.request_handler()?;
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
            let (key, handler) = (key.clone(), handler.clone());
            asking.spawn(async move { (key, handler.ask(method, params).await) });
        }
        let mut answers = Map::new();
        while let Some(answered) = asking.join_next().await {
            let (key, answer) = answered.ok()?;
            answers.insert(key, answer.ok()?);
        }
        let state = reply.value().get("requestState").cloned();
        Some(InputResponses { answers, state })
    }
}
