//! Calls that a client follows as tasks (2025-11-25).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weaver_types::ApprovalRequestId;

use crate::approvals;
use crate::client::{Client, folder, initialize, of_capability};
use crate::support::Folder;

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// `steps` does as it is told, with progress on the way; `stall` never ends.
const STEPS: &str = "[capabilities.\"good.steps\"]\neffects = \"read_local\"\n\
    output = { integrity = \"untrusted\" }\n\n[capabilities.\"good.stall\"]\n\
    effects = \"read_local\"\ntimeout_ms = 30000\noutput = { integrity = \"untrusted\" }\n\n";

fn stepping() -> Folder {
    folder(&[("good", "steps")], "", STEPS)
}

fn call(capability: &str, arguments: &Value, task: &Value) -> Value {
    json!({ "name": "tool_execute", "task": task,
        "arguments": { "capability": capability, "arguments": arguments } })
}

/// Begins a task; the answer to its call.
fn begin(client: &mut Client, params: Value) -> Value {
    let answer = client.request("tools/call", params);
    let task = answer.pointer("/result/task").unwrap_or_else(|| panic!("no task: {answer}"));
    assert!(task["taskId"].is_string() && task["createdAt"].is_string(), "{answer}");
    task.clone()
}

fn about(client: &mut Client, method: &str, task: &Value) -> Value {
    client.request(method, json!({ "taskId": task["taskId"] }))
}

#[test]
fn a_call_is_followed_as_a_task_until_its_result_is_fetched() {
    let folder = stepping();
    let mut client = Client::start(&folder);
    let opened = client.request("initialize", initialize());
    let offered = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(opened["result"]["capabilities"]["tasks"], offered);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let support = |tool: &Value| (tool["name"].clone(), tool["execution"]["taskSupport"].clone());
    let listed: Vec<_> = client.tools().iter().map(support).collect();
    let wanted = [("tool_browse", json!(null)), ("tool_execute", json!("optional"))];
    let wanted = wanted.into_iter().chain([("tool_view", json!(null))]);
    assert_eq!(listed, wanted.map(|(name, said)| (json!(name), said)).collect::<Vec<_>>());

    let mut params = call("good.steps", &json!({ "text": "slowly" }), &json!({ "ttl": 60_000 }));
    params["_meta"] = json!({ "progressToken": "p" });
    let task = begin(&mut client, params);
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)));
    // Its result is waited for; other requests are answered meanwhile.
    let waiting = client.begin("tasks/result", json!({ "taskId": task["taskId"] }));
    assert_eq!(about(&mut client, "tasks/get", &task)["result"]["status"], "working");
    let result = client.answer(&waiting);
    assert_eq!(result["result"]["content"][0]["text"], "done", "{result}");
    assert_eq!(result["result"]["_meta"][RELATED], json!({ "taskId": task["taskId"] }));
    let told = client.progress();
    assert_eq!(told.iter().map(|told| &told["progress"]).collect::<Vec<_>>(), [1.0, 2.5, 3.0]);
    let related = json!({ "taskId": task["taskId"] });
    assert!(told.iter().all(|told| told["_meta"][RELATED] == related), "{told:?}");
    let ended = about(&mut client, "tasks/get", &task);
    assert_eq!(ended["result"]["status"], "completed", "{ended}");
    let all = client.request("tasks/list", json!({}));
    assert_eq!(all["result"]["tasks"], json!([ended["result"]]), "{all}");
    assert_eq!(about(&mut client, "tasks/cancel", &task)["error"]["code"], -32602);
    let news = client.notice();
    assert_eq!(news["method"], "notifications/tasks/status", "{news}");
    assert_eq!(news["params"]["status"], "completed", "{news}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.intent", "good.steps").len(), 1);
    assert_eq!(of_capability(&folder, "call.outcome", "good.steps").len(), 1);
}

#[test]
fn a_cancelled_task_gives_its_call_up_and_the_log_has_its_end() {
    let folder = stepping();
    let mut client = Client::open(&folder);
    let task = begin(&mut client, call("good.stall", &json!({ "text": "no end" }), &json!({})));
    let waiting = client.begin("tasks/result", json!({ "taskId": task["taskId"] }));
    // How far it is stands in the task.
    let begun = Instant::now();
    while about(&mut client, "tasks/get", &task)["result"]["statusMessage"].is_null() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing is said");
    }
    let cancelled = about(&mut client, "tasks/cancel", &task);
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    assert_eq!(client.answer(&waiting)["error"]["code"], -32602);
    assert_eq!(about(&mut client, "tasks/cancel", &task)["error"]["code"], -32602);
    client.finish();
    let ends = ["call.outcome", "call.outcome_unknown"];
    let ends = ends.map(|kind| of_capability(&folder, kind, "good.stall").len());
    assert_eq!(ends[0] + ends[1], 1, "{ends:?}");
}

/// Where a client gives its calls up at once, some of them are tasks that it was told of before.
#[test]
fn no_task_goes_on_that_its_client_was_never_told_of() {
    let folder = stepping();
    let mut client = Client::open(&folder);
    let params = call("good.stall", &json!({ "text": "no end" }), &json!({}));
    for n in 0..20 {
        let id = format!("early {n}");
        let lines = [
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": id } }),
        ];
        client.send_line(&lines.map(|line| line.to_string()).join("\n"));
    }
    std::thread::sleep(Duration::from_secs(1));
    let all = client.request("tasks/list", json!({}));
    let all = all["result"]["tasks"].as_array().unwrap().clone();
    let rest = client.finish();
    let is_told =
        |task: &&Value| rest.iter().any(|line| line["result"]["task"]["taskId"] == task["taskId"]);
    let works = all.iter().filter(|task| task["status"] == "working");
    assert_eq!(works.clone().count(), works.filter(is_told).count(), "{all:?} {rest:?}");
}

