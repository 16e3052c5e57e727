//! The rules that bound local writes: allowed folders, statements, and sensitive places.

use std::collections::BTreeSet;

use weaver_policy::{Effect, MatchConditions, Pattern, Rule};
use weaver_policy_analysis::propose::{LocalWrite, ToolDescription, local_write, sensitive_paths};
use weaver_policy_analysis::suggest::{PatternLists, rule_text_with_lists};
use weaver_types::UpstreamName;

use super::documents::toml_string;
use super::review::ReviewRow;
use super::selection::ServerFolders;

/// The name of the rules for sensitive places, and of the list of these places.
const SENSITIVE_PLACES: &str = "sensitive-places";
/// The longest line of the list, in characters.
const MAX_LINE_CHARS: usize = 100;

/// A local write and the folders that its server was set up for.
#[derive(Debug, Clone)]
pub(super) struct LocalWriteBounds {
    pub(super) write: LocalWrite,
    folders: Vec<String>,
}

impl LocalWriteBounds {
    pub(super) fn from_tool(
        server: &UpstreamName,
        tool: &ToolDescription<'_>,
        folders: &ServerFolders,
    ) -> Option<Self> {
        let folders = folders.get(server.as_str()).cloned().unwrap_or_default();
        let write = local_write(tool, &folders)?;
        Some(Self { write, folders })
    }
}

/// A rule under construction, shared by tools with the same conditions.
struct SharedRule {
    name: &'static str,
    reason: String,
    matches: MatchConditions,
    tools: BTreeSet<String>,
}

/// The text of the rules for all local writes. Tools with the same bounds share a rule.
pub(super) fn rules_text(rows: &[ReviewRow]) -> String {
    let mut shared: Vec<SharedRule> = Vec::new();
    let mut add = |name, reason: String, matches: MatchConditions, row: &ReviewRow| {
        let id = row.id.to_string();
        match shared
            .iter_mut()
            .find(|rule_group| rule_group.name == name && rule_group.matches == matches)
        {
            Some(rule_group) => drop(rule_group.tools.insert(id)),
            None => shared.push(SharedRule { name, reason, matches, tools: [id].into() }),
        }
    };
    let mut lists = PatternLists::new();
    for row in rows {
        if let Some(options) = &row.option_injection_match {
            let reason = "a program would read an argument as an option, or as every file";
            add("options", reason.to_owned(), options.clone(), row);
        }
        let Some(LocalWriteBounds { write, folders }) = &row.local_write else { continue };
        if let Some(bounds) = write.bounding_match(folders) {
            let outside =
                MatchConditions { not: Some(Box::new(bounds)), ..MatchConditions::default() };
            add("out-of-bounds", out_of_bounds_reason(write, folders), outside, row);
        }
        if let Some(sensitive) = write.sensitive_paths_match(folders) {
            let patterns = sensitive_paths(folders);
            if !lists.values().any(|known| *known == patterns) {
                let number = lists.len() + 1;
                let more = if number > 1 { format!("-{number}") } else { String::new() };
                lists.insert(format!("{SENSITIVE_PLACES}{more}"), patterns);
            }
            let reason = "keys, start-up files and the system are not for an agent to write";
            add(SENSITIVE_PLACES, reason.to_owned(), sensitive, row);
        }
    }
    let mut out = String::new();
    if !lists.is_empty() {
        out.push_str(&lists_text(&lists));
    }
    for (number, rule_group) in shared.into_iter().enumerate() {
        let name = format!("{}-{}", rule_group.name, number + 1);
        let mut rule = Rule::new(name, Effect::RequireApproval);
        rule.reason = rule_group.reason;
        rule.matches = rule_group.matches;
        let tools = rule_group.tools.iter().filter_map(|id| Pattern::parse(id).ok());
        rule.matches.capability = tools.collect();
        out.push('\n');
        out.push_str(&rule_text_with_lists(&rule, &lists));
    }
    out
}

/// The text of the lists that the rules name.
fn lists_text(lists: &PatternLists) -> String {
    let mut out =
        "\n# Keys, start-up files and the system. The rules below name this list.\n[lists]\n"
            .to_owned();
    for (name, patterns) in lists {
        out.push_str(name);
        out.push_str(" = [");
        let mut line = String::new();
        for pattern in patterns {
            let item = format!("{},", toml_string(pattern.as_str()));
            if line.len() + item.len() >= MAX_LINE_CHARS {
                out.push_str(&format!("\n   {line}"));
                line.clear();
            }
            line.push(' ');
            line.push_str(&item);
        }
        out.push_str(&format!("\n   {line}\n]\n"));
    }
    out
}

/// The reason of a rule for calls outside of their bounds; it says what would have been within.
fn out_of_bounds_reason(write: &LocalWrite, folders: &[String]) -> String {
    let folders = match folders {
        [folder] => format!("`{folder}`"),
        [first, others @ ..] => format!("`{first}` or another of {} folders", others.len() + 1),
        [] => String::new(),
    };
    let path = format!("a path does not begin with {folders}, which the server was set up for");
    let rows =
        "the statement is more than a read, an insert of values, an update with a plain `where`, \
                or a new table, column or index"
            .to_owned();
    match (write.writes_files() && !folders.is_empty(), write.runs_statements()) {
        (true, true) => format!("{path}, or {rows}"),
        (true, false) => path,
        (false, _) => rows,
    }
}
