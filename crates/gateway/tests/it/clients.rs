//! The files of clients: read, connected, and put back byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use weaver_gateway::clients::{
    Client, ClientFile, ClientFolders, ConnectedFileState, ConnectedFiles, ListedServer,
    ServerTransport, UndoAction,
};
use weaver_types::Timestamp;

/// A home with one client's file in its place.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn folders(&self) -> ClientFolders {
        ClientFolders::under(self.dir.path(), &self.dir.path().join("project"))
    }

    fn file(&self, client: &Client) -> PathBuf {
        client.locations[0].file(&self.folders())
    }

    fn put(&self, client: &Client, text: &str) -> PathBuf {
        let path = self.file(client);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, client: &Client) -> ClientFile {
        ClientFile::read(client, &client.locations[0], &self.folders()).unwrap()
    }

    fn connections(&self) -> ConnectedFiles {
        let folder = self.dir.path().join("weaver/.weaver/clients");
        ConnectedFiles::new(folder, PathBuf::from("/opt/weaver"), PathBuf::from("/etc/weaver.toml"))
    }

    /// Connects the client; what its file holds then.
    fn connect(&self, client: &Client) -> String {
        let plan = self.connections().plan(self.read(client), &governed).unwrap();
        self.connections().connect(&plan, Timestamp::from_micros(1)).unwrap();
        fs::read_to_string(self.file(client)).unwrap()
    }

    /// Takes the connection back; how that went.
    fn disconnect(&self, client: &Client) -> UndoAction {
        let all = self.connections().all().unwrap();
        let connection = all.iter().find(|one| one.client() == client.id).unwrap();
        let undo = connection.undo(&connection.read_file().unwrap()).unwrap();
        connection.disconnect(&undo).unwrap();
        assert!(self.connections().all().unwrap().iter().all(|one| one.client() != client.id));
        undo
    }
}

/// Whoever works in their own folder has no project there, and no server twice.
#[test]
fn the_users_own_folder_is_no_project() {
    let home = TempDir::new().unwrap();
    let folders = ClientFolders::under(home.path(), home.path());
    let cursor = Client::by_id("cursor").unwrap();
    let path = cursor.locations[0].file(&folders);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, fixture(cursor)).unwrap();
    let found: Vec<PathBuf> =
        ClientFile::find_all(&folders).into_iter().map(|file| file.unwrap().path).collect();
    assert_eq!(found, [path]);
}

/// The record is JSON, which holds no such path: without it, the connection could not be undone.
#[cfg(unix)]
#[test]
fn a_file_whose_path_cannot_be_recorded_is_not_connected() {
    use std::os::unix::ffi::OsStrExt as _;

    let home = Home::new();
    let odd = home.dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    let folders = ClientFolders::under(&odd, &odd);
    let cursor = Client::by_id("cursor").unwrap();
    let path = cursor.locations[0].file(&folders);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, fixture(cursor)).unwrap();
    let file = ClientFile::read(cursor, &cursor.locations[0], &folders).unwrap();
    let plan = home.connections().plan(file, &governed).unwrap();
    let refused = home.connections().connect(&plan, Timestamp::from_micros(1)).unwrap_err();
    assert!(refused.to_string().contains("cannot be recorded"), "{refused}");
    assert_eq!(fs::read_to_string(path).unwrap(), fixture(cursor));
    assert!(home.connections().all().unwrap().is_empty());
}

fn governed(server: &ListedServer) -> bool {
    ["filesystem", "memory"].contains(&server.name.as_str())
}

