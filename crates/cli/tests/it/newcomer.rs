//! Somebody new: a home with clients' configurations, then `init`, `connect`, a first call, and back.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{SECRET, VARIABLE};
use crate::support::Run;

/// Far beyond what anything here takes.
const LONG: Duration = Duration::from_secs(90);

/// A user's home, and nothing of the real one.
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { dir: TempDir::new().unwrap() };
        fs::create_dir_all(home.path("work")).unwrap();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command with the bare environment of a desktop client.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.dir.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.path("work"));
        command
    }

    pub(crate) fn weaver(&self, args: &[&str]) -> Run {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_weaver")));
        Run::new(command.args(args).stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn ok(&self, args: &[&str]) -> Run {
        let run = self.weaver(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path(".config/weaver/weaver.toml")
    }

    /// Cursor with two servers, one of them with a secret.
    pub(crate) fn with_cursor(&self) -> String {
        let text = format!(
            "{{\n  // mine\n  \"mcpServers\": {{\n    \"Good Files\": {},\n    \"steps\": {}\n  }}\n}}\n",
            server("good", json!({ "API_TOKEN": SECRET })),
            server("steps", json!({})),
        );
        self.write(".cursor/mcp.json", &text);
        text
    }
}

/// An entry that starts the fixture.
pub(crate) fn server(behaviour: &str, mut env: Value) -> Value {
    env[VARIABLE] = behaviour.into();
    json!({
        "command": std::env::current_exe().unwrap().to_str().unwrap(),
        "args": ["--exact", "fixture::fixture_main", "--nocapture"],
        "env": env,
    })
}

/// A client that starts the entry of its configuration.
pub(crate) struct Client {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    next: u64,
}

impl Client {
    /// Starts the server of this entry, as a desktop client does.
    pub(crate) fn start(home: &Home, entry: &Value) -> Self {
        let mut command = home.command(Path::new(entry["command"].as_str().unwrap()));
        let args = entry["args"].as_array().unwrap().iter();
        command.args(args.map(|arg| arg.as_str().unwrap())).current_dir("/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut client = Self { child, lines, next: 1 };
        client.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "cursor", "version": "1" } }),
        );
        client.put(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn put(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.put(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let line = self.lines.next().expect("the gateway answers").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn three_commands_lead_to_a_governed_call_and_one_leads_back() {
    let home = Home::new();
    let before = home.with_cursor();
    let started = Instant::now();
    let init = home.ok(&["init", "--yes"]);
    assert!(init.out.contains("good-files") && init.out.contains("ready"), "{init:?}");
    assert!(init.out.contains("passphrase"), "{init:?}");
    home.ok(&["check", "--config", home.config().to_str().unwrap()]);
    home.ok(&["connect"]);
    let config: Value =
        serde_json::from_str(&without_comments(&home.read(".cursor/mcp.json"))).unwrap();
    let servers = config["mcpServers"].as_object().unwrap();
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["weaver"]);
    let mut client = Client::start(&home, &servers["weaver"]);
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"good-files__note"), "{names:?}");
    let result = client.call("good-files__note", json!({ "text": "hello" }));
    assert_ne!(result["isError"], true, "{result}");
    let held = client.call("steps__send", json!({ "to": "bob@example.org", "text": "hi" }));
    assert_eq!(held["isError"], true, "{held}");
    let status = home.ok(&["connect", "--status", "--wait", "30", "--json"]).json();
    assert_eq!(status["first_call"]["capability"], "good-files.note", "{status}");
    assert_eq!(status["clients"][0]["state"], "connected");
    assert!(started.elapsed() < LONG);
    let today = home.ok(&["trace"]);
    assert!(today.out.contains("good-files.note") && today.out.contains("held"), "{today:?}");
    let calls = today.out.lines().filter(|line| line.contains("call_") && !line.contains("next:"));
    let columns: Vec<_> = calls.map(|line| line.find("call_")).collect();
    assert!(columns.len() == 2 && columns[0] == columns[1], "the ids are in one column: {today:?}");
    let call = status["first_call"]["call"].as_str().unwrap();
    let proof = home.weaver(&["trace", "prove", call, "--key", "none.key"]);
    assert!(proof.err.contains("none.key: there is no such file"), "{proof:?}");
    let alone = home.ok(&[]);
    for part in ["good-files, steps", "Cursor", "1 for a person", "weaver approve list", "verified"]
    {
        assert!(alone.out.contains(part), "{part}: {alone:?}");
    }
    drop(client);
    home.ok(&["disconnect"]);
    assert_eq!(home.read(".cursor/mcp.json"), before);
}

/// The text without its comment lines, which strict JSON does not know.
pub(crate) fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_secret_is_kept_apart_and_reaches_its_server_alone() {
    let home = Home::new();
    home.with_cursor();
    let run = home.ok(&["init", "--yes", "--json"]);
    assert_eq!(run.json()["secrets"], json!(["API_TOKEN"]));
    assert!(!run.out.contains(SECRET) && !run.err.contains(SECRET), "{run:?}");
    let config = fs::read_to_string(home.config()).unwrap();
    assert!(
        config.contains("API_TOKEN = \"${API_TOKEN}\"") && !config.contains(SECRET),
        "{config}"
    );
    assert!(home.read(".config/weaver/.weaver/secrets.env").contains(SECRET));
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |name: &str| home.path(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(".config/weaver"), 0o700);
        assert_eq!(mode(".config/weaver/.weaver/secrets.env"), 0o600);
        assert_eq!(mode(".config/weaver/.weaver/keys/root.key"), 0o600);
    }
    let dry = home.ok(&["connect", "--dry-run"]);
    assert!(dry.out.contains("-      ") || dry.out.contains("-    "), "{dry:?}");
    assert!(!dry.out.contains(SECRET), "{dry:?}");
    assert!(home.read(".cursor/mcp.json").contains(SECRET), "a dry run changes nothing");
    let left = Home::new();
    left.with_cursor();
    let run = left.ok(&["init", "--yes", "--json", "--leave-secrets"]).json();
    assert_eq!(run["servers"].as_array().unwrap().len(), 1, "{run}");
    assert_eq!(run["left_out"][0]["name"], "Good Files", "{run}");
}

