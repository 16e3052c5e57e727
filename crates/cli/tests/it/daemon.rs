//! Many clients of one daemon: started at once, restarted, killed, stopped, reconfigured.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, events, folder, shim, shim_of_another_process};
use crate::support::{Folder, Run, until, weaver};

/// A folder whose daemon ends with the test.
struct Shared(Folder);

impl Shared {
    fn new(gateway: &str) -> Self {
        Self(folder(&[("good", "good")], gateway, ""))
    }

    fn verb(&self, verb: &str, more: &[&str]) -> Run {
        self.0.weaver(&[&[verb], more].concat())
    }

    fn status(&self) -> Value {
        self.verb("status", &["--json"]).json()
    }

    fn start(&self, more: &[&str]) -> Client {
        Client::shim(&self.0, more)
    }

    fn open(&self) -> Client {
        self.start(&[]).shaken()
    }

    /// Another client process, which starts the shim and waits for its end.
    fn open_from_another_process(&self) -> Client {
        Client::start_as(shim_of_another_process(&self.0, "sh")).shaken()
    }

    /// A client that nobody knows: the process that started the shim adopts orphans.
    fn open_from_nowhere(&self) -> Client {
        let adopter = self.0.path("systemd");
        if !adopter.exists() {
            std::os::unix::fs::symlink("/bin/sh", &adopter).unwrap();
        }
        let adopter = adopter.to_str().unwrap();
        Client::start_as(shim_of_another_process(&self.0, adopter)).shaken()
    }

    /// Kills the daemon as nothing else would.
    fn kill(&self) {
        until("a daemon is started again", || self.verb("status", &["--json"]).code == 0);
        let pid = self.status()["pid"].to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    }

    fn socket(&self) -> std::path::PathBuf {
        self.0.path(".weaver/ledger.db.run/d.sock")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.verb("stop", &[]);
    }
}

/// A call that reads.
fn reads(client: &mut Client) -> bool {
    !client.execute("good.people", json!({})).0
}

