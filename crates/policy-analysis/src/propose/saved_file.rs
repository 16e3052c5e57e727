//! Bounds the files into which a tool that reads saves its result.

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
}
