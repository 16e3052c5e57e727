//! Reads rate limits, signal thresholds and approval settings of a policy.

use weaver_types::Rung;

use super::authority::authority;
use super::matches::{matches, report_empty_table};
use super::node::Node;
use super::reader::DocumentReader;
use crate::policy_settings::{ApprovalSettings, StandingApprovalBounds};
use crate::rate_limit::{MAX_LIMIT_CALLS, MAX_LIMIT_WINDOW_S, RateLimit, RoleLimit};
use crate::signal::{RungThresholds, SignalTable};

/// The upper limits for a standing approval's uses and for its lifetime in seconds.
const MAX_USES: u32 = 1_000_000;
const MAX_LIFETIME: u64 = 31_536_000;

/// Reads one rate limit.
pub(super) fn limit(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> RateLimit {
    let known = ["name", "match", "max_calls", "window_s", "by", "for_roles"];
    let mut out = RateLimit::new("", 1, 1);
    let Some(section) = node.section(reader, &known) else { return out };
    let name = section.required(reader, "name").and_then(|n| n.text(reader)).unwrap_or_default();
    name.clone_into(&mut out.name);
    if let Some(node) = section.required(reader, "match") {
        out.matches = matches(reader, &node);
    }
    if let Some(calls) = section
        .required(reader, "max_calls")
        .and_then(|n| bounded_number(reader, &n, MAX_LIMIT_CALLS))
    {
        out.max_calls = calls;
    }
    if let Some(window) = section
        .required(reader, "window_s")
        .and_then(|n| bounded_number(reader, &n, MAX_LIMIT_WINDOW_S))
    {
        out.window_s = window;
    }
    if let Some(node) = section.get("by") {
        out.by = node.keywords(reader);
    }
    if let Some(node) = section.get("for_roles") {
        let nodes = node.one_or_many(reader);
        out.for_roles = nodes.iter().filter_map(|node| role_limit(reader, node)).collect();
    }
    out
}

fn role_limit(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<RoleLimit> {
    let section = node.section(reader, &["any", "max_calls"])?;
    let any = section.required(reader, "any").map(|n| n.nonempty_texts(reader));
    let calls = section
        .required(reader, "max_calls")
        .and_then(|n| bounded_number(reader, &n, MAX_LIMIT_CALLS));
    Some(RoleLimit { any: any?, max_calls: calls? })
}

fn bounded_number(reader: &mut DocumentReader<'_>, node: &Node<'_>, most: u32) -> Option<u32> {
    node.number(reader, 1..=most.into()).and_then(|n| u32::try_from(n).ok())
}

/// Reads the thresholds from which signals hold or deny calls.
pub(super) fn signals(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> SignalTable {
    let mut out = SignalTable::default();
    let known = ["info", "warning", "critical", "low_confidence", "unavailable"];
    let Some(section) = node.section(reader, &known) else { return out };
    let all = [
        &mut out.info, &mut out.warning, &mut out.critical, &mut out.low_confidence,
        &mut out.unavailable,
    ];
    for (name, limits_of_severity) in known.into_iter().zip(all) {
        if let Some(node) = section.get(name) {
            *limits_of_severity = thresholds(reader, &node);
        }
    }
    out
}

fn thresholds(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> RungThresholds {
    let Some(section) = node.section(reader, &["hold_from", "deny_from"]) else {
        return RungThresholds::default();
    };
    if section.is_empty() {
        report_empty_table(reader, node);
    }
    RungThresholds {
        hold_from: section.get("hold_from").and_then(|n| rung_or_never(reader, &n)),
        deny_from: section.get("deny_from").and_then(|n| rung_or_never(reader, &n)),
    }
}

fn rung_or_never(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Rung> {
    if node.text(reader)? == "never" { None } else { node.keyword(reader) }
}

/// Reads the approval settings.
pub(super) fn approvals(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> ApprovalSettings {
    let mut out = ApprovalSettings::default();
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
        out.standing = standing_approval_bounds(reader, &node);
    }
    out
}

fn standing_approval_bounds(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
) -> StandingApprovalBounds {
    let mut out = StandingApprovalBounds::default();
    let known = ["max_uses", "max_lifetime_s", "authority"];
    let Some(section) = node.section(reader, &known) else { return out };
    if let Some(uses) = section.get("max_uses").and_then(|n| bounded_number(reader, &n, MAX_USES)) {
        out.max_uses = uses;
    }
    let lifetime = section.get("max_lifetime_s").and_then(|n| n.number(reader, 60..=MAX_LIFETIME));
    out.max_lifetime_s = lifetime.unwrap_or(out.max_lifetime_s);
    out.authority = section.get("authority").map(|n| authority(reader, &n)).unwrap_or_default();
    out
}