#[test]
fn twenty_clients_started_at_once_share_one_daemon() {
    let shared = Shared::new("");
    let clients: Vec<Client> = thread::scope(|scope| {
        let starts: Vec<_> = (0..20).map(|_| scope.spawn(|| shared.open())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let status = shared.status();
    assert_eq!(status["sessions"].as_array().unwrap().len(), 20, "{status}");
    for mut client in clients {
        assert!(reads(&mut client));
        client.finish();
    }
    until("no session is left", || shared.status()["sessions"].as_array().unwrap().is_empty());
}

#[test]
fn a_client_goes_on_when_the_daemon_is_killed_and_nothing_runs_twice() {
    let shared = Shared::new("");
    let (mut one, mut other) = (shared.open(), shared.open());
    assert!(reads(&mut one) && reads(&mut other));
    // A call that is never answered is under way.
    let under_way = one.begin(
        "tools/call",
        json!({
            "name": "tool_execute",
            "arguments": { "capability": "good.quiet", "arguments": {} },
        }),
    );
    thread::sleep(Duration::from_millis(500));
    shared.kill();
    let lost = one.answer(&under_way);
    assert_eq!(lost["result"]["_meta"]["weaver/reason"], "outcome_unknown", "{lost}");
    assert!(reads(&mut one) && reads(&mut other), "both go on");
    assert!(one.request("tools/list", json!({}))["result"]["tools"].is_array());
    one.finish();
    other.finish();
    let verified = weaver(&["trace", "verify", "--store", &shared.0.arg(".weaver/ledger.db")]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// A server that answers nothing keeps neither the session nor the other subscriptions.
#[test]
fn a_client_that_leaves_unsubscribes_everywhere_at_once() {
    let shared = Shared(folder(&[("f", "features")], "", ""));
    let mut client = shared.open();
    let uris = ["note://silent-1", "note://silent-2", "note://silent-3"];
    for uri in uris {
        let subscribed = client.request("resources/subscribe", json!({ "uri": uri }));
        assert!(subscribed["result"].is_object(), "{subscribed}");
    }
    client.finish();
    until("the server is told of every resource", || {
        let told = fs::read_to_string(shared.0.path("files/mark")).unwrap_or_default();
        uris.iter().all(|uri| told.contains(uri))
    });
    assert_eq!(shared.status()["sessions"], json!([]), "its session has ended");
}

/// The handle of a result that a client now has.
fn stored(client: &mut Client) -> Value {
    let arguments = json!({ "capability": "good.people", "arguments": {} });
    let call = json!({ "name": "tool_execute", "arguments": arguments });
    let answer = client.request("tools/call", call);
    answer["result"]["_meta"]["weaver/handle"].clone()
}

/// What a client is told of a stored result: nothing where it is shown, else the reason.
fn viewed(client: &mut Client, handle: &Value) -> Value {
    let call = json!({ "name": "tool_view", "arguments": { "handle": handle } });
    let answer = client.request("tools/call", call);
    answer["result"]["structuredContent"]["reason"].clone()
}

/// Each client is shown its own result alone, until the other has gone.
fn handles_are_apart(mut one: Client, mut other: Client) {
    let (ones, others) = (stored(&mut one), stored(&mut other));
    assert!(ones.is_string() && others.is_string(), "{ones} {others}");
    assert_eq!(viewed(&mut other, &ones), "handle_not_found");
    assert_eq!(viewed(&mut one, &others), "handle_not_found");
    assert_eq!(viewed(&mut one, &ones), Value::Null);
    assert_eq!(viewed(&mut other, &others), Value::Null);
    other.finish();
    until("the result of a client that has gone is shown", || {
        viewed(&mut one, &others) == Value::Null
    });
    one.finish();
}

#[test]
fn a_stored_result_is_unknown_to_other_clients_as_long_as_its_own_is_there() {
    let shared = Shared::new("");
    handles_are_apart(shared.open(), shared.open_from_another_process());
}

/// As in a container, where the client has gone and the shim is a child of the first process.
#[test]
fn a_stored_result_of_a_connected_client_that_is_not_known_is_its_own_too() {
    let shared = Shared::new("");
    let (one, other) = (shared.open_from_nowhere(), shared.open_from_nowhere());
    let sessions = shared.status()["sessions"].to_string();
    assert!(sessions.contains("a client that is not known"), "{sessions}");
    handles_are_apart(one, other);
}

#[test]
fn a_restart_under_load_loses_no_call() {
    let shared = Shared::new("");
    let done = thread::scope(|scope| {
        let callers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = shared.open();
                    let done = (0..40).filter(|_| reads(&mut client)).count();
                    client.finish();
                    done
                })
            })
            .collect();
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(300));
            let restarted = shared.verb("restart", &[]);
            assert_eq!(restarted.code, 0, "{restarted:?}");
        }
        callers.into_iter().map(|caller| caller.join().unwrap()).sum::<usize>()
    });
    assert_eq!(done, 240);
}

#[test]
fn a_stopped_daemon_stays_so_for_its_clients_until_another_starts_it() {
    let shared = Shared::new("");
    let mut client = shared.open();
    assert!(reads(&mut client));
    assert_eq!(shared.verb("stop", &[]).code, 0);
    let refused = client.request("tools/list", json!({}));
    assert_eq!(refused["error"]["data"]["code"], "daemon.not_running", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("weaver stop"), "{refused}");
    assert_ne!(shared.verb("status", &[]).code, 0, "no daemon was started by it");
    let alone = shared.start(&["--standalone"]).shaken();
    alone.finish();
    let mut fresh = shared.open();
    assert!(reads(&mut fresh));
    thread::sleep(Duration::from_millis(2_100));
    assert!(reads(&mut client), "the older client finds it");
    client.finish();
    fresh.finish();
}

