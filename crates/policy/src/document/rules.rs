//! Rules, as documents write them.

use super::authority;
use super::node::Node;
use super::page::{Page, shown};
use crate::rule::{Effect, JustificationNeed, Match, Require, Roles, Rule};

const RULE: [&str; 7] =
    ["name", "match", "require", "effect", "reason", "constraints", "authority"];
const MATCH: [&str; 9] =
    ["capability", "effects", "class", "rung", "principal", "roles", "agent", "operation", "mode"];
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

fn matches(page: &mut Page<'_>, node: &Node<'_>) -> Match {
    let mut out = Match::default();
    let Some(section) = node.section(page, &MATCH) else { return out };
    if let Some(node) = section.get("capability") {
        out.capability = node.patterns(page);
    }
    if let Some(node) = section.get("effects") {
        effects(page, &node, &mut out);
    }
    if let Some(node) = section.get("class") {
        out.class = node.words(page);
    }
    if let Some(node) = section.get("rung") {
        out.rung = node.words(page);
    }
    if let Some(node) = section.get("principal") {
        out.principal = node.patterns(page);
    }
    if let Some(node) = section.get("roles") {
        out.roles = roles(page, &node);
    }
    if let Some(node) = section.get("agent") {
        out.agent = node.patterns(page);
    }
    if let Some(node) = section.get("operation") {
        out.operation = node.words(page);
    }
    if let Some(node) = section.get("mode") {
        out.mode = node.words(page);
    }
    out
}

fn effects(page: &mut Page<'_>, node: &Node<'_>, out: &mut Match) {
    let Some(section) = node.section(page, &["impact", "world"]) else { return };
    not_empty(page, node, section.is_empty());
    if let Some(node) = section.get("impact") {
        out.impact = node.words(page);
    }
    if let Some(node) = section.get("world") {
        out.world = node.words(page);
    }
}

fn roles(page: &mut Page<'_>, node: &Node<'_>) -> Roles {
    let mut out = Roles::default();
    let Some(section) = node.section(page, &["any", "all"]) else { return out };
    not_empty(page, node, section.is_empty());
    if let Some(node) = section.get("any") {
        out.any = node.some_texts(page);
    }
    if let Some(node) = section.get("all") {
        out.all = node.some_texts(page);
    }
    out
}

fn not_empty(page: &mut Page<'_>, node: &Node<'_>, empty: bool) {
    if empty {
        node.wrong(
            page,
            "policy.empty_table",
            "an empty table says nothing",
            "fill it or leave it out",
        );
    }
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
        let entries = node.entries(page);
        not_empty(page, &node, entries.is_empty());
        for (name, node) in entries {
            if let Some(pattern) = node.pattern(page) {
                out.attributes.insert(name.to_owned(), pattern);
            }
        }
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
