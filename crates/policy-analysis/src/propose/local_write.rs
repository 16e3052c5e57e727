//! Writes that stay on this machine, with what bounds them: the folders of a server, and statements
//! that lose nothing.
//!
//! A server hints of `write_file` that it may destroy, which is so: it may overwrite. That is no
//! other than what an agent does all day in the folder that it was given. So a tool whose words say
//! that it writes locally, and neither delete nor send, counts as a local write where its arguments
//! bound it, and as what it was proposed as where they do not.

use serde_json::Value;
use weaver_policy::critical;
use weaver_policy::{ArgumentPredicate, Match, Pattern};
use weaver_types::{Effects, Pointer, SinkKind};

use super::tool_text::{self, ToolText};
use super::{Hints, Proposal, ToolDescription, propose, reach};
use crate::sql::{HarmlessSqlCondition, takes_program};

/// Names of arguments that say where the other paths of a call begin.
const BASES: [&str; 16] = [
    "repo_path", "repository", "repo", "root", "root_path", "cwd", "workdir", "working_directory",
    "workspace", "project_path", "project_root", "base_path", "base_dir", "directory", "dir",
    "folder",
];
/// Where keys, settings that run programs, and the system itself lie.
const SENSITIVE: [&str; 40] = [
    "*/.ssh*", ".ssh*", "*/.gnupg*", ".gnupg*", "*/.aws*", ".aws*", "*/.azure*", "*/.kube*",
    "*/.docker*", "*/.weaver*", "*/.git/*", ".git/*", "*/.git", "*/.env*", ".env*", "*/.netrc",
    "*/.npmrc", "*/.pypirc", "*/.bash*", "*/.profile", "*/.zsh*", "*/.config/*", "*/.local/*",
    "*/.vscode/*", "*/.cursor/*", "*/.claude*", "*/crontab*", "/etc/*", "/usr/*", "/bin/*",
    "/sbin/*", "/boot/*", "/dev/*", "/proc/*", "/sys/*", "/lib*", "/root/*", "/System/*",
    "/Library/*", "~*",
];

/// An argument that names a place on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathArgument {
    at: Pointer,
    required: bool,
    is_list: bool,
}

impl PathArgument {
    /// Whether the other paths of the call begin here.
    fn is_base(&self) -> bool {
        !self.is_list && BASES.iter().any(|name| self.at.as_str().strip_prefix('/') == Some(name))
    }
}

/// A write that stays on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalWrite {
    /// What is proposed for it.
    pub proposal: Proposal,
    /// Whether it counts as a local write only because its arguments bound it.
    pub is_lowered: bool,
    paths: Vec<PathArgument>,
    statement: Option<Pointer>,
}

/// The tool as a local write, where its words say so. `folders` are those that its server was set up
/// for: without them, paths bound nothing.
#[must_use]
pub fn local_write(tool: &ToolDescription<'_>, folders: &[String]) -> Option<LocalWrite> {
    let plain = propose(tool);
    let (paths, statement) = (paths(tool.input), statement(tool));
    if is_local_write(&plain) {
        return Some(LocalWrite { proposal: plain, is_lowered: false, paths, statement });
    }
    if plain.counted_sink() != SinkKind::Destructive {
        return None;
    }
    let hints = Hints { destructive: None, ..tool.hints };
    let by_words = propose(&ToolDescription { hints, ..*tool });
    let in_folders = !folders.is_empty() && paths.iter().any(|path| path.required && !path.is_list);
    let says_so = is_local_write(&by_words) || overwrites(&ToolText::of(tool));
    let why = match (says_so, &statement) {
        (true, None) if in_folders => {
            "it writes into the folders that its server was set up for; it may overwrite"
        }
        (_, Some(_)) => {
            "it runs statements on a local database; those that lose rows are held by a rule"
        }
        _ => return None,
    };
    let mut proposal =
        Proposal { effects: Effects::WRITE_LOCAL, sink: Some(SinkKind::None), ..plain.clone() };
    proposal.critical_arguments.clear();
    proposal.reasons.insert("effects", why.to_owned());
    proposal.reasons.remove("critical_arguments");
    proposal.reasons.insert("sink", "what it changes stays on this machine".to_owned());
    Some(LocalWrite { proposal, is_lowered: true, paths, statement })
}

