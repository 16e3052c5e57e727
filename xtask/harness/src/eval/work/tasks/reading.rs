//! Reading and searching files of many sizes and kinds.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

const READ: &str = "filesystem.read_text_file";

/// The tasks.
pub fn tasks() -> Vec<Task> {
    [group("reading", &small_tasks()), group("large", &large_tasks())].concat()
}

fn small_tasks() -> Vec<(&'static str, Script)> {
    vec![
        ("read-short-note", |a| {
            let path = a.environment.file("notes/short.md");
            a.expect(READ, json!({ "path": path }), &["cabinet 31", "45 EUR"])
        }),
        ("read-two-notes", |a| {
            let paths =
                [a.environment.file("notes/short.md"), a.environment.file("notes/second.md")];
            let facts = ["Ask Kim", "drawer 14"];
            a.expect("filesystem.read_multiple_files", json!({ "paths": paths }), &facts)
        }),
        ("list-a-folder", |a| {
            let path = a.environment.file("notes");
            let facts = ["short.md", "second.md", "old name.txt"];
            a.expect("filesystem.list_directory", json!({ "path": path }), &facts)
        }),
        ("list-with-sizes", |a| {
            let arguments = json!({ "path": a.environment.file("text"), "sortBy": "size" });
            let tool = "filesystem.list_directory_with_sizes";
            a.expect(tool, arguments, &["chinese.md", "windows.txt"])
        }),
        ("tree-of-folders", |a| {
            let arguments =
                json!({ "path": a.environment.file(""), "excludePatterns": ["app", ".git"] });
            let facts = ["inventory.json", "server.py", "japanese.txt"];
            a.expect("filesystem.directory_tree", arguments, &facts)
        }),
        ("find-then-read", |a| {
            let arguments = json!({ "path": a.environment.file(""), "pattern": "**/*.toml" });
            let found =
                a.call_and_expect("filesystem.search_files", arguments, &["settings.toml"])?;
            let path = a.line(&found, "settings.toml")?;
            a.expect(READ, json!({ "path": path.trim() }), &["port = 8443"])
        }),
        ("size-of-a-file", |a| {
            let arguments = json!({ "path": a.environment.file("notes/second.md") });
            a.expect("filesystem.get_file_info", arguments, &["size: 44"])
        }),
        ("folders-that-are-allowed", |a| {
            let folder = a.environment.file("");
            let fact = folder.trim_end_matches('/').to_owned();
            a.expect("filesystem.list_allowed_directories", json!({}), &[&fact])
        }),
        ("name-with-a-blank", |a| {
            let arguments = json!({ "path": a.environment.file("notes/old name.txt") });
            a.expect(READ, arguments, &["a blank in its name"])
        }),
        ("first-lines-of-a-log", |a| {
            let arguments = json!({ "path": a.environment.file("logs/app.log"), "head": 5 });
            a.expect(READ, arguments, &["2026-02-03T00:00:04"])
        }),
        ("last-lines-of-a-log", |a| {
            let arguments = json!({ "path": a.environment.file("logs/app.log"), "tail": 6 });
            a.expect(READ, arguments, &["shutdown began after 41 open jobs"])
        }),
        ("function-of-a-source-file", |a| {
            let shown = a.read("src/parser.rs")?;
            a.expect_shown(&shown, "pub fn parse_12(line: &str) -> Option<usize> {\n")?;
            a.expect_shown(&shown, "    let field = line.split(';').nth(12)?;\n")
        }),
        ("constant-of-a-script", |a| {
            let shown = a.read("src/server.py")?;
            a.expect_shown(&shown, "RETRY_LIMIT = 17")
        }),
        ("value-in-json", |a| {
            let shown = a.read("data/cities.json")?;
            a.expect_shown(&shown, "\"Turku South\"")?;
            a.expect_shown(&shown, "\"from\": \"06:30\"")
        }),
        ("row-of-a-table", |a| {
            let mut shown = a.read("data/orders.csv")?;
            a.find(&mut shown, "O-0377", "O-0377,")
        }),
        ("file-with-windows-lines", |a| {
            let shown = a.read("text/windows.txt")?;
            a.expect_shown(&shown, "printer = LPT1 in room 204\r\n")
        }),
        ("chinese-text", |a| {
            let mut shown = a.read("text/chinese.md")?;
            a.find(&mut shown, "第41号水泵", "第41号水泵的最高压力为1187帕")
        }),
        ("japanese-text", |a| {
            let mut shown = a.read("text/japanese.txt")?;
            a.find(&mut shown, "57番の部品", "57番の部品は棚77にあります。在庫は171個です。")
        }),
        ("guide-of-some-pages", |a| {
            let mut shown = a.read("docs/guide.md")?;
            a.find(&mut shown, "section 11 is", "The limit of section 11 is 1143 litres.")
        }),
    ]
}

fn large_tasks() -> Vec<(&'static str, Script)> {
    vec![
        ("inventory-of-40-kb", |a| {
            let mut shown = a.read("data/inventory.json")?;
            a.find(&mut shown, "part-117", "part-117")
        }),
        ("one-line-of-60-kb", |a| {
            let mut shown = a.read("data/one_line.txt")?;
            a.find(&mut shown, "code of the gate", "GATE-77-XRAY")
        }),
        ("error-in-a-log-of-200-kb", |a| {
            let mut shown = a.read("logs/app.log")?;
            a.find(&mut shown, "stopped", "disk quota of volume blue-9 is used up")
        }),
        ("end-of-a-log-of-200-kb", |a| {
            let mut shown = a.read("logs/app.log")?;
            a.find(&mut shown, "shutdown", "shutdown began after 41 open jobs")
        }),
        ("middle-of-a-manual", |a| {
            let mut shown = a.read("docs/manual.md")?;
            a.find(&mut shown, "section 71 is", "The limit of section 71 is 1923 litres.")
        }),
        ("begin-of-a-manual", |a| {
            let mut shown = a.read("docs/manual.md")?;
            a.find(&mut shown, "section 2 is", "The limit of section 2 is 1026 litres.")
        }),
        ("two-facts-of-a-manual", |a| {
            let mut shown = a.read("docs/manual.md")?;
            a.find(&mut shown, "section 30 is", "The limit of section 30 is 1390 litres.")?;
            a.find(&mut shown, "section 118 is", "The limit of section 118 is 2534 litres.")
        }),
    ]
}
