//! Writes suggested rules in the syntax of a policy document.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use weaver_policy::{ArgumentPredicate, Effect, MatchConditions, Pattern, Rule};
use weaver_text::escape;

use super::{SuggestedRule, Suggestions};
use crate::toml_text::toml_string;

/// The suggested rules, each with its evidence and what it does not cover.
#[must_use]
pub fn policy_text(suggestions: &Suggestions) -> String {
    let mut out = String::new();
    for suggested in &suggestions.rules {
        out.push('\n');
        write_comment(&mut out, suggested);
        out.push_str(&rule_text(&suggested.rule));
    }
    out
}

fn write_comment(out: &mut String, suggested: &SuggestedRule) {
    let SuggestedRule { calls, after_untrusted, not_covered, uncalled, .. } = suggested;
    let calls = if *calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    let calls = if uncalled.is_empty() {
        calls
    } else {
        format!("no call; others of the same server made {calls}")
    };
    let after = match after_untrusted {
        0 => String::new(),
        many => format!(", {many} after untrusted data"),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# From {calls}{after}. Not covered: {}.", escape::line(not_covered));
}

/// Named lists of patterns, as a policy document defines them.
pub type PatternLists = BTreeMap<String, Vec<Pattern>>;

/// Writes a rule for a policy document. Supports only what suggestions and setups use: capabilities,
/// principals, effects, arguments and exclusions.
#[must_use]
pub fn rule_text(rule: &Rule) -> String {
    rule_text_with_lists(rule, &PatternLists::new())
}

/// Like [`rule_text`]. Where an argument is tested for the patterns of one of these lists, the list
/// is named instead.
#[must_use]
pub fn rule_text_with_lists(rule: &Rule, lists: &PatternLists) -> String {
    let effect = match rule.effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
        Effect::RequireApproval => "require_approval",
    };
    let mut out = String::from("[[rules]]\n");
    let _ = writeln!(out, "name = {}", inline_toml(&Value::from(rule.name.as_str())));
    for (key, value) in condition_entries(&rule.matches, lists) {
        let _ = writeln!(out, "match.{key} = {value}");
    }
    let _ = writeln!(out, "effect = \"{effect}\"");
    if !rule.reason.is_empty() {
        let _ = writeln!(out, "reason = {}", inline_toml(&Value::from(rule.reason.as_str())));
    }
    out
}

/// The keys of match conditions with their values.
fn condition_entries(
    matches: &MatchConditions,
    lists: &PatternLists,
) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    if !matches.capability.is_empty() {
        let ids = matches.capability.iter().map(|one| Value::from(one.as_str()));
        out.push(("capability", inline_toml(&Value::Array(ids.collect()))));
    }
    if !matches.principal.is_empty() {
        let ids = matches.principal.iter().map(|one| Value::from(one.as_str()));
        out.push(("principal", inline_toml(&Value::Array(ids.collect()))));
    }
    let mut effects = serde_json::Map::new();
    if !matches.impact.is_empty() {
        effects.insert("impact".to_owned(), json!(matches.impact));
    }
    if !matches.world.is_empty() {
        effects.insert("world".to_owned(), json!(matches.world));
    }
    if !effects.is_empty() {
        out.push(("effects", inline_toml(&Value::Object(effects))));
    }
    if !matches.arguments.is_empty() {
        let all = matches.arguments.iter().filter_map(|one| predicate_value(one, lists));
        out.push(("arguments", inline_toml(&Value::Array(all.collect()))));
    }
    if !matches.any.is_empty() {
        let all: Vec<String> =
            matches.any.iter().map(|one| inline_conditions(one, lists)).collect();
        out.push(("any", format!("[{}]", all.join(", "))));
    }
    for (key, excluded) in [("not", &matches.not), ("unless", &matches.unless)] {
        if let Some(excluded) = excluded {
            out.push((key, inline_conditions(excluded, lists)));
        }
    }
    out
}

/// Writes match conditions on one line. Like [`rule_text`], it supports only what suggestions use.
#[must_use]
pub fn match_text(matches: &MatchConditions) -> String {
    inline_conditions(matches, &PatternLists::new())
}

/// Writes an argument predicate on one line.
#[must_use]
pub fn predicate_text(predicate: &ArgumentPredicate) -> Option<String> {
    serde_json::to_value(predicate).ok().map(|value| inline_toml(&value))
}

/// A predicate as JSON, with the names of lists in place of their patterns.
fn predicate_value(predicate: &ArgumentPredicate, lists: &PatternLists) -> Option<Value> {
    let mut value = serde_json::to_value(predicate).ok()?;
    let tests = [
        ("glob", &predicate.glob),
        ("glob_any_case", &predicate.glob_any_case),
        ("any_path", &predicate.any_path),
    ];
    for (test, patterns) in tests {
        let named = lists.iter().find(|(_, listed)| !listed.is_empty() && *listed == patterns);
        if let (Some((name, _)), Some(tests)) = (named, value.as_object_mut()) {
            tests.insert(test.to_owned(), json!({ "list": name }));
        }
    }
    Some(value)
}

fn inline_conditions(matches: &MatchConditions, lists: &PatternLists) -> String {
    let members = condition_entries(matches, lists)
        .into_iter()
        .map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
}

/// Writes a value as inline TOML.
fn inline_toml(value: &Value) -> String {
    match value {
        Value::String(text) => toml_string(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{} = {}", quoted_key(key), inline_toml(value))
            };
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        // TOML has no null, and no pattern contains one.
        Value::Null => "\"\"".to_owned(),
        other => other.to_string(),
    }
}

fn quoted_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { toml_string(key) }
}
