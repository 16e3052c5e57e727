//! What a server leaves behind that was started only to list its tools.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::newcomer::{Home, server};

/// How long what is left behind waits before it writes.
const DELAY: Duration = Duration::from_secs(4);

/// A server that first starts what it leaves behind.
fn leaving(home: &Home, left_behind: &str) {
    let mut entry = server("steps", json!({}));
    let (program, args) = (entry["command"].take(), entry["args"].take());
    let words: Vec<String> = std::iter::once(&program)
        .chain(args.as_array().unwrap())
        .map(|word| format!("'{}'", word.as_str().unwrap()))
        .collect();
    // It forks twice, leaves its session, and empties its environment.
    let script = format!(
        "(setsid env -i /bin/sh {left_behind} >/dev/null 2>&1 </dev/null &); exec {}",
        words.join(" ")
    );
    entry["command"] = json!("sh");
    entry["args"] = json!(["-c", script]);
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "leaving": entry } }).to_string());
    home.ok(&["init", "--yes"]);
}

#[test]
fn no_process_of_a_server_outlives_the_command_that_listed_it() {
    let home = Home::new();
    let mark = home.path("left-behind");
    leaving(&home, &format!("-c 'sleep {}; : > {}'", DELAY.as_secs(), mark.display()));
    sleep(DELAY + Duration::from_secs(1));
    assert!(!mark.exists(), "a process of the server went on after the command");
}

/// Each process of the chain starts the next one and ends, so that none is there for long.
#[test]
fn neither_does_a_chain_of_processes() {
    let home = Home::new();
    let (chain, beat) = (home.path("chain.sh"), home.path("beat"));
    let step = format!("echo >> {}; sleep 0.01; /bin/sh \"$0\" & exit\n", beat.display());
    home.write("chain.sh", &step);
    leaving(&home, &chain.display().to_string());
    let beats = || std::fs::metadata(&beat).unwrap().len();
    let (ended, later) = (beats(), {
        sleep(Duration::from_millis(500));
        beats()
    });
    assert_eq!(ended, later, "a process of the server went on after the command");
}
