//! Tools that do several things, of which one argument says which: `mode: list | create | delete`.

use weaver_policy::critical::{DELETION_VERBS, DELETION_WORDS};
use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};

use super::argument::Argument;
use super::deletion_words::is_destroying;
use super::{ToolDescription, tool_text};

/// Names of arguments that say what is done.
const ACTIONS: [&str; 12] = [
    "action", "mode", "op", "operation", "command", "cmd", "method", "verb", "subcommand", "task",
    "intent", "function",
];
/// Those that say it within a word too: `bulkDelete`.
const JOINED: [&str; 8] =
    ["delete", "destroy", "erase", "purge", "remove", "terminate", "truncate", "uninstall"];
/// Words of choices that change something or reach somebody, which a read does not.
const CHANGING: [&str; 26] = [
    "approve", "cancel", "create", "deploy", "exec", "execute", "grant", "insert", "install",
    "invoke", "merge", "overwrite", "patch", "pay", "post", "publish", "push", "put", "restart",
    "run", "send", "stop", "transfer", "update", "upload", "write",
];
/// Words of tools that put files or whole folders into other places.
const COPIES: [&str; 13] = [
    "copy", "move", "rename", "sync", "mirror", "replace", "compress", "extract", "archive",
    "unzip", "zip", "clone", "restore",
];

