//! Builds the history of calls as a fold over the events of a log.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weaver_types::{
    CapabilityId, EventKind, Justification, Label, PrincipalId, RunId, SafetyMode, Timestamp,
};

use super::{RecordedArguments, RecordedCall, RecordedCallEnd, RecordedDecision};

/// The maximum number of stored calls.
const MAX_CALLS: usize = 100_000;

/// One event, as read from the log.
#[derive(Debug, Clone, Copy)]
pub struct HistoryEvent<'e> {
    /// The kind of event.
    pub kind: EventKind,
    /// The time.
    pub at: Timestamp,
    /// The run.
    pub run: Option<&'e RunId>,
    /// The call.
    pub call: Option<&'e str>,
    /// The payload; `None` if it was pruned.
    pub payload: Option<&'e Value>,
}

/// The state of a run while its events are read.
#[derive(Debug)]
struct RunState {
    mode: SafetyMode,
    /// `None` if the run started before the first event that was read.
    label: Option<Label>,
}

/// The calls of a log. Events must be applied in order.
///
/// ```
/// use serde_json::json;
/// use weaver_policy_analysis::history::{CallHistory, HistoryEvent};
/// use weaver_types::{EventKind, Timestamp};
///
/// let mut history = CallHistory::since(Timestamp::default());
/// let payload = json!({
///     "capability": "docs.read", "principal": "ana", "verdict": "deny", "reason": "no_matching_rule",
///     "checks": [], "checks_total": 1,
/// });
/// history.apply(&HistoryEvent {
///     kind: EventKind::Refused, at: Timestamp::default(), run: None, call: Some("call_1"),
///     payload: Some(&payload),
/// });
/// assert_eq!(history.calls().len(), 1);
/// ```
#[derive(Debug)]
pub struct CallHistory {
    since: Timestamp,
    calls: Vec<RecordedCall>,
    by_call: BTreeMap<String, usize>,
    by_request: BTreeMap<String, usize>,
    runs: BTreeMap<RunId, RunState>,
    unreadable: usize,
    truncated: bool,
}

impl CallHistory {
    /// A history of the calls from this time on. Earlier events only contribute the state of runs.
    #[must_use]
    pub fn since(since: Timestamp) -> Self {
        Self {
            since,
            calls: Vec::new(),
            by_call: BTreeMap::new(),
            by_request: BTreeMap::new(),
            runs: BTreeMap::new(),
            unreadable: 0,
            truncated: false,
        }
    }

    /// The calls, ordered by their first decisions.
    #[must_use]
    pub fn calls(&self) -> &[RecordedCall] {
        &self.calls
    }

