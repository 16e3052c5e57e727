//! Errors whose text an agent needs to continue.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

const READ: &str = "filesystem.read_text_file";

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("no-such-file", |a| {
            let arguments = json!({ "path": a.environment.file("notes/shrt.md") });
            a.call_expecting_error(READ, arguments, &["ENOENT", "shrt.md"])?;
            let listed = json!({ "path": a.environment.file("notes") });
            a.call_and_expect("filesystem.list_directory", listed, &["short.md"])?;
            a.read("notes/short.md").map(drop)
        }),
        ("outside-of-the-folder", |a| {
            a.call_expecting_error(READ, json!({ "path": "/etc/hostname" }), &["Access denied"])
        }),
        ("old-text-not-found", |a| {
            let path = a.environment.file("config/settings.toml");
            let wrong = json!([{ "oldText": "timeout_seconds = 31", "newText": "x = 1" }]);
            let wrong = json!({ "path": path, "edits": wrong });
            a.call_expecting_error("filesystem.edit_file", wrong, &["timeout_seconds = 31"])?;
            let shown = a.read("config/settings.toml")?;
            let line = a.line(&shown, "timeout_seconds")?;
            a.edit("config/settings.toml", &line, "timeout_seconds = 31").map(drop)
        }),
        ("no-such-column", |a| {
            let wrong = json!({ "query": "select count(*) from orders where status = 'lost'" });
            a.call("sqlite.read_query", wrong)
                .and_then(|said| a.expect_shown(&said, "no such column: status"))?;
            let arguments = json!({ "table_name": "orders" });
            a.call_and_expect("sqlite.describe_table", arguments, &["'state'"])?;
            let query = json!({ "query": "select id from orders where state like 'lost%'" });
            a.expect("sqlite.read_query", query, &["333"])
        }),
        ("no-such-repository", |a| {
            let wrong = json!({ "repo_path": a.environment.file("apps") });
            a.call_expecting_error("git.git_status", wrong, &["apps"])?;
            let right = json!({ "repo_path": a.environment.repository() });
            a.expect("git.git_status", right, &["draft.md"])
        }),
        ("no-such-branch", |a| {
            let path = a.environment.repository();
            let wrong = json!({ "repo_path": path, "branch_name": "valves" });
            a.call_expecting_error("git.git_checkout", wrong, &["valves"])?;
            let arguments = json!({ "repo_path": path, "branch_type": "local" });
            a.expect("git.git_branch", arguments, &["feature/valves"])
        }),
        ("no-such-page", |a| {
            let url = format!("{}/nowhere", a.environment.web);
            a.call_expecting_error("fetch.fetch", json!({ "url": url }), &["404"])
        }),
        ("no-such-time-zone", |a| {
            let wrong = json!({ "timezone": "Europe/Lissabon" });
            a.call_expecting_error("time.get_current_time", wrong, &["Europe/Lissabon"])?;
            let right = json!({ "timezone": "Europe/Lisbon" });
            a.expect("time.get_current_time", right, &["Europe/Lisbon"])
        }),
        ("wrong-kind-of-argument", |a| {
            // The gateway may refuse what the server would refuse; both name the argument.
            let wrong = json!({ "a": "two", "b": 40 });
            a.call_expecting_error("everything.get-sum", wrong, &["a"])?;
            a.expect("everything.get-sum", json!({ "a": 2, "b": 40 }), &["42"])
        }),
    ];
    group("correction", scripts)
}