#[test]
fn a_changed_configuration_comes_into_force_and_a_broken_one_is_told() {
    let shared = Shared::new("");
    let mut client = shared.open();
    assert!(client.request("tools/list", json!({}))["result"]["tools"][0]["name"] == "tool_browse");
    let text = fs::read_to_string(shared.0.path("weaver.toml")).unwrap();
    fs::write(shared.0.path("weaver.toml"), format!("[profiles.all]\nmode = \"proxy\"\n{text}"))
        .unwrap();
    let mut proxy = shared.start(&["--profile", "all"]).shaken();
    let tools = proxy.request("tools/list", json!({}));
    let names = tools["result"]["tools"].as_array().unwrap();
    assert!(names.iter().any(|tool| tool["name"] == "good__people"), "{tools}");
    assert!(reads(&mut client), "the older client goes on");
    let mut unknown = shared.start(&["--profile", "none"]);
    let refused = unknown.request("initialize", crate::client::initialize());
    assert!(refused["error"]["message"].as_str().unwrap().contains("`none`"), "{refused}");
    fs::write(shared.0.path("weaver.toml"), format!("{text}\n[gatway]\nmode = 5\n")).unwrap();
    let mut broken = shared.start(&[]);
    let refused = broken.request("initialize", crate::client::initialize());
    assert!(refused["error"]["message"].as_str().unwrap().contains("gatway"), "{refused}");
    assert!(reads(&mut client), "what was in force stays so for who is there");
    for client in [client, proxy, unknown, broken] {
        client.end();
    }
    fs::write(shared.0.path("weaver.toml"), text).unwrap();
}

#[test]
fn the_program_of_a_client_holds_little_memory_and_no_huge_pages_and_the_daemon_may() {
    let shared = Shared::new("");
    let mut client = shared.open();
    assert!(reads(&mut client));
    let told = |pid: &str, name: &str| -> u64 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let (shim, daemon) = (client.pid().to_string(), shared.status()["pid"].to_string());
    assert_eq!((told(&shim, "THP_enabled:"), told(&daemon, "THP_enabled:")), (0, 1));
    // What is its own; the pages of the program's file are shared by all.
    let own = told(&shim, "RssAnon:");
    assert!(own < 8 * 1024, "{own} kB");
    client.end();
}

#[test]
fn the_log_of_a_daemon_that_lives_long_is_begun_anew() {
    let shared = Shared::new("");
    let client = shared.open();
    let log = shared.0.path(".weaver/ledger.db.run/daemon.log");
    let inode = fs::metadata(&log).unwrap().ino();
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(&vec![b'x'; 9 * 1024 * 1024]).unwrap();
    until("the log is rotated", || !fs::metadata(&log).is_ok_and(|about| about.ino() == inode));
    assert_eq!(
        fs::metadata(shared.0.path(".weaver/ledger.db.run/daemon.log.1")).unwrap().ino(),
        inode
    );
    // What it says from here on is in the fresh one.
    let text = fs::read_to_string(shared.0.path("weaver.toml")).unwrap();
    fs::write(shared.0.path("weaver.toml"), format!("{text}\n[gatway]\n")).unwrap();
    until("more is written", || fs::read_to_string(&log).unwrap().contains("gatway"));
    fs::write(shared.0.path("weaver.toml"), text).unwrap();
    client.end();
}

#[test]
fn a_configuration_that_cannot_be_used_is_answered_and_told_on_stderr() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--config", "/nowhere/weaver.toml"]);
    let mut client = Client::start_as(command);
    let refused = client.request("initialize", crate::client::initialize());
    assert!(refused["error"]["message"].as_str().unwrap().contains("/nowhere/weaver.toml"));
    let ended = client.end();
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("/nowhere/weaver.toml"), "{}", ended.stderr);
}

#[test]
fn documents_that_are_not_signed_are_the_answer_to_every_request() {
    let shared = Shared::new("");
    shared.0.append(
        "policy/policy.toml",
        "[[rules]]\nname = \"more\"\nmatch = {}\neffect = \"allow\"\nreason = \"unsigned\"\n",
    );
    let mut client = shared.start(&[]);
    for _ in 0..2 {
        let refused = client.request("initialize", crate::client::initialize());
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("policy.toml") && message.contains("daemon.log"), "{refused}");
    }
    client.end();
}

