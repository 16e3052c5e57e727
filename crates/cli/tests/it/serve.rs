//! `weaver serve` in gateway mode, over real pipes and in both eras of the protocol.

use serde_json::{Value, json};
use weaver_text::token::{Tiktoken, TokenCounter as _};

use crate::client::{
    self, Client, MODERN, events, folder, initialize, of_capability, reason, shown, unpack,
};
use crate::support::{Folder, weaver};

const SINK: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\nsink = \"external_send\"\n\
                    clearance = \"internal\"\n";
const UNTRUSTED: &str = "[capabilities.\"good.people\"]\neffects = \"read_local\"\nsensitivity = [\"pii\"]\n\
                         output = { confidentiality = \"internal\", integrity = \"untrusted\" }\n";
const HIDDEN: &str = "[capabilities.\"good.secret_plans\"]\nvisible = false\n";

fn good(more: &str) -> Folder {
    folder(&[("good", "good")], "", more)
}

fn pair(verdict: &str, reason: &str) -> (String, String) {
    (verdict.to_owned(), reason.to_owned())
}

/// The error code of an answer that is no result.
fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn both_eras_list_and_call_the_same_tools() {
    let folder = good("");
    let mut old = Client::open(&folder);
    let listed = old.request("tools/list", json!({}))["result"].clone();
    let (is_error, body) = old.execute("good.echo", json!({"text": "old"}));
    assert!(!is_error && shown(&body).contains("old"), "{body}");
    old.finish();
    let mut new = Client::open_modern(&folder);
    let discovered = new.request("server/discover", json!({}))["result"].clone();
    assert_eq!(discovered["supportedVersions"], json!([MODERN]));
    assert_eq!(discovered["resultType"], "complete");
    let modern = new.request("tools/list", json!({}))["result"].clone();
    // Tasks are of the older revision alone.
    let mut plain = listed["tools"].clone();
    plain[1].as_object_mut().unwrap().remove("execution").unwrap();
    assert_eq!(modern["tools"], plain);
    assert_eq!((&modern["resultType"], &listed["resultType"]), (&json!("complete"), &Value::Null));
    let asked = json!({"name": "tool_execute", "arguments": {"capability": "good.echo", "arguments": {"text": "new"}}});
    let answer = new.request("tools/call", asked);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert!(shown(&unpack(&answer).1).contains("new"));
    new.finish();
    let names: Vec<&Value> =
        listed["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["tool_browse", "tool_execute", "tool_view"]);
}

#[test]
fn what_is_no_proper_message_gets_an_error_and_nothing_stops() {
    let folder = good("");
    let mut client = Client::start(&folder);
    let early = client.request("tools/list", json!({}));
    assert_eq!(code(&early), -32600, "before `initialize`");
    assert_eq!(code(&client.request("tools/call", json!({"name": "tool_browse"}))), -32600);
    for (line, expected) in [
        ("not json", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("{}", -32600),
        ("\u{0}", -32700),
        (r#"{"jsonrpc":"2.0","method":5,"id":{}}"#, -32600),
    ] {
        client.send_line(line);
        assert_eq!(code(&client.answer(&Value::Null)), expected, "{line}");
    }
    for (line, expected) in [
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping","method":"ping"}"#, -32600),
    ] {
        client.send_line(line);
        assert_eq!(code(&client.answer(&json!("a"))), expected, "{line}");
    }
    let opened = client.request("initialize", initialize());
    assert_eq!(opened["result"]["serverInfo"]["name"], "weaver");
    assert_eq!(code(&client.request("no/such\u{1b}[31m", json!({}))), -32601);
    assert_eq!(code(&client.request("tools/call", json!({"name": "nothing"}))), -32602);
    assert_eq!(code(&client.request("tools/call", json!({}))), -32602);
    let asked = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}});
    let refused = client.request("tools/list", asked);
    assert_eq!(code(&refused), -32022);
    assert_eq!(refused["error"]["data"], json!({"requested": "2031-01-01", "supported": [MODERN]}));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.finish(), Vec::<Value>::new());
}

#[test]
fn a_line_over_the_limit_is_passed_over() {
    let folder = good("");
    let mut client = Client::open(&folder);
    client.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":"big","method":"ping","x":"{}"}}"#,
        "x".repeat(17 << 20)
    ));
    let answer = client.answer(&Value::Null);
    assert_eq!(code(&answer), -32600);
    assert!(answer["error"]["message"].as_str().unwrap().contains("16777216"), "{answer}");
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    client.finish();
}

