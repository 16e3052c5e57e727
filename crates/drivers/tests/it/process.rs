//! Child processes: crashes, restarts, environment, and nothing left behind.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weaver_drivers::mcp::{CallOutcome, Endpoint, StdioConfig, Upstream, UpstreamConfig};
use weaver_types::{Random, RandomError};

use crate::support::{complete, config, connect, none, request};

#[tokio::test]
async fn a_crash_fails_every_open_call_at_once() {
    let connection = connect("plain").await;
    let (held, crash) = tokio::join!(
        connection.call(request("hold", json!({}))),
        connection.call(request("crash", json!({}))),
    );
    for error in [held.unwrap_err(), crash.unwrap_err()] {
        assert_eq!(error.code(), "mcp.upstream_closed");
        assert!(error.to_string().contains("exit status: 7"), "{error}");
        assert_eq!(error.detail().as_deref(), Some("out of \\u{1b}[31mcheese"));
    }
    let after = connection.call(request("echo", json!({}))).await.unwrap_err();
    assert_eq!(after.code(), "mcp.upstream_closed");
}

#[tokio::test]
async fn an_upstream_comes_back_after_a_crash() {
    let upstream = Upstream::new(config("plain"));
    for _ in 0..3 {
        let crash = upstream.call(request("crash", json!({}))).await.unwrap_err();
        assert_eq!(crash.code(), "mcp.upstream_closed");
        assert!(upstream.tools_stale());
        let outcome = upstream.call(request("echo", json!({}))).await.unwrap();
        assert!(matches!(outcome, CallOutcome::Complete(_)));
    }
    upstream.close().await;
    assert_eq!(upstream.list_tools().await.unwrap_err().code(), "mcp.upstream_shutdown");
}

/// The chance by which pauses are longest.
struct Longest;

impl Random for Longest {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        bytes.fill(u8::MAX);
        Ok(())
    }
}

/// Time stands still unless the test moves it.
#[tokio::test(start_paused = true)]
async fn an_upstream_that_keeps_failing_is_left_alone_for_longer() {
    let stdio = StdioConfig { command: "/no/such/program".to_owned(), ..StdioConfig::default() };
    let upstream = Upstream::new(UpstreamConfig::new("x", Endpoint::Stdio(stdio)))
        .with_random(Arc::new(Longest));
    for pause in [0, 100, 500, 2_000, 10_000, 10_000] {
        assert_eq!(upstream.list_tools().await.unwrap_err().code(), "mcp.upstream_spawn");
        if pause > 0 {
            tokio::time::advance(Duration::from_millis(pause - 1)).await;
            let error = upstream.list_tools().await.unwrap_err();
            assert_eq!(error.code(), "mcp.upstream_backoff", "{pause}");
            assert!(error.to_string().contains("next attempt is possible in 1ms"), "{error}");
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn a_child_inherits_only_safe_variables() {
    // The test runner sets this for us; a child must not see it.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let connection = connect("plain").await;
    let reply = complete(&connection, "environment", json!({})).await;
    let names: Vec<&str> =
        reply.value()["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert!(names.contains(&"PATH") && names.contains(&"WEAVER_DRIVERS_FIXTURE"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
}

#[cfg(target_os = "linux")]
mod left_behind {
    use super::*;

    fn alive(pid: u64) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    }

    async fn gone(pid: u64) -> bool {
        for _ in 0..200 {
            if !alive(pid) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        false
    }

    #[tokio::test]
    async fn a_dropped_connection_leaves_no_process() {
        let connection = connect("plain").await;
        let child =
            complete(&connection, "environment", json!({})).await.value()["pid"].as_u64().unwrap();
        let grandchild =
            complete(&connection, "grandchild", json!({})).await.value()["pid"].as_u64().unwrap();
        assert!(alive(child) && alive(grandchild));
        drop(connection);
        assert!(gone(child).await && gone(grandchild).await);
    }

    #[tokio::test]
    async fn a_crash_takes_grandchildren_along() {
        let connection = connect("plain").await;
        let grandchild =
            complete(&connection, "grandchild", json!({})).await.value()["pid"].as_u64().unwrap();
        let error = connection.call(request("crash", json!({}))).await.unwrap_err();
        assert_eq!(error.code(), "mcp.upstream_closed");
        assert!(gone(grandchild).await);
    }

    #[tokio::test]
    async fn a_closed_connection_ends_its_child() {
        let connection = connect("plain").await;
        let child =
            complete(&connection, "environment", json!({})).await.value()["pid"].as_u64().unwrap();
        connection.close().await;
        assert!(gone(child).await);
        let error = connection.call(weaver_drivers::mcp::CallRequest::new("echo", none())).await;
        assert_eq!(error.unwrap_err().code(), "mcp.upstream_shutdown");
    }
}
