//! Arguments that decide what a call does although their values name no place and no receiver: a switch
//! (`public`), a choice (`acl`), an object of options, an empty list of further receivers, and all that
//! the call did not have.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_types::JsonPointer;

use super::allow_proposal::AllowScope;

/// Requires that arguments are as they were, unless a condition names them already: for the same call all
/// but the `free` ones, for a similar one those whose other values are not similar.
pub(super) fn require_unchanged(
    matches: &mut MatchConditions,
    arguments: &Value,
    declared: &BTreeSet<JsonPointer>,
    free: &BTreeSet<JsonPointer>,
    scope: AllowScope,
) {
    let members = arguments.as_object().into_iter().flatten();
    let bound = members.filter_map(|(name, value)| {
        let at = pointer_to(name)?;
        let is_bound = match scope {
            AllowScope::Same => !free.contains(&at),
            AllowScope::Similar => is_bound_in_similar(name, value),
            AllowScope::Tool => false,
        };
        is_bound.then_some(at)
    });
    let places: BTreeSet<JsonPointer> = declared.iter().cloned().chain(bound).collect();
    for at in places {
        let Some(value) = at.find(arguments) else { continue };
        // A condition on one member says nothing about the others.
        let is_named = |predicate: &ArgumentPredicate| match scope {
            AllowScope::Same => predicate.at == at,
            _ => is_within(&predicate.at, &at),
        };
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

/// Requires that a call has no argument that this one does not have: it could make another call of it, and
/// a tool takes some that its schema does not declare.
pub(super) fn require_no_others(matches: &mut MatchConditions, arguments: &Value) {
    let names: Vec<String> =
        arguments.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let is_listed = !names.is_empty() && names.iter().all(|name| !name.is_empty());
    if let (true, Ok(whole_call)) = (is_listed, JsonPointer::parse("")) {
        let only = ArgumentPredicate { only_members: names, ..ArgumentPredicate::at(whole_call) };
        matches.arguments.push(only);
    }
}

pub(super) fn pointer_to(name: &str) -> Option<JsonPointer> {
    JsonPointer::parse(&format!("/{}", JsonPointer::escape_step(name))).ok()
}

/// Whether one place is the other, or in it.
pub(super) fn is_within(inner: &JsonPointer, outer: &JsonPointer) -> bool {
    inner
        .as_str()
        .strip_prefix(outer.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_bound_in_similar(name: &str, value: &Value) -> bool {
    let role = critical::argument_role(name);
    let is_text = matches!(role, ArgumentRole::Text | ArgumentRole::Time);
    match value {
        Value::Object(_) | Value::Bool(_) => true,
        Value::Null => !is_text,
        Value::Array(items) => items.is_empty() && !is_text,
        Value::String(text) => role == ArgumentRole::Setting || text.trim().is_empty() && !is_text,
        Value::Number(_) => false,
    }
}
