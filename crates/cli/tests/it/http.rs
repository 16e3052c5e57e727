//! Clients over HTTP: sessions, requests that stand alone, tokens, hosts and origins.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, MODERN, contracts, folder, initialize, replace, shim};
use crate::support::{Folder, Run, until, until_found, weaver};

/// A gateway that listens, with one client that has a token.
pub(crate) struct Web {
    folder: Folder,
    pub(crate) address: String,
    token: String,
    /// Keeps the daemon from ending; `None` for one that no client started.
    _shim: Option<Client>,
}

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        // An answer that takes long comes as the last event of a stream.
        let last = self.body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        let text = last.unwrap_or(&self.body);
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The messages of a stream of events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

impl Web {
    pub(crate) fn new(more: &str) -> Self {
        Self::with("good", more)
    }

    /// With a server that behaves so.
    pub(crate) fn with(behaviour: &str, more: &str) -> Self {
        Self::prepared(behaviour, more, None)
    }

    /// With this policy in place of the usual one, and contracts for a server `kept` too.
    pub(crate) fn prepared(behaviour: &str, more: &str, policy: Option<&str>) -> Self {
        Self::within("", behaviour, more, policy)
    }

    /// The same within limits that a shell sets.
    fn within(limits: &str, behaviour: &str, more: &str, policy: Option<&str>) -> Self {
        let settings = format!("[http]\nlisten = \"127.0.0.1:0\"\n{more}");
        let kept = if policy.is_some() { contracts(&["kept"]) } else { String::new() };
        let folder = folder(&[("good", behaviour)], &settings, &kept);
        if let Some(policy) = policy {
            replace(&folder, "policy", 2, policy);
        }
        let config = folder.arg("weaver.toml");
        let mut command = std::process::Command::new("sh");
        // A limit on the size of files is then an error, as a full disk is.
        let start = format!("trap '' XFSZ; {limits}\nexec \"$0\" \"$@\"");
        command.args(["-c", &start, env!("CARGO_BIN_EXE_weaver"), "serve", "--config", &config]);
        let shim = Client::start_as(command).shaken();
        Self::of_running(folder, Some(shim))
    }

    /// A client of the daemon that runs in a folder.
    pub(crate) fn of_running(folder: Folder, shim: Option<Client>) -> Self {
        let config = folder.arg("weaver.toml");
        let status = weaver(&["status", "--config", &config, "--json"]).json();
        let address = status["http"].as_str().unwrap_or_else(|| panic!("{status}")).to_owned();
        let added = weaver(&["clients", "add", "desk", "--config", &config]);
        assert_eq!(added.code, 0, "{added:?}");
        Self { folder, address, token: added.out.trim().to_owned(), _shim: shim }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The same client of a daemon that was started anew, perhaps at another address.
    pub(crate) fn find_again(&mut self) {
        let status = self.weaver(&["status", "--json"]).json();
        status["http"].as_str().unwrap().clone_into(&mut self.address);
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The answer for a path, for the client that has the token.
    pub(crate) fn look(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        self.send("GET", path, &[("authorization", &bearer)], "")
    }

    /// What stands at a path, for the client that has the token.
    pub(crate) fn get(&self, path: &str) -> String {
        self.look(path).body
    }

    /// Another client of the same daemon, over pipes.
    pub(crate) fn client(&self) -> Client {
        Client::shim(&self.folder, &[]).shaken()
    }

    /// The configuration.
    pub(crate) fn config(&self) -> String {
        self.folder.arg("weaver.toml")
    }

    /// Runs `weaver` with this configuration.
    pub(crate) fn weaver(&self, args: &[&str]) -> Run {
        self.folder.weaver(args)
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut bytes = Vec::new();
        self.begin(method, path, headers, body).read_to_end(&mut bytes).unwrap();
        answer(&bytes)
    }

    /// Sends a request, whose answer is still to be read.
    pub(crate) fn begin(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let host = format!("localhost:{}", self.address.rsplit(':').next().unwrap());
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {host}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    pub(crate) fn post(&self, more: &[(&str, &str)], message: &Value) -> Answer {
        let mut bytes = Vec::new();
        self.begin_post(more, message).read_to_end(&mut bytes).unwrap();
        answer(&bytes)
    }

    /// Sends a message, whose answer is still to be read.
    pub(crate) fn begin_post(&self, more: &[(&str, &str)], message: &Value) -> TcpStream {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            &[
                ("authorization", bearer.as_str()),
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
            ],
            more,
        ]
        .concat();
        self.begin("POST", "/mcp", &headers, &message.to_string())
    }

    /// Opens the stream on which the client of a session is told and asked.
    pub(crate) fn listen(&self, session: &str) -> TcpStream {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", bearer.as_str()),
            ("accept", "text/event-stream"),
            ("mcp-session-id", session),
        ];
        self.begin("GET", "/mcp", &headers, "")
    }

    /// Opens a session and returns its id.
    pub(crate) fn open(&self) -> String {
        self.open_with(json!({}))
    }

    /// The same for a client that can do this.
    pub(crate) fn open_with(&self, capabilities: Value) -> String {
        let mut params = initialize();
        params["capabilities"] = capabilities;
        let opened = self.post(&[], &request(1, "initialize", params));
        assert_eq!(opened.status, 200, "{opened:?}");
        assert_eq!(opened.json()["result"]["serverInfo"]["name"], "weaver");
        let id = opened.headers["mcp-session-id"].clone();
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&[("mcp-session-id", &id)], &told).status, 202);
        id
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.folder.weaver(&["stop"]);
    }
}

