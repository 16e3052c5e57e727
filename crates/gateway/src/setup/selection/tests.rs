use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::clients::{Client, ClientFolders, Scope};
use crate::setup::ServerSection;

/// A home with clients' files, and the selection from them.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self { dir: TempDir::new().unwrap() };
        fs::create_dir_all(home.folders().project).unwrap();
        home
    }

    fn folders(&self) -> ClientFolders {
        let home = self.dir.path().canonicalize().unwrap();
        ClientFolders::under(&home, &home.join("project"))
    }

    /// Writes the servers of a client, for a project or for the user.
    fn put(&self, client: &str, scope: Scope, servers: &Value) {
        let client = Client::by_id(client).unwrap();
        let place = client.locations.iter().rev().find(|place| place.scope == scope).unwrap();
        let path = place.file(&self.folders());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, json!({ "mcpServers": servers }).to_string()).unwrap();
    }

    fn select(&self, variables: &[(&str, &str)]) -> Selection {
        let files: Vec<ClientFile> =
            ClientFile::find_all(&self.folders()).into_iter().map(Result::unwrap).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let machine =
            HostEnvironment { search_path: OsStr::new("/usr/bin:/bin"), variable: &variable };
        Selection::from_files(&files, &machine, &UsedNames::default())
    }
}

fn section(selection: &Selection, name: &str) -> toml::Value {
    let server = selection.servers.iter().find(|server| server.name == name).unwrap();
    let table: toml::Table = ServerSection(server).to_string().parse().unwrap();
    table["mcpServers"][name].clone()
}

#[test]
fn a_folder_relative_to_the_project_is_one_the_server_was_set_up_for() {
    let home = Home::new();
    let project = home.folders().project;
    fs::create_dir(project.join("docs")).unwrap();
    let files = json!({ "command": "sh", "args": ["-c", "."] });
    let docs = json!({ "command": "sh", "args": ["docs", "./docs"] });
    home.put("claude-code", Scope::Project, &json!({ "files": files, "docs": docs }));
    home.put("cursor", Scope::User, &json!({ "anywhere": files }));
    let folders = home.select(&[]).folders();
    let here = project.to_str().unwrap().to_owned();
    assert_eq!(folders["files"], [here.clone(), ".".to_owned()]);
    assert_eq!(folders["docs"], [format!("{here}/docs")], "a mere word may be anything");
    assert!(folders["anywhere"].is_empty(), "its client starts it somewhere: {folders:?}");
}

#[test]
fn of_several_names_the_one_that_is_a_name_already_is_taken() {
    let home = Home::new();
    let entry = json!({ "command": "sh", "env": { "API_TOKEN": "abcdefgh12" } });
    home.put("claude-desktop", Scope::User, &json!({ "big  name / ümlaut": entry }));
    let selection = home.select(&[]);
    assert_eq!(selection.servers[0].name, "big-name-mlaut");
    home.put("cursor", Scope::User, &json!({ "ws": entry }));
    home.put("windsurf", Scope::User, &json!({ "other": entry }));
    let selection = home.select(&[]);
    assert_eq!(selection.servers.len(), 1);
    assert_eq!(
        (selection.servers[0].name.as_str(), selection.secrets[0].server.as_str()),
        ("ws", "ws")
    );
    assert_eq!(selection.servers[0].origins.len(), 3);
}

#[test]
fn files_of_certificates_that_the_shell_sets_are_written_down() {
    let home = Home::new();
    let own = json!({ "command": "sh", "args": ["own"], "env": { "SSL_CERT_FILE": "/own.pem" } });
    home.put("cursor", Scope::User, &json!({ "plain": { "command": "sh" }, "own": own }));
    let selection = home.select(&[("SSL_CERT_FILE", "/corp.pem"), ("LANG", "C")]);
    let env = |name| section(&selection, name)["env"].clone();
    assert_eq!(env("plain")["SSL_CERT_FILE"].as_str(), Some("/corp.pem"));
    assert!(env("plain").get("LANG").is_none());
    assert_eq!(env("own")["SSL_CERT_FILE"].as_str(), Some("/own.pem"));
}

#[test]
fn the_times_that_a_client_sets_are_taken_over() {
    let home = Home::new();
    let time = |entry: Value| {
        home.put("cursor", Scope::User, &json!({ "s": entry }));
        let section = section(&home.select(&[]), "s");
        ["timeout_ms", "initialize_timeout_ms"].map(|key| section.get(key)?.as_integer())
    };
    for (entry, wanted) in [
        // Cline and goose write seconds, the Gemini CLI milliseconds.
        (json!({ "command": "sh", "timeout": 300 }), [Some(300_000), None]),
        (json!({ "command": "sh", "timeout": 900_000 }), [Some(900_000), None]),
        (json!({ "command": "sh", "timeout": 5_000 }), [None, None]),
        (json!({ "command": "sh", "tool_timeout_sec": 7200 }), [Some(3_600_000), None]),
        (json!({ "command": "sh", "tool_timeout_sec": 2.5 }), [Some(2_500), None]),
        (json!({ "command": "sh", "startup_timeout_sec": 120 }), [None, Some(120_000)]),
        (json!({ "command": "sh", "startup_timeout_ms": 20_000 }), [None, None]),
    ] {
        assert_eq!(time(entry.clone()), wanted, "{entry}");
    }
}

#[test]
fn tools_that_all_clients_leave_out_are_left_out() {
    let home = Home::new();
    let entry = |key: &str, tools: Value| json!({ "s": { "command": "sh", key: tools } });
    home.put("gemini", Scope::User, &entry("excludeTools", json!(["drop", "wipe"])));
    let left_out = |selection: &Selection| {
        // Such lists say nothing of resources.
        assert!(!selection.servers[0].leaves_out("resources/read"));
        ["read", "drop", "wipe"].map(|tool| selection.servers[0].leaves_out(tool))
    };
    let selection = home.select(&[]);
    assert_eq!(left_out(&selection), [false, true, true]);
    assert_eq!(selection.servers[0].widened_clients().count(), 0);
    home.put("windsurf", Scope::User, &entry("disabledTools", json!(["drop"])));
    let selection = home.select(&[]);
    assert_eq!(left_out(&selection), [false, true, false]);
    home.put("cursor", Scope::User, &json!({ "s": { "command": "sh" } }));
    let selection = home.select(&[]);
    assert_eq!(left_out(&selection), [false, false, false]);
    let widened: Vec<&str> = selection.servers[0].widened_clients().collect();
    assert_eq!(widened, ["Gemini CLI", "Windsurf"]);
    home.put("cursor", Scope::User, &entry("enabled_tools", json!(["read"])));
    assert_eq!(left_out(&home.select(&[])), [false, true, false]);
}
