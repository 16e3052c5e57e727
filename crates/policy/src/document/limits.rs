//! Limits, severities and bounds of approvals, as documents write them.

use weaver_types::Rung;

use super::authority::authority;
use super::matches::{empty_table, matches};
use super::node::Node;
use super::reader::DocumentReader;
use crate::bounds::{ApprovalBounds, StandingBounds};
use crate::limit::{Limit, MAX_CALLS, MAX_WINDOW, RoleLimit};
use crate::signal::{SeverityThresholds, SignalTable};

/// The most uses of a standing approval, and its longest life in seconds.
const MAX_USES: u32 = 1_000_000;
const MAX_LIFETIME: u64 = 31_536_000;

/// Reads one limit.
pub(super) fn limit(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Limit {
    let known = ["name", "match", "max_calls", "window_s", "by", "for_roles"];
    let mut out = Limit::new("", 1, 1);
    let Some(section) = node.section(reader, &known) else { return out };
    let name = section.need(reader, "name").and_then(|n| n.text(reader)).unwrap_or_default();
    name.clone_into(&mut out.name);
    if let Some(node) = section.need(reader, "match") {
        out.matches = matches(reader, &node);
    }
    if let Some(calls) =
        section.need(reader, "max_calls").and_then(|n| within(reader, &n, MAX_CALLS))
    {
        out.max_calls = calls;
    }
    if let Some(window) =
        section.need(reader, "window_s").and_then(|n| within(reader, &n, MAX_WINDOW))
    {
        out.window_s = window;
    }
    if let Some(node) = section.get("by") {
        out.by = node.words(reader);
    }
    if let Some(node) = section.get("for_roles") {
        let nodes = node.one_or_many(reader);
        out.for_roles = nodes.iter().filter_map(|node| role_limit(reader, node)).collect();
    }
    out
}

fn role_limit(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<RoleLimit> {
    let section = node.section(reader, &["any", "max_calls"])?;
    let any = section.need(reader, "any").map(|n| n.some_texts(reader));
    let calls = section.need(reader, "max_calls").and_then(|n| within(reader, &n, MAX_CALLS));
    Some(RoleLimit { any: any?, max_calls: calls? })
}

fn within(reader: &mut DocumentReader<'_>, node: &Node<'_>, most: u32) -> Option<u32> {
    node.number(reader, 1..=most.into()).and_then(|n| u32::try_from(n).ok())
}

/// Reads what signals do.
pub(super) fn signals(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> SignalTable {
    let mut out = SignalTable::default();
    let known = ["info", "warning", "critical", "low_confidence", "unavailable"];
    let Some(section) = node.section(reader, &known) else { return out };
    let all = [
        &mut out.info, &mut out.warning, &mut out.critical, &mut out.low_confidence,
        &mut out.unavailable,
    ];
    for (name, reach) in known.into_iter().zip(all) {
        if let Some(node) = section.get(name) {
            *reach = read_reach(reader, &node);
        }
    }
    out
}

fn read_reach(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> SeverityThresholds {
    let Some(section) = node.section(reader, &["hold_from", "deny_from"]) else {
        return SeverityThresholds::default();
    };
    if section.is_empty() {
        empty_table(reader, node);
    }
    SeverityThresholds {
        hold_from: section.get("hold_from").and_then(|n| rung_or_never(reader, &n)),
        deny_from: section.get("deny_from").and_then(|n| rung_or_never(reader, &n)),
    }
}

fn rung_or_never(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Rung> {
    if node.text(reader)? == "never" { None } else { node.word(reader) }
}

/// Reads how approvals are given.
pub(super) fn approvals(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> ApprovalBounds {
    let mut out = ApprovalBounds::default();
    let known = ["ttl_s", "clock_skew_s", "floor", "flow", "signal", "standing"];
    let Some(section) = node.section(reader, &known) else { return out };
    let seconds = |n: u64| u32::try_from(n).ok();
    if let Some(ttl) = section.get("ttl_s").and_then(|n| n.number(reader, 60..=604_800)) {
        out.ttl_s = seconds(ttl).unwrap_or(out.ttl_s);
    }
    if let Some(skew) = section.get("clock_skew_s").and_then(|n| n.number(reader, 0..=300)) {
        out.clock_skew_s = seconds(skew).unwrap_or(out.clock_skew_s);
    }
    out.floor = section.get("floor").map(|n| authority(reader, &n)).unwrap_or_default();
    out.flow = section.get("flow").map(|n| authority(reader, &n)).unwrap_or_default();
    out.signal = section.get("signal").map(|n| authority(reader, &n)).unwrap_or_default();
    if let Some(node) = section.get("standing") {
        out.standing = standing(reader, &node);
    }
    out
}

fn standing(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> StandingBounds {
    let mut out = StandingBounds::default();
    let known = ["max_uses", "max_lifetime_s", "authority"];
    let Some(section) = node.section(reader, &known) else { return out };
    if let Some(uses) = section.get("max_uses").and_then(|n| within(reader, &n, MAX_USES)) {
        out.max_uses = uses;
    }
    let lifetime = section.get("max_lifetime_s").and_then(|n| n.number(reader, 60..=MAX_LIFETIME));
    out.max_lifetime_s = lifetime.unwrap_or(out.max_lifetime_s);
    out.authority = section.get("authority").map(|n| authority(reader, &n)).unwrap_or_default();
    out
}
