//! Rules that grow out of what is done: observe, suggest, replay, allow, edit.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::MARK;
use crate::newcomer::{Client, Home, server, without_comments};
use crate::support::Run;

/// A gateway in this posture, with a client that runs through it.
fn governed(posture: &str) -> (Home, Client, String) {
    let home = Home::new();
    home.with_cursor();
    let init = home.ok(&["init", "--yes", "--posture", posture, "--json"]).json();
    home.ok(&["connect"]);
    let config: Value =
        serde_json::from_str(&without_comments(&home.read(".cursor/mcp.json"))).unwrap();
    let client = Client::start(&home, &config["mcpServers"]["weaver"]);
    (home, client, init["passphrase"].as_str().unwrap().to_owned())
}

/// A command that reads the passphrase from descriptor 3.
fn signing(home: &Home, passphrase: &str, editor: &str, args: &str) -> Run {
    home.write("pass", passphrase);
    let line =
        format!("exec '{}' {args} --passphrase-fd 3 3< ../pass", env!("CARGO_BIN_EXE_weaver"));
    let mut command = home.command(Path::new("/bin/sh"));
    Run::new(command.env("EDITOR", editor).args(["-c", &line]).output().unwrap())
}

fn verdict(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    serde_json::from_str::<Value>(text).unwrap_or_default()["verdict"].clone()
}

/// The id of the last call that the log tells of this tool.
fn call_of(home: &Home, tool: &str) -> String {
    let run = home.ok(&["trace", "--json"]);
    let calls: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = calls.iter().rev().find(|call| call["capability"] == tool);
    found.unwrap_or_else(|| panic!("{run:?}"))["call"].as_str().unwrap().to_owned()
}

#[test]
fn what_a_policy_observes_is_done_and_told_everywhere() {
    let (home, mut client, _) = governed("observe");
    let listed = client.ask("tools/list", json!({}));
    let notice = listed["_meta"]["weaver/enforcement"].as_str().unwrap_or_default();
    assert!(notice.contains("observes"), "{listed}");
    let note = client.call("good-files__note", json!({ "text": "hello" }));
    assert_eq!(note["_meta"]["weaver/would_have"]["verdict"], "allow", "{note}");
    let sent = client.call("steps__send", json!({ "to": "bob@example.org", "text": "hi" }));
    assert_ne!(sent["isError"], true, "{sent}");
    let would = &sent["_meta"]["weaver/would_have"];
    assert_eq!(would["verdict"], "hold", "{sent}");

    let alone = home.ok(&[]);
    assert!(alone.out.contains("observes") && alone.out.contains("1 not enforced"), "{alone:?}");
    let check = home.ok(&["check", "--json"]).json();
    assert_eq!((&check["enforcement"], &check["observes"]), (&json!("observe"), &json!(true)));
    let trace = home.ok(&["trace"]);
    assert!(trace.out.contains("would have been held"), "{trace:?}");
    let why = home.ok(&["trace", "why", &call_of(&home, "steps.send")]);
    assert!(why.out.contains("not enforced; enforced, it would be hold"), "{why:?}");
    drop(client);
    let verify = home.ok(&["trace", "verify", "--json"]).json();
    assert_eq!(verify["observed"], json!({ "decided": 2, "not_enforced": 1 }), "{verify}");

    let draft = home.path(".config/weaver/policy/policy.toml");
    let draft = draft.to_str().unwrap();
    let replay = home.ok(&["policy", "replay", draft]);
    let line = "would have asked you once in 7 days, denied 0 calls, allowed 0 that were held";
    assert!(replay.out.contains(line), "{replay:?}");
    let differs = home.weaver(&["policy", "replay", draft, "--exit-code"]);
    assert_eq!(differs.code, 1, "{differs:?}");
    let suggest = home.ok(&["policy", "suggest"]);
    assert!(suggest.out.contains("match.capability = [\"good-files.note\"]"), "{suggest:?}");
    let asks = "match.capability = [\"steps.send\"]\neffect = \"require_approval\"";
    assert!(suggest.out.contains(asks), "what leaves keeps asking: {suggest:?}");
    // What holds or denies is not put aside by it.
    let kept = "keep those that hold or deny: `changes`, `options`, `outgoing-and-destructive`";
    assert!(suggest.err.contains(kept), "{suggest:?}");
    assert!(suggest.out.contains("# They take the place of rules that allow."), "{suggest:?}");
    // The suggestion is a policy: it allows what was done, and asks for what leaves.
    let head = "kind = \"policy\"\nformat = 1\nid = \"grown\"\nversion = 9\n\n[principals.agent]\n";
    home.write("grown.toml", &format!("{head}{}", suggest.out));
    let grown = home.path("grown.toml");
    let replay = home.ok(&["policy", "replay", grown.to_str().unwrap(), "--json"]).json();
    assert_eq!(replay["replay"]["now"], json!({ "allow": 1, "ask": 0, "hold": 1, "deny": 0 }));
}

