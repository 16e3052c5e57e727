//! Whether a server speaks to a service, judged by all of its tools.

use serde_json::Value;

use super::action::{self, ToolAction};
use super::tool_text::ToolText;
use super::{ToolDescription, local_write};

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
}

impl ServerReach {
    /// The reach of the server that lists these tools.
    #[must_use]
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Value>) -> Self {
        match tools.into_iter().any(speaks_to_service) {
            true => Self::Service,
            false => Self::Unknown,
        }
    }
}

fn speaks_to_service(tool: &Value) -> bool {
    const ACCOUNT_WORDS: [&str; 9] = [
        "owner", "email", "recipient", "account", "tenant", "organization", "attendee", "assignee",
        "collaborator",
    ];
    let tool = ToolDescription::from_json(tool);
    let text = ToolText::new(&tool);
    let found = action::classify(&text, tool.hints);
    let reaches =
        matches!(found.action, ToolAction::Send | ToolAction::Pay | ToolAction::GrantAccess);
    // What programs take, such as the path of a repository, is not an account.
    let names_account = !local_write::takes_base(tool.input)
        && text.last_words().any(|word| ACCOUNT_WORDS.contains(&word));
    reaches && found.why.starts_with("name `") || names_account
}
