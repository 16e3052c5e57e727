//! A daemon that restarts where clients over HTTP are at work: none of them is refused, and none has
//! to begin again.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::folder;
use crate::daemon_reload::{Daemon, free_address, signing};
use crate::http::{Web, read_until, request};
use crate::support::until;
use crate::support::weaver;

/// A daemon with a tool of its own that waits for some seconds.
fn napping(seconds: u32) -> Daemon {
    let nap = format!(
        "[tools.nap]\ndescription = \"Waits\"\n[tools.nap.program]\n\
         command = \"sleep\"\nargs = [\"{seconds}\"]\n"
    );
    let contract = "[capabilities.\"tools.*\"]\neffects = \"read_local\"\nsink = \"none\"\n";
    let listen = format!("[http]\nlisten = \"{}\"\n", free_address());
    Daemon::of_folder(folder(&[("good", "good")], &format!("{listen}{nap}"), contract), &[])
}

fn tools(web: &Web, session: &str) -> (u16, String) {
    let list = request(3, "tools/list", json!({}));
    let answer = web.post(&[("mcp-session-id", session)], &list);
    (answer.status, answer.body)
}

#[test]
fn clients_over_http_wait_for_the_next_gateway_and_go_on() {
    let mut daemon = napping(4);
    let (busy, idle) = (daemon.web.open(), daemon.web.open());
    let call = json!({ "name": "tool_execute",
        "arguments": { "capability": "tools.nap", "arguments": {} } });
    let call = request(2, "tools/call", call);
    let mut under_way = daemon.web.begin_post(&[("mcp-session-id", &busy)], &call);
    until("the call is under way", || {
        let status = daemon.web.weaver(&["status", "--json"]).json();
        status["sessions"].as_array().unwrap().iter().any(|one| one["requests"] == 1)
    });
    let config = daemon.web.folder().path("weaver.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[profiles.other]\nmode = \"proxy\"\n")).unwrap();
    until("it restarts", || daemon.log().contains("the daemon restarts"));
    // While the old gateway waits for its call, the process is well, and takes nothing new.
    let checked = Instant::now();
    until("it is no longer ready", || daemon.web.send("GET", "/readyz", &[], "").status == 503);
    let health = daemon.web.send("GET", "/healthz", &[], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    assert!(checked.elapsed() < Duration::from_secs(3), "{:?}", checked.elapsed());
    // Sent to the old gateway, answered by the next one.
    let (status, body) = tools(&daemon.web, &idle);
    assert!(status == 200 && body.contains("tool_browse"), "{status} {body}: {}", daemon.log());
    read_until(&mut under_way, "\"id\":2");
    let (status, body) = tools(&daemon.web, &busy);
    assert!(status == 200 && body.contains("tool_browse"), "{status} {body}");
    // Its stream tells it to read the lists again.
    let mut stream = daemon.web.listen(&idle);
    read_until(&mut stream, "notifications/tools/list_changed");
    assert_eq!(tools(&daemon.web, "ses_unknown").0, 404);
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
}

#[test]
fn a_session_over_http_goes_on_after_a_loan_of_the_store() {
    let daemon = napping(1);
    let (session, ended) = (daemon.web.open(), daemon.web.open());
    let bearer = format!("Bearer {}", daemon.web.token());
    let headers = [("authorization", bearer.as_str()), ("mcp-session-id", ended.as_str())];
    assert_eq!(daemon.web.send("DELETE", "/mcp", &headers, "").status, 204);
    let store = daemon.web.folder().arg(".weaver/ledger.db");
    for _ in 0..2 {
        let pruned =
            weaver(&["trace", "prune", "--store", &store, "--older-than", "90d", "--dry-run"]);
        assert_eq!(pruned.code, 0, "{pruned:?}");
        let (status, body) = tools(&daemon.web, &session);
        assert!(status == 200 && body.contains("tool_browse"), "{status} {body}");
        assert_eq!(tools(&daemon.web, &ended).0, 404, "it was ended");
    }
}

/// An upgrade, and a service manager that stops a daemon and starts another.
#[test]
fn a_session_over_http_goes_on_in_the_next_process() {
    let mut daemon = napping(1);
    let session = daemon.web.open();
    let config = daemon.web.config();
    let restarted = weaver(&["restart", "--config", &config]);
    assert_eq!(restarted.code, 0, "{restarted:?} {}", daemon.log());
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
    assert_eq!(tools(&daemon.web, &session).0, 200, "{}", daemon.log());
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
    assert!(daemon.child.wait().unwrap().success());
    daemon.start_again();
    assert_eq!(tools(&daemon.web, &session).0, 200, "{}", daemon.log());
}

/// As Kubernetes replaces a mounted configuration: its folder is a link that points elsewhere.
#[test]
fn a_configuration_behind_a_link_is_followed() {
    let folder = folder(&[("good", "good")], "[gateway]\nmode = \"gateway\"\n", "");
    let text = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    for (version, mode) in [("one", "gateway"), ("two", "proxy")] {
        std::fs::create_dir(folder.path(version)).unwrap();
        let text = text.replace("mode = \"gateway\"", &format!("mode = \"{mode}\""));
        std::fs::write(folder.path(&format!("{version}/weaver.toml")), text).unwrap();
    }
    let link = |target: &str, name: &str| {
        let new = folder.path("new-link");
        std::os::unix::fs::symlink(target, &new).unwrap();
        std::fs::rename(new, folder.path(name)).unwrap();
    };
    link("one", "data");
    link("data/weaver.toml", "weaver.toml");
    let listen = ["--http", &free_address()].map(str::to_owned);
    let daemon = Daemon::of_folder(folder, &listen.each_ref().map(String::as_str));
    assert!(daemon.tools().contains("tool_browse"));
    let data = daemon.web.folder().path("data");
    let new = daemon.web.folder().path("new-link");
    std::os::unix::fs::symlink("two", &new).unwrap();
    std::fs::rename(new, data).unwrap();
    until("it is noticed", || daemon.log().contains("restarts: gateway.mode"));
    until("it shows all tools", || daemon.listens() && daemon.tools().contains("good__people"));
}

