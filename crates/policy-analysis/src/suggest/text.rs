//! Suggested rules as a policy document writes them.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_policy::{ArgumentPredicate, Effect, Match, Rule};
use weaver_text::escape;

use super::{SuggestedRule, Suggestions};
use crate::toml_text::quoted;

/// The rules of a suggestion, each with what it rests on and what it does not cover.
#[must_use]
pub fn policy_text(suggestions: &Suggestions) -> String {
    let mut out = String::new();
    for suggested in &suggestions.rules {
        out.push('\n');
        comment(&mut out, suggested);
        out.push_str(&rule_text(&suggested.rule));
    }
    out
}

fn comment(out: &mut String, suggested: &SuggestedRule) {
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

/// A rule as a policy document writes it. Only what suggestions use of the language is written:
/// capabilities, arguments, exclusions.
#[must_use]
pub fn rule_text(rule: &Rule) -> String {
    let effect = match rule.effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
        Effect::RequireApproval => "require_approval",
    };
    let mut out = String::from("[[rules]]\n");
    let _ = writeln!(out, "name = {}", toml(&Value::from(rule.name.as_str())));
    for (key, value) in members(&rule.matches) {
        let _ = writeln!(out, "match.{key} = {value}");
    }
    let _ = writeln!(out, "effect = \"{effect}\"");
    if !rule.reason.is_empty() {
        let _ = writeln!(out, "reason = {}", toml(&Value::from(rule.reason.as_str())));
    }
    out
}

/// The members of a match, each with its value.
fn members(matches: &Match) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    if !matches.capability.is_empty() {
        let ids = matches.capability.iter().map(|one| Value::from(one.as_str()));
        out.push(("capability", toml(&Value::Array(ids.collect()))));
    }
    if !matches.principal.is_empty() {
        let ids = matches.principal.iter().map(|one| Value::from(one.as_str()));
        out.push(("principal", toml(&Value::Array(ids.collect()))));
    }
    if !matches.arguments.is_empty() {
        let all = matches.arguments.iter().filter_map(|one| serde_json::to_value(one).ok());
        out.push(("arguments", toml(&Value::Array(all.collect()))));
    }
    if !matches.any.is_empty() {
        let all: Vec<String> = matches.any.iter().map(inline).collect();
        out.push(("any", format!("[{}]", all.join(", "))));
    }
    for (key, excluded) in [("not", &matches.not), ("unless", &matches.unless)] {
        if let Some(excluded) = excluded {
            out.push((key, inline(excluded)));
        }
    }
    out
}

/// A match as a policy document writes it in one line. As with [`rule_text`], only what suggestions
/// use of the language is written.
#[must_use]
pub fn match_text(matches: &Match) -> String {
    inline(matches)
}

/// A condition on an argument as a document writes it in one line.
#[must_use]
pub fn predicate_text(predicate: &ArgumentPredicate) -> Option<String> {
    serde_json::to_value(predicate).ok().map(|value| toml(&value))
}

fn inline(matches: &Match) -> String {
    let members = members(matches).into_iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
}

/// A value as TOML writes it in one line.
fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{} = {}", quoted_key(key), toml(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        // A document has no null, and no pattern holds one.
        Value::Null => "\"\"".to_owned(),
        other => other.to_string(),
    }
}

fn quoted_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { quoted(key) }
}
