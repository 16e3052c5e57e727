//! Streamable HTTP against a server that misbehaves.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use serde_json::{Value, json};
use weaver_drivers::McpDriver;
use weaver_drivers::mcp::{
    CallOutcome, Connection, Endpoint, HttpConfig, McpError, RequestHandler, Upstream,
    UpstreamConfig,
};

use crate::kernel::through_kernel;
use crate::support::{complete, connect_with, request};

/// What the server has seen, and the session that it knows.
#[derive(Default)]
struct Seen {
    session: u32,
    requests: Vec<(Method, Value, HeaderMap)>,
    /// It tells of no changes.
    is_quiet: bool,
    /// It opens no stream before the client is ready.
    is_late: bool,
}

impl Seen {
    /// When a message of this method came, among all requests.
    fn place_of(&self, method: &str) -> Option<usize> {
        self.requests.iter().position(|(_, message, _)| message["method"] == method)
    }

    /// When the stream of notifications was asked for.
    fn streams(&self) -> Vec<usize> {
        let requests = self.requests.iter().enumerate();
        requests.filter(|(_, request)| request.0 == Method::GET).map(|(at, _)| at).collect()
    }
}

type Shared = Arc<Mutex<Seen>>;

async fn serve() -> (String, Shared) {
    let shared = Shared::default();
    let router = axum::Router::new().fallback(handle).with_state(Arc::clone(&shared));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/mcp"), shared)
}

fn respond(status: u16, media: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).header("content-type", media).body(body.into()).unwrap()
}

fn events(lines: &[String]) -> Response<Body> {
    let text: String =
        lines.iter().map(|line| format!("event: message\ndata: {line}\n\n")).collect();
    respond(200, "text/event-stream", text)
}

async fn handle(
    State(shared): State<Shared>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut seen = shared.lock().unwrap();
    seen.requests.push((method.clone(), message.clone(), headers.clone()));
    if let Some(place) = headers.get("last-event-id") {
        return rest_of(place.to_str().unwrap());
    }
    if method == Method::GET {
        if seen.is_late && seen.place_of("notifications/initialized").is_none() {
            return respond(400, "text/plain", "not ready");
        }
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        return events(&[changed.to_string()]);
    }
    let id = message["id"].clone();
    if method != Method::POST || id.is_null() {
        return respond(202, "text/plain", Body::empty());
    }
    if message["method"] == "initialize" {
        seen.session += 1;
        let tools = json!({"listChanged": !seen.is_quiet});
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": tools}, "serverInfo": {"name": "h", "version": "1"}});
        let reply = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        let mut response = respond(200, "application/json", reply);
        response
            .headers_mut()
            .insert("mcp-session-id", format!("s{}", seen.session).parse().unwrap());
        return response;
    }
    if headers.get("mcp-session-id").and_then(|v| v.to_str().ok())
        != Some(format!("s{}", seen.session).as_str())
    {
        return respond(404, "text/plain", "who are you");
    }
    if let Some(task) = message["params"]["taskId"].as_str() {
        let asked = message["method"].as_str().unwrap();
        let token = |call: &Value| call["params"]["_meta"]["progressToken"].as_u64();
        let token = seen.requests.iter().rev().find_map(|(_, message, _)| token(message));
        return of_task(&id, TaskLook { task, asked, count: seen.requests.len(), token });
    }
    answer(&id, message["params"]["name"].as_str().unwrap_or_default(), &message["params"])
}

/// A request about a task, the number of requests so far, and under which token its call is followed.
struct TaskLook<'a> {
    task: &'a str,
    asked: &'a str,
    count: usize,
    token: Option<u64>,
}

/// A task that is done at the second look, or never. How far it is comes before each answer.
fn of_task(id: &Value, look: TaskLook<'_>) -> Response<Body> {
    let TaskLook { task, asked, count, token } = look;
    let is_done = task != "endless" && !count.is_multiple_of(2);
    let status = if is_done { "completed" } else { "working" };
    let result = match asked {
        "tasks/get" => {
            json!({"taskId": task, "status": status, "pollInterval": 1, "statusMessage": "reading"})
        }
        "tasks/result" => json!({"content": [{"type": "text", "text": "done"}]}),
        _ => json!({}),
    };
    let reply = json!({"jsonrpc": "2.0", "id": id, "result": result});
    let params = json!({"progressToken": token, "progress": count, "message": "counting"});
    let far = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    match (token, asked) {
        (Some(_), "tasks/get") => events(&[far.to_string(), reply.to_string()]),
        _ => respond(200, "application/json", reply.to_string()),
    }
}

