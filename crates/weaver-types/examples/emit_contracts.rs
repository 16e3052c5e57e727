//! Prints one of each public contract, or reads them back, to check another implementation.
//!
//! Each line is `{"kind": TITLE, "json": CONTRACT}`. Without arguments the lines come from our own
//! types; with `--read` they are read from standard input, validated and written again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};
use weaver_types::canonical::{self, Profile};
use weaver_types::contracts::{
    self, ChoiceCard, Contract, DecisionSubject, EventSubject, RoutingDecision, SelectableItem,
};
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, CheckKind, CheckResult,
    Constraints, Decision, DecisionBasis, Digest, Effects, EventKind, Frame, Handle, HandleId,
    KeyId, Label, PolicyOrigin, PrincipalId, ReasonCode, ResponseMode, ResultStatus, RunId, Tenant,
    Timestamp, TokenClaims, TokenId, Verdict, Warning,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const AT: Timestamp = Timestamp::from_micros(1_767_323_045_000_006);

fn main() -> Outcome<()> {
    let mut out = io::stdout().lock();
    if std::env::args().nth(1).as_deref() == Some("--read") {
        for line in io::stdin().lock().lines() {
            let line = line?;
            if !line.trim().is_empty() {
                writeln!(out, "{}", again(&line)?)?;
            }
        }
        return Ok(());
    }
    let capability = capability()?;
    let card = card(&capability);
    writeln!(out, "{}", line(&card.items.first().cloned().ok_or("a card without items")?)?)?;
    writeln!(out, "{}", line(&card)?)?;
    writeln!(out, "{}", line(&routing(card))?)?;
    writeln!(out, "{}", line(&contracts::Capability::from(&capability))?)?;
    writeln!(out, "{}", line(&contracts::CapabilityToken::from(&claims(&capability)?))?)?;
    for verdict in [Verdict::Allow, Verdict::Hold] {
        writeln!(out, "{}", line(&decision(&capability, verdict)?)?)?;
    }
    let frame = frame(&capability)?;
    writeln!(out, "{}", line(&contracts::Frame::from(&frame))?)?;
    if let Some(handle) = &frame.handle {
        writeln!(out, "{}", line(&contracts::Handle::from(handle))?)?;
    }
    for kind in EventKind::ALL {
        if let Some(event) = event(&capability, *kind)? {
            writeln!(out, "{}", line(&event)?)?;
        }
    }
    Ok(())
}

fn line<C: Contract>(contract: &C) -> Outcome<String> {
    Ok(format!("{{\"kind\":\"{}\",\"json\":{}}}", C::TITLE, contract.to_json()?))
}

fn again(text: &str) -> Outcome<String> {
    let value = canonical::parse(text.as_bytes(), Profile::Foreign)?;
    let kind = value.get("kind").and_then(Value::as_str).ok_or("a line without `kind`")?;
    let json =
        canonical::to_bytes(value.get("json").ok_or("a line without `json`")?, Profile::Foreign)?;
    match kind {
        "Capability" => line(&contracts::Capability::parse(&json)?),
        "CapabilityToken" => line(&contracts::CapabilityToken::parse(&json)?),
        "ChoiceCard" => line(&ChoiceCard::parse(&json)?),
        "Frame" => line(&contracts::Frame::parse(&json)?),
        "Handle" => line(&contracts::Handle::parse(&json)?),
        "PolicyDecision" => line(&contracts::PolicyDecision::parse(&json)?),
        "RoutingDecision" => line(&RoutingDecision::parse(&json)?),
        "SelectableItem" => line(&SelectableItem::parse(&json)?),
        "TraceEvent" => line(&contracts::TraceEvent::parse(&json)?),
        other => Err(format!("unknown contract `{}`", other.escape_debug()).into()),
    }
}

fn capability() -> Outcome<Capability> {
    let id = CapabilityId::parse("files.read_file")?;
    let draft = CapabilityDraft {
        description: "Reads one file and returns its text.".to_owned(),
        idempotent: true,
        input_schema: Some(json!({"type": "object"}).into()),
        tags: BTreeSet::from(["files".to_owned()]),
        ..CapabilityDraft::new(id, "Read a file", Effects::READ_LOCAL, AllowedAgents::Any)
    };
    Ok(draft.build()?)
}

