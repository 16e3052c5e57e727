use proptest::prelude::*;

use super::*;

fn fault(text: &str) -> (MessageFault, Vec<u64>) {
    match classify(text.as_bytes()) {
        IncomingMessage::Invalid { fault, ids } => (fault, ids),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn every_broken_rule_names_the_call() {
    for (text, expected) in [
        (r#"{"id":7,"result":{}}"#, MessageFault::MissingVersion),
        (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, MessageFault::MissingVersion),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#,
            MessageFault::ResultAndError,
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#, MessageFault::NeitherResultNorError),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"message":"x"}}"#, MessageFault::ErrorWithoutCode),
        (r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#, MessageFault::ErrorWithoutCode),
        (r#"{"jsonrpc":"2.0","id":7,"result":[1]}"#, MessageFault::ResultNotObject),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#, MessageFault::RequestAndReply),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#, MessageFault::DuplicateKey),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"result":{}}"#, MessageFault::DuplicateKey),
        (r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#, MessageFault::Batch),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"#, MessageFault::InvalidJson),
    ] {
        assert_eq!(fault(text), (expected, vec![7]), "{text}");
    }
    assert_eq!(fault(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#), (MessageFault::NullId, vec![]));
    assert_eq!(fault(r#"{"jsonrpc":"2.0","result":{}}"#), (MessageFault::NullId, vec![]));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    assert_eq!(fault(&deep), (MessageFault::TooDeep, vec![7]));
}

#[test]
fn log_lines_are_noise() {
    for text in [
        "listening on 3000",
        "",
        "[INFO] up",
        "[1,2]",
        "17",
        r#"{"level":"info","id":"x"}"#,
        "{half",
    ] {
        assert!(matches!(classify(text.as_bytes()), IncomingMessage::NotJsonRpc), "{text}");
    }
}

#[test]
fn a_result_keeps_its_bytes_and_every_field() {
    let raw = r#"{ "content":[],"tools":[1], "x" : 99999999999999999999}"#;
    let line = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{raw}}}"#);
    let IncomingMessage::Reply { id: Some(7), answer: Ok(reply) } = classify(line.as_bytes())
    else {
        panic!("not a reply")
    };
    assert_eq!(reply.raw(), raw);
    assert_eq!(reply.warnings(), [ReplyWarning::NumbersRounded]);
    assert_eq!(reply.value()["tools"], serde_json::json!([1]));
}

/// Python writes what JSON does not have.
#[test]
fn numbers_that_json_does_not_have_are_null() {
    let line = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"mean":NaN,"max":-Infinity}}}"#;
    let IncomingMessage::Reply { id: Some(7), answer: Ok(reply) } = classify(line.as_bytes())
    else {
        panic!("not a reply")
    };
    assert_eq!(reply.warnings(), [ReplyWarning::NonFiniteNumbers]);
    let structured = serde_json::json!({ "mean": null, "max": null });
    assert_eq!(reply.value()["structuredContent"], structured);
}

#[test]
fn only_plain_numbers_are_our_ids() {
    for (raw, id) in [
        ("7", Some(7)),
        ("\"7\"", None),
        ("7.0", None),
        ("07", None),
        ("-7", None),
        ("+7", None),
        ("{}", None),
    ] {
        assert_eq!(parse_own_id(raw), id, "{raw}");
    }
}

#[test]
fn the_id_is_found_in_a_cut_message() {
    assert_eq!(
        id_in_prefix(br#" { "jsonrpc" : "2.0" , "id" : 12 , "result":{"text":"aaa"#),
        Some(12)
    );
    assert_eq!(id_in_prefix(br#"{"x":{"id":3,"s":"}\""},"id":4,"result":"#), Some(4));
    assert_eq!(id_in_prefix(br#"{"id":"4","result":"#), None);
    assert_eq!(id_in_prefix(br#"{"result":{"id":3,"t":"aaaa"#), None);
    assert_eq!(id_in_prefix(br#"{"id":1"#), None);
}

proptest! {
    #[test]
    fn any_bytes_are_classified_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = classify(&bytes);
        let _ = id_in_prefix(&bytes);
    }

    #[test]
    fn the_head_agrees_with_the_whole(id in any::<u64>(), junk in "[a-z\\\\\"{}\\[\\],:]{0,20}") {
        let line = serde_json::json!({"a": junk, "id": id, "jsonrpc": "2.0", "result": {}}).to_string();
        prop_assert_eq!(id_in_prefix(line.as_bytes()), Some(id));
    }
}

/// A message whose structured value holds these rows and, beside them, enough to be large.
fn with_rows(rows: &str) -> String {
    let many = format!(r#"{{"filler":"{}"}}"#, "x".repeat(1 << 10));
    let many = vec![many; (4 << 10) + 8].join(",");
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"structuredContent":{{"total":2,"rows":[{many}{rows}]}}}}}}"#
    )
}

#[test]
fn rows_of_a_large_message_are_read_as_the_whole_would_be() {
    for rows in [
        "",
        r#", {"b": 1.50, "a": "\u0061\/", "c": -0}"#,
        r#",{"n":99999999999999999999},{"a":1.0}"#,
        r#",{"n":1e400}"#,
        r#",{"a":1,"a":2}"#,
        r#",{"a":"\ud800"}"#,
        r#",1"#,
        r#",{"a":{"b":[1,{"c":null}]}}"#,
        &format!(r#",{{"a":{}{}}}"#, "[".repeat(122), "]".repeat(122)),
        &format!(r#",{{"a":{}{}}}"#, "[".repeat(130), "]".repeat(130)),
    ] {
        let line = with_rows(rows);
        let alone = strict_json::read(line.as_bytes());
        match (classify(line.as_bytes()), alone) {
            (IncomingMessage::Reply { answer: Ok(reply), .. }, Ok(whole)) => {
                assert_eq!(*reply.value(), whole.value["result"], "{rows}");
                assert_eq!(reply.warnings().is_empty(), !whole.rounded, "{rows}");
                let kept = reply.into_parts().1.map(|rows| rows.text().to_owned());
                let written = whole.value["result"]["structuredContent"].to_string();
                let is_tree = rows == ",1" || rows.contains("[[");
                assert_eq!(kept, (!is_tree).then_some(written), "{rows}");
            }
            (IncomingMessage::Invalid { fault, ids }, Err(expected)) => {
                assert_eq!((fault, ids), (expected, vec![7]), "{rows}");
            }
            (incoming, _) => panic!("{rows}: {incoming:?}"),
        }
    }
}