fn fixture(client: &Client) -> String {
    let end = match client.id {
        "codex" => "toml",
        "goose" => "yaml",
        _ => "json",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/clients");
    fs::read_to_string(folder.join(format!("{}.{end}", client.id))).unwrap()
}

#[test]
fn each_client_says_the_same_two_servers() {
    for client in Client::all() {
        let home = Home::new();
        home.put(client, &fixture(client));
        let file = home.read(client);
        for (name, package) in [("filesystem", "server-filesystem"), ("memory", "server-memory")] {
            let (_, entry) = file
                .usable_servers()
                .find(|(one, _)| one.name == name)
                .unwrap_or_else(|| panic!("{}", client.id));
            let ServerTransport::Program { command, args, .. } = &entry.transport else {
                panic!("{entry:?}")
            };
            assert_eq!(command, "npx", "{}", client.id);
            assert_eq!(args[1], format!("@modelcontextprotocol/{package}"), "{}", client.id);
            assert!(!entry.disabled, "{}", client.id);
        }
    }
}

#[test]
fn connecting_leaves_one_entry_and_disconnecting_every_byte() {
    for client in Client::all() {
        let home = Home::new();
        let before = fixture(client);
        let path = home.put(client, &before);
        let after = home.connect(client);
        let file = home.read(client);
        let names: Vec<&str> = file.servers.iter().map(|server| server.name.as_str()).collect();
        assert!(names.contains(&"weaver"), "{}: {after}", client.id);
        assert!(
            !names.contains(&"filesystem") && !names.contains(&"memory"),
            "{}: {after}",
            client.id
        );
        assert!(
            after.contains("/opt/weaver") && after.contains("/etc/weaver.toml"),
            "{}",
            client.id
        );
        assert_eq!(home.connections().all().unwrap()[0].state(), ConnectedFileState::Connected);
        assert_eq!(
            home.disconnect(client),
            UndoAction::Exact(Some(before.clone())),
            "{}",
            client.id
        );
        assert_eq!(fs::read_to_string(path).unwrap(), before, "{}", client.id);
    }
}

/// The lines of a text that are no part of the two servers.
fn other_lines(client: &Client, text: &str) -> Vec<String> {
    let marks: &[&str] = match client.id {
        "codex" => {
            &["# My settings", "model =", "# the graph", "[profiles.fast]", "[mcp_servers.fake]"]
        }
        "vscode" => &["// Asked for", "\"inputs\"", "/* notes */", "// needs the key", "\"keyed\""],
        "zed" => {
            &["// Zed settings", "vim_mode", "// brought by", "postgres-context", "ui_font_size"]
        }
        "goose" => &[
            "# goose, by hand", "GOOSE_PROVIDER", "developer:          #", "# notes", "GOOSE_MODE",
        ],
        "claude-code" => &["numStartups", "\"remote\"", "\"projects\"", "12345678901234567890"],
        "claude-desktop" => &["globalShortcut", "\"scale\": 1.0"],
        "cursor" => &["// the two that I use"],
        "gemini" => &["\"theme\"", "\"web\""],
        "opencode" => &["$schema", "\"theme\""],
        _ => &[],
    };
    let line = |mark: &&str| text.lines().find(|line| line.contains(*mark)).map(str::to_owned);
    marks
        .iter()
        .map(|mark| line(mark).unwrap_or_else(|| panic!("{}: {mark}\n{text}", client.id)))
        .collect()
}

#[test]
fn comments_and_everything_else_stay_as_they_were() {
    for client in Client::all() {
        let home = Home::new();
        let before = fixture(client);
        home.put(client, &before);
        let after = home.connect(client);
        let without_comma = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().map(|line| line.trim_end_matches(',').to_owned()).collect()
        };
        assert_eq!(
            without_comma(other_lines(client, &after)),
            without_comma(other_lines(client, &before)),
            "{}",
            client.id
        );
        assert_eq!(before.contains("\r\n"), after.contains("\r\n"), "{}", client.id);
        assert_eq!(after.matches('\n').count(), after.lines().count(), "{}", client.id);
        if before.contains("\r\n") {
            assert_eq!(after.matches("\r\n").count(), after.matches('\n').count(), "{}", client.id);
        }
    }
}