    /// The call that has an attempt with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&RecordedCall> {
        self.calls.get(*self.by_call.get(id)?)
    }

    /// How many decisions could not be read because they were pruned or written by a later release.
    #[must_use]
    pub fn unreadable_count(&self) -> usize {
        self.unreadable
    }

    /// Whether there were more calls than are stored.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Applies the next event.
    pub fn apply(&mut self, event: &HistoryEvent<'_>) {
        match event.kind {
            EventKind::RunStarted => self.apply_run_start(event),
            EventKind::Refused | EventKind::Intent if event.at >= self.since => {
                self.apply_decision(event);
            }
            EventKind::Outcome => {
                let succeeded = member(event, "success") == Some(&Value::Bool(true));
                let end =
                    if succeeded { RecordedCallEnd::Succeeded } else { RecordedCallEnd::Failed };
                self.apply_end(event, end);
            }
            EventKind::OutcomeUnknown => self.apply_end(event, RecordedCallEnd::Unknown),
            _ => {}
        }
        self.apply_label(event);
    }

    fn apply_run_start(&mut self, event: &HistoryEvent<'_>) {
        let Some(run) = event.run else { return };
        let mode = read(event, "safety_mode").unwrap_or(SafetyMode::Normal);
        self.runs.insert(run.clone(), RunState { mode, label: Some(Label::clean()) });
    }

    /// Joins the label of an event into the label of its run.
    fn apply_label(&mut self, event: &HistoryEvent<'_>) {
        let label = member(event, "run").and_then(|run| run.get("label"));
        let label = label.and_then(|label| Label::deserialize(label).ok());
        let (Some(run), Some(label)) = (event.run, label) else { return };
        if let Some(facts) = self.runs.get_mut(run) {
            facts.label = facts.label.take().map(|before| before.join(&label));
        }
    }

    fn apply_end(&mut self, event: &HistoryEvent<'_>, end: RecordedCallEnd) {
        let index = event.call.and_then(|call| self.by_call.get(call));
        if let Some(call) = index.and_then(|index| self.calls.get_mut(*index)) {
            call.end = end;
        }
    }

    fn apply_decision(&mut self, event: &HistoryEvent<'_>) {
        let request = match event.kind {
            EventKind::Intent => member(event, "released_by").and_then(|by| by.get("request")),
            _ => member(event, "request"),
        };
        let request = request.and_then(Value::as_str).map(str::to_owned);
        let Some(id) = event.call.map(str::to_owned) else { return };
        let known = request.as_ref().and_then(|request| self.by_request.get(request)).copied();
        let known = known.or_else(|| self.by_call.get(&id).copied());
        if let Some(index) = known {
            self.by_call.insert(id, index);
            self.apply_further_attempt(event, index);
            return;
        }
        let Some(call) = self.read_call(event, &id, request.clone()) else {
            self.unreadable = self.unreadable.saturating_add(1);
            return;
        };
        if self.calls.len() >= MAX_CALLS {
            self.truncated = true;
            return;
        }
        let index = self.calls.len();
        self.by_call.insert(id, index);
        if let Some(request) = request {
            self.by_request.insert(request, index);
        }
        self.calls.push(call);
    }

    /// Applies a further attempt of a call: a retry of a held call, or its execution after the
    /// release. A call that was allowed and then refused, for example by its budget, has ended.
    fn apply_further_attempt(&mut self, event: &HistoryEvent<'_>, index: usize) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.attempts = call.attempts.saturating_add(1);
        if event.kind == EventKind::Intent {
            call.released = call.request.is_some();
            call.end = RecordedCallEnd::Unknown;
            if call.arguments == RecordedArguments::Missing {
                call.arguments = RecordedArguments::from_event(member(event, "arguments"));
            }
        }
    }

    fn read_call(
        &self,
        event: &HistoryEvent<'_>,
        id: &str,
        request: Option<String>,
    ) -> Option<RecordedCall> {
        let run = event.run.and_then(|run| self.runs.get(run));
        let executed = event.kind == EventKind::Intent;
        let justification: Option<Justification> = read(event, "justification");
        Some(RecordedCall {
            id: id.to_owned(),
            at: event.at,
            run: event.run.cloned(),
            capability: read::<CapabilityId>(event, "capability")?,
            principal: read::<PrincipalId>(event, "principal")?,
            agent: read(event, "agent"),
            intent: read(event, "intent"),
            justification,
            mode: run.map_or(SafetyMode::Normal, |run| run.mode),
            label: run.and_then(|run| run.label.clone()),
            class: read(event, "class"),
            rung: read(event, "rung"),
            tags: read(event, "tags").unwrap_or_default(),
            arguments: RecordedArguments::from_event(member(event, "arguments")),
            decision: RecordedDecision::deserialize(event.payload?).ok()?,
            would_have: match member(event, "would_have") {
                Some(would) => Some(RecordedDecision::deserialize(would).ok()?),
                None => None,
            },
            released: executed && request.is_some(),
            request,
            end: if executed { RecordedCallEnd::Unknown } else { RecordedCallEnd::NotExecuted },
            attempts: 1,
        })
    }
}

fn member<'e>(event: &HistoryEvent<'e>, name: &str) -> Option<&'e Value> {
    event.payload?.get(name)
}

fn read<T: DeserializeOwned>(event: &HistoryEvent<'_>, name: &str) -> Option<T> {
    T::deserialize(member(event, name)?).ok()
}
