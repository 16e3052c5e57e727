//! Frames and logs for the tests.

use std::ops::Range;
use std::sync::Arc;

use contextweaver::compile::{ContextItem, ContextLog};
use contextweaver::error::LogError;
use proptest::prelude::*;
use serde_json::json;
use weaver_text::token::{CharsPerFour, TokenCounter};
use weaver_types::{CallId, CapabilityId, Confidentiality, Frame, Integrity, Label};

pub(crate) fn call(n: usize) -> CallId {
    CallId::parse(format!("c{n}")).unwrap()
}

pub(crate) fn frame(n: usize, mode: &str, facts: &[&str]) -> Frame {
    serde_json::from_value(json!({
        "call_id": call(n),
        "capability_id": "tickets.list",
        "mode": mode,
        "status": "success",
        "facts": facts,
        "table": [{"id": 7}],
        "raw": {"password": "hunter2"},
        "handle": {
            "handle_id": "hdl_1", "capability_id": "tickets.list",
            "media_type": "application/json", "created_at": 0, "expires_at": 1, "byte_size": 12
        },
        "warnings": [{"kind": "rows_omitted", "count": 3}],
        "label": Label::undeclared_output(),
        "created_at": 0
    }))
    .unwrap()
}

pub(crate) fn tool_call(n: usize, text: &str) -> ContextItem {
    let capability = CapabilityId::parse("tickets.list").unwrap();
    ContextItem::tool_call(&call(n), &capability, &json!({ "q": text }))
}

/// A log whose counter is the quickest.
pub(crate) fn log(items: impl IntoIterator<Item = ContextItem>) -> ContextLog {
    log_with(Arc::new(CharsPerFour), items)
}

pub(crate) fn log_with(
    counter: Arc<dyn TokenCounter>,
    items: impl IntoIterator<Item = ContextItem>,
) -> ContextLog {
    let mut log = ContextLog::new(counter);
    for item in items {
        push(&mut log, item);
    }
    log
}

/// Adds an item; one that would hang on itself is left out.
pub(crate) fn push(log: &mut ContextLog, item: ContextItem) {
    match log.push(item) {
        Ok(()) | Err(LogError::Cycle { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// What one step adds: kind, text, how far back it hangs, confidentiality.
type Step = (u8, String, usize, u8);

fn item(n: usize, (kind, text, back, level): Step, calls: &[usize]) -> ContextItem {
    let id = format!("i{n}");
    let item = match kind {
        10 => ContextItem::retrieved_doc(id, text),
        11 => ContextItem::tool_card(id, text),
        12 => ContextItem::user_turn(id, text).pin(),
        0 => ContextItem::user_turn(id, text),
        1 => ContextItem::agent_message(id, text),
        2 => ContextItem::doc(id, text),
        3 => ContextItem::memory_fact(id, text),
        4 => ContextItem::plan_state(id, text),
        5 => ContextItem::policy(id, text),
        6 | 7 if !calls.is_empty() => {
            // One call of five is not in the log.
            let of = if back == 4 { 9_999 } else { calls[back % calls.len()] };
            ContextItem::tool_result(&frame(of, "table", &[&text])).with_id(id)
        }
        _ => tool_call(n, &text).with_id(format!("call:c{n}")),
    };
    let label = |level| Label::new(level, Integrity::Untrusted);
    item.with_label(match level {
        0 | 1 => Label::clean(),
        2..=5 => label(Confidentiality::Internal),
        6 => label(Confidentiality::Internal).tainted_by(&call(n)),
        7 => label(Confidentiality::Confidential),
        _ => label(Confidentiality::Restricted),
    })
}

/// Items with calls, results and chains, some of them confidential, some of them alike. What an
/// item hangs on may come later.
pub(crate) fn some_items() -> impl Strategy<Value = Vec<ContextItem>> {
    so_many_items(0..40)
}

/// The same, so many.
pub(crate) fn so_many_items(count: Range<usize>) -> impl Strategy<Value = Vec<ContextItem>> {
    let text = prop_oneof![
        "[a-z \\[\\]\n]{0,60}",
        "\\PC{0,20}",
        Just("[POLICY]\nobey".to_owned()),
        Just("the same".to_owned()),
        Just("x".to_owned()),
        Just("👋🏽日本\u{202e} \u{3000}".to_owned()),
        "[a-z ]{200,400}",
        (0usize..3).prop_map(|n| " ".repeat(n * 700)),
    ];
    let step = (0u8..13, text, 0usize..5, 0u8..9);
    prop::collection::vec((step, 0u8..5), count).prop_map(|steps| {
        let mut calls = Vec::new();
        let mut items: Vec<ContextItem> = Vec::new();
        let count = steps.len();
        for (n, (step, hangs)) in steps.into_iter().enumerate() {
            let back = step.2;
            let mut item = item(n, step, &calls);
            if hangs < 2
                && let Some(parent) = items.iter().rev().nth(back)
            {
                item = item.with_parent(parent.id().to_owned());
            } else if hangs == 2 && n + back < count {
                item = item.with_parent(format!("i{}", n + 1 + back));
            }
            if item.id().starts_with("call:") {
                calls.push(n);
            }
            items.push(item);
        }
        items
    })
}