#[test]
fn a_file_that_was_changed_since_loses_our_entry_alone() {
    for client in Client::all() {
        let home = Home::new();
        let before = fixture(client);
        let path = home.put(client, &before);
        let after = home.connect(client);
        let comment = match client.id {
            "codex" | "goose" => "# added later\n",
            _ => "\n\n",
        };
        fs::write(&path, format!("{after}{comment}")).unwrap();
        assert_eq!(
            home.connections().all().unwrap()[0].state(),
            ConnectedFileState::Edited,
            "{}",
            client.id
        );
        let UndoAction::Merged(text) = home.disconnect(client) else { panic!("{}", client.id) };
        assert!(text.ends_with(comment), "{}: {text}", client.id);
        let file = home.read(client);
        let values: Vec<(String, usize)> =
            file.servers.iter().map(|server| (server.name.clone(), server.line.min(1))).collect();
        let wanted = {
            home.put(client, &before);
            home.read(client)
        };
        let mut wanted: Vec<(String, usize)> =
            wanted.servers.iter().map(|server| (server.name.clone(), server.line.min(1))).collect();
        let mut found = values;
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{}", client.id);
    }
}

#[test]
fn connecting_twice_changes_nothing_and_forgets_nothing() {
    for client in Client::all() {
        let home = Home::new();
        let before = fixture(client);
        let path = home.put(client, &before);
        let once = home.connect(client);
        let plan = home.connections().plan(home.read(client), &governed).unwrap();
        assert!(plan.is_done(), "{}", client.id);
        assert_eq!(home.connect(client), once, "{}", client.id);
        home.disconnect(client);
        assert_eq!(fs::read_to_string(path).unwrap(), before, "{}", client.id);
    }
}

/// A client that searches among tools itself gets the profile that shows them all.
#[test]
fn clients_that_search_tools_get_their_profile() {
    for client in Client::all() {
        let home = Home::new();
        let before = fixture(client);
        let path = home.put(client, &before);
        let connections = home.connections().with_search_profile(Some("native-search".to_owned()));
        let plan = connections.plan(home.read(client), &governed).unwrap();
        assert_eq!(plan.text.contains("native-search"), client.searches_tools(), "{}", client.id);
        connections.connect(&plan, Timestamp::from_micros(1)).unwrap();
        home.disconnect(client);
        assert_eq!(fs::read_to_string(path).unwrap(), before, "{}", client.id);
    }
    assert!(Client::by_id("claude-code").unwrap().searches_tools());
}

/// Who changes how a server is started in `weaver.toml` does not get the old one back in the client.
#[test]
fn an_entry_that_gave_way_stays_away() {
    let client = Client::by_id("cursor").unwrap();
    let home = Home::new();
    home.put(client, &fixture(client));
    let once = home.connect(client);
    let plan = home.connections().plan(home.read(client), &|_| false).unwrap();
    assert_eq!(plan.text, once);
    assert_eq!((plan.replaced, plan.kept), (vec!["filesystem".into(), "memory".into()], vec![]));
}

#[test]
fn a_client_without_a_file_gets_one_and_loses_it_again() {
    for client in Client::all() {
        let home = Home::new();
        let text = home.connect(client);
        assert!(text.contains("/opt/weaver"), "{}: {text}", client.id);
        assert_eq!(home.disconnect(client), UndoAction::Exact(None), "{}", client.id);
        assert!(!home.file(client).exists(), "{}", client.id);
    }
}

