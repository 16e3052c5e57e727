//! Operations of HTTP APIs under the kernel, against a server that does as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weaver_drivers::http::{Access, Body, FileSecret, HostLookup, HttpDriver, Method, Operation};
use weaver_types::Millicents;

use crate::kernel::{through_kernel, within};
use crate::raw_server::{self as server, RawServer, Reaction};
use crate::support::{here, runtime};

const SECRET: &str = "hunter2-hunter2";

/// Whether it went well, and everything that is shown of it.
fn call(runtime: &Runtime, operation: &Operation, access: Access, given: Value) -> (bool, String) {
    let driver = HttpDriver::new(operation, access, runtime.handle().clone()).unwrap();
    let done = through_kernel(driver, &given);
    let result = done.result.unwrap();
    (result.success, format!("{result:?}"))
}

fn refused(operation: &Operation, access: Access, given: Value, code: &str) {
    let runtime = runtime();
    let (success, text) = call(&runtime, operation, access, given);
    assert!(!success && text.contains(&format!("[{code}]")), "{code}: {text}");
}

fn get(url: impl Into<String>) -> Operation {
    Operation::new(Method::Get, url)
}

/// An access whose names lead to these addresses, one after the other.
fn leading(access: Access, answers: &[&str]) -> (Access, Arc<AtomicUsize>) {
    let answers: Vec<Vec<IpAddr>> = answers
        .iter()
        .map(|all| all.split(' ').map(|one| one.parse().unwrap()).collect())
        .collect();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let lookup: HostLookup = Arc::new(move |_| {
        let at = counted.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        Box::pin(std::future::ready(Ok(answers[at].clone())))
    });
    (Access { lookup, ..access }, count)
}

#[test]
fn arguments_fill_places_and_select_nothing() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{\"temperature\": 21}"));
    let mut operation = get(server.url("/v1/{city}/now?units={units?}&tag={tags...}"));
    operation.headers = BTreeMap::from([
        ("X-Mode".to_owned(), "{mode}".to_owned()),
        ("X-Fixed".to_owned(), "yes".to_owned()),
    ]);
    let given = json!({"city": "São Paulo?x=1#y", "tags": ["a&b", "c"], "mode": "quick"});
    let (success, text) = call(&runtime, &operation, here(), given);
    assert!(success && text.contains("21"), "{text}");
    let asked = server.asked();
    let line = "GET /v1/S%C3%A3o%20Paulo%3Fx%3D1%23y/now?tag=a%26b&tag=c HTTP/1.1";
    assert_eq!(asked[0].line(), line);
    assert_eq!(asked[0].header("x-mode"), Some("quick"));
    assert_eq!(asked[0].header("x-fixed"), Some("yes"));
    assert_eq!(asked[0].header("accept-encoding"), Some("identity"));
    for extra in ["method", "url", "host", "operation", "headers"] {
        let given = json!({"city": "a", "mode": "b", extra: "DELETE"});
        let (success, text) = call(&runtime, &operation, here(), given);
        assert!(!success && text.contains("has no place in the request"), "{text}");
    }
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_body_is_what_the_operation_says() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{}"));
    let operation = |body| Operation::new(Method::Post, server.url("/{id}")).with_body(body);
    for (body, given, kind, wanted) in [
        (
            Body::Rest,
            json!({"id": 1, "a": "x", "b": [2]}),
            "application/json",
            r#"{"a":"x","b":[2]}"#,
        ),
        (Body::Argument("a".into()), json!({"id": 1, "a": [1]}), "application/json", "[1]"),
        (
            Body::Text("a".into()),
            json!({"id": 1, "a": "x\r\ny"}),
            "text/plain; charset=utf-8",
            "x\r\ny",
        ),
    ] {
        let (success, text) = call(&runtime, &operation(body), here(), given);
        assert!(success, "{text}");
        let asked = server.asked().pop().unwrap();
        assert_eq!((asked.body.as_str(), asked.header("content-type")), (wanted, Some(kind)));
    }
}

