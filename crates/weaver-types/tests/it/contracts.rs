//! The public contracts: against their JSON Schemas, losslessly, and from our types.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Debug;

use jsonschema::{Registry, Validator};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weaver_types::contracts::{
    self, Contract, ContractError, DecisionSubject, EventSubject, EventType, PolicyVerdict,
};
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, CheckKind, CheckResult,
    Constraints, Decision, DecisionBasis, Digest, Effects, EventKind, Frame, Handle, HandleId,
    KeyId, Label, PolicyOrigin, PrincipalId, ReasonCode, ResponseMode, ResultStatus, RunId, Tenant,
    Timestamp, TokenClaims, TokenId, Verdict, Warning,
};

const SCHEMAS: [(&str, &str); 9] = [
    ("Capability", include_str!("../data/contracts/capability.schema.json")),
    ("CapabilityToken", include_str!("../data/contracts/capability_token.schema.json")),
    ("ChoiceCard", include_str!("../data/contracts/choice_card.schema.json")),
    ("Frame", include_str!("../data/contracts/frame.schema.json")),
    ("Handle", include_str!("../data/contracts/handle.schema.json")),
    ("PolicyDecision", include_str!("../data/contracts/policy_decision.schema.json")),
    ("RoutingDecision", include_str!("../data/contracts/routing_decision.schema.json")),
    ("SelectableItem", include_str!("../data/contracts/selectable_item.schema.json")),
    ("TraceEvent", include_str!("../data/contracts/trace_event.schema.json")),
];

fn schema(title: &str) -> Value {
    let (_, text) = SCHEMAS.iter().find(|(name, _)| *name == title).unwrap();
    serde_json::from_str(text).unwrap()
}

fn validator(title: &str) -> Validator {
    let mut registry = Registry::new();
    for (name, _) in SCHEMAS {
        let schema = schema(name);
        let id = schema["$id"].as_str().unwrap().to_owned();
        registry = registry.add(&id, schema).unwrap();
    }
    let registry = registry.prepare().unwrap();
    jsonschema::options()
        .with_registry(&registry)
        .should_validate_formats(true)
        .build(&schema(title))
        .unwrap()
}

/// What a contract reads it writes again, whole, and the schema agrees with both.
fn round_trip<C: Contract + PartialEq + Debug>(value: &Value) -> Result<(), ContractError> {
    let read = C::parse(&serde_json::to_vec(value).unwrap())?;
    assert_eq!(&serde_json::to_value(&read).unwrap(), value);
    let written = read.to_json()?;
    assert_eq!(&serde_json::from_str::<Value>(&written).unwrap(), value);
    assert_eq!(C::parse(written.as_bytes())?, read);
    Ok(())
}

fn round_trip_of(title: &str, value: &Value) -> Result<(), ContractError> {
    match title {
        "Capability" => round_trip::<contracts::Capability>(value),
        "CapabilityToken" => round_trip::<contracts::CapabilityToken>(value),
        "ChoiceCard" => round_trip::<contracts::ChoiceCard>(value),
        "Frame" => round_trip::<contracts::Frame>(value),
        "Handle" => round_trip::<contracts::Handle>(value),
        "PolicyDecision" => round_trip::<contracts::PolicyDecision>(value),
        "RoutingDecision" => round_trip::<contracts::RoutingDecision>(value),
        "SelectableItem" => round_trip::<contracts::SelectableItem>(value),
        "TraceEvent" => round_trip::<contracts::TraceEvent>(value),
        other => panic!("no contract {other}"),
    }
}

/// A value of a schema, with wrong ones now and then: required fields dropped, texts empty, `null`
/// where it may not stand, unknown fields added.
fn instance(schema: &Value) -> BoxedStrategy<Value> {
    let schema = resolve(schema);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return prop::sample::select(values.clone()).boxed();
    }
    let kinds: Vec<String> = match &schema["type"] {
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().map(|k| k.as_str().unwrap().to_owned()).collect(),
        _ => vec!["null".to_owned()],
    };
    let choices: Vec<_> = kinds.iter().map(|kind| of_kind(kind, &schema)).collect();
    prop_oneof![200 => prop::strategy::Union::new(choices), 1 => Just(Value::Null)].boxed()
}

