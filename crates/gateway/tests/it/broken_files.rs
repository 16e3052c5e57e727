//! Files that are broken in many ways: each error names the file, the line where there is one, the
//! cause and the next step, and the file stays as it was.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use weaver_gateway::clients::{Client, ClientFile, ClientFileError, ClientFolders, ConnectedFiles};
use weaver_gateway::config;
use weaver_types::Timestamp;

/// A broken file of a client: its text, the line of the fault, and words of the cause.
struct Broken {
    client: &'static str,
    text: &'static str,
    line: usize,
    cause: &'static str,
}

const fn broken(
    client: &'static str,
    text: &'static str,
    line: usize,
    cause: &'static str,
) -> Broken {
    Broken { client, text, line, cause }
}

const CLIENT_FILES: [Broken; 39] = [
    broken("cursor", "{", 1, "this `{` has no `}`"),
    broken("cursor", "{\n\"mcpServers\"", 2, "colon is missing"),
    broken("cursor", "{\n\"mcpServers\":", 2, "the file ends"),
    broken("cursor", "{\n\"mcpServers\": {},\n", 1, "this `{` has no `}`"),
    broken(
        "cursor",
        "{\n\"mcpServers\": {\n\"x\": {\"command\": \"a\",}\n",
        2,
        "this `{` has no `}`",
    ),
    broken("cursor", "{\"a\": 1}\n{}", 2, "after the end"),
    broken("cursor", "{\"a\": 1 \"b\": 2}", 1, "comma is missing"),
    broken("cursor", "{\"a\": [1 2]}", 1, "comma is missing"),
    broken("cursor", "{\"a\": [1,\n2", 1, "this `[` has no `]`"),
    broken("cursor", "{\"a\": \"x}\n", 1, "no closing quote"),
    broken("cursor", "{\"a\": \"x\ny\"}", 1, "no closing quote"),
    broken("cursor", "{\"a\": \"\\q\"}", 1, "escape"),
    broken("cursor", "{a: 1}", 1, "name in double quotes"),
    broken("cursor", "{'a': 1}", 1, "name in double quotes"),
    broken("cursor", "{\"a\": tru}", 1, "not a JSON value"),
    broken("cursor", "{\"a\": 01}", 1, "not a JSON value"),
    broken("cursor", "{\"a\": undefined}", 1, "not a JSON value"),
    broken("cursor", "{\n\"a\": 1,\n\"a\": 2}", 3, "twice"),
    broken("cursor", "{\"mcpServers\": {\"x\": {}, \n\"x\": {}}}", 2, "twice"),
    broken("cursor", "{ /* never ends", 1, "comment"),
    broken("cursor", "mcpServers: {}", 1, "not a JSON value"),
    broken("cursor", "[]", 1, "not a JSON object"),
    broken("cursor", "null x", 1, "after the end"),
    broken("cursor", "{\n\"mcpServers\": []}", 2, "not a JSON object"),
    broken("cursor", "{\n\"mcpServers\": \"x\"}", 2, "not a JSON object"),
    broken("cursor", "{\"a\": ]}", 1, "not a JSON value"),
    broken("vscode", "{\n// a\n\"servers\": 1}", 3, "not a JSON object"),
    broken("opencode", "{\"mcp\": {\"x\": {\"type\": \"local\",,}}}", 1, "name in double quotes"),
    broken("codex", "[mcp_servers.x\ncommand = 1", 1, "not TOML"),
    broken("codex", "a = 1\n[mcp_servers.x]\ncommand = \"x", 3, "not TOML"),
    broken("codex", "[mcp_servers.x]\ncommand = \"a\"\ncommand = \"b\"", 3, "not TOML"),
    broken("codex", "[mcp_servers.x]\n[mcp_servers.x]", 2, "not TOML"),
    broken("codex", "= 1", 1, "not TOML"),
    broken("codex", "a = [1,\n2", 2, "not TOML"),
    broken("codex", "\nmcp_servers = 3", 2, "not a table"),
    broken("goose", "extensions:\n  a: [1\nb: 2", 3, "not YAML"),
    broken("goose", "a: 1\na: 2", 2, "not YAML"),
    broken("goose", "a: 1\nextensions: {x: {cmd: y}}", 2, "on one line"),
    broken("goose", "a: 1\nextensions:\n- x\n", 3, "not a mapping"),
];

