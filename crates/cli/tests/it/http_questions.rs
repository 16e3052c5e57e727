//! What a client over HTTP is asked and told, and on which stream.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::http::{Web, read_until, request};

/// Answers the server's questions for the roots, and gives the answer to the request.
fn answer_after_roots(
    web: &Web,
    session: &[(&str, &str)],
    stream: &mut TcpStream,
    look: impl Fn(&Value),
) -> Value {
    loop {
        let event = read_until(stream, "\n\n");
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        let Some(message) = data.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
            continue;
        };
        if message["method"] != "roots/list" {
            return message;
        }
        look(&message);
        let roots = json!({ "roots": [{ "uri": "file:///work" }] });
        let told = json!({ "jsonrpc": "2.0", "id": message["id"], "result": roots });
        assert_eq!(web.post(session, &told).status, 202);
    }
}

/// A client may have no other stream open. On one that it has, it could not tell what the question
/// is about.
#[test]
fn a_question_of_a_call_comes_where_the_call_is_answered() {
    let web = Web::prepared("features", "", None);
    let id = web.open_with(json!({ "roots": {} }));
    let session = [("mcp-session-id", id.as_str())];
    let arguments = json!({ "capability": "good.ask", "arguments": { "text": "roots/list" } });
    let call = json!({ "name": "tool_execute", "arguments": arguments });
    let mut stream = web.begin_post(&session, &request(2, "tools/call", call));
    // The server asks once more for its own sake, since this client is new.
    let answer = answer_after_roots(&web, &session, &mut stream, |_| {});
    assert!(answer.to_string().contains("file:///work"), "{answer}");
}

/// The client has no other stream, and two of its requests do not hear of one another.
#[test]
fn the_log_of_a_call_comes_where_the_call_is_answered() {
    let web = Web::prepared("features", "", None);
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "tool_execute"),
    ];
    let call = |level: Option<&str>| {
        let mut meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {} });
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        let arguments = json!({ "capability": "good.ask", "arguments": { "text": "log" } });
        let params = json!({ "name": "tool_execute", "arguments": arguments, "_meta": meta });
        web.post(&headers, &request(2, "tools/call", params))
    };
    let told = call(Some("info")).events();
    let levels: Vec<&Value> = told.iter().map(|event| &event["params"]["level"]).collect();
    assert_eq!(levels, [&json!("info"), &json!("error"), &Value::Null], "{told:?}");
    assert!(told[2]["result"].is_object(), "the answer is the last: {told:?}");
    assert_eq!(call(Some("error")).events().len(), 2);
    assert_eq!(call(None).headers["content-type"], "application/json");
    assert_eq!(call(Some("loud")).json()["error"]["code"], -32602);
}

/// A client opens its stream when it has heard that its session is open, which takes a moment.
#[test]
fn what_is_told_before_there_is_a_stream_waits_for_it() {
    let web = Web::prepared("features", "", None);
    let id = web.open_with(json!({}));
    let session = [("mcp-session-id", id.as_str())];
    let listed = || {
        let listed = web.post(&session, &request(3, "resources/list", json!({})));
        listed.json()["result"]["resources"].as_array().unwrap().len()
    };
    let before = listed();
    let read = request(2, "resources/read", json!({ "uri": "note://events" }));
    assert_eq!(web.post(&session, &read).status, 200);
    // The server is asked for its new list before anybody is told of it.
    let is_told = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        listed() > before
    });
    assert!(is_told);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let words = "notifications/resources/list_changed\"";
    read_until(&mut web.listen(&id), words);
}

/// A client that follows a call as a task has its answer already, and may have no stream but the one on
/// which it waits for the result.
#[test]
fn a_question_about_a_task_comes_where_its_result_is_waited_for() {
    let web = Web::prepared("features", "", None);
    let id = web.open_with(json!({ "roots": {} }));
    let session = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let arguments = json!({ "capability": "good.ask", "arguments": { "text": "roots/list" } });
    let call = json!({ "name": "tool_execute", "arguments": arguments, "task": {} });
    let begun = web.post(&session, &request(2, "tools/call", call)).json();
    let task = begun["result"]["task"]["taskId"].clone();
    assert!(task.is_string(), "{begun}");
    let waits = |answered: &str| {
        let get = request(3, "tasks/get", json!({ "taskId": task }));
        let told = web.post(&session, &get).json();
        assert_ne!(told["result"]["status"], "failed", "{told}");
        told["result"]["status"] == answered
    };
    let is_asked = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        waits("input_required")
    });
    assert!(is_asked, "the question waits for a stream");
    let result = request(4, "tasks/result", json!({ "taskId": task }));
    let mut stream = web.begin_post(&session, &result);
    let answer = answer_after_roots(&web, &session, &mut stream, |message| {
        let related = &message["params"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], task, "{message}");
    });
    assert_eq!(answer["id"], 4, "{answer}");
    assert!(answer.to_string().contains("file:///work"), "{answer}");
}

/// Most clients number their requests from 1, and all without a token share one session.
#[test]
fn two_streams_that_have_one_id_are_told_and_one_goes_on_without_the_other() {
    let web = Web::prepared("features", "", None);
    let send = |method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {} });
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(name.map(|name| ("mcp-name", name)));
        web.begin_post(&headers, &request(1, method, params))
    };
    let listen = || {
        let filter = json!({ "resourceSubscriptions": ["note://1"] });
        let mut stream = send("subscriptions/listen", None, json!({ "notifications": filter }));
        read_until(&mut stream, "note://1\"]}");
        stream
    };
    let change = || {
        let uri = "note://events";
        let mut answer = send("resources/read", Some(uri), json!({ "uri": uri }));
        read_until(&mut answer, "contents");
    };
    let updated = "notifications/resources/updated\"";
    let (mut first, mut second) = (listen(), listen());
    change();
    read_until(&mut first, updated);
    read_until(&mut second, updated);
    drop(first);
    change();
    read_until(&mut second, updated);
}

/// A message comes once (2025-11-25), so that nobody is asked twice.
#[test]
fn the_latest_stream_of_a_session_is_told_and_the_one_before_ends() {
    let web = Web::prepared("features", "", None);
    let id = web.open_with(json!({}));
    let mut first = web.listen(&id);
    read_until(&mut first, "\r\n\r\n");
    let mut second = web.listen(&id);
    read_until(&mut second, "\r\n\r\n");
    let rest = read_until(&mut first, "0\r\n\r\n");
    assert!(!rest.contains("waiting"), "it ends at once: {rest}");
    let session = [("mcp-session-id", id.as_str())];
    let read = request(2, "resources/read", json!({ "uri": "note://events" }));
    assert_eq!(web.post(&session, &read).status, 200);
    read_until(&mut second, "notifications/resources/list_changed\"");
}
