//! What a hostile stdio server sends: each thing ends its call at once or does no harm.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_drivers::mcp::{CallOutcome, ReplyWarning};

use crate::support::{
    LONG, assert_serves, complete, config, connect, connect_with, request, write,
};

/// Each of these lines, as the answer to a call, fails that call with the code; the connection
/// goes on. None of them waits for the timeout.
#[tokio::test]
async fn a_broken_reply_fails_its_call_at_once() {
    let connection = connect("plain").await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":{}{}}}}}"#,
        "[".repeat(300),
        "]".repeat(300)
    );
    for (line, code) in [
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"content":[]}}"#, "mcp.duplicate_key"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"a":[{"b":1,"\u0062":2}]}}"#, "mcp.duplicate_key"),
        (r#"{"jsonrpc":"2.0","id":$ID,"id":99,"result":{}}"#, "mcp.duplicate_key"),
        (
            r#"{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"x"}}"#,
            "mcp.result_and_error",
        ),
        (r#"{"jsonrpc":"2.0","id":$ID}"#, "mcp.neither_result_nor_error"),
        (r#"{"jsonrpc":"2.0","id":$ID,"error":{"message":"x"}}"#, "mcp.error_without_code"),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, "mcp.null_id"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "mcp.null_id"),
        (r#"{"id":$ID,"result":{}}"#, "mcp.missing_jsonrpc"),
        (r#"[{"jsonrpc":"2.0","id":$ID,"result":{}}]"#, "mcp.batch"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":7}"#, "mcp.result_not_object"),
        (r#"{"jsonrpc":"2.0","id":$ID,"method":"x","result":{}}"#, "mcp.request_and_reply"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":["#, "mcp.invalid_json"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"text":"\ud800"}}"#, "mcp.invalid_value"),
        (deep.as_str(), "mcp.too_deep"),
    ] {
        let error = write(&connection, &[line]).await.unwrap_err();
        assert_eq!(error.code(), code, "{line}");
        assert!(error.to_string().contains("`fixture`"), "{error}");
    }
    assert_serves(&connection).await;
}

/// A tool result stays that tool's result, whole, whatever else the server puts into it.
#[tokio::test]
async fn extra_fields_change_nothing() {
    let connection = connect("plain").await;
    for extra in [
        r#""tools":[{"name":"evil"}],"nextCursor":"x""#,
        r#""action":"accept","content2":{}"#,
        r#""messages":[{"role":"user"}]"#,
        r#""contents":[]"#,
        r#""resources":[]"#,
        r#""task":{"taskId":"1"}"#,
        r#""protocolVersion":"2025-11-25","serverInfo":{},"capabilities":{}"#,
        r#""method":"ping","id":1,"jsonrpc":"2.0","error":{"code":1}"#,
    ] {
        let raw = format!(
            r#"{{"content":[{{"type":"hologram","x":1,"annotations":{{"y":2}}}}],"isError":false,{extra}}}"#
        );
        let line = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{raw},"zzz":1}}"#);
        let CallOutcome::Complete(reply) = write(&connection, &[&line]).await.unwrap() else {
            panic!("{extra}")
        };
        assert_eq!(reply.raw(), raw);
        assert_eq!(*reply.value(), serde_json::from_str::<Value>(&raw).unwrap());
    }
}

#[tokio::test]
async fn big_integers_are_a_finding_and_keep_their_digits() {
    let connection = connect("plain").await;
    let line =
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"n":123456789012345678901234567890}}"#;
    let CallOutcome::Complete(reply) = write(&connection, &[line]).await.unwrap() else { panic!() };
    assert_eq!(reply.warnings(), [ReplyWarning::NumbersRounded]);
    assert!(reply.raw().contains("123456789012345678901234567890"));
    assert!(reply.value()["n"].is_f64());
    assert!(complete(&connection, "echo", json!({})).await.warnings().is_empty());
}

#[tokio::test]
async fn ids_as_strings_and_late_double_and_unknown_ones_do_not_count() {
    let connection = connect("plain").await;
    let lines = [
        r#"{"jsonrpc":"2.0","id":"nobody","result":{"content":["wrong"]}}"#,
        r#"{"jsonrpc":"2.0","id":123456,"result":{"content":["wrong"]}}"#,
        r#"{"jsonrpc":"2.0","id":"$ID","result":{"content":["wrong"]}}"#,
        r#"{"jsonrpc":"2.0","id":"$ID","error":{"code":1,"message":"wrong"}}"#,
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":["right"]}}"#,
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":["late"]}}"#,
        r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"late"}}"#,
    ];
    let CallOutcome::Complete(reply) = write(&connection, &lines).await.unwrap() else { panic!() };
    assert_eq!(reply.value()["content"][0], "right");
    assert_serves(&connection).await;
    assert_eq!(connection.counts().dropped, 6);
}