/// Reads a stream as far as these words, and gives what was read. Signs of life keep it open without
/// end.
pub(crate) fn read_until(stream: &mut TcpStream, words: &str) -> String {
    let end = Instant::now() + Duration::from_secs(40);
    let mut seen = String::new();
    let mut byte = [0];
    while !seen.contains(words) {
        assert!(Instant::now() < end, "`{words}` did not come: {seen}");
        stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error} after {seen}"));
        seen.push(char::from(byte[0]));
    }
    seen
}

/// Reads an answer, whose body may come in chunks.
fn answer(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut body = String::new();
    let mut rest = rest;
    if headers.get("transfer-encoding").is_some_and(|kind| kind == "chunked") {
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            let (chunk, after) = after.split_at(size);
            body += chunk;
            rest = after.trim_start_matches("\r\n");
        }
    } else {
        rest.clone_into(&mut body);
    }
    Answer { status, headers, body }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn people() -> Value {
    json!({ "name": "tool_execute", "arguments": { "capability": "good.people", "arguments": {} } })
}

#[test]
fn a_session_lives_until_it_is_ended_and_is_its_clients_alone() {
    let web = Web::new("");
    let id = web.open();
    let session = [("mcp-session-id", id.as_str())];
    let quick = web.post(&session, &request(9, "ping", json!({})));
    assert_eq!(quick.headers["content-type"], "application/json");
    let done = web.post(&session, &request(2, "tools/call", people()));
    assert_eq!(done.json()["result"]["isError"], false, "{done:?}");
    let config = web.folder.arg("weaver.toml");
    let other = weaver(&["clients", "add", "other", "--config", &config]);
    let bearer = format!("Bearer {}", other.out.trim());
    let stolen = web.send(
        "POST",
        "/mcp",
        &[("authorization", &bearer), ("content-type", "application/json"), session[0]],
        &request(3, "tools/list", json!({})).to_string(),
    );
    assert_eq!(stolen.status, 404, "{stolen:?}");
    let bearer = format!("Bearer {}", web.token);
    let ended = web.send("DELETE", "/mcp", &[("authorization", &bearer), session[0]], "");
    assert_eq!(ended.status, 204);
    assert_eq!(web.post(&session, &request(4, "ping", json!({}))).status, 404);
    assert_eq!(web.post(&[], &request(5, "ping", json!({}))).status, 400, "no session");
}

#[test]
fn the_stream_of_a_session_ends_with_it() {
    let web = Web::new("");
    let id = web.open();
    let mut stream = web.listen(&id);
    read_until(&mut stream, "\r\n\r\n");
    let bearer = format!("Bearer {}", web.token);
    let headers = [("authorization", bearer.as_str()), ("mcp-session-id", id.as_str())];
    assert_eq!(web.send("DELETE", "/mcp", &headers, "").status, 204);
    // Signs of life would come within this time.
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap_or_else(|error| panic!("{error} after `{rest}`"));
    assert!(!rest.contains("data:"), "{rest}");
}

