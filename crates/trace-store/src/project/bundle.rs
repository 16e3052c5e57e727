//! The public trace bundle: one run in the terms of the weaver contracts.

use serde::Serialize;
use serde_json::{Value, json};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::contracts::{
    ChoiceCard, EventSubject, Fields, Frame, Handle, Nullable, PolicyDecision, PolicyVerdict,
    RoutingDecision, SelectableItem, TraceEvent,
};
use weaver_types::{CallId, CapabilityId, EventKind, HandleId, PrincipalId, ResultStatus, Verdict};

use crate::query::EventFacts;

/// The most events of one bundle.
pub const MAX_BUNDLE_EVENTS: usize = 20_000;
/// The most items on a choice card, as the contract has it.
const MAX_ITEMS: usize = 20;

/// The artifacts of one run, as the public contract `TraceBundle` defines them. Frames state how
/// much was shown, but contain nothing of it, because the log does not keep it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceBundle {
    /// The log and the run.
    pub bundle_id: String,
    /// What the model could choose from.
    pub routing_decision: RoutingDecision,
    /// Every decision.
    pub policy_decisions: Vec<PolicyDecision>,
    /// Every frame.
    pub frames: Vec<Frame>,
    /// Every handle.
    pub handles: Vec<Handle>,
    /// Every event that has a public form.
    pub trace_events: Vec<TraceEvent>,
    /// `JCS`: RFC 8785.
    pub canonicalization: &'static str,
    /// Which log, and from which event to which.
    pub metadata: Value,
}

impl TraceBundle {
    /// The bundle of the events of one run, in log order; `None` when they contain neither a call
    /// nor a shortlist.
    #[must_use]
    pub fn from_events(log: &str, run: &str, events: &[EventFacts]) -> Option<Self> {
        let (first, last) = (events.first()?, events.last()?);
        let kind = |facts: &&EventFacts, kind: EventKind| facts.kind() == Some(kind);
        let ended = || events.iter().filter(|f| kind(f, EventKind::Outcome));
        Some(Self {
            bundle_id: format!("{log}:{run}"),
            routing_decision: routing(run, events)?,
            policy_decisions: events.iter().filter_map(policy_decision).collect(),
            frames: ended().filter_map(frame).collect(),
            handles: ended().filter_map(handle).collect(),
            trace_events: events.iter().filter_map(|facts| trace_event(log, facts)).collect(),
            canonicalization: "JCS",
            metadata: json!({ "weaver": {
                "log": log, "run": run, "first": first.seq, "last": last.seq,
            }}),
        })
    }

    /// The canonical bytes, which a signature covers.
    ///
    /// # Errors
    /// [`CanonicalError`], when a value has no canonical form; values read from events always have
    /// one.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::serialize(self, Profile::Foreign)
    }
}

fn time(facts: &EventFacts) -> String {
    facts.at().map(|at| at.rfc3339()).unwrap_or_default()
}

/// The last shortlists, or else the capabilities that were called: the contract requires a card.
fn routing(run: &str, events: &[EventFacts]) -> Option<RoutingDecision> {
    let shortlists = events.iter().filter(|facts| facts.kind() == Some(EventKind::Routed));
    let mut choice_cards = Vec::new();
    let mut from = None;
    for facts in shortlists {
        from = Some(facts);
        let ids: Vec<&str> =
            facts.list(&["shortlist"]).into_iter().flatten().filter_map(Value::as_str).collect();
        choice_cards.extend(cards(facts.seq, &ids, facts.text(&["goal"])));
    }
    let recorded = !choice_cards.is_empty();
    if !recorded {
        let mut called: Vec<&str> = events.iter().filter_map(EventFacts::capability).collect();
        called.sort_unstable();
        called.dedup();
        choice_cards = cards(events.first()?.seq, &called, None);
    }
    let at = from.or(events.first())?;
    (!choice_cards.is_empty()).then(|| RoutingDecision {
        id: format!("{run}:{}", at.seq),
        choice_cards,
        selected_item_id: Nullable::Absent,
        selected_card_id: Nullable::Absent,
        timestamp: time(at),
        context_summary: (!recorded)
            .then(|| "no shortlist was recorded; the card names what was called".to_owned()),
        metadata: None,
        extra: Fields::new(),
    })
}