/// Conditions that match calls which take something away although the tool also does other things: by
/// the value of an argument for the action, or by writing a folder over another. `None` for a tool
/// without such an argument. Of a tool that `reads`, each call is matched that asks for something else than
/// a read.
#[must_use]
pub fn destroying_choice_match(tool: &ToolDescription<'_>, reads: bool) -> Option<MatchConditions> {
    let words = weaver_text::split::identifier(tool.name);
    let copies = words.iter().any(|word| COPIES.contains(&word.as_str()));
    let any: Vec<MatchConditions> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| !argument.at.as_str().contains("/*"))
        .filter_map(|argument| condition(&argument, copies, reads))
        .map(|one| MatchConditions { arguments: vec![one], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

fn condition(argument: &Argument<'_>, copies: bool, reads: bool) -> Option<ArgumentPredicate> {
    let name = argument.name.to_ascii_lowercase();
    let at = || ArgumentPredicate::at(argument.at.clone());
    if copies && matches!(name.as_str(), "overwrite" | "force" | "replace" | "clobber") {
        return Some(ArgumentPredicate { equals: Some(true.into()), ..at() });
    }
    if !names_action(argument.name) || !argument.may_be_text() {
        return None;
    }
    let choices = argument.choices();
    if reads && choices.is_empty() && !names_mode_of_search(argument) {
        return Some(ArgumentPredicate { reading_action: Some(false), ..at() });
    }
    // Of what somebody filters by, `all` is one.
    let is_filter = choices.iter().any(|choice| matches!(choice.as_str(), "all" | "any"));
    let is_change = |choice: &String| {
        is_destroying(choice) || reads && !is_filter && has_word(choice, &CHANGING)
    };
    let patterns: Vec<String> = match choices.is_empty() {
        // `delete_all`, `force_delete`
        true => {
            const MARKS: [&str; 6] = ["_", "-", " ", ".", "\n", "\t"];
            let behind = |word: &str| MARKS.map(|mark| format!("*{mark}{word}"));
            let beginnings = DELETION_VERBS.iter().flat_map(|word| {
                let own = [format!("{word}*")];
                own.into_iter().chain(behind(&format!("{word}*")))
            });
            let joined = JOINED.iter().map(|word| format!("*{word}*"));
            let words = DELETION_WORDS.iter().flat_map(|word| {
                let own = [(*word).to_owned(), format!("{word}_*"), format!("{word} *")];
                own.into_iter().chain(behind(word))
            });
            beginnings.chain(joined).chain(words).collect()
        }
        false => choices.into_iter().filter(is_change).collect(),
    };
    let patterns: Vec<Pattern> =
        patterns.iter().filter_map(|pattern| Pattern::parse(pattern).ok()).collect();
    // Of choices none of which takes anything away, there is nothing to hold.
    (!patterns.is_empty()).then(|| ArgumentPredicate { glob_any_case: patterns, ..at() })
}

/// Whether an argument says what is done: `operation`, `memory_action`, `action_type`.
fn names_action(name: &str) -> bool {
    let words = weaver_text::split::identifier(name);
    let is_action = |word: &String| ACTIONS.contains(&word.as_str());
    match &words[..] {
        [.., before, last] if last == "type" || last == "name" => is_action(before),
        [.., last] => is_action(last),
        [] => false,
    }
}

/// Whether an argument says by which rule something is found: `tag_mode`, `searchMode`.
fn names_mode_of_search(argument: &Argument<'_>) -> bool {
    const SUBJECTS: [&str; 5] = ["tag", "search", "match", "sort", "filter"];
    let words = &argument.words;
    matches!(&words[..], [.., of, last] if last == "mode" && SUBJECTS.contains(&of.as_str()))
}

fn has_word(choice: &str, known: &[&str]) -> bool {
    weaver_text::split::identifier(choice).iter().any(|word| known.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn holds(name: &str, properties: Value, call: &Value) -> bool {
        holds_as(false, name, properties, call)
    }

    fn holds_as(reads: bool, name: &str, properties: Value, call: &Value) -> bool {
        let tool = json!({ "name": name, "inputSchema": { "properties": properties } });
        let found = destroying_choice_match(&ToolDescription::from_json(&tool), reads);
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
        assert!(holds("memory", free(), &json!({ "request": { "op": "force_delete" } })));
        for (op, is_held) in [("del", true), ("rm_all", true), ("deliver", false), ("delta", false)]
        {
            assert_eq!(
                holds("memory", free(), &json!({ "request": { "op": op } })),
                is_held,
                "{op}"
            );
        }
        let typed = || json!({ "action_type": { "enum": ["list", "hard-reset", "preset"] } });
        assert!(holds("x", typed(), &json!({ "action_type": "hard-reset" })));
        assert!(!holds("x", typed(), &json!({ "action_type": "preset" })));
        assert!(!holds("memory", free(), &json!({ "request": { "op": "store" } })));
        let filter = json!({ "state": { "enum": ["open", "deleted"] } });
        assert!(!holds("list_issues", filter, &json!({ "state": "deleted" })));
        let harmless = json!({ "mode": { "enum": ["text", "json"] } });
        assert!(
            destroying_choice_match(
                &ToolDescription::from_json(
                    &json!({ "name": "show", "inputSchema": { "properties": harmless } })
                ),
                true
            )
            .is_none()
        );
    }

    #[test]
    fn of_a_read_what_asks_for_something_else_is_held() {
        let free = || json!({ "operation": { "type": "string" } });
        for (operation, of_read, of_write) in [
            (" delete", true, true),
            ("\ndelete", true, true),
            ("bulk-delete", true, true),
            ("bulkDelete", true, true),
            ("hard-reset", true, true),
            ("publish", true, false),
            ("TerminateInstances", true, true),
            ("frobnicate", true, false),
            ("list", false, false),
            ("GetItems", false, false),
            ("mean", false, false),
        ] {
            let call = json!({ "operation": operation });
            assert_eq!(holds_as(true, "items", free(), &call), of_read, "{operation:?}");
            assert_eq!(holds_as(false, "items", free(), &call), of_write, "{operation:?}");
        }
        let listed = |choices: &[&str]| json!({ "action": { "enum": choices } });
        let write = json!({ "action": "write" });
        assert!(holds_as(true, "x", listed(&["read", "write"]), &write));
        assert!(!holds_as(false, "x", listed(&["read", "write"]), &write));
        assert!(!holds_as(true, "x", listed(&["all", "read", "write"]), &write));
        assert!(!holds_as(true, "x", listed(&["hash", "hmac"]), &json!({ "action": "hmac" })));
    }

    #[test]
    fn nothing_is_copied_over_something_else_unasked() {
        let flags = || json!({ "overwrite": { "type": "boolean" } });
        assert!(holds("fs_copy_directory", flags(), &json!({ "overwrite": true })));
        assert!(!holds("fs_copy_directory", flags(), &json!({ "overwrite": false })));
        assert!(holds("fast_move_file", flags(), &json!({ "overwrite": true })));
        assert!(!holds("write_file", flags(), &json!({ "overwrite": true })));
    }
}
