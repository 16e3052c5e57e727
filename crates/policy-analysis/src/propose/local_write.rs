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
const BASE_PATH_ARGUMENTS: [&str; 17] = [
    "repo_path", "repository", "repo", "root", "root_path", "cwd", "workdir", "working_directory",
    "workspace", "project_path", "project_root", "base_path", "base_dir", "directory", "dir",
    "folder", "dirname",
];
/// Argument names that may be for a path or for something else. Only a value that looks like a path
/// is bounded.
const PERHAPS_PATHS: &[&str] =
    &["output", "out", "location", "into", "base", "name", "repo", "repository", "workspace"];
/// Paths of keys, of settings that run programs or say what an agent may do, and of the system
/// itself.
const SENSITIVE_PATHS: &[&str] = &[
    "*/.ssh*", "*/.gnupg*", "*/.aws*", "*/.azure*", "*/.kube*", "*/.docker*", "*/.weaver*",
    "*/weaver.toml", "*/.git/*", "*/.git", "*/git~1*", "*/.gitconfig", "*/.env*", "*/.netrc",
    "*/.npmrc", "*/.pypirc", "*/.bash*", "*/.profile", "*/.zsh*", "*/.config/*", "*/.config",
    "*/.local/*", "*/.local", "*/.vscode*", "*/.cursor*", "*/.claude*", "*/.mcp.json", "*/.codex*",
    "*/.gemini*", "*/.zed*", "*/.opencode*", "*/opencode.json*", "*/.roo/*", "*/.windsurf*",
    "*/.continue/*", "*/.idea/*", "*/.husky*", "*/.cargo/*", "*/.yarnrc*", "*/crontab*", "/etc/*",
    "/usr/*", "/bin/*", "/sbin/*", "/boot/*", "/dev/*", "/proc/*", "/sys/*", "/lib*", "/root/*",
    "/System/*", "/Library/*", "~*",
];
/// How deeply a schema is searched for paths.
const MAX_SCHEMA_DEPTH: usize = 5;

/// The patterns of paths of keys, of settings that run programs, and of the system itself, as
/// [`LocalWrite::sensitive_paths_match`] tests for them. A part of the system in which one of these
/// folders is, such as `/root/project`, is left out: a server that was set up for the folder writes
/// there.
#[must_use]
pub fn sensitive_paths(folders: &[String]) -> Vec<Pattern> {
    let patterns = SENSITIVE_PATHS.iter().filter_map(|glob| Pattern::parse(glob).ok());
    let is_part_of_system = |pattern: &Pattern| pattern.as_str().starts_with('/');
    let has_folder = |pattern: &Pattern| folders.iter().any(|folder| pattern.matches(folder));
    patterns.filter(|pattern| !(is_part_of_system(pattern) && has_folder(pattern))).collect()
}

/// An argument that contains a local path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathArgument {
    at: JsonPointer,
    required: bool,
    form: PathForm,
}

/// How an argument contains paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathForm {
    /// It is one path.
    One,
    /// It may contain several, at any depth, or none.
    Any,
}

impl PathArgument {
    /// Whether each call has one path here.
    fn is_mandatory(&self) -> bool {
        self.required && self.form == PathForm::One
    }

    /// Whether it is the base folder of the call's other paths.
    fn is_base(&self) -> bool {
        self.form == PathForm::One
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
    let in_folders = !folders.is_empty() && paths.iter().any(PathArgument::is_mandatory);
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
            let inside = match path.form {
                PathForm::Any => ArgumentPredicate { paths_inside: folders, ..at },
                PathForm::One => ArgumentPredicate { inside: folders, ..at },
            };
            match path.is_mandatory() {
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
    /// takes no paths. `folders` are those of its server.
    #[must_use]
    pub fn sensitive_paths_match(&self, folders: &[String]) -> Option<MatchConditions> {
        let globs = sensitive_paths(folders);
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
    let members = members.into_iter().flatten();
    let reaches_program = |(name, member): &(&String, &Value)| {
        PROGRAM_ARGUMENTS.contains(&name.as_str()) && !names_page_element(member)
    };
    let mut any = Vec::new();
    for (name, _) in members.filter(reaches_program) {
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

/// Whether an argument names an element of a page, for a browser and for no program.
fn names_page_element(schema: &Value) -> bool {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let words = weaver_text::split::words(text);
    words.iter().any(|word| matches!(word.as_str(), "selector" | "css" | "xpath"))
        || words.windows(2).any(|two| matches!(two, [a, b] if a == "page" && b == "element"))
        || words.windows(2).any(|two| matches!(two, [a, b] if a == "element" && b == "reference"))
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

/// The top-level arguments of the schema that are paths or may contain some. Without an argument
/// that is named as one, at whatever depth, lists of objects are left alone: they hold records.
fn path_arguments(schema: Option<&Value>) -> Vec<PathArgument> {
    let required = tool_text::required_arguments(schema);
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    let may_hold = |name: &str| critical::names_path(name) || PERHAPS_PATHS.contains(&name);
    let writes_files = schema.is_some_and(|schema| has_property(schema, &critical::names_path, 0));
    let path = |(name, member): (&String, &Value)| {
        let kind = member.get("type").and_then(Value::as_str).unwrap_or("string");
        let form = match kind {
            "string" if critical::names_path(name) => PathForm::One,
            "string" if may_hold(name) => PathForm::Any,
            "array" if critical::names_path(name) => PathForm::Any,
            "array" | "object" if writes_files && has_property(member, &may_hold, 0) => {
                PathForm::Any
            }
            _ => return None,
        };
        let at =
            JsonPointer::parse(&format!("/{}", name.replace('~', "~0").replace('/', "~1"))).ok()?;
        Some(PathArgument { at, required: required.contains(name), form })
    };
    members.into_iter().flatten().filter_map(path).collect()
}

/// Whether a schema, or one of its items, has a property with such a name.
fn has_property(schema: &Value, is_such: &dyn Fn(&str) -> bool, depth: usize) -> bool {
    if depth > MAX_SCHEMA_DEPTH {
        return false;
    }
    let items = schema.get("items").into_iter();
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    members.clone().any(|(name, _)| is_such(name))
        || items
            .chain(members.map(|(_, member)| member))
            .any(|one| has_property(one, is_such, depth + 1))
}

/// The argument with an SQL statement for a local database.
fn statement_argument(tool: &ToolDescription<'_>) -> Option<JsonPointer> {
    const DATABASES: [&str; 4] = ["sql", "sqlite", "database", "duckdb"];
    let text = ToolText::new(tool);
    // SQL Server needs nothing between two statements, so the second one cannot be looked for.
    let words: Vec<&str> = text.sentences.iter().flatten().map(String::as_str).collect();
    let is_sql_server = words.windows(2).any(|two| two == ["sql", "server"])
        || words.iter().any(|word| ["mssql", "sqlserver", "sybase"].contains(word))
        || text.is_named(&["mssql", "sqlserver", "sybase"]);
    if is_sql_server {
        return None;
    }
    let hints = ToolHints { destructive: None, ..tool.hints };
    if !text.is_about(&DATABASES) || !reach::determine_reach(&text, hints).local {
        return None;
    }
    let required = tool_text::required_arguments(tool.input);
    let name = required.iter().find(|name| takes_program(name))?;
    JsonPointer::parse(&format!("/{name}")).ok()
}
