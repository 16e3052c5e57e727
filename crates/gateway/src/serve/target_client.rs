//! The client that a request of a server is sent to.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use weaver_drivers::mcp::{LogLevel, RpcError, TimerPause};

use super::client_call::ClientCall;
use super::client_link::{ClientLink, QuestionStream};
use super::heartbeat;
use super::lines::Outbox;
use crate::serve::code;

/// The time limit of a client's answer.
const MAX_WAIT: Duration = Duration::from_secs(10 * 60);

/// The client that a request of a server is sent to, with the calls in which it may have arisen.
pub(crate) struct TargetClient {
    link: Arc<ClientLink>,
    calls: Vec<Arc<ClientCall>>,
}

impl TargetClient {
    /// A client with its calls in flight at the server.
    pub(crate) fn new(link: Arc<ClientLink>, calls: Vec<Arc<ClientCall>>) -> Self {
        Self { link, calls }
    }

    /// The client of the one call in which the request arose.
    pub(crate) fn of_call(call: Arc<ClientCall>) -> Self {
        Self { link: Arc::clone(call.link()), calls: vec![call] }
    }

    /// True where it has a call in flight that the server's message may be about.
    pub(crate) fn is_calling(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(crate) fn link(&self) -> &Arc<ClientLink> {
        &self.link
    }

    /// What the client declared about a capability. `None` where the client can only be asked in
    /// the result of a call, and it is not known which call the request belongs to.
    pub(crate) fn capability(&self, name: &str) -> Option<Value> {
        match self.calls.as_slice() {
            [call] => call.capability(name),
            calls if calls.iter().any(|call| call.asks_in_result()) => None,
            _ => self.link.session_capability(name).filter(Value::is_object),
        }
    }

    /// The channel for a log message of this level, if the calls ask for one. `None` where the
    /// message may belong to several calls, unless all of them use the same channel.
    pub(crate) fn log_outbox(&self, level: LogLevel) -> Option<Outbox> {
        let (first, rest) = self.calls.split_first()?;
        let outbox = first.log_outbox(level)?;
        let wants_same_outbox = |call: &Arc<ClientCall>| {
            call.log_outbox(level).is_some_and(|other| other.same_channel(&outbox))
        };
        rest.iter().all(wants_same_outbox).then_some(outbox)
    }

    /// Runs work under the paused timers of its first call.
    pub(crate) async fn scope<T>(&self, work: impl Future<Output = T>) -> T {
        match self.calls.first() {
            Some(call) => call.scope(work).await,
            None => work.await,
        }
    }

    /// Asks the client and waits for its answer. The timers of its calls are paused meanwhile, and
    /// progress notifications keep the calls alive.
    pub(crate) async fn ask(
        &self,
        key: Option<String>,
        method: &str,
        params: Value,
    ) -> Result<Value, RpcError> {
        let _pauses: Vec<TimerPause> = self.calls.iter().map(|call| call.timer.pause()).collect();
        let question = async {
            match self.calls.as_slice() {
                [call] => call.ask(key, method, params).await,
                calls if calls.iter().any(|call| call.asks_in_result()) => {
                    Err(RpcError::method_not_found())
                }
                _ => self.link.ask(QuestionStream::Session, method, params).await,
            }
        };
        let reporters =
            self.calls.iter().filter_map(|call| call.progress.clone()).collect::<Vec<_>>();
        let asking = tokio::time::timeout(MAX_WAIT, question);
        let message = "waiting for an answer of the client";
        let answer = heartbeat::during(asking, heartbeat::INTERVAL, &reporters, message).await;
        answer.unwrap_or_else(|_| Err(RpcError::new(code::INTERNAL, "nobody answered in time")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::{Map, json};
    use weaver_types::Progress;

    use super::*;
    use crate::serve::client_call::{CallChannels, LogSubscription};
    use crate::serve::progress_reporter::ProgressReporter;

    #[tokio::test(start_paused = true)]
    async fn a_call_stands_still_and_its_client_hears_of_it_while_a_person_thinks() {
        let told = Arc::<Mutex<Vec<Progress>>>::default();
        let seen = Arc::clone(&told);
        let reporter = ProgressReporter::new(move |progress| seen.lock().unwrap().push(progress));
        let takes = Map::from_iter([("elicitation".to_owned(), json!({}))]);
        let channels =
            CallChannels { progress: Some(Arc::new(reporter)), ..CallChannels::default() };
        let (call, mut questions) = ClientCall::open(&Arc::default(), Some(takes), channels);
        let (limit, timer) = (Duration::from_secs(5), call.timer.clone());
        let asking = tokio::spawn(async move {
            TargetClient::of_call(call).ask(None, "elicitation/create", json!({})).await
        });
        let question = questions.recv().await.unwrap();
        let limited = tokio::spawn(async move { timer.elapsed(limit).await });
        tokio::time::sleep(Duration::from_secs(65)).await;
        assert!(!limited.is_finished(), "five seconds are not over for the server");
        assert_eq!(told.lock().unwrap().len(), 6, "{told:?}");
        let _ = question.reply_to.send(Ok(json!({ "action": "accept" })));
        assert_eq!(asking.await.unwrap(), Ok(json!({ "action": "accept" })));
        limited.await.unwrap();
    }

    #[test]
    fn a_log_message_goes_where_all_the_calls_want_it_that_it_can_be_about() {
        let (outbox, _lines) = tokio::sync::mpsc::channel(1);
        let (elsewhere, _others) = tokio::sync::mpsc::channel(1);
        let call = |level: Option<LogLevel>, outbox: &Outbox| {
            let log = level.map(|level| LogSubscription { level, stream: outbox.downgrade() });
            let channels = CallChannels { log, ..CallChannels::default() };
            ClientCall::open(&Arc::default(), Some(Map::new()), channels).0
        };
        let goes = |calls: &[&Arc<ClientCall>]| {
            let calls = calls.iter().map(|call| Arc::clone(call)).collect();
            let asked = TargetClient::new(Arc::default(), calls);
            asked.log_outbox(LogLevel::Warning).is_some_and(|out| out.same_channel(&outbox))
        };
        let wanting = call(Some(LogLevel::Info), &outbox);
        assert!(goes(&[&wanting]) && goes(&[&wanting, &call(Some(LogLevel::Warning), &outbox)]));
        for other in [
            call(None, &outbox),
            call(Some(LogLevel::Error), &outbox),
            call(Some(LogLevel::Debug), &elsewhere),
        ] {
            assert!(!goes(&[&wanting, &other]) && !goes(&[&other]));
        }
        assert!(!goes(&[]));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_without_end() {
        let (call, _questions) =
            ClientCall::open(&Arc::default(), Some(Map::new()), CallChannels::default());
        let asked = TargetClient::of_call(call).ask(None, "roots/list", json!({})).await;
        assert_eq!(asked.unwrap_err().code, -32603);
    }
}
