//! The action trace of agent-kernel (Python).

use serde::Serialize;
use serde_json::Value;

use super::pairing::CallEvents;
use crate::query::EventFacts;

/// One action, as agent-kernel (Python) records it. Fields that the log does not keep, such as the
/// sensitivity of a capability, are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionTrace {
    /// The call.
    pub action_id: String,
    /// What was asked for.
    pub capability_id: String,
    /// Who asked.
    pub principal_id: String,
    /// The token that was consumed; empty for a refused call.
    pub token_id: String,
    /// When, RFC 3339.
    pub invoked_at: String,
    /// The redacted arguments; empty if they were not recorded.
    pub args: Value,
    /// The response mode of the result.
    pub response_mode: String,
    /// The driver that executed it.
    pub driver_id: String,
    /// The handle of the stored result.
    pub handle_id: Option<String>,
    /// What went wrong, redacted.
    pub error: Option<String>,
    /// How much was shown.
    pub result_summary: Option<ResultSummary>,
    /// `invoke`, `expand` or `deny`.
    pub event_type: &'static str,
    /// The first reason of a refusal or failure.
    pub reason_code: Option<String>,
}

/// How much of a result was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResultSummary {
    /// Facts.
    pub fact_count: u64,
    /// Rows.
    pub row_count: u64,
    /// Kinds of warnings.
    pub warning_count: u64,
    /// Whether the rest lies behind a handle.
    pub has_handle: bool,
}

impl ActionTrace {
    /// The action of a call; `None` for other events.
    #[must_use]
    pub fn from_call(call: &CallEvents) -> Option<Self> {
        match call {
            CallEvents::Executed { intent, outcome } => {
                let (first, last) = (intent.as_ref().or(outcome.as_ref())?, outcome.as_deref());
                let mut action = Self::from(first, "invoke");
                action.handle_id = last.and_then(EventFacts::handle).map(str::to_owned);
                action.reason_code = last.and_then(EventFacts::reason).map(str::to_owned);
                action.error = match last {
                    None => Some("the end was not recorded".to_owned()),
                    Some(last) if last.outcome() == Some("unknown") => {
                        Some("outcome unknown".to_owned())
                    }
                    Some(last) => last.text(&["error_message"]).map(str::to_owned),
                };
                action.result_summary = last.and_then(|last| summary(last, &["frame"]));
                Some(action)
            }
            CallEvents::Refused(facts) => {
                let mut action = Self::from(facts, "deny");
                action.reason_code = facts.reason().map(str::to_owned);
                Some(action)
            }
            CallEvents::Viewed(facts) => {
                let mut action = Self::from(facts, "expand");
                action.handle_id = facts.handle().map(str::to_owned);
                action.result_summary = summary(facts, &[]);
                Some(action)
            }
            CallEvents::Other(_) => None,
        }
    }

    fn from(facts: &EventFacts, event_type: &'static str) -> Self {
        let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
        let args = facts.text(&["arguments", "text"]);
        Self {
            action_id: text(facts.call()),
            capability_id: text(facts.capability()),
            principal_id: text(facts.principal()),
            token_id: text(facts.token()),
            invoked_at: facts.at().map(|at| at.rfc3339()).unwrap_or_default(),
            args: args.and_then(|args| serde_json::from_str(args).ok()).unwrap_or_default(),
            response_mode: text(facts.text(&["mode"])),
            driver_id: text(facts.text(&["driver"])),
            handle_id: None,
            error: None,
            result_summary: None,
            event_type,
            reason_code: None,
        }
    }
}

fn summary(facts: &EventFacts, place: &[&str]) -> Option<ResultSummary> {
    let path_to = |name: &'static str| [place, &[name]].concat();
    Some(ResultSummary {
        fact_count: facts.number(&path_to("facts"))?,
        row_count: facts.number(&path_to("rows"))?,
        warning_count: facts
            .list(&path_to("warnings"))
            .map_or(0, |list| u64::try_from(list.len()).unwrap_or(u64::MAX)),
        has_handle: facts.handle().is_some(),
    })
}