/// What comes after an event. Streams are named by the request that they answer.
fn rest_of(place: &str) -> Response<Body> {
    let (name, request) = place.split_once('-').unwrap();
    let fine =
        json!({"jsonrpc": "2.0", "id": request.parse::<u64>().unwrap(), "result": {"content": []}});
    match name {
        "once" => respond(200, "text/event-stream", format!("id: twice-{request}\ndata:\n\n")),
        "twice" => events(&[fine.to_string()]),
        "endless" => respond(200, "text/event-stream", ""),
        _ => respond(405, "text/plain", "no"),
    }
}

fn answer(id: &Value, name: &str, params: &Value) -> Response<Body> {
    let fine =
        json!({"jsonrpc": "2.0", "id": id, "result": {"content": [], "tools": [1]}}).to_string();
    match name {
        "once" | "endless" | "forgotten" => {
            let text = format!("id: {name}-{id}\nretry: 5\ndata:\n\n");
            respond(200, "text/event-stream", text)
        }
        "long" | "endless task" => {
            let task = if name == "long" { "t" } else { "endless" };
            let task = json!({"taskId": task, "status": "working", "pollInterval": 1});
            let begun = json!({"jsonrpc": "2.0", "id": id, "result": {"task": task}});
            respond(200, "application/json", begun.to_string())
        }
        "json" => respond(200, "application/json; charset=utf-8", fine),
        "events" => {
            let token = &params["_meta"]["progressToken"];
            let step = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}});
            let other = json!({"jsonrpc": "2.0", "id": 999_999, "result": {"content": ["wrong"]}});
            let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
            events(&[
                step.to_string(),
                "noise".to_owned(),
                other.to_string(),
                ping.to_string(),
                fine,
            ])
        }
        "duplicate" => events(&[fine.replace("\"content\"", "\"tools\":2,\"content\"")]),
        "cut" => events(&[json!({"jsonrpc": "2.0", "method": "notifications/x"}).to_string()]),
        "large" => respond(
            200,
            "application/json",
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":"{}"}}}}"#, "x".repeat(200_000)),
        ),
        "large_event" => events(&[format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":"{}"}}}}"#,
            "x".repeat(200_000)
        )]),
        "html" => respond(200, "text/html", "<h1>login</h1>"),
        "wrong" => {
            respond(200, "application/json", fine.replace(&format!("\"id\":{id}"), "\"id\":888888"))
        }
        "null" => {
            respond(200, "application/json", fine.replace(&format!("\"id\":{id}"), "\"id\":null"))
        }
        "bad_request" => respond(
            400,
            "application/json",
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32020, "message": "header"}})
                .to_string(),
        ),
        "broken" => respond(500, "text/plain", "secret internals"),
        "moved" => {
            let mut response = respond(307, "text/plain", "");
            response.headers_mut().insert("location", "http://127.0.0.1:1/".parse().unwrap());
            response
        }
        _ => respond(StatusCode::NOT_IMPLEMENTED.as_u16(), "text/plain", ""),
    }
}

fn config(url: &str) -> UpstreamConfig {
    let mut http = HttpConfig { url: url.to_owned(), ..HttpConfig::default() };
    http.headers.insert("Authorization".to_owned(), "Bearer abc".to_owned());
    let mut config = UpstreamConfig::new("web", Endpoint::Http(http));
    config.limits.message_bytes = 100_000;
    config
}

async fn connect(url: &str) -> Connection {
    connect_with(config(url)).await.unwrap()
}

async fn failed(connection: &Connection, name: &str) -> McpError {
    connection.call(request(name, json!({}))).await.unwrap_err()
}

#[tokio::test]
async fn a_reply_comes_as_json_or_as_events() {
    let (url, seen) = serve().await;
    let connection = connect(&url).await;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&steps);
    for name in ["json", "events"] {
        let reply = complete(&connection, name, json!({})).await;
        assert_eq!(*reply.value(), json!({"content": [], "tools": [1]}));
    }
    let call =
        request("events", json!({})).progress(move |step| sink.lock().unwrap().push(step.progress));
    connection.call(call).await.unwrap();
    assert_eq!(*steps.lock().unwrap(), [1.0]);
    let seen = seen.lock().unwrap();
    let pong = seen.requests.iter().find(|(_, message, _)| message["id"] == "p").unwrap();
    assert_eq!(pong.1["result"], json!({}));
    for (method, message, headers) in
        seen.requests.iter().filter(|(_, m, _)| m["method"] == "tools/call")
    {
        assert_eq!((method, &message["jsonrpc"]), (&Method::POST, &json!("2.0")));
        assert_eq!(headers["mcp-protocol-version"], "2025-06-18");
        assert_eq!(headers["mcp-session-id"], "s1");
        assert_eq!(headers["authorization"], "Bearer abc");
        assert_eq!(headers["accept"], "application/json, text/event-stream");
    }
}

