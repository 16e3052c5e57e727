//! Short ways to reach the fixture.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use weaver_drivers::http::Access;
use weaver_drivers::mcp::{
    CallOutcome, CallRequest, Connection, Endpoint, McpError, Reply, StdioConfig, UpstreamConfig,
};

use crate::fixture::VARIABLE;

/// Far beyond what any answer takes: a test that waits this long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A runtime for the driver of a kernel without one.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// An access that may connect to this machine, which is not public.
pub(crate) fn here() -> Access {
    let networks = vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    Access { networks, ..Access::default() }
}

/// A configuration that starts the fixture with the named behaviour.
pub(crate) fn config(behaviour: &str) -> UpstreamConfig {
    let program = std::env::current_exe().unwrap();
    let mut stdio = StdioConfig {
        command: program.to_str().unwrap().to_owned(),
        args: ["--exact", "fixture::fixture_main", "--nocapture"].map(str::to_owned).to_vec(),
        ..StdioConfig::default()
    };
    stdio.env.insert(VARIABLE.to_owned(), behaviour.to_owned());
    UpstreamConfig::new("fixture", Endpoint::Stdio(stdio))
}

pub(crate) async fn connect(behaviour: &str) -> Connection {
    connect_with(config(behaviour)).await.unwrap()
}

pub(crate) async fn connect_with(config: UpstreamConfig) -> Result<Connection, McpError> {
    Connection::connect(Arc::new(config)).await
}

pub(crate) fn request(name: &str, arguments: Value) -> CallRequest {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallRequest::new(name, arguments).timeout(LONG)
}

/// Calls a tool that completes.
pub(crate) async fn complete(connection: &Connection, name: &str, arguments: Value) -> Reply {
    match connection.call(request(name, arguments)).await.unwrap() {
        CallOutcome::Complete(reply) => reply,
        other => panic!("{name}: {other:?}"),
    }
}

/// Has the fixture write these lines as the answer to a call.
pub(crate) async fn write(
    connection: &Connection,
    lines: &[&str],
) -> Result<CallOutcome, McpError> {
    connection.call(request("write", json!({"lines": lines}))).await
}

/// The connection still serves.
pub(crate) async fn assert_serves(connection: &Connection) {
    let reply = complete(connection, "echo", json!({"a": 1})).await;
    assert_eq!(reply.value()["content"][0]["text"], "{\"a\":1}");
}

pub(crate) fn none() -> Map<String, Value> {
    Map::new()
}