/// The tools of a server that starts slowly are waited for, as by any call.
#[test]
fn a_task_waits_for_a_server_that_starts() {
    let folder = folder(&[("s", "late")], "[gateway]\nmode = \"proxy\"", "");
    let mut client = Client::open(&folder);
    let params = |name: &str| json!({ "name": name, "arguments": { "text": "x" }, "task": {} });
    let answer = client.request("tools/call", params("s__echo"));
    assert_eq!(answer["error"]["code"], -32601, "it is listed, and not as a task: {answer}");
    let unknown = client.request("tools/call", params("s__nothing"));
    assert_eq!(unknown["error"]["code"], -32602, "as any other call: {unknown}");
    client.finish();
}

/// What a plain call would be told, and what the log would keep of it, a task is told too.
#[test]
fn a_task_of_a_server_that_is_away_fails_as_any_call() {
    let folder = folder(&[("s", "absent")], "[gateway]\nmode = \"proxy\"", "");
    let mut client = Client::open(&folder);
    let params = json!({ "name": "s__echo", "arguments": { "text": "x" }, "task": {} });
    let task = begin(&mut client, params);
    let result = about(&mut client, "tasks/result", &task);
    assert_eq!(result["result"]["structuredContent"]["reason"], "upstream_unavailable", "{result}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.refused", "s.echo").len(), 1);
}

#[test]
fn a_refused_call_is_a_failed_task_with_the_refusal_as_its_result() {
    let folder = stepping();
    let mut client = Client::open(&folder);
    let task = begin(&mut client, call("good.note", &json!({ "text": "x" }), &json!({})));
    let result = about(&mut client, "tasks/result", &task);
    assert_eq!(result["result"]["isError"], true, "{result}");
    assert_eq!(result["result"]["structuredContent"]["verdict"], "ask", "{result}");
    let how = about(&mut client, "tasks/get", &task);
    assert_eq!(how["result"]["status"], "failed", "{how}");
    assert_eq!(how["result"]["statusMessage"], result["result"]["structuredContent"]["message"]);
    client.finish();
}

#[test]
fn a_held_task_waits_for_its_approval_and_goes_on() {
    let folder = approvals::held("");
    let mut client = Client::open(&folder);
    let params = call("good.send", &approvals::message("hello"), &json!({}));
    let task = begin(&mut client, params);
    let mut waits = String::new();
    crate::support::until("a held task", || {
        let how = about(&mut client, "tasks/get", &task);
        assert_eq!(how["result"]["status"], "working", "{how}");
        waits = how["result"]["statusMessage"].as_str().unwrap_or_default().to_owned();
        waits.contains("waiting for a person")
    });
    let id = ApprovalRequestId::parse(waits.rsplit(' ').next().unwrap()).unwrap();
    approvals::drop_in(&folder, &approvals::granted(&folder, &id));
    let result = about(&mut client, "tasks/result", &task);
    assert_eq!(result["result"]["isError"], false, "{result}");
    assert_eq!(about(&mut client, "tasks/get", &task)["result"]["status"], "completed");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "good.send").len(), 1);
}

#[test]
fn what_is_no_task_is_refused_and_other_revisions_have_none() {
    let folder = stepping();
    let mut client = Client::open(&folder);
    let view = json!({ "name": "tool_view", "arguments": { "handle": "x" }, "task": {} });
    assert_eq!(client.request("tools/call", view)["error"]["code"], -32601);
    let bad = call("good.steps", &json!({}), &json!({ "ttl": "long" }));
    assert_eq!(client.request("tools/call", bad)["error"]["code"], -32602);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let unknown = client.request(method, json!({ "taskId": "task_of_another" }));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
    client.finish();

    let mut client = Client::start(&folder);
    let mut opening = initialize();
    opening["protocolVersion"] = json!("2025-06-18");
    let opened = client.request("initialize", opening);
    assert!(opened["result"]["capabilities"]["tasks"].is_null(), "{opened}");
    assert!(client.tools().iter().all(|tool| tool["execution"].is_null()));
    let answer = client.request("tools/call", call("good.steps", &json!({}), &json!({})));
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    assert_eq!(client.request("tasks/list", json!({}))["error"]["code"], -32601);
    client.finish();

    let mut client = Client::open_modern(&folder);
    let answer = client.request("tools/call", call("good.steps", &json!({}), &json!({})));
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    client.finish();
}

#[test]
fn a_task_waits_for_the_input_of_its_client() {
    let asking =
        "[capabilities.\"f.elicitation/create\"]\neffects = \"read_open\"\nsink = \"none\"\n";
    let folder = folder(&[("f", "features")], "[gateway]\nmode = \"proxy\"", asking);
    let mut client = Client::start(&folder);
    let mut opening = initialize();
    opening["capabilities"] = json!({ "elicitation": {} });
    client.request("initialize", opening);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let ask = client.tools().into_iter().find(|tool| tool["name"] == "f__ask").unwrap();
    assert_eq!(ask["execution"]["taskSupport"], "optional", "as its server lists it");
    let params =
        json!({ "name": "f__ask", "task": {}, "arguments": { "text": "elicitation/create" } });
    let task = begin(&mut client, params);
    let question = client.line().unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(question["params"]["_meta"][RELATED], json!({ "taskId": task["taskId"] }));
    let how = about(&mut client, "tasks/get", &task);
    assert_eq!(how["result"]["status"], "input_required", "{how}");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let result = about(&mut client, "tasks/result", &task);
    assert!(
        result["result"]["content"][0]["text"].as_str().unwrap().contains("accept"),
        "{result}"
    );
    client.finish();
}