fn resolve(schema: &Value) -> Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(id) => {
            SCHEMAS.iter().map(|(name, _)| self::schema(name)).find(|s| s["$id"] == id).unwrap()
        }
        None => schema.clone(),
    }
}

fn of_kind(kind: &str, schema: &Value) -> BoxedStrategy<Value> {
    match kind {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            prop_oneof![(0..i64::MAX).prop_map(Value::from), Just(json!(u64::MAX)), Just(json!(-1))]
                .boxed()
        }
        "string" if schema["format"] == "date-time" => prop_oneof![
            9 => Just(json!("2026-01-02T03:04:05.000006Z")),
            9 => Just(json!("2026-12-31T23:59:59+01:00")),
            1 => Just(json!("2026-02-30T00:00:00Z")),
            1 => Just(json!("yesterday")),
        ]
        .boxed(),
        "string" => {
            prop_oneof![100 => "\\PC{1,12}".prop_map(Value::from), 1 => Just(json!(""))].boxed()
        }
        "array" => {
            let few = prop::collection::vec(instance(&schema["items"]), 0..4);
            let many = prop::collection::vec(instance(&schema["items"]), 20..23);
            prop_oneof![40 => few, 1 => many].prop_map(Value::from).boxed()
        }
        "object" => object(schema),
        other => panic!("no strategy for {other}"),
    }
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    let extra = prop::collection::btree_map("x_[a-z]{1,3}", any_json(), 0..3);
    let mut object: BoxedStrategy<Map<String, Value>> =
        extra.prop_map(|m| m.into_iter().collect()).boxed();
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let name = name.clone();
        let odds = if required.contains(name.as_str()) { 0.995 } else { 0.5 };
        let value = prop::option::weighted(odds, instance(field));
        object = (object, value)
            .prop_map(move |(mut object, value)| {
                object.extend(value.map(|value| (name.clone(), value)));
                object
            })
            .boxed();
    }
    object.prop_map(Value::Object).boxed()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (1..1000_i32).prop_map(|n| Value::from(f64::from(n) + 0.5)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,3}", inner, 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn agrees(title: &str) {
    let validator = validator(title);
    let counts = std::cell::Cell::new((0, 0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&instance(&schema(title)), |value| {
            let ours = round_trip_of(title, &value);
            let theirs = validator.is_valid(&value);
            prop_assert_eq!(ours.is_ok(), theirs, "{:?} for {}", ours, value);
            let (good, bad) = counts.get();
            counts.set(if theirs { (good + 1, bad) } else { (good, bad + 1) });
            Ok(())
        })
        .unwrap();
    let (good, bad) = counts.get();
    assert!(good > 50 && bad > 5, "{title}: {good} valid and {bad} invalid cases are too few");
}

#[test]
fn we_read_exactly_what_the_schemas_allow_and_lose_nothing() {
    for (title, _) in SCHEMAS {
        agrees(title);
    }
}

fn code(title: &str, value: &Value) -> Option<&'static str> {
    round_trip_of(title, value).err().map(|e| e.code())
}

#[test]
fn an_optional_field_without_null_is_left_out_and_never_null() {
    let item = json!({"id": "1", "label": "l", "description": "d"});
    assert_eq!(code("SelectableItem", &item), None);
    for field in ["capability_id", "metadata"] {
        let mut item = item.clone();
        item[field] = Value::Null;
        assert_eq!(code("SelectableItem", &item), Some("contract.shape"), "{field}");
    }
}

#[test]
fn a_field_that_may_be_null_keeps_its_null_and_its_absence() {
    let decision = json!({"decision_id": "d", "decision": "allow", "capability_id": "c", "principal": "p",
        "timestamp": "2026-01-02T03:04:05Z"});
    assert_eq!(code("PolicyDecision", &decision), None);
    let mut with_null = decision;
    with_null["token_id"] = Value::Null;
    assert_eq!(code("PolicyDecision", &with_null), None);
}