/// A request without an answer would make its client wait for ever.
#[test]
fn a_malformed_request_is_answered_under_its_id() {
    let web = Web::new("");
    let id = web.open();
    let session = [("mcp-session-id", id.as_str())];
    for (message, code) in [
        (json!({"jsonrpc": "2.0", "id": 7, "method": ""}), -32601),
        (json!({"jsonrpc": "2.0", "id": 7, "method": 5}), -32600),
        (json!({"jsonrpc": "2.0", "id": 7}), -32600),
        (json!({"id": 7, "method": "ping"}), -32600),
    ] {
        let answer = web.post(&session, &message);
        assert_eq!(answer.status, 200, "{message}: {answer:?}");
        assert_eq!(answer.json()["id"], 7, "{message}: {answer:?}");
        assert_eq!(answer.json()["error"]["code"], code, "{message}: {answer:?}");
    }
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}),
        json!({"jsonrpc": "2.0", "id": "nobody-asked", "result": {}}),
        json!({"jsonrpc": "2.0", "id": "nobody-asked", "error": {"code": 1, "message": "no"}}),
    ] {
        assert_eq!(web.post(&session, &message).status, 202, "{message}");
    }
}

#[test]
fn requests_of_the_newer_revision_stand_alone() {
    let web = Web::new("");
    let version = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "tool_execute"),
    ];
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let mut params = people();
    params["_meta"] = meta.clone();
    let done = web.post(&version, &request(1, "tools/call", params));
    assert_eq!(done.json()["result"]["resultType"], "complete", "{done:?}");
    assert!(!done.headers.contains_key("mcp-session-id"));
    let headless = web.post(&version[..1], &request(1, "tools/call", people()));
    assert_eq!(headless.status, 400, "its headers do not say what it is: {headless:?}");
    let mut params = people();
    params["_meta"] = meta;
    let twice = [&version[..], &[("mcp-name", "tool_view")]].concat();
    let twice = web.post(&twice, &request(1, "tools/call", params));
    assert_eq!((twice.status, twice.json()["error"]["code"].as_i64()), (400, Some(-32020)));
    let mut removed = json!({});
    removed["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let ping = [version[0], ("mcp-method", "ping")];
    let removed = web.post(&ping, &request(1, "ping", removed));
    assert_eq!((removed.status, removed.json()["error"]["code"].as_i64()), (404, Some(-32601)));
    let unknown =
        web.post(&[("mcp-protocol-version", "1999-01-01")], &request(1, "ping", json!({})));
    assert_eq!(unknown.status, 400);
}

/// Whoever routes by a header and whoever acts on the argument mean one thing.
#[test]
fn headers_that_repeat_arguments_say_what_they_say() {
    let web = Web::with("headed", "[gateway]\nmode = \"proxy\"\n");
    let call = |arguments: Value, more: &[(&str, &str)]| {
        let params = json!({ "name": "good__route", "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {} } });
        let headers = [
            &[
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "good__route"),
            ],
            more,
        ];
        web.post(&headers.concat(), &request(1, "tools/call", params))
    };
    let (region, other) = (("mcp-param-region", "us-west1"), ("mcp-param-other", "x"));
    let done = call(json!({ "region": "us-west1", "text": "hello" }), &[region, other]);
    assert_eq!(done.json()["result"]["isError"], false, "{done:?}");
    assert_eq!(call(json!({ "text": "hello" }), &[]).status, 200, "it is not given");
    for (arguments, more) in [
        (json!({ "region": "us-west1" }), &[][..]),
        (json!({ "region": "eu-north1" }), &[region]),
        (json!({ "text": "hello" }), &[region]),
        (json!({ "region": "us-west1" }), &[region, region]),
    ] {
        let refused = call(arguments, more);
        assert_eq!(refused.status, 400, "{refused:?}");
        assert_eq!(refused.json()["error"]["code"], -32020, "{refused:?}");
    }
    let wrapped = ("mcp-param-region", "=?base64?dXMtd2VzdDE=?=");
    assert_eq!(call(json!({ "region": "us-west1" }), &[wrapped]).status, 200);
}

#[test]
fn progress_makes_the_answer_a_stream_that_ends_with_it() {
    let web = Web::with("steps", "");
    let id = web.open();
    let mut params = json!({ "name": "tool_execute", "arguments": { "capability": "good.steps", "arguments": { "text": "slowly" } } });
    params["_meta"] = json!({ "progressToken": "t" });
    let done = web.post(&[("mcp-session-id", &id)], &request(2, "tools/call", params));
    assert_eq!(done.headers["content-type"], "text/event-stream", "{done:?}");
    let events = done.events();
    let (last, steps) = events.split_last().unwrap();
    assert!(last["result"].is_object() && last["id"] == 2, "{last}");
    assert!(
        !steps.is_empty() && steps.iter().all(|step| step["method"] == "notifications/progress")
    );
}

/// A connection that is cut in the middle of an answer loses nothing of it.
#[test]
fn an_answer_goes_on_where_its_connection_was_cut() {
    let web = Web::with("steps", "");
    let id = web.open();
    let session = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let mut params = json!({ "name": "tool_execute", "arguments": { "capability": "good.steps", "arguments": { "text": "slowly" } } });
    params["_meta"] = json!({ "progressToken": "t" });
    let mut stream = web.begin_post(&session, &request(2, "tools/call", params));
    let seen = read_until(&mut stream, "-0\ndata:\n\n");
    let place = seen.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    drop(stream);
    let resume = |token: &str, place: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("accept", "text/event-stream"),
            ("last-event-id", place),
            session[0],
            session[1],
        ];
        web.send("GET", "/mcp", &headers, "")
    };
    let rest = resume(&web.token, &place);
    let events = rest.events();
    let (last, steps) = events.split_last().unwrap_or_else(|| panic!("{rest:?}"));
    assert!(last["result"].is_object() && last["id"] == 2, "{last}");
    assert!(
        !steps.is_empty() && steps.iter().all(|step| step["method"] == "notifications/progress")
    );
    // It may be read again from any event on, by its client alone.
    let ids: Vec<&str> = rest.body.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let end = resume(&web.token, ids[ids.len() - 2]);
    assert_eq!(end.events(), std::slice::from_ref(last));
    assert_eq!(resume(&web.token, "999-0").status, 404);
    let other = web.weaver(&["clients", "add", "other"]);
    assert_eq!(resume(other.out.trim(), &place).status, 404);
}