/// Nothing of an argument reaches the wire as another header, path, or host.
#[test]
fn an_argument_that_would_be_more_than_a_value_is_never_sent() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{}"));
    let mut operation = get(server.url("/files/{name}/raw"));
    operation.headers.insert("X-Note".to_owned(), "{note?}".to_owned());
    for given in [
        json!({"name": "a", "note": "x\r\nX-Admin: yes"}),
        json!({"name": "a", "note": "x\nX-Admin: yes"}),
        json!({"name": "a", "note": "x\0"}),
        json!({"name": "a", "note": "é"}),
        json!({"name": ".."}),
        json!({"name": "../../admin"}),
        json!({"name": "//evil.example"}),
        json!({"name": "..\\..\\admin"}),
        json!({"name": "a\r\nHost: evil.example"}),
        json!({"name": ["a"]}),
        json!({}),
    ] {
        let (success, text) = call(&runtime, &operation, here(), given.clone());
        assert!(!success && text.contains("[http.argument]"), "{given}: {text}");
    }
    assert_eq!(server.asked().len(), 0);
    for (name, line) in [
        ("%2e%2e%2fadmin", "GET /files/%252e%252e%252fadmin/raw HTTP/1.1"),
        ("a%2Fb", "GET /files/a%252Fb/raw HTTP/1.1"),
        ("@evil.example", "GET /files/%40evil.example/raw HTTP/1.1"),
    ] {
        assert!(call(&runtime, &operation, here(), json!({ "name": name })).0);
        assert_eq!(server.asked().pop().unwrap().line(), line);
    }
}

#[test]
fn only_public_and_named_addresses_are_connected_to() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{}"));
    refused(&get(server.url("/")), Access::default(), json!({}), "http.address_refused");
    let port = server.port;
    for host in ["localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "127.1"] {
        let operation = get(format!("http://{host}:{port}/"));
        refused(&operation, Access::default(), json!({}), "http.address_refused");
    }
    let open = || Access { plain_http: true, ..here() };
    let named = get(format!("http://api.example:{port}/"));
    for answer in ["10.0.0.1", "169.254.169.254", "fd00::1", "127.0.0.2", "127.0.0.1 10.0.0.1"] {
        refused(&named, leading(open(), &[answer]).0, json!({}), "http.address_refused");
    }
    assert_eq!(server.asked().len(), 0);
    let (access, looked_up) = leading(open(), &["127.0.0.1"]);
    assert!(call(&runtime, &named, access, json!({})).0);
    assert_eq!((server.asked().len(), looked_up.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(server.asked()[0].header("host"), Some(format!("api.example:{port}").as_str()));
}

/// The address that was judged is the one that is connected to: a name that leads elsewhere
/// afterwards is judged anew.
#[test]
fn a_name_that_changes_its_mind_is_judged_each_time() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{}"));
    let operation = get(format!("http://api.example:{}/", server.port));
    let open = Access { plain_http: true, ..here() };
    let (access, looked_up) = leading(open, &["127.0.0.1", "169.254.169.254"]);
    assert!(call(&runtime, &operation, access.clone(), json!({})).0);
    assert_eq!(looked_up.load(Ordering::SeqCst), 1);
    refused(&operation, access, json!({}), "http.address_refused");
    assert_eq!(looked_up.load(Ordering::SeqCst), 2);
}

