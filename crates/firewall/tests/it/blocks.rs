//! Content blocks, and the structured value beside them, in mode `auto`.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_firewall::{Firewall, FrameSpec, HandleQuery, MaskTable};
use weaver_types::{Constraints, Frame, RawResult};

use crate::auto::{ask, auto, laid_out, text_of, within};
use crate::support::{FIREWALL, warned};

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn frame_of(blocks: Value) -> Frame {
    FIREWALL.frame(&laid_out(blocks, None), &auto())
}

/// The most items of any list in a value.
fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_list).fold(items.len(), usize::max),
        Value::Object(fields) => fields.values().map(longest_list).fold(0, usize::max),
        _ => 0,
    }
}

#[test]
fn json_in_a_text_keeps_its_layout_and_numbers_of_any_size() {
    let exact = "{\n  \"z\": 18446744073709551616,\n  \"price\": 1.10,\n  \"a\": [1,2]\n}";
    assert_eq!(text_of(&frame_of(json!([text(exact)]))), exact);
}

#[test]
fn no_list_of_a_structured_value_is_longer_than_a_rule_allows() {
    let items: Vec<Value> = (0..40).map(|n| json!({ "id": n, "of": [n, n, n, n] })).collect();
    let constraints = Constraints { max_rows: Some(3), ..Default::default() };
    let spec = FrameSpec { constraints: &constraints, ..auto() };
    for value in [
        json!({ "items": items }),
        json!({ "a": { "b": items }, "tags": vec!["x"; 9] }),
        json!({ "tags": vec!["x"; 9] }),
    ] {
        for raw in [
            laid_out(json!([text("words")]), Some(value.clone())),
            laid_out(json!([text(&value.to_string())]), Some(value.clone())),
            laid_out(json!([text("a"), text("b")]), Some(value.clone())),
            RawResult::json(value.clone()),
        ] {
            let frame = FIREWALL.frame(&raw, &spec);
            let structured = frame.structured.unwrap_or_default();
            assert!(longest_list(&structured) <= 3, "{structured}");
        }
    }
    // Within the rule it is as it came.
    let few = json!({ "items": ["a", "b", "c"] });
    let frame = FIREWALL.frame(&laid_out(json!([text("words")]), Some(few.clone())), &spec);
    assert_eq!(frame.structured, Some(few));
}

#[test]
fn the_address_of_a_content_is_masked_like_that_of_an_embedded_resource() {
    let token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5";
    for uri in [format!("x://f/{token}/a"), format!("x://f/n_{token}"), format!("x://{token}_x")] {
        let embedded = json!({ "type": "resource", "resource": { "uri": uri, "text": "a" } });
        let listed = json!({ "contents": [{ "uri": "x://1" }, { "uri": uri, "size": 4 }] });
        let blocks = json!([text("one"), text("two")]);
        let (embedded, listed) =
            (frame_of(json!([embedded])), FIREWALL.frame(&laid_out(blocks, Some(listed)), &auto()));
        let shown = &listed.structured.unwrap()["contents"];
        assert!(!shown.to_string().contains(token), "{shown}");
        assert_eq!(shown[1]["uri"], embedded.content[0]["resource"]["uri"]);
        assert_eq!((&shown[0]["uri"], &shown[1]["size"]), (&json!("x://1"), &json!(4)));
        assert!(FIREWALL.has_value_in_address(&uri));
    }
    assert!(!FIREWALL.has_value_in_address("x://files/notes_2026.txt"));
}

#[test]
fn a_block_of_several_has_no_more_rows_than_a_rule_allows() {
    let rows: Vec<Value> = (0..40).map(|n| json!({ "id": n })).collect();
    let csv = format!("id,name\n{}", "row,x\n".repeat(40));
    let constraints = Constraints { max_rows: Some(3), ..Default::default() };
    for table in [json!(rows).to_string(), csv] {
        let raw = laid_out(json!([text("words"), text(&table)]), None);
        let frame = FIREWALL.frame(&raw, &FrameSpec { constraints: &constraints, ..auto() });
        let shown = frame.content[1]["text"].as_str().unwrap();
        let is_row = |line: &&str| line.starts_with("row") || line.parse::<u32>().is_ok();
        assert_eq!(shown.lines().filter(is_row).count(), 3, "{shown}");
    }
}

