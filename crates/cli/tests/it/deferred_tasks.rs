//! Calls that take long go on as tasks (the extension to 2026-07-28).

use std::process::Command;

use serde_json::{Value, json};
use weaver_types::ApprovalRequestId;

use crate::approvals;
use crate::client::{Client, folder, of_capability};
use crate::support::Folder;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A call that waits for a person, and then asks its client.
const ASKING: &str = "[capabilities.\"f.elicitation/create\"]\neffects = \"read_open\"\n\
    sink = \"none\"\n\n[capabilities.\"f.ask\"]\neffects = \"write_open\"\n\
    sink = \"external_send\"\n";

fn knowing_tasks(folder: &Folder) -> Client {
    let mut client = Client::open_modern(folder);
    client.capabilities = json!({ "extensions": { EXTENSION: {} }, "elicitation": {} });
    client
}

fn call(capability: &str, arguments: &Value) -> Value {
    json!({ "name": "tool_execute",
        "arguments": { "capability": capability, "arguments": arguments } })
}

fn about(client: &mut Client, method: &str, task: &Value) -> Value {
    client.request(method, json!({ "taskId": task["taskId"] }))["result"].clone()
}

/// Begins a call that goes on as a task.
fn begin(client: &mut Client, params: Value) -> Value {
    let task = client.request("tools/call", params)["result"].clone();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    for inlined in ["task", "result", "error", "inputRequests", "ttl", "pollInterval"] {
        assert!(task[inlined].is_null(), "{inlined}: {task}");
    }
    task
}

/// Waits until a task has this status, and returns it.
fn wait_for(client: &mut Client, task: &Value, status: &str) -> Value {
    let mut seen = Value::Null;
    crate::support::until(status, || {
        seen = about(client, "tasks/get", task);
        assert_eq!(seen["resultType"], "complete", "{seen}");
        seen["status"] == status
    });
    seen
}

/// The request that a task waits for.
fn request_of(client: &mut Client, task: &Value) -> ApprovalRequestId {
    let waiting = about(client, "tasks/get", task);
    let message = waiting["statusMessage"].as_str().unwrap_or_else(|| panic!("{waiting}"));
    assert!(message.contains("waiting for a person"), "{message}");
    ApprovalRequestId::parse(message.rsplit(' ').next().unwrap()).unwrap()
}

#[test]
fn a_held_call_goes_on_as_a_task_until_somebody_answers() {
    let folder = approvals::held("");
    let mut client = knowing_tasks(&folder);
    let found = client.request("server/discover", json!({}))["result"]["capabilities"].clone();
    assert_eq!(found["extensions"][EXTENSION], json!({}), "{found}");
    assert!(found["tasks"].is_null(), "{found}");
    let task = begin(&mut client, call("good.send", &approvals::message("hello")));
    assert!(task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64(), "{task}");
    let id = request_of(&mut client, &task);
    approvals::drop_in(&folder, &approvals::granted(&folder, &id));
    let ended = wait_for(&mut client, &task, "completed");
    assert_eq!(ended["result"]["isError"], false, "{ended}");
    assert!(ended["result"]["_meta"]["io.modelcontextprotocol/related-task"].is_null());
    assert_eq!(about(&mut client, "tasks/cancel", &task), json!({ "resultType": "complete" }));
    assert_eq!(about(&mut client, "tasks/get", &task), ended, "it has ended before");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "good.send").len(), 1);
}

#[test]
fn a_slow_call_goes_on_as_a_task_and_its_client_can_cancel_it() {
    let stall = "[capabilities.\"good.stall\"]\neffects = \"read_local\"\ntimeout_ms = 60000\n\
        output = { integrity = \"untrusted\" }\n\n";
    let folder = folder(&[("good", "steps")], "", stall);
    let mut client = knowing_tasks(&folder);
    let quick = client.request("tools/call", call("good.steps", &json!({ "text": "slowly" })));
    assert_eq!(quick["result"]["content"][0]["text"], "done", "{quick}");
    let task = begin(&mut client, call("good.stall", &json!({ "text": "no end" })));
    assert_eq!(about(&mut client, "tasks/cancel", &task), json!({ "resultType": "complete" }));
    let ended = about(&mut client, "tasks/get", &task);
    assert_eq!(ended["status"], "cancelled", "{ended}");
    client.finish();
    let ends = ["call.outcome", "call.outcome_unknown"];
    let ends = ends.map(|kind| of_capability(&folder, kind, "good.stall").len());
    assert_eq!(ends[0] + ends[1], 1, "{ends:?}");
}

