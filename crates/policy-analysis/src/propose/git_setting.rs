//! Calls that change how git works: settings that run programs, and hooks.

use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_text::split;
use weaver_types::JsonPointer;

use super::argument::Argument;
use super::{ToolDescription, tool_text};

/// Settings that run nothing and lead nowhere.
const HARMLESS: &[&str] = &[
    "user.name", "user.email", "core.autocrlf", "core.eol", "core.ignorecase", "core.filemode",
    "core.quotepath", "core.abbrev", "core.longpaths", "core.precomposeunicode",
    "init.defaultBranch", "pull.rebase", "pull.ff", "push.default", "push.autoSetupRemote",
    "fetch.prune", "rebase.autoStash", "rebase.autoSquash", "merge.conflictStyle", "merge.ff",
    "diff.algorithm", "diff.renames", "diff.colorMoved", "color.*", "commit.verbose",
    "branch.autoSetupRebase", "branch.*.description", "rerere.enabled", "log.date", "log.decorate",
    "advice.*", "column.ui", "i18n.*", "gc.auto",
];

/// Conditions that match calls which set something else than a harmless setting of git, or a hook; `None`
/// for a tool that sets neither.
#[must_use]
pub fn git_setting_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let words = split::identifier(tool.name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let described = split::words(&tool.description.to_lowercase());
    let is_of_git = has(&["git"]) || described.iter().any(|word| word == "git");
    let arguments: Vec<Argument<'_>> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| argument.depth == 0)
        .collect();
    let find = |known: &[&str]| {
        arguments
            .iter()
            .find(|argument| known.contains(&argument.name.to_ascii_lowercase().as_str()))
    };
    let whole_call = || JsonPointer::parse("").ok().map(ArgumentPredicate::at);
    let value = find(&["value", "val", "new_value", "newvalue", "content", "script", "body"]);
    let is_given = |argument: Option<&Argument<'_>>| {
        let at = argument.map(|argument| ArgumentPredicate::at(argument.at.clone()));
        let at = at.or_else(whole_call)?;
        Some(ArgumentPredicate { present: Some(true), ..at })
    };
    let sets = value.is_some() || has(&["set", "write", "install", "add", "update", "unset"]);
    if !is_of_git || !sets {
        return None;
    }
    if has(&["hook", "hooks"]) {
        let given = is_given(value)?;
        return Some(MatchConditions { arguments: vec![given], ..MatchConditions::default() });
    }
    if !has(&["config", "configure", "configuration", "setting", "settings"]) {
        return None;
    }
    let harmless = |key: &Argument<'_>| {
        let keys = HARMLESS.iter().filter_map(|key| Pattern::parse(key).ok()).collect();
        let at = ArgumentPredicate::at(key.at.clone());
        let fits = ArgumentPredicate { glob_any_case: keys, ..at };
        Box::new(MatchConditions { arguments: vec![fits], ..MatchConditions::default() })
    };
    let key = find(&["key", "name", "setting", "option", "config_key", "configkey", "variable"]);
    Some(MatchConditions {
        arguments: vec![is_given(value)?],
        not: key.map(harmless),
        ..MatchConditions::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn holds(name: &str, properties: &Value, call: &Value) -> bool {
        let tool = json!({ "name": name, "inputSchema": { "properties": properties } });
        let Some(found) = git_setting_match(&ToolDescription::from_json(&tool)) else {
            return false;
        };
        let all = |one: &MatchConditions| one.arguments.iter().all(|test| test.holds(call));
        all(&found) && !found.not.as_deref().is_some_and(all)
    }

    #[test]
    fn settings_that_run_programs_and_hooks_are_held() {
        let setting = json!({ "key": { "type": "string" }, "value": { "type": "string" } });
        for (key, is_held) in [
            ("core.fsmonitor", true),
            ("alias.x", true),
            ("core.pager", true),
            ("core.sshCommand", true),
            ("core.hooksPath", true),
            ("core.editor", true),
            ("filter.a.clean", true),
            ("url.x.insteadOf", true),
            ("user.email", false),
            ("User.Name", false),
            ("color.ui", false),
            ("init.defaultbranch", false),
        ] {
            let call = json!({ "key": key, "value": "x" });
            assert_eq!(holds("git_config", &setting, &call), is_held, "{key}");
        }
        assert!(!holds("git_config", &setting, &json!({ "key": "core.pager" })));
        let hook = json!({ "hook": { "type": "string" }, "content": { "type": "string" } });
        let call = json!({ "hook": "pre-commit", "content": "id" });
        assert!(holds("git_hooks_set", &hook, &call));
        assert!(holds("git_set_config", &json!({ "settings": {} }), &json!({ "settings": {} })));
        assert!(!holds("set_config", &setting, &json!({ "key": "a", "value": "b" })));
        assert!(!holds("git_status", &json!({ "path": {} }), &json!({ "path": "." })));
    }
}