#[test]
fn a_configuration_cannot_make_a_policy_observe() {
    let (home, client, _) = governed("careful");
    drop(client);
    let text = std::fs::read_to_string(home.config()).unwrap();
    for line in ["enforcement = \"observe\"\n", "[trust]\nenforcement = \"observe\"\n"] {
        std::fs::write(home.config(), format!("{line}{text}")).unwrap();
        let run = home.weaver(&["check", "--config", home.config().to_str().unwrap()]);
        assert_ne!(run.code, 0, "{line}: {run:?}");
    }
}

#[test]
fn a_held_call_becomes_a_rule_with_an_exception() {
    let (home, mut client, passphrase) = governed("locked");
    let note = |client: &mut Client| client.call("good-files__note", json!({ "text": "hello" }));
    assert_eq!(verdict(&note(&mut client)), "hold");
    let call = call_of(&home, "good-files.note");
    let shown = home.ok(&["allow", &call, "--json"]).json();
    assert_eq!(shown["stopped_by"], json!(["everything-waits"]), "{shown}");
    let replay = shown["rules"][0]["replay"].as_str().unwrap();
    assert!(replay.contains("allowed 1 that were held"), "{shown}");
    let before = home.read(".config/weaver/policy/policy.toml");
    // A note says to nobody where it goes, so that no call is similar: this one to the letter, or all.
    assert_eq!(shown["rules"].as_array().unwrap().len(), 2, "{shown}");
    // Without a terminal nothing is signed that nobody said yes to.
    let run = signing(&home, &passphrase, "", &format!("allow {call} --width tool"));
    assert!(run.code == 0 && run.err.contains("by `--yes`"), "{run:?}");
    assert_eq!(home.read(".config/weaver/policy/policy.toml"), before);
    let run = signing(&home, &passphrase, "", &format!("allow {call} --width tool --yes"));
    assert_eq!(run.code, 0, "{run:?}");
    let after = home.read(".config/weaver/policy/policy.toml");
    assert!(after.contains("unless = { capability = [\"good-files.note\"] }"), "{after}");
    assert!(after.contains("version = 2") && after.len() > before.len(), "{after}");
    home.ok(&["check"]);
    drop(client);
    home.ok(&["restart"]);
    let config: Value =
        serde_json::from_str(&without_comments(&home.read(".cursor/mcp.json"))).unwrap();
    let mut client = Client::start(&home, &config["mcpServers"]["weaver"]);
    let done = note(&mut client);
    assert_ne!(done["isError"], true, "{done}");
    let echo = client.call("good-files__echo", json!({ "text": "hello" }));
    assert_eq!(verdict(&echo), "hold", "the others wait as before");
}

