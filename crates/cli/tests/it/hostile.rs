//! Servers that misbehave: each fails alone, with a reason that an agent can act on and an event.

use serde_json::{Value, json};

use crate::client::{self, Client, events, folder, of_capability, reason, shown, unpack};
use crate::fixture::{self, INSTRUCTIONS};
use crate::support::Folder;

/// A folder with a server of this behaviour beside a good one.
fn beside(behaviour: &str, more: &str) -> Folder {
    folder(&[("bad", behaviour), ("good", "good")], "", more)
}

/// Says that the good server goes on working.
fn good_goes_on(client: &mut Client) {
    let (is_error, body) = client.execute("good.echo", json!({"text": "still here"}));
    assert!(!is_error && shown(&body).contains("still here"), "{body}");
}

/// One bad answer: the call fails with this reason and leaves these words in its outcome, the
/// other server goes on, and so does the bad one where it can.
fn one_bad_answer(tool: &str, expected: &str, word: &str) {
    let folder = beside("bad", "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute(&format!("bad.{tool}"), json!({}));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), ("allow".to_owned(), expected.to_owned()), "{body}");
    assert!(body["message"].as_str().unwrap().contains(word), "{body}");
    assert!(body["error"]["code"].is_string(), "{body}");
    good_goes_on(&mut client);
    let (is_error, body) = client.execute("bad.echo", json!({"text": "back again"}));
    assert!(!is_error && shown(&body).contains("back again"), "{body}");
    client.finish();
    let outcomes = of_capability(&folder, "call.outcome", &format!("bad.{tool}"));
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    assert_eq!(outcomes[0]["reason"], expected, "{outcomes:?}");
    assert_eq!(of_capability(&folder, "call.intent", &format!("bad.{tool}")).len(), 1);
}

#[test]
fn a_crash_in_mid_call_fails_that_call() {
    one_bad_answer("crash", "execution_failed", "ended");
}

#[test]
fn garbage_fails_the_call() {
    one_bad_answer("garbage", "execution_failed", "not json-rpc");
}

#[test]
fn a_line_over_the_limit_fails_the_call() {
    one_bad_answer("oversize", "execution_failed", "longer than");
}

#[test]
fn duplicate_keys_in_a_reply_fail_the_call() {
    one_bad_answer("duplicate", "execution_failed", "twice");
}

#[test]
fn a_result_that_is_no_object_fails_the_call() {
    one_bad_answer("wrong_type", "execution_failed", "refused");
}

#[test]
fn extra_fields_change_nothing_and_lose_nothing() {
    let folder = beside("bad", "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("bad.extra", json!({}));
    assert!(!is_error, "{body}");
    assert!(shown(&body).contains("kept") && shown(&body).contains("taskId"), "{body}");
    assert!(!shown(&body).contains("tools"), "an empty field says nothing: {body}");
    client.finish();
}

#[test]
fn silence_in_a_call_ends_with_the_time_of_its_contract() {
    let more = "[capabilities.\"bad.quiet\"]\neffects = \"read_local\"\ntimeout_ms = 200\n\
                sink = \"none\"\n\
                [capabilities.\"good.quiet\"]\neffects = \"write_local\"\ntimeout_ms = 200\nsink = \"none\"\n";
    let folder = beside("bad", more);
    let mut client = Client::open(&folder);
    assert_eq!(client.refusal("bad.quiet", json!({})), pair("allow", "timeout"));
    good_goes_on(&mut client);
    // A write that timed out may have happened.
    let asked = json!({"capability": "good.quiet", "arguments": {}, "justification": "a test"});
    let (is_error, body) = client.call("tool_execute", asked);
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), pair("allow", "outcome_unknown"), "{body}");
    assert!(body["message"].as_str().unwrap().contains("may have happened"), "{body}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "bad.quiet")[0]["reason"], "timeout");
    assert_eq!(of_capability(&folder, "call.outcome_unknown", "good.quiet").len(), 1);
}

fn pair(verdict: &str, reason: &str) -> (String, String) {
    (verdict.to_owned(), reason.to_owned())
}

/// A server that never comes up: its tools say so, the rest goes on, and both are recorded.
fn never_up(behaviour: &str) {
    let folder = beside(behaviour, "");
    let mut client = Client::open(&folder);
    good_goes_on(&mut client);
    let (is_error, body) = client.call("tool_browse", json!({"query": "say the text again"}));
    assert!(!is_error, "{body}");
    let found = body["tools"].as_array().unwrap();
    assert!(found.iter().any(|card| card["id"] == "good.echo"), "{body}");
    assert_eq!(body["missing"][0]["server"], "bad", "{body}");
    assert_eq!(client.refusal("bad.echo", json!({})), pair("deny", "upstream_unavailable"));
    good_goes_on(&mut client);
    client.finish();
    let lost = |(kind, payload): &(String, Value)| {
        kind == "upstream.lost" && payload["fields"]["upstream"] == "bad"
    };
    assert_eq!(events(&folder).iter().filter(|event| lost(event)).count(), 1);
    let refused = of_capability(&folder, "call.refused", "bad.echo");
    assert_eq!(refused[0]["reason"], "upstream_unavailable");
}

#[test]
fn an_absent_command_is_told() {
    never_up("absent");
}

#[test]
fn a_server_that_dies_at_start_is_told() {
    never_up("dead");
}

#[test]
fn a_server_that_is_mute_at_start_is_told() {
    never_up("mute");
}

#[test]
fn a_server_that_is_away_does_not_tell_hidden_tools_from_unknown_ones() {
    let folder = beside("once", "[capabilities.\"bad.slow\"]\nvisible = false\n");
    let mut client = Client::open(&folder);
    let same = |client: &mut Client| {
        let [one, other] = ["bad.slow", "bad.unheard"].map(|id| {
            let (is_error, mut body) = client.execute(id, json!({}));
            assert!(is_error, "{body}");
            body.as_object_mut().unwrap().remove("call");
            // What is said after that comes from the name and the tools that are shown.
            let message = body["message"].as_str().unwrap();
            body["message"] = json!(
                message
                    .split(" Did you mean")
                    .next()
                    .unwrap()
                    .replace(" `tool_browse {}` lists all.", "")
            );
            body
        });
        assert_eq!(one, other);
        reason(&one)
    };
    assert!(!client.execute("bad.echo", json!({})).0);
    assert_eq!(same(&mut client), pair("deny", "not_found"));
    client.refusal("bad.crash", json!({}));
    client.call("tool_browse", json!({"query": "say"}));
    assert_eq!(same(&mut client), pair("deny", "upstream_unavailable"));
    assert_eq!(client.refusal("bad.echo", json!({})), pair("deny", "upstream_unavailable"));
    good_goes_on(&mut client);
    client.finish();
}

#[test]
fn a_name_that_no_tool_has_is_answered_with_the_nearest_that_is_shown() {
    let folder = beside("good", "[capabilities.\"bad.slow\"]\nvisible = false\n");
    let mut client = Client::open(&folder);
    client.call("tool_browse", json!({"query": "say"}));
    let mut said = |id: &str| {
        let (is_error, body) = client.execute(id, json!({}));
        assert!(is_error, "{body}");
        body["message"].as_str().unwrap().to_owned()
    };
    assert!(said("good.ecoh").ends_with(" Did you mean `good.echo`?"), "a slip");
    assert!(said("other.people").contains("Did you mean one of `bad.people`, `good.people`?"));
    assert!(!said("bad.slo").contains("bad.slow"), "it is hidden");
    assert!(said("bad.calendar").ends_with(" `tool_browse {}` lists all."));
    client.finish();
}

/// A folder whose `bad.echo` and `bad.note` are pinned to what an honest server says of them.
fn pinned(behaviour: &str) -> Folder {
    let digest =
        |tool: &Value| weaver_gateway::serve::upstream_digest(tool, Some(INSTRUCTIONS)).unwrap();
    let tools = fixture::tools("honest");
    let pins = format!(
        "[capabilities.\"bad.echo\"]\nupstream_digest = \"{}\"\n\
         [capabilities.\"bad.note\"]\nsink = \"none\"\neffects = \"write_local\"\nupstream_digest = \"{}\"\n",
        digest(&tools[0]),
        digest(&tools[1]),
    );
    let folder = beside(behaviour, "");
    let note = "[capabilities.\"bad.note\"]\neffects = \"write_local\"\nsink = \"none\"\n";
    let contracts = client::contracts(&["bad", "good"]).replace(note, "");
    client::replace(&folder, "contracts", 2, &format!("{contracts}{pins}"));
    folder
}

/// Calls a tool, which goes through, and again after its server has turned, which is refused.
fn refusal_after(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let asked = json!({"capability": "bad.note", "arguments": {}, "justification": "a test"});
    let (is_error, body) = client.call("tool_execute", asked.clone());
    assert!(!is_error, "{body}");
    client.execute(&format!("bad.{tool}"), arguments);
    let (is_error, body) = client.call("tool_execute", asked);
    assert!(is_error, "{body}");
    body
}

#[test]
fn a_tool_that_changes_under_way_is_denied_at_its_next_call() {
    // Once on the same connection, and once when another program answers after a crash.
    for (tool, arguments) in [("echo", json!({"text": "turn"})), ("crash", json!({}))] {
        let folder = pinned("turncoat");
        let mut client = Client::open(&folder);
        let body = refusal_after(&mut client, tool, arguments);
        assert_eq!(reason(&body), pair("deny", "contract_changed"), "after {tool}");
        good_goes_on(&mut client);
        client.finish();
    }
}

/// Whoever calls waits for a listing that begins after the server spoke.
#[test]
fn a_tool_that_changes_while_it_is_listed_is_denied_at_its_next_call() {
    let folder = pinned("hasty");
    let mut client = Client::open(&folder);
    let body = refusal_after(&mut client, "echo", json!({"text": "turn"}));
    assert_eq!(reason(&body), pair("deny", "contract_changed"));
    client.finish();
}

#[test]
fn a_tool_that_nothing_pins_is_denied_once_it_changes_and_the_others_go_on() {
    let folder = beside("turncoat", "");
    let mut client = Client::open(&folder);
    let body = refusal_after(&mut client, "echo", json!({"text": "turn"}));
    assert_eq!(reason(&body), pair("deny", "contract_changed"));
    assert!(body.to_string().contains("documentation: description changed"), "{body}");
    assert!(!body.to_string().contains("evil.example"), "{body}");
    assert!(!client.execute("bad.echo", json!({"text": "others go on"})).0);
    let (_, body) = client.call("tool_browse", json!({"query": "writes a note", "k": 20}));
    assert!(!body.to_string().contains("bad.note"), "{body}");
    good_goes_on(&mut client);
    client.finish();
    let told = events(&folder).into_iter().find(|(kind, _)| kind == "contract.changed");
    let fields = told.unwrap().1["fields"].clone();
    assert_eq!(
        (&fields["capability"], &fields["class"]),
        (&json!("bad.note"), &json!("documentation"))
    );
    let refused = &of_capability(&folder, "call.refused", "bad.note")[0];
    assert_eq!(
        (&refused["tool_contract_status"], &refused["tool_contract_mismatch"]),
        (&json!("changed"), &json!(true))
    );
}

#[test]
fn a_server_that_changes_and_does_not_say_how_is_not_called() {
    let folder = pinned("secretive");
    let mut client = Client::open(&folder);
    let body = refusal_after(&mut client, "echo", json!({"text": "turn"}));
    assert_eq!(reason(&body), pair("deny", "upstream_unavailable"));
    good_goes_on(&mut client);
    client.finish();
}

#[test]
fn a_tool_that_its_server_describes_otherwise_is_denied_and_not_offered() {
    let folder = pinned("drift");
    let mut client = Client::open(&folder);
    let asked = json!({"capability": "bad.note", "arguments": {}, "justification": "a test"});
    let (is_error, body) = client.call("tool_execute", asked);
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), pair("deny", "contract_changed"));
    let (is_error, body) = client.execute("bad.echo", json!({"text": "approved"}));
    assert!(!is_error && shown(&body).contains("approved"), "{body}");
    good_goes_on(&mut client);
    // The new words are what an attacker would want a model to read.
    let (_, body) = client.call("tool_browse", json!({"query": "writes a note", "k": 20}));
    assert!(!body.to_string().contains("evil.example"), "{body}");
    assert!(body.to_string().contains("good.note"), "{body}");
    let (is_error, body) = client.call("tool_browse", json!({"capability": "bad.note"}));
    assert!(is_error && !body.to_string().contains("evil.example"), "{body}");
    assert_eq!(reason(&body), pair("deny", "contract_changed"));
    client.finish();
    assert_eq!(of_capability(&folder, "call.refused", "bad.note")[0]["reason"], "contract_changed");
}

#[test]
fn an_error_of_the_tool_itself_is_an_error_with_its_words() {
    let folder = beside("bad", "");
    let mut client = Client::open(&folder);
    let answer = client.request(
        "tools/call",
        json!({"name": "tool_execute", "arguments": {"capability": "good.failing"}}),
    );
    let (is_error, body) = unpack(&answer);
    assert!(is_error && body["verdict"] == "allow", "{body}");
    assert_eq!(shown(&body), "the disk is full", "its words, and nothing else");
    client.finish();
    let outcome = of_capability(&folder, "call.outcome", "good.failing");
    assert_eq!(
        (&outcome[0]["success"], &outcome[0]["reason"]),
        (&json!(false), &json!("execution_failed"))
    );
}