#[tokio::test]
async fn a_broken_answer_fails_its_call_at_once() {
    let (url, _) = serve().await;
    let connection = connect(&url).await;
    for (name, code) in [
        ("duplicate", "mcp.duplicate_key"),
        ("cut", "mcp.http_stream_ended"),
        ("large", "mcp.line_too_long"),
        ("large_event", "mcp.line_too_long"),
        ("html", "mcp.http_content_type"),
        ("wrong", "mcp.neither_result_nor_error"),
        ("null", "mcp.null_id"),
        ("broken", "mcp.http_status"),
        ("moved", "mcp.http_redirect"),
        ("unknown", "mcp.http_status"),
    ] {
        let error = failed(&connection, name).await;
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(
            !error.to_string().contains("secret") && !error.to_string().contains("abc"),
            "{error}"
        );
    }
    let outcome = connection.call(request("bad_request", json!({}))).await.unwrap();
    assert!(matches!(outcome, CallOutcome::Error(error) if error.code == -32020));
    complete(&connection, "json", json!({})).await;
}

/// A server may ask as soon as it knows that the client is ready; it asks on the stream.
#[tokio::test]
async fn the_stream_of_notifications_is_open_before_the_client_is_ready() {
    let (url, seen) = serve().await;
    let _connection = connect(&url).await;
    let (streams, ready) = {
        let seen = seen.lock().unwrap();
        (seen.streams(), seen.place_of("notifications/initialized").unwrap())
    };
    assert!(streams.len() == 1 && streams[0] < ready, "{streams:?}, ready at {ready}");
    let (url, seen) = serve().await;
    seen.lock().unwrap().is_late = true;
    let _connection = connect(&url).await;
    let (streams, ready) = {
        let seen = seen.lock().unwrap();
        (seen.streams(), seen.place_of("notifications/initialized").unwrap())
    };
    assert!(streams.len() == 2 && streams[0] < ready && ready < streams[1], "{streams:?}");
}

/// All calls of an upstream share its one session.
#[tokio::test]
async fn many_calls_at_once_share_a_session() {
    let (url, seen) = serve().await;
    let upstream = Arc::new(Upstream::new(config(&url)));
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let upstream = Arc::clone(&upstream);
            tokio::spawn(async move { upstream.call(request("json", json!({}))).await })
        })
        .collect();
    for call in calls {
        assert!(matches!(call.await.unwrap(), Ok(CallOutcome::Complete(_))));
    }
    assert_eq!(seen.lock().unwrap().session, 1);
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again() {
    let (url, seen) = serve().await;
    let upstream = Upstream::new(config(&url));
    assert!(upstream.call(request("json", json!({}))).await.is_ok());
    // A second client takes the only session that this server knows.
    connect(&url).await;
    assert!(matches!(
        upstream.call(request("json", json!({}))).await,
        Ok(CallOutcome::Complete(_))
    ));
    upstream.close().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.session, 3);
    let (_, _, headers) =
        seen.requests.iter().find(|(method, ..)| method == Method::DELETE).unwrap();
    assert_eq!(headers["mcp-session-id"], "s3");
}

/// Only of a server that has forgotten the session is it certain that it did not execute the call.
#[tokio::test]
async fn a_call_that_was_answered_with_a_fault_is_made_once() {
    let (url, seen) = serve().await;
    let upstream = Upstream::new(config(&url));
    for name in ["broken", "bad_request", "html", "moved", "large", "cut"] {
        let outcome = upstream.call(request(name, json!({}))).await;
        assert!(!matches!(outcome, Ok(CallOutcome::Complete(_))), "{name}");
        let seen = seen.lock().unwrap();
        let calls = seen.requests.iter().filter(|(_, call, _)| call["params"]["name"] == name);
        assert_eq!(calls.count(), 1, "{name}");
    }
}

