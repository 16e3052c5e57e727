//! `weaver connect` where one file has several places.

use serde_json::{Value, json};

use crate::newcomer::{Home, server, without_comments};
use crate::support::Run;

#[test]
fn both_tables_of_a_file_are_connected_and_given_back() {
    let home = Home::new();
    let (user, project) = (server("good", json!({})), server("good", json!({ "PROJECT": "1" })));
    let here = home.path("work").canonicalize().unwrap();
    let mut in_project = project.clone();
    in_project["cwd"] = here.to_str().unwrap().into();
    let both = json!({ "mcpServers": { "a": user, "b": in_project } });
    home.write("both.json", &both.to_string());
    let claude = json!({
        "mcpServers": { "a": user },
        "projects": { here.to_str().unwrap(): { "mcpServers": { "b": project } } },
    });
    home.write(".claude.json", &serde_json::to_string_pretty(&claude).unwrap());
    let before = home.read(".claude.json");
    home.ok(&["init", "--yes", "--from", "../both.json"]);
    home.ok(&["connect", "--project"]);
    let after: Value = serde_json::from_str(&without_comments(&home.read(".claude.json"))).unwrap();
    for table in [&after["mcpServers"], &after["projects"][here.to_str().unwrap()]["mcpServers"]] {
        let names: Vec<&String> = table.as_object().unwrap().keys().collect();
        assert_eq!(names, ["weaver"], "{after}");
    }
    home.ok(&["disconnect"]);
    assert_eq!(home.read(".claude.json"), before);
}

#[test]
fn a_script_that_disconnects_is_told_what_happened_also_where_nothing_was_connected() {
    let home = Home::new();
    let user = json!({ "mcpServers": { "a": server("good", json!({})) } });
    home.write(".cursor/mcp.json", &user.to_string());
    home.ok(&["init", "--yes", "--project"]);
    let nothing = home.ok(&["disconnect", "--json"]).json();
    assert_eq!(nothing, json!({ "ok": true, "files": 0, "dry_run": false }));
    home.ok(&["connect"]);
    let done = home.ok(&["disconnect", "--json"]).json();
    assert_eq!((&done["client"], &done["undo"]), (&json!("cursor"), &json!("exact")), "{done}");
}

#[test]
fn a_dry_run_shows_no_secret() {
    let home = Home::new();
    let mut good = server("good", json!({ "SOME_TOKEN": "secret-in-env" }));
    let more = ["postgres://ann:secret-in-url@host/db", "API_KEY=secret-in-option"];
    good["args"].as_array_mut().unwrap().extend(more.map(Value::from));
    // It stays in the client, and so its line stands beside the change.
    let legacy = json!({ "type": "sse", "url": "https://x.example/sse",
        "headers": { "Authorization": "Bearer secret-in-header" } });
    let user = json!({ "mcpServers": { "a": good, "b": legacy } });
    home.write(".cursor/mcp.json", &serde_json::to_string_pretty(&user).unwrap());
    home.ok(&["init", "--yes", "--project"]);
    let shown = home.ok(&["connect", "--dry-run"]).out;
    assert!(shown.contains("-      \"command\"") && !shown.contains("secret-in-"), "{shown}");
    home.ok(&["connect"]);
    let shown = home.ok(&["disconnect", "--dry-run"]).out;
    assert!(shown.contains("+      \"command\"") && !shown.contains("secret-in-"), "{shown}");
}

/// What a client with this entry starts, by the names of its table.
fn names(home: &Home, file: &str, table: &str) -> Vec<String> {
    let text: Value = serde_json::from_str(&without_comments(&home.read(file))).unwrap();
    let mut names: Vec<String> = text[table].as_object().unwrap().keys().cloned().collect();
    names.sort();
    names
}

