//! A configuration that changes while agents work: what it does not concern goes on.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Client, contracts, folder, replace};
use crate::daemon_reload::{Daemon, free_address};
use crate::support::{Folder, until};

/// A folder with two servers that remember; a third one has contracts already.
fn remembering() -> Folder {
    remembering_with("")
}

fn remembering_with(settings: &str) -> Folder {
    let settings = format!("{settings}[gateway]\nmode = \"gateway\"\n");
    let folder = folder(&[("one", "counting"), ("two", "counting")], &settings, "");
    replace(&folder, "contracts", 2, &contracts(&["one", "two", "three"]));
    folder
}

fn text_of(folder: &Folder) -> String {
    fs::read_to_string(folder.path("weaver.toml")).unwrap()
}

/// The section of a server.
fn section(text: &str, name: &str) -> String {
    let head = format!("[mcpServers.{name}]");
    let (_, rest) = text.split_once(&head).unwrap_or_else(|| panic!("no {name}: {text}"));
    rest.split("\n[").next().unwrap().to_owned()
}

/// Adds a server like another one.
fn add(folder: &Folder, name: &str, like: &str) {
    let text = text_of(folder);
    let section = section(&text, like);
    folder.write("weaver.toml", &format!("{text}\n[mcpServers.{name}]{section}\n"));
}

fn remove(folder: &Folder, name: &str) {
    let text = text_of(folder);
    let section = format!("[mcpServers.{name}]{}", section(&text, name));
    folder.write("weaver.toml", &text.replace(&section, ""));
}

/// Another environment for one server.
fn change(folder: &Folder, name: &str) {
    let text = text_of(folder);
    let before = section(&text, name);
    let after = before.replace("env = { ", "env = { MORE = \"more\", ");
    folder.write(
        "weaver.toml",
        &text.replace(&format!("{name}]{before}"), &format!("{name}]{after}")),
    );
}

/// The answer of a tool.
fn said(client: &mut Client, tool: &str, arguments: Value) -> String {
    let (failed, body) = client.execute(tool, arguments);
    assert!(!failed, "{tool}: {body}");
    body["text"].as_str().unwrap().to_owned()
}

#[track_caller]
fn remembers(client: &mut Client, server: &str, calls: u32) {
    let said = said(client, &format!("{server}.count"), json!({}));
    assert!(said.contains(&format!("call {calls} in")), "{server}: {said}");
}

/// Waits until a server has come or gone, as the daemon tells it.
fn until_listed(folder: &Folder, name: &str, there: bool) {
    until(&format!("{name} is listed: {there}"), || {
        let status = folder.weaver(&["status", "--json"]);
        let state = status.json()["servers"][name]["state"].clone();
        state == json!("ready") && there || state.is_null() && !there
    });
}

fn pid(folder: &Folder) -> u64 {
    folder.weaver(&["status", "--json"]).json()["pid"].as_u64().unwrap()
}

fn runs(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn a_server_that_a_change_does_not_concern_keeps_its_process_and_what_it_remembers() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    remembers(&mut client, "one", 1);
    remembers(&mut client, "two", 1);
    let daemon = pid(&folder);
    add(&folder, "three", "one");
    until_listed(&folder, "three", true);
    remembers(&mut client, "one", 2);
    remembers(&mut client, "three", 1);
    // A changed entry is a new process; the others go on.
    change(&folder, "two");
    until("its new process has begun", || {
        said(&mut client, "two.count", json!({})).contains("call 1 in")
    });
    remembers(&mut client, "one", 3);
    remembers(&mut client, "three", 2);
    // So does a comment, which changes nothing.
    folder.append("weaver.toml", "\n# by hand\n");
    add(&folder, "four", "one");
    until_listed(&folder, "four", true);
    remembers(&mut client, "one", 4);
    remembers(&mut client, "two", 2);
    assert_eq!(pid(&folder), daemon, "the daemon that a client started goes on");
    client.finish();
    folder.weaver(&["stop"]);
}

/// What the server `s` lists, from now on.
fn list(folder: &Folder, description: &str) {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let tool = json!({ "name": "echo", "description": description, "inputSchema": schema });
    folder.write("files/mark", &json!([tool]).to_string());
}

