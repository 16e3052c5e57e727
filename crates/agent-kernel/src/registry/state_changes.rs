//! Which calls change what a later call works on, although they read: the page, the folder, the
//! database or the document that a session is at, or a file into which the result is saved.
//!
//! An approved click happens on whatever page is open then. So these calls count like writes: whoever
//! approves is shown them, and one that is made after the grant ends it.

use serde_json::Value;
use weaver_policy::critical::{names_path, possible_saved_files, saved_files};
use weaver_types::Capability;

/// Words that say by themselves that a session goes elsewhere.
const MOVES: [&str; 20] = [
    "navigate", "goto", "back", "forward", "cd", "chdir", "checkout", "reload", "refresh", "visit",
    "follow", "load", "next", "previous", "prev", "scroll", "login", "logout", "activate",
    "switch",
];
/// Words that say so beside a place.
const MOVES_TO_A_PLACE: [&str; 12] = [
    "activate", "attach", "change", "connect", "focus", "go", "jump", "open", "select", "set",
    "switch", "use",
];
/// Words that say that files are written, whatever the contract says of it.
const WRITES_FILES: [&str; 14] = [
    "decompress", "download", "downloads", "export", "exports", "gunzip", "save", "saves",
    "unarchive", "uncompress", "unpack", "unrar", "untar", "unzip",
];
/// Words that say so of files, and something else of texts and values.
const WRITES_BESIDE_A_PATH: [&str; 6] =
    ["convert", "extract", "render", "restore", "compress", "transcode"];
/// What a session can be at.
const PLACES: [&str; 38] = [
    "account", "branch", "browser", "buffer", "catalog", "cluster", "connection", "context", "cwd",
    "database", "db", "desktop", "device", "dir", "directory", "document", "environment", "folder",
    "frame", "mailbox", "namespace", "notebook", "page", "presentation", "profile", "project",
    "region", "repo", "repository", "schema", "session", "sheet", "tab", "tenant", "url", "window",
    "workbook", "workspace",
];
/// Arguments that say which of several things a tool does.
const CHOICES: [&str; 4] = ["action", "operation", "op", "command"];
/// Words of a description that say so before `current` or `active`.
const MAKES_CURRENT: [&str; 12] = [
    "make", "makes", "made", "set", "sets", "become", "becomes", "activate", "activates", "switch",
    "switches", "as",
];
/// How many words may stand between the two.
const MAX_BETWEEN: usize = 4;

/// What the description of a tool says of such changes, read once.
#[derive(Debug)]
pub(super) struct StateChanges {
    /// Every call changes something.
    always: bool,
    /// The tool is about places, so that a chosen action may lead to one.
    is_about_places: bool,
    /// The arguments that name a file into which the result is saved.
    saved_files: Vec<String>,
    /// Those that may name one: what is given for them decides.
    possible_saved_files: Vec<String>,
}

