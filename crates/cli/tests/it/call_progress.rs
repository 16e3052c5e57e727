//! Progress of a call, from a server to the client, in both modes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, folder, unpack};
use crate::support::Folder;

/// What the server says: `steps` does as it is told, with progress on the way.
const STEPS: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\nrung = \"L1\"\nlower_rung = true\n\
    sink = \"external_send\"\n\n[capabilities.\"good.steps\"]\n\
    effects = \"read_local\"\ntimeout_ms = 60000\noutput = { integrity = \"untrusted\" }\n\n\
    [capabilities.\"good.stall\"]\neffects = \"read_local\"\ntimeout_ms = 3000\n\
    output = { integrity = \"untrusted\" }\n\n";

fn stepping(settings: &str) -> Folder {
    folder(&[("good", "steps")], settings, STEPS)
}

/// Calls `steps` under this token; gives the progress that came before the answer, and the answer.
fn steps(client: &mut Client, how: &str, token: &Value) -> (Vec<Value>, Value) {
    let call = json!({ "name": "tool_execute", "_meta": { "progressToken": token },
        "arguments": { "capability": "good.steps", "arguments": { "text": how } } });
    let id = client.begin("tools/call", call);
    let answer = client.answer(&id);
    (client.progress(), answer)
}

fn numbers(told: &[Value]) -> Vec<Value> {
    told.iter().map(|params| params["progress"].clone()).collect()
}

#[test]
fn progress_comes_in_order_under_the_client_s_own_token_and_before_the_answer() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    for token in [json!("mine \u{1b}"), json!(0), json!(7_000_000_000_u64)] {
        let (told, answer) = steps(&mut client, "slowly", &token);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert_eq!(numbers(&told), [json!(1), json!(2.5), json!(3)]);
        for params in &told {
            assert_eq!((&params["progressToken"], &params["total"]), (&token, &json!(3)));
        }
        assert_eq!(told[0]["message"], "step \\u{1b}[31m 1", "hidden characters are written out");
        assert!(told[1].get("message").is_none(), "{told:?}");
    }
    let rest = client.finish();
    assert!(rest.iter().all(|message| message["method"] != "notifications/progress"), "{rest:?}");
}

#[test]
fn progress_is_told_in_proxy_mode_too() {
    let folder = stepping("[gateway]\nmode = \"proxy\"\n");
    let mut client = Client::open(&folder);
    let call = json!({ "name": "good__steps", "_meta": { "progressToken": "p" },
        "arguments": { "text": "slowly" } });
    let id = client.begin("tools/call", call);
    let answer = client.answer(&id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(numbers(&client.progress()), [json!(1), json!(2.5), json!(3)]);
    client.finish();
}

#[test]
fn nothing_is_told_without_a_token() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    for token in [json!(null), json!({ "a": 1 }), json!(true)] {
        let (told, answer) = steps(&mut client, "slowly", &token);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(told.is_empty(), "{token}: {told:?}");
    }
    client.execute("good.steps", json!({ "text": "slowly" }));
    let rest = client.finish();
    assert!(rest.iter().all(|message| message["method"] != "notifications/progress"), "{rest:?}");
}

#[test]
fn a_message_is_masked_as_a_result_is_and_short() {
    let folder = stepping("[run]\nplaceholders = true\n");
    let mut client = Client::open(&folder);
    let (told, answer) = steps(&mut client, "secrets", &json!(1));
    let (_, body) = unpack(&answer);
    let said = told[0]["message"].as_str().unwrap();
    assert!(!said.contains("jane.doe@corp.example.org") && !said.contains("ghp_"), "{said}");
    let (email, key) = said.split_once(" with ").unwrap();
    assert_eq!(email, "for [EMAIL_1]");
    let shown = body["text"].as_str().unwrap();
    assert!(shown.starts_with(&format!("sent with {key}\n")), "one mask for both: {shown}");
    assert_eq!(told[1]["message"].as_str().unwrap().chars().count(), 200);
    client.finish();
}

#[test]
fn a_value_that_is_spread_over_messages_is_masked_in_those_that_go_on_with_it() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    let (told, answer) = steps(&mut client, "spread", &json!("t"));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(told[1]["message"], "[REDACTED] is done");
    client.finish();
}

