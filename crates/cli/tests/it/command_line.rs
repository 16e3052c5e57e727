//! Help, usage, lists and completions.

use std::path::Path;

use crate::support::{Folder, weaver, weaver_with};
use weaver_types::ReasonCode;

#[test]
fn help_teaches_a_first_configuration_and_the_exit_codes() {
    let run = weaver(&["help"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    for part in ["weaver demo", "[mcpServers.files]", "weaver sign", "Exit codes:", "serve"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/exit-codes.md");
    let page = std::fs::read_to_string(page).unwrap();
    let meanings: Vec<&str> = page.lines().filter_map(|row| row.split(" | ").nth(1)).collect();
    assert!(meanings.len() > 10);
    // A narrow terminal wraps them.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = words(&run.out);
    for meaning in meanings.iter().map(|cell| cell.trim_end_matches(" |")).skip(1) {
        assert!(help.contains(&words(meaning)), "{meaning}");
    }
    assert!(!run.out.contains('\u{1b}'), "no colours into a pipe");
}

#[test]
fn every_command_has_help() {
    for command in [
        "init", "update", "connect", "disconnect", "serve", "demo", "check", "doctor", "keys",
        "sign", "trace", "approve", "policy", "kernel", "contracts", "feedback", "memory", "route",
        "compile", "catalog", "redact", "replay", "inspect", "reasons", "completions", "man",
    ] {
        let run = weaver(&[command, "--help"]);
        assert!(run.code == 0 && run.out.contains("Usage: weaver"), "{command}: {run:?}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    for args in
        [&["sevre"][..], &["trace", "show", "--store", "x"], &["route", "-k", "0"], &["sign"]]
    {
        let run = weaver(args);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?}");
    }
    assert!(weaver(&["sevre"]).err.contains("serve"), "a misspelt command is recognised");
}

#[test]
fn a_passphrase_is_no_argument_and_no_variable() {
    let run = weaver(&["keys", "new", "--out", "x", "--id", "x", "--passphrase", "hunter22"]);
    assert_eq!(run.code, 2);
}

#[test]
fn reasons_are_listed_in_full() {
    let run = weaver(&["reasons", "--json"]);
    let lines: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), ReasonCode::ALL.len());
    assert!(lines.iter().all(|line| line["meaning"].as_str().is_some_and(|m| !m.is_empty())));
    assert!(weaver(&["reasons"]).out.contains("no_matching_rule"));
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let run = weaver(&["completions", shell]);
        assert!(run.code == 0 && run.out.contains("trace"), "{shell}");
    }
}

#[test]
fn manual_pages_are_written_for_each_command() {
    let folder = Folder::new();
    let run = weaver(&["man", &folder.arg("man1")]);
    assert_eq!(run.code, 0, "{run:?}");
    for (page, word) in [("weaver.1", "doctor"), ("weaver-trace-verify.1", "ledger")] {
        let text = std::fs::read_to_string(folder.path("man1").join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(word), "{page}");
    }
}

#[test]
fn serve_refuses_a_missing_configuration_and_says_nothing_on_standard_output() {
    let run = weaver_with(&["serve", "--config", "/nonexistent/weaver.toml"], "{}\n");
    assert_eq!((run.code, run.out.as_str()), (3, ""));
    assert!(run.err.contains("/nonexistent/weaver.toml") && run.err.contains("config.unreadable"));
}

#[test]
fn the_configuration_in_the_help_is_accepted() {
    let help = weaver(&["help"]).out;
    let (_, rest) = help.split_once("with a first weaver.toml:\n").unwrap();
    let (text, _) = rest.split_once("\nthen `weaver keys new`").unwrap();
    let folder = Folder::new();
    let key = weaver_types::signature::SigningKey::from_seed([7; 32]).public();
    folder.write("weaver.toml", &text.replace("ed25519:…", &key.to_string()));
    let run = folder.check(&["--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["servers"][0], "files");
}

/// What a person meets who typed a command in the wrong folder.
#[test]
fn without_a_configuration_every_command_says_the_same() {
    let empty = tempfile::tempdir().unwrap();
    for line in [
        "allow call_1", "approve list", "approve standing list", "check", "clients list",
        "connect", "contracts list", "contracts propose", "daemon", "login files", "logs",
        "memory list", "policy edit", "policy lint", "policy suggest", "restart",
        "serve --standalone", "service install", "status", "stop", "trace", "trace list",
        "trace verify", "update",
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"));
        command.args(line.split(' ')).current_dir(empty.path()).env("HOME", empty.path());
        command.env_remove("XDG_CONFIG_HOME").stdin(std::process::Stdio::null());
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{line}: {said}");
        for part in ["here, in a folder above, or in your own folder", "`weaver init`"] {
            assert!(said.contains(part), "{line}: {said}");
        }
    }
}

#[test]
fn the_state_of_another_gateway_is_shown_by_its_configuration() {
    let folder = crate::client::folder(&[("good", "good")], "", "");
    let config = folder.arg("weaver.toml");
    let run = weaver(&["--config", &config]);
    assert!(run.code == 0 && run.out.contains(&config), "{run:?}");
    assert_eq!(weaver(&["--config", &config, "reasons"]).code, 2, "a command has its own");
}
