//! Questions about stored results: what can be read is written and read again as the same, and
//! its answer is a bounded frame or an error with a code.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use weaver_firewall::{Firewall, FrameBudget, FrameSpec, HandleQuery};
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, Constraints, Effects, Label,
    RawResult, ResponseMode, Timestamp,
};

static FIREWALL: LazyLock<Firewall> = LazyLock::new(Firewall::new);
static CALL: LazyLock<CallId> = LazyLock::new(|| CallId::parse("call_1").expect("a call id"));
static TOOL: LazyLock<Capability> = LazyLock::new(|| {
    let id = CapabilityId::parse("fuzz.list").expect("a capability id");
    CapabilityDraft {
        description: "Lists.".to_owned(),
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
    }
    .build()
    .expect("a capability")
});
static ROWS: LazyLock<RawResult> = LazyLock::new(|| {
    let row = |n: u32| {
        json!({ "id": n, "status": if n % 2 == 0 { "open" } else { "late" }, "amount": 1.5 * f64::from(n),
            "email": format!("p{n}@corp.example.com"), "tags": ["a", n], "none": null })
    };
    RawResult::json((0..40).map(row).collect())
});

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let query = match HandleQuery::parse(&value) {
        Ok(query) => query,
        Err(error) => return assert!(!error.code().is_empty()),
    };
    let written = serde_json::to_value(&query).expect("a query is JSON");
    let again = HandleQuery::parse(&written).expect("what was read can be read again");
    assert_eq!(written, serde_json::to_value(&again).expect("a query is JSON"));
    let spec = FrameSpec {
        call: &CALL,
        capability: &TOOL,
        mode: ResponseMode::Table,
        budget: FrameBudget::default(),
        constraints: &Constraints::default(),
        pii_reader: false,
        handle: None,
        label: Label::undeclared_output(),
        now: Timestamp::from_micros(1_800_000_000_000_000),
        strict: false,
        goal: None,
    };
    match FIREWALL.expand(&ROWS, &query, &spec) {
        Ok(frame) => {
            let json = serde_json::to_string(&frame).expect("a frame is JSON");
            assert!(json.chars().count() <= 4_000 && frame.table.len() <= 50);
            assert!(!json.contains("@corp.example.com"), "an address was shown");
        }
        Err(error) => assert!(!error.code().is_empty()),
    }
});
