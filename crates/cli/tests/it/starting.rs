//! Servers that start slowly, late, never, or not at once: what is waited for, what is said, and how
//! the gateway ends.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, events, folder, of_capability, reason, shown};
use crate::support::{Folder, weaver};

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_search_waits_for_a_server_that_starts_slowly() {
    let folder = folder(&[("s", "late")], "", "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("tool_browse", json!({"query": "say the text again"}));
    assert!(!is_error && body["missing"].is_null(), "{body}");
    assert!(body["tools"].to_string().contains("s.echo"), "{body}");
    client.finish();
}

#[test]
fn the_first_list_waits_for_a_server_that_starts_slowly() {
    let folder = folder(&[("s", "unhurried")], "[gateway]\nmode = \"proxy\"", "");
    let mut client = Client::open(&folder);
    assert!(names(&client.tools()).contains(&"s__echo".to_owned()));
    client.finish();
}

#[test]
fn a_server_that_fails_at_first_is_tried_again_and_its_tools_are_told() {
    let folder = folder(&[("s", "second")], "[gateway]\nmode = \"proxy\"", "");
    let mut client = Client::open(&folder);
    assert!(!names(&client.tools()).contains(&"s__echo".to_owned()));
    // Nothing more is asked: the news comes by itself.
    loop {
        let line = client.line().expect("the list of tools changes");
        if line["method"] == "notifications/tools/list_changed"
            && names(&client.tools()).contains(&"s__echo".to_owned())
        {
            break;
        }
    }
    client.finish();
}

#[test]
fn a_server_that_dies_at_start_says_how_and_with_which_words() {
    let folder = folder(&[("s", "dead")], "", "");
    let mut client = Client::open(&folder);
    let (_, body) = client.call("tool_browse", json!({"query": "say"}));
    let missing = &body["missing"][0];
    let text = body["text"].as_str().unwrap();
    assert!(text.contains("(Server `s` is missing: ") && !text.contains("[TOKEN]"), "{text}");
    let problem = missing["problem"].as_str().unwrap();
    assert_eq!((&missing["server"], &missing["status"]), (&json!("s"), &json!("failed")), "{body}");
    for part in ["upstream `s`", "exit status: 3", "`weaver doctor`"] {
        assert!(problem.contains(part), "{problem}");
    }
    // What the server wrote has no label, so no model reads it.
    let (is_error, refused) = client.execute("s.echo", json!({}));
    assert!(is_error && reason(&refused).1 == "upstream_unavailable", "{refused}");
    assert!(!format!("{body}{refused}").contains("the secret is"), "{body} {refused}");
    let ended = client.end();
    for part in ["exit status: 3", "standard error ends with", "the secret is [TOKEN]"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
}

#[test]
fn a_server_that_is_still_starting_is_named_and_waited_for_no_longer_than_promised() {
    let folder = folder(&[("s", "silent")], "", "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("tool_browse", json!({"query": "say"}));
    assert!(!is_error, "{body}");
    assert_eq!(body["missing"][0]["status"], "starting", "{body}");
    assert!(body["missing"][0]["problem"].as_str().unwrap().contains("for 2"), "{body}");
    let (is_error, body) = client.execute("s.echo", json!({}));
    assert!(is_error && reason(&body).1 == "upstream_unavailable", "{body}");
    client.finish();
}

/// The bounds are far above what it takes, and far below the 25 seconds that a search waits.
#[test]
fn a_server_that_hangs_holds_up_neither_calls_of_others_nor_the_first_list() {
    for mode in ["proxy", "gateway"] {
        let config = format!("[gateway]\nmode = \"{mode}\"");
        let folder = folder(&[("s", "good"), ("slow", "silent")], &config, "");
        let mut client = Client::open(&folder);
        let start = Instant::now();
        let (is_error, body) = match mode {
            "proxy" => client.call("s__echo", json!({"text": "x"})),
            _ => client.execute("s.echo", json!({"text": "x"})),
        };
        assert!(!is_error && shown(&body).contains('x'), "{body}");
        assert!(start.elapsed() < Duration::from_secs(15), "{mode}: {:?}", start.elapsed());
        client.tools();
        assert!(start.elapsed() < Duration::from_secs(18), "{mode}: {:?}", start.elapsed());
        client.finish();
    }
}

/// The bound is far above what it takes and far below any of the waits that are cut short.
#[test]
fn closing_the_client_ends_the_gateway_while_a_server_starts() {
    let folder = folder(&[("s", "silent")], "[gateway]\nmode = \"proxy\"", "");
    let mut client = Client::open(&folder);
    client.begin("tools/list", json!({}));
    let start = Instant::now();
    client.finish();
    println!("ended after {:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_call_under_way_is_recorded_when_the_client_closes() {
    let folder = folder(&[("s", "good")], "", "");
    let mut client = Client::open(&folder);
    client.execute("s.echo", json!({"text": "x"}));
    let call = json!({"name": "tool_execute", "arguments": {"capability": "s.quiet"}});
    client.begin("tools/call", call);
    // The next answer comes after the call was taken.
    client.execute("s.echo", json!({"text": "y"}));
    let start = Instant::now();
    client.finish();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert_eq!(of_capability(&folder, "call.intent", "s.quiet").len(), 1);
    let ends = ["call.outcome", "call.outcome_unknown"];
    let ends = ends.map(|kind| of_capability(&folder, kind, "s.quiet").len());
    assert_eq!(ends[0] + ends[1], 1, "{ends:?}");
}

#[test]
fn the_time_of_a_server_bounds_its_calls_and_the_message_names_its_line() {
    let folder = folder(&[("s", "good")], "", "");
    folder.append("weaver.toml", "timeout_ms = 500\n");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("s.quiet", json!({}));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body).1, "timeout", "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("`timeout_ms` under `[mcpServers.s]`"), "{message}");
    assert!(message.contains("500 ms"), "{message}");
    client.finish();
}

#[test]
fn the_time_to_start_is_checked() {
    for (line, code) in [
        ("initialize_timeout_ms = 10", "config.range"),
        ("initialize_timeout_ms = 600001", "config.range"),
    ] {
        let folder = folder(&[("s", "good")], "", "");
        folder.append("weaver.toml", &format!("{line}\n"));
        assert_eq!(folder.check(&["--json"]).finding_codes(), [code], "{line}");
    }
}

fn said(client: &mut Client, tool: &str, path: &str) -> String {
    let (_, body) = client.execute(&format!("s.{tool}"), json!({ "path": path }));
    shown(&body).to_owned()
}

fn covered(folder: &Folder) -> bool {
    let report = folder.check(&["--json"]).json();
    report["confinement"]["s"]["protections"].to_string().contains("mounts")
}

/// By default a server may keep its files beside `weaver.toml`, and reach nothing of the gateway's.
#[test]
fn a_server_keeps_its_files_beside_the_configuration() {
    let folder = folder(&[("s", "prying")], "", "");
    if !covered(&folder) {
        return;
    }
    let mut client = Client::open(&folder);
    fs::write(folder.path("later.json"), "later").unwrap();
    assert!(said(&mut client, "put", &folder.arg("memory.json")).contains("written"));
    assert!(said(&mut client, "peek", &folder.arg("memory.json")).contains("3 bytes"));
    assert!(said(&mut client, "peek", &folder.arg("later.json")).contains("5 bytes"));
    for name in ["weaver.toml", ".weaver/ledger.db", ".weaver/new", "policy/policy.toml"] {
        for tool in ["peek", "put"] {
            let outcome = said(&mut client, tool, &folder.arg(name));
            assert!(outcome.contains("refused"), "{tool} {name}: {outcome}");
        }
    }
    client.finish();
    let report = folder.check(&["--json"]).json();
    assert_eq!(report["closed_folders"], json!([]), "{report}");
}

/// Editors and renewals replace files: the new one is kept from the servers that run, and the calls
/// in progress go on.
#[test]
fn a_file_that_is_replaced_is_kept_from_servers_that_run_and_ends_no_call() {
    let folder = folder(&[("s", "prying")], "", "");
    if !covered(&folder) {
        return;
    }
    let mut client = Client::open(&folder);
    assert!(said(&mut client, "peek", &folder.arg("weaver.toml")).contains("refused"));
    for name in ["weaver.toml", "root.key", "made.key"] {
        let path = folder.arg(name);
        let call = json!({"capability": "s.watch", "arguments": {"path": path}});
        let call = client.begin("tools/call", json!({"name": "tool_execute", "arguments": call}));
        while !folder.path(&format!("{name}.waiting")).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(folder.path("next"), "replaced").unwrap();
        fs::rename(folder.path("next"), folder.path(name)).unwrap();
        let (is_error, body) = crate::client::unpack(&client.answer(&call));
        assert!(!is_error && shown(&body) == "hidden again", "{name}: {body}");
        for tool in ["peek", "put"] {
            let outcome = said(&mut client, tool, &path);
            assert!(outcome.contains("refused"), "{tool} {name}: {outcome}");
        }
        assert_eq!(fs::read(folder.path(name)).unwrap(), b"replaced");
    }
    client.finish();
    let ready = events(&folder).into_iter().filter(|(kind, _)| kind == "upstream.ready");
    assert_eq!(ready.count(), 1, "it was never started again");
}

/// A server that answers nothing, as if it started for ever, holds up no other.
#[test]
fn no_server_waits_for_another_until_a_replaced_file_is_kept_from_it() {
    let folder = folder(&[("s", "prying"), ("h", "silent")], "", "");
    let text = fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let text = text.replace("[mcpServers.h]\n", "[mcpServers.h]\ninitialize_timeout_ms = 600000\n");
    folder.write("weaver.toml", &text);
    if !covered(&folder) {
        return;
    }
    let mut client = Client::open(&folder);
    assert!(said(&mut client, "peek", &folder.arg("root.key")).contains("refused"));
    for _ in 0..2 {
        let path = folder.arg("root.key");
        let call = json!({"capability": "s.watch", "arguments": {"path": path}});
        let call = client.begin("tools/call", json!({"name": "tool_execute", "arguments": call}));
        while !folder.path("root.key.waiting").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(folder.path("next"), "replaced").unwrap();
        fs::rename(folder.path("next"), folder.path("root.key")).unwrap();
        let (is_error, body) = crate::client::unpack(&client.answer(&call));
        assert!(!is_error && shown(&body) == "hidden again", "{body}");
        fs::remove_file(folder.path("root.key.waiting")).unwrap();
    }
    client.finish();
}

/// What a server opened before the new file was hidden stays open: it is started again.
#[test]
fn a_server_that_has_opened_the_new_file_is_started_again() {
    let folder = folder(&[("s", "prying")], "", "");
    if !covered(&folder) {
        return;
    }
    let mut client = Client::open(&folder);
    let path = folder.arg("weaver.toml");
    let call = json!({"capability": "s.grab", "arguments": {"path": path}});
    let call = client.begin("tools/call", json!({"name": "tool_execute", "arguments": call}));
    while !folder.path("weaver.toml.waiting").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(folder.path("next"), "replaced").unwrap();
    fs::rename(folder.path("next"), folder.path("weaver.toml")).unwrap();
    let (is_error, body) = crate::client::unpack(&client.answer(&call));
    assert!(is_error, "{body}");
    let outcome = (0..20)
        .find_map(|_| {
            let (is_error, body) = client.execute("s.peek", json!({ "path": path }));
            (!is_error).then(|| shown(&body).to_owned())
        })
        .unwrap();
    assert!(outcome.contains("refused"), "{outcome}");
    client.finish();
}

/// State that the configuration puts among other files stays closed as it was.
#[test]
fn a_ledger_in_a_folder_of_others_keeps_its_folder_closed() {
    let folder = folder(&[("s", "prying")], "[store]\npath = \"ledger.db\"", "");
    let report = folder.check(&["--json"]).json();
    assert!(!report["confinement"]["s"]["protections"].to_string().contains("mounts"), "{report}");
    let mut client = Client::open(&folder);
    assert!(said(&mut client, "peek", &folder.arg("ledger.db")).contains("refused"));
    client.finish();
    assert!(folder.path("ledger.db").exists());
}

#[test]
fn what_its_user_can_mend_is_no_internal_error() {
    let own = folder(&[("s", "good")], "", "");
    let config = own.arg("weaver.toml");
    let run = weaver(&["serve", "--standalone", "--profile", "nope", "--config", &config]);
    assert!(run.code == 2 && run.err.contains("serve.profile"), "{run:?}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = weaver(&["daemon", "--config", &config, "--http", &address]);
    assert!(run.code == 3 && run.err.contains(&address), "{run:?}");
    // A file where the folder of the store should be.
    fs::write(own.path("taken"), "").unwrap();
    let store = toml::Value::from(own.arg("taken/deeper/ledger.db")).to_string();
    crate::client::configure(&own, &[("s", "good")], &format!("[store]\npath = {store}\n"));
    for line in [&["serve", "--standalone"][..], &["daemon"]] {
        let mut args = line.to_vec();
        args.extend(["--config", config.as_str()]);
        let run = weaver(&args);
        assert!(run.code == 4 && run.err.contains("taken"), "{line:?}: {run:?}");
    }
}