#[test]
fn a_whole_address_from_an_argument_stays_on_the_list() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{}"));
    let hosts = vec![format!("127.0.0.1:{}", server.port).parse().unwrap()];
    let access = || Access { hosts: hosts.clone(), ..here() };
    let operation = get("{url}");
    assert!(HttpDriver::new(&operation, here(), runtime.handle().clone()).is_err());
    assert!(call(&runtime, &operation, access(), json!({ "url": server.url("/a?b#c") })).0);
    assert_eq!(server.asked()[0].line(), "GET /a?b HTTP/1.1");
    for (url, code) in [
        ("http://127.0.0.1/".to_owned(), "http.host_refused"),
        ("https://evil.example/".to_owned(), "http.host_refused"),
        (format!("http://127.0.0.1:{}@evil.example/", server.port), "http.user"),
        (format!("http://u:p@127.0.0.1:{}/", server.port), "http.user"),
        ("file:///etc/passwd".to_owned(), "http.scheme"),
        ("http://evil.example/".to_owned(), "http.scheme"),
        (format!("http:\\\\127.0.0.1:{}/", server.port), "http.url"),
    ] {
        refused(&operation, access(), json!({ "url": url }), code);
    }
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn redirects_are_judged_one_by_one() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |asked| {
        let to = asked.line().split(' ').nth(1).unwrap();
        match to.strip_prefix("/to?") {
            Some(to) => server::redirect(302, &to.replace("%3A", ":").replace("%2F", "/")),
            None if to == "/loop" => server::redirect(302, "/loop"),
            None => server::json("{\"arrived\": true}"),
        }
    });
    let port = server.port;
    let to = |target: &str| get(server.url(&format!("/to?{target}")));
    let (success, text) = call(&runtime, &to("/end"), here(), json!({}));
    assert!(success && text.contains("arrived"), "{text}");
    let hosts = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let listed = ["169.254.169.254", &format!("localhost:{port}"), "evil.example"];
    for (target, hosts, code) in [
        ("http://169.254.169.254/latest/", vec![], "http.scheme"),
        ("https://169.254.169.254/latest/", vec![], "http.host_refused"),
        ("https://169.254.169.254/latest/", hosts(&listed), "http.address_refused"),
        ("//evil.example/", vec![], "http.scheme"),
        ("https://user@evil.example/", hosts(&listed), "http.user"),
        ("file:///etc/passwd", vec![], "http.scheme"),
        ("/loop", vec![], "http.redirects"),
    ] {
        refused(&to(target), Access { hosts, ..here() }, json!({}), code);
    }
    // A name of this machine is judged by where it leads.
    let only4 = Access { networks: vec!["127.0.0.1".parse().unwrap()], ..Access::default() };
    let (access, _) = leading(Access { hosts: hosts(&listed), ..only4 }, &["127.0.0.2"]);
    let local = format!("http://localhost:{port}/end");
    refused(&to(&local), access, json!({}), "http.address_refused");
    refused(&to("/end"), Access { max_redirects: 0, ..here() }, json!({}), "http.redirects");
    let asked = |line: &str| server.asked().iter().filter(|one| one.line().contains(line)).count();
    assert_eq!(asked("GET /loop "), 5);
}

/// A server that stands elsewhere gets no secret and no header, and no request that changes
/// something.
#[test]
fn credentials_do_not_follow_a_redirect_elsewhere() {
    let runtime = runtime();
    let other = RawServer::start(&runtime, |_| server::json("{}"));
    let target = other.url("/other");
    let server = RawServer::start(&runtime, move |asked| match asked.line() {
        line if line.contains("/away?303") => server::redirect(303, &target),
        line if line.contains("/away") => server::redirect(307, &target),
        line if line.contains("/near") => server::redirect(307, "/end"),
        line if line.contains("/see") => server::redirect(303, "/end"),
        _ => server::json("{}"),
    });
    let folder = tempfile::tempdir().unwrap();
    let with = |method, path: &str| {
        let mut operation = Operation::new(method, server.url(path)).with_secret(
            "Authorization",
            "Bearer ",
            FileSecret(secret_file(&folder)),
        );
        operation.headers.insert("X-Own".to_owned(), "own".to_owned());
        operation
    };
    let access =
        || Access { hosts: vec![format!("127.0.0.1:{}", other.port).parse().unwrap()], ..here() };
    assert!(call(&runtime, &with(Method::Get, "/away"), access(), json!({})).0);
    let seen = other.asked().pop().unwrap();
    assert_eq!((seen.header("authorization"), seen.header("x-own")), (None, None));
    assert!(call(&runtime, &with(Method::Get, "/near"), access(), json!({})).0);
    let seen = server.asked().pop().unwrap();
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(seen.header("x-own"), Some("own"));
    let post = |path: &str| with(Method::Post, path).with_body(Body::Rest);
    assert!(call(&runtime, &post("/near"), access(), json!({"a": 1})).0);
    let seen = server.asked().pop().unwrap();
    assert_eq!((seen.line(), seen.body.as_str()), ("POST /end HTTP/1.1", "{\"a\":1}"));
    assert!(call(&runtime, &post("/see"), access(), json!({"a": 1})).0);
    let seen = server.asked().pop().unwrap();
    assert_eq!((seen.line(), seen.body.as_str()), ("GET /end HTTP/1.1", ""));
    let before = other.asked().len();
    let (success, text) = call(&runtime, &post("/away"), access(), json!({"a": 1}));
    assert!(!success && text.contains("[http.redirect]") && text.contains("lost"), "{text}");
    assert_eq!(other.asked().len(), before);
    // The POST was answered; what fails afterwards does not make it undone.
    let (success, text) = call(&runtime, &post("/away?303"), here(), json!({"a": 1}));
    assert!(!success && text.contains("[http.host_refused]") && text.contains("lost"), "{text}");
}

