//! Files of clients that come with a folder, such as a repository: nobody vouches for what they say.

use serde_json::{Value, json};

use crate::newcomer::{Home, server};

/// A server that leaves a mark when it is started.
fn marking_server(mark: &str) -> Value {
    let entry = server("good", json!({}));
    let mut args = vec![json!("-c"), json!("touch \"$0\"; exec \"$@\""), json!(mark)];
    args.push(entry["command"].clone());
    args.extend(entry["args"].as_array().unwrap().iter().cloned());
    json!({ "command": "sh", "args": args, "env": entry["env"] })
}

#[test]
fn commands_that_come_with_a_folder_run_only_when_the_user_says_so() {
    let home = Home::new();
    let mark = home.path("mark");
    let theirs = json!({ "mcpServers": { "theirs": marking_server(mark.to_str().unwrap()) } });
    home.write("work/.mcp.json", &theirs.to_string());
    home.write(
        ".cursor/mcp.json",
        &json!({ "mcpServers": { "mine": server("good", json!({})) } }).to_string(),
    );
    let said = "They are left out; `--project` takes them.";
    let run = home.ok(&["init", "--yes"]);
    assert!(run.err.contains(said) && run.err.contains("touch"), "{run:?}");
    for args in [&["update"][..], &["update", "--yes"], &["update", "--json"]] {
        let run = home.weaver(args);
        assert!(run.err.contains(said), "{run:?}");
    }
    assert!(!mark.exists(), "the command of the folder ran");
    let update = home.ok(&["update", "--json", "--project"]).json();
    assert!(mark.exists());
    assert_eq!(update["servers"], json!(["theirs"]));
}

#[cfg(unix)]
#[test]
fn a_link_of_a_folder_leads_to_no_file_of_the_user() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let entry =
        |name: &str| json!({ "mcpServers": { name: server("good", json!({ "N": name })) } });
    home.write(".cursor/mcp.json", &entry("mine").to_string());
    home.write("work/.mcp.json", &entry("shop").to_string());
    home.ok(&["init", "--yes", "--project"]);
    home.ok(&["connect", "--project"]);
    // The folder changes: what was a file leads to the user's own now.
    let (own, project) = (home.path(".cursor/mcp.json"), home.path("work/.mcp.json"));
    std::fs::remove_file(&project).unwrap();
    symlink(&own, &project).unwrap();
    let before = home.read(".cursor/mcp.json");
    for args in [&["disconnect", "--project"][..], &["connect", "--project", "claude-code"]] {
        let run = home.weaver(args);
        assert!(run.code != 0 && run.err.contains("mcp.json"), "{run:?}");
        assert_eq!(home.read(".cursor/mcp.json"), before, "{args:?}");
    }
}