/// A new session is a new connection: what was listed in the old one is not called in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_of_one_session_opens_no_other() {
    let (url, seen) = serve().await;
    let upstream = Arc::new(Upstream::new(config(&url)));
    let generation = upstream.connection().await.unwrap().generation();
    connect(&url).await;
    let runtime = tokio::runtime::Handle::current();
    let driver = || McpDriver::new(Arc::clone(&upstream), "json", runtime.clone());
    let mut outcomes = Vec::new();
    for driver in [driver().of_generation(generation), driver().of_generation(generation), driver()]
    {
        let call = move || through_kernel(driver, &json!({})).result.unwrap().success;
        outcomes.push(tokio::task::spawn_blocking(call).await.unwrap());
        outcomes.push(upstream.tools_stale());
        outcomes.push(seen.lock().unwrap().session == 2);
    }
    assert_eq!(outcomes, [false, true, true, false, true, true, true, true, false]);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_taken_up_again_and_its_request_is_made_once() {
    let (url, shared) = serve().await;
    let connection = connect(&url).await;
    let done = connection.call(request("once", json!({}))).await.unwrap();
    assert!(matches!(done, CallOutcome::Complete(_)), "{done:?}");
    for name in ["endless", "forgotten"] {
        let code = failed(&connection, name).await.code();
        assert_eq!(code, "mcp.http_stream_ended", "{name}");
    }
    let seen = shared.lock().unwrap();
    let places: Vec<&str> = seen
        .requests
        .iter()
        .filter_map(|(_, _, headers)| headers.get("last-event-id")?.to_str().ok())
        .collect();
    assert!(places[0].starts_with("once-") && places[1].starts_with("twice-"), "{places:?}");
    let tries = places.iter().filter(|place| place.starts_with("endless-")).count();
    assert_eq!(tries, 5, "{places:?}");
    let calls = seen.requests.iter().filter(|(_, message, _)| message["method"] == "tools/call");
    assert_eq!(calls.count(), 3);
}

/// A server asks on the stream for notifications too, so whoever answers opens it, whatever the server
/// says of its lists.
#[tokio::test]
async fn a_client_that_can_be_asked_opens_the_stream_on_which_servers_ask() {
    for asked in [false, true] {
        let (url, shared) = serve().await;
        shared.lock().unwrap().is_quiet = true;
        let mut config = config(&url);
        config.request_handler = asked.then(|| RequestHandler::new(drop));
        let connection = connect_with(config).await.unwrap();
        let opened =
            || shared.lock().unwrap().requests.iter().any(|(method, _, _)| method == Method::GET);
        for _ in 0..500 {
            if opened() || !asked {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(opened(), asked);
        drop(connection);
    }
}

#[tokio::test]
async fn a_call_that_goes_on_as_a_task_is_followed_to_its_end() {
    let (url, shared) = serve().await;
    let connection = connect(&url).await;
    let told = Arc::<Mutex<Vec<_>>>::default();
    let seen = Arc::clone(&told);
    let long = request("long", json!({})).progress(move |one| seen.lock().unwrap().push(one));
    let done = connection.call_to_completion(long).await.unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    let words: Vec<&str> = told.iter().filter_map(|one| one.message.as_deref()).collect();
    assert_eq!(words[..2], ["counting", "reading"], "{told:?}");
    assert!(
        words[2..].iter().all(|word| *word == "counting"),
        "what it says is told once: {told:?}"
    );
    assert!(told.is_sorted_by(|one, next| one.progress < next.progress), "{told:?}");
    let CallOutcome::Complete(reply) = done else { panic!("{done:?}") };
    assert_eq!(reply.value()["content"][0]["text"], "done");
    // One that takes too long is cancelled.
    let brief = request("endless task", json!({})).timeout(std::time::Duration::from_millis(200));
    let late = connection.call_to_completion(brief).await.unwrap_err();
    assert_eq!(late.code(), "mcp.upstream_timeout");
    let cancelled = || {
        let seen = shared.lock().unwrap();
        seen.requests.iter().any(|(_, message, _)| {
            message["method"] == "tasks/cancel" && message["params"]["taskId"] == "endless"
        })
    };
    for _ in 0..500 {
        if cancelled() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the task goes on at its server");
}

#[tokio::test]
async fn changes_are_heard_on_the_stream_for_them() {
    let (url, _) = serve().await;
    let connection = connect(&url).await;
    for _ in 0..200 {
        if connection.tools_stale() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the change was not heard");
}

#[tokio::test]
async fn what_cannot_work_is_said_before_anything_is_sent() {
    for url in ["ftp://x/", "no url", "http://"] {
        let error = connect_with(config(url)).await.err().unwrap();
        assert_eq!(error.code(), "mcp.upstream_config", "{url}");
    }
    let error = connect_with(config("http://127.0.0.1:1/mcp")).await.err().unwrap();
    assert_eq!(error.code(), "mcp.http_connection");
}

#[tokio::test]
async fn a_client_for_https_can_be_made() {
    let error = connect_with(config("https://127.0.0.1:1/mcp")).await.err().unwrap();
    assert_eq!(error.code(), "mcp.http_connection");
}
