//! The servers behind the gateway are confined: real processes on this kernel, through `weaver
//! serve`. On a kernel that cannot confine, the tests hold what the gateway says and does instead.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::client::{Client, configure, events, folder, shown};
use crate::support::Folder;

fn prying(section: &str) -> Folder {
    let folder = folder(&[("s", "prying")], "", "");
    for name in ["files/own.txt", "other/other.txt", ".weaver/inbox/answer", "root.key"] {
        folder.write(name, "something");
    }
    if !section.is_empty() {
        folder.append("weaver.toml", &format!("\n[mcpServers.s.confine]\n{section}\n"));
    }
    folder
}

/// What the server says that came of it.
fn said(client: &mut Client, tool: &str, path: &str) -> String {
    let (is_error, body) = client.execute(&format!("s.{tool}"), json!({ "path": path }));
    assert!(!is_error, "{body}");
    shown(&body).to_owned()
}

/// What the gateway recorded of its server.
fn recorded(folder: &Folder) -> Value {
    let events = events(folder);
    let ready = events.iter().find(|(kind, _)| kind == "upstream.ready");
    ready
        .map(|(_, payload)| payload["fields"]["confinement"].clone())
        .expect("the server was there")
}

fn state(folder: &Folder) -> Vec<String> {
    let names = [
        "weaver.toml", ".weaver/ledger.db", ".weaver/ledger.db-wal", ".weaver/ledger.db.lock",
        "policy/policy.toml", ".weaver/inbox/answer", "root.key",
    ];
    names
        .map(|name| folder.arg(name))
        .into_iter()
        .filter(|path| fs::exists(path).unwrap())
        .collect()
}

#[test]
fn no_server_reads_the_state_of_the_gateway() {
    let folder = prying("");
    let mut client = Client::open(&folder);
    assert!(said(&mut client, "peek", &folder.arg("files/own.txt")).contains("9 bytes"));
    assert!(said(&mut client, "peek", &folder.arg("other/other.txt")).contains("9 bytes"));
    let state = state(&folder);
    assert!(state.len() >= 6, "{state:?}");
    let outcomes: Vec<_> = state.iter().map(|path| said(&mut client, "peek", path)).collect();
    client.finish();
    let recorded = recorded(&folder);
    println!("{recorded}");
    if recorded["landlock"] == 0 {
        assert_eq!(recorded["lacking"], json!(["files", "truncate"]));
        return;
    }
    assert!(outcomes.iter().all(|outcome| outcome.contains("refused")), "{state:?} {outcomes:?}");
    let enforced = recorded["protections"].as_array().unwrap();
    assert!(enforced.contains(&json!("files")), "{recorded}");
    assert_eq!(recorded["lacking"], json!([]));
}

#[test]
fn a_confined_server_has_what_its_section_names() {
    let folder = prying("read = [\"files\"]\nnetwork = \"none\"\nopen_files = 100");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let check = folder.check(&["--json"]).json();
    if check["confinement"]["s"]["refused"].is_string() {
        // The kernel cannot: the server is away, and says why.
        assert_eq!(check["confinement"]["s"]["refused"], "confine.lacking");
        let mut client = Client::open(&folder);
        let (is_error, body) = client.execute("s.echo", json!({}));
        assert!(is_error, "{body}");
        client.finish();
        assert!(!events(&folder).iter().any(|(kind, _)| kind == "upstream.ready"));
        return;
    }
    let mut client = Client::open(&folder);
    assert!(said(&mut client, "peek", &folder.arg("files/own.txt")).contains("9 bytes"));
    for path in state(&folder).into_iter().chain([folder.arg("other/other.txt")]) {
        assert!(said(&mut client, "peek", &path).contains("refused"), "{path}");
    }
    assert!(said(&mut client, "reach", &address).contains("refused"));
    client.finish();
    let recorded = recorded(&folder);
    assert_eq!(recorded["lacking"], json!([]));
    for protection in ["files", "network", "open_files", "no_new_privileges"] {
        let all = recorded["protections"].as_array().unwrap();
        assert!(all.contains(&json!(protection)), "{protection}: {recorded}");
    }
    assert_eq!(check["confinement"]["s"], recorded, "check says what is enforced");
}

