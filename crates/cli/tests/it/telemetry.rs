//! What operators see: messages as JSON, metrics for Prometheus with a dashboard, and traces and
//! metrics for a collector.

mod collector;
mod rotel;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use prometheus_parse::{Scrape, Value as Metric};
use serde_json::{Value, json};

use crate::approvals::{held, message};
use crate::client::{Client, folder, shim};
use crate::fixture::SECRET;
use crate::http::{Web, request};
use crate::support::Folder;
use collector::{Collector, Span, SpanKind, Told};
use rotel::Rotel;

/// What no message, metric or span may repeat.
const ARGUMENT: &str = "correct-horse-battery";

/// Calls that end in different ways, one of them with a secret argument.
fn play(client: &mut Client) {
    assert!(!client.execute("good.echo", json!({ "text": ARGUMENT })).0);
    assert!(client.execute("good.failing", json!({})).0);
    client.refusal("good.no_such_tool", json!({ "text": ARGUMENT }));
}

fn serve(folder: &Folder, more: &[&str]) -> Command {
    let mut command = shim(folder, more);
    command.env("WEAVER_LOG", "trace");
    command
}

/// Every line is an object with what a reader of logs looks for.
fn check_lines(text: &str) -> Vec<Value> {
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        for key in ["time", "level", "target", "message"] {
            assert!(line[key].is_string(), "{key} is missing: {line}");
        }
    }
    assert!(text.lines().all(|line| line.len() < 64 * 1024));
    assert!(!text.contains(ARGUMENT) && !text.contains(SECRET), "{text}");
    lines
}

#[test]
fn messages_are_objects_one_a_line_without_arguments_and_secrets() {
    let folder = folder(&[("good", "good"), ("gone", "absent")], "", "");
    let mut client = Client::start_as(serve(&folder, &["--log-format", "json"])).shaken();
    play(&mut client);
    client.end();
    assert_eq!(folder.weaver(&["stop"]).code, 0);
    let log = fs::read_to_string(folder.path(".weaver/ledger.db.run/daemon.log")).unwrap();
    let lines = check_lines(&log);
    assert!(lines.iter().any(|line| line["level"] == "WARN"), "the log has no key: {log}");
}

#[test]
fn the_configuration_can_ask_for_objects_too_and_failures_are_among_them() {
    let settings = "[telemetry]\nlog_format = \"json\"\n";
    let folder = folder(&[("good", "good")], settings, "");
    let mut client = Client::start_as(serve(&folder, &["--standalone"])).shaken();
    play(&mut client);
    assert!(!check_lines(&client.end().stderr).is_empty());
    folder.write("weaver.toml", "[gatway]\n");
    let broken = folder.weaver(&["daemon", "--log-format", "json"]);
    assert_ne!(broken.code, 0);
    let told: Value = serde_json::from_str(broken.err.trim()).unwrap();
    assert!(told.to_string().contains("gatway"), "{told}");
}

/// What `/metrics` tells, read by a parser of the format.
struct Metrics {
    text: String,
    scrape: Scrape,
}

impl Metrics {
    fn of(web: &Web) -> Self {
        let text = web.get("/metrics");
        let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap();
        Self { text, scrape }
    }

    /// The series by name and labels.
    fn series(&self) -> BTreeSet<String> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |sample: &&prometheus_parse::Sample| {
            let has = |(key, value): &(&str, &str)| sample.labels.get(key) == Some(value);
            sample.metric == name && labels.iter().all(has)
        };
        self.scrape.samples.iter().find(fits).map(|sample| match &sample.value {
            Metric::Counter(value) | Metric::Gauge(value) => *value,
            Metric::Histogram(buckets) => buckets.last().unwrap().count,
            other => panic!("{other:?}"),
        })
    }
}

/// What each metric is declared as, once and with a help text.
fn declared(text: &str) -> BTreeMap<&str, &str> {
    let (mut kinds, mut helps) = (BTreeMap::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(helps.insert(name) && help.ends_with('.'), "{line}");
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(helps.contains(name) && kinds.insert(name, kind).is_none(), "{line}");
        }
    }
    kinds
}