#[test]
fn a_card_has_1_to_20_items_and_the_error_names_the_place() {
    let item = json!({"id": "1", "label": "l", "description": "d"});
    let card = |n: usize| json!({"id": "c", "items": vec![item.clone(); n]});
    assert_eq!(code("ChoiceCard", &card(0)), Some("contract.count"));
    assert_eq!(code("ChoiceCard", &card(20)), None);
    assert_eq!(code("ChoiceCard", &card(21)), Some("contract.count"));
    let mut bad = card(3);
    bad["items"][2]["label"] = json!("");
    let routing =
        json!({"id": "r", "choice_cards": [card(1), bad], "timestamp": "2026-01-02T03:04:05Z"});
    let error = round_trip_of("RoutingDecision", &routing).unwrap_err();
    assert_eq!(
        error.to_string(),
        "RoutingDecision breaks its schema at `/choice_cards/1/items/2/label`: must not be empty"
    );
}

#[test]
fn a_token_expires_or_is_for_single_use() {
    let token = json!({"token_id": "t", "principal": "p", "scope": ["c"], "issued_at": "2026-01-02T03:04:05Z"});
    let with = |fields: Value| {
        let mut token = token.clone();
        token.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        code("CapabilityToken", &token)
    };
    assert_eq!(with(json!({})), Some("contract.unbounded"));
    assert_eq!(with(json!({"expires_at": null})), Some("contract.unbounded"));
    assert_eq!(with(json!({"single_use": false})), Some("contract.unbounded"));
    assert_eq!(with(json!({"single_use": true})), None);
    assert_eq!(with(json!({"single_use": true, "expires_at": null})), None);
    assert_eq!(with(json!({"expires_at": "2026-01-02T04:04:05Z"})), None);
    assert_eq!(with(json!({"single_use": true, "scope": []})), Some("contract.count"));
    assert_eq!(with(json!({"single_use": true, "scope": [""]})), Some("contract.empty"));
    assert_eq!(with(json!({"expires_at": "soon"})), Some("contract.date_time"));
}

#[test]
fn a_field_given_twice_is_refused_both_ways() {
    let text = br#"{"id":"1","id":"2","label":"l","description":"d"}"#;
    assert_eq!(contracts::SelectableItem::parse(text).unwrap_err().code(), "contract.json");
    let text = br#"{"id":"1","label":"l","description":"d"}"#;
    let mut item = contracts::SelectableItem::parse(text).unwrap();
    item.extra.insert("id".to_owned(), json!("2"));
    assert_eq!(item.to_json().unwrap_err().code(), "contract.json");
}

const AT: Timestamp = Timestamp::from_micros(1_767_323_045_000_006);
const AT_TEXT: &str = "2026-01-02T03:04:05.000006Z";

/// Checks a converted value against its schema and gives its JSON.
fn emitted<C: Contract>(contract: &C) -> Value {
    let value: Value = serde_json::from_str(&contract.to_json().unwrap()).unwrap();
    assert!(validator(C::TITLE).is_valid(&value), "{value}");
    round_trip_of(C::TITLE, &value).unwrap();
    value
}

fn capability_id() -> CapabilityId {
    CapabilityId::parse("fs.read_file").unwrap()
}

fn capability(description: &str) -> Capability {
    CapabilityDraft {
        description: description.to_owned(),
        idempotent: true,
        input_schema: Some(json!({"type": "object", "x-secret": "schema"}).into()),
        tags: BTreeSet::from(["files".to_owned()]),
        ..CapabilityDraft::new(
            capability_id(),
            "Read a file",
            Effects::READ_LOCAL,
            AllowedAgents::Any,
        )
    }
    .build()
    .unwrap()
}

#[test]
fn a_capability_becomes_its_contract_without_schemas() {
    let own = capability("Reads one file.");
    let value = emitted(&contracts::Capability::from(&own));
    assert_eq!(value["id"], "fs.read_file");
    assert_eq!(value["version"], own.fingerprint().to_string());
    assert_eq!(value["tags"], json!(["files"]));
    assert!(!value.to_string().contains("x-secret"));
    let value = emitted(&contracts::Capability::from(&capability("")));
    assert_eq!(value["description"], "Read a file");
}

