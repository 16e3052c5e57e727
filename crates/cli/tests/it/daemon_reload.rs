//! A daemon whose configuration changes, where no client over pipes would start the next one.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::client::{Client, folder, shim};
use crate::http::{Web, request};
use crate::support::{Folder, until, weaver};

/// A daemon that somebody started by hand, or a service manager did.
pub(crate) struct Daemon {
    pub(crate) web: Web,
    pub(crate) child: Child,
}

impl Daemon {
    pub(crate) fn start(settings: &str, more: &[&str]) -> Self {
        Self::of_folder(folder(&[("good", "good")], settings, ""), more)
    }

    pub(crate) fn of_folder(folder: Folder, more: &[&str]) -> Self {
        let child = run(&folder, more);
        until("it is ready", || folder.weaver(&["status", "--json"]).code == 0);
        Self { web: Web::of_running(folder, None), child }
    }

    /// Starts another one with the same configuration.
    pub(crate) fn start_again(&mut self) {
        self.child = run(self.web.folder(), &[]);
        until("it is ready", || self.listens());
    }

    pub(crate) fn listens(&self) -> bool {
        let status = self.web.weaver(&["status", "--json"]);
        status.code == 0 && status.json()["http"].is_string()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.web.folder().path("said.log")).unwrap()
    }

    /// The command of a client over pipes.
    fn serve(&self) -> Command {
        shim(self.web.folder(), &[])
    }

    pub(crate) fn change(&self, from: &str, to: &str) {
        let path = self.web.folder().path("weaver.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// The names of the tools that a client over HTTP is shown.
    pub(crate) fn tools(&self) -> String {
        let id = self.web.open();
        let list = request(2, "tools/list", json!({}));
        self.web.post(&[("mcp-session-id", id.as_str())], &list).body
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(folder: &Folder, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["daemon", "--config", &folder.arg("weaver.toml")]).args(more);
    let log = fs::File::create(folder.path("said.log")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

/// An address where nobody listens now.
pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_daemon_of_clients_over_http_begins_anew_with_its_changed_configuration() {
    let settings =
        format!("[http]\nlisten = \"{}\"\n[gateway]\nmode = \"gateway\"\n", free_address());
    let mut daemon = Daemon::start(&settings, &[]);
    assert!(daemon.tools().contains("tool_browse"));
    daemon.change("mode = \"gateway\"", "mode = \"proxy\"");
    until("the daemon has begun anew", || daemon.log().contains("the daemon restarts"));
    until("it listens again", || daemon.listens());
    assert!(daemon.tools().contains("good__people"), "{}", daemon.log());
    assert!(daemon.log().contains("restarts: gateway.mode"), "{}", daemon.log());
    // One that cannot be used is told, and changes nothing.
    daemon.change("mode = \"proxy\"", "mode = \"prxy\"");
    until("it is told", || daemon.log().contains("the old one stays in force"));
    assert!(daemon.tools().contains("good__people"));
    daemon.change("mode = \"prxy\"", "mode = \"gateway\"");
    until("it is mended", || daemon.log().matches("the daemon restarts").count() == 2);
    until("it shows its own tools", || daemon.listens() && daemon.tools().contains("tool_browse"));
    assert!(daemon.child.try_wait().unwrap().is_none(), "it is the same process");
}

/// What would keep the next daemon from starting is found before this one lets go of its clients.
#[test]
fn a_configuration_under_which_no_daemon_could_start_changes_nothing() {
    let (own, occupied) = (free_address(), TcpListener::bind("127.0.0.1:0").unwrap());
    let occupied = occupied.local_addr().map(|address| (address.to_string(), occupied)).unwrap();
    let mut daemon = Daemon::start(&format!("[http]\nlisten = \"{own}\"\n"), &[]);
    daemon.change(&own, &occupied.0);
    until("the address is named", || {
        daemon.log().contains(&format!("the old one stays in force: {}", occupied.0))
    });
    assert!(daemon.tools().contains("tool_browse"));
    daemon.change(&occupied.0, &own);
    let cert = "listen = \"127.0.0.1:0\"\ncert = \"no.pem\"\nkey = \"no.pem\"";
    daemon.change(&format!("listen = \"{own}\""), cert);
    until("the certificate is named", || daemon.log().contains("no.pem"));
    assert!(daemon.tools().contains("tool_browse"));
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
}

/// Neither a client that is there, nor one that comes, ends the daemon under such a configuration.
#[test]
fn a_client_that_comes_under_an_unusable_configuration_is_told_and_ends_nothing() {
    let mut daemon = Daemon::start(&format!("[http]\nlisten = \"{}\"\n", free_address()), &[]);
    let mut first = daemon.web.client();
    daemon.change("id = \"owner\"", "id = \"nobody\"");
    let mut second = Client::start_as(daemon.serve());
    let refused = second.request("initialize", crate::client::initialize());
    let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(message.contains("cannot be used") && message.contains("`nobody`"), "{message}");
    until("it is told", || daemon.log().contains("the old one stays in force"));
    assert!(!first.execute("good.people", json!({})).0, "{}", daemon.log());
    assert!(daemon.tools().contains("tool_browse"));
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
    second.end();
    first.finish();
}

#[test]
fn a_changed_configuration_that_a_client_finds_first_is_taken_over_by_the_same_process() {
    let mut daemon = Daemon::start(&format!("[http]\nlisten = \"{}\"\n", free_address()), &[]);
    for (from, to) in [("gateway", "proxy"), ("proxy", "gateway"), ("gateway", "proxy")] {
        let mode = |mode: &str| format!("[gateway]\nmode = \"{mode}\"\n");
        let text = fs::read_to_string(daemon.web.folder().path("weaver.toml")).unwrap();
        let text = text.replace(&mode(from), "");
        daemon.web.folder().write("weaver.toml", &format!("{}{text}", mode(to)));
        let mut client = daemon.web.client();
        let tools = json!(client.tools()).to_string();
        assert_eq!(tools.contains("good__people"), to == "proxy", "{tools}");
        client.finish();
        assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
    }
    until("it listens again", || daemon.listens());
    assert!(daemon.tools().contains("good__people"));
}

/// The documents are no part of the configuration, which may become usable through them.
#[test]
fn an_unusable_configuration_comes_into_force_once_the_documents_fit_it() {
    let mut daemon = Daemon::start(&format!("[http]\nlisten = \"{}\"\n", free_address()), &[]);
    daemon.change("id = \"owner\"", "id = \"operator\"");
    until("it is told", || daemon.log().contains("the old one stays in force"));
    let principals = "[principals.owner]\n[principals.operator]\n";
    crate::client::replace(daemon.web.folder(), "policy", 2, principals);
    until("it comes into force", || daemon.log().contains("the daemon restarts"));
    assert_eq!(daemon.log().matches("`operator`").count(), 1, "told once: {}", daemon.log());
    until("it is there again", || daemon.listens());
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
}

#[test]
fn a_signal_has_the_configuration_read_again() {
    let settings = format!("[http]\nlisten = \"{}\"\n", free_address());
    let mut daemon = Daemon::start(&settings, &[]);
    let pid = daemon.child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    until("it has begun anew", || daemon.log().contains("told to read the configuration again"));
    until("it is there again", || daemon.web.weaver(&["status", "--json"]).code == 0);
    assert!(daemon.tools().contains("tool_browse"));
    assert!(daemon.child.try_wait().unwrap().is_none(), "{}", daemon.log());
}

/// An address on the command line takes the place of the configured one, and of nothing else.
#[test]
fn an_address_on_the_command_line_leaves_the_other_settings_in_force() {
    let (configured, given) = (free_address(), free_address());
    let settings = format!(
        "[http]\nlisten = \"{configured}\"\nhosts = [\"gate.example\"]\nanonymous = true\n"
    );
    let daemon = Daemon::start(&settings, &["--http", &given]);
    let status = daemon.web.weaver(&["status", "--json"]).json();
    assert_eq!(status["http"], json!(given), "{status}");
    let ping = request(1, "ping", json!({})).to_string();
    let headers = [("host", "gate.example"), ("content-type", "application/json")];
    let answer = daemon.web.send("POST", "/mcp", &headers, &ping);
    // Its host is known, and it needs no token: what is missing is a session.
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.body.contains("initialize"), "{answer:?}");
    let other = [("host", "other.example"), headers[1]];
    assert_eq!(daemon.web.send("POST", "/mcp", &other, &ping).status, 403);
}

/// A folder whose log has a key, with this said of its passphrase.
pub(crate) fn signing(passphrase: &str) -> Folder {
    let settings = format!("[log]\nkey = \"log.key\"\n{passphrase}\n");
    let folder = folder(&[("good", "good")], &settings, "");
    folder.write("phrase", "a passphrase\n");
    let words = ["keys", "new", "--out", &folder.arg("log.key"), "--id", "log"];
    let mut made = Command::new("sh");
    made.args(["-c", "exec \"$0\" \"$@\" --passphrase-fd 3 3<\"$PHRASE\""]);
    made.arg(env!("CARGO_BIN_EXE_weaver")).args(words).env("PHRASE", folder.path("phrase"));
    assert!(made.output().unwrap().status.success());
    folder
}

/// Nobody hands a passphrase to a daemon that a client or a service manager starts.
#[test]
fn the_passphrase_of_the_log_comes_from_where_the_configuration_says() {
    for source in ["{ file = \"phrase\" }", "{ command = [\"cat\", \"phrase\"] }"] {
        let folder = signing(&format!("passphrase = {source}"));
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder.path("phrase"), fs::Permissions::from_mode(0o600)).unwrap();
        let config = folder.arg("weaver.toml");
        let mut command = shim(&folder, &[]);
        command.current_dir(folder.path(""));
        let mut client = Client::start_as(command).shaken();
        let (failed, body) = client.execute("good.people", json!({}));
        assert!(!failed, "{body}");
        assert_eq!(weaver(&["restart", "--config", &config]).code, 0);
        assert!(!client.execute("good.people", json!({})).0);
        client.finish();
        assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
        let said =
            weaver(&["trace", "verify", "--store", &folder.arg(".weaver/ledger.db"), "--json"]);
        assert_eq!(said.code, 0, "{said:?}");
    }
}

#[test]
fn what_could_not_open_the_log_is_neither_installed_nor_restarted() {
    let folder = signing("");
    let config = folder.arg("weaver.toml");
    for words in
        [&["service", "install", "--config", &config][..], &["restart", "--config", &config]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
        let said = command.args(words).env("HOME", folder.path("home")).output().unwrap();
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success(), "{words:?}");
        assert!(text.contains("needs its passphrase") && text.contains("passphrase ="), "{text}");
    }
    assert!(!folder.path("home").exists(), "nothing was written");
}

/// Neither what a check of the files finds, nor what only the start itself shows, leaves clients
/// without a gateway.
#[test]
fn a_configuration_under_which_the_next_daemon_fails_leaves_the_old_one_in_force() {
    let http = format!("[http]\nlisten = \"{}\"\n", free_address());
    let folder = signing("");
    let plain = fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let plain = plain.replace("[log]\nkey = \"log.key\"\n", &http);
    folder.write("weaver.toml", &plain);
    let child = run(&folder, &[]);
    until("it is ready", || folder.weaver(&["status", "--json"]).code == 0);
    let mut daemon = Daemon { web: Web::of_running(folder, None), child };
    let file = daemon.web.folder().path("weaver.toml");
    for (settings, named) in [
        ("[log]\nkey = \"none.key\"\n", "none.key"),
        ("[log]\nkey = \"log.key\"\n", "needs its passphrase"),
        ("[log]\nkey = \"log.key\"\npassphrase = { command = [\"false\"] }\n", "command failed"),
        ("[memory]\nfile = \"weaver.toml/memory.db\"\n", "weaver.toml is a file"),
        ("[store]\ninbox = \"weaver.toml/inbox\"\n", "weaver.toml is a file"),
    ] {
        fs::write(&file, format!("{settings}{plain}")).unwrap();
        until(settings, || {
            let log = daemon.log();
            let line = log.lines().rfind(|line| line.contains("the old one stays in force"));
            line.is_some_and(|line| line.contains(named))
        });
        until("it listens", || daemon.listens());
        assert!(daemon.tools().contains("tool_browse"), "{settings}");
        assert!(daemon.child.try_wait().unwrap().is_none(), "{settings}: {}", daemon.log());
    }
    fs::write(&file, format!("[memory]\nfile = \"new/memory.db\"\n{plain}")).unwrap();
    until("a usable one comes into force", || daemon.web.folder().path("new/memory.db").exists());
}

#[test]
fn nobody_is_refused_while_a_daemon_restarts() {
    let address = free_address();
    let daemon = Daemon::start("", &["--http", &address]);
    assert!(daemon.tools().contains("tool_browse"));
    let over = AtomicBool::new(false);
    let (tries, refused) = std::thread::scope(|scope| {
        let counts = scope.spawn(|| {
            let (mut tries, mut refused) = (0, 0);
            while !over.load(Ordering::SeqCst) {
                tries += 1;
                refused += u32::from(TcpStream::connect(&address).is_err());
                std::thread::sleep(Duration::from_millis(5));
            }
            (tries, refused)
        });
        for _ in 0..2 {
            let restarted = weaver(&["restart", "--config", &daemon.web.config()]);
            assert_eq!(restarted.code, 0, "{restarted:?}");
        }
        over.store(true, Ordering::SeqCst);
        counts.join().unwrap()
    });
    assert_eq!(refused, 0, "of {tries}");
    assert!(daemon.tools().contains("tool_browse"), "{}", daemon.log());
}

/// Who restarts a daemon wants the same one, and none is stopped that could not be replaced.
#[test]
fn a_restarted_daemon_has_the_options_of_the_one_before_it() {
    let address = free_address();
    let mut daemon = Daemon::start("", &["--http", &address, "--log-format", "json"]);
    let config = daemon.web.config();
    crate::client::replace(daemon.web.folder(), "keys", 1, "[approvers]\n");
    let refused = weaver(&["restart", "--config", &config]);
    assert!(refused.code != 0 && refused.err.contains("raise `version`"), "{refused:?}");
    assert!(daemon.tools().contains("tool_browse"));
    let doctor = weaver(&["doctor", "--config", &config]);
    assert!(doctor.code != 0 && doctor.out.contains("other content"), "{doctor:?}");
    until("the status says so", || {
        let status = weaver(&["status", "--config", &config, "--json"]).json();
        status["refused_documents"].as_str().is_some_and(|why| why.contains("other content"))
    });
    let shown = weaver(&["status", "--config", &config]).out;
    assert!(shown.contains("keys version 1") && shown.contains("are refused"), "{shown}");
    crate::client::replace(daemon.web.folder(), "keys", 2, "");
    let restarted = weaver(&["restart", "--config", &config]);
    assert_eq!(restarted.code, 0, "{restarted:?}");
    assert!(daemon.child.try_wait().unwrap().is_none(), "whoever started it still has it");
    assert!(daemon.tools().contains("tool_browse"));
    let given = weaver(&["restart", "--config", &config, "--log-format", "text"]);
    assert!(given.code != 0 && given.err.contains("who started it"), "{given:?}");
    let status = weaver(&["status", "--config", &config, "--json"]).json();
    assert_eq!(status["http"], json!(address), "{status}");
    let log = daemon.log();
    assert!(log.contains("told to restart"), "{log}");
    assert!(log.lines().all(|line| line.starts_with('{')), "{log}");
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
}

/// What a command line needs the store for takes moments, and ends no daemon.
#[test]
fn a_daemon_that_lent_its_store_is_there_again() {
    let address = free_address();
    let mut daemon = Daemon::start(&format!("[http]\nlisten = \"{address}\"\n"), &[]);
    let store = daemon.web.folder().arg(".weaver/ledger.db");
    let mut client = daemon.web.client();
    for loan in 1..=3 {
        assert!(!client.execute("good.people", json!({})).0, "{}", daemon.log());
        let pruned = weaver(&["trace", "prune", "--store", &store, "--older-than", "90d"]);
        assert_eq!(pruned.code, 0, "{pruned:?}");
        until("it listens again", || daemon.listens());
        assert!(daemon.tools().contains("tool_browse"), "{loan}: {}", daemon.log());
        assert!(daemon.child.try_wait().unwrap().is_none(), "{loan}: {}", daemon.log());
    }
    client.finish();
    let pid = daemon.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(daemon.child.wait().unwrap().success());
}

/// The next restart would end the service: that is to be known before it.
#[test]
fn a_configuration_that_cannot_be_used_is_told_by_metrics_readiness_status_and_doctor() {
    let daemon = Daemon::start(&format!("[http]\nlisten = \"{}\"\n", free_address()), &[]);
    let refused = |number: u8| {
        let line = format!("weaver_configuration_refused {number}");
        daemon.web.get("/metrics").lines().any(|told| told == line)
    };
    assert!(refused(0));
    let config = daemon.web.config();
    let whole = fs::read_to_string(daemon.web.folder().path("weaver.toml")).unwrap();
    for broken in ["[gateway\n", "\n[gatway]\nmode = \"proxy\"\n"] {
        daemon.web.folder().write("weaver.toml", &format!("{whole}{broken}"));
        until("the gauge", || refused(1));
        let ready = daemon.web.look("/readyz");
        assert_eq!(ready.status, 200, "{ready:?}");
        assert!(ready.body.contains("the configuration on disk is refused"), "{ready:?}");
        let status = weaver(&["status", "--config", &config]);
        assert_eq!(status.code, 0, "{status:?}");
        assert!(status.out.contains("the configuration on disk is refused"), "{status:?}");
        assert!(status.out.contains("good: ready"), "the daemon is shown: {status:?}");
        let status = weaver(&["status", "--config", &config, "--json"]).json();
        assert!(status["refused_configuration"].is_string(), "{status}");
        let doctor = weaver(&["doctor", "--config", &config]);
        assert_eq!(doctor.code, 1, "{doctor:?}");
        for word in ["weaver.toml:", "process ", "would not start again", "server good"] {
            assert!(doctor.out.contains(word), "{word}: {doctor:?}");
        }
    }
    daemon.web.folder().write("weaver.toml", &whole);
    until("it is as it was", || refused(0));
    assert_eq!(daemon.web.get("/readyz"), "ready\n");
}

/// Another daemon's status is not shown for a file that cannot be read.
#[test]
fn the_status_of_another_configuration_is_not_shown_for_a_broken_one() {
    let daemon = Daemon::start(&format!("[http]\nlisten = \"{}\"\n", free_address()), &[]);
    daemon.web.folder().write("other.toml", "[gateway\n");
    let status = weaver(&["status", "--config", &daemon.web.folder().arg("other.toml")]);
    assert!(status.code != 0 && status.out.is_empty(), "{status:?}");
}

/// The tamper evidence of the whole log can stop without anything else going wrong.
#[test]
fn checkpoints_that_do_not_arrive_are_told_by_metrics() {
    let publish = "[{ file = \"checkpoints/latest.txt\" }, { command = [\"false\"] }]";
    let passphrase = "passphrase = { command = [\"cat\", \"phrase\"] }";
    let http = "[http]\nlisten = \"127.0.0.1:0\"";
    let folder = signing(&format!("{passphrase}\nevery_seconds = 1\npublish = {publish}\n{http}"));
    let mut command = shim(&folder, &[]);
    command.current_dir(folder.path(""));
    let shim = Client::start_as(command).shaken();
    let web = Web::of_running(folder, Some(shim));
    let value = |series: &str| -> Option<u64> {
        let metrics = web.get("/metrics");
        let mut lines = metrics.lines();
        lines.find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    };
    let failures = "weaver_checkpoint_failures_total{stage=\"publish\"}";
    until("a failure", || value(failures).is_some_and(|count| count > 0));
    until("a failing target", || value("weaver_checkpoint_failing_targets") == Some(1));
    assert_eq!(value("weaver_checkpoint_failures_total{stage=\"sign\"}"), Some(0));
    assert!(value("weaver_checkpoint_age_seconds{stage=\"sign\"}").is_some());
    let published = value("weaver_checkpoint_age_seconds{stage=\"publish\"}");
    assert_eq!(published, None, "one of the targets never got any");
    assert!(value("weaver_store_bytes{file=\"ledger\"}").is_some_and(|bytes| bytes > 0));
    assert!(value("weaver_store_free_bytes").is_some_and(|bytes| bytes > 0));
    assert!(web.folder().path("checkpoints/latest.txt").is_file(), "its folder is made");
}
