//! Results: the eight words, the times, and the projection of a frame.

use serde::Serialize;
use serde_json::json;
use weaver_types::canonical::{self, Profile};
use weaver_types::{
    ApprovalAuthority, CallId, CapabilityId, CheckKind, CheckResult, Confidentiality, Constraints,
    Frame, Handle, HandleId, Label, LocaleCode, ReasonCode, ResponseMode, ResultEnvelope,
    ResultStatus, RunBudget, RunMeters, RunSettings, Timestamp, ToolErrorCode, ToolProvenance,
    ToolResult, Verdict, Warning,
};

#[test]
fn the_eight_error_codes_have_their_names() {
    let names = ToolErrorCode::ALL.map(|code| serde_json::to_value(code).unwrap());
    let wanted = [
        "NOT_FOUND", "PERMISSION_DENIED", "TIMEOUT", "VALIDATION_ERROR", "NETWORK_ERROR",
        "RATE_LIMITED", "BUDGET_EXCEEDED", "UNEXPECTED",
    ];
    assert_eq!(json!(names), json!(wanted));
    for (name, code) in wanted.into_iter().zip(ToolErrorCode::ALL) {
        assert_eq!(serde_json::from_value::<ToolErrorCode>(json!(name)).unwrap(), code);
    }
}

fn ids() -> (CallId, CapabilityId) {
    (CallId::parse("call_1").unwrap(), CapabilityId::parse("desk.find").unwrap())
}

#[test]
fn a_result_is_data_or_an_error() {
    let (call, tool) = ids();
    let done = ToolResult::ok(call.clone(), tool.clone(), 7).with_latency(1_500);
    assert!(done.success && done.data == Some(7) && done.error_code.is_none());
    assert!((done.latency_ms() - 1.5).abs() < f64::EPSILON);
    let failed = ToolResult::<u8>::error(call, tool, ToolErrorCode::Timeout, "too slow");
    assert!(!failed.success && failed.data.is_none());
    let wire = serde_json::to_value(&failed).unwrap();
    let wanted = json!({
        "call_id": "call_1",
        "tool_id": "desk.find",
        "success": false,
        "data": null,
        "error_code": "TIMEOUT",
        "error_message": "too slow",
        "latency_us": 0,
        "retries": 0,
        "trace_id": "",
        "span_id": "",
    });
    assert_eq!(wire, wanted);
    assert_eq!(serde_json::from_value::<ToolResult<u8>>(wire).unwrap(), failed);
}

fn frame(handle: Option<Handle>) -> Frame {
    let (call_id, capability_id) = ids();
    Frame {
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
        next_parts: Vec::new(),
        label: Label::undeclared_output().tainted_by(&call_id),
        call_id,
        capability_id,
        mode: ResponseMode::Table,
        status: ResultStatus::Partial,
        facts: vec!["2 rows".to_owned(), "1 field".to_owned()],
        table: vec![serde_json::Map::from_iter([("id".to_owned(), json!(1))])],
        raw: Some(json!("never in an envelope")),
        handle,
        warnings: Vec::new(),
        provenance: None,
        created_at: Timestamp::from_micros(1),
        is_final: true,
    }
}

fn handle() -> Handle {
    Handle {
        handle_id: HandleId::parse("hdl_1").unwrap(),
        capability_id: ids().1,
        media_type: "application/json".into(),
        created_at: Timestamp::from_micros(1),
        expires_at: Timestamp::from_micros(2),
        total_rows: Some(2),
        byte_size: 42,
        views: vec!["keys".into(), "get".into()].into(),
    }
}

