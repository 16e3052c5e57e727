//! One call of the last day, and its line.

use serde_json::{Value, json};
use weaver_text::escape;
use weaver_trace_store::query::EventFacts;
use weaver_types::{EventKind, Timestamp};

use super::caller_names::{CallerNames, ShownNames};
use crate::output;

/// The longest argument or reason in a line, in characters.
const MAX_TEXT_CHARS: usize = 70;
/// How a refused look into a stored result names its subject.
const HANDLE_PREFIX: &str = "handle:";
/// The reason of a query that cannot be read: its caller can correct it.
const MALFORMED: &str = "invalid_constraint";
/// The reason of a call that its client abandoned before it could change anything.
const CANCELLED: &str = "cancelled";

/// One call, from its decision to its end.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) at: Option<Timestamp>,
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) status: CallStatus,
    /// What it was called with, as `name: value`.
    pub(super) arguments: String,
    /// Whose call it is.
    pub(super) caller: CallerNames,
    pub(super) why: String,
    /// The verdict under a policy that only observes, if it differs.
    pub(super) would_have: Option<String>,
}

/// The state of a call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallStatus {
    #[default]
    Running,
    Done,
    /// The client did not want the answer any more, and the call cannot have changed anything.
    Cancelled,
    Failed,
    /// It may or may not have happened.
    Unknown,
    Asked,
    Held,
    Denied,
}

impl CallStatus {
    pub(super) const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Unknown,
        Self::Cancelled,
        Self::Held,
        Self::Denied,
        Self::Asked,
        Self::Running,
    ];

    /// How a call ended that was executed.
    fn of_outcome(facts: &EventFacts) -> Self {
        match facts.outcome() {
            Some("success") => Self::Done,
            _ if facts.reason() == Some(CANCELLED) => Self::Cancelled,
            _ => Self::Failed,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Running => "under way",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Asked => "sent back",
            Self::Held => "held",
            Self::Denied => "denied",
        }
    }
}

impl Call {
    pub(super) fn apply_event(&mut self, facts: &EventFacts) {
        if self.at.is_none() {
            self.at = facts.at();
        }
        self.caller.note(facts);
        if let Some(tool) = facts.capability() {
            // A refused look into a stored result names its handle.
            let tool = if tool.starts_with(HANDLE_PREFIX) { "tool_view" } else { tool };
            tool.clone_into(&mut self.tool);
        }
        if let Some(arguments) = facts.text(&["arguments", "text"]) {
            self.arguments = arguments_line(arguments);
        }
        if let Some((verdict, reason)) = facts.not_enforced() {
            let word = match verdict {
                "ask" => "sent back",
                "hold" => "held",
                "deny" => "denied",
                other => other,
            };
            self.would_have = Some(format!("would have been {word}: {reason}"));
        }
        match facts.kind() {
            Some(EventKind::Refused) => {
                self.status = match facts.verdict() {
                    Some("ask") => CallStatus::Asked,
                    Some("hold") => CallStatus::Held,
                    _ if facts.reason() == Some(MALFORMED) => CallStatus::Asked,
                    _ => CallStatus::Denied,
                };
                facts.reason().unwrap_or_default().clone_into(&mut self.why);
            }
            Some(EventKind::Outcome) => {
                self.status = CallStatus::of_outcome(facts);
                if self.status == CallStatus::Failed {
                    facts.outcome().unwrap_or_default().clone_into(&mut self.why);
                }
            }
            Some(EventKind::OutcomeUnknown) => {
                self.status = CallStatus::Unknown;
                "it may have happened".clone_into(&mut self.why);
            }
            _ => {}
        }
    }

    pub(super) fn shown_tool(&self) -> String {
        escape::shorten(&escape::line(&self.tool), MAX_TEXT_CHARS).into_owned()
    }

    pub(super) fn line(&self, tool_width: usize, names: ShownNames) -> String {
        let time = self.at.map(|at| at.rfc3339()).unwrap_or_default();
        let time = time.get(11..19).unwrap_or_default();
        let word = format!("{:<9}", self.status.word());
        let word = match self.status {
            CallStatus::Done => output::good(&word),
            CallStatus::Failed | CallStatus::Unknown | CallStatus::Denied => output::bad(&word),
            CallStatus::Held | CallStatus::Asked | CallStatus::Running | CallStatus::Cancelled => {
                output::bold(&word)
            }
        };
        let tool = self.shown_tool();
        let why = match (&self.would_have, self.why.as_str()) {
            (None, why) => why.to_owned(),
            (Some(would), "") => would.clone(),
            (Some(would), why) => format!("{why}; {would}"),
        };
        let why = why.replace('_', " ");
        let why = escape::shorten(&escape::line(&why), MAX_TEXT_CHARS).into_owned();
        let why = if why.is_empty() { why } else { output::dim(&format!("  {why}")) };
        let id = output::dim(&escape::line(&self.id));
        let caller = self.caller.text(names);
        let arguments = [self.arguments.as_str(), caller.as_str()];
        let arguments = arguments.into_iter().filter(|text| !text.is_empty());
        let arguments: String = arguments.map(|text| format!("  {}", escape::line(text))).collect();
        format!("{time}  {word}  {tool:<tool_width$}  {id}{arguments}{why}\n")
    }

    pub(super) fn json(&self) -> Value {
        let CallerNames { principal, token, client } = &self.caller;
        json!({ "at": self.at.map(|at| at.rfc3339()), "call": self.id, "capability": self.tool,
            "principal": principal, "token": token, "client": client,
            "arguments": self.arguments, "fate": self.status.word(), "reason": self.why, "would_have": self.would_have })
    }
}

/// Arguments as `name: value`, shortened.
fn arguments_line(text: &str) -> String {
    let line = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => {
            let plain =
                |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        _ => text.to_owned(),
    };
    escape::shorten(&escape::line(&line), MAX_TEXT_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_a_call_was_made_with() {
        for (arguments, line) in [
            (r#"{"path":"/a/b","limit":3}"#, "limit: 3, path: /a/b"),
            (r#"{"text":"two\nlines"}"#, "text: two\\nlines"),
            ("cut off", "cut off"),
            ("{}", ""),
        ] {
            assert_eq!(arguments_line(arguments), line);
        }
        assert_eq!(arguments_line(&"x".repeat(80)).chars().count(), MAX_TEXT_CHARS);
    }
}