fn secret_file(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let path = folder.path().join("token");
    std::fs::write(&path, format!("{SECRET}\n")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    path
}

#[test]
fn a_secret_is_sent_and_seen_nowhere_else() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |asked| {
        let echo = json!({ "head": asked.head, SECRET: 1 }).to_string();
        match asked.line() {
            line if line.contains("/text") => {
                server::answer("200 OK", "content-type: text/plain\r\n", &asked.head)
            }
            line if line.contains("/error") => {
                server::answer("422 No", "content-type: application/json\r\n", &echo)
            }
            _ => server::json(&echo),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    for path in ["/json", "/text", "/error"] {
        let mut operation = get(server.url(path)).with_secret(
            "Authorization",
            "Bearer ",
            FileSecret(secret_file(&folder)),
        );
        operation.content = BTreeSet::from(["application/json", "text/plain"].map(str::to_owned));
        let driver = HttpDriver::new(&operation, here(), runtime.handle().clone()).unwrap();
        let done = through_kernel(driver, &json!({}));
        let all = format!("{done:?} {operation:?} {:?}", here());
        assert!(!all.contains("hunter2"), "{path}: {all}");
        assert_eq!(done.result.unwrap().success, path != "/error");
        let sent = server.asked().pop().unwrap();
        assert_eq!(sent.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }
    let nowhere = get(server.url("/")).with_secret(
        "Authorization",
        "",
        FileSecret(folder.path().join("none")),
    );
    let before = server.asked().len();
    refused(&nowhere, here(), json!({}), "secret.file");
    assert_eq!(server.asked().len(), before);
    let plain = Operation { url: "http://api.example/".to_owned(), ..nowhere };
    let access = Access { plain_http: true, ..here() };
    let made = HttpDriver::new(&plain, access, runtime.handle().clone());
    assert_eq!(made.err().unwrap().code(), "http.plain_secret");
}

#[test]
fn an_answer_is_bounded_in_time_size_and_kind() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |asked| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        match asked.line().split(' ').nth(1).unwrap() {
            "/silent" => Reaction::Silent,
            "/slow-head" => Reaction::Drip(format!("{head}x: y")),
            "/slow-body" => Reaction::Drip(format!("{head}\r\n")),
            "/endless" => Reaction::Flood(format!("{head}\r\n")),
            "/long" => Reaction::Flood(format!("{head}content-length: 9000000\r\n\r\n")),
            "/cut" => Reaction::Say(format!("{head}content-length: 9\r\n\r\n{{")),
            "/bomb" => server::answer(
                "200 OK",
                "content-type: application/json\r\ncontent-encoding: gzip\r\n",
                "\u{1f}",
            ),
            "/html" => server::answer("200 OK", "content-type: text/html\r\n", "<h1>"),
            "/broken" => server::json("{\"a\": 1, \"a\": 2}"),
            "/deep" => server::json(&"[".repeat(9_000)),
            "/none" => server::answer("204 No Content", "", ""),
            _ => server::answer("200 OK", "", "{}"),
        }
    });
    let bounds = || Access {
        header_timeout: Duration::from_millis(400),
        max_response_bytes: 10_000,
        ..here()
    };
    for (path, part) in [
        ("/silent", "timed out after 400 ms"),
        ("/slow-head", "timed out after 400 ms"),
        ("/endless", "[http.too_large]"),
        ("/long", "[http.too_large]"),
        ("/cut", "[http.broken]"),
        ("/bomb", "[http.encoding]"),
        ("/html", "[http.content_type]"),
        ("/untyped", "[http.content_type]"),
        ("/broken", "[http.json]"),
        ("/deep", "[http.json]"),
    ] {
        let (success, text) = call(&runtime, &get(server.url(path)), bounds(), json!({}));
        assert!(!success && text.contains(part), "{path}: {text}");
    }
    let slow = get(server.url("/slow-body"));
    let driver = HttpDriver::new(&slow, bounds(), runtime.handle().clone()).unwrap();
    let result = within(300, driver, &json!({})).result.unwrap();
    assert!(!result.success && format!("{result:?}").contains("timed out after"), "{result:?}");
    let (success, text) = call(&runtime, &get(server.url("/none")), bounds(), json!({}));
    assert!(success && text.contains("204"), "{text}");
}

