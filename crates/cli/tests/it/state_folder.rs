//! Servers work in the folder of `weaver.toml` and may write there. What commands write in it is
//! nevertheless out of their reach.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::client::{Client, folder, shown};
use crate::support::{Folder, mode};

fn said(client: &mut Client, tool: &str, path: &str) -> String {
    let (is_error, body) = client.execute(&format!("s.{tool}"), json!({ "path": path }));
    assert!(!is_error, "{body}");
    shown(&body).to_owned()
}

/// A gateway in front of a server that pries, and of others that can be removed.
fn gateway() -> Folder {
    folder(&[("a", "good"), ("b", "good"), ("c", "good"), ("d", "good"), ("s", "prying")], "", "")
}

fn text(folder: &Folder) -> String {
    fs::read_to_string(folder.path("weaver.toml")).unwrap()
}

#[test]
fn a_server_replaces_no_file_that_a_command_writes_there() {
    let folder = gateway();
    let mut client = Client::open(&folder);
    assert_eq!(said(&mut client, "swap", &folder.arg("")), "watching");
    for server in ["a", "b", "c", "d"] {
        let before = text(&folder);
        let run = folder.weaver(&["remove", server]);
        assert_eq!(run.code, 0, "{run:?}");
        let after = text(&folder);
        assert!(after.len() < before.len() && after.contains("[mcpServers.s]"), "{after}");
    }
    client.finish();
}