#[test]
fn answers_and_postures_decide_what_is_allowed() {
    let home = Home::new();
    home.with_cursor();
    let review = home.ok(&["init", "--json"]).json();
    assert!(!home.config().exists(), "a review alone writes nothing");
    assert!(!home.path(".config/.weaver-setup").exists());
    let permission = |run: &Value, id: &str| {
        let tools = run["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["id"] == id).unwrap()["permission"].clone()
    };
    assert_eq!(permission(&review, "good-files.note"), "allow");
    assert_eq!(permission(&review, "steps.send"), "ask");
    home.write("answers.json", r#"{"posture": "locked", "tools": {"good-files.echo": "allow", "steps.slow": "deny"}, "leave": []}"#);
    let answers = home.path("answers.json");
    let run = home.ok(&["init", "--answers", answers.to_str().unwrap(), "--json"]).json();
    assert_eq!(permission(&run, "good-files.echo"), "allow");
    assert_eq!(permission(&run, "good-files.note"), "ask");
    assert_eq!(permission(&run, "steps.slow"), "deny");
    home.ok(&["connect"]);
    let config: Value =
        serde_json::from_str(&without_comments(&home.read(".cursor/mcp.json"))).unwrap();
    let mut client = Client::start(&home, &config["mcpServers"]["weaver"]);
    assert_ne!(client.call("good-files__echo", json!({ "text": "x" }))["isError"], true);
    let verdict = |result: &Value| {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        serde_json::from_str::<Value>(text).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict(&client.call("good-files__note", json!({ "text": "x" }))), "hold");
    assert_eq!(verdict(&client.call("steps__slow", json!({ "text": "x" }))), "deny");
}

#[test]
fn wrong_answers_are_told_and_nothing_is_written() {
    for (answers, part) in [
        ("{", "EOF"),
        ("[]", "not a JSON object"),
        (r#"{"posture": "lax"}"#, "not a posture"),
        (r#"{"toolz": {}}"#, "unknown field"),
        (
            r#"{"tools": {"good-files.echo": "maybe"}}"#,
            "none of allow, ask, deny, reads, fetches, writes",
        ),
        (r#"{"tools": {"nobody.echo": "allow"}}"#, "no server lists"),
        (r#"{"tools": {"steps.send": "allow"}}"#, "takes something out"),
    ] {
        let home = Home::new();
        home.with_cursor();
        home.write("answers.json", answers);
        let run = home.weaver(&["init", "--answers", home.path("answers.json").to_str().unwrap()]);
        assert!(
            run.code != 0 && run.err.contains(part) && run.err.contains("next:"),
            "{answers}: {run:?}"
        );
        assert!(
            !home.config().exists() && !home.path(".config/.weaver-setup").exists(),
            "{answers}"
        );
    }
}

#[test]
fn what_stands_in_the_way_is_told_with_the_next_step() {
    let home = Home::new();
    let run = home.weaver(&["init", "--yes"]);
    assert!(
        run.code == 7 && run.err.contains("no MCP server was found") && run.err.contains("--from"),
        "{run:?}"
    );
    let run = home.weaver(&["init"]);
    assert!(run.code == 2 && run.err.contains("--yes"), "{run:?}");
    let run = home.weaver(&["connect"]);
    assert!(run.code == 3 && run.err.contains("weaver init"), "{run:?}");
    let run = home.ok(&[]);
    assert!(run.out.contains("not set up") && run.out.contains("weaver init"), "{run:?}");
    home.write(".config/weaver/mine.txt", "mine");
    home.with_cursor();
    let run = home.weaver(&["init", "--yes"]);
    assert!(
        run.code == 3 && run.err.contains("holds other files") && run.err.contains("--dir"),
        "{run:?}"
    );
    assert_eq!(home.read(".config/weaver/mine.txt"), "mine");
    fs::remove_file(home.path(".config/weaver/mine.txt")).unwrap();
    home.write(
        ".cursor/mcp.json",
        &format!("{{\"mcpServers\": {{\"dead\": {}}}}}", server("dead", json!({}))),
    );
    let run = home.weaver(&["init", "--yes"]);
    assert!(run.code == 5 && run.err.contains("dead") && run.err.contains("next:"), "{run:?}");
    assert!(!home.config().exists());
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"absent\": {\"command\": \"no-such-program\"}}}",
    );
    let run = home.weaver(&["init", "--yes"]);
    assert!(run.code == 7 && run.err.contains("not found in PATH"), "{run:?}");
    // A broken client hides no other.
    home.write(".gemini/settings.json", "{\n\"mcpServers\": {");
    home.with_cursor();
    let run = home.ok(&["init", "--yes"]);
    assert!(run.err.contains("settings.json:2") && run.err.contains("passed over"), "{run:?}");
    let run = home.weaver(&["connect", "gemini"]);
    assert!(run.code == 3 && run.err.contains("settings.json:2"), "{run:?}");
    let run = home.weaver(&["connect", "cursr"]);
    assert!(run.code == 7 && run.err.contains("did you mean `cursor`"), "{run:?}");
}

#[test]
fn a_server_that_does_not_start_stays_in_its_client() {
    let home = Home::new();
    let text = format!(
        "{{\"mcpServers\": {{\"dead\": {}, \"good\": {}}}}}",
        server("dead", json!({ "API_TOKEN": SECRET })),
        server("good", json!({}))
    );
    home.write(".cursor/mcp.json", &text);
    let other = home.path("other");
    let told = home.ok(&["init", "--yes", "--dir", other.to_str().unwrap()]).out;
    let end = told.split("ready: ").nth(1).unwrap();
    assert!(end.contains("dead did not start") && end.contains("weaver update\n"), "{told}");
    assert!(!end.contains("--timeout"), "a server that ends at once needs no more time: {told}");
    let run = home.ok(&["init", "--yes", "--json"]);
    let report = run.json();
    assert_eq!(report["servers"][0]["name"], "good", "{report}");
    assert!(
        report["left_out"][0]["reason"].as_str().unwrap().contains("did not start"),
        "{report}"
    );
    assert!(!run.out.contains(SECRET) && !run.err.contains(SECRET));
    let connect = home.ok(&["connect"]);
    assert!(connect.out.contains("stays without Weaver: dead"), "{connect:?}");
    let config: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    assert_eq!(
        config["mcpServers"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["dead", "weaver"]
    );
}

#[test]
fn running_it_again_takes_in_what_is_new_and_overwrites_nothing() {
    let home = Home::new();
    home.with_cursor();
    let init = home.ok(&["init", "--yes", "--json"]).json();
    let passphrase = init["passphrase"].as_str().unwrap().to_owned();
    let policy = home.read(".config/weaver/policy/policy.toml");
    let config = fs::read_to_string(home.config()).unwrap();
    let contracts = home.read(".config/weaver/policy/contracts.toml");
    let run = home.ok(&["init", "--yes"]);
    assert!(run.out.contains("nothing new"), "{run:?}");
    home.write(
        ".codeium/windsurf/mcp_config.json",
        &format!(
            "{{\"mcpServers\": {{\"names\": {}}}}}",
            server("names", json!({ "OTHER_TOKEN": "another-secret" }))
        ),
    );
    let run = home.weaver(&["update", "--yes", "--passphrase-fd", "9"]);
    assert_eq!(run.code, 6, "{run:?}");
    assert_eq!(fs::read_to_string(home.config()).unwrap(), config);
    home.write("pass", &passphrase);
    let mut command = home.command(Path::new("/bin/sh"));
    let line = format!(
        "exec '{}' update --yes --json --passphrase-fd 3 3< ../pass",
        env!("CARGO_BIN_EXE_weaver")
    );
    let run = Run::new(command.args(["-c", &line]).output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["servers"], json!(["names"]));
    let after = fs::read_to_string(home.config()).unwrap();
    assert!(after.starts_with(&config) && after.contains("[mcpServers.names]"), "{after}");
    assert_eq!(home.read(".config/weaver/policy/policy.toml"), policy);
    let grown = home.read(".config/weaver/policy/contracts.toml");
    assert!(grown.starts_with(&contracts.replace("\nversion = 1\n", "\nversion = 2\n")), "{grown}");
    assert!(grown.contains("[capabilities.\"names.getUser\"]"), "{grown}");
    assert!(home.read(".config/weaver/.weaver/secrets.env").contains("another-secret"));
    home.ok(&["check"]);
    home.ok(&["connect"]);
    let left: Vec<PathBuf> = fs::read_dir(home.path(".config/weaver"))
        .unwrap()
        .flatten()
        .map(|one| one.path())
        .collect();
    assert_eq!(left.len(), 4, "weaver.toml, its schema, policy, .weaver: {left:?}");
}

/// The commands of the guide, as they stand there; only what is asked on a terminal is answered.
#[test]
fn the_three_commands_of_the_guide_work_as_they_stand() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/getting-started.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once("## Three commands").unwrap();
    let (section, _) = rest.split_once("\n## ").unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    let home = Home::new();
    home.with_cursor();
    let mut client = None;
    for line in lines {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().skip(1).collect();
        if words.first() == Some(&"init") {
            home.ok(&["init", "--yes"]);
            continue;
        }
        if words.contains(&"--status") {
            let text = without_comments(&home.read(".cursor/mcp.json"));
            let config: Value = serde_json::from_str(&text).unwrap();
            let mut started = Client::start(&home, &config["mcpServers"]["weaver"]);
            started.call("good-files__note", json!({ "text": "hello" }));
            client = Some(started);
        }
        home.ok(&words);
    }
    assert!(client.is_some());
}