/// A daemon waits ten seconds for calls in progress when a signal ends it, and some more for their
/// ends.
#[test]
fn a_call_that_is_cut_off_by_the_end_of_the_daemon_is_answered() {
    let nap = "\n[tools.nap]\ndescription = \"Waits\"\n[tools.nap.program]\n\
               command = \"sleep\"\nargs = [\"60\"]\n";
    let contract = "[capabilities.\"tools.*\"]\neffects = \"read_local\"\nsink = \"none\"\n";
    let listen = "[http]\nlisten = \"127.0.0.1:0\"\n";
    let folder = folder(&[("good", "good")], &format!("{listen}{nap}"), contract);
    let client = Client::shim(&folder, &[]).shaken();
    let web = Web::of_running(folder, Some(client));
    let id = web.open();
    let session = [("mcp-session-id", id.as_str())];
    let call = json!({ "name": "tool_execute",
        "arguments": { "capability": "tools.nap", "arguments": {} } });
    let mut stream = web.begin_post(&session, &request(2, "tools/call", call));
    let pid = until_found("a call is in flight", || {
        let status = web.weaver(&["status", "--json"]).json();
        let sessions = status["sessions"].as_array().unwrap();
        sessions.iter().any(|one| one["requests"] == 1).then(|| status["pid"].to_string())
    });
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    read_until(&mut stream, "\"weaver/reason\":\"outcome_unknown\"");
}

/// A connection that is open when the daemon restarts cannot be handed over. What comes on it then is sent
/// again on a new one, for which the next daemon answers.
#[test]
fn a_request_on_an_open_connection_is_sent_to_the_next_daemon() {
    let nap = "\n[tools.nap]\ndescription = \"Waits\"\n[tools.nap.program]\n\
               command = \"sleep\"\nargs = [\"4\"]\n";
    let contract = "[capabilities.\"tools.*\"]\neffects = \"read_local\"\nsink = \"none\"\n";
    let listen = "[http]\nlisten = \"127.0.0.1:0\"\n";
    let folder = folder(&[("good", "good")], &format!("{listen}{nap}"), contract);
    let client = Client::shim(&folder, &[]).shaken();
    let web = Web::of_running(folder, Some(client));
    let id = web.open();
    let session = [("mcp-session-id", id.as_str())];
    let nap = json!({ "capability": "tools.nap", "arguments": {} });
    let nap = json!({ "name": "tool_execute", "arguments": nap });
    let mut napping = web.begin_post(&session, &request(2, "tools/call", nap));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n",
        web.address, web.token
    );
    let mut open = TcpStream::connect(&web.address).unwrap();
    open.write_all(head.as_bytes()).unwrap();
    let config = web.config();
    let restart = std::thread::spawn(move || weaver(&["restart", "--config", &config]));
    // No connection is accepted any more, and the call still runs.
    std::thread::sleep(Duration::from_secs(2));
    open.write_all(b"content-length: 0\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap().to_ascii_lowercase();
    assert!(text.starts_with("http/1.1 307 "), "{text}");
    assert!(text.contains("\r\nlocation: /mcp\r\n"), "{text}");
    assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
    let again = web.post(&session, &request(3, "tools/list", json!({})));
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(restart.join().unwrap().code, 0);
    read_until(&mut napping, "\"id\":2");
}