/// Root's processes are not counted by the kernel, so this demand cannot be met by root.
#[test]
fn what_the_kernel_lacks_stops_the_server_or_is_left_to_the_policy() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let folder = prying("processes = 100");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("s.echo", json!({ "text": "x" }));
    assert!(is_error && body.to_string().contains("processes"), "{body}");
    client.finish();
    let lost = events(&folder).into_iter().find(|(kind, _)| kind == "upstream.lost").unwrap();
    assert_eq!(lost.1["fields"]["code"], "confine.lacking");

    let folder = prying("processes = 100\nbest_effort = true");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("s.echo", json!({ "text": "x" }));
    assert!(!is_error, "reads go on: {body}");
    let note =
        json!({"capability": "s.note", "arguments": {"text": "x"}, "justification": "to note it"});
    let (is_error, body) = client.call("tool_execute", note.clone());
    assert!(is_error && body["verdict"] == "hold", "{body}");
    client.finish();
    assert_eq!(recorded(&folder)["lacking"], json!(["processes"]));
    let check = folder.check(&[]);
    assert!(check.out.contains("run without: processes"), "{}", check.out);

    // The same call where nothing is lacking.
    let folder = prying("");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("tool_execute", note);
    assert!(!is_error, "{body}");
    client.finish();
}

#[test]
fn a_section_that_cannot_be_meant_is_refused() {
    for (section, code) in [
        ("reads = []", "config.unknown_key"),
        ("network = \"some\"", "config.word"),
        ("read = [\"\"]", "config.path"),
        ("read = [\"${NO_SUCH_VARIABLE_HERE}\"]", "config.variable"),
        ("processes = 0", "config.range"),
        ("user = \"root\"", "config.user"),
        ("user = \"0:0\"", "config.user"),
        ("user = \"a b\"", "config.user"),
    ] {
        assert_eq!(prying(section).check(&["--json"]).finding_codes(), [code], "{section}");
    }
    let folder = prying("");
    configure(&folder, &[], "");
    folder.append(
        "weaver.toml",
        "\n[mcpServers.web]\nurl = \"https://example.org\"\nconfine = { network = \"none\" }\n",
    );
    assert_eq!(folder.check(&["--json"]).finding_codes(), ["config.server"]);
}

#[test]
fn check_says_what_would_be_enforced_and_what_it_costs() {
    let folder = prying("");
    let run = folder.check(&[]);
    assert!(run.out.contains("confined   s: "), "{}", run.out);
    let report = folder.check(&["--json"]).json();
    if report["confinement"]["s"]["landlock"] == 0 {
        assert_eq!(report["closed_folders"], json!([]));
        return;
    }
    let denied = report["denied"].to_string();
    for name in [".weaver", "policy", "weaver.toml", "root.key"] {
        assert!(denied.contains(&folder.arg(name)), "{name}: {denied}");
    }
    let base = folder.path("").canonicalize().unwrap();
    let closed = report["closed_folders"].as_array().unwrap();
    let in_closed = closed.iter().any(|path| base == *path.as_str().unwrap().trim_end_matches('/'));
    let mounts = report["confinement"]["s"]["protections"].to_string().contains("mounts");
    assert_eq!(in_closed, !mounts, "{closed:?}");
    let means = if mounts { "state denied by mounts" } else { "state denied by landlock alone" };
    assert!(run.out.contains(means), "{}", run.out);
    let line = "system calls filtered by seccomp; runs as the gateway's user";
    assert!(run.out.contains(line), "{}", run.out);
}

/// The path of a socket is bounded, so that of a store with a long path lies elsewhere.
#[test]
fn the_socket_of_a_store_with_a_long_path_is_kept_from_servers() {
    let folder = folder(&[("one", "good")], "", "");
    let long = folder.path(&format!("{}/ledger.db", "x".repeat(100)));
    let settings = format!("[store]\npath = {:?}\n", long.to_str().unwrap());
    configure(&folder, &[("one", "good")], &settings);
    let config = weaver_gateway::config::load(folder.path("weaver.toml")).unwrap();
    let socket = weaver_gateway::daemon::DaemonFolder::of_store(&config.store_path);
    let above = socket.socket().parent().unwrap();
    assert!(above.starts_with("/tmp"), "{}", above.display());
    assert!(config.state_paths().contains(above));
}
