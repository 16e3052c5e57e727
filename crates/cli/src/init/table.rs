//! Prints the review as a table, by server.

use std::fmt::Write as _;

use weaver_gateway::setup::{Permission, PresentTool, Review, ReviewRow, Selection, ToolReview};
use weaver_policy_analysis::propose::ContractProposal;
use weaver_text::escape;
use weaver_types::{Effects, Impact, SensitivityTag, SinkKind, World};

use crate::output;

/// The longest reason in a row, in characters.
const MAX_REASON_CHARS: usize = 90;
/// The longest doubt about a tool, in characters.
const MAX_DOUBT_CHARS: usize = 400;

/// Every tool with its number, its permission, and the reason.
pub(super) fn review_table(review: &Review, selection: &Selection) -> String {
    let mut out = String::new();
    let width =
        review.rows().iter().map(|row| tool_name(row).chars().count()).max().unwrap_or(0).min(40);
    let mut server = "";
    for (index, row) in review.rows().iter().enumerate() {
        if row.server != server {
            server = &row.server;
            let known = selection.servers.iter().find(|one| one.name == row.server);
            let from: Vec<&str> =
                known.iter().flat_map(|one| &one.origins).map(|one| one.client.as_str()).collect();
            let from =
                if from.is_empty() { String::new() } else { format!("  from {}", from.join(", ")) };
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(out, "\n{}{}", output::bold(server), output::dim(&from));
        }
        let mark = if row.doubt.is_some() { "?" } else { " " };
        let masked = if hides_personal_data(row) { "; masks personal data" } else { "" };
        let why = row.doubt.clone().unwrap_or_else(|| effect(&row.proposal).to_owned()) + masked;
        let why = escape::shorten(&why, MAX_REASON_CHARS);
        let permission = permission_text(row.permission);
        let _ = writeln!(
            out,
            "{:>4} {mark} {:<width$}  {permission}  {}",
            index + 1,
            escape::line(tool_name(row)),
            output::dim(&why),
        );
    }
    out
}

/// Whether an agent sees masks in place of the names and addresses in a tool's results.
fn hides_personal_data(row: &ReviewRow) -> bool {
    row.proposal.sensitivity.contains(&SensitivityTag::Pii) && row.permission != Permission::Deny
}

/// How to let an agent see what is masked; `None` if nothing is.
pub(super) fn personal_data_note(review: &Review) -> Option<String> {
    let many = review.rows().iter().filter(|row| hides_personal_data(row)).count();
    (many > 0).then(|| {
        format!(
            "{} with personal data (tag `pii`): the agent reads masks such as [FIELD_1] in place of names and\n\
             addresses. Take `pii` out of `sensitivity` in a contract to show them, or some kinds of them with\n\
             `reveal` (docs/concepts/masks.md); then sign it: weaver sign policy/contracts.toml",
            output::counted(many, "tool")
        )
    })
}

fn tool_name(row: &ReviewRow) -> &str {
    row.id.as_str().split_once('.').map_or(row.id.as_str(), |(_, name)| name)
}

fn permission_text(permission: Permission) -> String {
    let word = format!("{:<5}", permission.as_str());
    match permission {
        Permission::Allow => output::good(&word),
        Permission::Ask => output::bold(&word),
        Permission::Deny => output::bad(&word),
    }
}

/// What a tool with this contract does, in a few words.
pub(super) fn effect(proposal: &ContractProposal) -> &'static str {
    effect_text(proposal.effects, proposal.sink)
}

/// What a tool with these effects does, in a few words.
pub(super) fn effect_text(effects: Effects, sink: Option<SinkKind>) -> &'static str {
    // Without a sink the strictest counts, which says nothing of access.
    let strictest = Some(effects.strictest_sink()).filter(|sink| *sink != SinkKind::Credential);
    match sink.or(strictest).unwrap_or(SinkKind::None) {
        SinkKind::Payment => return "moves or commits money",
        SinkKind::Credential => return "gives or changes access",
        SinkKind::ExternalSend if effects.writes() => return "sends something out",
        SinkKind::ExternalSend => return "reads from outside; asks after untrusted reads",
        _ => {}
    }
    match (effects.impact, effects.world) {
        (Impact::Read, World::Closed) => "reads on this machine",
        (Impact::Read, World::Open) => "reads from outside",
        (Impact::Write, World::Closed) => "writes on this machine",
        (Impact::Write, World::Open) => "writes outside",
        (Impact::Destroy, _) => "may destroy",
    }
}

/// How a gateway treats a tool, in a few words.
pub(super) fn present_text(tool: &PresentTool) -> String {
    let class = match tool.class {
        Some((effects, sink)) => effect_text(effects, sink),
        None => "no contract",
    };
    let changed = if tool.is_changed { ", changed since" } else { "" };
    format!("{} {class}{changed}", permission_text(tool.permission))
}

/// How a tool would be set up now.
pub(super) fn proposed_text(row: &ReviewRow) -> String {
    format!("{} {}", permission_text(row.permission), effect(&row.proposal))
}

/// Every tool with its number, how the gateway treats it, and how it would be set up now where that
/// differs.
pub(super) fn present_table(review: &ToolReview) -> String {
    let mut out = String::new();
    let rows = review.review().rows();
    let width = rows.iter().map(|row| tool_name(row).chars().count()).max().unwrap_or(0).min(40);
    let mut server = "";
    for (index, row) in rows.iter().enumerate() {
        if row.server != server {
            server = &row.server;
            let _ = writeln!(out, "\n{}", output::bold(server));
        }
        let present = review.present(&row.id).map(present_text).unwrap_or_default();
        let proposed = proposed_text(row);
        let today = match proposed == present {
            true => String::new(),
            false => output::dim(&format!(
                "  today: {} {}",
                row.permission.as_str(),
                effect(&row.proposal)
            )),
        };
        let _ = writeln!(
            out,
            "{:>4}   {:<width$}  {present}{today}",
            index + 1,
            escape::line(tool_name(row)),
        );
        if let Some(doubt) = row.doubt.as_ref().filter(|_| row.permission == Permission::Deny) {
            let _ =
                writeln!(out, "       {}", output::dim(&escape::shorten(doubt, MAX_DOUBT_CHARS)));
        }
    }
    out
}

/// How many tools are allowed, held and refused.
pub(super) fn summary(review: &Review) -> String {
    let counts = review.counts();
    let words = [("allow", "allowed"), ("ask", "held for a person"), ("deny", "refused")];
    let parts = words.iter().filter_map(|(key, word)| Some(format!("{} {word}", counts.get(key)?)));
    format!("{} tools: {}", review.rows().len(), parts.collect::<Vec<_>>().join(", "))
}
