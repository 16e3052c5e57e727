//! Rules, as documents write them.

use weaver_types::ReasonCode;

use super::authority;
use super::matches::{fitting, matches, not_empty, roles};
use super::node::Node;
use super::page::{Page, shown};
use crate::rule::{DENY_CODES, Effect, JustificationNeed, Require, Rule};

const RULE: [&str; 8] =
    ["name", "match", "require", "effect", "reason", "code", "constraints", "authority"];
const REQUIRE: [&str; 4] = ["roles", "permissions", "attributes", "justification"];

/// Reads one rule. What could not be read was noted, so that the place of the other rules stays.
pub(super) fn rule(page: &mut Page<'_>, node: &Node<'_>) -> Rule {
    let Some(section) = node.section(page, &RULE) else { return Rule::new("", Effect::Deny) };
    let name = section.need(page, "name").and_then(|n| n.text(page)).unwrap_or_default();
    let effect = section.need(page, "effect").and_then(|n| effect(page, &n));
    let mut rule = Rule::new(name, effect.unwrap_or(Effect::Deny));
    if let Some(node) = section.need(page, "match") {
        rule.matches = matches(page, &node);
    }
    if let Some(node) = section.get("require") {
        rule.require = require(page, &node);
    }
    if let Some(node) = section.get("reason") {
        rule.reason = node.text(page).unwrap_or_default().to_owned();
    }
    rule.code = section.get("code").and_then(|n| code(page, &n));
    if let Some(node) = section.get("constraints") {
        rule.constraints = authority::constraints(page, &node);
    }
    if let Some(node) = section.get("authority") {
        rule.authority = authority::authority(page, &node);
    }
    rule
}

fn effect(page: &mut Page<'_>, node: &Node<'_>) -> Option<Effect> {
    let word = node.text(page)?;
    let all = [Effect::Allow, Effect::Deny, Effect::RequireApproval];
    let found = all.into_iter().find(|effect| effect.as_str() == word);
    if found.is_none() {
        let message = format!("unknown effect `{}`", shown(word));
        node.wrong(page, "policy.word", message, "write allow, deny or require_approval");
    }
    found
}

fn code(page: &mut Page<'_>, node: &Node<'_>) -> Option<ReasonCode> {
    let word = node.text(page)?;
    let found = DENY_CODES.iter().map(|(code, _)| *code).find(|code| code.as_str() == word);
    if found.is_none() {
        let names = DENY_CODES.map(|(code, _)| code.as_str());
        let remedy = match weaver_text::suggest::nearest(word, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", names.join(", ")),
        };
        let message = format!("unknown code `{}`", shown(word));
        node.wrong(page, "policy.word", message, remedy);
    }
    found
}

fn require(page: &mut Page<'_>, node: &Node<'_>) -> Require {
    let mut out = Require::default();
    let Some(section) = node.section(page, &REQUIRE) else { return out };
    not_empty(page, node, section.is_empty());
    if let Some(node) = section.get("roles") {
        out.roles = roles(page, &node);
    }
    if let Some(node) = section.get("permissions") {
        out.permissions = node.some_texts(page);
    }
    if let Some(node) = section.get("attributes") {
        out.attributes = fitting(page, &node);
    }
    if let Some(node) = section.get("justification") {
        out.justification = Some(justification(page, &node));
    }
    out
}

fn justification(page: &mut Page<'_>, node: &Node<'_>) -> JustificationNeed {
    let mut out = JustificationNeed::default();
    let Some(section) = node.section(page, &["min_chars", "sources"]) else { return out };
    if let Some(chars) = section.get("min_chars").and_then(|n| n.count(page, 1)) {
        out.min_chars = chars;
    }
    if let Some(node) = section.get("sources") {
        out.sources = node.words(page);
    }
    out
}