#[test]
fn metrics_have_types_and_help_and_series_that_no_client_can_add_to() {
    let web = Web::prepared("good", "", None);
    let mut client = web.client();
    play(&mut client);
    let metrics = Metrics::of(&web);
    let kinds = declared(&metrics.text);
    for name in metrics.series().iter().map(|series| series.split('{').next().unwrap()) {
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|ending| name.strip_suffix(ending))
            .find(|base| kinds.get(base) == Some(&"histogram"));
        let kind = kinds.get(family.unwrap_or(name)).unwrap_or_else(|| panic!("{name}: no type"));
        assert_eq!(*kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
    }
    let samples = metrics.text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(samples, metrics.series().len(), "a series twice: {}", metrics.text);
    let outcome =
        |name: &str| metrics.value("weaver_calls_total", &[("server", "good"), ("outcome", name)]);
    assert_eq!(
        (outcome("ok"), outcome("error"), outcome("deny")),
        (Some(1.0), Some(1.0), Some(1.0))
    );
    let calls = metrics.value("weaver_call_duration_seconds", &[("server", "good")]);
    assert_eq!(calls, Some(3.0));
    for stage in ["decision", "execution", "server", "firewall"] {
        let counted = metrics.value("weaver_call_stage_duration_seconds", &[("stage", stage)]);
        assert!(counted.is_some_and(|count| count >= 2.0), "{stage}: {}", metrics.text);
    }
    assert_eq!(metrics.value("weaver_server_ready", &[("server", "good")]), Some(1.0));
    assert!(!metrics.text.contains(ARGUMENT));
    // Whatever a client asks for, there are no further series after the first of its kind.
    client.refusal("x.y", json!({}));
    let before = Metrics::of(&web).series();
    for number in 0..20 {
        client.refusal(&format!("server{number}.tool{number}"), json!({}));
        client.refusal(&format!("good.tool{number}"), json!({}));
    }
    assert_eq!(Metrics::of(&web).series(), before);
    client.end();
}

#[test]
fn every_metric_of_the_dashboard_is_one_that_the_gateway_tells() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/grafana.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut queries: Vec<&str> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    queries.extend(variables.iter().filter_map(|variable| variable["query"]["query"].as_str()));
    let web = Web::prepared("good", "", None);
    let mut client = web.client();
    play(&mut client);
    let metrics = Metrics::of(&web);
    let told: BTreeSet<String> =
        metrics.series().iter().map(|name| name.split('{').next().unwrap().to_owned()).collect();
    let mut named = BTreeSet::new();
    for query in &queries {
        let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        named.extend(query.split(word).filter(|word| word.starts_with("weaver_")));
    }
    assert!(queries.len() >= 15 && named.len() >= 12, "{named:?}");
    let kinds = declared(&metrics.text);
    for name in &named {
        // Some have no series yet, for example those of checkpoints where the log has no key.
        let is_told = told.contains(*name) || kinds.contains_key(name);
        assert!(is_told, "the gateway does not tell `{name}`: {told:?}");
    }
    for kind in kinds.keys().filter(|name| !named.iter().any(|used| used.starts_with(**name))) {
        assert!(kind.starts_with("weaver_servers"), "`{kind}` stands in no panel");
    }
    client.end();
}

/// The names of series in a text, such as a query.
fn named_series(text: &str) -> BTreeSet<&str> {
    let between = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    text.split(between).filter(|word| word.starts_with("weaver_")).collect()
}

#[test]
fn every_metric_of_the_alerts_is_one_that_the_gateway_tells() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/alerts.yaml");
    let alerts = fs::read_to_string(path).unwrap();
    let rules = alerts.matches("- alert: ").count();
    let named = named_series(&alerts);
    assert!(rules >= 10 && named.len() >= 10, "{named:?}");
    let web = Web::prepared("good", "", None);
    let mut client = web.client();
    play(&mut client);
    let metrics = Metrics::of(&web);
    let series = metrics.series();
    let told: BTreeSet<&str> = series.iter().map(|name| name.split('{').next().unwrap()).collect();
    for name in named {
        assert!(told.contains(name), "the gateway does not tell `{name}`: {told:?}");
    }
    client.end();
}