#[test]
fn the_name_of_a_field_around_a_text_is_masked() {
    let name = "jane.roe@corp.example.com";
    let long = "words and words\n".repeat(9_000);
    for said in ["ok then", long.as_str()] {
        let raw = laid_out(json!([text(said)]), Some(json!({ name: said })));
        let frame = FIREWALL.frame(&raw, &auto());
        let structured = frame.structured.unwrap();
        assert!(!structured.to_string().contains(name), "{structured}");
        assert_eq!(structured["[REDACTED]"], frame.content[0]["text"]);
    }
}

#[test]
fn a_structured_value_that_does_not_wrap_the_text_stays_as_it_is() {
    let long = text(&"words and words\n".repeat(9_000));
    for blocks in [json!([long]), json!([long, text("done")])] {
        let frame = FIREWALL.frame(&laid_out(blocks, Some(json!({ "status": "ok" }))), &auto());
        assert_eq!(frame.structured, Some(json!({ "status": "ok" })));
    }
}

#[test]
fn a_telling_name_hides_its_value_at_the_top_of_a_block_too() {
    let fields = json!({
        "type": "resource", "password": "hunter2", "apiKey": { "a": "abc-def" },
        "a@corp.net": 1, "b@corp.net": 2,
    });
    let shown = frame_of(json!([fields, { "type": "resource", "resource": fields }])).content;
    for block in [&shown[0], &shown[1]["resource"]] {
        assert_eq!(block["password"], "[REDACTED]");
        assert!(!block.to_string().contains("abc-def"), "{block}");
        // Two masked names stay two fields.
        assert_eq!((&block["[REDACTED]"], &block["[REDACTED] (2)"]), (&json!(1), &json!(2)));
    }
}

#[test]
fn a_name_beside_a_value_hides_it_in_a_block_too() {
    let fields = json!({ "type": "card", "name": "DB_PASSWORD", "value": "hunter2" });
    let shown = frame_of(json!([fields, { "type": "resource", "resource": fields }])).content;
    assert_eq!(shown[0]["value"], "[REDACTED]");
    assert_eq!(shown[1]["resource"]["value"], "[REDACTED]");
}

#[test]
fn whatever_a_block_holds_counts_for_the_budget() {
    let long = "some words of a document\n".repeat(32_000);
    for block in [
        json!({ "type": "resource", "resource": { "uri": "x://1", "text": long } }),
        json!({ "type": "text", "text": "x", "_meta": { "all": long } }),
        json!({ "type": "card", "body": long }),
        json!({ "type": "card", "list": vec!["word"; 100_000] }),
        json!({ "type": "resource", "resource": { "uri": "x://1", "blob": "aGk=", "more": long } }),
        json!({ "type": "resource_link", "uri": "x://1", "name": "a", "description": long }),
        json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "alt": long }),
        json!({ "type": "resource", "resource": { "uri": format!("x://{long}"), "text": "a" } }),
        json!(long),
    ] {
        for blocks in [json!([block]), json!([text("first"), block])] {
            let frame = within(&laid_out(blocks, None), 2_000);
            let shown = json!(frame.content).to_string();
            assert!(shown.len() < 12_000, "{} of {}", shown.len(), block["type"]);
            assert!(!frame.notes.is_empty(), "{}", block["type"]);
        }
    }
}

#[test]
fn of_a_document_beside_a_text_head_and_tail_are_shown() {
    let lines: String = (0..30_000).map(|n| format!("line {n}\n")).collect();
    let document = json!({ "type": "resource", "resource": { "uri": "x://1", "text": lines } });
    let frame = within(&laid_out(json!([text("found it"), document]), None), 2_000);
    assert_eq!(frame.content[0], text("found it"));
    let resource = &frame.content[1]["resource"];
    assert_eq!(resource["uri"], "x://1");
    let shown = resource["text"].as_str().unwrap();
    assert!(shown.starts_with("line 0\n") && shown.ends_with("line 29999\n"), "{shown}");
    assert!(frame.notes.iter().any(|note| note.starts_with("Cut: ")), "{:?}", frame.notes);
}

