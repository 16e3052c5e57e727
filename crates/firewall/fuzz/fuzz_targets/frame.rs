//! Frames: never larger than their budget, whatever the result holds.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use weaver_firewall::{Firewall, FrameBudget, FrameSpec};
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

fuzz_target!(|input: (u8, u16, u8, u8, u8, &str)| {
    let (mode, max_chars, max_rows, max_fields, max_depth, text) = input;
    let raw = match serde_json::from_str(text) {
        Ok(value) => RawResult::json(value),
        Err(_) => RawResult::text(text),
    };
    let mode = [ResponseMode::Summary, ResponseMode::Table, ResponseMode::HandleOnly]
        [usize::from(mode % 3)];
    let spec = FrameSpec {
        call: &CALL,
        capability: &TOOL,
        mode,
        budget: FrameBudget {
            max_chars: u32::from(max_chars),
            max_rows: u32::from(max_rows),
            max_fields: u32::from(max_fields),
            max_depth: u32::from(max_depth),
            ..FrameBudget::default()
        },
        constraints: &Constraints::default(),
        pii_reader: false,
        handle: None,
        label: Label::undeclared_output(),
        now: Timestamp::from_micros(1_800_000_000_000_000),
        strict: false,
        goal: text.get(..16),
    };
    let frame = FIREWALL.frame(&raw, &spec);
    let chars = serde_json::to_string(&frame).expect("a frame is JSON").chars().count();
    let bound = usize::from(max_chars).max(FIREWALL.min_chars(&spec));
    assert!(chars <= bound, "{chars} characters, {bound} allowed");
    assert!(frame.table.len() <= usize::from(max_rows));
    // A line of a text is a row of one field.
    let fields = usize::from(max_fields).max(1);
    assert!(frame.table.iter().all(|row| row.len() <= fields));
    assert!(frame.raw.is_none() && frame.facts.len() <= 20);
    assert_eq!(frame, FIREWALL.frame(&raw, &spec), "the same again is the same");
});