/// A link that came while servers ran may be one of theirs: nothing is read through it before they
/// have ended.
#[test]
fn a_configuration_behind_a_new_link_waits_for_a_restart() {
    let folder = folder(&[("good", "good")], "[gateway]\nmode = \"gateway\"\n", "");
    let text = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let proxy = text.replace("mode = \"gateway\"", "mode = \"proxy\"");
    let link = |target: &str, path: std::path::PathBuf| {
        let new = path.with_file_name("new-link");
        std::os::unix::fs::symlink(target, &new).unwrap();
        std::fs::rename(new, path).unwrap();
    };
    for (version, text) in [("one", &text), ("two", &proxy)] {
        std::fs::create_dir(folder.path(version)).unwrap();
        std::fs::write(folder.path(&format!("{version}/weaver.toml")), text).unwrap();
    }
    std::fs::create_dir(folder.path("files/ways")).unwrap();
    link("one", folder.path("data"));
    link("data/weaver.toml", folder.path("weaver.toml"));
    let listen = ["--http", &free_address()].map(str::to_owned);
    let daemon = Daemon::of_folder(folder, &listen.each_ref().map(String::as_str));
    assert!(daemon.tools().contains("tool_browse"));
    link("../../two", daemon.web.folder().path("files/ways/current"));
    link("files/ways/current", daemon.web.folder().path("data"));
    until("it is refused", || daemon.log().contains("files/ways/current, which was not kept"));
    assert!(daemon.tools().contains("tool_browse"), "{}", daemon.log());
    // Nor after the store was lent, for which the configuration is read again.
    let config = daemon.web.config();
    let store = daemon.web.folder().arg(".weaver/ledger.db");
    let borrow = ["trace", "prune", "--store", &store, "--older-than", "90d", "--dry-run"];
    assert_eq!(weaver(&borrow).code, 0, "{}", daemon.log());
    until("it listens", || daemon.listens());
    assert!(daemon.tools().contains("tool_browse"), "{}", daemon.log());
    assert_eq!(weaver(&["restart", "--config", &config]).code, 0, "{}", daemon.log());
    until("it shows all tools", || daemon.listens() && daemon.tools().contains("good__people"));
}

/// What was read from a descriptor once is handed on to the program that follows.
#[test]
fn a_passphrase_from_a_descriptor_survives_restarts_in_place() {
    let folder = signing("");
    let log = std::fs::File::create(folder.path("said.log")).unwrap();
    let start = "exec \"$0\" daemon --config \"$1\" --log-passphrase-fd 3 3< \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", start, env!("CARGO_BIN_EXE_weaver"), &folder.arg("weaver.toml")]);
    command.arg(folder.path("phrase")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn().unwrap();
    let config = folder.arg("weaver.toml");
    until("it is ready", || weaver(&["status", "--config", &config, "--json"]).code == 0);
    for _ in 0..2 {
        let restarted = weaver(&["restart", "--config", &config]);
        let log = || std::fs::read_to_string(folder.path("said.log")).unwrap();
        assert_eq!(restarted.code, 0, "{restarted:?} {}", log());
        let status = weaver(&["status", "--config", &config, "--json"]).json();
        assert_eq!(status["pid"], child.id(), "{status}");
        assert!(status["uptime_s"].as_u64().unwrap() < 60, "{status}");
    }
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
    assert!(child.wait().unwrap().success());
}

/// A store is out of reach while its disk is full, or while somebody copies it by a hard link.
#[test]
fn a_store_that_cannot_be_opened_for_a_while_is_tried_again() {
    let mut daemon = napping(1);
    let session = daemon.web.open();
    let store = daemon.web.folder().path(".weaver/ledger.db");
    let second_name = daemon.web.folder().path("copy.db");
    std::fs::hard_link(&store, &second_name).unwrap();
    let config = daemon.web.folder().path("weaver.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[profiles.other]\nmode = \"proxy\"\n")).unwrap();
    until("the store is refused", || daemon.log().contains("the store cannot be opened"));
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
    std::fs::remove_file(second_name).unwrap();
    let (status, body) = tools(&daemon.web, &session);
    assert!(status == 200 && body.contains("tool_browse"), "{status} {body}: {}", daemon.log());
}

#[test]
fn a_signal_ends_the_process_while_one_gateway_makes_way_for_the_next() {
    let mut daemon = napping(4);
    let session = daemon.web.open();
    let call = json!({ "name": "tool_execute",
        "arguments": { "capability": "tools.nap", "arguments": {} } });
    let call = request(2, "tools/call", call);
    let mut under_way = daemon.web.begin_post(&[("mcp-session-id", &session)], &call);
    until("the call is under way", || {
        let status = weaver(&["status", "--config", &daemon.web.config(), "--json"]).json();
        status["sessions"].as_array().unwrap().iter().any(|one| one["requests"] == 1)
    });
    let config = daemon.web.folder().path("weaver.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[profiles.other]\nmode = \"proxy\"\n")).unwrap();
    until("it restarts", || daemon.log().contains("the daemon restarts"));
    let pid = daemon.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    // The call is answered before the end.
    read_until(&mut under_way, "\"id\":2");
    assert!(daemon.child.wait().unwrap().success(), "{}", daemon.log());
    // The optional key of the log is no matter for a warning.
    assert!(!daemon.log().contains("are not signed"), "{}", daemon.log());
}