#[test]
fn the_characters_that_a_rule_allows_are_those_of_all_blocks() {
    let long = "some words and more\n".repeat(100);
    let rows: Vec<Value> = (0..300).map(|n| json!({ "id": n, "name": "somebody" })).collect();
    for blocks in [
        vec![text(&long); 12],
        vec![text("small"), text(&long), text(&json!(rows).to_string())],
        vec![
            text(&long),
            json!({ "type": "resource", "resource": { "uri": "x://1", "text": long } }),
        ],
    ] {
        let count = blocks.len();
        let constraints = Constraints { max_chars: Some(600), ..Default::default() };
        let spec = FrameSpec { constraints: &constraints, ..auto() };
        let frame = FIREWALL.frame(&laid_out(json!(blocks), None), &spec);
        let shown = text_of(&frame).chars().count();
        // Each cut has a mark.
        assert!(shown <= 600 + count * 64, "{shown} of {count} blocks");
    }
}

#[test]
fn the_mask_in_an_address_stands_for_what_stood_there() {
    let firewall = Firewall::new().with_masks(Arc::new(MaskTable::new()), None);
    let uri = "https://h.example/x_AKIAQ3EGRZ7TDLKM5VXW";
    let link = json!({ "type": "resource_link", "uri": uri, "name": "a" });
    let frame = firewall.frame(&laid_out(json!([link]), None), &auto());
    let shown = &frame.content[0]["uri"];
    assert_eq!(shown, "https://h.example/x_[API_KEY_1]");
    assert_eq!(firewall.resolve_masks(shown).arguments, Some(json!(uri)));
    assert_eq!(warned(&frame, "redacted_lookalike"), None);
    // What looks like a mask in an address is masked all the same, beside a value too.
    for uri in
        ["https://h.example/[API_KEY_1]", "https://h.example/[API_KEY_1]/x_AKIAQ3EGRZ7TDLKM5VXW"]
    {
        let link = json!({ "type": "resource_link", "uri": uri, "name": "a" });
        let frame = firewall.frame(&laid_out(json!([link]), None), &auto());
        let shown = &frame.content[0]["uri"];
        assert!(shown.as_str().unwrap().contains("[LOOKALIKE_1]"), "{shown}");
        assert_eq!(firewall.resolve_masks(shown).arguments, Some(json!(uri)));
    }
}

#[test]
fn bytes_pass_as_a_picture_only_where_they_are_bytes() {
    let secret = "password=hunter2hunter2 AKIAQ3EGRZ7TDLKM5VXW";
    // The same in base64.
    let encoded = "cGFzc3dvcmQ9aHVudGVyMmh1bnRlcjIgQUtJQVEzRUdSWjdURExLTTVWWFc=";
    let png = "iVBORw0KGgo=";
    for (bytes, passes) in [(secret, false), (encoded, false), (png, true)] {
        for block in [
            json!({ "type": "image", "mimeType": "image/png", "data": bytes }),
            json!({ "type": "audio", "mimeType": "audio/wav", "data": bytes }),
            json!({ "type": "resource", "resource": { "uri": "x://1", "mimeType": "image/png", "blob": bytes } }),
        ] {
            let shown = json!(frame_of(json!([block])).content).to_string();
            assert_eq!(shown.contains(bytes), passes, "{shown}");
            assert!(!shown.contains("hunter2") && !shown.contains("AKIAQ3"), "{shown}");
            let is_same = shown == format!("[{block}]");
            assert_eq!(is_same, passes, "{shown}");
        }
    }
}

/// The queries for the rest that a frame names.
fn rest_queries(frame: &Frame) -> Vec<Value> {
    frame.next.iter().chain(&frame.next_parts).cloned().collect()
}