#[test]
fn a_planted_link_leads_no_command_elsewhere() {
    let folder = gateway();
    folder.write("victim", "mine");
    let mut client = Client::open(&folder);
    for name in [".weaver-remove.toml", ".weaver-update.toml", ".weaver-update"] {
        let link = format!("{} -> {}", folder.arg(name), folder.arg("victim"));
        assert_eq!(said(&mut client, "link", &link), "linked");
    }
    let before = text(&folder);
    let run = folder.weaver(&["remove", "a", "--dry-run"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(fs::read_to_string(folder.path("victim")).unwrap(), "mine");
    assert_eq!(text(&folder), before);
    client.finish();
}

/// What a command leaves in the folder while an editor has the text.
#[test]
fn a_draft_lies_where_servers_are_denied_and_its_changes_are_shown() {
    let folder = gateway();
    let seen = folder.path("seen");
    // The editor notes where the text is, adds a line, and ends.
    folder.write(
        "editor",
        &format!("#!/bin/sh\necho \"$1\" > '{}'\necho '# added' >> \"$1\"\n", seen.display()),
    );
    let run = edit(&folder);
    let draft = fs::read_to_string(&seen).unwrap();
    let draft = Path::new(draft.trim());
    assert_eq!(draft.parent().unwrap(), folder.path(".weaver/drafts"), "{run:?}");
    assert_eq!(mode(&folder.path(".weaver/drafts")) & 0o777, 0o700);
    assert!(!draft.exists(), "{}", draft.display());
    assert!(run.err.contains("\n+# added\n"), "{run:?}");
    let kept = folder.path(".weaver/drafts/policy-draft.toml");
    assert!(fs::read_to_string(&kept).unwrap().ends_with("# added\n"));
    assert_eq!(mode(&kept) & 0o777, 0o600);
}

/// Edits the policy without a terminal, which keeps the changed text.
fn edit(folder: &Folder) -> crate::support::Run {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["policy", "edit", "--config", &folder.arg("weaver.toml")]);
    command.env("EDITOR", format!("/bin/sh {}", folder.arg("editor"))).env_remove("VISUAL");
    crate::support::Run::new(command.stdin(std::process::Stdio::null()).output().unwrap())
}

/// What a server makes in a folder of the gateway, and where it works.
fn made_in(settings: &str) -> (Folder, String, String) {
    let folder = folder(&[("s", "prying"), ("c", "counting")], settings, "");
    folder.write("files/own.txt", "something");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("c.count", json!({}));
    assert!(!is_error, "{body}");
    let works = shown(&body).to_owned();
    let made = said(&mut client, "put", &folder.arg("files/made"));
    client.finish();
    (folder, works, made)
}

#[test]
fn with_a_work_folder_outside_the_folder_of_the_configuration_is_the_gateways_alone() {
    let check = folder(&[("s", "prying")], "", "").check(&["--json"]).json();
    if check["confinement"]["s"]["landlock"] == 0 {
        return;
    }
    // Without one, a server reaches what is next to the state.
    let (folder, _, made) = made_in("");
    assert_eq!(made, "written");
    assert!(folder.path("files/made").exists());
    let work = tempfile::tempdir().unwrap();
    let work = work.path().canonicalize().unwrap().join("made/work");
    let settings = format!("[gateway]\nwork_folder = {:?}\n", work.to_str().unwrap());
    let (folder, works, made) = made_in(&settings);
    assert_eq!(works, format!("call 1 in {}", work.display()));
    assert_eq!(mode(&work) & 0o777, 0o700);
    assert!(made.contains("refused"), "{made}");
    assert!(!folder.path("files/made").exists());
    let base = folder.path("").canonicalize().unwrap();
    let check = folder.check(&["--json"]).json();
    let denied = check["denied"].to_string();
    assert!(denied.contains(base.to_str().unwrap().trim_end_matches('/')), "{denied}");
}

/// A file that one server writes where another starts would be run as that one: Python and `npx` trust
/// the folder that they start in.
#[test]
fn each_server_starts_in_a_folder_of_its_own_and_reaches_no_other() {
    let check = folder(&[("s", "prying")], "", "").check(&["--json"]).json();
    if check["confinement"]["s"]["landlock"] == 0 {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let work = work.path().canonicalize().unwrap().join("work");
    let settings =
        format!("[gateway]\nwork_folder = {:?}\nown_work_folders = true\n", work.to_str().unwrap());
    let folder = folder(&[("s", "prying"), ("c", "counting")], &settings, "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("c.count", json!({}));
    assert!(!is_error, "{body}");
    assert_eq!(shown(&body), format!("call 1 in {}", work.join("c").display()));
    assert_eq!(mode(&work.join("c")) & 0o777, 0o700);
    for (place, answer) in [("s/made.py", "written"), ("c/json.py", "refused")] {
        let said = said(&mut client, "put", work.join(place).to_str().unwrap());
        assert!(said.contains(answer), "{place}: {said}");
    }
    assert!(work.join("s/made.py").exists() && !work.join("c/json.py").exists());
    client.finish();
}

#[test]
fn what_a_server_needs_in_the_folder_that_it_is_denied_is_refused() {
    let work = tempfile::tempdir().unwrap();
    let settings = format!("[gateway]\nwork_folder = {:?}\n", work.path().to_str().unwrap());
    for (server, codes) in [
        ("command = \"./server\"", &["config.work_folder"][..]),
        ("command = \"python3\"\nargs = [\"FOLDER/editor\"]", &["config.work_folder"]),
        ("command = \"python3\"\ncwd = \"files\"", &["config.work_folder"]),
        ("command = \"python3\"\nconfine = { read = [\"files\"] }", &["config.work_folder"]),
        ("command = \"python3\"\nargs = [\"-c\", \"pass\"]", &[]),
    ] {
        let folder = folder(&[], &settings, "");
        folder.write("editor", "");
        let server = server.replace("FOLDER", &folder.arg(""));
        folder.append("weaver.toml", &format!("\n[mcpServers.one]\n{server}\n"));
        let run = folder.check(&["--json"]);
        let found = if codes.is_empty() { Vec::new() } else { run.finding_codes() };
        assert_eq!(found, codes, "{server}: {run:?}");
        assert_eq!(run.code == 0, codes.is_empty(), "{run:?}");
    }
    for path in ["\"../work\"", "\"\""] {
        let folder = folder(&[("s", "good")], &format!("[gateway]\nwork_folder = {path}\n"), "");
        assert_eq!(folder.check(&["--json"]).finding_codes(), ["config.path"], "{path}");
    }
}
