//! Explains, from the log, a call that is no longer in memory.

use serde::de::DeserializeOwned;
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, StoredEvent};
use weaver_types::{
    CallId, CheckKind, CheckResult, Decision, DecisionBasis, EventKind, ReasonCode, RunId, Tenant,
    Verdict,
};

use crate::invocation::Explanation;
use crate::log_tail::MAX_TAIL_EVENTS;
use crate::run_log::parse_header;
use crate::run_state;

/// How many events are read at once.
const EVENTS_PER_PAGE: u64 = 256;

/// Reads the explanation of a call of this tenant from the log, backwards from its end. `None` when
/// the call is more than [`MAX_TAIL_EVENTS`] events back or has not ended, when its payload is
/// pruned, or when the log cannot be read.
pub(crate) fn read_from_log(
    ledger: &dyn Ledger,
    tenant: &Tenant,
    call: &CallId,
) -> Option<Explanation> {
    let size = ledger.head().ok()?.size;
    let last = size.saturating_sub(MAX_TAIL_EVENTS);
    let (mut end, mut call_end) = (size, None);
    while end > last {
        let from = end.saturating_sub(EVENTS_PER_PAGE).max(last);
        let page = ledger.events(from, usize::try_from(end - from).ok()?).ok()?;
        for call_event in page.iter().rev().filter_map(|event| CallEvent::of(event, call)) {
            if let Some(explanation) = call_event.explanation(call) {
                // A ledger may hold the calls of several tenants, and events do not name theirs.
                ledger.read(&run_state::state_key(tenant, call_event.run.as_ref()?)).ok()??;
                let failure = match call_event.kind {
                    // A call without an end cannot be explained yet.
                    Some(EventKind::Intent) => match call_end? {
                        CallEnd::Succeeded => None,
                        CallEnd::Failed(reason) => Some(reason),
                    },
                    _ => None,
                };
                return Some(Explanation { failure, ..explanation });
            }
            call_end = call_end.or(call_event.end());
        }
        end = from;
    }
    None
}

/// How a call ended.
enum CallEnd {
    Succeeded,
    Failed(ReasonCode),
}

/// One event of the call.
struct CallEvent {
    kind: Option<EventKind>,
    run: Option<RunId>,
    payload: Value,
}

impl CallEvent {
    fn of(event: &StoredEvent, call: &CallId) -> Option<Self> {
        let id = call.as_str().as_bytes();
        // Few events belong to the call, so the others are not parsed.
        if !event.header.windows(id.len()).any(|part| part == id) {
            return None;
        }
        let header = parse_header(event).ok()?;
        if header.call.as_deref() != Some(call.as_str()) {
            return None;
        }
        let payload = canonical::parse(event.payload.as_deref()?, Profile::Record).ok()?;
        let kind = EventKind::parse(&header.kind);
        let run = header.run.and_then(|run| RunId::parse(run).ok());
        Some(Self { kind, run, payload })
    }

    fn field<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_value(self.payload.get(key)?.clone()).ok()
    }

    /// How the call ended, if this event ends it. A reason that only a later version knows is a
    /// failure all the same.
    fn end(&self) -> Option<CallEnd> {
        let unknown = match self.kind? {
            EventKind::Outcome => match self.payload.get("reason") {
                None | Some(Value::Null) => return Some(CallEnd::Succeeded),
                Some(_) => ReasonCode::ExecutionFailed,
            },
            EventKind::OutcomeUnknown => ReasonCode::OutcomeUnknown,
            _ => return None,
        };
        Some(CallEnd::Failed(self.field("reason").unwrap_or(unknown)))
    }

    /// The explanation, if this event has a decision.
    fn explanation(&self, call: &CallId) -> Option<Explanation> {
        let checks: Vec<CheckResult> = self.field("checks")?;
        let (recorded, all) = (checks.len(), self.field::<usize>("checks_total")?);
        let basis = DecisionBasis {
            policy: self.field("policy")?,
            contracts: self.field("contracts")?,
            origin: self.field("origin")?,
        };
        let (verdict, reason): (Verdict, ReasonCode) =
            (self.field("verdict")?, self.field("reason")?);
        let mut decision = Decision::join(checks, basis);
        if decision.verdict() != verdict {
            let detail = format!("the log has {recorded} of the {all} check results");
            decision =
                decision.joined_with(CheckResult::new(CheckKind::System, verdict, reason, detail));
        }
        Some(Explanation {
            call: call.clone(),
            principal: self.field("principal")?,
            capability: self.field("capability")?,
            decision,
            failure: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_fails_also_for_a_reason_that_this_version_does_not_know() {
        let failure = |kind, payload| {
            let event = CallEvent { kind: Some(kind), run: None, payload };
            match event.end().unwrap() {
                CallEnd::Succeeded => None,
                CallEnd::Failed(reason) => Some(reason),
            }
        };
        assert_eq!(failure(EventKind::Outcome, json!({})), None);
        assert_eq!(failure(EventKind::Outcome, json!({ "reason": null })), None);
        let timeout = failure(EventKind::Outcome, json!({ "reason": "timeout" }));
        assert_eq!(timeout, Some(ReasonCode::Timeout));
        let later = failure(EventKind::Outcome, json!({ "reason": "of_a_later_version" }));
        assert_eq!(later, Some(ReasonCode::ExecutionFailed));
        let unknown = failure(EventKind::OutcomeUnknown, json!({}));
        assert_eq!(unknown, Some(ReasonCode::OutcomeUnknown));
    }
}