#[test]
fn a_collector_gets_the_spans_of_calls_and_the_metrics() {
    let collector = Collector::start();
    let settings = format!(
        "[telemetry.otlp]\nendpoint = \"{}\"\ninterval_s = 1\n\
         headers = {{ Authorization = \"Bearer s3cret\" }}\n",
        collector.endpoint()
    );
    let folder = folder(&[("good", "good")], &settings, "");
    let mut client = Client::start_as(serve(&folder, &[])).shaken();
    play(&mut client);
    let traced = traced_call(&mut client);
    client.end();
    assert_eq!(folder.weaver(&["stop"]).code, 0);
    let told = collector.told();
    assert!(told.authorized, "the header is sent");
    assert!(told.resources.iter().all(|resource| resource["service.name"] == "weaver"));
    let spans = &told.spans;
    let roots: Vec<_> = spans.iter().filter(|span| span.kind == SpanKind::Server).collect();
    assert_eq!(roots.len(), 4, "one for each call: {spans:?}");
    let (root, server) = spans_of_traced_call(&told);
    let seen = traced.to_string();
    assert!(seen.contains(&format!("00-{}-{}-01", root.trace, server.span)), "{seen}");
    assert!(!seen.contains("free-text"), "what could be anything is not carried on: {seen}");
    let failed = roots.iter().find(|span| span.name.ends_with("good.failing")).unwrap();
    assert!(failed.failed && failed.attributes.contains_key("error.type"), "{failed:?}");
    check_metrics(&told);
}

/// Several gateways in containers all have the process id 1; a restart makes no other gateway.
#[test]
fn a_gateway_is_told_apart_by_its_store() {
    let collector = Collector::start();
    let settings = format!(
        "[telemetry.otlp]\nendpoint = \"{}\"\ninterval_s = 1\n\
         headers = {{ Authorization = \"Bearer s3cret\" }}\n\
         attributes = {{ \"deployment.environment.name\" = \"test\" }}\n",
        collector.endpoint()
    );
    let start_and_stop = |folder: &Folder| {
        let mut command = serve(folder, &[]);
        command.env("OTEL_SERVICE_NAME", "gate").env("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b");
        let mut client = Client::start_as(command).shaken();
        client.execute("good.echo", json!({"text": "x"}));
        client.end();
        assert_eq!(folder.weaver(&["stop"]).code, 0);
        collector.told().resources
    };
    let one = folder(&[("good", "good")], &settings, "");
    let first = start_and_stop(&one);
    assert_eq!(start_and_stop(&one), first, "a restart changes nothing");
    let resource = first.first().unwrap();
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(resource["service.name"], "gate");
    assert_eq!(resource["team"], "a b");
    assert_eq!(resource["deployment.environment.name"], "test");
    let other = start_and_stop(&folder(&[("good", "good")], &settings, ""));
    let ids: BTreeSet<&String> = other.iter().map(|one| &one["service.instance.id"]).collect();
    assert_eq!(ids.len(), 2, "{other:?}");
}

/// The span in which the client makes its call, and its trace.
const CLIENT_SPAN: &str = "00f067aa0ba902b7";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// A call that belongs to a trace of the client's; the server's answer tells what it got.
fn traced_call(client: &mut Client) -> Value {
    let parent = format!("00-{TRACE}-{CLIENT_SPAN}-01");
    client.request(
        "tools/call",
        json!({
            "name": "tool_execute",
            "arguments": { "capability": "good.echo", "arguments": { "text": "your metadata" } },
            "_meta": { "traceparent": parent, "tracestate": "k=free-text" },
        }),
    )
}

/// Checks the spans of that call. Gives the one of the call, and that of the server's part.
fn spans_of_traced_call(told: &Told) -> (&Span, &Span) {
    let spans = &told.spans;
    let mut roots = spans.iter().filter(|span| span.kind == SpanKind::Server);
    let root = roots.find(|span| span.trace == TRACE).unwrap();
    assert_eq!(root.parent, CLIENT_SPAN, "it is a child of the client's span");
    assert_eq!(root.name, "tools/call good.echo");
    assert_eq!(root.attributes["gen_ai.tool.name"], "good.echo");
    assert_eq!(root.attributes["mcp.method.name"], "tools/call");
    assert_eq!(root.attributes["gen_ai.operation.name"], "execute_tool");
    assert_eq!(root.attributes["mcp.protocol.version"], "2025-11-25");
    assert!(!root.attributes.contains_key("mcp.session.id"), "pipes have no sessions");
    let children: BTreeMap<_, _> = spans
        .iter()
        .filter(|span| span.trace == root.trace && span.parent == root.span)
        .map(|span| (span.name.as_str(), span))
        .collect();
    let names: Vec<_> = children.keys().copied().collect();
    assert_eq!(names, ["weaver.decision", "weaver.execution", "weaver.firewall"]);
    let execution = children["weaver.execution"];
    let server = spans.iter().find(|span| span.parent == execution.span).unwrap();
    assert_eq!((server.kind, server.name.as_str()), (SpanKind::Client, "tools/call echo"));
    assert!(root.from <= execution.from && execution.from <= server.from);
    assert!(server.to <= execution.to && execution.to <= root.to);
    let text = format!("{spans:?}");
    assert!(!text.contains(ARGUMENT) && !text.contains(SECRET), "{text}");
    (root, server)
}

