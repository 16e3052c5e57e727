//! Which clients share a process of a server: none by default, those of a folder, or all.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::client::{Client, folder};
use crate::support::{Folder, weaver};

/// A gateway whose server remembers its calls; its daemon ends with the test.
struct Remembering(Folder);

impl Remembering {
    fn new(behaviour: &str, setting: &str) -> Self {
        let folder = folder(&[("good", behaviour)], "", "");
        let config = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
        let head = "[mcpServers.good]\n";
        folder.write("weaver.toml", &config.replace(head, &format!("{head}{setting}\n")));
        Self(folder)
    }

    /// A client process of its own, which works in a folder.
    fn client_in(&self, folder: &Path) -> Client {
        self.0.write("client.sh", "\"$@\"\nexit $?\n");
        let mut command = Command::new("sh");
        command.arg(self.0.path("client.sh")).arg(env!("CARGO_BIN_EXE_weaver"));
        command.args(["serve", "--config", &self.0.arg("weaver.toml")]).current_dir(folder);
        Client::start_as(command).shaken()
    }

    fn client(&self) -> Client {
        self.client_in(&std::env::temp_dir())
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        std::fs::create_dir_all(self.0.path(name)).unwrap();
        std::fs::canonicalize(self.0.path(name)).unwrap()
    }
}

impl Drop for Remembering {
    fn drop(&mut self) {
        weaver(&["stop", "--config", &self.0.arg("weaver.toml")]);
    }
}

/// What the server says it remembers.
fn count(client: &mut Client) -> String {
    let (failed, body) = client.execute("good.count", json!({}));
    assert!(!failed, "{body}");
    body.as_str().map_or_else(|| body.to_string(), str::to_owned)
}

fn remembers(client: &mut Client, calls: u32) {
    let said = count(client);
    assert!(said.contains(&format!("call {calls} in")), "{said}");
}

#[test]
fn no_client_sees_what_another_left_in_a_server() {
    let gateway = Remembering::new("counting", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    remembers(&mut one, 1);
    remembers(&mut other, 1);
    remembers(&mut one, 2);
    remembers(&mut other, 2);
    one.finish();
    let mut third = gateway.client();
    remembers(&mut third, 1);
    remembers(&mut other, 3);
    third.finish();
    other.finish();
}

#[test]
fn a_session_of_the_same_client_finds_its_instance_again() {
    let gateway = Remembering::new("counting", "");
    let open = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
        command.args(["serve", "--config", &gateway.0.arg("weaver.toml")]);
        Client::start_as(command).shaken()
    };
    let mut first = open();
    remembers(&mut first, 1);
    first.finish();
    let mut again = open();
    remembers(&mut again, 2);
    again.finish();
}

#[test]
fn a_server_may_be_shared_by_all() {
    let gateway = Remembering::new("counting", "instances = \"shared\"");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    remembers(&mut one, 1);
    remembers(&mut other, 2);
    one.finish();
    other.finish();
}

#[test]
fn clients_of_a_folder_share_a_server_that_works_there() {
    let setting = "instances = \"folder\"";
    let gateway = Remembering::new("counting", setting);
    let (red, blue) = (gateway.folder("red"), gateway.folder("blue"));
    let (mut one, mut same) = (gateway.client_in(&red), gateway.client_in(&red));
    let mut other = gateway.client_in(&blue);
    for (client, calls, folder) in
        [(&mut one, 1, &red), (&mut other, 1, &blue), (&mut same, 2, &red)]
    {
        let said = count(client);
        assert!(said.contains(&format!("call {calls} in {}", folder.display())), "{said}");
    }
    for client in [one, same, other] {
        client.finish();
    }
}