#[test]
fn wrong_arguments_are_asked_for_again_and_recorded() {
    let folder = good("");
    let mut client = Client::open(&folder);
    for arguments in [json!({"text": 5}), json!({"txt": "a"}), json!([]), json!("a")] {
        assert_eq!(client.refusal("good.echo", arguments), pair("ask", "invalid_arguments"));
    }
    let call = r#"{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"tool_execute","arguments":{"capability":"good.echo","arguments":{"text":"a","text":"b"}}}}"#;
    client.send_line(call);
    let (is_error, body) = unpack(&client.answer(&json!("d")));
    assert!(is_error && body["message"].as_str().unwrap().contains("duplicate"), "{body}");
    for call in [
        r#"{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"tool_browse","arguments":{"query":"a","query":"b"}}}"#,
        r#"{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"tool_view","arguments":{"handle":"a","handle":"b"}}}"#,
    ] {
        client.send_line(call);
        let (is_error, body) = unpack(&client.answer(&json!("d")));
        assert!(is_error && body["message"].as_str().unwrap().contains("duplicate"), "{body}");
    }
    assert_eq!(client.refusal("good.unheard", json!({})), pair("deny", "not_found"));
    assert_eq!(client.refusal("elsewhere.echo", json!({})), pair("deny", "not_found"));
    assert_eq!(client.refusal("not an id", json!({})), pair("ask", "invalid_arguments"));
    for arguments in [
        json!({"page": 0}),
        json!({"query": "a", "k": 0}),
        json!({"query": 1}),
        json!({"qery": "a"}),
    ] {
        let (is_error, body) = client.call("tool_browse", arguments);
        assert!(is_error && reason(&body) == pair("ask", "invalid_arguments"), "{body}");
    }
    client.finish();
    let refused = of_capability(&folder, "call.refused", "good.echo");
    assert_eq!(refused.len(), 5, "{refused:?}");
    assert!(refused.iter().all(|event| event["reason"] == "invalid_arguments"));
    assert_eq!(of_capability(&folder, "call.intent", "good.echo").len(), 0);
    assert_eq!(of_capability(&folder, "call.refused", "good.unheard")[0]["reason"], "not_found");
}

#[test]
fn a_cancelled_call_is_not_answered_and_its_end_is_recorded() {
    let folder = good("");
    let mut client = Client::open(&folder);
    // The server is there, so that calls reach it in their order.
    client.execute("good.echo", json!({}));
    let slow = json!({"name": "tool_execute", "arguments": {"capability": "good.slow"}});
    let id = client.begin("tools/call", slow.clone());
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // The id is free again, and what it names now is not answered by the cancelled call.
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
        {"name": "tool_execute", "arguments": {"capability": "good.slow", "arguments": {"text": "mine"}}}}));
    let (_, body) = unpack(&client.answer(&id));
    assert!(shown(&body).contains("mine"), "{body}");
    assert_eq!(client.finish(), Vec::<Value>::new());
    // One that is cancelled before it began is no call; one that began has an end.
    let count = |kind: &str| of_capability(&folder, kind, "good.slow").len();
    let begun = count("call.intent");
    let ended = count("call.outcome") + count("call.outcome_unknown");
    assert!((1..=2).contains(&begun) && ended == begun, "{begun} began, {ended} ended");
}

#[test]
fn an_id_under_way_cannot_be_used_twice() {
    let folder = good("");
    let mut client = Client::open(&folder);
    let slow = json!({"name": "tool_execute", "arguments": {"capability": "good.slow"}});
    let id = client.begin("tools/call", slow);
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!(code(&client.answer(&id)), -32600);
    assert!(!unpack(&client.answer(&id)).0);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.finish(), Vec::<Value>::new());
}

#[test]
fn calls_under_way_end_when_stdin_closes() {
    let folder = good("");
    let mut client = Client::open(&folder);
    client.execute("good.echo", json!({}));
    let slow = json!({"name": "tool_execute", "arguments": {"capability": "good.slow"}});
    let ids: Vec<Value> = (0..3).map(|_| client.begin("tools/call", slow.clone())).collect();
    let rest = client.finish();
    assert_eq!(rest.len(), 3, "{rest:?}");
    assert!(
        ids.iter().all(|id| rest.iter().any(|answer| answer["id"] == *id && !unpack(answer).0))
    );
    assert_eq!(of_capability(&folder, "call.outcome", "good.slow").len(), 3);
}

