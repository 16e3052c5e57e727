//! How far a server reaches, judged by all of its tools.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::action::{self, ToolAction};
use super::lexicon::{self, singular};
use super::tool_text::ToolText;
use super::{ServerReach, ToolDescription, ToolHints, hints, local_write, reach, service_name};

/// The longest part of a description in which files are looked for, in characters.
const MAX_DESCRIPTION: usize = 2_000;

impl ServerReach {
    /// The reach of the server that lists these tools.
    #[must_use]
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Value>) -> Self {
        let tools: Vec<&Value> = tools.into_iter().collect();
        if edits_documents(&tools) {
            return Self::Documents;
        }
        if keeps_one_file(&tools) {
            return Self::Folder;
        }
        let hints_count = !hints::repeat_defaults(&tools);
        if tools.iter().any(|tool| speaks_to_service(tool, hints_count)) {
            return Self::Service;
        }
        if keeps_tasks(&tools) { Self::Folder } else { Self::Unknown }
    }
}

/// What an argument of a server is called that speaks to a service.
const ACCOUNT_WORDS: [&str; 9] = [
    "owner", "email", "recipient", "account", "tenant", "organization", "attendee", "assignee",
    "collaborator",
];

/// Whether most of the tools are about office documents, one of them takes the path of a document, and
/// none names an account or a service that keeps documents.
fn edits_documents(tools: &[&Value]) -> bool {
    const NOUNS: [&str; 26] = [
        "document", "workbook", "worksheet", "spreadsheet", "sheet", "excel", "xlsx", "cell",
        "row", "column", "chart", "pivot", "docx", "paragraph", "heading", "footnote", "endnote",
        "powerpoint", "pptx", "presentation", "slide", "placeholder", "pdf", "formula", "table",
        "page",
    ];
    const KINDS: [&str; 12] = [
        "document", "workbook", "spreadsheet", "excel", "xlsx", "docx", "word", "powerpoint",
        "pptx", "presentation", "slide", "pdf",
    ];
    const KEEPERS: [&str; 12] = [
        "google", "drive", "onedrive", "sharepoint", "notion", "dropbox", "confluence", "airtable",
        "database", "sql", "browser", "website",
    ];
    const SENDS: [&str; 6] = ["send", "share", "publish", "invite", "upload", "email"];
    let texts: Vec<ToolText> =
        tools.iter().map(|tool| ToolText::new(&ToolDescription::from_json(tool))).collect();
    let about = texts.iter().filter(|text| text.is_about(&NOUNS)).count();
    let speaks_elsewhere = |text: &ToolText| {
        text.is_about(&KEEPERS)
            || text.names_verb(&SENDS)
            || text.last_words().any(|word| ACCOUNT_WORDS.contains(&word))
    };
    about.saturating_mul(2) > texts.len()
        && texts.iter().any(|text| text.takes_path && text.is_about(&KINDS))
        && !texts.iter().any(speaks_elsewhere)
}

/// Whether more than half of the tools, and at least three, are about tasks, and none names a service,
/// sends anything or takes an address or an account. The stories and dependencies of such a list belong
/// to it.
fn keeps_tasks(tools: &[&Value]) -> bool {
    let described: Vec<ToolDescription<'_>> =
        tools.iter().map(|tool| ToolDescription::from_json(tool)).collect();
    let is_about_tasks = |tool: &&ToolDescription<'_>| {
        let text = ToolText::new(tool);
        text.is_named(&reach::TASKS) || text.takes(&reach::TASKS)
    };
    let names_service = |tool: &ToolDescription<'_>| ToolText::new(tool).service.is_some();
    let about = described.iter().filter(is_about_tasks).count();
    about >= 3
        && about.saturating_mul(2) > tools.len()
        && !described.iter().any(names_service)
        && !described.iter().any(reaches_out)
}

