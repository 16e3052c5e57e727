//! Items as text.
//!
//! Each item is a heading in brackets at the start of a line, then its text. No line of a text
//! begins with a bracket, so that nothing inside an item can pass for another one.

use std::borrow::Cow;

use serde_json::Value;
use weaver_text::escape;
use weaver_types::{Frame, Integrity, ResponseMode, Status};

use crate::compile::{ContextItem, ItemKind};

/// One item with its heading, ending in an empty line.
pub(super) fn block(item: &ContextItem) -> String {
    let mut out = format!("[{}", heading(item.kind()));
    if marks_trust(item.kind()) && item.label().integrity == Integrity::Untrusted {
        out.push_str(" untrusted");
    }
    if let Some(handle) = item.handle() {
        out.push_str(&format!(" handle={handle}"));
    }
    out.push_str("]\n");
    for line in visible(item.text()).split('\n') {
        if line.starts_with('[') {
            out.push(' ');
        }
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}

fn visible(text: &str) -> Cow<'_, str> {
    escape::block(text)
}

fn heading(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::UserTurn => "USER",
        ItemKind::AgentMessage => "ASSISTANT",
        ItemKind::ToolCall => "TOOL CALL",
        ItemKind::ToolResult => "TOOL RESULT",
        ItemKind::Doc => "DOCUMENT",
        ItemKind::MemoryFact => "FACT",
        ItemKind::PlanState => "PLAN",
        ItemKind::Policy => "POLICY",
    }
}

/// Whether the heading of this kind says that somebody else may have written the text.
fn marks_trust(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::ToolResult | ItemKind::Doc | ItemKind::MemoryFact)
}

/// What a frame shows: status where it is not success, facts, rows, warnings. Never raw output.
pub(super) fn frame_text(frame: &Frame) -> String {
    let mut lines = vec![frame.capability_id.to_string()];
    match frame.status {
        Status::Success => {}
        Status::Error => lines.push("status: error".to_owned()),
        Status::Partial => lines.push("status: partial".to_owned()),
    }
    match frame.mode {
        ResponseMode::Raw => lines.push("not shown: the result is raw".to_owned()),
        ResponseMode::HandleOnly => {}
        ResponseMode::Table | ResponseMode::Summary => {
            lines.extend(frame.facts.iter().map(|fact| format!("- {fact}")));
            lines.extend(frame.table.iter().map(|row| Value::Object(row.clone()).to_string()));
        }
    }
    lines.extend(frame.warnings.iter().map(|w| format!("warning: {} x{}", w.kind, w.count)));
    lines.join("\n")
}
