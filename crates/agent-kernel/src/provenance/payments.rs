//! Recognises a payment that was made before: one request of the user asks for one.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_text::values;
use weaver_types::{Capability, SinkKind};

/// What a call pays, in one form however its values are written; `None` unless the call is a
/// payment. Only critical arguments count, so that another note makes no other payment.
pub(crate) fn payment_key(capability: &Capability, arguments: &Value) -> Option<String> {
    if capability.sink() != SinkKind::Payment {
        return None;
    }
    let critical = &capability.spec().critical_arguments;
    let is_critical = |name: &str| {
        critical.iter().any(|at| match at.as_str().split('/').nth(1) {
            Some(first) => first.replace("~1", "/").replace("~0", "~") == name,
            None => true,
        })
    };
    let mut out = capability.id().to_string();
    let mut members: Vec<(&String, &Value)> = arguments.as_object()?.iter().collect();
    members.retain(|(name, _)| is_critical(name));
    members.sort_by_key(|(name, _)| *name);
    for (name, value) in members {
        let _ = write!(out, "\n{name}");
        push_leaves(value, &mut out);
    }
    Some(out)
}

fn push_leaves(value: &Value, out: &mut String) {
    let text = match value {
        Value::Array(items) => return items.iter().for_each(|item| push_leaves(item, out)),
        Value::Object(members) => return members.values().for_each(|one| push_leaves(one, out)),
        Value::Null => return,
        Value::String(text) => text.trim().to_lowercase(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    let _ = write!(out, "\t{}", values::number(&text).unwrap_or(text));
}
