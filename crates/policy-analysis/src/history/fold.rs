//! The fold over the events of a log that gives its calls.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weaver_types::{
    CapabilityId, EventKind, Justification, Label, PrincipalId, RunId, SafetyMode, Timestamp,
};

use super::{CallEnd, RecordedArguments, RecordedCall, RecordedDecision};

/// The most calls that are kept.
const MAX_CALLS: usize = 100_000;

/// One event, as a reader of the log has it.
#[derive(Debug, Clone, Copy)]
pub struct HistoryEvent<'e> {
    /// What happened.
    pub kind: EventKind,
    /// When.
    pub at: Timestamp,
    /// In which run.
    pub run: Option<&'e RunId>,
    /// In which call.
    pub call: Option<&'e str>,
    /// What it says; `None` where it is pruned.
    pub payload: Option<&'e Value>,
}

/// What is known of a run while its events are read.
#[derive(Debug)]
struct RunFacts {
    mode: SafetyMode,
    /// `None` where the run began before the first event that was read.
    label: Option<Label>,
}

/// The calls of a log. Events are taken in their order.
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
/// history.take(&HistoryEvent {
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
    runs: BTreeMap<RunId, RunFacts>,
    unread: usize,
    cut: bool,
}

impl CallHistory {
    /// A history of the calls from this time on. Earlier events only tell of the runs.
    #[must_use]
    pub fn since(since: Timestamp) -> Self {
        Self {
            since,
            calls: Vec::new(),
            by_call: BTreeMap::new(),
            by_request: BTreeMap::new(),
            runs: BTreeMap::new(),
            unread: 0,
            cut: false,
        }
    }

    /// The calls, in the order of their first decisions.
    #[must_use]
    pub fn calls(&self) -> &[RecordedCall] {
        &self.calls
    }

    /// The call with this id, of any of its attempts.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&RecordedCall> {
        self.calls.get(*self.by_call.get(id)?)
    }

    /// How many decisions could not be read: pruned, or written by a later release.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Whether there were more calls than are kept.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Takes the next event in.
    pub fn take(&mut self, event: &HistoryEvent<'_>) {
        match event.kind {
            EventKind::RunStarted => self.begin_run(event),
            EventKind::Refused | EventKind::Intent if event.at >= self.since => {
                self.decided(event);
            }
            EventKind::Outcome => {
                let succeeded = member(event, "success") == Some(&Value::Bool(true));
                let end = if succeeded { CallEnd::Succeeded } else { CallEnd::Failed };
                self.ended(event, end);
            }
            EventKind::OutcomeUnknown => self.ended(event, CallEnd::Unknown),
            _ => {}
        }
        self.relabel(event);
    }

    fn begin_run(&mut self, event: &HistoryEvent<'_>) {
        let Some(run) = event.run else { return };
        let mode = read(event, "safety_mode").unwrap_or(SafetyMode::Normal);
        self.runs.insert(run.clone(), RunFacts { mode, label: Some(Label::clean()) });
    }

    /// The change that an event made to the label of its run.
    fn relabel(&mut self, event: &HistoryEvent<'_>) {
        let label = member(event, "run").and_then(|run| run.get("label"));
        let label = label.and_then(|label| Label::deserialize(label).ok());
        let (Some(run), Some(label)) = (event.run, label) else { return };
        if let Some(facts) = self.runs.get_mut(run) {
            facts.label = facts.label.take().map(|before| before.join(&label));
        }
    }

    fn ended(&mut self, event: &HistoryEvent<'_>, end: CallEnd) {
        let place = event.call.and_then(|call| self.by_call.get(call));
        if let Some(call) = place.and_then(|place| self.calls.get_mut(*place)) {
            call.end = end;
        }
    }

    fn decided(&mut self, event: &HistoryEvent<'_>) {
        let request = match event.kind {
            EventKind::Intent => member(event, "released_by").and_then(|by| by.get("request")),
            _ => member(event, "request"),
        };
        let request = request.and_then(Value::as_str).map(str::to_owned);
        let Some(id) = event.call.map(str::to_owned) else { return };
        let known = request.as_ref().and_then(|request| self.by_request.get(request)).copied();
        let known = known.or_else(|| self.by_call.get(&id).copied());
        if let Some(place) = known {
            self.by_call.insert(id, place);
            self.again(event, place);
            return;
        }
        let Some(call) = self.read_call(event, &id, request.clone()) else {
            self.unread = self.unread.saturating_add(1);
            return;
        };
        if self.calls.len() >= MAX_CALLS {
            self.cut = true;
            return;
        }
        let place = self.calls.len();
        self.by_call.insert(id, place);
        if let Some(request) = request {
            self.by_request.insert(request, place);
        }
        self.calls.push(call);
    }

    /// A held call that is asked for again, or executed once it was released. A call that was
    /// allowed and then refused, as one without room in its budget, is over.
    fn again(&mut self, event: &HistoryEvent<'_>, place: usize) {
        let Some(call) = self.calls.get_mut(place) else { return };
        call.attempts = call.attempts.saturating_add(1);
        if event.kind == EventKind::Intent {
            call.released = call.request.is_some();
            call.end = CallEnd::Unknown;
            if call.arguments == RecordedArguments::Missing {
                call.arguments = RecordedArguments::of(member(event, "arguments"));
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
            arguments: RecordedArguments::of(member(event, "arguments")),
            decision: RecordedDecision::deserialize(event.payload?).ok()?,
            would_have: match member(event, "would_have") {
                Some(would) => Some(RecordedDecision::deserialize(would).ok()?),
                None => None,
            },
            released: executed && request.is_some(),
            request,
            end: if executed { CallEnd::Unknown } else { CallEnd::NotExecuted },
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
