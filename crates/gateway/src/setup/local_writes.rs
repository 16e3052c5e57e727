//! The rules that bound local writes: allowed folders, statements, and sensitive places.

use std::collections::BTreeSet;

use weaver_policy::{ArgumentPredicate, Effect, MatchConditions, Pattern, PolicySet, Rule};
use weaver_policy_analysis::propose::{LocalWrite, ToolDescription, local_write, sensitive_paths};
use weaver_policy_analysis::suggest::{PatternLists, rule_text_with_lists};
use weaver_types::{Impact, JsonPointer, UpstreamName, World};

use super::documents::toml_string;
use super::held_calls::{CHANGES, CHANGES_REASON, HeldCalls, OPTIONS, OPTIONS_REASON, home};
use super::review::ReviewRow;
use super::selection::ServerFolders;

/// The name of the rules for sensitive places, and of the list of these places.
const SENSITIVE_PLACES: &str = "sensitive-places";
const SENSITIVE_REASON: &str = "keys, start-up files and the system are not for an agent to write";
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

impl ReviewRow {
    /// Whether its server was set up for a folder in the system, where others may not write.
    fn is_set_up_in_system(&self) -> bool {
        let folders = self.local_write.as_ref().map(|bounds| &bounds.folders);
        folders.is_some_and(|folders| sensitive_places(folders) != sensitive_places(&[]))
    }
}

/// The places that are sensitive on this machine, for a server that was set up for these folders.
pub(super) fn sensitive_places(folders: &[String]) -> Vec<Pattern> {
    sensitive_paths(home().as_deref(), folders)
}

/// A rule under construction, shared by tools with the same conditions.
struct SharedRule {
    name: &'static str,
    reason: String,
    matches: MatchConditions,
    tools: BTreeSet<String>,
}

/// The names and lists that a policy has already.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    pub(super) rules: BTreeSet<String>,
    pub(super) lists: PatternLists,
}

impl KnownNames {
    /// Those of a policy, with its text.
    pub(super) fn of(set: &PolicySet, text: &str) -> Self {
        let rules = set.policy().rules.iter().map(|rule| rule.name.clone()).collect();
        let table: toml::Table = text.parse().unwrap_or_default();
        let lists = table.get("lists").and_then(toml::Value::as_table).into_iter().flatten();
        let patterns = |list: &toml::Value| {
            let texts = list.as_array()?.iter().map(toml::Value::as_str);
            let patterns = texts.map(|text| Pattern::parse(text?).ok());
            patterns.collect::<Option<Vec<_>>>()
        };
        let lists = lists.map(|(name, list)| (name.clone(), patterns(list).unwrap_or_default()));
        Self { rules, lists: lists.collect() }
    }
}

/// Rules, and the lists that they name and that the policy does not have yet, each as text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RuleTexts {
    /// The entries of `[lists]`.
    pub(super) lists: String,
    pub(super) rules: String,
}

impl RuleTexts {
    /// As one text, behind a policy without lists.
    pub(super) fn joined(&self) -> String {
        if self.lists.is_empty() {
            return self.rules.clone();
        }
        format!("\n{LISTS_COMMENT}[lists]\n{}{}", self.lists, self.rules)
    }
}

/// The comment above the lists.
pub(super) const LISTS_COMMENT: &str =
    "# Keys, start-up files and the system. The rules below name this list.\n";

/// The rules for all local writes. Tools with the same bounds share a rule.
pub(super) fn rule_texts(rows: &[ReviewRow], known: &KnownNames) -> RuleTexts {
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
    let mut lists = known.lists.clone();
    let everywhere = sensitive_places(&[]);
    for row in rows {
        for HeldCalls { rule, reason, matches } in &row.held_calls {
            add(rule, (*reason).to_owned(), matches.clone(), row);
        }
        let Some(LocalWriteBounds { write, folders }) = &row.local_write else { continue };
        if let Some(bounds) = write.bounding_match(folders) {
            let outside =
                MatchConditions { not: Some(Box::new(bounds)), ..MatchConditions::default() };
            add("out-of-bounds", out_of_bounds_reason(write, folders), outside, row);
        }
        let patterns = sensitive_places(folders);
        // The rule about all writers holds the rest.
        if patterns != everywhere
            && let Some(sensitive) = write.sensitive_paths_match(&patterns)
        {
            if !lists.values().any(|known| *known == patterns) {
                let name = free_name(SENSITIVE_PLACES, 1, |name| lists.contains_key(name));
                lists.insert(name, patterns);
            }
            add(SENSITIVE_PLACES, SENSITIVE_REASON.to_owned(), sensitive, row);
        }
    }
    let general = (!known.rules.contains(SENSITIVE_PLACES)).then(|| {
        let excepted = rows.iter().filter(|row| row.is_set_up_in_system());
        sensitive_places_rule(excepted.map(|row| row.id.as_str()), &everywhere)
    });
    if general.is_some() && !lists.values().any(|known| *known == everywhere) {
        let name = free_name(SENSITIVE_PLACES, 1, |name| lists.contains_key(name));
        lists.insert(name, everywhere);
    }
    let new_lists: PatternLists =
        lists.iter().filter(|(name, _)| !known.lists.contains_key(*name)).map(cloned).collect();
    let mut out = RuleTexts { lists: lists_text(&new_lists), rules: String::new() };
    let options = (!known.rules.contains(OPTIONS)).then(options_rule).flatten();
    let changes = (!known.rules.contains(CHANGES)).then(changes_rule).flatten();
    for rule in general.iter().chain(&options).chain(&changes) {
        out.rules.push('\n');
        out.rules.push_str(&rule_text_with_lists(rule, &lists));
    }
    let mut number = 0;
    for rule_group in shared {
        let is_taken = |number| known.rules.contains(&format!("{}-{number}", rule_group.name));
        number += 1;
        while is_taken(number) {
            number += 1;
        }
        let mut rule = Rule::new(format!("{}-{number}", rule_group.name), Effect::RequireApproval);
        rule.reason = rule_group.reason;
        rule.matches = rule_group.matches;
        let tools = rule_group.tools.iter().filter_map(|id| Pattern::parse(id).ok());
        rule.matches.capability = tools.collect();
        out.rules.push('\n');
        out.rules.push_str(&rule_text_with_lists(&rule, &lists));
    }
    out
}

