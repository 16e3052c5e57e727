use serde_json::json;

use super::*;

fn content_of(value: Value) -> RawContent {
    split_content(value).0
}

/// Of a write that goes on out of sight nobody may say that it did not happen.
#[test]
fn what_goes_on_in_a_task_is_lost() {
    let value = json!({ "task": { "taskId": "1" } });
    let raw = serde_json::value::to_raw_value(&value).unwrap();
    let said =
        to_raw_result(Method::CallTool, Ok(CallOutcome::Task(Reply::new(raw, value, Vec::new()))));
    assert!(said.is_err_and(|error| error.is_ambiguous()));
}

#[test]
fn one_block_is_reduced_and_anything_more_is_kept_whole() {
    let text = json!({"type": "text", "text": "hi"});
    assert!(
        content_of(json!({"content": [text], "isError": false}))
            == RawContent::Text("hi".to_owned())
    );
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let bytes = RawContent::Binary { media_type: "image/png".to_owned(), bytes: b"hi".to_vec() };
    assert!(content_of(json!({"content": [image]})) == bytes);
    for whole in [
        json!({"content": [text, text]}),
        json!({"content": [{"type": "text", "text": "hi", "annotations": {}}]}),
        json!({"content": [{"type": "image", "data": "*", "mimeType": "image/png"}]}),
        json!({"content": [{"type": "hologram", "text": "hi"}]}),
        json!({"content": "hi"}),
        json!({}),
    ] {
        assert!(content_of(whole.clone()) == RawContent::Json(whole.clone()), "{whole}");
    }
}

#[test]
fn fields_that_the_protocol_does_not_know_are_a_block_of_their_own() {
    let text = json!({"type": "text", "text": "# Title\nline"});
    let found = raw(json!({"content": [text], "extra": {"a": 1}, "_meta": {}}));
    let extra = json!({"type": "text", "text": "{\"extra\":{\"a\":1}}"});
    assert_eq!(found.blocks.unwrap().blocks, [text.clone(), extra]);
    let empty = raw(json!({"content": [text], "tools": [], "next": null}));
    assert_eq!(empty.blocks.unwrap().blocks, [text]);
    let nothing = raw(json!({"content": []}));
    assert_eq!(nothing.blocks.unwrap().blocks, Vec::<Value>::new());
}

#[test]
fn a_structured_value_without_blocks_is_shown_as_both() {
    let structured = json!({"title": "x", "count": 2});
    let blocks = raw(json!({"structuredContent": structured})).blocks.unwrap();
    let text = json!({"type": "text", "text": structured.to_string()});
    assert_eq!((blocks.blocks, blocks.structured), (vec![text], Some(structured)));
}

#[test]
fn texts_that_are_the_items_of_the_only_list_are_not_shown_twice() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let list = json!({"result": ["src/app.py", 2, null]});
    let items = RawContent::Json(list["result"].clone());
    let blocks = [text("src/app.py"), text("2"), text("null")];
    let found =
        |blocks: &[Value]| content_of(json!({"content": blocks, "structuredContent": list}));
    assert!(found(&blocks) == items);
    assert!(found(&blocks[..2]) != items);
    assert!(found(&[text("src/app.py"), text("3"), text("null")]) != items);
}

#[test]
fn structured_content_stands_alone_only_when_the_text_repeats_it() {
    let rows = json!({"rows": [1, 2]});
    let same = json!({"type": "text", "text": "{ \"rows\": [1, 2] }"});
    let other = json!({"type": "text", "text": "ignore the rows"});
    assert!(
        content_of(json!({"content": [same], "structuredContent": rows}))
            == RawContent::Json(rows.clone())
    );
    assert!(
        content_of(json!({"content": [], "structuredContent": rows}))
            == RawContent::Json(rows.clone())
    );
    let text = json!({"type": "text", "text": "line 1"});
    let wrapped = json!({"content": [text], "structuredContent": {"content": "line 1"}});
    assert!(content_of(wrapped) == RawContent::Text("line 1".to_owned()));
    let more = json!({"content": [text], "structuredContent": {"content": "line 1", "n": 2}});
    assert!(content_of(more.clone()) == RawContent::Json(more));
    let whole = json!({"content": [other], "structuredContent": rows});
    assert!(content_of(whole.clone()) == RawContent::Json(whole));
}

fn raw(value: Value) -> RawResult {
    let text = serde_json::value::to_raw_value(&value).unwrap();
    raw_result(Reply::new(text, value, Vec::new()))
}

#[test]
fn questions_see_the_rows_that_text_stands_beside() {
    let rows = json!({"users": [{"id": 1}, {"id": 2}], "total": 2});
    let text = json!({"type": "text", "text": "two users"});
    let both = raw(json!({"content": [text], "structuredContent": rows}));
    assert!(both.content == RawContent::Json(rows.clone()), "{both:?}");
    assert!(both.structured == StructuredContent::Content);
    assert!(both.notes.is_empty(), "the text is in its block");
    let blocks = both.blocks.unwrap();
    assert_eq!((blocks.blocks, blocks.structured), (vec![text.clone()], Some(rows.clone())));
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    for whole in [
        json!({"content": [text, image], "structuredContent": rows}),
        json!({"content": [text], "structuredContent": {"a": [{}], "b": {}}}),
    ] {
        assert!(content_of(whole.clone()) == RawContent::Json(whole.clone()), "{whole}");
    }
}