fn cards(seq: u64, ids: &[&str], goal: Option<&str>) -> Vec<ChoiceCard> {
    let item = |id: &&str| SelectableItem {
        id: (*id).to_owned(),
        label: (*id).to_owned(),
        description: "the log keeps the names of a shortlist alone".to_owned(),
        capability_id: Some((*id).to_owned()),
        metadata: None,
        extra: Fields::new(),
    };
    let chunks = ids.chunks(MAX_ITEMS).enumerate();
    chunks
        .map(|(at, ids)| ChoiceCard {
            id: format!("{seq}.{at}"),
            items: ids.iter().map(item).collect(),
            context_hint: goal.map(str::to_owned),
            metadata: None,
            extra: Fields::new(),
        })
        .collect()
}

fn policy_decision(facts: &EventFacts) -> Option<PolicyDecision> {
    if !matches!(facts.kind()?, EventKind::Intent | EventKind::Refused) {
        return None;
    }
    let allowed = facts.verdict() == Some(Verdict::Allow.as_str());
    Some(PolicyDecision {
        decision_id: facts.call()?.to_owned(),
        decision: if allowed { PolicyVerdict::Allow } else { PolicyVerdict::Deny },
        capability_id: facts.capability()?.to_owned(),
        principal: facts.principal()?.to_owned(),
        token_id: facts.token().map(str::to_owned).into(),
        reason: facts.reason().map(str::to_owned),
        timestamp: time(facts),
        metadata: own(json!({
            "policy": facts.text(&["policy"]),
            "verdict": facts.verdict(),
            "reasons": facts.reasons(),
        })),
        extra: Fields::new(),
    })
}

fn frame(facts: &EventFacts) -> Option<Frame> {
    facts.at_path(&["frame"])?.as_object()?;
    let number = |name| facts.number(&["frame", name]).unwrap_or_default();
    let warnings: Vec<String> = facts
        .list(&["frame", "warnings"])
        .into_iter()
        .flatten()
        .map(|warning| {
            let kind = warning.get("kind").and_then(Value::as_str).unwrap_or("?");
            let count = warning.get("count").and_then(Value::as_u64).unwrap_or(1);
            format!("{kind} ({count})")
        })
        .collect();
    Some(Frame {
        frame_id: facts.call()?.to_owned(),
        capability_id: facts.capability()?.to_owned(),
        summary: format!("{} row(s) and {} fact(s) were shown", number("rows"), number("facts")),
        structured_data: Nullable::Absent,
        handle_refs: facts.handle().map(|handle| vec![handle.to_owned()]),
        redaction_notes: (!warnings.is_empty()).then(|| warnings.join("; ")),
        created_at: time(facts),
        metadata: own(json!({
            "label": facts.at_path(&["frame", "label"]),
            "mode": facts.text(&["frame", "mode"]),
            "status": facts.text(&["frame", "status"]),
        })),
        extra: Fields::new(),
    })
}

fn handle(facts: &EventFacts) -> Option<Handle> {
    Some(Handle {
        handle_id: facts.handle()?.to_owned(),
        capability_id: facts.capability()?.to_owned(),
        artifact_type: "application/octet-stream".to_owned(),
        created_at: time(facts),
        expires_at: Nullable::Absent,
        access_policy: None,
        byte_size: Nullable::Absent,
        metadata: None,
        extra: Fields::new(),
    })
}

fn trace_event(log: &str, facts: &EventFacts) -> Option<TraceEvent> {
    let id = format!("{log}:{}", facts.seq);
    let capability = facts.capability().and_then(|id| CapabilityId::parse(id).ok());
    let principal = facts.principal().and_then(|id| PrincipalId::parse(id).ok());
    let handle = facts.handle().and_then(|id| HandleId::parse(id).ok());
    let call = facts.call().and_then(|id| CallId::parse(id).ok());
    let status = match facts.outcome() {
        Some("success") => Some(ResultStatus::Success),
        Some("failure") => Some(ResultStatus::Error),
        Some("partial") => Some(ResultStatus::Partial),
        _ => None,
    };
    TraceEvent::from_event(EventSubject {
        kind: facts.kind()?,
        event_id: &id,
        at: facts.at()?,
        call: call.as_ref(),
        capability: capability.as_ref(),
        principal: principal.as_ref(),
        handle: handle.as_ref(),
        has_frame: facts.at_path(&["frame"]).is_some_and(Value::is_object),
        status,
        error: facts.text(&["error_message"]),
    })
}

fn own(value: Value) -> Option<Fields> {
    Some(Fields::from_iter([("weaver".to_owned(), value)]))
}