#[test]
fn large_results_fit_the_budget_and_pictures_arrive_whole() {
    let folder = good("");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("good.big", json!({}));
    assert!(!is_error, "{body}");
    let text = shown(&body);
    let tokens = Tiktoken::O200K.count(text).tokens().unwrap();
    assert!(tokens <= 8_000, "{tokens} tokens of at most 8,000");
    assert!(text.contains("[weaver]") && text.contains("`tool_view {"), "{text}");
    assert!(body["handle"].is_string(), "the rest can be had: {body}");
    let (is_error, body) = client.execute("good.picture", json!({}));
    assert!(!is_error, "{body}");
    let picture = json!({"type": "image", "data": "iVBORw0KGgpJSERS", "mimeType": "image/png"});
    assert_eq!(body["content"], json!([picture]));
    for mode in ["summary", "table", "handle_only"] {
        for (tool, size) in [("good.big", 3_000_000), ("good.picture", 11)] {
            let asked = json!({"capability": tool, "mode": mode});
            let (is_error, body) = client.call("tool_execute", asked);
            assert!(!is_error, "{body}");
            let frame = &body["frame"];
            assert!(frame.to_string().len() <= 8_000, "{}", frame.to_string().len());
            assert!(frame["handle"]["byte_size"].as_u64().unwrap() >= size, "{frame}");
            assert!(!body.to_string().contains("iVBORw0KGgpJSERS"), "{body}");
        }
    }
    client.finish();
}

#[test]
fn other_calls_are_answered_while_a_large_result_is_redacted() {
    let folder = folder(&[("a", "good"), ("b", "good")], "[gateway]\nmode = \"proxy\"", "");
    let mut client = Client::open(&folder);
    client.tools();
    let call = |name: &str, text: &str| json!({"name": name, "arguments": {"text": text}});
    let large = client.begin("tools/call", call("a__echo", "urls"));
    let mut answered = 0;
    loop {
        let small = client.begin("tools/call", call("b__echo", "x"));
        let ended = loop {
            let id = client.line().unwrap()["id"].clone();
            if id == large || id == small {
                break id;
            }
        };
        if ended == large {
            break;
        }
        answered += 1;
    }
    assert!(answered > 4, "{answered} calls were answered meanwhile");
    client.finish();
}

#[test]
fn a_handle_shows_rows_by_offset_limit_and_fields() {
    let folder = good("");
    let mut client = Client::open(&folder);
    let (_, body) = client.execute("good.rows", json!({}));
    let handle = body["handle"].clone();
    assert_eq!(body["structured"]["rows"].as_array().unwrap().len(), 500, "{body}");
    let asked = json!({"handle": handle, "offset": 490, "limit": 3, "fields": ["n"]});
    let (is_error, body) = client.call("tool_view", asked);
    assert!(!is_error, "{body}");
    assert_eq!(shown(&body), "n\n490\n491\n492");
    for (asked, expected) in [
        (json!({"handle": "h_bogus"}), pair("deny", "handle_not_found")),
        (json!({"handle": "a b"}), pair("ask", "invalid_arguments")),
        (json!({"handle": handle, "offset": -1}), pair("ask", "invalid_arguments")),
        (json!({"handle": handle, "filters": {}}), pair("ask", "invalid_arguments")),
        (json!({"handle": handle, "limit": 10_001}), pair("ask", "invalid_arguments")),
        (json!({}), pair("ask", "invalid_arguments")),
    ] {
        let (is_error, body) = client.call("tool_view", asked);
        assert!(is_error, "{body}");
        assert_eq!(reason(&body), expected, "{body}");
    }
    client.finish();
    assert_eq!(of_capability(&folder, "handle.resolved", "good.rows").len(), 1);
}

#[test]
fn a_handle_of_an_earlier_process_can_be_asked_first() {
    let folder = good("");
    let mut client = Client::open(&folder);
    let (_, body) = client.execute("good.rows", json!({}));
    let handle = body["handle"].clone();
    client.finish();
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("tool_view", json!({"handle": handle, "limit": 1}));
    assert!(!is_error, "{body}");
    client.finish();
}

#[test]
fn personal_data_is_redacted_in_what_is_shown_and_recorded() {
    let folder = good(UNTRUSTED);
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("good.people", json!({}));
    assert!(!is_error && !body.to_string().contains("jane.doe"), "{body}");
    assert!(!body["warnings"].as_array().unwrap().is_empty(), "{body}");
    client.execute("good.echo", json!({"text": "jane.doe@corp.example.com"}));
    client.finish();
    let all = json!(events(&folder)).to_string();
    assert!(all.contains("good.people") && !all.contains("jane.doe"), "{all}");
}

#[test]
fn a_hidden_tool_appears_nowhere() {
    let folder = good(HIDDEN);
    let mut client = Client::open(&folder);
    let (_, body) =
        client.call("tool_browse", json!({"query": "secret plans for tests of content", "k": 20}));
    assert!(!body.to_string().contains("secret_plans"), "{body}");
    assert!(!body["tools"].as_array().unwrap().is_empty());
    let pairs = [("tool_browse", "capability"), ("tool_execute", "capability")];
    for (tool, key) in pairs {
        let [one, other] = ["good.secret_plans", "good.secret_plots"].map(|id| {
            let (is_error, mut body) = client.call(tool, json!({ key: id }));
            assert!(is_error);
            assert_eq!(reason(&body), pair("deny", "not_found"));
            body.as_object_mut().unwrap().remove("call");
            body.to_string().replace(id, "")
        });
        assert_eq!(one, other);
    }
    client.finish();
}