fn card(capability: &Capability) -> ChoiceCard {
    let item = SelectableItem {
        id: "1".to_owned(),
        label: capability.spec().name.clone(),
        description: capability.spec().description.clone(),
        capability_id: Some(capability.id().to_string()),
        metadata: None,
        extra: Map::new(),
    };
    ChoiceCard {
        id: "card-1".to_owned(),
        items: vec![item],
        context_hint: Some("Choose one.".to_owned()),
        metadata: None,
        extra: Map::new(),
    }
}

fn routing(card: ChoiceCard) -> RoutingDecision {
    RoutingDecision {
        id: "route-1".to_owned(),
        selected_item_id: contracts::Nullable::Value("1".to_owned()),
        selected_card_id: contracts::Nullable::Null,
        timestamp: AT.rfc3339(),
        choice_cards: vec![card],
        context_summary: None,
        metadata: None,
        extra: Map::from_iter([("x_note".to_owned(), json!("kept"))]),
    }
}

fn claims(capability: &Capability) -> Outcome<TokenClaims> {
    Ok(TokenClaims {
        v: 1,
        token_id: TokenId::parse("tok_1")?,
        key_id: KeyId::parse("k1")?,
        tenant: Tenant::default(),
        principal: PrincipalId::parse("anna")?,
        capability: capability.id().clone(),
        fingerprint: capability.fingerprint(),
        run: RunId::parse("run_1")?,
        arguments: None,
        audience: "kernel".to_owned(),
        policy: Digest::from_bytes([1; 32]),
        constraints: Constraints::default(),
        raw: false,
        issued_at: AT,
        expires_at: AT,
    })
}

fn decision(capability: &Capability, verdict: Verdict) -> Outcome<contracts::PolicyDecision> {
    let basis = DecisionBasis {
        policy: Digest::from_bytes([1; 32]),
        contracts: Digest::from_bytes([2; 32]),
        origin: PolicyOrigin::Signed,
    };
    let (reason, detail) = match verdict {
        Verdict::Allow => (ReasonCode::RuleAllow, "rule `reads`"),
        _ => (ReasonCode::FloorHold, "rung L4"),
    };
    let said = CheckResult::new(CheckKind::Rule, verdict, reason, detail);
    let (call, principal) = (CallId::parse("call_1")?, PrincipalId::parse("anna")?);
    let subject = DecisionSubject {
        call: &call,
        capability: capability.id(),
        principal: &principal,
        token: None,
        at: AT,
    };
    Ok(contracts::PolicyDecision::from_decision(&Decision::join(vec![said], basis), subject))
}

fn frame(capability: &Capability) -> Outcome<Frame> {
    let handle = Handle {
        handle_id: HandleId::parse("hdl_1")?,
        capability_id: capability.id().clone(),
        media_type: "application/json".into(),
        created_at: AT,
        expires_at: AT,
        total_rows: Some(7),
        byte_size: 4096,
        views: Cow::default(),
    };
    Ok(Frame {
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
        next_parts: Vec::new(),
        call_id: CallId::parse("call_1")?,
        capability_id: capability.id().clone(),
        mode: ResponseMode::Table,
        status: ResultStatus::Success,
        facts: vec!["7 rows".to_owned()],
        table: vec![Map::from_iter([("name".to_owned(), json!("Zoë"))])],
        raw: None,
        handle: Some(handle),
        warnings: vec![Warning { kind: "redacted_email".to_owned(), count: 2 }],
        provenance: None,
        label: Label::undeclared_output(),
        created_at: AT,
        is_final: true,
    })
}

fn event(capability: &Capability, kind: EventKind) -> Outcome<Option<contracts::TraceEvent>> {
    let (call, principal) = (CallId::parse("call_1")?, PrincipalId::parse("anna")?);
    Ok(contracts::TraceEvent::from_event(EventSubject {
        kind,
        event_id: "log_1/7",
        at: AT,
        call: Some(&call),
        capability: Some(capability.id()),
        principal: Some(&principal),
        handle: None,
        has_frame: kind == EventKind::Outcome,
        status: (kind == EventKind::Outcome).then_some(ResultStatus::Success),
        error: None,
    }))
}