#[test]
fn stale_and_foreign_files_do_not_stop_a_start() {
    let shared = Shared::new("");
    let mut client = shared.open();
    assert!(reads(&mut client));
    client.finish();
    shared.kill();
    assert!(shared.socket().exists(), "a killed daemon leaves its socket");
    let mut client = shared.open();
    assert!(reads(&mut client));
    client.finish();
    assert_eq!(shared.verb("stop", &[]).code, 0);
    // Somebody of the same user bound the name and does not listen any more.
    drop(UnixListener::bind(shared.socket()).unwrap());
    let mut client = shared.open();
    assert!(reads(&mut client));
    client.finish();
}

#[test]
fn a_folder_that_others_can_enter_is_refused_with_the_remedy() {
    let shared = Shared::new("");
    let folder = shared.0.path(".weaver/ledger.db.run");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let mut client = shared.start(&[]);
    let refused = client.request("initialize", crate::client::initialize());
    assert!(refused["error"]["message"].as_str().unwrap().contains("chmod 700"), "{refused}");
    client.end();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

/// Whoever listens there would read everything that clients say, and could answer it.
#[test]
fn a_stranger_at_the_address_is_not_taken_for_the_daemon() {
    let shared = Shared::new("");
    let folder = shared.0.path(".weaver/ledger.db.run");
    fs::create_dir_all(&folder).unwrap();
    let squatter = UnixListener::bind(shared.socket()).unwrap();
    squatter.set_nonblocking(true).unwrap();
    let nobody = rustix::process::getuid().is_root().then_some(65_534);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    if nobody.is_some() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(&folder, nobody, nobody).unwrap();
    }
    let mut client = shared.start(&[]);
    let refused = client.request("initialize", crate::client::initialize());
    let wanted = if nobody.is_some() { "not a folder of this user" } else { "chmod 700" };
    assert!(refused["error"]["message"].as_str().unwrap().contains(wanted), "{refused}");
    client.end();
    let asked = shared.verb("status", &["--json"]);
    assert!(asked.code != 0 && asked.err.contains("daemon.folder"), "{asked:?}");
    assert!(squatter.accept().is_err(), "nobody spoke to it");
    fs::remove_dir_all(&folder).unwrap();
}

/// The folder keeps other users out; where a system does not look at it, the daemon looks who comes.
#[test]
fn a_connection_of_another_user_is_refused() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let shared = Shared::new("");
    let mut client = shared.open();
    let folder = shared.0.path(".weaver/ledger.db.run");
    let opened = [(&folder, 0o755), (&shared.socket(), 0o777)];
    for (path, mode) in opened {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for above in folder.ancestors().skip(1).take_while(|above| *above != std::env::temp_dir()) {
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = "my $s = IO::Socket::UNIX->new($ARGV[0]) or die $!; \
        print 'it read ', sysread($s, my $answer, 100);";
    let mut knock = Command::new("perl");
    knock.args(["-MIO::Socket::UNIX", "-e", script]).arg(shared.socket()).current_dir("/");
    let said = std::os::unix::process::CommandExt::uid(&mut knock, 65_534).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(out.contains("it read 0"), "{out} {err}");
    let log = fs::read_to_string(folder.join("daemon.log")).unwrap();
    assert!(log.contains("another user was refused"), "{log}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(reads(&mut client));
    client.finish();
}

#[test]
fn garbage_on_the_socket_is_answered_and_harms_nobody() {
    use std::io::{Read as _, Write as _};

    let shared = Shared::new("");
    let mut client = shared.open();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\xff\xfe\n", b"{}\n", b"\n"] {
        let mut stream = UnixStream::connect(shared.socket()).unwrap();
        stream.write_all(garbage).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("refused"), "{answer}");
    }
    assert!(reads(&mut client));
    client.finish();
}

