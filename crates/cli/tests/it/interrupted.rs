//! `init`, `connect`, `disconnect` and `update`, ended at each of their writes in turn: what is there
//! is whole, nothing is lost, and the same command finishes the work.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::newcomer::{Home, server, without_comments};
use crate::support::Run;

/// Ends the process at the step of this number, in a build with debug assertions.
const VARIABLE: &str = "WEAVER_ABORT_AT_WRITE";
/// More steps than any command has.
const MOST: u32 = 200;
const CLIENT: &str = ".cursor/mcp.json";

/// Runs a command that ends at this step; `None` where it has fewer and ran through.
fn cut(home: &Home, line: &str, step: u32) -> Option<Run> {
    let mut command = home.command(Path::new("/bin/sh"));
    let line = format!("exec '{}' {line}", env!("CARGO_BIN_EXE_weaver"));
    command.args(["-c", &line]).env(VARIABLE, step.to_string()).stdin(Stdio::null());
    let run = Run::new(command.output().unwrap());
    if run.code == 0 {
        return None;
    }
    assert_eq!(run.code, -1, "step {step} of {line}: {run:?}");
    Some(run)
}

/// Tries each step, and says how many there were. `after` looks at what was left, and puts things
/// back for the next step.
fn at_each_step(home: &Home, line: &str, after: &mut dyn FnMut(u32)) -> u32 {
    for step in 1..MOST {
        if cut(home, line, step).is_none() {
            return step - 1;
        }
        after(step);
    }
    panic!("{line} has no end");
}

fn check(home: &Home) {
    home.ok(&["check", "--config", home.config().to_str().unwrap()]);
}

/// The names of the servers in the client's file, which must be whole.
fn servers(home: &Home) -> Vec<String> {
    let config: Value = serde_json::from_str(&without_comments(&home.read(CLIENT))).unwrap();
    config["mcpServers"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn an_interrupted_init_leaves_nothing_or_all_and_goes_on() {
    let home = Home::new();
    let before = home.with_cursor();
    let steps = at_each_step(&home, "init --yes", &mut |step| {
        assert_eq!(home.read(CLIENT), before, "{step}");
        // The next step comes after all earlier ones: it goes on where this one ended.
        if home.config().exists() {
            check(&home);
            fs::remove_dir_all(home.path(".config/weaver")).unwrap();
        }
    });
    assert!(steps > 20, "{steps}");
    check(&home);
    assert!(!home.path(".config/.weaver-setup").exists());
}

#[test]
fn an_interrupted_connect_and_disconnect_lose_nothing() {
    let home = Home::new();
    let before = home.with_cursor();
    home.ok(&["init", "--yes"]);
    home.ok(&["connect"]);
    let connected = home.read(CLIENT);
    home.ok(&["disconnect"]);
    let steps = at_each_step(&home, "connect", &mut |step| {
        let found = home.read(CLIENT);
        assert!(found == before || found == connected, "{step}: {found}");
        // Back at once, or after it went on.
        if step % 2 == 0 {
            home.ok(&["connect"]);
            assert_eq!(home.read(CLIENT), connected, "{step}");
        }
        home.ok(&["disconnect"]);
        assert_eq!(home.read(CLIENT), before, "{step}");
    });
    assert!(steps >= 9, "{steps}");
    let steps = at_each_step(&home, "disconnect", &mut |step| {
        let found = home.read(CLIENT);
        assert!(found == before || found == connected, "{step}: {found}");
        home.ok(&["disconnect"]);
        assert_eq!(home.read(CLIENT), before, "{step}");
        home.ok(&["connect"]);
        assert_eq!(home.read(CLIENT), connected, "{step}");
    });
    assert!(steps >= 3, "{steps}");
    assert_eq!(home.read(CLIENT), before);
    let left = fs::read_dir(home.path(".config/weaver/.weaver/clients")).unwrap().count();
    assert_eq!(left, 0, "neither records nor backups nor halves of them");
}

/// Whoever edits the file of a connected client and connects again keeps what the file held at first.
#[test]
fn an_interrupted_second_connect_loses_nothing() {
    let home = Home::new();
    home.with_cursor();
    home.ok(&["init", "--yes"]);
    let original = home.read(CLIENT);
    let known: Value = serde_json::from_str(&without_comments(&original)).unwrap();
    let again = format!("\"mcpServers\": {{\n    \"again\": {},", known["mcpServers"]["steps"]);
    let mut tried = 0;
    for step in 1..MOST {
        home.write(CLIENT, &original);
        home.ok(&["connect"]);
        let grown = home.read(CLIENT).replacen("\"mcpServers\": {", &again, 1);
        home.write(CLIENT, &grown);
        let ended = cut(&home, "connect", step).is_none();
        if step % 2 == 0 {
            home.ok(&["connect"]);
        }
        home.ok(&["disconnect"]);
        assert_eq!(servers(&home), ["Good Files", "again", "steps"], "{step}");
        if ended {
            break;
        }
        tried += 1;
    }
    assert!(tried >= 9, "{tried}");
}

#[test]
fn an_interrupted_update_is_whole_and_goes_on() {
    let home = Home::new();
    home.with_cursor();
    let init = home.ok(&["init", "--yes", "--json"]).json();
    home.write("pass", init["passphrase"].as_str().unwrap());
    let names = server("names", json!({ "OTHER_TOKEN": "another-secret" }));
    home.write(
        ".codeium/windsurf/mcp_config.json",
        &json!({ "mcpServers": { "names": names } }).to_string(),
    );
    let gateway = home.path(".config/weaver");
    let kept = home.path("kept");
    copy(&gateway, &kept);
    let update = "update --yes --passphrase-fd 3 3< ../pass";
    let steps = at_each_step(&home, update, &mut |step| {
        check(&home);
        assert!(cut(&home, update, MOST).is_none(), "{step}");
        check(&home);
        let config = fs::read_to_string(home.config()).unwrap();
        assert_eq!(config.matches("[mcpServers.names]").count(), 1, "{step}: {config}");
        let contracts = home.read(".config/weaver/policy/contracts.toml");
        assert!(contracts.contains("[capabilities.\"names.getUser\"]"), "{step}");
        let left = fs::read_dir(&gateway).unwrap().count();
        assert_eq!(left, 4, "{step}: weaver.toml, its schema, policy, .weaver");
        fs::remove_dir_all(&gateway).unwrap();
        copy(&kept, &gateway);
    });
    assert!(steps >= 10, "{steps}");
}

/// A copy of a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}
