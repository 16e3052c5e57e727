//! The rules that bound local writes: folders, statements, and places that nothing opens.

use std::collections::BTreeSet;

use weaver_policy::{Effect, Match, Pattern, Rule};
use weaver_policy_analysis::propose::{LocalWrite, ToolDescription, local_write};
use weaver_policy_analysis::suggest::rule_text;
use weaver_types::UpstreamName;

use super::review::ReviewRow;
use super::selection::ServerFolders;

/// A local write with the folders that its server was set up for.
#[derive(Debug, Clone)]
pub(super) struct LocalWriteBounds {
    pub(super) write: LocalWrite,
    folders: Vec<String>,
}

impl LocalWriteBounds {
    pub(super) fn of(
        server: &UpstreamName,
        tool: &ToolDescription<'_>,
        folders: &ServerFolders,
    ) -> Option<Self> {
        let folders = folders.get(server.as_str()).cloned().unwrap_or_default();
        let write = local_write(tool, &folders)?;
        Some(Self { write, folders })
    }
}

/// A rule of which tools share the match, while it is put together.
struct SharedRule {
    name: &'static str,
    reason: String,
    matches: Match,
    tools: BTreeSet<String>,
}

/// The rules for all local writes. Tools with the same bounds share one.
pub(super) fn rules(rows: &[ReviewRow]) -> String {
    let mut shared: Vec<SharedRule> = Vec::new();
    let mut add = |name, reason: String, matches: Match, row: &ReviewRow| {
        let id = row.id.to_string();
        match shared.iter_mut().find(|one| one.name == name && one.matches == matches) {
            Some(one) => drop(one.tools.insert(id)),
            None => shared.push(SharedRule { name, reason, matches, tools: [id].into() }),
        }
    };
    for row in rows {
        if let Some(options) = &row.option_injection {
            let reason = "a program would read an argument as an option, or as every file";
            add("options", reason.to_owned(), options.clone(), row);
        }
        let Some(LocalWriteBounds { write, folders }) = &row.local_write else { continue };
        if let Some(bounds) = write.bounds(folders) {
            let outside = Match { not: Some(Box::new(bounds)), ..Match::default() };
            add("out-of-bounds", why_outside(write, folders), outside, row);
        }
        if let Some(sensitive) = write.sensitive() {
            let reason = "keys, start-up files and the system are not for an agent to write";
            add("sensitive-places", reason.to_owned(), sensitive, row);
        }
    }
    let mut out = String::new();
    for (number, one) in shared.into_iter().enumerate() {
        let name = format!("{}-{}", one.name, number + 1);
        let mut rule = Rule::new(name, Effect::RequireApproval);
        rule.reason = one.reason;
        rule.matches = one.matches;
        let tools = one.tools.iter().filter_map(|id| Pattern::parse(id).ok());
        rule.matches.capability = tools.collect();
        out.push('\n');
        out.push_str(&rule_text(&rule));
    }
    out
}

/// What a call did that fits no bounds, so that whoever reads it knows what would have fitted.
fn why_outside(write: &LocalWrite, folders: &[String]) -> String {
    let folders = match folders {
        [one] => format!("`{one}`"),
        [first, others @ ..] => format!("`{first}` or another of {} folders", others.len() + 1),
        [] => String::new(),
    };
    let path = format!("a path does not begin with {folders}, which the server was set up for");
    let rows = "it may lose rows of the database".to_owned();
    match (write.names_paths() && !folders.is_empty(), write.runs_statements()) {
        (true, true) => format!("{path}, or {rows}"),
        (true, false) => path,
        (false, _) => rows,
    }
}
