//! What an answer to one of many clients says about its call.

use anyhow::Result;
use serde_json::Value;

/// The prefix of each value.
pub const VALUE_PREFIX: &str = "client-";

/// How an answer says that nothing ran: the shim's text, and the gateway's.
const NOT_RUN: [&str; 2] = ["No tool was called", "Nothing was executed"];

/// How a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallAnswer {
    /// It contains the value of the call, and no other.
    Own,
    /// It says that the outcome is unknown.
    Unknown,
    /// It says that the call did not run.
    NotRun,
    /// Anything else.
    Wrong,
}

impl CallAnswer {
    /// Classifies the answer to a call with this value.
    pub fn of(result: &Result<Value>, value: &str) -> Self {
        let text = match result {
            Ok(result) if result["isError"] != true => {
                let content = result["content"].to_string();
                let marks = content.matches(VALUE_PREFIX).count();
                let own = marks > 0 && marks == content.matches(value).count();
                return if own { Self::Own } else { Self::Wrong };
            }
            Ok(refusal) => refusal["content"].to_string(),
            Err(error) => format!("{error:#}"),
        };
        if text.contains("outcome_unknown") {
            Self::Unknown
        } else if NOT_RUN.iter().any(|words| text.contains(words)) {
            Self::NotRun
        } else {
            Self::Wrong
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_foreign_value_is_no_answer_of_its_own() {
        let said = |text: &str| Ok(json!({ "content": [{ "type": "text", "text": text }] }));
        let of = |text: &str| CallAnswer::of(&said(text), "client-1-call-1-");
        assert_eq!(of("Echo: client-1-call-1-"), CallAnswer::Own);
        assert_eq!(of("Echo: client-11-call-1-"), CallAnswer::Wrong);
        assert_eq!(of("Echo: client-1-call-1- client-2-call-1-"), CallAnswer::Wrong);
        assert_eq!(of(""), CallAnswer::Wrong);
    }

    #[test]
    fn only_what_says_so_is_unknown_or_did_not_run() {
        let refusal =
            json!({ "isError": true, "content": [{ "text": "{\"reason\":\"outcome_unknown\"}" }] });
        assert_eq!(CallAnswer::of(&Ok(refusal), "client-1-"), CallAnswer::Unknown);
        let denied = json!({ "isError": true, "content": [{ "text": "client-1-" }] });
        assert_eq!(CallAnswer::of(&Ok(denied), "client-1-"), CallAnswer::Wrong);
        let of = |text: &'static str| CallAnswer::of(&Err(anyhow!(text)), "client-1-");
        assert_eq!(of("Weaver cannot serve: x. No tool was called."), CallAnswer::NotRun);
        assert_eq!(of("upstream_unavailable. Nothing was executed."), CallAnswer::NotRun);
        assert_eq!(of("Connection closed"), CallAnswer::Wrong);
    }
}