/// The answers to a query, and to those that continue it.
fn pages_of(raw: &RawResult, query: &Value) -> String {
    let (mut queries, mut text) = (Vec::new(), String::new());
    let mut next = Some(query.clone());
    while let Some(query) = next {
        assert!(queries.len() < 100 && !queries.contains(&query), "{query} comes again");
        let page = ask(raw, &query).unwrap();
        assert!(page.next_parts.is_empty());
        text.push_str(&text_of(&page));
        queries.push(query);
        next = page.next;
        text.push_str(if next.is_some() { "\n" } else { "" });
    }
    text
}

/// The answers that follow from the first frame on.
fn pages(raw: &RawResult, frame: &Frame) -> String {
    rest_queries(frame).iter().map(|query| pages_of(raw, query) + "\n").collect()
}

#[test]
fn of_several_blocks_the_next_step_shows_what_is_left_of_the_one_that_is_cut() {
    let lines: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let long = "word ".repeat(9_000);
    for (blocks, cut, view) in [
        (json!([text("found it"), text(&lines)]), 1, "lines"),
        (json!([text(&lines), text("that is all")]), 0, "lines"),
        (json!([text("found it"), text(&long), text("that is all")]), 1, "chars"),
    ] {
        let raw = laid_out(blocks, None);
        let frame = within(&raw, 2_000);
        let next = frame.next.clone().unwrap();
        assert_eq!(next["view"], view, "{next}");
        assert_eq!(next["args"]["path"], format!("content[{cut}].text"), "{next}");
        let shown = frame.content[cut]["text"].as_str().unwrap();
        let (before, rest) = shown.split_once('…').unwrap();
        let after = rest.rsplit_once('…').unwrap().1.trim_start_matches('\n');
        let middle = pages(&raw, &frame);
        let whole = if view == "lines" { &lines } else { &long };
        let squeezed = |text: &str| text.replace('\n', "");
        assert_eq!(squeezed(&format!("{before}{middle}{after}")), squeezed(whole), "{next}");
    }
}

#[test]
fn each_cut_block_names_the_query_for_exactly_what_is_missing_of_it() {
    let lines = |name: &str| -> String { (0..900).map(|n| format!("{name} {n}\n")).collect() };
    let texts: Vec<String> = (0..13).map(|n| lines(&format!("page {n} line"))).collect();
    let raw = laid_out(texts.iter().map(|one| text(one)).collect(), None);
    let frame = within(&raw, 8_000);
    let queries = rest_queries(&frame);
    assert_eq!(queries.len(), 13, "{queries:?}");
    assert_eq!(frame.notes, ["Shortened: 13 of 13 blocks."]);
    for (at, (query, whole)) in queries.iter().zip(&texts).enumerate() {
        assert_eq!(query["view"], "lines", "{query}");
        assert_eq!(query["args"]["path"], format!("content[{at}].text"));
        let shown = frame.content[at]["text"].as_str().unwrap();
        let (before, rest) = shown.split_once('…').unwrap();
        let after = rest.split_once("…\n").unwrap().1;
        let middle = pages_of(&raw, query);
        assert_eq!(&format!("{before}{middle}\n{after}"), whole);
    }
}

#[test]
fn the_rest_of_many_blocks_is_their_texts_and_no_json() {
    let many: Vec<Value> =
        (0..400).map(|n| text(&format!("block {n} {}", "x".repeat(90)))).collect();
    let raw = laid_out(json!(many), None);
    let frame = within(&raw, 2_000);
    let [query] = &rest_queries(&frame)[..] else { panic!("{:?}", frame.next_parts) };
    let shown = frame.content.len();
    assert!(shown > 5, "{shown}");
    let expected =
        json!({ "view": "lines", "args": { "path": format!("content[{shown}:].text") } });
    assert_eq!(query, &expected);
    let rest: Vec<&str> =
        many.iter().skip(shown).map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(pages_of(&raw, query), rest.join("\n"));
    // Where each of many is cut, the last query shows all that have none of their own.
    let lines = |name: usize| -> String { (0..300).map(|n| format!("{name} {n}\n")).collect() };
    let texts: Vec<String> = (0..40).map(lines).collect();
    let raw = laid_out(texts.iter().map(|one| text(one)).collect(), None);
    let frame = within(&raw, 8_000);
    let queries = rest_queries(&frame);
    assert_eq!(queries.len(), 16);
    assert_eq!(queries[15], json!({ "view": "lines", "args": { "path": "content[15:].text" } }));
    assert_eq!(pages_of(&raw, &queries[15]) + "\n", texts[15..].concat());
}