#[test]
fn nobody_comes_without_a_token_that_is_in_force() {
    let web = Web::new("");
    let message = request(1, "initialize", initialize()).to_string();
    let json = ("content-type", "application/json");
    let long = format!("Bearer {}", "x".repeat(8_000));
    let cut = format!("Bearer {}", web.token.replacen("weaver_", "weaver", 1));
    for given in [
        "",
        "Bearer ",
        "Basic dTpw",
        "Bearer weaver_00",
        long.as_str(),
        cut.as_str(),
        web.token.as_str(),
    ] {
        let headers = [json, ("authorization", given)];
        let refused = web.send(
            "POST",
            "/mcp",
            if given.is_empty() { &headers[..1] } else { &headers },
            &message,
        );
        assert_eq!(refused.status, 401, "{given:?}: {refused:?}");
        assert!(refused.headers["www-authenticate"].starts_with("Bearer"));
    }
    assert_eq!(web.send("GET", "/metrics", &[], "").status, 401);
    assert_eq!(web.send("GET", "/healthz", &[], "").status, 200);
    web.open();
    let removed = web.folder.weaver(&["clients", "remove", "desk"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(
        web.post(&[], &request(1, "initialize", initialize())).status,
        401,
        "it was removed"
    );
}

/// Its name alone is what stays of it.
#[test]
fn a_client_that_is_added_anew_works_on_as_whom_it_is_now() {
    let rule = "principals.owner.roles = [\"reader\"]\n[principals.guest]\n\n[[rules]]\nname = \"reads\"\n\
                match = { effects = { impact = \"read\" } }\nrequire.roles = { any = [\"reader\"] }\n\
                effect = \"allow\"\nreason = \"readers read\"\n";
    let mut web = Web::prepared("good", "", Some(rule));
    let call = |web: &Web| {
        let mut params = people();
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {} });
        let headers = [
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "tool_execute"),
        ];
        web.post(&headers, &request(1, "tools/call", params))
    };
    let id = web.open();
    assert_eq!(call(&web).json()["result"]["isError"], false);
    let config = web.config();
    assert_eq!(weaver(&["clients", "remove", "desk", "--config", &config]).code, 0);
    let added = weaver(&["clients", "add", "desk", "--principal", "guest", "--config", &config]);
    added.out.trim().clone_into(&mut web.token);
    let denied = call(&web);
    assert!(denied.body.contains("deny"), "{denied:?}");
    let ping = request(2, "ping", json!({}));
    assert_eq!(web.post(&[("mcp-session-id", &id)], &ping).status, 404, "another's session");
}

