//! Arguments that decide where a call goes although their values say nothing: an empty list of further
//! receivers, and what the contract declares critical under a name of its own.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_types::JsonPointer;

/// Requires that these arguments are as they were, unless a condition names them already: those that
/// are declared, and all that are empty and no text for people, a time or a setting.
pub(super) fn require_unchanged(
    matches: &mut MatchConditions,
    arguments: &Value,
    declared: &BTreeSet<JsonPointer>,
) {
    let members = arguments.as_object().into_iter().flatten();
    let empty = members.filter(|(name, value)| is_empty(value) && may_decide(name)).filter_map(
        |(name, _)| JsonPointer::parse(&format!("/{}", JsonPointer::escape_step(name))).ok(),
    );
    let places: BTreeSet<JsonPointer> = declared.iter().cloned().chain(empty).collect();
    for at in places {
        let is_named = |predicate: &ArgumentPredicate| is_within(&predicate.at, &at);
        let Some(value) = at.find(arguments) else { continue };
        if matches.arguments.iter().any(is_named) {
            continue;
        }
        let as_it_was = match value {
            // A policy in TOML has no null, and null counts as absent.
            Value::Null => ArgumentPredicate { present: Some(false), ..ArgumentPredicate::at(at) },
            value => ArgumentPredicate { equals: Some(value.clone()), ..ArgumentPredicate::at(at) },
        };
        matches.arguments.push(as_it_was);
    }
}

/// Whether one place is the other, or in it.
fn is_within(inner: &JsonPointer, outer: &JsonPointer) -> bool {
    inner
        .as_str()
        .strip_prefix(outer.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

fn may_decide(name: &str) -> bool {
    let role = critical::argument_role(name);
    !matches!(role, ArgumentRole::Text | ArgumentRole::Time | ArgumentRole::Setting)
}
