//! What a server leaves behind that was started only to list its tools.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::newcomer::{Home, server};

/// How long what is left behind waits before it writes.
const DELAY: Duration = Duration::from_secs(4);

#[test]
fn no_process_of_a_server_outlives_the_command_that_listed_it() {
    let home = Home::new();
    let mark = home.path("left-behind");
    let mut entry = server("steps", json!({}));
    let (program, args) = (entry["command"].take(), entry["args"].take());
    let words: Vec<String> = std::iter::once(&program)
        .chain(args.as_array().unwrap())
        .map(|word| format!("'{}'", word.as_str().unwrap()))
        .collect();
    // It forks twice, leaves its session, and empties its environment.
    let script = format!(
        "(setsid env -i /bin/sh -c 'sleep {}; : > {}' >/dev/null 2>&1 </dev/null &); exec {}",
        DELAY.as_secs(),
        mark.display(),
        words.join(" ")
    );
    entry["command"] = json!("sh");
    entry["args"] = json!(["-c", script]);
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "leaving": entry } }).to_string());
    home.ok(&["init", "--yes"]);
    sleep(DELAY + Duration::from_secs(1));
    assert!(!mark.exists(), "a process of the server went on after the command");
}