#[test]
fn verbs_that_write_the_store_borrow_it_from_the_daemon() {
    let shared = Shared::new("");
    let mut client = shared.open();
    assert!(reads(&mut client));
    let store = shared.0.arg(".weaver/ledger.db");
    let opened = || events(&shared.0).iter().filter(|(kind, _)| kind == "ledger.opened").count();
    for (more, openings) in [(&["--dry-run"][..], 1), (&[], 2)] {
        let prune = ["trace", "prune", "--store", &store, "--older-than", "90d"];
        let pruned = weaver(&[&prune[..], more].concat());
        assert_eq!(pruned.code, 0, "{pruned:?}");
        assert!(reads(&mut client), "the client goes on");
        assert_eq!(opened(), openings, "what only reads needs no loan");
    }
    client.finish();
}

#[test]
fn clients_of_different_processes_have_runs_of_their_own() {
    let shared = Shared::new("");
    let (mut one, mut other) = (shared.open(), shared.open_from_another_process());
    assert!(reads(&mut one) && reads(&mut other));
    let listed =
        weaver(&["trace", "list", "--store", &shared.0.arg(".weaver/ledger.db"), "--json"]);
    let runs: std::collections::BTreeSet<String> = listed
        .out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["type"] == "call.intent")
        .filter_map(|event| event["run"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(runs.len(), 2, "{}", listed.out);
    one.finish();
    other.finish();
}

/// Two clients of one user with rights of their own.
#[test]
fn a_client_over_pipes_acts_as_the_principal_of_its_token() {
    let shared = Shared::new("");
    crate::client::replace(
        &shared.0,
        "policy",
        2,
        "[principals.owner]\nroles = [\"reader\"]\n[principals.guest]\n\n[[rules]]\n\
         name = \"reads\"\nmatch = { effects = { impact = \"read\" } }\n\
         require.roles = { any = [\"reader\"] }\neffect = \"allow\"\nreason = \"readers read\"\n",
    );
    let mut own = shared.open();
    assert!(reads(&mut own));
    let config = shared.0.arg("weaver.toml");
    let added = weaver(&["clients", "add", "editor", "--principal", "guest", "--config", &config]);
    let start = |token: &str| {
        let mut command = shim(&shared.0, &["--token-env", "EDITOR_TOKEN"]);
        Client::start_as(match token {
            "" => command,
            token => {
                command.env("EDITOR_TOKEN", token);
                command
            }
        })
    };
    let mut guest = start(added.out.trim()).shaken();
    let (failed, body) = guest.execute("good.people", json!({}));
    assert!(failed && body.to_string().contains("deny"), "{body}");
    let sessions = shared.status()["sessions"].to_string();
    assert!(sessions.contains("guest") && sessions.contains("owner"), "{sessions}");
    for (token, problem) in [("weaver_made_up", "the token is not known"), ("", "EDITOR_TOKEN")] {
        let mut stranger = start(token);
        let refused = stranger.request("initialize", crate::client::initialize());
        assert!(refused["error"]["message"].as_str().unwrap().contains(problem), "{refused}");
        stranger.end();
    }
    assert_eq!(weaver(&["clients", "remove", "editor", "--config", &config]).code, 0);
    let mut removed = start(added.out.trim());
    let refused = removed.request("initialize", crate::client::initialize());
    assert!(refused["error"]["message"].as_str().unwrap().contains("was removed"), "{refused}");
    removed.end();
    guest.finish();
    own.finish();
}

/// A server that is down is nothing to whoever may not see it.
#[test]
fn a_server_that_a_principal_may_not_see_is_not_missing_to_it() {
    let shared = Shared(folder(&[("good", "good"), ("payroll", "absent")], "", ""));
    let visible = "\n[[visible]]\nprincipals = [\"owner\"]\ncapabilities = [\"*\"]\n\n\
        [[visible]]\nprincipals = [\"guest\"]\ncapabilities = [\"good.*\"]\n";
    let contracts = crate::client::contracts(&["good", "payroll"]);
    crate::client::replace(&shared.0, "contracts", 2, &format!("{contracts}{visible}"));
    let rules = crate::client::RULES;
    let principals = "[principals.owner]\nroles = []\n[principals.guest]\n\n";
    crate::client::replace(&shared.0, "policy", 2, &format!("{principals}{rules}"));
    let mut own = shared.open();
    let (_, all) = own.call("tool_browse", json!({}));
    assert!(all["text"].as_str().unwrap().contains("Server `payroll` is missing"), "{all}");
    let config = shared.0.arg("weaver.toml");
    let added = weaver(&["clients", "add", "editor", "--principal", "guest", "--config", &config]);
    let mut command = shim(&shared.0, &["--token-env", "EDITOR_TOKEN"]);
    command.env("EDITOR_TOKEN", added.out.trim());
    let mut guest = Client::start_as(command).shaken();
    let (_, all) = guest.call("tool_browse", json!({}));
    assert!(all["tools"].to_string().contains("good.echo"), "{all}");
    assert!(!all.to_string().contains("payroll"), "{all}");
    let (_, refused) = guest.execute("payroll.x", json!({}));
    assert_eq!(refused["reason"], "not_found", "{refused}");
    let missing = guest.request("resources/read", json!({ "uri": "gone://1" }));
    assert!(!missing.to_string().contains("payroll"), "{missing}");
    guest.finish();
    own.finish();
}

/// Ten clients make a hundred calls each, and the daemon is killed when a quarter, half and three
/// quarters of them are answered.
#[test]
fn every_call_of_ten_clients_is_answered_and_none_runs_twice_however_often_the_daemon_dies() {
    let shared = Shared::new("");
    let count = AtomicUsize::new(0);
    let answered: Vec<(String, bool)> = thread::scope(|scope| {
        let callers: Vec<_> = (0..10)
            .map(|caller| {
                let (shared, count) = (&shared, &count);
                scope.spawn(move || {
                    let mut client = shared.open();
                    let mut answers = Vec::new();
                    for n in 0..100 {
                        let text = format!("note {caller} {n}");
                        let (failed, body) = client.call(
                            "tool_execute",
                            json!({
                                "capability": "good.note",
                                "arguments": { "text": text },
                                "justification": "the test writes it",
                            }),
                        );
                        let known = !failed || body["reason"] == "outcome_unknown";
                        assert!(known, "{body}");
                        answers.push((text, !failed));
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                    client.finish();
                    answers
                })
            })
            .collect();
        for least in [250, 500, 750] {
            let goes_on = || callers.iter().any(|caller| !caller.is_finished());
            while count.load(Ordering::SeqCst) < least && goes_on() {
                thread::sleep(Duration::from_millis(5));
            }
            shared.kill();
        }
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(answered.len(), 1_000);
    assert_eq!(shared.verb("stop", &[]).code, 0);
    let store = shared.0.arg(".weaver/ledger.db");
    assert_eq!(weaver(&["trace", "verify", "--store", &store]).code, 0);
    let events = crate::client::events(&shared.0);
    let texts = |kind: &str| -> Vec<(String, String)> {
        let intents = events.iter().filter(|(found, _)| found == kind);
        intents
            .map(|(_, payload)| {
                let call = payload["token"].as_str().unwrap_or_default();
                let text = payload["arguments"]["text"].as_str().unwrap_or_default();
                (text.to_owned(), call.to_owned())
            })
            .collect()
    };
    let begun = texts("call.intent");
    for (text, done) in &answered {
        let quoted = format!("{{\"text\":\"{text}\"}}");
        let times = begun.iter().filter(|(begun, _)| *begun == quoted).count();
        assert!(times <= 1, "`{text}` ran {times} times");
        assert!(!done || times == 1, "`{text}` was acknowledged and is not in the log");
    }
}
