//! What an upstream is held to, and what becomes of a call whose end nobody saw.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use weaver_drivers::McpDriver;
use weaver_drivers::mcp::{CallOutcome, Endpoint, Upstream};
use weaver_types::ledger::StoredEvent;

use crate::fixture::FOLDER;
use crate::kernel::recorded;
use crate::support::{complete, config, connect, request};

#[tokio::test]
async fn a_late_answer_is_told_and_never_delivered() {
    let connection = connect("plain").await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let given_up = request("hold", json!({}))
        .timeout(Duration::from_millis(100))
        .on_late_answer(move |outcome| ear.lock().unwrap().push(outcome));
    assert_eq!(connection.call(given_up).await.unwrap_err().code(), "mcp.upstream_timeout");
    // Nobody wants to know of this one.
    let silent = request("hold", json!({})).timeout(Duration::from_millis(100));
    assert!(connection.call(silent).await.is_err());
    // The server answers all that it holds, the newest first.
    let own = complete(&connection, "release", json!({})).await;
    complete(&connection, "echo", json!({})).await;
    let heard = heard.lock().unwrap();
    let [Ok(CallOutcome::Complete(late))] = heard.as_slice() else { panic!("{heard:?}") };
    assert_ne!(late.value()["held"], own.value()["held"]);
    let counts = connection.counts();
    assert_eq!((counts.late, counts.dropped), (1, 1));
}

/// A server that runs and answers nothing any more is started anew, and one that was merely slow is not.
#[tokio::test]
async fn a_server_that_fell_silent_is_started_anew() {
    let mut config = config("plain");
    config.limits.silent_wait = Duration::from_millis(50);
    config.limits.ping_timeout = Duration::from_secs(2);
    let upstream = Upstream::new(config);
    let first = upstream.connection().await.unwrap().generation();
    let call = |name: &str| {
        request(name, json!({})).timeout(Duration::from_millis(if name == "echo" {
            20_000
        } else {
            200
        }))
    };
    assert_eq!(upstream.call(call("hold")).await.unwrap_err().code(), "mcp.upstream_timeout");
    upstream.end_if_silent().await;
    upstream.call(call("echo")).await.unwrap();
    assert_eq!(upstream.connection().await.unwrap().generation(), first, "it answers pings");
    assert_eq!(
        upstream.call(call("fall_silent")).await.unwrap_err().code(),
        "mcp.upstream_timeout"
    );
    upstream.end_if_silent().await;
    upstream.call(call("echo")).await.unwrap();
    assert_ne!(upstream.connection().await.unwrap().generation(), first);
}

/// The log says that an answer came, and nothing of what it brought.
#[test]
fn a_late_answer_of_a_server_is_in_the_log() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = Arc::new(Upstream::new(config("plain")));
    runtime.block_on(upstream.connection()).unwrap();
    let driver = McpDriver::new(Arc::clone(&upstream), "hold", runtime.handle().clone());
    let (done, ledger) = recorded(300, driver, &json!({}));
    assert!(!done.result.unwrap().success);
    let late = || -> Vec<String> {
        let all = ledger.events(0, 1_000).unwrap();
        let of_kind = |event: &StoredEvent| {
            let header: Value = serde_json::from_slice(&event.header).unwrap();
            (header["type"] == "call.late").then(|| event.payload.clone().unwrap())
        };
        let late = all.iter().filter_map(of_kind);
        late.map(|payload| String::from_utf8(payload.to_vec()).unwrap()).collect()
    };
    assert_eq!(late().len(), 0);
    runtime.block_on(upstream.call(request("release", json!({})))).unwrap();
    runtime.block_on(upstream.call(request("echo", json!({})))).unwrap();
    let late = late();
    assert_eq!(late.len(), 1);
    assert!(late[0].contains("\"success\":true") && !late[0].contains("held"), "{}", late[0]);
}

/// A call that may have been acted on is not sent a second time, whatever comes back to life.
#[test]
fn a_call_whose_fate_is_unknown_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("acted");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = Arc::new(Upstream::new(config("plain")));
    let arguments = json!({ "path": path });
    let driver = McpDriver::new(Arc::clone(&upstream), "act_and_die", runtime.handle().clone());
    let (done, _) = recorded(20_000, driver, &arguments);
    let text = format!("{:?}", done.result.unwrap());
    assert!(text.contains("lost in mid-call"), "{text}");
    let error = runtime.block_on(upstream.call(request("act_and_die", arguments))).unwrap_err();
    assert!(!error.is_unsent(), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "acted\nacted\n");
    // It is connected anew for what comes next, after its pause.
    let back = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        runtime.block_on(upstream.call(request("echo", json!({})))).is_ok()
    });
    assert!(back);
}

#[tokio::test]
async fn no_more_calls_begin_in_a_second_than_the_configuration_says() {
    let mut config = config("plain");
    config.limits.calls_per_second = NonZeroU32::new(3);
    let upstream = Upstream::new(config);
    let mut refused = Vec::new();
    for _ in 0..20 {
        if let Err(error) = upstream.call(request("echo", json!({}))).await {
            assert!(error.is_unsent());
            refused.push(error.code());
        }
    }
    assert!(refused.len() >= 10, "{refused:?}");
    assert!(refused.iter().all(|code| *code == "mcp.calls_per_second"), "{refused:?}");
}

/// A server that answers and ends is started again while its answer is on the way to the caller.
#[tokio::test]
async fn an_answer_does_not_wait_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config("starts_once");
    let Endpoint::Stdio(stdio) = &mut config.endpoint else { panic!("no program") };
    stdio.env.insert(FOLDER.to_owned(), folder.path().to_str().unwrap().to_owned());
    let upstream = Arc::new(Upstream::new(config));
    upstream.connection().await.unwrap();
    let is_there = |name: &'static str| {
        let path = folder.path().join(name);
        async move {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    let mut call = Box::pin(upstream.call(request("last_words", json!({}))));
    tokio::select! {
        outcome = &mut call => panic!("it is not answered yet: {outcome:?}"),
        () = is_there("called") => {}
    }
    // From here on nobody looks at the call until the next connection is being made.
    std::fs::write(folder.path().join("go"), "").unwrap();
    while upstream.end_reason().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let anew = Arc::clone(&upstream);
    let connecting = tokio::spawn(async move { anew.connection().await.map(drop) });
    is_there("started again").await;
    let answer = tokio::time::timeout(Duration::from_secs(10), call).await;
    assert!(matches!(answer, Ok(Ok(CallOutcome::Complete(_)))), "{answer:?}");
    assert!(!connecting.is_finished());
    upstream.close().await;
}
