//! Renders a frame as the text of an item.

use serde_json::Value;
use weaver_types::{Frame, ResponseMode, ResultStatus};

/// The text of a frame, headed by the id of the capability.
pub(super) fn frame_text(frame: &Frame) -> String {
    format!("{}\n{}", frame.capability_id, frame_body(frame)).trim_end().to_owned()
}

/// The text of a frame: a status other than success, facts, rows, warnings. Never raw output.
pub(super) fn frame_body(frame: &Frame) -> String {
    let mut lines = Vec::new();
    match frame.status {
        ResultStatus::Success => {}
        ResultStatus::Error => lines.push("status: error".to_owned()),
        ResultStatus::Partial => lines.push("status: partial".to_owned()),
    }
    match frame.mode {
        ResponseMode::Raw => lines.push("not shown: the result is raw".to_owned()),
        ResponseMode::HandleOnly => {}
        ResponseMode::Auto | ResponseMode::Table | ResponseMode::Summary => {
            lines.extend(frame.facts.iter().map(|fact| format!("- {fact}")));
            lines.extend(frame.table.iter().map(|row| Value::Object(row.clone()).to_string()));
        }
    }
    lines.extend(frame.warnings.iter().map(|w| format!("warning: {} x{}", w.kind, w.count)));
    lines.join("\n")
}