#[test]
fn what_each_call_writes_is_declared_in_the_order_in_which_it_is_written() {
    fn in_order<T: Serialize>(value: &T) {
        let declared = serde_json::to_string(value).unwrap();
        let written = canonical::serialize(value, Profile::Foreign).unwrap();
        assert_eq!(declared.as_bytes(), written);
    }
    let warning = Warning { kind: "rows_omitted".to_owned(), count: 1 };
    let source = ToolProvenance { source_uri: "file:x".to_owned(), freshness_s: Some(1) };
    in_order(&Frame { warnings: vec![warning], provenance: Some(source), ..frame(Some(handle())) });
    in_order(&RunMeters::default());
    let reason = ReasonCode::FloorHold;
    let said = CheckResult::new(CheckKind::Floor, Verdict::Hold, reason, "rung L4");
    let authority = ApprovalAuthority {
        min_trust: Some(1),
        clearance: Some(Confidentiality::Internal),
        scopes: ["ops".to_owned()].into(),
        quorum: 2,
        roles: [["cfo".to_owned()].into()].into(),
    };
    let constraints = Constraints {
        max_tokens: Some(5),
        max_rows: Some(1),
        max_fields: Some(2),
        max_chars: Some(3),
        allowed_fields: Some(["id".to_owned()].into()),
        mode: Some(ResponseMode::Summary),
        timeout_ms: Some(4),
    };
    in_order(&said.with_authority(authority).with_constraints(constraints));
}

#[test]
fn an_envelope_is_the_projection_of_a_frame() {
    let whole = frame(Some(handle()));
    let wanted = json!({
        "summary": "2 rows; 1 field",
        "facts": ["2 rows", "1 field"],
        "artifacts": [
            { "handle_id": "hdl_1", "media_type": "application/json", "byte_size": 42 }
        ],
        "views": ["keys", "get"],
        "status": "partial",
        "label": whole.label,
    });
    assert_eq!(serde_json::to_value(ResultEnvelope::from(&whole)).unwrap(), wanted);
    assert!(ResultEnvelope::from(&frame(None)).artifacts.is_empty());
    let without_facts = |handle| Frame { facts: Vec::new(), ..frame(handle) };
    let summary = |frame: &Frame| ResultEnvelope::from(frame).summary;
    assert_eq!(summary(&without_facts(whole.handle.clone())), "1 of 2 rows");
    assert_eq!(summary(&without_facts(None)), "1 rows");
    let stored = Frame { table: Vec::new(), ..without_facts(whole.handle.clone()) };
    assert_eq!(summary(&stored), "2 rows via handle");
    let source = ToolProvenance { source_uri: "file:x".to_owned(), freshness_s: None };
    let from = Frame { provenance: Some(source.clone()), ..stored };
    assert_eq!(ResultEnvelope::from(&from).provenance, Some(source));
}

#[test]
fn the_settings_of_a_run_begin_empty_and_in_american_english() {
    let settings = RunSettings::default();
    assert_eq!((settings.session_id, settings.user_sid), (String::new(), String::new()));
    assert_eq!(settings.intent, "");
    assert_eq!(settings.locale, LocaleCode::EnUs);
    let codes = [LocaleCode::EnUs, LocaleCode::EnIn, LocaleCode::HiIn];
    assert_eq!(serde_json::to_value(codes).unwrap(), json!(["en-US", "en-IN", "hi-IN"]));
}

#[test]
fn a_budget_and_its_meters_are_written_by_name_and_read_back() {
    let budget = RunBudget::default();
    let written = json!({
        "max_tool_calls": 20, "max_retries_per_tool": 3, "max_prompt_tokens": 4_000,
        "max_latency_ms": 30_000, "max_cost": 10_000,
    });
    assert_eq!(serde_json::to_value(&budget).unwrap(), written);
    assert_eq!(serde_json::from_value::<RunBudget>(written).unwrap(), budget);
    let none = serde_json::to_value(RunBudget::unlimited()).unwrap();
    assert_eq!(none["max_tool_calls"], json!(null), "no cap is written as none");
    let used = RunMeters { tool_calls: 2, latency_us: 1_500, ..RunMeters::default() };
    let written = json!({
        "tool_calls": 2, "denials": 0, "prompt_tokens": 0, "latency_us": 1_500, "cost": 0,
    });
    assert_eq!(serde_json::to_value(used).unwrap(), written);
    let more = json!({ "tool_calls": 2, "calls": 1 });
    assert!(serde_json::from_value::<RunMeters>(more).is_err(), "nothing unknown is read");
}