#[test]
fn a_server_of_another_folder_or_another_account_is_another_server() {
    let home = Home::new();
    let entry = server("good", json!({ "DB": "prod" }));
    home.write("work/.mcp.json", &json!({ "mcpServers": { "notes": entry } }).to_string());
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "db": entry } }).to_string());
    home.ok(&["init", "--yes", "--project"]);
    // The same entry in another project, and the same program without its variable.
    std::fs::remove_file(home.path("work/.mcp.json")).unwrap();
    home.write("work/other/.mcp.json", &json!({ "mcpServers": { "notes": entry } }).to_string());
    let dev = server("good", json!({}));
    home.write(
        ".codeium/windsurf/mcp_config.json",
        &json!({ "mcpServers": { "db": dev } }).to_string(),
    );
    let weaver = std::path::Path::new(env!("CARGO_BIN_EXE_weaver"));
    let in_other = |args: &[&str]| {
        let mut command = home.command(weaver);
        crate::support::Run::new(
            command.args(args).current_dir(home.path("work/other")).output().unwrap(),
        )
    };
    let update = in_other(&["update", "--json", "--project"]).json();
    let new: Vec<&str> =
        update["servers"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(new, ["db-windsurf", "notes-other"], "{update}");
    let run = in_other(&["connect", "--project"]);
    assert!(run.code == 0 && run.out.contains("Cursor is connected"), "{run:?}");
    assert_eq!(names(&home, "work/other/.mcp.json", "mcpServers"), ["notes"]);
    assert_eq!(names(&home, ".codeium/windsurf/mcp_config.json", "mcpServers"), ["db"]);
}

#[test]
fn a_server_with_the_folder_of_its_workspace_is_connected() {
    let home = Home::new();
    let mut entry = server("good", json!({}));
    entry["args"].as_array_mut().unwrap().push("${workspaceFolder}/docs".into());
    let file = json!({ "servers": { "ws": entry, "inputs": server("good", json!({ "K": "${input:k}" })) } });
    home.write("work/.vscode/mcp.json", &file.to_string());
    home.ok(&["init", "--yes", "--project"]);
    // Without `--project`, the file stays as it is, and it is said what that means.
    let run = home.weaver(&["connect"]);
    assert!(run.out.contains("VS Code starts ") && run.out.contains("ws"), "{run:?}");
    assert!(run.out.contains("weaver connect --project"), "{run:?}");
    assert_eq!(names(&home, "work/.vscode/mcp.json", "servers"), ["inputs", "ws"]);
    let run = home.ok(&["connect", "--project"]);
    assert!(run.out.contains("VS Code is connected: ws"), "{run:?}");
    assert!(
        run.out.contains("stays without Weaver: inputs: only the client can fill in"),
        "{run:?}"
    );
    assert!(!run.out.contains("weaver update"), "an update cannot take it in: {run:?}");
    assert_eq!(names(&home, "work/.vscode/mcp.json", "servers"), ["inputs", "weaver"]);
    home.ok(&["disconnect"]);
    assert_eq!(home.read("work/.vscode/mcp.json"), file.to_string());
}

#[test]
fn a_project_is_disconnected_alone() {
    let home = Home::new();
    let entry =
        |name: &str| json!({ "mcpServers": { name: server("good", json!({ "N": name })) } });
    home.write(".cursor/mcp.json", &entry("mine").to_string());
    home.write("work/.cursor/mcp.json", &entry("shop").to_string());
    home.ok(&["init", "--yes", "--project"]);
    home.ok(&["connect", "--project"]);
    for file in [".cursor/mcp.json", "work/.cursor/mcp.json"] {
        assert_eq!(names(&home, file, "mcpServers"), ["weaver"], "{file}");
    }
    let mut elsewhere = home.command(std::path::Path::new(env!("CARGO_BIN_EXE_weaver")));
    elsewhere.args(["disconnect", "--project"]).current_dir(home.path(""));
    let run = Run::new(elsewhere.output().unwrap());
    assert!(run.code == 0 && run.out.contains("no file of this folder"), "{run:?}");
    home.ok(&["disconnect", "--project"]);
    assert_eq!(home.read("work/.cursor/mcp.json"), entry("shop").to_string());
    assert_eq!(names(&home, ".cursor/mcp.json", "mcpServers"), ["weaver"]);
}

