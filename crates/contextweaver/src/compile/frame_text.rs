//! Renders a frame as the text of an item.

use serde_json::Value;
use weaver_types::{Frame, ResponseMode, ResultStatus};

/// The text of a frame, headed by the id of the capability.
pub(super) fn frame_text(frame: &Frame) -> String {
    format!("{}\n{}", frame.capability_id, frame_body(frame)).trim_end().to_owned()
}

/// The text of a frame: a status other than success, what it shows of the result, warnings. Never
/// raw output.
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
        ResponseMode::Auto => {
            lines.extend(frame.content.iter().map(block_text));
            // The content, where there is any, says the same.
            let structured = frame.structured.iter().filter(|_| frame.content.is_empty());
            lines.extend(structured.map(Value::to_string));
            lines.extend(frame.notes.iter().cloned());
        }
        ResponseMode::Table | ResponseMode::Summary => {
            lines.extend(frame.facts.iter().map(|fact| format!("- {fact}")));
            lines.extend(frame.table.iter().map(|row| Value::Object(row.clone()).to_string()));
        }
    }
    lines.extend(frame.warnings.iter().map(|w| format!("warning: {} x{}", w.kind, w.count)));
    lines.join("\n")
}

/// A content block as text; pictures and sounds are only named.
fn block_text(block: &Value) -> String {
    let text = block.get("text").or_else(|| block.pointer("/resource/text"));
    match text.and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or("content");
            format!("not shown here: {kind}")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{CallId, CapabilityId, Label, Timestamp};

    use super::*;

    #[test]
    fn a_frame_in_mode_auto_shows_the_result_itself() {
        let frame = |content: Value, structured: Value| {
            let frame = json!({
                "call_id": CallId::parse("call_00000000000000000000000000000001").unwrap(),
                "capability_id": CapabilityId::parse("wiki.search").unwrap(),
                "content": content,
                "created_at": Timestamp::from_micros(0),
                "label": Label::clean(),
                "mode": "auto",
                "notes": ["2 lines more"],
                "status": "success",
                "structured": structured,
                "warnings": [{ "kind": "redacted_email", "count": 1 }],
            });
            frame_text(&serde_json::from_value(frame).unwrap())
        };
        let blocks = json!([
            { "type": "text", "text": "Ada wrote it." },
            { "type": "image", "data": "QUJD" },
            { "type": "resource", "resource": { "uri": "x:y", "text": "a page" } },
        ]);
        assert_eq!(
            frame(blocks, json!({ "who": "Ada" })),
            "wiki.search\nAda wrote it.\nnot shown here: image\na page\n2 lines more\n\
             warning: redacted_email x1"
        );
        let structured = frame(json!([]), json!({ "who": "Ada" }));
        assert!(structured.contains("{\"who\":\"Ada\"}"), "{structured}");
    }
}
