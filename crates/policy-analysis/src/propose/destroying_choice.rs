//! Tools that do several things, of which one argument says which: `mode: list | create | delete`.

use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};

use super::argument::Argument;
use super::{ToolDescription, tool_text};

/// Names of arguments that say what is done.
const ACTIONS: [&str; 11] = [
    "action", "mode", "op", "operation", "command", "cmd", "method", "verb", "subcommand", "task",
    "intent",
];
/// Beginnings of values that take something away.
const DESTROYING: [&str; 21] = [
    "delete", "remove", "drop", "destroy", "purge", "prune", "clear", "forget", "reset", "wipe",
    "erase", "truncate", "uninstall", "revoke", "kill", "terminate", "unlink", "discard",
    "archive_all", "empty", "rm",
];
/// Words of tools that put whole folders into other places.
const FOLDER_COPIES: [&str; 5] = ["copy", "move", "sync", "mirror", "replace"];

/// Conditions that match calls which take something away although the tool also does other things: by
/// the value of an argument for the action, or by writing a folder over another. `None` for a tool
/// without such an argument.
#[must_use]
pub fn destroying_choice_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let words = weaver_text::split::identifier(tool.name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let copies_folders = has(&FOLDER_COPIES) && has(&["directory", "folder", "dir", "tree"]);
    let any: Vec<MatchConditions> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| !argument.at.as_str().contains("/*"))
        .filter_map(|argument| condition(&argument, copies_folders))
        .map(|one| MatchConditions { arguments: vec![one], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

fn condition(argument: &Argument<'_>, copies_folders: bool) -> Option<ArgumentPredicate> {
    let name = argument.name.to_ascii_lowercase();
    let at = || ArgumentPredicate::at(argument.at.clone());
    if copies_folders && matches!(name.as_str(), "overwrite" | "force" | "replace" | "clobber") {
        return Some(ArgumentPredicate { equals: Some(true.into()), ..at() });
    }
    if !ACTIONS.contains(&name.as_str()) || !argument.may_be_text() {
        return None;
    }
    let patterns = DESTROYING.iter().filter_map(|word| Pattern::parse(&format!("{word}*")).ok());
    let choices = argument.choices();
    let is_destroying =
        |choice: &&str| DESTROYING.iter().any(|word| choice.to_ascii_lowercase().starts_with(word));
    // Of choices none of which takes anything away, there is nothing to hold.
    let may_destroy =
        choices.is_empty() || choices.iter().any(|choice| is_destroying(&choice.as_str()));
    may_destroy.then(|| ArgumentPredicate { glob_any_case: patterns.collect(), ..at() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn holds(name: &str, properties: Value, call: &Value) -> bool {
        let tool = json!({ "name": name, "inputSchema": { "properties": properties } });
        let found = destroying_choice_match(&ToolDescription::from_json(&tool));
        let any = found.map(|found| found.any).unwrap_or_default();
        any.iter().any(|one| one.arguments[0].holds(call))
    }

    #[test]
    fn an_action_that_takes_something_away_is_held_and_others_are_not() {
        let mode = || json!({ "mode": { "type": "string", "enum": ["list", "create", "delete"] } });
        for (call, is_held) in [
            (json!({ "mode": "delete" }), true),
            (json!({ "mode": "Delete" }), true),
            (json!({ "mode": "create" }), false),
            (json!({}), false),
        ] {
            assert_eq!(holds("git_branch", mode(), &call), is_held, "{call}");
        }
        let free = || json!({ "request": { "properties": { "op": { "type": "string" } } } });
        assert!(holds("memory", free(), &json!({ "request": { "op": "forget_all" } })));
        assert!(!holds("memory", free(), &json!({ "request": { "op": "store" } })));
        let filter = json!({ "state": { "enum": ["open", "deleted"] } });
        assert!(!holds("list_issues", filter, &json!({ "state": "deleted" })));
        let harmless = json!({ "mode": { "enum": ["text", "json"] } });
        assert!(
            destroying_choice_match(&ToolDescription::from_json(
                &json!({ "name": "show", "inputSchema": { "properties": harmless } })
            ))
            .is_none()
        );
    }

    #[test]
    fn a_folder_is_not_written_over_another_unasked() {
        let flags = || json!({ "overwrite": { "type": "boolean" } });
        assert!(holds("fs_copy_directory", flags(), &json!({ "overwrite": true })));
        assert!(!holds("fs_copy_directory", flags(), &json!({ "overwrite": false })));
        assert!(!holds("fs_copy_file", flags(), &json!({ "overwrite": true })));
    }
}
