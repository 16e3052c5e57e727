//! Which calls change what a later call of the same server works on, although they read: the page, the
//! folder, the database or the document that a session is at.
//!
//! An approved click happens on whatever page is open then. So these calls count like writes: whoever
//! approves is shown them, and one that is made after the grant ends it.

use weaver_types::CapabilityId;

/// Words that say by themselves that a session goes elsewhere.
const MOVES: [&str; 9] =
    ["navigate", "goto", "back", "forward", "cd", "chdir", "checkout", "reload", "refresh"];
/// Words that say so beside a place.
const MOVES_TO_A_PLACE: [&str; 12] = [
    "activate", "attach", "change", "connect", "focus", "go", "jump", "open", "select", "set",
    "switch", "use",
];
/// What a session can be at.
const PLACES: [&str; 30] = [
    "account", "branch", "browser", "buffer", "catalog", "context", "cwd", "database", "db",
    "desktop", "device", "dir", "directory", "document", "environment", "folder", "frame",
    "mailbox", "namespace", "page", "profile", "project", "schema", "session", "sheet", "tab",
    "url", "window", "workbook", "workspace",
];

/// Whether the name of a tool says that a call of it moves the session.
pub(crate) fn moves_session(capability: &CapabilityId) -> bool {
    let name = capability.as_str();
    let tool = name.split_once('.').map_or(name, |(_, tool)| tool);
    let words = weaver_text::split::words(tool);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&MOVES) || has(&MOVES_TO_A_PLACE) && has(&PLACES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_goes_elsewhere_says_so_in_its_name() {
        let moves = |id: &str| moves_session(&CapabilityId::parse(id).unwrap());
        for id in [
            "browser.browser_navigate_back",
            "browser.navigatePage",
            "chrome.select_page",
            "db.use_database",
            "shell.cd",
            "sheets.open_workbook",
            "git.git_checkout",
            "serena.activate_project",
            "mail.open_mailbox",
            "browser.browser_tab_select",
        ] {
            assert!(moves(id), "{id}");
        }
        for id in [
            "browser.browser_snapshot",
            "db.select_rows",
            "files.open_file",
            "mail.read_mail",
            "back.read",
            "notes.get_page",
            "tasks.list_projects",
            "db.describe_schema",
        ] {
            assert!(!moves(id), "{id}");
        }
    }
}
