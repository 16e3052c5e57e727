//! Recognises writes that stay on this machine, and what bounds them: the folders of a server, and
//! SQL statements that lose no data.
//!
//! A server may hint that `write_file` is destructive, and it is right: the tool may overwrite. But
//! this is what an agent does all day in the folder that it was given. A tool whose words say that
//! it writes locally, and neither deletes nor sends, therefore counts as a local write if its
//! arguments can be bounded. Otherwise the original proposal stands.

use serde_json::Value;
use weaver_policy::critical;
use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_types::{Effects, JsonPointer, SinkKind};

use super::tool_text::{self, ToolText};
use super::{ContractProposal, ToolDescription, ToolHints, propose, reach};
use crate::harmless_sql::{HarmlessSqlCondition, takes_program};

/// Argument names for the base folder of a call's other paths.
const BASE_PATH_ARGUMENTS: [&str; 16] = [
    "repo_path", "repository", "repo", "root", "root_path", "cwd", "workdir", "working_directory",
    "workspace", "project_path", "project_root", "base_path", "base_dir", "directory", "dir",
    "folder",
];
/// Paths of keys, of settings that run programs, and of the system itself.
const SENSITIVE_PATHS: [&str; 40] = [
    "*/.ssh*", ".ssh*", "*/.gnupg*", ".gnupg*", "*/.aws*", ".aws*", "*/.azure*", "*/.kube*",
    "*/.docker*", "*/.weaver*", "*/.git/*", ".git/*", "*/.git", "*/.env*", ".env*", "*/.netrc",
    "*/.npmrc", "*/.pypirc", "*/.bash*", "*/.profile", "*/.zsh*", "*/.config/*", "*/.local/*",
    "*/.vscode/*", "*/.cursor/*", "*/.claude*", "*/crontab*", "/etc/*", "/usr/*", "/bin/*",
    "/sbin/*", "/boot/*", "/dev/*", "/proc/*", "/sys/*", "/lib*", "/root/*", "/System/*",
    "/Library/*", "~*",
];

/// The patterns of paths of keys, of settings that run programs, and of the system itself, as
/// [`LocalWrite::sensitive_paths_match`] tests for them.
#[must_use]
pub fn sensitive_paths() -> Vec<Pattern> {
    SENSITIVE_PATHS.iter().filter_map(|glob| Pattern::parse(glob).ok()).collect()
}

/// An argument that contains a local path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathArgument {
    at: JsonPointer,
    required: bool,
    is_list: bool,
}

impl PathArgument {
    /// Whether it is the base folder of the call's other paths.
    fn is_base(&self) -> bool {
        !self.is_list
            && BASE_PATH_ARGUMENTS
                .iter()
                .any(|name| self.at.as_str().strip_prefix('/') == Some(name))
    }
}

/// A write that stays on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalWrite {
    /// The proposed contract.
    pub proposal: ContractProposal,
    /// Whether it counts as a local write only because its arguments can be bounded.
    pub is_lowered: bool,
    paths: Vec<PathArgument>,
    statement: Option<JsonPointer>,
}

/// Recognises a tool as a local write, if its words say so. `folders` are the ones that its server
/// was configured for; without them, paths cannot be bounded.
#[must_use]
pub fn local_write(tool: &ToolDescription<'_>, folders: &[String]) -> Option<LocalWrite> {
    let plain = propose(tool);
    let (paths, statement) = (path_arguments(tool.input), statement_argument(tool));
    if is_local_write(&plain) {
        return Some(LocalWrite { proposal: plain, is_lowered: false, paths, statement });
    }
    if plain.effective_sink() != SinkKind::Destructive {
        return None;
    }
    let hints = ToolHints { destructive: None, ..tool.hints };
    let by_words = propose(&ToolDescription { hints, ..*tool });
    let in_folders = !folders.is_empty() && paths.iter().any(|path| path.required && !path.is_list);
    let says_so = is_local_write(&by_words) || only_overwrites(&ToolText::new(tool));
    let why = match (says_so, &statement) {
        (true, None) if in_folders => {
            "it writes into the folders that its server was set up for; it may overwrite"
        }
        (_, Some(_)) => {
            "it runs statements on a local database; those that lose rows are held by a rule"
        }
        _ => return None,
    };
    let mut proposal = ContractProposal {
        effects: Effects::WRITE_LOCAL,
        sink: Some(SinkKind::None),
        ..plain.clone()
    };
    proposal.critical_arguments.clear();
    proposal.reasons.insert("effects", why.to_owned());
    proposal.reasons.remove("critical_arguments");
    proposal.reasons.insert("sink", "what it changes stays on this machine".to_owned());
    Some(LocalWrite { proposal, is_lowered: true, paths, statement })
}

/// Whether its name says that it writes, and its words mention no loss other than overwriting.
fn only_overwrites(text: &ToolText) -> bool {
    const WRITES: [&str; 12] = [
        "write", "edit", "move", "create", "append", "update", "save", "rename", "insert", "put",
        "copy", "replace",
    ];
    const LOSES: [&str; 16] = [
        "delete", "deletes", "remove", "removes", "drop", "erase", "wipe", "purge", "truncate",
        "format", "reset", "discard", "destroy", "send", "upload", "execute",
    ];
    let named = |words: &[&str]| text.name.iter().any(|word| words.contains(&word.as_str()));
    let mut said = text.sentences.iter().flatten();
    named(&WRITES) && !named(&LOSES) && !said.any(|word| LOSES.contains(&word.as_str()))
}

