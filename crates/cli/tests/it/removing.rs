//! `weaver remove`: a server goes with its secrets, the others stay, and a running gateway follows.

use serde_json::{Value, json};

use crate::fixture::SECRET;
use crate::newcomer::{Client, Home, server, without_comments};
use crate::support::until;

const CONFIG: &str = ".config/weaver/weaver.toml";
const SECRETS: &str = ".config/weaver/.weaver/secrets.env";

fn tools(client: &mut Client) -> String {
    client.ask("tools/list", json!({}))["tools"].to_string()
}

#[test]
fn a_removed_server_goes_with_its_secrets_also_from_a_running_gateway() {
    let home = Home::new();
    let before = home.with_cursor();
    home.ok(&["init", "--yes"]);
    home.ok(&["connect"]);
    let text = without_comments(&home.read(".cursor/mcp.json"));
    let config: Value = serde_json::from_str(&text).unwrap();
    let mut client = Client::start(&home, &config["mcpServers"]["weaver"]);
    let all = tools(&mut client);
    assert!(all.contains("good-files__echo") && all.contains("steps__echo"), "{all}");
    let (config, secrets) = (home.read(CONFIG), home.read(SECRETS));
    let dry = home.ok(&["remove", "good-files", "--dry-run"]);
    assert!(dry.out.contains("-[mcpServers.good-files]"), "{dry:?}");
    assert!(dry.out.contains("API_TOKEN") && !dry.out.contains(SECRET), "{dry:?}");
    assert!(home.read(CONFIG) == config && home.read(SECRETS) == secrets);
    let run = home.ok(&["remove", "good-files", "--json"]).json();
    assert_eq!(run["removed"], json!(["good-files"]), "{run}");
    assert_eq!(run["secrets"], json!(["API_TOKEN"]), "{run}");
    let left = home.read(CONFIG);
    assert!(!left.contains("good-files") && !left.contains("Good Files"), "{left}");
    assert!(left.contains("[mcpServers.steps]"), "{left}");
    assert!(!home.read(SECRETS).contains(SECRET));
    home.ok(&["check"]);
    until("the running gateway has it no more", || {
        let now = tools(&mut client);
        !now.contains("good-files__echo") && now.contains("steps__echo")
    });
    drop(client);
    home.ok(&["stop"]);
    // What the client had comes back, and a setup takes it in as before.
    home.ok(&["disconnect"]);
    assert_eq!(home.read(".cursor/mcp.json"), before);
    let again = home.ok(&["update", "--json"]).json();
    assert_eq!(again["servers"], json!(["good-files"]), "{again}");
    assert_eq!(again["tools"], json!([]), "its contracts are there: {again}");
}

#[test]
fn what_cannot_be_removed_is_named_and_stays() {
    let home = Home::new();
    home.with_cursor();
    home.ok(&["init", "--yes"]);
    let config = home.read(CONFIG);
    let run = home.weaver(&["remove", "good-file"]);
    assert!(run.code == 7 && run.err.contains("did you mean `good-files`?"), "{run:?}");
    let all = home.weaver(&["remove", "good-files", "nobody"]);
    assert!(all.code == 7 && all.err.contains("there is no server `nobody`"), "{all:?}");
    assert_eq!(home.read(CONFIG), config);
    assert!(!home.path(".config/weaver/.weaver-remove.toml").exists());
}

/// A secret that a server of the other file uses too stays.
#[test]
fn a_secret_that_a_server_of_the_other_file_uses_stays() {
    let home = Home::new();
    home.with_cursor();
    home.ok(&["init", "--yes"]);
    let other = server("steps", json!({ "API_TOKEN": "${API_TOKEN}" }));
    home.write(".config/weaver/mcp.json", &json!({ "mcpServers": { "other": other } }).to_string());
    let config = home.read(CONFIG);
    home.write(CONFIG, &format!("servers = \"mcp.json\"\n{config}"));
    home.ok(&["check"]);
    let run = home.ok(&["remove", "good-files", "--json"]).json();
    assert_eq!((&run["removed"], &run["secrets"]), (&json!(["good-files"]), &json!([])), "{run}");
    assert!(home.read(SECRETS).contains(SECRET));
    home.ok(&["check"]);
}
