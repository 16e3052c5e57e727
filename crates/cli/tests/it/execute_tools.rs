//! One tool that runs all others, or three whose class is enforced.

use serde_json::{Value, json};

use crate::client::{Client, events, folder, of_capability, reason};
use crate::support::Folder;

const THREE: &str = "[gateway]\nexecute_tools = \"by_class\"\n";
/// What the tools of the server `good` do, besides reading.
const CLASSES: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\n\n\
    [capabilities.\"good.slow\"]\neffects = \"destructive\"\n\n";

fn three() -> Folder {
    folder(&[("good", "good")], THREE, CLASSES)
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn run(client: &mut Client, tool: &str, capability: &str) -> (bool, Value) {
    let arguments = json!({ "capability": capability, "arguments": { "text": "hello" },
        "justification": "to note a greeting" });
    client.call(tool, arguments)
}

#[test]
fn three_tools_say_truthfully_what_they_run() {
    let folder = three();
    let mut client = Client::open(&folder);
    let tools = client.tools();
    assert_eq!(
        names(&tools),
        [
            "tool_browse",
            "tool_execute_read",
            "tool_execute_write",
            "tool_execute_destructive",
            "tool_view"
        ]
    );
    let hint = |at: usize, name: &str| tools[at]["annotations"][name].as_bool();
    assert_eq!(hint(1, "readOnlyHint"), Some(true));
    assert_eq!((hint(2, "readOnlyHint"), hint(2, "destructiveHint")), (Some(false), Some(false)));
    assert_eq!((hint(3, "readOnlyHint"), hint(3, "destructiveHint")), (Some(false), Some(true)));
    let list = client.request("tools/call", json!({ "name": "tool_browse", "arguments": {} }));
    let list = list["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    for (id, tool) in [
        ("good.echo(", "[tool_execute_read]"),
        ("good.note(", "[tool_execute_write]"),
        ("good.send(", "[tool_execute_write]"),
        ("good.slow(", "[tool_execute_destructive]"),
    ] {
        let line = list.lines().find(|line| line.starts_with(id)).unwrap_or_default();
        assert!(line.contains(tool), "{id}: {list}");
    }
    let (_, schema) = client.call("tool_browse", json!({ "capability": "good.note" }));
    assert_eq!(schema["run_with"], "tool_execute_write");
    client.finish();
}

#[test]
fn the_class_of_a_tool_is_enforced_and_the_right_one_named() {
    let folder = three();
    let mut client = Client::open(&folder);
    for (capability, right) in [
        ("good.echo", "tool_execute_read"),
        ("good.note", "tool_execute_write"),
        ("good.send", "tool_execute_write"),
        ("good.slow", "tool_execute_destructive"),
    ] {
        for tool in ["tool_execute_read", "tool_execute_write", "tool_execute_destructive"] {
            let (is_error, body) = run(&mut client, tool, capability);
            let message = body["message"].as_str().unwrap_or_default();
            let refused = message.contains(&format!("`{capability}` is run with {right}"));
            assert_eq!(refused, tool != right, "{capability} with {tool}: {body}");
            if refused {
                assert!(is_error && !message.contains('\n'), "{body}");
                assert_eq!(reason(&body), ("ask".to_owned(), "invalid_arguments".to_owned()));
            }
        }
    }
    let (is_error, body) = run(&mut client, "tool_execute_read", "good.nothing");
    assert!(is_error && body["reason"] == "not_found", "{body}");
    client.finish();
    let executed = events(&folder).into_iter().filter(|(kind, _)| kind == "call.intent");
    let executed: Vec<Value> = executed.map(|(_, said)| said["capability"].clone()).collect();
    assert_eq!(executed, ["good.echo", "good.note"], "what was refused never ran");
}

#[test]
fn one_tool_is_the_default_and_a_profile_may_have_three() {
    let profile = "[profiles.careful]\nexecute_tools = \"by_class\"\n";
    let folder = folder(&[("good", "good")], profile, CLASSES);
    let mut client = Client::open(&folder);
    assert_eq!(names(&client.tools()), ["tool_browse", "tool_execute", "tool_view"]);
    assert_eq!(client.tools()[1]["annotations"], Value::Null, "it may run anything");
    let unknown = client.request(
        "tools/call",
        json!({ "name": "tool_execute_read", "arguments": { "capability": "good.echo" } }),
    );
    assert!(unknown["error"]["message"].as_str().unwrap().contains("tool_execute "), "{unknown}");
    client.finish();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--standalone", "--profile", "careful"]);
    command.args(["--config", &folder.arg("weaver.toml")]);
    let mut client = Client::start_as(command).shaken();
    assert_eq!(names(&client.tools()).len(), 5);
    let unknown = client.request("tools/call", json!({ "name": "tool_execute", "arguments": {} }));
    assert!(
        unknown["error"]["message"].as_str().unwrap().contains("tool_execute_destructive"),
        "{unknown}"
    );
    client.finish();
}

#[test]
fn a_word_that_is_none_is_found_at_the_check() {
    let folder = folder(&[("good", "good")], "[gateway]\nexecute_tools = \"two\"\n", CLASSES);
    let run = folder.weaver(&["check", "--json"]);
    assert_eq!(run.finding_codes(), ["config.word"], "{run:?}");
}

/// A profile is what its clients know of: the rest is unknown to them, whether its server is up or
/// down.
#[test]
fn a_tool_outside_the_profile_is_unknown_in_every_mode() {
    for settings in ["", "execute_tools = \"by_class\"\n", "mode = \"proxy\"\n"] {
        let profile = format!("[profiles.some]\nservers = [\"good\"]\n{settings}");
        let servers = [("good", "good"), ("mail", "good"), ("payroll", "absent")];
        let folder = folder(&servers, &profile, "");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"));
        command.args(["serve", "--standalone", "--config", &folder.arg("weaver.toml")]);
        command.args(["--profile", "some"]);
        let mut client = Client::start_as(command).shaken();
        if settings.contains("proxy") {
            let (failed, body) = client.call("good__echo", json!({ "text": "hello" }));
            assert!(!failed, "{body}");
            for name in ["mail__echo", "payroll__echo", "nothing__echo"] {
                let answer = client.request("tools/call", json!({ "name": name, "arguments": {} }));
                let said =
                    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
                assert!(said.starts_with(&format!("no tool `{name}` here")), "{said}");
                assert!(!said.replace(name, "").contains("payroll"), "{said}");
            }
        } else {
            let tool = match settings {
                "" => "tool_execute",
                _ => "tool_execute_read",
            };
            let (failed, body) = run(&mut client, tool, "good.echo");
            assert!(!failed, "{body}");
            let told: Vec<String> = ["mail.echo", "payroll.echo", "nothing.echo"]
                .map(|id| {
                    let (failed, body) = run(&mut client, tool, id);
                    assert!(failed, "{body}");
                    assert_eq!(
                        reason(&body),
                        ("deny".to_owned(), "not_found".to_owned()),
                        "{body}"
                    );
                    let call = body["call"].as_str().unwrap_or("none").to_owned();
                    body.to_string().replace(id, "").replace(&call, "")
                })
                .into();
            assert_eq!((&told[0], &told[1]), (&told[2], &told[2]), "told apart");
            let (_, all) = client.call("tool_browse", json!({}));
            assert!(!all.to_string().contains("payroll"), "{all}");
        }
        client.finish();
        assert!(of_capability(&folder, "call.intent", "mail.echo").is_empty());
    }
}
