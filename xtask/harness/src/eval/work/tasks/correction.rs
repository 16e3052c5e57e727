//! Errors whose words an agent needs to go on.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

const READ: &str = "filesystem.read_text_file";

/// The tasks.
pub fn tasks() -> Vec<Task> {
    group("correction", &scripts())
}

fn scripts() -> Vec<(&'static str, Script)> {
    vec![
        ("no-such-file", |a| {
            let arguments = json!({ "path": a.place.file("notes/shrt.md") });
            a.fails(READ, arguments, &["ENOENT", "shrt.md"])?;
            let listed = json!({ "path": a.place.file("notes") });
            a.reads("filesystem.list_directory", listed, &["short.md"])?;
            a.read("notes/short.md").map(drop)
        }),
        ("outside-of-the-folder", |a| {
            a.fails(READ, json!({ "path": "/etc/hostname" }), &["Access denied"])
        }),
        ("old-text-not-found", |a| {
            let path = a.place.file("config/settings.toml");
            let wrong = json!([{ "oldText": "timeout_seconds = 31", "newText": "x = 1" }]);
            let wrong = json!({ "path": path, "edits": wrong });
            a.fails("filesystem.edit_file", wrong, &["timeout_seconds = 31"])?;
            let shown = a.read("config/settings.toml")?;
            let line = a.line(&shown, "timeout_seconds")?;
            a.edit("config/settings.toml", &line, "timeout_seconds = 31").map(drop)
        }),
        ("no-such-column", |a| {
            let wrong = json!({ "query": "select count(*) from orders where status = 'lost'" });
            a.call("sqlite.read_query", wrong)
                .and_then(|said| a.sees(&said, "no such column: status"))?;
            let arguments = json!({ "table_name": "orders" });
            a.reads("sqlite.describe_table", arguments, &["'state'"])?;
            let query = json!({ "query": "select id from orders where state like 'lost%'" });
            a.reads("sqlite.read_query", query, &["333"]).map(drop)
        }),
        ("no-such-repository", |a| {
            let wrong = json!({ "repo_path": a.place.file("apps") });
            a.fails("git.git_status", wrong, &["apps"])?;
            let right = json!({ "repo_path": a.place.repository() });
            a.reads("git.git_status", right, &["draft.md"]).map(drop)
        }),
        ("no-such-branch", |a| {
            let path = a.place.repository();
            let wrong = json!({ "repo_path": path, "branch_name": "valves" });
            a.fails("git.git_checkout", wrong, &["valves"])?;
            let arguments = json!({ "repo_path": path, "branch_type": "local" });
            a.reads("git.git_branch", arguments, &["feature/valves"]).map(drop)
        }),
        ("no-such-page", |a| {
            let url = format!("{}/nowhere", a.place.web);
            a.fails("fetch.fetch", json!({ "url": url }), &["404"])
        }),
        ("no-such-time-zone", |a| {
            let wrong = json!({ "timezone": "Europe/Lissabon" });
            a.fails("time.get_current_time", wrong, &["Europe/Lissabon"])?;
            let right = json!({ "timezone": "Europe/Lisbon" });
            a.reads("time.get_current_time", right, &["Europe/Lisbon"]).map(drop)
        }),
        ("wrong-kind-of-argument", |a| {
            // The gateway may refuse what the server would refuse; both name the argument.
            let wrong = json!({ "a": "two", "b": 40 });
            a.fails("everything.get-sum", wrong, &["a"])?;
            a.reads("everything.get-sum", json!({ "a": 2, "b": 40 }), &["42"]).map(drop)
        }),
    ]
}
