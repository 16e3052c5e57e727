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
use super::{ContractProposal, ServerReach, ToolDescription, ToolHints, propose, reach};
use crate::program_arguments::takes_program;

/// Argument names for the base folder of a call's other paths.
const BASE_PATH_ARGUMENTS: [&str; 17] = [
    "repo_path", "repository", "repo", "root", "root_path", "cwd", "workdir", "working_directory",
    "workspace", "project_path", "project_root", "base_path", "base_dir", "directory", "dir",
    "folder", "dirname",
];
/// Argument names that may be for a path or for something else.
const PERHAPS_PATHS: [&str; 9] =
    ["output", "out", "location", "into", "base", "name", "repo", "repository", "workspace"];
/// Nouns for what a tool keeps in files.
const FILE_NOUNS: [&str; 7] = ["file", "folder", "directory", "disk", "document", "note", "vault"];
/// A write that stays on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalWrite {
    /// The proposed contract.
    pub proposal: ContractProposal,
    /// Whether it counts as a local write only because its arguments can be bounded.
    pub is_lowered: bool,
    /// Whether it may write files.
    writes_files: bool,
    /// The required argument with the base folder of the call's other paths.
    base: Option<JsonPointer>,
    /// Whether paths may be relative to a folder of the server.
    takes_relative_paths: bool,
    statement: Option<JsonPointer>,
    /// The paths, if each of them has to be one of a document.
    documents: Vec<JsonPointer>,
}

/// Files of office programs, the content of which is no program.
const DOCUMENTS: &[&str] = &[
    "*.docx", "*.dotx", "*.doc", "*.odt", "*.rtf", "*.xlsx", "*.xls", "*.ods", "*.csv", "*.tsv",
    "*.pptx", "*.ppt", "*.odp", "*.pdf",
];

/// Recognises a tool as a local write, if its words say so. `folders` are the ones that its server
/// was configured for; without them, only the paths of documents can be bounded.
#[must_use]
pub fn local_write(tool: &ToolDescription<'_>, folders: &[String]) -> Option<LocalWrite> {
    let in_folder = !folders.is_empty() && tool.server == ServerReach::Unknown;
    let tool = &if in_folder { tool.with_server(ServerReach::Folder) } else { *tool };
    let text = ToolText::new(tool);
    let required = required_texts(tool.input);
    let bounds = |proposal, is_lowered| LocalWrite {
        proposal,
        is_lowered,
        writes_files: writes_files(&text, tool.input),
        base: required.iter().find(|name| is_base(name)).and_then(|name| tool_text::pointer(name)),
        takes_relative_paths: takes_relative_paths(tool.input),
        statement: statement_argument(tool),
        documents: Vec::new(),
    };
    let plain = propose(tool);
    if is_local_write(&plain) {
        return Some(bounds(plain, false));
    }
    if plain.effective_sink() != SinkKind::Destructive {
        return None;
    }
    let hints = ToolHints { destructive: None, ..tool.hints };
    let by_words = propose(&ToolDescription { hints, ..*tool });
    let in_folders = !folders.is_empty() && required.iter().any(|name| critical::names_path(name));
    let says_so = is_local_write(&by_words) || only_overwrites(&text);
    let mut lowered = bounds(plain, true);
    let documents = document_paths(tool);
    let why = match (says_so, &lowered.statement) {
        (true, None) if in_folders => {
            "it writes into the folders that its server was set up for; it may overwrite"
        }
        (true, None) if !documents.is_empty() => {
            lowered.documents = documents;
            "it writes documents on this machine; it may overwrite them"
        }
        (_, Some(_)) => "it runs statements on a local database; all but plain ones are held",
        _ => return None,
    };
    let LocalWrite { mut proposal, .. } = lowered.clone();
    proposal.effects = Effects::WRITE_LOCAL;
    proposal.sink = Some(SinkKind::None);
    proposal.critical_arguments.clear();
    proposal.sends_to.clear();
    proposal.reasons.insert("effects", why.to_owned());
    proposal.reasons.remove("critical_arguments");
    proposal.reasons.insert("sink", "what it changes stays on this machine".to_owned());
    Some(LocalWrite { proposal, ..lowered })
}

