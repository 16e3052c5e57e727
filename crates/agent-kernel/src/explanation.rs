//! Explains, from the log, a call that is no longer in memory.

use serde::de::DeserializeOwned;
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, StoredEvent};
use weaver_types::{
    Basis, CallId, Check, Contribution, Decision, EventKind, ReasonCode, RunId, Tenant, Verdict,
};

use crate::invocation::Explanation;
use crate::log_tail::{MAX_TAIL, text};
use crate::run_state;

/// How many events are read at once.
const PAGE: u64 = 256;

/// What the log says of a call of this tenant, read from its end on. Nothing where the call stands
/// further back than [`MAX_TAIL`] events or goes on, where its payload is pruned, and where the log
/// cannot be read.
pub(crate) fn in_log(ledger: &dyn Ledger, tenant: &Tenant, call: &CallId) -> Option<Explanation> {
    let size = ledger.head().ok()?.size;
    let last = size.saturating_sub(MAX_TAIL);
    let (mut end, mut ending) = (size, None);
    while end > last {
        let from = end.saturating_sub(PAGE).max(last);
        let page = ledger.events(from, usize::try_from(end - from).ok()?).ok()?;
        for call_event in page.iter().rev().filter_map(|event| CallEvent::of(event, call)) {
            if let Some(explanation) = call_event.decision(call) {
                // A ledger may hold the calls of several tenants, and events do not name theirs.
                ledger.read(&run_state::key(tenant, call_event.run.as_ref()?)).ok()??;
                let failure = match call_event.kind {
                    // What was begun and has no end yet cannot be told.
                    Some(EventKind::Intent) => ending?,
                    _ => None,
                };
                return Some(Explanation { failure, ..explanation });
            }
            ending = ending.or(call_event.ending());
        }
        end = from;
    }
    None
}

/// An event of the call.
struct CallEvent {
    kind: Option<EventKind>,
    run: Option<RunId>,
    payload: Value,
}

impl CallEvent {
    fn of(event: &StoredEvent, call: &CallId) -> Option<Self> {
        let id = call.as_str().as_bytes();
        // Few events are of the call, so the others are not parsed.
        if !event.header.windows(id.len()).any(|part| part == id) {
            return None;
        }
        let header = canonical::parse(&event.header, Profile::Record).ok()?;
        if text(&header, "call") != Some(call.as_str()) {
            return None;
        }
        let payload = canonical::parse(event.payload.as_deref()?, Profile::Record).ok()?;
        let kind = text(&header, "type").and_then(EventKind::parse);
        let run = text(&header, "run").and_then(|run| RunId::parse(run).ok());
        Some(Self { kind, run, payload })
    }

    fn field<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_value(self.payload.get(key)?.clone()).ok()
    }

    /// Where this is the end of a call: why it did not succeed, or that it did.
    fn ending(&self) -> Option<Option<ReasonCode>> {
        match self.kind {
            Some(EventKind::Outcome) => Some(self.field("reason")),
            Some(EventKind::OutcomeUnknown) => {
                Some(Some(self.field("reason").unwrap_or(ReasonCode::OutcomeUnknown)))
            }
            _ => None,
        }
    }

    /// The call with its decision, where this event holds one.
    fn decision(&self, call: &CallId) -> Option<Explanation> {
        let checks: Vec<Contribution> = self.field("checks")?;
        let (kept, all) = (checks.len(), self.field::<usize>("checks_total")?);
        let basis = Basis {
            policy: self.field("policy")?,
            contracts: self.field("contracts")?,
            origin: self.field("origin")?,
        };
        let (verdict, reason): (Verdict, ReasonCode) =
            (self.field("verdict")?, self.field("reason")?);
        let mut decision = Decision::join(checks, basis);
        if decision.verdict() != verdict {
            let detail = format!("the log holds {kept} of the {all} things that were said");
            decision =
                decision.tightened(Contribution::new(Check::System, verdict, reason, detail));
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
