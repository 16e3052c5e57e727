//! Reads rules of a policy document.

use weaver_types::ReasonCode;

use super::authority;
use super::keywords::remedy_among;
use super::matches::{attribute_patterns, matches, name_condition, report_empty_table};
use super::node::Node;
use super::reader::{DocumentReader, excerpt};
use crate::rule::{DENY_RULE_CODES, Effect, JustificationRequirement, Requirements, Rule};

const RULE: [&str; 9] = [
    "name", "match", "require", "effect", "enforcement", "reason", "code", "constraints",
    "authority",
];
const REQUIRE: [&str; 4] = ["roles", "permissions", "attributes", "justification"];

/// Reads one rule. If it cannot be read, a finding is reported and a placeholder returned, so the
/// indexes of the other rules stay correct.
pub(super) fn rule(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Rule {
    let Some(section) = node.section(reader, &RULE) else { return Rule::new("", Effect::Deny) };
    let name = section.required(reader, "name").and_then(|n| n.text(reader)).unwrap_or_default();
    let effect = section.required(reader, "effect").and_then(|n| effect(reader, &n));
    let mut rule = Rule::new(name, effect.unwrap_or(Effect::Deny));
    if let Some(node) = section.required(reader, "match") {
        rule.matches = matches(reader, &node);
    }
    if let Some(node) = section.get("require") {
        rule.require = require(reader, &node);
    }
    if let Some(node) = section.get("reason") {
        rule.reason = node.text(reader).unwrap_or_default().to_owned();
    }
    rule.enforcement = section.get("enforcement").and_then(|n| n.keyword(reader));
    rule.code = section.get("code").and_then(|n| code(reader, &n));
    if let Some(node) = section.get("constraints") {
        rule.constraints = authority::constraints(reader, &node);
    }
    if let Some(node) = section.get("authority") {
        rule.authority = authority::authority(reader, &node);
    }
    rule
}

fn effect(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Effect> {
    let word = node.text(reader)?;
    let all = [Effect::Allow, Effect::Deny, Effect::RequireApproval];
    let found = all.into_iter().find(|effect| effect.as_str() == word);
    if found.is_none() {
        let message = format!("unknown effect `{}`", excerpt(word));
        node.report(reader, "policy.word", message, "write allow, deny or require_approval");
    }
    found
}

fn code(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<ReasonCode> {
    let word = node.text(reader)?;
    let found = DENY_RULE_CODES.iter().map(|(code, _)| *code).find(|code| code.as_str() == word);
    if found.is_none() {
        let remedy = remedy_among(word, &DENY_RULE_CODES.map(|(code, _)| code.as_str()));
        let message = format!("unknown code `{}`", excerpt(word));
        node.report(reader, "policy.word", message, remedy);
    }
    found
}

fn require(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Requirements {
    let mut out = Requirements::default();
    let Some(section) = node.section(reader, &REQUIRE) else { return out };
    if section.is_empty() {
        report_empty_table(reader, node);
    }
    if let Some(node) = section.get("roles") {
        out.roles = name_condition(reader, &node);
    }
    if let Some(node) = section.get("permissions") {
        out.permissions = node.nonempty_texts(reader);
    }
    if let Some(node) = section.get("attributes") {
        out.attributes = attribute_patterns(reader, &node);
    }
    if let Some(node) = section.get("justification") {
        out.justification = Some(justification(reader, &node));
    }
    out
}

fn justification(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> JustificationRequirement {
    let mut out = JustificationRequirement::default();
    let Some(section) = node.section(reader, &["min_chars", "sources"]) else { return out };
    if let Some(chars) = section.get("min_chars").and_then(|n| n.count(reader, 1)) {
        out.min_chars = chars;
    }
    if let Some(node) = section.get("sources") {
        out.sources = node.keywords(reader);
    }
    out
}