#[tokio::test]
async fn noise_is_skipped_and_endless_noise_ends_the_connection() {
    let connection = connect("plain").await;
    let noise = vec!["log: \u{1b}[31mhello"; 99];
    let reply = [r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}"#];
    for _ in 0..3 {
        let lines = [noise.as_slice(), reply.as_slice()].concat();
        assert!(matches!(write(&connection, &lines).await, Ok(CallOutcome::Complete(_))));
    }
    let error = write(&connection, &["noise"; 100]).await.unwrap_err();
    assert_eq!(error.code(), "mcp.upstream_garbage");
    assert_eq!(connection.close_reason().unwrap().code(), "mcp.upstream_garbage");
    let error = connect_with(config("babble")).await.err().unwrap();
    assert_eq!(error.code(), "mcp.upstream_garbage");
}

#[tokio::test]
async fn an_oversize_line_fails_its_call_only() {
    let mut config = config("plain");
    config.limits.message_bytes = 100_000;
    let connection = connect_with(config).await.unwrap();
    for id_last in [false, true] {
        let arguments = json!({"size": 5_000_000, "id_last": id_last});
        let error = connection.call(request("oversize", arguments)).await.unwrap_err();
        assert_eq!(error.code(), "mcp.line_too_long", "{id_last}");
        let said = error.to_string();
        assert!(
            said.contains("`message_kb` under `limits`") && said.contains("ask for less"),
            "{said}"
        );
        assert_serves(&connection).await;
    }
    let (held, big) = tokio::join!(connection.call(request("hold", json!({}))), async {
        let big = connection.call(request("oversize", json!({"size": 5_000_000}))).await;
        complete(&connection, "release", json!({})).await;
        big
    },);
    assert_eq!(big.unwrap_err().code(), "mcp.line_too_long");
    assert!(matches!(held, Ok(CallOutcome::Complete(_))));
    let large = json!({"text": "x".repeat(200_000)});
    let error = connection.call(request("echo", large)).await.unwrap_err();
    assert_eq!(error.code(), "mcp.request_too_large");
    let said = error.to_string();
    assert!(said.contains("over the 100000 that `message_kb` under `limits`"), "{said}");
}

#[tokio::test]
async fn an_oversize_line_of_unknown_origin_fails_all_open_calls() {
    let mut config = config("plain");
    config.limits.message_bytes = 10_000;
    let connection = connect_with(config).await.unwrap();
    let (held, big) = tokio::join!(
        connection.call(request("hold", json!({}))),
        connection.call(request("oversize", json!({"size": 50_000, "id_last": true}))),
    );
    assert_eq!(held.unwrap_err().code(), "mcp.line_too_long");
    assert_eq!(big.unwrap_err().code(), "mcp.line_too_long");
    assert_serves(&connection).await;
}

#[tokio::test]
async fn progress_arrives_whole_in_order_and_before_the_reply() {
    let connection = connect("plain").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let call = request("progress", json!({"count": 1000}))
        .progress(move |step| sink.lock().unwrap().push(step));
    assert!(matches!(connection.call(call).await, Ok(CallOutcome::Complete(_))));
    let seen = seen.lock().unwrap();
    let steps: Vec<f64> = seen.iter().map(|step| step.progress).collect();
    assert_eq!(steps, (1..=1000).map(f64::from).collect::<Vec<_>>());
    assert_eq!((seen[0].total, seen[0].message.as_deref()), (Some(1000.0), Some("on")));
}

#[tokio::test]
async fn progress_that_nobody_asked_for_is_counted() {
    let connection = connect("plain").await;
    complete(&connection, "progress", json!({"count": 10})).await;
    assert_eq!(connection.counts().notifications, 10);
}

#[tokio::test]
async fn the_server_gets_ping_and_empty_roots_and_no_more() {
    let connection = connect("plain").await;
    let reply = complete(&connection, "ask", json!({})).await;
    let answers = &reply.value()["answers"];
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": "s0", "result": {}}));
    assert_eq!(answers[1]["result"], json!({"roots": []}));
    assert_eq!(answers[2]["error"]["code"], -32601);
    assert_eq!(answers[3]["error"]["code"], -32601);
    assert_eq!(connection.counts().requests, 4);
}