fn decision(verdict: Verdict, reason: ReasonCode, detail: &str) -> Decision {
    let basis = DecisionBasis {
        policy: Digest::from_bytes([1; 32]),
        contracts: Digest::from_bytes([2; 32]),
        origin: PolicyOrigin::Signed,
    };
    Decision::join(vec![CheckResult::new(CheckKind::Rule, verdict, reason, detail)], basis)
}

#[test]
fn every_verdict_but_allow_becomes_deny() {
    let (call, principal) = (CallId::parse("call_1").unwrap(), PrincipalId::parse("anna").unwrap());
    let capability = capability_id();
    let subject = DecisionSubject {
        call: &call,
        capability: &capability,
        principal: &principal,
        token: None,
        at: AT,
    };
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Hold, Verdict::Deny] {
        let made = contracts::PolicyDecision::from_decision(
            &decision(verdict, ReasonCode::RuleAllow, "rule `reads`"),
            subject,
        );
        let allowed = verdict == Verdict::Allow;
        assert_eq!(made.decision == PolicyVerdict::Allow, allowed);
        let value = emitted(&made);
        assert_eq!(value["decision"], if allowed { "allow" } else { "deny" });
        assert_eq!(value["reason"], "rule_allow: rule `reads`");
        assert_eq!(value["metadata"]["weaver"]["verdict"], verdict.as_str());
        assert_eq!(value["timestamp"], AT_TEXT);
        assert_eq!(value.get("token_id"), None);
    }
    let bare = contracts::PolicyDecision::from_decision(
        &decision(Verdict::Deny, ReasonCode::MissingRole, ""),
        subject,
    );
    assert_eq!(emitted(&bare)["reason"], "missing_role");
}

fn handle() -> Handle {
    Handle {
        handle_id: HandleId::parse("hdl_1").unwrap(),
        capability_id: capability_id(),
        media_type: "application/json".into(),
        created_at: AT,
        expires_at: AT,
        total_rows: Some(7),
        byte_size: u64::MAX,
        views: Cow::default(),
    }
}

fn frame() -> Frame {
    Frame {
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
        next_parts: Vec::new(),
        call_id: CallId::parse("call_1").unwrap(),
        capability_id: capability_id(),
        mode: ResponseMode::Table,
        status: ResultStatus::Success,
        facts: vec!["7 rows".to_owned(), "2 columns".to_owned()],
        table: vec![Map::from_iter([("id".to_owned(), json!(1))])],
        raw: None,
        handle: Some(handle()),
        warnings: vec![Warning { kind: "redacted_email".to_owned(), count: 2 }],
        provenance: None,
        label: Label::undeclared_output(),
        created_at: AT,
        is_final: true,
    }
}

#[test]
fn a_frame_becomes_its_contract_and_never_carries_raw_output() {
    let value = emitted(&contracts::Frame::from(&frame()));
    assert_eq!(value["frame_id"], "call_1");
    assert_eq!(value["summary"], "7 rows; 2 columns");
    assert_eq!(value["structured_data"], json!({"rows": [{"id": 1}]}));
    assert_eq!(value["handle_refs"], json!(["hdl_1"]));
    assert_eq!(value["redaction_notes"], "redacted_email (2)");
    let raw = Frame {
        mode: ResponseMode::Raw,
        raw: Some(json!("raw output")),
        facts: Vec::new(),
        table: Vec::new(),
        handle: None,
        warnings: Vec::new(),
        ..frame()
    };
    let value = emitted(&contracts::Frame::from(&raw));
    assert!(!value.to_string().contains("raw output"));
    for absent in ["structured_data", "handle_refs", "redaction_notes"] {
        assert_eq!(value.get(absent), None, "{absent}");
    }
}

#[test]
fn a_handle_becomes_its_contract() {
    let value = emitted(&contracts::Handle::from(&handle()));
    assert_eq!(value["artifact_type"], "application/json");
    assert_eq!(value["byte_size"], u64::MAX);
    assert_eq!(value["metadata"]["weaver"]["total_rows"], 7);
}

fn claims() -> TokenClaims {
    TokenClaims {
        v: 1,
        token_id: TokenId::parse("tok_1").unwrap(),
        key_id: KeyId::parse("k1").unwrap(),
        tenant: Tenant::default(),
        principal: PrincipalId::parse("anna").unwrap(),
        capability: capability_id(),
        fingerprint: Digest::from_bytes([3; 32]),
        run: RunId::parse("run_1").unwrap(),
        arguments: None,
        audience: "kernel".to_owned(),
        policy: Digest::from_bytes([1; 32]),
        constraints: Constraints::default(),
        raw: true,
        issued_at: AT,
        expires_at: AT,
    }
}