/// Proxies and instrumented clients write the context into a header.
#[test]
fn a_trace_context_in_a_header_counts_where_the_message_has_none() {
    let collector = Collector::start();
    let settings = format!("[telemetry.otlp]\nendpoint = \"{}\"\n", collector.endpoint());
    let web = Web::with("good", &settings);
    let id = web.open_with(json!({}));
    let of_header = format!("00-{TRACE}-{CLIENT_SPAN}-01");
    let other = "0af7651916cd43dd8448eb211c80319c";
    let of_message = json!({ "traceparent": format!("00-{other}-{CLIENT_SPAN}-01") });
    let echo = json!({ "capability": "good.echo", "arguments": { "text": "your metadata" } });
    for (number, header, meta, trace) in
        [(7, of_header.as_str(), json!({}), TRACE), (8, of_header.as_str(), of_message, other)]
    {
        let params = json!({ "name": "tool_execute", "arguments": echo, "_meta": meta });
        let headers = [("mcp-session-id", id.as_str()), ("traceparent", header)];
        let answer = web.post(&headers, &request(number, "tools/call", params));
        assert!(answer.body.contains(trace), "{answer:?}");
    }
    let params = json!({ "name": "tool_execute", "arguments": echo });
    let headers = [("mcp-session-id", id.as_str()), ("traceparent", "00-not-one-01")];
    let answer = web.post(&headers, &request(9, "tools/call", params));
    assert!(!answer.body.contains(TRACE) && answer.status == 200, "{answer:?}");
}

/// Spans of prompts and resources have the names and attributes of theirs, and none of a tool's.
#[test]
fn spans_of_prompts_and_resources_say_what_was_got_and_read() {
    let collector = Collector::start();
    let settings = format!("[telemetry.otlp]\nendpoint = \"{}\"\n", collector.endpoint());
    let web = Web::with("features", &settings);
    let id = web.open_with(json!({}));
    let session = [("mcp-session-id", id.as_str())];
    let token = "ghp_x7Kq2mV9tRb4Lw8ZpN3sYd6FhJ1cGu5Ae0Xi";
    let secret = format!("note://1?token={token}");
    let greet = json!({ "name": "good__greet", "arguments": { "who": ARGUMENT } });
    for (number, method, params) in [
        (7, "prompts/get", greet),
        (8, "resources/read", json!({ "uri": "note://1" })),
        (9, "resources/read", json!({ "uri": secret })),
        (10, "resources/read", json!({ "uri": "note://gone" })),
    ] {
        let answer = web.post(&session, &request(number, method, params));
        assert_eq!(answer.json()["error"].is_object(), number == 10, "{answer:?}");
    }
    assert_eq!(web.weaver(&["stop"]).code, 0);
    let told = collector.told();
    let of = |number: &str| {
        let is_it =
            |span: &&Span| span.attributes.get("jsonrpc.request.id").is_some_and(|id| id == number);
        let root = told.spans.iter().find(is_it).unwrap_or_else(|| panic!("{:?}", told.spans));
        let client = |span: &&Span| span.trace == root.trace && span.kind == SpanKind::Client;
        (root, told.spans.iter().find(client).unwrap())
    };
    let (root, client) = of("7");
    assert_eq!(
        (root.name.as_str(), client.name.as_str()),
        ("prompts/get good.greet", "prompts/get greet")
    );
    assert_eq!(root.attributes["gen_ai.prompt.name"], "good.greet");
    assert_eq!(client.attributes["gen_ai.prompt.name"], "greet");
    let (root, client) = of("8");
    for span in [root, client] {
        assert_eq!(span.name, "resources/read");
        assert_eq!(span.attributes["mcp.resource.uri"], "note://1");
    }
    assert!(of("9").0.attributes["mcp.resource.uri"].starts_with("note://1?token="));
    assert!(of("10").0.failed && of("10").0.attributes.contains_key("error.type"));
    for (root, client) in ["7", "8", "9", "10"].map(of) {
        assert_eq!(root.attributes["mcp.session.id"], id);
        assert_eq!(root.attributes["mcp.protocol.version"], "2025-11-25");
        for span in [root, client] {
            let of_a_tool = ["gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"];
            assert!(of_a_tool.iter().all(|name| !span.attributes.contains_key(*name)), "{span:?}");
        }
    }
    let text = format!("{:?}", told.spans);
    assert!(!text.contains(ARGUMENT) && !text.contains(token), "{text}");
}