impl StateChanges {
    pub(super) fn of(capability: &Capability) -> Self {
        let name = capability.id().as_str();
        let tool = name.split_once('.').map_or(name, |(_, tool)| tool);
        let words = weaver_text::split::words(tool);
        let is_about_places = words.iter().any(|word| is_place(word));
        let spec = capability.spec();
        Self {
            always: has_word(&words, &MOVES)
                || has_word(&words, &WRITES_FILES)
                || has_word(&words, &WRITES_BESIDE_A_PATH)
                    && may_take_path(spec.input_schema.as_deref())
                || is_about_places && has_word(&words, &MOVES_TO_A_PLACE)
                || makes_current(&spec.description),
            is_about_places,
            saved_files: saved_files(spec.input_schema.as_deref()).map(str::to_owned).collect(),
            possible_saved_files: possible_saved_files(spec.input_schema.as_deref())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether a call with these arguments changes something.
    pub(super) fn are_made_with(&self, arguments: &Value) -> bool {
        let is_given = |name: &String| arguments.get(name).is_some_and(|value| !value.is_null());
        let names_file = |name: &String| {
            arguments.get(name).and_then(Value::as_str).is_some_and(looks_like_file)
        };
        self.always
            || self.saved_files.iter().any(is_given)
            || self.possible_saved_files.iter().any(names_file)
            || self.are_chosen(arguments)
    }

    /// Whether an argument chooses an action that changes something.
    fn are_chosen(&self, arguments: &Value) -> bool {
        let chosen = CHOICES.iter().filter_map(|name| arguments.get(name)?.as_str());
        let words: Vec<String> = chosen.flat_map(weaver_text::split::words).collect();
        has_word(&words, &MOVES) || self.is_about_places && has_word(&words, &MOVES_TO_A_PLACE)
    }
}

/// Whether a call may name a file; one of which nothing is said may.
fn may_take_path(schema: Option<&Value>) -> bool {
    const FILES: [&str; 6] = ["archive", "file", "folder", "input", "output", "source"];
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    members.is_none_or(|members| {
        members.keys().any(|name| {
            let words = weaver_text::split::identifier(name);
            names_path(name) || has_word(&words, &FILES)
        })
    })
}

/// Whether a text could be the path of a file: it has folders, or an ending.
fn looks_like_file(text: &str) -> bool {
    let has_ending = || {
        text.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty()
                && (1..=8).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    text.contains(['/', '\\']) || has_ending()
}

fn has_word(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

/// Whether a word is a place, also one of several.
fn is_place(word: &str) -> bool {
    PLACES.contains(&word) || word.strip_suffix('s').is_some_and(|one| PLACES.contains(&one))
}

/// Whether a description says that something becomes the current one.
fn makes_current(description: &str) -> bool {
    let first = description.split(['.', '\n']).next().unwrap_or_default();
    let words = weaver_text::split::words(first);
    let current = |word: &String| matches!(word.as_str(), "current" | "active");
    words.iter().position(current).is_some_and(|at| {
        let before = words.get(at.saturating_sub(MAX_BETWEEN)..at).unwrap_or_default();
        before.iter().any(|word| MAKES_CURRENT.contains(&word.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects};

    use super::*;

    fn tool(id: &str, description: &str) -> Capability {
        let (id, agents) = (CapabilityId::parse(id).unwrap(), AllowedAgents::Any);
        let draft = CapabilityDraft {
            description: description.to_owned(),
            ..CapabilityDraft::new(id, "x", Effects::READ_LOCAL, agents)
        };
        draft.build().unwrap()
    }

    #[test]
    fn a_tool_that_goes_elsewhere_says_so_in_its_name() {
        let moves = |id: &str| StateChanges::of(&tool(id, "Does it.")).are_made_with(&json!({}));
        for id in [
            "browser.browser_navigate_back",
            "browser.navigatePage",
            "browser.visit",
            "browser.next_result",
            "chrome.select_page",
            "db.use_database",
            "jupyter.use_notebook",
            "shell.cd",
            "sheets.open_workbook",
            "git.git_checkout",
            "serena.activate_project",
            "mail.open_mailbox",
            "browser.browser_tab_select",
            "tar.extract_archive",
            "zip.unzip",
            "media.convert",
            "mail.download_attachment",
            "db.export_table",
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

    #[test]
    fn what_converts_or_extracts_values_writes_no_file() {
        let changes = |id: &str, properties: Value| {
            let (id, agents) = (CapabilityId::parse(id).unwrap(), AllowedAgents::Any);
            let schema = json!({ "type": "object", "properties": properties });
            let draft = CapabilityDraft {
                input_schema: Some(std::sync::Arc::new(schema)),
                ..CapabilityDraft::new(id, "x", Effects::READ_LOCAL, agents)
            };
            StateChanges::of(&draft.build().unwrap()).are_made_with(&json!({}))
        };
        assert!(!changes("time.convert_time", json!({ "time": {}, "target_timezone": {} })));
        assert!(!changes("text.extract_numbers", json!({ "text": {} })));
        assert!(changes("media.convert", json!({ "file_path": {}, "format": {} })));
        assert!(changes("tar.extract_archive", json!({ "archive": {} })));
    }

    #[test]
    fn a_place_for_the_result_is_one_by_what_is_given_for_it() {
        let schema = json!({ "properties": { "destination": {}, "id": {} } });
        let (id, agents) = (CapabilityId::parse("ci.get_artifact").unwrap(), AllowedAgents::Any);
        let draft = CapabilityDraft {
            input_schema: Some(std::sync::Arc::new(schema)),
            ..CapabilityDraft::new(id, "x", Effects::READ_OPEN, agents)
        };
        let found = StateChanges::of(&draft.build().unwrap());
        for (destination, is_file) in [
            ("report.csv", true),
            ("out/report", true),
            ("Berlin", false),
            ("St. Gallen", false),
            ("", false),
        ] {
            let changes = found.are_made_with(&json!({ "destination": destination }));
            assert_eq!(changes, is_file, "{destination}");
        }
    }

    #[test]
    fn an_action_and_a_description_say_it_too() {
        let tabs = tool("browser.browser_tabs", "Works with tabs.");
        assert!(StateChanges::of(&tabs).are_made_with(&json!({ "action": "select", "index": 1 })));
        assert!(!StateChanges::of(&tabs).are_made_with(&json!({ "action": "list" })));
        let project = tool("kanban.get_project", "Gets a project and makes it the current one.");
        assert!(StateChanges::of(&project).are_made_with(&json!({})));
        let current = tool("kanban.get_current_project", "Gets the current project.");
        assert!(!StateChanges::of(&current).are_made_with(&json!({})));
    }
}