/// What is no handshake opens nothing, and whoever opens much leaves room for others.
#[test]
fn sessions_are_opened_by_a_whole_handshake_and_are_bounded_for_each_client() {
    let web = Web::new("");
    let message = |id: Option<Value>, params: Value| {
        let mut message = request(1, "initialize", params);
        match id {
            Some(id) => message["id"] = id,
            None => drop(message.as_object_mut().unwrap().remove("id")),
        }
        message
    };
    for odd in [
        message(None, initialize()),
        message(Some(json!(true)), initialize()),
        message(Some(json!(1)), json!([])),
    ] {
        let answer = web.post(&[], &odd);
        assert!(!answer.headers.contains_key("mcp-session-id"), "{odd}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string(), "{odd}: {answer:?}");
    }
    let open = || web.post(&[], &request(1, "initialize", initialize())).status;
    let opened = (0..1_000).take_while(|_| open() == 200).count();
    assert_eq!(opened, 250);
    assert_eq!(open(), 503, "it has its share");
    let other = web.weaver(&["clients", "add", "other"]);
    let bearer = format!("Bearer {}", other.out.trim());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let body = request(1, "initialize", initialize()).to_string();
    assert_eq!(web.send("POST", "/mcp", &headers, &body).status, 200);
}

#[test]
fn a_web_page_reaches_nothing_whatever_it_calls_this_host() {
    let web = Web::new(
        "anonymous = true\norigins = [\"https://desk.example\"]\nhosts = [\"gate.example\"]\n",
    );
    let port = web.address.rsplit(':').next().unwrap();
    let message = request(1, "initialize", initialize()).to_string();
    let json = ("content-type", "application/json");
    let send = |headers: &[(&str, &str)]| web.send("POST", "/mcp", headers, &message).status;
    assert_eq!(send(&[json]), 200, "an anonymous program is let in where the file says so");
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1.evil.example",
        "",
        "localhost.evil.example",
    ] {
        assert_eq!(send(&[json, ("host", host)]), 403, "{host:?}");
    }
    for host in ["gate.example", &format!("127.0.0.1:{port}"), &format!("LOCALHOST:{port}")] {
        assert_eq!(send(&[json, ("host", host)]), 200, "{host:?}");
    }
    for origin in
        ["https://evil.example", "null", &format!("http://localhost:{port}"), "http://127.0.0.1"]
    {
        assert_eq!(send(&[json, ("origin", origin)]), 403, "{origin:?}");
    }
    assert_eq!(send(&[json, ("origin", "https://desk.example")]), 200);
    assert_eq!(web.send("GET", "/healthz", &[("host", "evil.example")], "").status, 403);
    assert_eq!(send(&[("content-type", "text/plain")]), 415, "what a form could send is refused");
}

/// A browser asks before it sends a page's request, and shows the page what it is told to show.
#[test]
fn a_page_of_a_named_origin_works_in_a_browser_and_no_other_does() {
    let web = Web::new("origins = [\"https://desk.example\"]\n");
    let origin = ("origin", "https://desk.example");
    let asked = [
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type,mcp-protocol-version"),
    ];
    for path in ["/mcp", "/.well-known/oauth-protected-resource/mcp"] {
        let told = web.send("OPTIONS", path, &[origin, asked[0], asked[1]], "");
        assert_eq!(told.status, 204, "{told:?}");
        assert_eq!(told.headers["access-control-allow-origin"], origin.1);
        assert!(told.headers["access-control-allow-methods"].contains("DELETE"), "{told:?}");
        assert_eq!(told.headers["access-control-allow-headers"], asked[1].1);
        assert_eq!(told.headers["vary"], "Origin");
    }
    let opened = web.post(&[origin], &request(1, "initialize", initialize()));
    assert_eq!(opened.status, 200, "{opened:?}");
    assert_eq!(opened.headers["access-control-allow-origin"], origin.1);
    let exposed = opened.headers["access-control-expose-headers"].to_ascii_lowercase();
    assert!(exposed.contains("mcp-session-id") && opened.headers.contains_key("mcp-session-id"));
    let json = ("content-type", "application/json");
    let refused = web.send("POST", "/mcp", &[origin, json], "{}");
    assert_eq!(refused.status, 401, "a page needs a token too: {refused:?}");
    assert_eq!(refused.headers["access-control-allow-origin"], origin.1);
    for other in ["https://evil.example", "null", "https://desk.example:444"] {
        let told = web.send("OPTIONS", "/mcp", &[("origin", other), asked[0]], "");
        assert_eq!(told.status, 403, "{told:?}");
        assert!(!told.headers.keys().any(|name| name.starts_with("access-control")), "{told:?}");
    }
    let plain = web.post(&[], &request(1, "initialize", initialize()));
    assert!(!plain.headers.keys().any(|name| name.starts_with("access-control")), "{plain:?}");
}

