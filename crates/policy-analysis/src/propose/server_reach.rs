//! Whether a server speaks to a service, judged by all of its tools.

use serde_json::Value;

use super::action::{self, ToolAction};
use super::lexicon::singular;
use super::tool_text::ToolText;
use super::{ToolDescription, ToolHints, hints, local_write, reach};

/// How far a server reaches, judged by all of its tools. If one of them mails, shares or names an
/// account, the files of the others are no files on this disk.
///
/// ```
/// use serde_json::json;
/// use weaver_policy_analysis::propose::ServerReach;
///
/// let notes = [json!({ "name": "update_note" })];
/// assert_eq!(ServerReach::of(&notes), ServerReach::Unknown);
/// let drive = [json!({ "name": "update_note" }), json!({ "name": "share_note" })];
/// assert_eq!(ServerReach::of(&drive), ServerReach::Service);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerReach {
    /// Nothing is known of the other tools, or none of them says that it reaches out.
    #[default]
    Unknown,
    /// One of the tools reaches other people or names an account, so the server speaks to a service.
    Service,
    /// It was set up for a folder of this machine, and none of its tools speaks to a service.
    Folder,
    /// Most of its tools are about documents such as those of an office, and they lie on this
    /// machine.
    Documents,
}

impl ServerReach {
    /// The reach of the server that lists these tools.
    #[must_use]
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Value>) -> Self {
        let tools: Vec<&Value> = tools.into_iter().collect();
        if edits_documents(&tools) {
            return Self::Documents;
        }
        let hints_count = !hints::repeat_defaults(&tools);
        match tools.into_iter().any(|tool| speaks_to_service(tool, hints_count)) {
            true => Self::Service,
            false => Self::Unknown,
        }
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
    let is_step = text.is_about(&reach::TASKS) && text.names_verb(&["approve", "request"]);
    reaches && found.why.starts_with("name `") && !is_step || names_account || shares_tasks
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