#[test]
fn of_blocks_whose_place_is_not_known_the_whole_text_is_named() {
    let rows: Vec<Value> = (0..2_000).map(|n| json!({ "row": n })).collect();
    let rows = json!(rows).to_string();
    let lines: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let document = json!({ "type": "resource", "resource": { "uri": "x://1", "text": lines } });
    let raw = laid_out(json!([text("found"), text(&rows), document]), None);
    let frame = within(&raw, 2_000);
    let queries = rest_queries(&frame);
    assert_eq!(queries[0], json!({ "view": "chars", "args": { "path": "content[1].text" } }));
    assert!(pages_of(&raw, &queries[0]).contains("1999"));
    assert_eq!(queries[1]["view"], "lines", "{queries:?}");
    assert_eq!(queries[1]["args"]["path"], "content[2].resource.text");
    let number = |key: &str| queries[1]["args"][key].as_u64().unwrap();
    let middle: Vec<String> =
        (number("start")..number("end")).map(|n| format!("line {n}")).collect();
    assert_eq!(pages_of(&raw, &queries[1]), middle.join("\n"));
    assert_eq!(queries.len(), 2);
}

#[test]
fn a_search_without_a_path_looks_into_all_texts() {
    let raw = laid_out(json!([text("one\ntwo level"), text("three"), text("level four")]), None);
    let search = |args: Value| {
        let page = ask(&raw, &json!({ "view": "search", "args": args })).unwrap();
        text_of(&page)
    };
    let found = "content[0].text 1: two level\ncontent[2].text 0: level four";
    assert_eq!(search(json!({ "text": "level" })), found);
    assert_eq!(
        search(json!({ "text": "level", "path": "content[2:]" })),
        found.lines().last().unwrap()
    );
    assert_eq!(search(json!({ "text": "level", "path": "content[0].text" })), "1: two level");
    let rows: Vec<Value> =
        (0..50).map(|n| json!({ "id": n, "note": format!("note {n}") })).collect();
    let page = ask(
        &RawResult::json(json!({ "rows": rows })),
        &json!({ "view": "search", "args": { "text": "note 49" } }),
    );
    assert_eq!(text_of(&page.unwrap()), "rows[49].note 0: note 49");
}

#[test]
fn a_search_in_all_texts_finds_nothing_that_is_hidden() {
    let raw = RawResult::json(json!({ "user": { "password": "hunter2", "note": "ask hunter2" } }));
    let found = |text: &str| {
        let query = json!({ "view": "search", "args": { "text": text } });
        text_of(&ask(&raw, &query).unwrap())
    };
    assert!(!found("hunter").contains("password"), "{}", found("hunter"));
    let constraints =
        Constraints { allowed_fields: Some(["note".to_owned()].into()), ..Default::default() };
    let spec = FrameSpec { constraints: &constraints, ..auto() };
    let query = HandleQuery::parse(&json!({ "view": "search", "args": { "text": "s" } })).unwrap();
    let raw = RawResult::json(json!([{ "secret_note": "s one", "note": "s two" }]));
    let page = text_of(&FIREWALL.expand(&raw, &query, &spec).unwrap());
    assert_eq!(page, "[0].note 0: s two");
}

#[test]
fn blocks_that_are_not_stored_as_they_are_shown_have_no_next_step() {
    let lines: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let blocks = json!([text("found it"), text(&lines)]);
    let stored = RawResult {
        blocks: laid_out(blocks, None).blocks,
        ..RawResult::json(json!({ "rows": 1 }))
    };
    assert_eq!(within(&stored, 2_000).next, None);
}
