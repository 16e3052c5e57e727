//! Bounds the files into which a tool that reads saves its result.

use serde_json::Value;
use weaver_policy::critical::saved_files;
use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_types::JsonPointer;

use super::{ToolDescription, sensitive_paths};

/// Conditions that match calls which save a result where keys, start-up files or the system are;
/// `None` for a tool that saves nothing. `folders` are those of its server.
#[must_use]
pub fn saved_file_match(tool: &ToolDescription<'_>, folders: &[String]) -> Option<MatchConditions> {
    let any_path = sensitive_paths(folders);
    let sensitive = |name: &str| {
        let at = ArgumentPredicate::at(JsonPointer::parse(&format!("/{name}")).ok()?);
        let argument = ArgumentPredicate { any_path: any_path.clone(), ..at };
        Some(MatchConditions { arguments: vec![argument], ..MatchConditions::default() })
    };
    let any: Vec<MatchConditions> = saved_files(tool.input).filter_map(sensitive).collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

/// Whether no call of a tool with this schema goes without a file to save something in, or whether it
/// may replace one.
pub(super) fn is_always_saved(schema: Option<&Value>) -> bool {
    const REPLACES: [&str; 3] = ["overwrite", "overwrite_existing", "overwriteExisting"];
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|one| one == name));
    let properties = schema.and_then(|schema| schema.get("properties"));
    let has = |name: &&str| properties.is_some_and(|properties| properties.get(name).is_some());
    saved_files(schema).any(is_required) || REPLACES.iter().any(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_may_be_saved_anywhere_but_where_it_would_be_run() {
        let tool = json!({"name": "browser_snapshot", "inputSchema": {"properties": {
            "filename": {"type": "string", "description": "Save snapshot to this file"},
            "url": {"type": "string"}}}});
        let found = saved_file_match(&ToolDescription::from_json(&tool), &[]).unwrap();
        let [condition] = &found.any[..] else { panic!("{found:?}") };
        let matches = |name: &str| condition.arguments[0].holds(&json!({ "filename": name }));
        for held in [".git/hooks/post-checkout", "/home/a/.bashrc", "x/../.vscode/tasks.json"] {
            assert!(matches(held), "{held}");
        }
        assert!(!matches("shots/page.png") && !matches("/home/a/shots/page.png"));
        assert!(!condition.arguments[0].holds(&json!({ "url": "/etc/passwd" })));
    }

    #[test]
    fn what_cannot_go_without_a_file_always_saves_one() {
        let saved = |required: &[&str], names: &[&str]| {
            let properties = names.iter().map(|name| ((*name).to_owned(), json!({})));
            let properties: serde_json::Map<String, Value> = properties.collect();
            is_always_saved(Some(&json!({"properties": properties, "required": required})))
        };
        assert!(saved(&["output_path"], &["output_path", "input"]));
        assert!(saved(&[], &["overwrite", "files"]));
        assert!(!saved(&["input"], &["output_path", "input"]));
        assert!(!saved(&["path"], &["path"]));
    }
}