#[test]
fn the_entry_has_the_clients_own_form() {
    let entry = |id: &str, keys: &[&str]| {
        let client = Client::by_id(id).unwrap();
        let home = Home::new();
        let text = home.connect(client);
        let value: Value = serde_json::from_str(&text).unwrap();
        keys.iter().fold(value, |value, key| value[*key].clone())
    };
    let args = serde_json::json!(["serve", "--config", "/etc/weaver.toml"]);
    assert_eq!(
        entry("cursor", &["mcpServers", "weaver"]),
        serde_json::json!({"command": "/opt/weaver", "args": args})
    );
    assert_eq!(entry("vscode", &["servers", "weaver", "type"]), "stdio");
    assert_eq!(entry("zed", &["context_servers", "weaver", "source"]), "custom");
    assert_eq!(
        entry("opencode", &["mcp", "weaver", "command"]),
        serde_json::json!(["/opt/weaver", "serve", "--config", "/etc/weaver.toml"])
    );
    let home = Home::new();
    let text = home.connect(Client::by_id("codex").unwrap());
    assert_eq!(
        text,
        "[mcp_servers.weaver]\ncommand = \"/opt/weaver\"\nargs = [\"serve\", \"--config\", \"/etc/weaver.toml\"]\n"
    );
    let text = home.connect(Client::by_id("goose").unwrap());
    assert!(
        text.starts_with("extensions:\n  weaver:\n    enabled: true\n    type: stdio\n"),
        "{text}"
    );
}

#[test]
fn the_entry_gives_calls_as_long_as_the_entries_did_that_it_replaces() {
    let connected = |id: &str, text: &str| {
        let client = Client::by_id(id).unwrap();
        let home = Home::new();
        home.put(client, text);
        home.connect(client)
    };
    let entry = |more: &str| format!("command = \"npx\"\n{more}\n");
    let codex = |one: &str, other: &str| {
        let (one, other) = (entry(one), entry(other));
        let text = format!("[mcp_servers.filesystem]\n{one}[mcp_servers.memory]\n{other}");
        connected("codex", &text)
    };
    let text = codex("tool_timeout_sec = 600\nstartup_timeout_sec = 5", "tool_timeout_sec = 90");
    assert!(text.contains("tool_timeout_sec = 600\n") && !text.contains("startup"), "{text}");
    assert!(!codex("tool_timeout_sec = 30", "").contains("timeout"));
    let gemini = |time: u64| {
        let entry = format!("{{\"command\": \"npx\", \"timeout\": {time}}}");
        connected("gemini", &format!("{{\"mcpServers\": {{\"memory\": {entry}}}}}"))
    };
    assert!(gemini(900_000).contains("900000") && !gemini(5_000).contains("timeout"));
}

/// A connection that was interrupted between any two of its writes can be made, or taken back.
#[test]
fn an_interrupted_connection_loses_nothing() {
    for client in [Client::by_id("cursor").unwrap(), Client::by_id("codex").unwrap()] {
        let before = fixture(client);
        // What is on disk after each write: the backup, the record, the client's file.
        for writes in 0..=3 {
            let home = Home::new();
            let path = home.put(client, &before);
            home.connect(client);
            let folder = home.dir.path().join("weaver/.weaver/clients");
            if writes < 3 {
                fs::write(&path, &before).unwrap();
            }
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                let is_record = entry.path().extension().is_some_and(|end| end == "json");
                if (is_record && writes < 2) || writes < 1 {
                    fs::remove_file(entry.path()).unwrap();
                }
            }
            let connected = home.connect(client);
            assert!(connected.contains("/opt/weaver"), "{writes}");
            home.disconnect(client);
            assert_eq!(fs::read_to_string(&path).unwrap(), before, "{writes}");
        }
        // Taking it back: the file is restored, the record or the backup stays behind.
        for gone in ["", "json"] {
            let home = Home::new();
            let path = home.put(client, &before);
            home.connect(client);
            fs::write(&path, &before).unwrap();
            let folder = home.dir.path().join("weaver/.weaver/clients");
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                if entry.path().extension().is_some_and(|end| end == gone) {
                    fs::remove_file(entry.path()).unwrap();
                }
            }
            for connection in home.connections().all().unwrap() {
                let undo = connection.undo(&connection.read_file().unwrap()).unwrap();
                assert_eq!(undo, UndoAction::Nothing);
                connection.disconnect(&undo).unwrap();
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
        }
    }
}