#[test]
fn a_server_whose_section_was_extended_is_still_the_one_that_was_taken_over() {
    let home = Home::new();
    let entry = server("good", json!({}));
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "s": entry } }).to_string());
    home.write(
        ".codeium/windsurf/mcp_config.json",
        &json!({ "mcpServers": { "t": entry } }).to_string(),
    );
    home.ok(&["init", "--yes", "--project"]);
    let config = home.read(".config/weaver/weaver.toml");
    let extended = config.replace("\"--nocapture\"", "\"--nocapture\", \"--more\"");
    assert_ne!(extended, config);
    home.write(".config/weaver/weaver.toml", &extended);
    // Nobody says that this one was taken over.
    home.write(".gemini/settings.json", &json!({ "mcpServers": { "s": entry } }).to_string());
    let run = home.ok(&["connect"]);
    assert!(
        run.out.contains("Cursor is connected: s") && run.out.contains("Windsurf is connected: t"),
        "{run:?}"
    );
    assert_eq!(names(&home, ".gemini/settings.json", "mcpServers"), ["s"]);
}

#[test]
fn a_server_that_is_started_for_each_folder_is_that_of_every_project() {
    let home = Home::new();
    let mut entry = server("good", json!({}));
    entry["args"].as_array_mut().unwrap().push("${workspaceFolder}".into());
    home.write("work/.vscode/mcp.json", &json!({ "servers": { "ws": entry } }).to_string());
    home.ok(&["init", "--yes", "--project"]);
    let config = home.read(".config/weaver/weaver.toml");
    let here = home.path("work").canonicalize().unwrap();
    let of_one_project = ["cwd = ", "projects = ", "# From"];
    let is_of_all = |line: &&str| !of_one_project.iter().any(|start| line.starts_with(start));
    let lines = config.lines().filter(is_of_all);
    let lines = lines.collect::<Vec<_>>().join("\n");
    let shared = lines.replace(here.to_str().unwrap(), "${workspaceFolder}");
    home.write(".config/weaver/weaver.toml", &format!("{shared}\ninstances = \"folder\"\n"));
    let run = home.ok(&["connect", "--project"]);
    assert!(run.out.contains("VS Code is connected: ws"), "{run:?}");
}

#[test]
fn a_client_sees_the_servers_of_its_project_and_none_of_another() {
    let home = Home::new();
    let entry =
        |name: &str| json!({ "mcpServers": { name: server("good", json!({ "N": name })) } });
    home.write(".cursor/mcp.json", &entry("everywhere").to_string());
    home.write("work/.cursor/mcp.json", &entry("shop").to_string());
    home.write("blog/.cursor/mcp.json", &entry("notes").to_string());
    let files = ["../.cursor/mcp.json", ".cursor/mcp.json", "../blog/.cursor/mcp.json"];
    let from = files.into_iter().flat_map(|file| ["--from", file]);
    home.ok(&["init", "--yes", "--project"].into_iter().chain(from).collect::<Vec<_>>());
    let mut in_blog = home.command(std::path::Path::new(env!("CARGO_BIN_EXE_weaver")));
    in_blog.args(["connect", "--project"]).current_dir(home.path("blog"));
    assert!(in_blog.status().unwrap().success());
    home.ok(&["connect", "--project"]);
    let seen = |file: &str| {
        let text: Value = serde_json::from_str(&without_comments(&home.read(file))).unwrap();
        let mut client = crate::newcomer::Client::start(&home, &text["mcpServers"]["weaver"]);
        ["everywhere", "shop", "notes"].map(|name| {
            let call = json!({ "capability": format!("{name}.echo"),
                "arguments": { "text": "hello" }, "justification": "it is asked for" });
            let answer = client.call("tool_execute_read", call)["content"].to_string();
            assert!(answer.contains("hello") || answer.contains("not_found"), "{name}: {answer}");
            answer.contains("hello")
        })
    };
    assert_eq!(seen("work/.cursor/mcp.json"), [true, true, false]);
    assert_eq!(seen("blog/.cursor/mcp.json"), [true, false, true]);
    // The user's own entry belongs to no project, and is started outside of both.
    assert_eq!(seen(".cursor/mcp.json"), [true, false, false]);
    home.ok(&["stop"]);
}