#[test]
fn a_task_shows_its_questions_and_takes_the_answers() {
    let folder = folder(&[("f", "features")], "", ASKING);
    folder.write("policy/keys.toml", &approvals::keys(2));
    folder.sign("keys");
    let mut client = knowing_tasks(&folder);
    let asking = call("f.ask", &json!({ "text": "elicitation/create" }));
    let task = begin(&mut client, asking);
    let id = request_of(&mut client, &task);
    approvals::drop_in(&folder, &approvals::granted(&folder, &id));
    let asked = wait_for(&mut client, &task, "input_required");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = |key: &str| {
        let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
        json!({ "taskId": task["taskId"], "inputResponses": { key: answer } })
    };
    let ignored = client.request("tasks/update", answer("no question"));
    assert_eq!(ignored["result"], json!({ "resultType": "complete" }), "{ignored}");
    assert_eq!(about(&mut client, "tasks/get", &task)["inputRequests"], asked["inputRequests"]);
    let taken = client.request("tasks/update", answer(key));
    assert_eq!(taken["result"], json!({ "resultType": "complete" }), "{taken}");
    let ended = wait_for(&mut client, &task, "completed");
    let text = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("accept"), "{text}");
    client.finish();
}

#[test]
fn the_call_of_a_task_that_a_killed_daemon_had_may_have_run() {
    let folder = approvals::held("");
    let mut client = Client::shim(&folder, &[]).modern();
    client.capabilities = json!({ "extensions": { EXTENSION: {} } });
    let task = begin(&mut client, call("good.send", &approvals::message("hello")));
    let daemon = folder.weaver(&["status", "--json"]).json()["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &daemon]).status().unwrap().success());
    let mut get = |task: &Value| {
        let error = client.request("tasks/get", json!({ "taskId": task }))["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        error
    };
    let lost = get(&task["taskId"]);
    assert_eq!(lost["data"]["reason"], "outcome_unknown", "{lost}");
    let message = lost["message"].as_str().unwrap();
    assert!(message.contains("outcome_unknown") && message.contains("may have run"), "{message}");
    let never = get(&json!("task_of_another"));
    assert!(never["data"].is_null() && !never.to_string().contains("may have run"), "{never}");
    client.finish();
    folder.weaver(&["stop"]);
}

#[test]
fn changes_of_a_task_are_told_to_who_listens() {
    let folder = approvals::held("");
    let mut client = knowing_tasks(&folder);
    let task = begin(&mut client, call("good.send", &approvals::message("hello")));
    let ids = json!({ "taskIds": [task["taskId"], "task_of_another"] });
    let listening = client.begin("subscriptions/listen", json!({ "notifications": ids }));
    let opened = client.notice();
    assert_eq!(opened["method"], "notifications/subscriptions/acknowledged", "{opened}");
    assert_eq!(opened["params"]["notifications"]["taskIds"], json!([task["taskId"]]));
    let id = request_of(&mut client, &task);
    approvals::drop_in(&folder, &approvals::granted(&folder, &id));
    let mut told = client.notice();
    while told["params"]["status"] != "completed" {
        assert_eq!(told["method"], "notifications/tasks", "{told}");
        assert_eq!(told["params"]["taskId"], task["taskId"], "{told}");
        told = client.notice();
    }
    assert_eq!(told["params"]["result"]["isError"], false, "{told}");
    let subscription = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*subscription, listening, "{told}");
    client.finish();
}

#[test]
fn who_does_not_know_tasks_gets_none() {
    let folder = approvals::held("");
    let mut client = Client::open_modern(&folder);
    let (is_error, body) = client.execute("good.send", approvals::message("hello"));
    assert!(is_error && body["verdict"] == "hold", "{body}");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = client.request(method, json!({ "taskId": "task_1", "inputResponses": {} }));
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        let required = &refused["error"]["data"]["requiredCapabilities"];
        assert_eq!(*required, json!({ "extensions": { EXTENSION: {} } }), "{refused}");
    }
    let wanted = json!({ "notifications": { "taskIds": ["task_1"] } });
    assert_eq!(client.request("subscriptions/listen", wanted)["error"]["code"], -32021);
    client.capabilities = json!({ "extensions": { EXTENSION: {} } });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let unknown = client.request(method, json!({ "taskId": "task_1", "inputResponses": {} }));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
    for method in ["tasks/list", "tasks/result"] {
        let removed = client.request(method, json!({ "taskId": "task_1" }));
        assert_eq!(removed["error"]["code"], -32601, "{removed}");
    }
    client.finish();
}