/// The paths of a tool that works on documents of this machine; none if it takes paths that are not
/// plain arguments.
fn document_paths(tool: &ToolDescription<'_>) -> Vec<JsonPointer> {
    if tool.server != ServerReach::Documents {
        return Vec::new();
    }
    let all = tool_text::all_arguments(tool.input);
    let (plain, others): (Vec<_>, Vec<_>) = all
        .iter()
        .filter(|argument| critical::names_path(argument.name))
        .partition(|argument| argument.depth == 0 && argument.is_text());
    if others.is_empty() {
        plain.into_iter().map(|argument| argument.at.clone()).collect()
    } else {
        Vec::new()
    }
}

/// Whether an argument for a path says that the path is relative to a folder of the server, or a
/// mere name of a file.
fn takes_relative_paths(schema: Option<&Value>) -> bool {
    let says_so = |member: &Value| {
        let text = member.get("description").and_then(Value::as_str).unwrap_or_default();
        let words = weaver_text::split::words(text);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let is_relative = words.windows(2).any(|two| two == ["relative", "to"]);
        is_relative || has(&["filename", "filenames"]) && !has(&["absolute", "full", "path"])
    };
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    let mut paths = members.into_iter().flatten().filter(|(name, _)| critical::names_path(name));
    paths.any(|(_, member)| says_so(member))
}

/// A tool that reads files of this machine, or an address in place of one.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalRead {
    /// The proposed contract for files.
    pub proposal: ContractProposal,
    /// Matches calls with an address.
    pub address_match: MatchConditions,
}

/// Recognises a tool as one that reads files of this machine, or addresses where a switch says so
/// (`read_file {path, is_url}`). Nothing else about it may lead out.
#[must_use]
pub fn local_read(tool: &ToolDescription<'_>) -> Option<LocalRead> {
    let all = tool_text::all_arguments(tool.input);
    let switches: Vec<_> = all.iter().filter(|one| one.depth == 0 && one.says_address()).collect();
    let paths: Vec<_> = all
        .iter()
        .filter(|one| one.depth == 0 && one.is_text() && critical::names_path(one.name))
        .collect();
    if switches.is_empty() || paths.is_empty() {
        return None;
    }
    let mut input = tool.input?.clone();
    let members = input.get_mut("properties")?.as_object_mut()?;
    for switch in &switches {
        members.remove(switch.name);
    }
    // What it says of the open world is about the address.
    let hints = ToolHints { open_world: None, ..tool.hints };
    let mut proposal = propose(&ToolDescription { input: Some(&input), hints, ..*tool });
    if proposal.effects != Effects::READ_LOCAL || proposal.effective_sink() != SinkKind::None {
        return None;
    }
    let why = "it reads files of this machine; calls with an address are held";
    proposal.reasons.insert("effects", why.to_owned());
    let holds =
        |predicate| MatchConditions { arguments: vec![predicate], ..MatchConditions::default() };
    let is_set = |at: &JsonPointer| ArgumentPredicate {
        equals: Some(Value::Bool(true)),
        ..ArgumentPredicate::at(at.clone())
    };
    let address: Vec<Pattern> = Pattern::parse("*://*").into_iter().collect();
    let has_address = |at: &JsonPointer| ArgumentPredicate {
        glob: address.clone(),
        ..ArgumentPredicate::at(at.clone())
    };
    let any = switches
        .iter()
        .map(|one| holds(is_set(&one.at)))
        .chain(paths.iter().map(|one| holds(has_address(&one.at))));
    let address_match = MatchConditions { any: any.collect(), ..MatchConditions::default() };
    Some(LocalRead { proposal, address_match })
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
    /// Whether it may write files.
    #[must_use]
    pub fn writes_files(&self) -> bool {
        self.writes_files
    }

    /// Whether it runs SQL statements.
    #[must_use]
    pub fn runs_statements(&self) -> bool {
        self.statement.is_some()
    }

    /// Whether its paths have to be those of documents.
    #[must_use]
    pub fn writes_documents_only(&self) -> bool {
        !self.documents.is_empty()
    }

    /// Conditions under which a call stays in these folders and loses no rows; `None` if nothing
    /// bounds it. All paths of a call are looked at, whatever the schema says of its arguments.
    #[must_use]
    pub fn bounding_match(&self, folders: &[String]) -> Option<MatchConditions> {
        let mut out = MatchConditions::default();
        if self.writes_files && !folders.is_empty() {
            let mut paths_inside = folders.to_vec();
            if self.takes_relative_paths && !paths_inside.iter().any(|one| one == ".") {
                paths_inside.push(".".to_owned());
            }
            if let Some(base) = &self.base {
                // The other paths may be relative to the base folder.
                paths_inside.push(".".to_owned());
                let base = ArgumentPredicate::at(base.clone());
                out.arguments.push(ArgumentPredicate { inside: folders.to_vec(), ..base });
            }
            let fits = ArgumentPredicate { paths_inside, ..whole_call()? };
            out.not = Some(Box::new(path_misfit(fits)));
        }
        if !self.documents.is_empty() {
            out.not = Some(Box::new(other_than_documents(&self.documents)));
        }
        if let Some(at) = &self.statement {
            let at = ArgumentPredicate::at(at.clone());
            out.arguments.push(ArgumentPredicate { harmless_sql: Some(true), ..at });
        }
        (out != MatchConditions::default()).then_some(out)
    }

    /// Conditions that match calls which touch one of these places, as
    /// [`sensitive_paths`](super::sensitive_paths) lists them; `None` if it writes no files.
    #[must_use]
    pub fn sensitive_paths_match(&self, places: &[Pattern]) -> Option<MatchConditions> {
        let any_path = ArgumentPredicate { any_path: places.to_vec(), ..whole_call()? };
        let matches = MatchConditions { arguments: vec![any_path], ..MatchConditions::default() };
        self.writes_files.then_some(matches)
    }
}