#[tokio::test]
async fn replies_out_of_order_find_their_calls() {
    let connection = connect("plain").await;
    let (first, second, last) = tokio::join!(
        complete(&connection, "hold", json!({})),
        complete(&connection, "hold", json!({})),
        complete(&connection, "release", json!({})),
    );
    let held = [&first, &second, &last].map(|reply| reply.value()["held"].as_u64().unwrap());
    assert!(held[0] < held[1] && held[1] < held[2], "{held:?}");
}

#[tokio::test]
async fn errors_are_outcomes_and_input_requests_are_told_apart() {
    let connection = connect("plain").await;
    let outcome = connection.call(request("nothing", json!({}))).await.unwrap();
    let CallOutcome::Error(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!((error.code, error.message.as_str()), (-32602, "no such tool"));
    assert_eq!(error.data, Some(json!({"x": 1})));
    let line =
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required","requestState":"s"}}"#;
    assert!(matches!(write(&connection, &[line]).await, Ok(CallOutcome::InputRequired(_))));
    let line = r#"{"jsonrpc":"2.0","id":$ID,"result":{"task":{"taskId":"1"}}}"#;
    assert!(matches!(write(&connection, &[line]).await, Ok(CallOutcome::Task(_))));
}

#[tokio::test]
async fn a_timeout_and_a_dropped_call_cancel_at_the_server() {
    let connection = connect("plain").await;
    let call = request("mute", json!({})).timeout(std::time::Duration::from_millis(50));
    let error = connection.call(call).await.unwrap_err();
    assert_eq!(error.code(), "mcp.upstream_timeout");
    let dropped = connection.call(request("mute", json!({})));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), dropped).await.is_err());
    let reply = complete(&connection, "notified", json!({})).await;
    let notified = reply.value()["notified"].as_array().unwrap();
    let cancelled: Vec<&Value> = notified
        .iter()
        .filter(|message| message["method"] == "notifications/cancelled")
        .map(|message| &message["params"]["requestId"])
        .collect();
    assert_eq!(cancelled, [&json!(2), &json!(3)]);
}

#[tokio::test]
async fn calls_beyond_the_bounds_wait_or_fail_at_once() {
    let mut config = config("plain");
    config.limits.in_flight = 2;
    config.limits.queued_calls = 1;
    let connection = connect_with(config).await.unwrap();
    let hold = || {
        connection.call(request("hold", json!({})).timeout(std::time::Duration::from_millis(300)))
    };
    let (a, b, c, d) = tokio::join!(hold(), hold(), hold(), hold());
    let codes: Vec<&str> = [a, b, c, d].into_iter().map(|r| r.unwrap_err().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == "mcp.too_many_calls").count(), 1, "{codes:?}");
    assert_eq!(
        codes.iter().filter(|code| **code == "mcp.upstream_timeout").count(),
        3,
        "{codes:?}"
    );
    assert_serves(&connection).await;
}

#[tokio::test]
async fn a_flood_of_calls_is_answered() {
    let connection = Arc::new(connect("plain").await);
    let calls: Vec<_> = (0..300)
        .map(|n| {
            let connection = Arc::clone(&connection);
            tokio::spawn(async move {
                let reply = complete(&connection, "echo", json!({"n": n})).await;
                reply.value()["content"][0]["text"] == format!("{{\"n\":{n}}}")
            })
        })
        .collect();
    for call in calls {
        assert!(tokio::time::timeout(LONG, call).await.unwrap().unwrap());
    }
}

/// A list is bounded as a whole, however many pages it may have.
#[tokio::test]
async fn a_list_ends_in_time_and_within_its_bytes() {
    for (behaviour, word) in [("endless", "longer"), ("crowd", "bytes"), ("long_cursor", "4 KiB")] {
        let mut config = config(behaviour);
        config.limits.list_pages = usize::MAX;
        config.limits.tools = usize::MAX;
        config.limits.list_bytes = if behaviour == "crowd" { 1_000_000 } else { usize::MAX };
        if behaviour == "endless" {
            config.limits.list_total_timeout = std::time::Duration::from_millis(200);
        }
        let connection = connect_with(config).await.unwrap();
        let listed = tokio::time::timeout(LONG, connection.list_tools()).await.unwrap();
        let error = listed.unwrap_err();
        assert_eq!(error.code(), "mcp.tool_list", "{behaviour}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(connection.tools_stale() && !connection.tools_listed());
    }
}