/// The rule about sensitive places for whatever writes on this machine, also for tools that come
/// later and for contracts that somebody writes by hand. The excepted tools were set up for folders
/// in such a place, and have a rule of their own.
fn sensitive_places_rule<'t>(excepted: impl Iterator<Item = &'t str>, places: &[Pattern]) -> Rule {
    let mut rule = Rule::new(SENSITIVE_PLACES, Effect::RequireApproval);
    rule.reason = SENSITIVE_REASON.to_owned();
    rule.matches.impact = [Impact::Write].into();
    rule.matches.world = [World::Closed].into();
    let whole_call = JsonPointer::parse("").ok().map(ArgumentPredicate::at);
    let any_path = places.to_vec();
    rule.matches.arguments =
        whole_call.map(|at| ArgumentPredicate { any_path, ..at }).into_iter().collect();
    let capability: Vec<Pattern> = excepted.filter_map(|id| Pattern::parse(id).ok()).collect();
    if !capability.is_empty() {
        let excepted = MatchConditions { capability, ..MatchConditions::default() };
        rule.matches.not = Some(Box::new(excepted));
    }
    rule
}

/// The rule about options for whatever reads, or writes on this machine: many such tools pass their
/// arguments to a program, which by `--output` writes a file, and by others runs one.
fn options_rule() -> Option<Rule> {
    let mut rule = Rule::new(OPTIONS, Effect::RequireApproval);
    rule.reason = OPTIONS_REASON.to_owned();
    let reads = MatchConditions { impact: [Impact::Read].into(), ..MatchConditions::default() };
    let writes_here = MatchConditions {
        impact: [Impact::Write].into(),
        world: [World::Closed].into(),
        ..MatchConditions::default()
    };
    rule.matches.any = vec![reads, writes_here];
    let whole_call = ArgumentPredicate::at(JsonPointer::parse("").ok()?);
    rule.matches.arguments = vec![ArgumentPredicate { holds_options: Some(true), ..whole_call }];
    Some(rule)
}

/// The rule about what changes something in a call of whatever reads: a mutation, a statement, a method
/// of HTTP, an action. A tool that is called a read may do whatever it is told.
fn changes_rule() -> Option<Rule> {
    let mut rule = Rule::new(CHANGES, Effect::RequireApproval);
    rule.reason = CHANGES_REASON.to_owned();
    rule.matches.impact = [Impact::Read].into();
    let whole_call = ArgumentPredicate::at(JsonPointer::parse("").ok()?);
    rule.matches.arguments = vec![ArgumentPredicate { holds_changes: Some(true), ..whole_call }];
    Some(rule)
}

fn cloned((name, patterns): (&String, &Vec<Pattern>)) -> (String, Vec<Pattern>) {
    (name.clone(), patterns.clone())
}

/// The name, with a number behind it if it is taken.
pub(super) fn free_name(name: &str, first: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = |number: usize| match number {
        1 => name.to_owned(),
        _ => format!("{name}-{number}"),
    };
    let mut names = (first..).map(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_else(|| name.to_owned())
}

/// The entries of the lists.
fn lists_text(lists: &PatternLists) -> String {
    let mut out = String::new();
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
        [first, second] => format!("`{first}` or `{second}`"),
        [first, others @ ..] => format!("`{first}` or one of {} other folders", others.len()),
        [] => String::new(),
    };
    let path = format!("a path does not begin with {folders}, which the server was set up for");
    let rows =
        "the statement is not plainly a read of tables, an insert, an update with a plain `where`, or a \
                new table, view, column or index"
            .to_owned();
    if write.writes_documents_only() {
        return "a path does not end like one of a document (.docx, .xlsx, .pptx, .pdf, .csv, …), and \
                the tool may overwrite"
            .to_owned();
    }
    match (write.writes_files() && !folders.is_empty(), write.runs_statements()) {
        (true, true) => format!("{path}, or {rows}"),
        (true, false) => path,
        (false, _) => rows,
    }
}