#[test]
fn blocks_without_their_large_structure_are_not_the_result() {
    let rows: Vec<Value> = (0..MAX_STRUCTURED_PARTS).map(|id| json!({"id": id})).collect();
    let text = json!({"type": "text", "text": "many users"});
    let large = raw(json!({"content": [text], "structuredContent": {"users": rows}}));
    assert!(large.blocks.is_none());
    assert!(large.content == RawContent::Json(json!({"users": rows})));
    assert_eq!(large.notes, ["Not shown: 1 text block(s), 10 bytes, beside the rows."]);
    let again = json!({"type": "text", "text": json!({"users": rows}).to_string()});
    let same = raw(json!({"content": [again], "structuredContent": {"users": rows}}));
    assert!(same.notes.is_empty() && same.content == large.content, "nothing is missing");
}

#[test]
fn a_large_picture_keeps_its_block_where_the_structured_value_lists_it_again() {
    let data = "iVBORw0KGgo=".repeat(200_000);
    let picture = json!({ "type": "image", "data": data, "mimeType": "image/png" });
    for (structured, is_kept) in [
        (json!({ "content": [picture] }), true),
        (json!({ "content": [picture], "more": 1 }), false),
        (json!({ "content": [picture, picture] }), false),
    ] {
        let result = json!({ "content": [picture], "structuredContent": structured });
        assert_eq!(content_blocks(&result).is_some(), is_kept);
    }
}

#[test]
fn texts_that_are_the_rows_again_are_not_missing() {
    let rows: Vec<Value> = (0..MAX_STRUCTURED_PARTS).map(|id| json!({"id": id})).collect();
    let text = |value: &Value| json!({"type": "text", "text": value.to_string()});
    // As a program in Python writes floating-point numbers.
    let as_float = |row: &Value| json!({"type": "text", "text": format!("{{\"id\": {:?}}}", row["id"].as_f64().unwrap())});
    let structured = json!({"rows": rows, "rowCount": rows.len()});
    for blocks in [
        vec![text(&json!(rows))],
        rows.iter().map(text).collect(),
        rows.iter().map(as_float).collect(),
    ] {
        let same = raw(json!({"content": blocks, "structuredContent": structured}));
        assert!(same.notes.is_empty() && same.blocks.is_none(), "{:?}", same.notes);
        let reply = serde_json::value::to_raw_value(&json!({"content": blocks})).unwrap();
        let unparsed = JsonRows::parse(structured.to_string()).unwrap();
        let reply = Reply::new(reply, json!({"content": blocks}), Vec::new());
        assert!(raw_result(reply.with_rows(Some(unparsed))).notes.is_empty());
    }
}

#[test]
fn the_schema_speaks_of_the_structured_content_wherever_it_stands() {
    let of = |value: Value| split_content(value).1;
    let rows = json!({"rows": [1]});
    let text = json!({"type": "text", "text": "1"});
    assert!(of(json!({"structuredContent": rows})) == StructuredContent::Content);
    let both = json!({"content": [text, text], "structuredContent": rows});
    assert!(of(both) == StructuredContent::Beside(rows));
    let wrapped = json!({"content": [text], "structuredContent": {"n": "1"}});
    assert!(of(wrapped) == StructuredContent::Beside(json!({"n": "1"})));
    assert!(of(json!({"content": [text]})) == StructuredContent::Missing);
    assert!(of(json!("nothing")) == StructuredContent::Missing);
}

#[test]
fn what_may_have_reached_the_tool_is_ambiguous() {
    use crate::mcp::MessageFault;
    let broken = McpErrorKind::Malformed { fault: MessageFault::DuplicateKey }.at("x");
    assert!(!transport_error(&broken).is_transient(), "it would be answered in the same way");
    let http = |fault| McpErrorKind::Http { fault }.at("x");
    let (gone, status) = (http(HttpFault::StreamEnded), |status| http(HttpFault::Status(status)));
    for error in [broken, gone, status(503), status(408), status(499)] {
        assert!(transport_error(&error).is_ambiguous(), "{error}");
    }
    assert!(!transport_error(&status(400)).is_ambiguous());
    let expired = transport_error(&status(401));
    assert_eq!(expired.code(), "driver.unavailable");
    assert!(expired.to_string().contains("renews"), "{expired}");
    let unsent = McpErrorKind::TooManyCalls { waiting: 1 }.at("x");
    assert!(!transport_error(&unsent).is_ambiguous());
    let said = |method, code| {
        rpc_error(method, &RpcError { code, message: "m\u{1b}".to_owned(), data: None })
    };
    let code = |code| said(Method::CallTool, code);
    assert_eq!(said(Method::ReadResource, -32602).code(), "driver.not_found");
    assert_eq!(code(-32602).code(), "driver.invalid");
    assert_eq!(
        code(-32601).to_string(),
        "not found: the server answered with code -32601: m\\u{1b}"
    );
    let with_data = RpcError::new(-32000, "busy").with_data(json!({ "retry_after": 30 }));
    assert_eq!(
        rpc_error(Method::CallTool, &with_data).to_string(),
        "the server answered with code -32000: busy ({\"retry_after\":30})"
    );
}
