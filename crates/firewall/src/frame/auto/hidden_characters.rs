//! Tells the model of hidden characters that a frame shows as escapes such as `\u{200f}`.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::{Frame, RawContent, RawResult};

use crate::redact::{Redactor, escaped_characters};

/// The note on the hidden characters that a frame shows as escapes; `None` if it has none. From now
/// on they are put back where arguments of the run have such an escape.
pub(super) fn note(frame: &Frame, raw: &RawResult, redactor: &Redactor) -> Option<String> {
    let mut shown = BTreeSet::new();
    let values = frame.content.iter().chain(&frame.structured);
    values.for_each(|value| collect(value, &mut shown));
    if shown.is_empty() {
        return None;
    }
    // Of an escape that the result itself has, nobody could say what it stands for.
    let mut literal = BTreeSet::new();
    match &raw.content {
        RawContent::Json(value) => collect(value, &mut literal),
        RawContent::Rows(rows) => literal.extend(escaped_characters(rows.text())),
        RawContent::Text(text) => literal.extend(escaped_characters(text)),
        RawContent::Binary { bytes, .. } => {
            literal.extend(escaped_characters(&String::from_utf8_lossy(bytes)));
        }
    }
    if let Some(laid_out) = &raw.blocks {
        laid_out.blocks.iter().for_each(|block| collect(block, &mut literal));
    }
    shown.retain(|c| !literal.contains(c));
    let example = shown.first().copied();
    let are_put_back = redactor.record_escapes(&shown, &literal);
    let example = example.map(|c| c.escape_unicode())?;
    Some(match are_put_back {
        true => format!(
            "Hidden characters are shown as escapes such as `{example}`; such an escape in an \
             argument stands for the character."
        ),
        false => format!("Hidden characters are shown as escapes such as `{example}`."),
    })
}

fn collect(value: &Value, found: &mut BTreeSet<char>) {
    match value {
        Value::String(text) => found.extend(escaped_characters(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                found.extend(escaped_characters(name));
                collect(field, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