#[test]
fn metrics_and_readiness_are_told() {
    let web = Web::new("");
    web.open();
    let bearer = format!("Bearer {}", web.token);
    let get = |path: &str| web.send("GET", path, &[("authorization", &bearer)], "").body;
    until("it is ready", || get("/readyz") == "ready\n");
    let shown = get("/metrics");
    for line in ["weaver_sessions 2", "weaver_servers_away 0", "weaver_calls_held 0"] {
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
}

/// They name the servers and the calls of everybody.
#[test]
fn a_token_of_another_principal_reads_no_metrics() {
    let rule = "[principals.guest]\n[principals.owner]\n";
    let web = Web::prepared("good", "", Some(rule));
    let add = ["clients", "add", "guest", "--principal", "guest", "--config", &web.config()];
    let added = weaver(&add);
    assert_eq!(added.code, 0, "{added:?}");
    let bearer = format!("Bearer {}", added.out.trim());
    let auth = ("authorization", bearer.as_str());
    let refused = web.send("GET", "/metrics", &[auth], "");
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("--metrics-only"), "{refused:?}");
    assert_eq!(web.send("GET", "/readyz", &[auth], "").status, 200);
}

#[test]
fn a_token_for_metrics_opens_nothing_else() {
    let web = Web::new("");
    let add = ["clients", "add", "prometheus", "--metrics-only", "--config", &web.config()];
    let token = weaver(&add).out.trim().to_owned();
    let bearer = format!("Bearer {token}");
    let auth = ("authorization", bearer.as_str());
    assert!(web.send("GET", "/metrics", &[auth], "").body.contains("weaver_sessions"));
    assert_eq!(web.send("GET", "/readyz", &[auth], "").status, 200);
    let message = request(1, "initialize", initialize()).to_string();
    let headers = [auth, ("content-type", "application/json")];
    let refused = web.send("POST", "/mcp", &headers, &message);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("weaver clients add"), "{refused:?}");
    let list = web.weaver(&["clients", "list"]);
    assert!(list.out.contains("prometheus reads metrics"), "{list:?}");
    // Nor over pipes.
    let mut command = shim(&web.folder, &["--token-env", "TOKEN"]);
    command.env("TOKEN", &token);
    let mut client = Client::start_as(command);
    let answer = client.request("initialize", initialize());
    assert!(answer["error"]["message"].as_str().unwrap().contains("metrics alone"), "{answer}");
    client.end();
}

/// They leave files for the ledger and for servers.
#[test]
fn connections_are_bounded_and_those_that_say_nothing_give_way() {
    let web = Web::within("ulimit -S -n 200", "good", "", None);
    let connect = || TcpStream::connect(&web.address).unwrap();
    let is_cut = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The other side may have closed before it read anything.
        !stream.read(&mut [0]).is_ok_and(|read| read > 0)
    };
    let ask = |mut stream: &TcpStream| {
        let head = format!(
            "GET /readyz HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
            web.token
        );
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = [0; 12];
        let asked = stream.write_all(head.as_bytes()).and_then(|()| stream.read_exact(&mut answer));
        asked.is_ok() && answer.starts_with(b"HTTP/1.1 200")
    };
    let silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    for mut stream in &silent {
        stream.write_all(b"POST /mcp HTTP/1.1\r\n").unwrap();
    }
    let begun = Instant::now();
    let clients: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    assert!(clients.iter().all(ask), "each takes the place of a silent one");
    assert!(is_cut(&silent[0]));
    assert!(begun.elapsed() < Duration::from_secs(8), "before silence is cut: {begun:?}");
    assert!(is_cut(&connect()), "clients give way to nobody");
    let mut other = web.client();
    assert!(!other.execute("good.people", json!({})).0, "clients over pipes are served");
    other.end();
    drop(clients);
    until("a place is free again", || ask(&connect()));
}

#[test]
fn names_that_no_request_can_have_are_told_by_check() {
    let settings = "[http]\nlisten = \"127.0.0.1:0\"\nhosts = [\"a.example:8700\", \"B.example\", \"[::1]\"]\n\
        origins = [\"https://a.example/\", \"https://a.example\", \"http://b.example:8080\"]\n\
        [http.oauth]\nprofile = \"none\"\n";
    let folder = folder(&[("good", "good")], settings, "");
    let checked = folder.check(&["--json"]);
    let expected = ["config.http_host", "config.http_origin", "config.profile"];
    assert_eq!(checked.finding_codes(), expected, "{checked:?}");
}

#[test]
fn an_open_address_needs_a_word() {
    let folder = folder(&[("good", "good")], "[http]\nlisten = \"0.0.0.0:0\"\n", "");
    let checked = folder.check(&["--json"]);
    assert_eq!(checked.finding_codes(), ["config.http_open"], "{checked:?}");
    let flag = folder.weaver(&["daemon", "--http", "0.0.0.0:0"]);
    assert_ne!(flag.code, 0);
}