/// Conditions that match a call in which one of these paths is given, and is not that of a document.
fn other_than_documents(paths: &[JsonPointer]) -> MatchConditions {
    let kinds: Vec<Pattern> =
        DOCUMENTS.iter().filter_map(|glob| Pattern::parse(glob).ok()).collect();
    let other = |at: &JsonPointer| {
        let is_document =
            ArgumentPredicate { glob_any_case: kinds.clone(), ..ArgumentPredicate::at(at.clone()) };
        let not = MatchConditions { arguments: vec![is_document], ..MatchConditions::default() };
        MatchConditions {
            arguments: vec![ArgumentPredicate {
                present: Some(true),
                ..ArgumentPredicate::at(at.clone())
            }],
            not: Some(Box::new(not)),
            ..MatchConditions::default()
        }
    };
    MatchConditions { any: paths.iter().map(other).collect(), ..MatchConditions::default() }
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

fn whole_call() -> Option<ArgumentPredicate> {
    JsonPointer::parse("").ok().map(ArgumentPredicate::at)
}

/// Whether a tool takes the base folder of its other paths.
pub(super) fn takes_base(schema: Option<&Value>) -> bool {
    let names = tool_text::argument_names(schema);
    names.iter().any(|name| is_base(name) && critical::names_path(name))
}

fn is_base(name: &str) -> bool {
    BASE_PATH_ARGUMENTS.contains(&name)
}

/// The required arguments that are texts.
fn required_texts(schema: Option<&Value>) -> Vec<String> {
    let is_text = |name: &String| {
        let kind = schema.and_then(|schema| schema.get("properties")?.get(name)?.get("type"));
        kind.is_none_or(|kind| kind == "string")
    };
    tool_text::required_arguments(schema).into_iter().filter(is_text).collect()
}

/// Whether a tool may write files: its words are about them, it takes an argument that is or may be
/// a path, or nothing says what it takes. Without such a word, what a member of a list is called
/// says little: lists of objects hold records.
fn writes_files(text: &ToolText, schema: Option<&Value>) -> bool {
    let all = tool_text::all_property_names(schema);
    let top = tool_text::argument_names(schema);
    text.is_about(&FILE_NOUNS)
        || all.is_empty()
        || all.iter().any(|name| critical::names_path(name))
        || top.iter().any(|name| PERHAPS_PATHS.contains(&name.as_str()))
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