fn read(dir: &Path, broken: &Broken) -> Result<ClientFile, ClientFileError> {
    let client = Client::by_id(broken.client).unwrap();
    let folders = ClientFolders::under(dir, &dir.join("project"));
    let path = client.locations[0].file(&folders);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, broken.text).unwrap();
    let read = ClientFile::read(client, &client.locations[0], &folders);
    assert_eq!(fs::read_to_string(&path).unwrap(), broken.text);
    read
}

#[test]
fn a_clients_broken_file_is_told_with_its_place() {
    let mut wrong = Vec::new();
    for broken in &CLIENT_FILES {
        let dir = TempDir::new().unwrap();
        let Err(error) = read(dir.path(), broken) else {
            wrong.push(format!("{:?} was read", broken.text));
            continue;
        };
        let finding = error.finding();
        let as_wanted = finding.file.starts_with(dir.path().to_str().unwrap())
            && finding.message.contains(broken.cause)
            && finding.line == Some(broken.line)
            && finding.column.is_some()
            && !finding.remedy.is_empty();
        if !as_wanted {
            wrong.push(format!("{:?}, line {}: {finding}", broken.text, broken.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An entry that cannot be taken over is told with its reason, and hides no other.
#[test]
fn an_unusable_entry_hides_no_other() {
    for (entry, reason) in [
        ("1", "not a table"),
        ("{}", "neither a command nor an address"),
        (r#"{"command": ""}"#, "empty"),
        (r#"{"command": []}"#, "empty"),
        (r#"{"command": 3}"#, "not text"),
        (r#"{"command": "x", "url": "http://x"}"#, "both"),
        (r#"{"command": "x", "args": "y"}"#, "`args` is not a list"),
        (r#"{"command": "x", "args": [1]}"#, "other than text"),
        (r#"{"command": "x", "env": []}"#, "`env` is not a table"),
        (r#"{"command": "x", "env": {"A": []}}"#, "`env.A` is not text"),
        (
            r#"{"command": "x", "env": {"A\n[http]": "x"}}"#,
            "the name `A\\n[http]` in `env` has control characters",
        ),
        (r#"{"command": "x", "env_vars": ["A\u0000"]}"#, "in `env_vars` has control characters"),
        (r#"{"command": "x", "env": {"A": "${input:a}"}}"#, "only the client"),
        (r#"{"command": "${workspaceFolder}/x"}"#, "folder that the client has open"),
        (r#"{"command": "x", "envFile": ".env"}"#, "envFile"),
        (r#"{"command": "x", "cwd": 1}"#, "`cwd` is not text"),
        (r#"{"command": "x", "disabled": "no"}"#, "neither true nor false"),
        (r#"{"command": {"args": []}}"#, "no path"),
        (r#"{"url": 1}"#, "not text"),
        (r#"{"url": "example.org"}"#, "http://"),
        (r#"{"type": "sse", "url": "https://x"}"#, "older HTTP and SSE"),
        (r#"{"url": "https://x", "headers": {"A": {}}}"#, "`headers.A` is not text"),
        (r#"{"command": "x", "env_keys": ["A"]}"#, "keychain"),
    ] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("mcp.json");
        fs::write(
            &path,
            format!(
                "{{\"mcpServers\": {{\n\"bad\": {entry},\n\"good\": {{\"command\": \"x\"}}}}}}"
            ),
        )
        .unwrap();
        let file = ClientFile::read_from(&path).unwrap();
        assert_eq!(file.servers[0].line, 2);
        let found = file.servers[0].entry.as_ref().unwrap_err();
        assert!(found.to_string().contains(reason), "{entry}: {found}");
        assert!(file.servers[1].entry.is_ok(), "{entry}");
    }
}

#[test]
fn other_files_that_cannot_be_used_are_told() {
    let dir = TempDir::new().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    for (path, code) in [
        (dir.path().join("absent.json"), "clients.unreadable"),
        (dir.path().to_owned(), "clients.unreadable"),
        (file("latin.json", b"{\"a\": \"\xe9\"}"), "clients.unreadable"),
        (file("none.json", b"{\"a\": 1}"), "clients.no_servers"),
        (file("empty.json", b""), "clients.no_servers"),
        (file("list.json", b"[]"), "clients.no_servers"),
        (file("none.toml", b"a = 1"), "clients.no_servers"),
        (file("none.yaml", b"a: 1"), "clients.no_servers"),
    ] {
        let error = ClientFile::read_from(&path).unwrap_err();
        assert_eq!(error.code(), code, "{}", path.display());
        assert_eq!(error.finding().file, path.display().to_string());
        assert!(!error.finding().remedy.is_empty());
    }
}

/// A connection whose record or backup was damaged is refused, and the client's file is untouched.
#[test]
fn damaged_records_of_connections_are_told() {
    for (end, text, code) in [
        ("json", "", "clients.record"),
        ("json", "{}", "clients.record"),
        ("json", "{\"v\": 2}", "clients.record"),
        ("json", "nonsense", "clients.record"),
        ("backup", "something else", "clients.backup_changed"),
    ] {
        let dir = TempDir::new().unwrap();
        let client = Client::by_id("cursor").unwrap();
        let folders = ClientFolders::under(dir.path(), dir.path());
        let connections = ConnectedFiles::new(
            dir.path().join("c"),
            "/opt/weaver".into(),
            "/etc/weaver.toml".into(),
        );
        let file = || ClientFile::read(client, &client.locations[0], &folders).unwrap();
        let plan = connections.plan(file(), &|_| true).unwrap();
        connections.connect(&plan, Timestamp::from_micros(1)).unwrap();
        let written = fs::read_to_string(&file().path).unwrap();
        for entry in fs::read_dir(dir.path().join("c")).unwrap().flatten() {
            if entry.path().extension().is_some_and(|found| found == end) {
                fs::write(entry.path(), text).unwrap();
            }
        }
        let error = match connections.all() {
            Err(error) => error,
            Ok(all) => all[0].undo(&file()).unwrap_err(),
        };
        assert_eq!(error.code(), code, "{text}");
        assert!(!error.finding().remedy.is_empty() && !error.finding().file.is_empty());
        assert_eq!(fs::read_to_string(&file().path).unwrap(), written);
    }
}

/// A servers' table that cannot be edited by its text is refused, and nothing is written.
#[test]
fn what_cannot_be_edited_safely_is_left_alone() {
    for (client, text) in [
        ("codex", "mcp_servers = { x = { command = \"x\" } }\n"),
        ("codex", "[mcp_servers]\nx.command = \"x\"\nx.args = []\n[a]\n"),
        ("goose", "extensions: &all\n  x: {cmd: x, type: stdio}\nother: *all\n"),
    ] {
        let dir = TempDir::new().unwrap();
        let broken = Broken {
            client,
            text: Box::leak(text.to_owned().into_boxed_str()),
            line: 1,
            cause: "",
        };
        let connections = ConnectedFiles::new(
            dir.path().join("c"),
            "/opt/weaver".into(),
            "/etc/weaver.toml".into(),
        );
        let error =
            match read(dir.path(), &broken).and_then(|file| connections.plan(file, &|_| true)) {
                Err(error) => error,
                // What can be edited must still say the same elsewhere.
                Ok(plan) => {
                    assert!(
                        plan.text.contains("/opt/weaver") && plan.text.contains("[a]"),
                        "{}",
                        plan.text
                    );
                    continue;
                }
            };
        assert!(
            error.finding().remedy.contains("by hand") || error.code() == "clients.syntax",
            "{error}"
        );
        assert!(!dir.path().join("c").exists());
    }
}

/// The file of variables, and what names it.
#[cfg(unix)]
#[test]
fn a_broken_file_of_variables_is_told_without_its_values() {
    use std::os::unix::fs::PermissionsExt as _;
    let config = |environment: &str| {
        format!(
            "environment = {environment}\n[principal]\nid = \"a\"\n[trust]\nroot = \"ed25519:{}\"\n[mcpServers.x]\ncommand = \"x\"\nenv = {{ T = \"${{TOKEN}}\" }}\n",
            "A".repeat(43)
        )
    };
    for (environment, text, mode, code) in [
        ("\"s.env\"", Some("hunter2"), 0o600, "config.environment"),
        ("\"s.env\"", Some("1=hunter2"), 0o600, "config.environment"),
        ("\"s.env\"", Some("A=1\nA=hunter2"), 0o600, "config.environment"),
        ("\"s.env\"", Some("TOKEN=hunter2"), 0o644, "config.environment"),
        ("\"s.env\"", None, 0o600, "config.unreadable"),
        ("3", None, 0o600, "config.type"),
    ] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("weaver.toml");
        fs::write(&path, config(environment)).unwrap();
        if let Some(text) = text {
            fs::write(dir.path().join("s.env"), text).unwrap();
            fs::set_permissions(dir.path().join("s.env"), fs::Permissions::from_mode(mode))
                .unwrap();
        }
        let errors = config::load(&path).unwrap_err();
        let codes: Vec<&str> = errors.findings().iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&code), "{environment} {text:?}: {errors}");
        assert!(!errors.to_string().contains("hunter2"), "{errors}");
    }
}
