//! Prints the review as a table, by server.

use std::fmt::Write as _;

use weaver_gateway::setup::{Permission, Review, ReviewRow, Selection};
use weaver_policy_analysis::propose::ContractProposal;
use weaver_text::escape;
use weaver_types::{Impact, SensitivityTag, SinkKind, World};

use crate::output;

/// The longest reason in a row, in characters.
const MAX_REASON_CHARS: usize = 90;

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
    match proposal.effective_sink() {
        SinkKind::Payment => return "moves or commits money",
        SinkKind::Credential if proposal.sink.is_some() => return "gives or changes access",
        SinkKind::ExternalSend if proposal.effects.writes() => return "sends something out",
        _ => {}
    }
    match (proposal.effects.impact, proposal.effects.world) {
        (Impact::Read, World::Closed) => "reads on this machine",
        (Impact::Read, World::Open) => "reads from outside",
        (Impact::Write, World::Closed) => "writes on this machine",
        (Impact::Write, World::Open) => "writes outside",
        (Impact::Destroy, _) => "may destroy",
    }
}

/// How many tools are allowed, held and refused.
pub(super) fn summary(review: &Review) -> String {
    let counts = review.counts();
    let words = [("allow", "allowed"), ("ask", "held for a person"), ("deny", "refused")];
    let parts = words.iter().filter_map(|(key, word)| Some(format!("{} {word}", counts.get(key)?)));
    format!("{} tools: {}", review.rows().len(), parts.collect::<Vec<_>>().join(", "))
}