#[test]
fn lines_of_a_program_are_progress_of_its_call() {
    let contract = "[capabilities.\"tools.lines\"]\neffects = \"read_local\"\ntimeout_ms = 60000\n\
        output = { integrity = \"untrusted\" }\n\n";
    let folder = folder(&[], "", contract);
    let go = folder.path("files/go");
    let script = format!(
        "echo one for jane.doe@corp.example.org; while [ ! -e {} ]; do sleep 0.02; done; echo two",
        go.display()
    );
    folder.append(
        "weaver.toml",
        &format!(
            "\n[tools.lines]\ndescription = \"Writes lines\"\n\
             [tools.lines.program]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"{script}\"]\n"
        ),
    );
    let mut client = Client::open(&folder);
    let call = json!({ "name": "tool_execute", "_meta": { "progressToken": "p" },
        "arguments": { "capability": "tools.lines", "arguments": {} } });
    let id = client.begin("tools/call", call);
    // The program goes on only when its first line was told.
    let told = client.line().unwrap();
    assert_eq!(told["method"], "notifications/progress", "{told}");
    let said = told["params"]["message"].as_str().unwrap();
    assert!(said.starts_with("one for [") && !said.contains("jane.doe"), "{said}");
    assert_eq!(
        (&told["params"]["progressToken"], &told["params"]["progress"]),
        (&json!("p"), &json!(1))
    );
    std::fs::write(&go, "").unwrap();
    let answer = client.answer(&id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(numbers(&client.progress()), [json!(2)]);
    client.finish();
}

#[test]
fn a_flood_is_thinned_out_and_its_last_word_is_told() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    let begun = Instant::now();
    let (told, answer) = steps(&mut client, "flood", &json!(1));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    // Four before the first pause, one after each, and the last.
    let most = begun.elapsed().as_millis() / 100 + 5;
    assert!(told.len() as u128 <= most, "{} in {:?}", told.len(), begun.elapsed());
    assert_eq!(numbers(&told).last(), Some(&json!(100_000)));
    client.finish();
}

#[test]
fn what_does_not_grow_is_dropped() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    let (told, _) = steps(&mut client, "back and forth", &json!(1));
    assert_eq!(numbers(&told), [json!(5), json!(7)]);
    client.finish();
}

#[test]
fn what_progress_said_taints_the_run_although_the_call_failed() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    let send = |client: &mut Client| {
        let message = json!({ "to": "bob@example.com", "text": "See you at noon." });
        let (_, body) = client.execute("good.send", message);
        body["verdict"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
    };
    assert_eq!(send(&mut client), "allow");
    let call = json!({ "name": "tool_execute", "_meta": { "progressToken": 1 },
        "arguments": { "capability": "good.stall", "arguments": { "text": "no end" } } });
    let id = client.begin("tools/call", call);
    let told = client.line().unwrap();
    let said = told["params"]["message"].as_str().unwrap_or_else(|| panic!("{told}"));
    assert!(said.starts_with("write to ") && !said.contains("eve@evil.example.org"), "{said}");
    assert_eq!(send(&mut client), "hold", "while the call runs");
    let answer = client.answer(&id);
    assert_eq!(answer["result"]["structuredContent"]["reason"], "timeout", "{answer}");
    assert_eq!(send(&mut client), "hold");
    client.finish();
    let mut client = Client::open(&folder);
    assert_eq!(send(&mut client), "hold", "after a restart");
    client.finish();
}

#[test]
fn a_cancelled_call_tells_nothing_more() {
    let folder = stepping("");
    let mut client = Client::open(&folder);
    let call = json!({ "name": "tool_execute", "_meta": { "progressToken": 1 },
        "arguments": { "capability": "good.steps", "arguments": { "text": "slowly" } } });
    let id = client.begin("tools/call", call);
    assert_eq!(client.line().unwrap()["params"]["progress"], 1);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id}}));
    client.tools(); // By now the notice was read.
    let before = client.progress().len();
    assert!(before <= 1, "the server was at its second step at most");
    std::thread::sleep(Duration::from_millis(800));
    let rest = client.finish();
    let told = rest.iter().filter(|message| message["method"] == "notifications/progress");
    assert_eq!(told.count(), 0, "{rest:?}");
}
