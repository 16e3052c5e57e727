//! The parts of a JSON-RPC message that the shim needs: id and method.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::serve::code;
use crate::serve::{AfterShutdown, DRAINING_METHOD, outcome_unknown_result};

/// A message whose other members are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Parses a line; `None` if it is not a JSON object.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The method of a request or a notification.
    pub(super) fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// The id of a request. A request without a valid one is answered at once, under no id.
    pub(super) fn request_id(&self) -> Option<String> {
        self.method.as_ref()?;
        self.id.and_then(canonical_id)
    }

    /// The id of an answer.
    pub(super) fn answer_id(&self) -> Option<String> {
        match self.method {
            Some(_) => None,
            None => self.id.and_then(canonical_id),
        }
    }

    /// The id of the request that this notification cancels.
    pub(super) fn cancelled_id(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "requestId")]
            request_id: &'a RawValue,
        }
        let is_cancellation = self.id.is_none() && self.method() == Some("notifications/cancelled");
        let params = self.params.filter(|_| is_cancellation)?;
        canonical_id(serde_json::from_str::<Params<'_>>(params.get()).ok()?.request_id)
    }

    /// What follows the daemon's end, if this is the daemon's announcement that it ends.
    pub(super) fn shutdown_notice(&self) -> Option<AfterShutdown> {
        #[derive(Deserialize)]
        struct Params {
            then: AfterShutdown,
        }
        let params = self.params.filter(|_| self.method() == Some(DRAINING_METHOD))?;
        serde_json::from_str::<Params>(params.get()).ok().map(|params| params.then)
    }
}

/// A request id in JSON, the same for every way to write it; `None` for what is no valid id.
fn canonical_id(id: &RawValue) -> Option<String> {
    let id: Value = serde_json::from_str(id.get()).ok()?;
    (id.is_string() || id.is_i64() || id.is_u64()).then(|| id.to_string())
}

/// True for a request about a task.
pub(super) fn is_about_task(method: &str) -> bool {
    method.starts_with("tasks/")
}

/// True for a request that may be sent again if it is unknown whether it arrived.
pub(super) fn is_repeatable(method: &str) -> bool {
    // An unknown method may have effects.
    matches!(
        method,
        "initialize"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "resources/list"
            | "resources/templates/list"
            | "prompts/list"
            | "completion/complete"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "tasks/get"
            | "tasks/list"
            | "tasks/result"
    )
}

/// The answer to a call that may or may not have run.
pub(super) fn outcome_unknown_answer(id: &str) -> Vec<u8> {
    let result = outcome_unknown_result();
    line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))
}

/// The error answer to a request while no daemon is available.
pub(super) fn unavailable_answer(id: &str, code: &str, problem: &str) -> Vec<u8> {
    refusal(id, code, &format!("{problem}. No tool was called."))
}

/// The same for a request about a task that ended with its daemon.
pub(super) fn task_unavailable_answer(id: &str, code: &str, problem: &str) -> Vec<u8> {
    let unknown = "outcome_unknown: the call of the task may have run";
    refusal(id, code, &format!("{problem}. {unknown}."))
}

fn refusal(id: &str, code: &str, problem: &str) -> Vec<u8> {
    let message = format!("Weaver cannot serve: {problem}");
    let error = json!({ "code": code::INTERNAL, "message": message, "data": { "code": code } });
    line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"))
}

fn line(message: &str) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_answers_and_notices_are_told_apart() {
        let request =
            Envelope::parse(br#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}"#).unwrap();
        assert_eq!((request.request_id(), request.answer_id()), (Some("\"ab\"".to_owned()), None));
        let answer = Envelope::parse(br#"{"id":7,"result":{"method":"x"}}"#).unwrap();
        assert_eq!((answer.request_id(), answer.answer_id()), (None, Some("7".to_owned())));
        let notice = Envelope::parse(br#"{"method":"notifications/progress"}"#).unwrap();
        assert_eq!((notice.request_id(), notice.answer_id()), (None, None));
        assert!(Envelope::parse(b"[1]").is_none());
    }

    #[test]
    fn only_the_daemons_word_is_a_farewell() {
        let said = |text: &str| Envelope::parse(text.as_bytes()).unwrap().shutdown_notice();
        let word = format!(r#"{{"method":"{DRAINING_METHOD}","params":{{"then":"stopped"}}}}"#);
        assert_eq!(said(&word), Some(AfterShutdown::Stopped));
        assert_eq!(said(r#"{"method":"x","params":{"then":"stopped"}}"#), None);
    }

    #[test]
    fn what_may_have_an_effect_is_never_repeated() {
        for method in ["tools/call", "resources/read", "prompts/get", "tasks/cancel", "new/thing"] {
            assert!(!is_repeatable(method), "{method}");
        }
    }

    #[test]
    fn answers_are_json_under_the_id() {
        for line in [
            outcome_unknown_answer("\"x\""),
            unavailable_answer("7", "daemon.start", "no \"disk\""),
        ] {
            let value: Value = serde_json::from_slice(&line).unwrap();
            assert!(value["id"] == json!("x") || value["id"] == json!(7));
        }
    }
}