#[test]
fn a_token_becomes_its_contract_scoped_bounded_and_with_its_override_declared() {
    let value = emitted(&contracts::CapabilityToken::from(&claims()));
    assert_eq!(value["scope"], json!(["fs.read_file"]));
    assert_eq!(value["single_use"], true);
    assert_eq!(value["expires_at"], AT_TEXT);
    assert_eq!(value["issuer"], "k1");
    assert_eq!(value["metadata"]["weaver"]["raw"], true);
}

/// The recorded mapping of agent-kernel, where ours says the same.
///
/// Cases: C05.
#[test]
fn frames_tokens_and_events_map_as_recorded() {
    let theirs = crate::formats::recorded("C05");
    let two = Frame { facts: vec!["one".to_owned(), "two".to_owned()], ..frame() };
    let ours = emitted(&contracts::Frame::from(&two));
    assert_eq!(ours["summary"], theirs["frame"]["summary"]);
    let token = emitted(&contracts::CapabilityToken::from(&claims()));
    assert_eq!(token["scope"].as_array().unwrap().len(), 1);
    assert_eq!(theirs["token"]["scope"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&token["single_use"], &theirs["token"]["single_use"]),
        (&json!(true), &json!(false))
    );
    for (kind, status, name) in [
        (EventKind::Outcome, Some(ResultStatus::Success), "trace_invoke"),
        (EventKind::Refused, None, "trace_deny"),
        (EventKind::HandleResolved, Some(ResultStatus::Success), "trace_expand"),
    ] {
        let (ours, theirs) = (emitted(&event(kind, status).unwrap()), &theirs[name]);
        assert_eq!(ours["event_type"], theirs["event_type"], "{name}");
        // Ours gives a refusal no outcome: nothing was executed that could have one.
        let outcome = if name == "trace_deny" { &json!(null) } else { &theirs["outcome"] };
        assert_eq!(&ours["outcome"], outcome, "{name}");
        assert!(theirs["decision_id"].is_null() && ours["decision_id"].is_string(), "{name}");
    }
}

fn event(kind: EventKind, status: Option<ResultStatus>) -> Option<contracts::TraceEvent> {
    let (call, principal, capability) =
        (CallId::parse("call_1").unwrap(), PrincipalId::parse("anna").unwrap(), capability_id());
    contracts::TraceEvent::from_event(EventSubject {
        kind,
        event_id: "log_1/7",
        at: AT,
        call: Some(&call),
        capability: Some(&capability),
        principal: Some(&principal),
        handle: None,
        has_frame: status.is_some(),
        status,
        error: None,
    })
}

#[test]
fn every_event_kind_has_a_public_type_or_none_and_what_has_one_is_valid() {
    for kind in EventKind::ALL {
        let made = event(*kind, None);
        assert_eq!(made.as_ref().map(|e| e.event_type), EventType::for_kind(*kind));
        if let Some(made) = made {
            let value = emitted(&made);
            assert_eq!(value["metadata"]["weaver"]["kind"], kind.as_str());
            assert_eq!(
                (&value["decision_id"], &value["principal"]),
                (&json!("call_1"), &json!("anna"))
            );
        }
    }
    let outcome = |kind, status| emitted(&event(kind, status).unwrap())["outcome"].clone();
    assert_eq!(outcome(EventKind::Outcome, Some(ResultStatus::Success)), "success");
    assert_eq!(outcome(EventKind::Outcome, Some(ResultStatus::Error)), "failure");
    assert_eq!(outcome(EventKind::Outcome, Some(ResultStatus::Partial)), "partial");
    assert_eq!(outcome(EventKind::OutcomeUnknown, None), "partial");
    let lost = emitted(&event(EventKind::OutcomeUnknown, None).unwrap());
    assert_eq!(lost["error_message"], "outcome unknown");
    assert_eq!(lost.get("frame_id"), None);
}
