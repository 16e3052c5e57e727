//! Writing, editing, moving files.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("write-a-new-file", |a| {
            let arguments = json!({ "path": a.environment.file("notes/new.md"), "content": "# New\r\n\n新しい\n" });
            a.expect("filesystem.write_file", arguments, &["Successfully"])
        }),
        ("copy-a-note", |a| {
            let shown = a.read("notes/short.md")?;
            let text = shown.texts.first().cloned().unwrap_or_default();
            let arguments = json!({ "path": a.environment.file("notes/copy.md"), "content": text });
            a.expect("filesystem.write_file", arguments, &[])
        }),
        ("edit-a-note", |a| {
            let shown = a.read("notes/short.md")?;
            let line = a.line(&shown, "Price limit")?;
            let diff = a.edit("notes/short.md", &line, &line.replace("45", "60"))?;
            a.expect_shown(&diff, "+Price limit: 60 EUR")
        }),
        ("edit-a-source-file", |a| {
            let mut shown = a.read("src/server.py")?;
            a.find(&mut shown, "RETRY_LIMIT", "RETRY_LIMIT = ")?;
            let line = a.line(&shown, "RETRY_LIMIT")?;
            a.edit("src/server.py", &line, "RETRY_LIMIT = 18\nRETRY_WAIT = 2").map(drop)
        }),
        ("edit-several-lines", |a| {
            let mut shown = a.read("src/parser.rs")?;
            a.find(&mut shown, "parse_20", "nth(20)?;\n")?;
            let old = a.between(&shown, "pub fn parse_20", "nth(20)?;")?;
            let (old, new) = (format!("pub fn parse_20{old}"), format!("pub fn field_20{old}"));
            a.edit("src/parser.rs", &old, &new).map(drop)
        }),
        ("edit-windows-lines", |a| {
            let shown = a.read("text/windows.txt")?;
            let line = a.line(&shown, "printer")?;
            a.edit("text/windows.txt", &line, &line.replace("204", "310")).map(drop)
        }),
        ("edit-chinese-text", |a| {
            let mut shown = a.read("text/chinese.md")?;
            a.find(&mut shown, "第7号水泵", "第7号水泵")?;
            let line = a.line(&shown, "第7号水泵")?;
            a.edit("text/chinese.md", &line, &line.replace("每天", "每周")).map(drop)
        }),
        ("edit-a-row", |a| {
            let mut shown = a.read("data/orders.csv")?;
            a.find(&mut shown, "O-0250", "O-0250,")?;
            let line = a.line(&shown, "O-0250")?;
            a.edit("data/orders.csv", &line, &format!("{line} (checked)")).map(drop)
        }),
        ("edit-json", |a| {
            let shown = a.read("data/cities.json")?;
            let line = a.line(&shown, "\"version\"")?;
            a.edit("data/cities.json", &line, &line.replace('3', "4")).map(drop)
        }),
        ("edit-settings", |a| {
            let shown = a.read("config/settings.toml")?;
            let line = a.line(&shown, "timeout_seconds")?;
            a.edit("config/settings.toml", &line, "timeout_seconds = 45").map(drop)
        }),
        ("edit-a-large-manual", |a| {
            let mut shown = a.read("docs/manual.md")?;
            a.find(&mut shown, "section 90 is", "limit of section 90 is 2170 litres.")?;
            let line = a.line(&shown, "limit of section 90 is")?;
            // A search view may number its lines or mark them.
            let at = line.find("The limit").unwrap_or(0);
            let line = line.get(at..).unwrap_or_default();
            a.edit("docs/manual.md", line, &line.replace("2170", "2200")).map(drop)
        }),
        ("edit-twice", |a| {
            let shown = a.read("config/settings.toml")?;
            let (port, workers) = (a.line(&shown, "port")?, a.line(&shown, "workers")?);
            let edits = json!([
                { "oldText": port, "newText": "port = 9443" },
                { "oldText": workers, "newText": "workers = 8" },
            ]);
            let arguments =
                json!({ "path": a.environment.file("config/settings.toml"), "edits": edits });
            a.expect("filesystem.edit_file", arguments, &["+port = 9443", "+workers = 8"])
        }),
        ("preview-an-edit", |a| {
            let edits = json!([{ "oldText": "limit_mb = 512", "newText": "limit_mb = 1024" }]);
            let path = a.environment.file("config/settings.toml");
            let arguments = json!({ "path": path, "edits": edits, "dryRun": true });
            a.expect("filesystem.edit_file", arguments, &["-limit_mb = 512", "+limit_mb = 1024"])
        }),
        ("make-a-folder-and-move", |a| {
            let folder = a.environment.file("archive/2026");
            a.call_and_expect("filesystem.create_directory", json!({ "path": folder }), &[])?;
            let from = a.environment.file("notes/second.md");
            let arguments = json!({ "source": from, "destination": format!("{folder}/second.md") });
            a.expect("filesystem.move_file", arguments, &["Successfully moved"])
        }),
        ("think-in-steps", |a| {
            for step in 1..=3 {
                let arguments = json!({ "thought": format!("Step {step} of the plan"),
                    "nextThoughtNeeded": step < 3, "thoughtNumber": step, "totalThoughts": 3 });
                let fact = format!("\"thoughtNumber\": {step}");
                a.call_and_expect("thinking.sequentialthinking", arguments, &[&fact])?;
            }
            Ok(())
        }),
    ];
    group("editing", scripts)
}