#[test]
fn what_leaves_the_machine_is_allowed_in_advance_and_never_by_a_rule() {
    let (home, mut client, passphrase) = governed("careful");
    let sent = client.call("steps__send", json!({ "to": "bob@example.org", "text": "hi" }));
    assert_eq!(verdict(&sent), "hold", "{sent}");
    let call = call_of(&home, "steps.send");
    let run = signing(&home, &passphrase, "", &format!("allow {call} --width tool --yes"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("weaver approve standing grant"), "{run:?}");
    assert!(home.read(".config/weaver/policy/policy.toml").contains("version = 1"));
    let unknown = home.weaver(&["allow", "call_nobody"]);
    assert!(unknown.code == 7 && unknown.err.contains("next:"), "{unknown:?}");
}

/// After a client read a page, addresses of other hosts wait, until one is trusted. Pages of this
/// machine are read on.
#[test]
fn a_host_is_trusted_once_and_read_from_then_on() {
    let home = Home::new();
    let properties = json!({ "url": { "type": "string" } });
    let hints = json!({ "readOnlyHint": true, "openWorldHint": true });
    let tools = json!([{ "name": "fetch", "description": "Fetches a page from the internet.",
        "inputSchema": { "type": "object", "properties": properties, "required": ["url"] },
        "annotations": hints }]);
    home.write("tools.json", &tools.to_string());
    let web = server("told", json!({ MARK: home.path("tools.json") }));
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "web": web } }).to_string());
    let init = home.ok(&["init", "--yes", "--posture", "careful", "--json"]).json();
    home.ok(&["connect"]);
    let config: Value =
        serde_json::from_str(&without_comments(&home.read(".cursor/mcp.json"))).unwrap();
    let mut client = Client::start(&home, &config["mcpServers"]["weaver"]);
    let fetch = |client: &mut Client, url: &str| {
        let result = client.call("web__fetch", json!({ "url": url }));
        verdict(&result).as_str().unwrap_or("done").to_owned()
    };
    assert_eq!(fetch(&mut client, "https://pages.example/"), "done", "nothing was read yet");
    assert_eq!(fetch(&mut client, "http://localhost:3000/a"), "done");
    assert_eq!(fetch(&mut client, "http://127.0.0.1:3000/a"), "done");
    assert_eq!(fetch(&mut client, "https://docs.example/a"), "hold");
    let waits = home.ok(&["approve", "list", "--json"]).json();
    let id = waits["id"].as_str().unwrap_or_else(|| panic!("{waits}"));
    let request = home.ok(&["approve", "show", id]);
    assert!(request.out.contains("reads on from docs.example"), "{request:?}");
    let call = call_of(&home, "web.fetch");
    let shown = home.ok(&["allow", &call, "--json"]).json();
    assert_eq!(shown["trusted_destination"], "docs.example", "{shown}");
    let passphrase = init["passphrase"].as_str().unwrap();
    let run = signing(&home, passphrase, "", &format!("allow {call} --yes"));
    assert_eq!(run.code, 0, "{run:?}");
    let policy = home.read(".config/weaver/policy/policy.toml");
    assert!(policy.contains("[\"docs.example\", \"localhost\""), "{policy}");
    home.ok(&["check"]);
    drop(client);
    home.ok(&["restart"]);
    let mut client = Client::start(&home, &config["mcpServers"]["weaver"]);
    assert_eq!(fetch(&mut client, "https://docs.example/b"), "done");
    assert_eq!(fetch(&mut client, "https://docs.example.evil.example/b"), "hold");
}

#[test]
fn an_edited_policy_is_looked_at_and_signed() {
    let (home, client, passphrase) = governed("careful");
    drop(client);
    let editor = "sed -i 's/the agent reads/the agent may read/'";
    let run = signing(&home, &passphrase, editor, "policy edit --yes");
    assert_eq!(run.code, 0, "{run:?}");
    let text = home.read(".config/weaver/policy/policy.toml");
    assert!(text.contains("the agent may read") && text.contains("version = 2"), "{text}");
    home.ok(&["check"]);
    let broken = "sed -i 's/effect = \"allow\"/effect = \"alow\"/'";
    let run = signing(&home, &passphrase, broken, "policy edit --yes");
    assert!(run.code == 3 && run.err.contains("unknown effect"), "{run:?}");
    assert_eq!(home.read(".config/weaver/policy/policy.toml"), text);
    assert!(home.read(".config/weaver/.weaver/drafts/policy-draft.toml").contains("alow"));
    // Nor is a text lost that could not be signed, beside the one that was kept before.
    let editor = "sed -i 's/the agent may read/the agent can read/'";
    let run = signing(&home, "another passphrase", editor, "policy edit --yes");
    assert!(run.code == 6 && run.err.contains("your text is kept in"), "{run:?}");
    assert!(
        home.read(".config/weaver/.weaver/drafts/policy-draft-2.toml")
            .contains("the agent can read")
    );
    assert!(home.read(".config/weaver/.weaver/drafts/policy-draft.toml").contains("alow"));
    let nothing = signing(&home, &passphrase, "true", "policy edit --yes");
    assert!(nothing.code == 0 && nothing.err.contains("nothing was changed"), "{nothing:?}");
}