#[test]
fn of_a_server_that_is_started_anew_it_is_known_what_was_approved() {
    let folder = folder(&[("s", "told")], "[gateway]\nmode = \"proxy\"", "");
    list(&folder, "Says the text again.");
    let run = folder.weaver(&["contracts", "approve", "s", "echo"]);
    assert_eq!(run.code, 0, "{run:?}");
    folder.sign("contracts");
    let mut client = Client::shim(&folder, &[]).shaken();
    let has_echo = |client: &mut Client| client.tools().iter().any(|one| one["name"] == "s__echo");
    assert!(has_echo(&mut client));
    // Its entry changes, and so does what it lists, which it takes a while to do.
    folder.write("files/mark.wait", "");
    list(&folder, "Says the text again, twice.");
    change(&folder, "s");
    until("it starts anew", || {
        let status = folder.weaver(&["status", "--json"]);
        status.json()["servers"]["s"]["state"] != "ready"
    });
    until("its approved tool is listed meanwhile", || has_echo(&mut client));
    fs::remove_file(folder.path("files/mark.wait")).unwrap();
    let (failed, body) = client.call("s__echo", json!({ "text": "x" }));
    assert!(failed && body.to_string().contains("description changed"), "{body}");
    let run = folder.weaver(&["contracts", "diff", "s.echo"]);
    for part in
        ["- description: Says the text again.\n", "+ description: Says the text again, twice."]
    {
        assert!(run.code == 1 && run.out.contains(part), "{run:?}");
    }
    client.finish();
    folder.weaver(&["stop"]);
}

#[test]
fn a_server_that_is_no_longer_configured_ends_with_all_its_processes() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    let bred = said(&mut client, "two.breed", json!({}));
    let processes: Vec<&str> = bred.split(' ').collect();
    assert!(processes.len() == 2 && processes.iter().all(|one| runs(one)), "{bred}");
    remembers(&mut client, "one", 1);
    remove(&folder, "two");
    until_listed(&folder, "two", false);
    until("its processes have ended", || !processes.iter().any(|one| runs(one)));
    assert_eq!(client.refusal("two.count", json!({})).1, "not_found");
    remembers(&mut client, "one", 2);
    // It may come back, as a new one.
    add(&folder, "two", "one");
    until_listed(&folder, "two", true);
    remembers(&mut client, "two", 1);
    client.finish();
    folder.weaver(&["stop"]);
}

#[test]
fn a_call_in_flight_goes_on_while_the_configuration_changes() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    let waits = |name: &str| folder.path(&format!("files/{name}"));
    let begin = |client: &mut Client, tool: &str, file: &Path| {
        let arguments = json!({"capability": tool, "arguments": {"path": file}});
        let id =
            client.begin("tools/call", json!({"name": "tool_execute", "arguments": arguments}));
        until("it waits", || file.with_extension("waiting").exists());
        id
    };
    let answered = |client: &mut Client, id: &Value| {
        let answer = client.answer(id);
        assert!(answer.to_string().contains("it is there"), "{answer}");
    };
    let kept = begin(&mut client, "one.until", &waits("kept"));
    add(&folder, "three", "one");
    until_listed(&folder, "three", true);
    fs::write(waits("kept"), "").unwrap();
    answered(&mut client, &kept);
    remembers(&mut client, "one", 2);
    // The last call of a server that is replaced ends before it does.
    let last = begin(&mut client, "two.until", &waits("last"));
    change(&folder, "two");
    until("it is replaced", || {
        let status = folder.weaver(&["status", "--json"]);
        status.json()["servers"]["two"]["state"] == json!("starting")
    });
    fs::write(waits("last"), "").unwrap();
    answered(&mut client, &last);
    until("the new one is there", || {
        said(&mut client, "two.count", json!({})).contains("call 1 in")
    });
    client.finish();
    folder.weaver(&["stop"]);
}

/// What an update does: the documents are exchanged as a whole, and the configuration is replaced.
#[test]
fn documents_that_are_exchanged_end_no_server() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    remembers(&mut client, "one", 1);
    let (documents, new) = (folder.path("policy"), folder.path("new"));
    fs::create_dir(&new).unwrap();
    for entry in fs::read_dir(&documents).unwrap().flatten() {
        fs::copy(entry.path(), new.join(entry.file_name())).unwrap();
    }
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, &new, CWD, &documents, RenameFlags::EXCHANGE).unwrap();
    fs::remove_dir_all(&new).unwrap();
    let text = text_of(&folder);
    folder.write("other.toml", &text);
    fs::rename(folder.path("other.toml"), folder.path("weaver.toml")).unwrap();
    replace(&folder, "contracts", 3, &contracts(&["one", "two", "three"]));
    until("the documents are in force", || {
        folder.weaver(&["status", "--json"]).json()["documents"]["contracts"] == json!(3)
    });
    remembers(&mut client, "one", 2);
    client.finish();
    folder.weaver(&["stop"]);
}

/// What the daemon goes back to is the last configuration in force, not the one that it began with.
#[test]
fn a_configuration_that_fails_leaves_the_servers_of_the_last_one() {
    let http = format!("[http]\nlisten = \"{}\"\n", free_address());
    let daemon = Daemon::of_folder(remembering_with(&http), &[]);
    let folder = daemon.web.folder();
    let mut client = Client::shim(folder, &[]).shaken();
    remembers(&mut client, "one", 1);
    add(folder, "three", "one");
    until_listed(folder, "three", true);
    // Only the start itself shows that this one fails.
    let text = text_of(folder);
    folder.write("weaver.toml", &format!("[memory]\nfile = \"weaver.toml/memory.db\"\n{text}"));
    until("it is told", || daemon.log().contains("the old one stays in force"));
    until_listed(folder, "three", true);
    remembers(&mut client, "three", 1);
    client.finish();
}