fn is_local_write(proposal: &ContractProposal) -> bool {
    proposal.effects == Effects::WRITE_LOCAL && proposal.effective_sink() == SinkKind::None
}

impl LocalWrite {
    /// Whether it has path arguments.
    #[must_use]
    pub fn names_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether it runs SQL statements.
    #[must_use]
    pub fn runs_statements(&self) -> bool {
        self.statement.is_some()
    }

    /// Conditions under which a call stays in these folders and loses no rows; `None` if nothing
    /// bounds it.
    #[must_use]
    pub fn bounding_match(&self, folders: &[String]) -> Option<MatchConditions> {
        let mut out = MatchConditions::default();
        let mut misfits = Vec::new();
        // If the base folder is itself an argument, other paths may be relative to it.
        let has_base = self.paths.iter().any(|path| path.required && path.is_base());
        for path in self.paths.iter().filter(|_| !folders.is_empty()) {
            let mut folders = folders.to_vec();
            if has_base && !path.is_base() {
                folders.push(".".to_owned());
            }
            let at = ArgumentPredicate::at(path.at.clone());
            let inside = match path.is_list {
                true => ArgumentPredicate { paths_inside: folders, ..at },
                false => ArgumentPredicate { inside: folders, ..at },
            };
            match path.required && !path.is_list {
                true => out.arguments.push(inside),
                false => misfits.push(path_misfit(inside)),
            }
        }
        if let Some(at) = &self.statement {
            let statement = HarmlessSqlCondition::for_argument(at);
            out.arguments.push(statement.begins);
            misfits.push(statement.unless);
        }
        let bounded = !out.arguments.is_empty() || !misfits.is_empty();
        if !misfits.is_empty() {
            out.not =
                Some(Box::new(MatchConditions { any: misfits, ..MatchConditions::default() }));
        }
        bounded.then_some(out)
    }

    /// Conditions that match calls which touch keys, start-up files or the system; `None` if it
    /// takes no paths.
    #[must_use]
    pub fn sensitive_paths_match(&self) -> Option<MatchConditions> {
        let globs = sensitive_paths();
        let sensitive = |path: &PathArgument| {
            let at = ArgumentPredicate::at(path.at.clone());
            let any_path = ArgumentPredicate { any_path: globs.clone(), ..at };
            MatchConditions { arguments: vec![any_path], ..MatchConditions::default() }
        };
        let any: Vec<MatchConditions> = self.paths.iter().map(sensitive).collect();
        (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
    }
}

/// Argument names that servers pass to a program unchanged.
const PROGRAM_ARGUMENTS: [&str; 12] = [
    "target", "revision", "rev", "ref", "commit", "branch", "branch_name", "base_branch", "tag",
    "remote", "args", "options",
];

/// Conditions that match calls in which such an argument would be parsed as a program option, or as
/// a path specification for all files; `None` for a tool without such arguments. This is option
/// injection: it can make a read-only tool write a file.
#[must_use]
pub fn option_injection_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let members = tool.input.and_then(|schema| schema.get("properties")?.as_object());
    let names = members.into_iter().flatten().map(|(name, _)| name.as_str());
    let mut any = Vec::new();
    for name in names.filter(|name| PROGRAM_ARGUMENTS.contains(name)) {
        let Ok(at) = JsonPointer::parse(&format!("/{name}")) else { continue };
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let holds = |predicate| MatchConditions {
            arguments: vec![predicate],
            ..MatchConditions::default()
        };
        let prefix = texts(&["-", ":", ".", "+"]);
        any.push(holds(ArgumentPredicate { prefix, ..ArgumentPredicate::at(at.clone()) }));
        let glob = Pattern::parse("* *").into_iter().collect();
        any.push(holds(ArgumentPredicate { glob, ..ArgumentPredicate::at(at) }));
    }
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

/// Conditions that match a value which contains paths but does not meet `fits`. Null and an empty
/// list contain none.
fn path_misfit(fits: ArgumentPredicate) -> MatchConditions {
    let at = ArgumentPredicate::at(fits.at.clone());
    let there = ArgumentPredicate { holds_paths: Some(true), ..at };
    let not =
        Some(Box::new(MatchConditions { arguments: vec![fits], ..MatchConditions::default() }));
    MatchConditions { arguments: vec![there], not, ..MatchConditions::default() }
}

/// The top-level path arguments of the schema.
fn path_arguments(schema: Option<&Value>) -> Vec<PathArgument> {
    let required = tool_text::required_arguments(schema);
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    let path = |(name, member): (&String, &Value)| {
        if !critical::names_path(name) {
            return None;
        }
        let kind = member.get("type").and_then(Value::as_str).unwrap_or("string");
        let at =
            JsonPointer::parse(&format!("/{}", name.replace('~', "~0").replace('/', "~1"))).ok()?;
        let is_list = kind == "array";
        (is_list || kind == "string").then(|| PathArgument {
            at,
            required: required.contains(name),
            is_list,
        })
    };
    members.into_iter().flatten().filter_map(path).collect()
}

/// The argument with an SQL statement for a local database.
fn statement_argument(tool: &ToolDescription<'_>) -> Option<JsonPointer> {
    const DATABASES: [&str; 4] = ["sql", "sqlite", "database", "duckdb"];
    let text = ToolText::new(tool);
    let hints = ToolHints { destructive: None, ..tool.hints };
    if !text.is_about(&DATABASES) || !reach::determine_reach(&text, hints).local {
        return None;
    }
    let required = tool_text::required_arguments(tool.input);
    let name = required.iter().find(|name| takes_program(name))?;
    JsonPointer::parse(&format!("/{name}")).ok()
}