/// Whether a tool takes an address, browses, is said to be of an open world or names a service.
pub(super) fn reaches_network(tools: &[&Value]) -> bool {
    const BROWSER: [&str; 6] = ["browser", "webpage", "website", "web", "internet", "url"];
    let hints_count = !hints::repeat_defaults(tools);
    tools.iter().any(|tool| {
        let tool = ToolDescription::from_json(tool);
        let text = ToolText::new(&tool);
        text.takes(&lexicon::ADDRESS_ARGUMENTS)
            || text.is_about(&BROWSER)
            || text.service.is_some()
            || hints_count && tool.hints.open_world == Some(true)
    })
}

/// Whether a tool sends something, or takes an address or an account.
fn reaches_out(tool: &ToolDescription<'_>) -> bool {
    const SENDS: [&str; 9] =
        ["send", "share", "publish", "invite", "upload", "email", "push", "sync", "login"];
    const ELSEWHERE: [&str; 14] = [
        "owner", "email", "recipient", "account", "tenant", "organization", "attendee", "repo",
        "repository", "url", "host", "token", "workspace", "channel",
    ];
    let text = ToolText::new(tool);
    text.names_verb(&SENDS)
        || !text.receivers.is_empty()
        || text.last_words().any(|word| ELSEWHERE.contains(&word))
        || tool.hints.open_world == Some(true)
}

/// Whether a third of the tools, and at least three, name the same file, in which the server keeps what
/// it has (`Add a task to TODO.md`), and none sends anything or names an address or an account.
fn keeps_one_file(tools: &[&Value]) -> bool {
    let described: Vec<ToolDescription<'_>> =
        tools.iter().map(|tool| ToolDescription::from_json(tool)).collect();
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for tool in &described {
        let words = weaver_text::escape::truncate(tool.description, MAX_DESCRIPTION);
        let files: BTreeSet<String> =
            words.split_whitespace().filter_map(service_name::file_name).collect();
        files.into_iter().for_each(|file| *named.entry(file).or_default() += 1);
    }
    let often = named.into_values().max().unwrap_or_default();
    often >= 3 && often.saturating_mul(3) >= tools.len() && !described.iter().any(reaches_out)
}

fn speaks_to_service(tool: &Value, hints_count: bool) -> bool {
    let tool = ToolDescription::from_json(tool);
    let text = ToolText::new(&tool);
    let hints = if hints_count { tool.hints } else { ToolHints::default() };
    let found = action::classify(&text, hints);
    let reaches =
        matches!(found.action, ToolAction::Send | ToolAction::Pay | ToolAction::GrantAccess);
    // Who works together on tasks sorts them into places that all of them see.
    let shares_tasks = text.is_named(&reach::TASKS) && names_shared_place(&text);
    // What programs take, such as the path of a repository, is not an account.
    let names_account = !local_write::takes_base(tool.input)
        && text.last_words().any(|word| ACCOUNT_WORDS.contains(&word));
    // Steps in the course of a task, which its own list keeps.
    let is_step = (text.is_about(&reach::TASKS) || text.is_named(&["tamper"]))
        && text.names_verb(&["approve", "request", "accept"]);
    // What is generated, a password for instance, lets nobody in yet.
    let is_made = found.why.starts_with("name `generate`");
    // Keys are sent to a terminal.
    let is_typed = text.names_verb(&["send"]) && text.is_named(&["key", "keystroke"]);
    reaches && found.why.starts_with("name `") && !is_step && !is_made && !is_typed
        || names_account
        || shares_tasks
}

/// Whether an argument is a place in which people work together.
fn names_shared_place(text: &ToolText) -> bool {
    const PLACES: [&str; 9] = [
        "project", "workspace", "team", "board", "section", "sprint", "epic", "space", "milestone",
    ];
    text.argument_words.iter().any(|words| {
        let named = words.iter().rev().find(|word| !matches!(word.as_str(), "id" | "ids" | "gid"));
        named.is_some_and(|word| PLACES.contains(&singular(word)))
    })
}