#[test]
fn an_error_whose_body_breaks_off_or_never_ends_is_told_by_its_status() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |asked| {
        let head = "HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n";
        match asked.line().split(' ').nth(1).unwrap() {
            "/cut" => Reaction::Say(format!("{head}content-length: 900\r\n\r\nno such city")),
            "/endless" => Reaction::Flood(format!("{head}\r\n")),
            "/long" => Reaction::Flood(format!("{head}content-length: 9000000\r\n\r\n")),
            // The bound on what is read lies within a character.
            _ => {
                server::answer("500 No", "content-type: text/plain\r\n", &"\u{20ac}".repeat(9_000))
            }
        }
    });
    for (path, part) in [
        ("/cut", "status 500: no such city"),
        ("/endless", "status 500"),
        ("/long", "status 500"),
        ("/wide", "status 500: \u{20ac}\u{20ac}"),
    ] {
        let begun = std::time::Instant::now();
        let (success, text) = call(&runtime, &get(server.url(path)), here(), json!({}));
        assert!(!success && text.contains(part) && text.len() < 2_000, "{path}: {text}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{path}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_status_is_told_with_a_little_of_what_was_said() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |asked| {
        let path = asked.line().split(' ').nth(1).unwrap().trim_start_matches('/').to_owned();
        let said =
            json!({"error": "city\u{1b}[31m unknown", "more": "x".repeat(5_000)}).to_string();
        server::answer(
            &format!("{path} No"),
            "retry-after: 7\r\ncontent-type: application/json\r\n",
            &said,
        )
    });
    for (status, part) in [
        (404, "not found: status 404: "),
        (422, "invalid arguments: status 422: "),
        (403, "status 403: "),
        (429, "rate limited: status 429: "),
        (503, "rate limited: status 503: "),
        (500, "lost in mid-call: status 500: "),
    ] {
        let operation = get(server.url(&format!("/{status}")));
        let (success, text) = call(&runtime, &operation, here(), json!({}));
        assert!(!success && text.contains(part) && text.contains("unknown"), "{text}");
        assert!(text.len() < 2_000 && !text.contains('\u{1b}'), "{text}");
    }
    refused(&get("http://127.0.0.1:1/"), here(), json!({}), "http.connect");
}

#[test]
fn a_call_says_its_key_and_its_price() {
    let runtime = runtime();
    let server = RawServer::start(&runtime, |_| server::json("{}"));
    let mut operation = Operation::new(Method::Post, server.url("/"));
    operation.idempotency_header = Some("Idempotency-Key".to_owned());
    operation.price = Millicents(250);
    let driver = HttpDriver::new(&operation, here(), runtime.handle().clone()).unwrap();
    let done = through_kernel(driver, &json!({}));
    assert!(done.result.unwrap().success);
    let asked = server.asked().pop().unwrap();
    let key = asked.header("idempotency-key").unwrap().to_owned();
    assert!(key.len() > 8 && format!("{:?}", done.decision).len() > 1, "{key}");
}