/// Whether its name says that it writes, and its words speak of no loss but overwriting.
fn overwrites(text: &ToolText) -> bool {
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

fn is_local_write(proposal: &Proposal) -> bool {
    proposal.effects == Effects::WRITE_LOCAL && proposal.counted_sink() == SinkKind::None
}

impl LocalWrite {
    /// Whether arguments name places on this machine.
    #[must_use]
    pub fn names_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether it runs statements on a database.
    #[must_use]
    pub fn runs_statements(&self) -> bool {
        self.statement.is_some()
    }

    /// What a call must fit so as to stay in these folders and lose no rows; `None` where nothing
    /// bounds it.
    #[must_use]
    pub fn bounds(&self, folders: &[String]) -> Option<Match> {
        let mut out = Match::default();
        let mut misfits = Vec::new();
        // Below a folder that is given itself, a path may say only how it goes on from there.
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
                false => misfits.push(misfit(inside)),
            }
        }
        if let Some(at) = &self.statement {
            let statement = HarmlessSqlCondition::for_argument(at);
            out.arguments.push(statement.begins);
            misfits.push(statement.unless);
        }
        let bounded = !out.arguments.is_empty() || !misfits.is_empty();
        if !misfits.is_empty() {
            out.not = Some(Box::new(Match { any: misfits, ..Match::default() }));
        }
        bounded.then_some(out)
    }

    /// What a call fits that touches keys, start-up files or the system; `None` where it takes no
    /// paths.
    #[must_use]
    pub fn sensitive(&self) -> Option<Match> {
        let globs: Vec<Pattern> =
            SENSITIVE.iter().filter_map(|glob| Pattern::parse(glob).ok()).collect();
        let sensitive = |path: &PathArgument| {
            let at = ArgumentPredicate::at(path.at.clone());
            let any_path = ArgumentPredicate { any_path: globs.clone(), ..at };
            Match { arguments: vec![any_path], ..Match::default() }
        };
        let any: Vec<Match> = self.paths.iter().map(sensitive).collect();
        (!any.is_empty()).then(|| Match { any, ..Match::default() })
    }
}

/// Names of arguments that a server hands to a program as they are.
const REVISIONS: [&str; 12] = [
    "target", "revision", "rev", "ref", "commit", "branch", "branch_name", "base_branch", "tag",
    "remote", "args", "options",
];

/// What a call fits in which such an argument would be read as an option of a program, or as all
/// files; `None` for a tool that takes none. A tool that only reads writes a file that way.
#[must_use]
pub fn option_injection(tool: &ToolDescription<'_>) -> Option<Match> {
    let members = tool.input.and_then(|schema| schema.get("properties")?.as_object());
    let names = members.into_iter().flatten().map(|(name, _)| name.as_str());
    let mut any = Vec::new();
    for name in names.filter(|name| REVISIONS.contains(name)) {
        let Ok(at) = Pointer::parse(&format!("/{name}")) else { continue };
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let holds = |predicate| Match { arguments: vec![predicate], ..Match::default() };
        let prefix = texts(&["-", ":", ".", "+"]);
        any.push(holds(ArgumentPredicate { prefix, ..ArgumentPredicate::at(at.clone()) }));
        let glob = Pattern::parse("* *").into_iter().collect();
        any.push(holds(ArgumentPredicate { glob, ..ArgumentPredicate::at(at) }));
    }
    (!any.is_empty()).then(|| Match { any, ..Match::default() })
}

/// What a value is that names a path and does not fit; null and an empty list name none.
fn misfit(fits: ArgumentPredicate) -> Match {
    let at = ArgumentPredicate::at(fits.at.clone());
    let there = ArgumentPredicate { holds_paths: Some(true), ..at };
    let not = Some(Box::new(Match { arguments: vec![fits], ..Match::default() }));
    Match { arguments: vec![there], not, ..Match::default() }
}

/// The arguments that name places, at the top of the schema.
fn paths(schema: Option<&Value>) -> Vec<PathArgument> {
    let required = tool_text::required(schema);
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    let path = |(name, member): (&String, &Value)| {
        if !critical::names_path(name) {
            return None;
        }
        let kind = member.get("type").and_then(Value::as_str).unwrap_or("string");
        let at =
            Pointer::parse(&format!("/{}", name.replace('~', "~0").replace('/', "~1"))).ok()?;
        let is_list = kind == "array";
        (is_list || kind == "string").then(|| PathArgument {
            at,
            required: required.contains(name),
            is_list,
        })
    };
    members.into_iter().flatten().filter_map(path).collect()
}

/// The argument with a statement for a database on this machine.
fn statement(tool: &ToolDescription<'_>) -> Option<Pointer> {
    const DATABASES: [&str; 4] = ["sql", "sqlite", "database", "duckdb"];
    let text = ToolText::of(tool);
    let hints = Hints { destructive: None, ..tool.hints };
    if !text.is_about(&DATABASES) || !reach::of(&text, hints).local {
        return None;
    }
    let required = tool_text::required(tool.input);
    let name = required.iter().find(|name| takes_program(name))?;
    Pointer::parse(&format!("/{name}")).ok()
}