/// Checks the metrics after four calls.
fn check_metrics(told: &Told) {
    for name in ["weaver.calls", "mcp.server.operation.duration", "weaver.sessions"] {
        assert!(told.metrics.contains_key(name), "{name}: {:?}", told.metrics);
    }
    assert_eq!(told.metrics["mcp.server.operation.duration"], 4, "the last time that it was told");
    assert_eq!(told.metrics["mcp.client.operation.duration"], 3, "one call reached no server");
    for name in ["mcp.server.operation.duration", "mcp.client.operation.duration"] {
        let of_calls = &told.attributes[name];
        assert_eq!(of_calls["mcp.method.name"], "tools/call");
        assert_eq!(of_calls["weaver.server"], "good");
    }
}

#[test]
#[ignore = "takes the collector that WEAVER_OTLP_COLLECTOR names; `cargo xtask crosscheck` installs one"]
fn a_collector_that_others_wrote_takes_in_all_of_it() {
    let program = std::env::var_os("WEAVER_OTLP_COLLECTOR").expect("WEAVER_OTLP_COLLECTOR");
    let behind = Collector::start();
    let place = tempfile::tempdir().unwrap();
    let rotel = Rotel::start(Path::new(&program), place.path(), &behind.endpoint());
    let settings =
        format!("[telemetry.otlp]\nendpoint = \"{}\"\ninterval_s = 1\n", rotel.endpoint());
    let folder = folder(&[("good", "good")], &settings, "");
    let mut client = Client::start_as(serve(&folder, &[])).shaken();
    play(&mut client);
    traced_call(&mut client);
    client.end();
    assert_eq!(folder.weaver(&["stop"]).code, 0);
    let end = Instant::now() + Duration::from_secs(20);
    let complete = |told: &Told| {
        let roots = told.spans.iter().filter(|span| span.kind == SpanKind::Server).count();
        roots == 4 && told.metrics.get("mcp.server.operation.duration") == Some(&4)
    };
    while !complete(&behind.told()) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    let told = behind.told();
    spans_of_traced_call(&told);
    check_metrics(&told);
}

#[test]
fn the_wait_for_a_person_is_a_span_of_its_own_and_no_server_is_called() {
    let collector = Collector::start();
    let settings = format!(
        "[gateway]\napproval_timeout_ms = 300\n\n[telemetry.otlp]\nendpoint = \"{}\"\n\
         headers = {{ Authorization = \"Bearer s3cret\" }}\n",
        collector.endpoint()
    );
    let folder = held(&settings);
    let mut client = Client::start_as(serve(&folder, &["--standalone"])).shaken();
    let (is_error, _) = client.execute("good.send", message(ARGUMENT));
    assert!(is_error);
    client.end();
    let told = collector.told();
    let named = |name: &str| told.spans.iter().find(|span| span.name == name);
    let (root, wait) = (named("tools/call good.send").unwrap(), named("weaver.hold").unwrap());
    assert_eq!((&wait.trace, &wait.parent), (&root.trace, &root.span));
    assert!(wait.to - wait.from >= 250_000_000, "{wait:?}");
    assert_eq!(root.attributes["weaver.outcome"], "hold");
    assert_eq!(root.attributes["error.type"], "floor_hold");
    assert!(root.parent.is_empty() && named("weaver.decision").is_some());
    assert!(named("weaver.execution").is_none(), "{:?}", told.spans);
    assert!(!format!("{:?}", told.spans).contains(ARGUMENT));
}

#[test]
fn a_collector_that_never_answers_delays_no_call() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let settings =
        format!("[telemetry.otlp]\nendpoint = \"http://{}\"\n", silent.local_addr().unwrap());
    let folder = folder(&[("good", "good")], &settings, "");
    let mut client = Client::start_as(serve(&folder, &["--standalone"])).shaken();
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(!client.execute("good.people", json!({})).0);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "a call waited for the collector");
    let ending = Instant::now();
    client.end();
    // One attempt to send takes ten seconds there.
    assert!(ending.elapsed() < Duration::from_secs(8), "the end waited for the collector");
}