/// What the process of a server may reach is what the configuration in force says.
#[test]
fn a_server_that_may_reach_less_from_now_on_is_started_again() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    remembers(&mut client, "one", 1);
    // A file that only the gateway is to read.
    folder.write("client.secret", "hunter3-hunter3");
    folder.append(
        "weaver.toml",
        "\n[mcpServers.remote]\nurl = \"http://127.0.0.1:1/mcp\"\n[mcpServers.remote.oauth]\n\
         client_id = \"one\"\nclient_secret = { file = \"client.secret\" }\n",
    );
    until("it is a new process", || {
        said(&mut client, "one.count", json!({})).contains("call 1 in")
    });
    // The same setting for the next configuration.
    add(&folder, "three", "one");
    until_listed(&folder, "three", true);
    let before = said(&mut client, "one.count", json!({}));
    remove(&folder, "three");
    until_listed(&folder, "three", false);
    let calls = |said: &str| said.split(' ').nth(1).and_then(|n| n.parse::<u32>().ok()).unwrap();
    let after = said(&mut client, "one.count", json!({}));
    assert_eq!(calls(&after), calls(&before) + 1, "{before}; {after}");
    client.finish();
    folder.weaver(&["stop"]);
}

const STARTED_AGAIN: &str = "was started again since your last call";

/// An answer that says which server is another process, or none that does.
#[track_caller]
fn tells_of(client: &mut Client, server: &str, told: bool) {
    let said = said(client, &format!("{server}.count"), json!({}));
    assert_eq!(said.contains(STARTED_AGAIN), told, "{said}");
    assert!(!told || said.contains(&format!("Server `{server}` ")), "{said}");
}

#[test]
fn a_server_that_was_started_again_says_so_once_to_those_who_had_called_it() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    tells_of(&mut client, "one", false);
    tells_of(&mut client, "one", false);
    // It ended by itself.
    assert!(client.execute("one.crash", json!({})).0);
    until("it is there again", || {
        folder.weaver(&["status", "--json"]).json()["servers"]["one"]["state"] == json!("ready")
    });
    tells_of(&mut client, "one", true);
    tells_of(&mut client, "one", false);
    // Its configuration was changed; the other one was never called.
    for name in ["one", "two"] {
        change(&folder, name);
    }
    until("they are new ones", || {
        let log = fs::read_to_string(folder.path(".weaver/ledger.db.run/daemon.log")).unwrap();
        log.contains("mcpServers.two.env.MORE")
    });
    tells_of(&mut client, "one", true);
    tells_of(&mut client, "two", false);
    tells_of(&mut client, "one", false);
    client.finish();
    folder.weaver(&["stop"]);
}

/// Also a whole new gateway, in which a client that returns goes on in its run.
#[test]
fn a_restarted_gateway_says_so_of_the_servers_that_were_called_before() {
    let folder = remembering();
    let mut client = Client::shim(&folder, &[]).shaken();
    tells_of(&mut client, "one", false);
    let before = pid(&folder);
    assert_eq!(folder.weaver(&["restart"]).code, 0);
    until("another daemon is there", || {
        let status = folder.weaver(&["status", "--json"]);
        status.code == 0 && status.json()["pid"].as_u64() != Some(before)
    });
    tells_of(&mut client, "two", false);
    tells_of(&mut client, "one", true);
    tells_of(&mut client, "one", false);
    client.finish();
    folder.weaver(&["stop"]);
}

/// Sessions that are open then see it as those that begin later.
#[test]
fn a_server_of_another_project_that_comes_meanwhile_is_not_shown() {
    let folder = remembering();
    fs::create_dir_all(folder.path("shop/src")).unwrap();
    fs::create_dir_all(folder.path("blog")).unwrap();
    let (shop, blog) = (folder.arg("shop/src"), folder.arg("blog"));
    let mut in_shop = Client::shim(&folder, &["--folder", &shop]).shaken();
    let mut in_blog = Client::shim(&folder, &["--folder", &blog]).shaken();
    remembers(&mut in_shop, "one", 1);
    // Both have the same parent, and so one client's process of a server.
    remembers(&mut in_blog, "one", 2);
    let entry = section(&text_of(&folder), "one");
    let of_shop = format!("\n[mcpServers.three]\nprojects = [\"shop\"]{entry}\n");
    folder.append("weaver.toml", &of_shop);
    until_listed(&folder, "three", true);
    remembers(&mut in_shop, "three", 1);
    assert_eq!(in_blog.refusal("three.count", json!({})).1, "not_found");
    let browse = |client: &mut Client| {
        client.request("tools/call", json!({ "name": "tool_browse", "arguments": {} })).to_string()
    };
    assert!(browse(&mut in_shop).contains("three.count"));
    assert!(!browse(&mut in_blog).contains("three"));
    in_shop.finish();
    in_blog.finish();
    folder.weaver(&["stop"]);
}