/// Nobody's call waits longer for a second process than for an answer, and none is lost to it.
#[test]
fn a_server_that_starts_slowly_for_a_second_client_is_called_again() {
    let gateway = Remembering::new("late", "timeout_ms = 1500");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    let echo = |client: &mut Client| client.execute("good.echo", json!({ "text": "hi" }));
    let patiently = |client: &mut Client| {
        for _ in 0..60 {
            let (failed, body) = echo(client);
            if !failed {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
            assert!(body.to_string().contains("starting"), "{body}");
        }
        panic!("the server was never there");
    };
    patiently(&mut one);
    let (failed, body) = echo(&mut other);
    let said = "still starting for this client; nothing was sent, call again";
    assert!(failed && body.to_string().contains(said), "{body}");
    patiently(&mut other);
    one.finish();
    other.finish();
}

fn uris(client: &mut Client) -> Vec<String> {
    let listed = client.request("resources/list", json!({}));
    let items = listed["result"]["resources"].as_array().unwrap_or_else(|| panic!("{listed}"));
    items.iter().map(|item| item["uri"].as_str().unwrap().to_owned()).collect()
}

fn read(client: &mut Client, uri: &str) -> String {
    let read = client.request("resources/read", json!({ "uri": uri }));
    read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
}

/// Resources are as much one client's own as what its tools did: what one client lists, reads, and
/// is told comes from its own process of the server.
#[test]
fn no_client_sees_the_resources_of_another() {
    let gateway = Remembering::new("features", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    for client in [&mut one, &mut other] {
        assert!(!uris(client).contains(&"note://more".to_owned()));
    }
    // Reading this one adds a resource, and tells of it.
    assert_eq!(read(&mut one, "note://events"), "told");
    while one.notice()["method"] != "notifications/resources/list_changed" {}
    assert!(uris(&mut one).contains(&"note://more".to_owned()));
    assert!(!uris(&mut other).contains(&"note://more".to_owned()), "it has no process yet");
    let subscribed = other.request("resources/subscribe", json!({ "uri": "note://1" }));
    assert!(subscribed["error"].is_null(), "{subscribed}");
    assert_eq!(read(&mut other, "note://1"), "note 1");
    assert!(!uris(&mut other).contains(&"note://more".to_owned()), "its own process has none");
    // What the first client's process tells is not for the second, which watches the same resource.
    assert_eq!(read(&mut one, "note://events"), "told");
    assert_eq!(read(&mut other, "note://events"), "told");
    // Lists also change while the server starts.
    let mut told: Vec<String> = Vec::new();
    let is_over = |told: &[String]| {
        let updated = told.iter().position(|method| method == "notifications/resources/updated");
        let after = updated.and_then(|at| told.get(at..)).unwrap_or_default();
        after.iter().any(|method| method == "notifications/resources/list_changed")
    };
    while !is_over(&told) {
        told.push(other.notice()["method"].as_str().unwrap().to_owned());
    }
    let updates = told.iter().filter(|method| *method == "notifications/resources/updated");
    assert_eq!(updates.count(), 1, "{told:?}");
    assert!(uris(&mut other).contains(&"note://more".to_owned()));
    let greeted = other
        .request("prompts/get", json!({ "name": "good__greet", "arguments": { "who": "Ann" } }));
    assert!(greeted["result"]["messages"].is_array(), "{greeted}");
    one.finish();
    other.finish();
}

/// The instance of the second client is another process, which could say anything.
#[test]
fn an_instance_that_lists_a_tool_otherwise_than_was_approved_is_sent_nothing() {
    let gateway = Remembering::new("turncoat", "");
    let (mut one, mut other) = (gateway.client(), gateway.client());
    let writes = |client: &mut Client| {
        let note = json!({
            "capability": "good.note",
            "arguments": { "text": "hello" },
            "justification": "the test writes it",
        });
        client.call("tool_execute", note)
    };
    let (failed, body) = writes(&mut one);
    assert!(!failed, "{body}");
    let (failed, body) = writes(&mut other);
    assert!(failed && body.to_string().contains("as it was approved"), "{body}");
    let (failed, body) = other.execute("good.echo", json!({ "text": "hi" }));
    assert!(!failed, "what both list alike goes on: {body}");
    one.finish();
    other.finish();
}