#[test]
fn a_run_outlives_the_process() {
    let folder = good(&format!("{SINK}{UNTRUSTED}"));
    let mut client = Client::open(&folder);
    let reasons = |client: &mut Client| -> Vec<String> {
        let (is_error, body) = client.execute("good.send", json!({}));
        assert!(is_error && body["verdict"] == "hold", "{body}");
        let obstacles = body["obstacles"].as_array().unwrap();
        obstacles.iter().map(|said| said["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(reasons(&mut client), ["floor_hold"]);
    client.execute("good.people", json!({}));
    let tainted = reasons(&mut client);
    assert!(tainted.contains(&"untrusted_influence".to_owned()), "{tainted:?}");
    client.finish();
    let mut client = Client::open_modern(&folder);
    assert_eq!(reasons(&mut client), tainted, "the same after a restart");
    client.finish();
    let held = of_capability(&folder, "call.refused", "good.send");
    assert_eq!(held.len(), 3);
    assert_eq!(events(&folder).iter().filter(|(kind, _)| kind == "run.started").count(), 1);
}

#[test]
fn a_model_justifies_only_where_the_policy_takes_its_word() {
    let folder = good("");
    let mut client = Client::open(&folder);
    let note = json!({"capability": "good.note", "arguments": {"text": "x"}});
    let mut justified = note.clone();
    justified["justification"] = "the user asked for a note".into();
    let (is_error, body) = client.call("tool_execute", note.clone());
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), pair("ask", "insufficient_justification"));
    let (is_error, body) = client.call("tool_execute", justified.clone());
    assert!(!is_error && body["verdict"] == "allow", "{body}");
    client.finish();
    let intent = of_capability(&folder, "call.intent", "good.note");
    assert_eq!(
        intent[0]["justification"],
        json!({"text": "the user asked for a note", "source": "model"})
    );
    let rules = client::RULES.replace("sources = [\"model\"]", "sources = [\"human\"]");
    client::replace(&folder, "policy", 2, &format!("principals.owner.roles = []\n{rules}"));
    let mut client = Client::open(&folder);
    for asked in [note, justified] {
        let (is_error, body) = client.call("tool_execute", asked);
        assert!(is_error, "{body}");
        assert_eq!(reason(&body).0, "hold", "nobody can be asked here: {body}");
    }
    client.finish();
}

#[test]
fn a_configuration_that_cannot_be_used_is_told_on_stderr() {
    let folder = good("");
    let missing = weaver(&["serve", "--standalone", "--config", "/nowhere/weaver.toml"]);
    assert_eq!((missing.code, missing.out.as_str()), (3, ""), "{missing:?}");
    assert!(missing.err.contains("/nowhere/weaver.toml"), "{missing:?}");
    folder.append(
        "policy/policy.toml",
        "[[rules]]\nname = \"more\"\nmatch = {}\neffect = \"allow\"\nreason = \"unsigned\"\n",
    );
    let ended = Client::start(&folder).end();
    assert!(ended.code != 0 && ended.rest.is_empty(), "{}", ended.stderr);
    assert!(ended.stderr.contains("policy.toml"), "{}", ended.stderr);
    folder.append("weaver.toml", "\n[gatway]\nmode = 5\n");
    let ended = Client::start(&folder).end();
    assert!(ended.code != 0 && ended.rest.is_empty(), "{}", ended.stderr);
    assert!(ended.stderr.contains("gatway"), "{}", ended.stderr);
}

#[test]
fn calls_that_never_end_are_bounded_in_number_and_do_not_keep_the_process() {
    let folder = good("");
    let mut client = Client::open(&folder);
    let mut quiet = json!({"name": "tool_execute", "arguments": {"capability": "good.quiet"}});
    // Five long lines leave little room, and the sixth finds none.
    quiet["padding"] = "x".repeat(12 << 20).into();
    (0..5).for_each(|_| drop(client.begin("tools/call", quiet.clone())));
    assert_eq!(code(&client.request("tools/call", quiet.clone())), -32600);
    quiet["padding"] = Value::Null;
    let ids: Vec<Value> = (0..295).map(|_| client.begin("tools/call", quiet.clone())).collect();
    let refused = ids.iter().skip(251).filter(|id| code(&client.answer(id)) == -32600);
    assert_eq!(refused.count(), 44);
    client.finish();
    let intents = of_capability(&folder, "call.intent", "good.quiet").len();
    let ends = ["call.outcome", "call.outcome_unknown"]
        .map(|kind| of_capability(&folder, kind, "good.quiet").len());
    assert_eq!((intents, ends[0] + ends[1]), (256, 256), "{ends:?}");
}
