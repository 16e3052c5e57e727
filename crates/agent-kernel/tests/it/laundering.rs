//! Ways to have a trusted source vouch for what somebody else wrote: through storing, joining and
//! decoding. The result of a call that was made after untrusted input vouches for nothing unless
//! all that the call was told is vouched for itself.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_policy::PolicySet;
use weaver_types::{
    CapabilityDraft, Confidentiality, Effects, Integrity, Label, RawResult, RunContext, SinkKind,
    Verdict,
};

use crate::support::{World, call, contracts, draft, sink, tainted, taking};

const PROMPT: &str =
    "Find Bob Stone and 'Evil Room' in the book, then post the news to his channel.";

fn documents() -> Arc<PolicySet> {
    contracts([("web.post", sink(SinkKind::ExternalSend))])
}

fn text<'v>(arguments: &'v Value, name: &str) -> &'v str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Text as servers decode it: `\u` escapes, base64 of these tests, numbers of letters.
fn decoded(arguments: &Value) -> String {
    if let Some(codes) = arguments.get("codes").and_then(Value::as_array) {
        let codes = codes.iter().filter_map(|code| u32::try_from(code.as_u64()?).ok());
        return codes.filter_map(char::from_u32).collect();
    }
    match text(arguments, "text") {
        "ZXZpbC1yb29t" | "6576696c2d726f6f6d" => "evil-room".to_owned(),
        other => serde_json::from_str(&format!("\"{other}\"")).unwrap_or_default(),
    }
}

/// A book that only the user fills, with a place for notes on the same server, and a toolbox.
fn world() -> World {
    let world = World::under(documents());
    world.register(taking(
        "web.post",
        Effects::WRITE_OPEN,
        json!({
            "channel": { "type": "string" }, "content": { "type": "string" },
        }),
    ));
    world.tool("web.read", Effects::READ_OPEN);
    let told = |id: &str, effects| CapabilityDraft {
        input_schema: Some(
            json!({ "properties": {
            "name": {}, "text": {}, "parts": {}, "codes": {},
        } })
            .into(),
        ),
        ..draft(id, effects)
    };
    let trusted = |id: &str, effects| CapabilityDraft {
        output_label: Label::new(Confidentiality::Internal, Integrity::Trusted),
        ..told(id, effects)
    };
    let notes = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&notes);
    world.answering(told("book.append", Effects::WRITE_LOCAL), move |arguments| {
        kept.lock().unwrap().push_str(text(&arguments, "text"));
        Ok(RawResult::text("ok"))
    });
    world.answering(trusted("book.recall", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(json!({ "channel": notes.lock().unwrap().clone() })))
    });
    world.answering(trusted("book.find", Effects::READ_LOCAL), |_| {
        Ok(RawResult::json(json!([{ "name": "Bob Stone", "channel": "stone-family" }])))
    });
    let searched = Arc::new(Mutex::new(String::new()));
    let last = Arc::clone(&searched);
    world.answering(trusted("search.find", Effects::READ_LOCAL), move |arguments| {
        let names = arguments.get("parts").and_then(Value::as_object).cloned().unwrap_or_default();
        *searched.lock().unwrap() = names.keys().cloned().collect::<Vec<_>>().join(" ");
        Ok(RawResult::text("nothing found"))
    });
    world.answering(trusted("search.recent", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(json!({ "channel": last.lock().unwrap().clone() })))
    });
    world.answering(trusted("tools.concat", Effects::READ_LOCAL), |arguments| {
        let parts = arguments.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
        let joined: String = parts.iter().filter_map(Value::as_str).collect();
        Ok(RawResult::json(json!({ "channel": joined })))
    });
    world.answering(trusted("tools.decode", Effects::READ_LOCAL), |arguments| {
        Ok(RawResult::json(json!({ "channel": decoded(&arguments) })))
    });
    world
}

fn posted(world: &World, run: &RunContext, channel: &str) -> Verdict {
    let arguments = json!({ "channel": channel, "content": "x" });
    call(world, run, "web.post", arguments).decision.verdict()
}

#[test]
fn what_was_stored_in_parts_is_vouched_for_by_nobody() {
    let world = world();
    let run = tainted(&world, PROMPT);
    for part in ["evi", "l-ro", "om"] {
        call(&world, &run, "book.append", json!({ "text": part }));
    }
    call(&world, &run, "book.recall", json!({}));
    assert_eq!(posted(&world, &run, "evil-room"), Verdict::Hold);
    // Nor is anything else that the server says from then on.
    call(&world, &run, "book.find", json!({ "name": "Bob Stone" }));
    assert_eq!(posted(&world, &run, "stone-family"), Verdict::Hold);
}

#[test]
fn what_was_joined_or_decoded_is_vouched_for_by_nobody() {
    for (tool, arguments) in [
        ("tools.concat", json!({ "parts": ["evi", "l-room"] })),
        ("tools.concat", json!({ "parts": ["e", "v", "i", "l", "-", "r", "o", "o", "m"] })),
        ("tools.decode", json!({ "text": "ZXZpbC1yb29t" })),
        ("tools.decode", json!({ "text": "6576696c2d726f6f6d" })),
        ("tools.decode", json!({ "text": "\\u0065\\u0076il-room" })),
        ("tools.decode", json!({ "codes": [101, 118, 105, 108, 45, 114, 111, 111, 109] })),
    ] {
        let world = world();
        let run = tainted(&world, PROMPT);
        let made = call(&world, &run, tool, arguments.clone());
        let shown = serde_json::to_string(&made.result.unwrap().data).unwrap();
        assert!(shown.contains("evil-room"), "the way works: {shown}");
        assert_eq!(posted(&world, &run, "evil-room"), Verdict::Hold, "{tool} {arguments}");
    }
}

#[test]
fn names_of_arguments_carry_nothing_either() {
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "book.append", json!({ "text": "Bob Stone", "evil-room": true }));
    call(&world, &run, "book.find", json!({ "name": "Bob Stone" }));
    assert_eq!(posted(&world, &run, "stone-family"), Verdict::Hold);
}

/// A trusted server that stores nothing by its contract may still remember what it was asked.
#[test]
fn a_member_name_that_comes_back_is_vouched_for_by_nobody() {
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "search.find", json!({ "parts": { "evil-room": 1 } }));
    let shown = format!("{:?}", call(&world, &run, "search.recent", json!({})).result);
    assert!(shown.contains("evil-room"), "the way works: {shown}");
    assert_eq!(posted(&world, &run, "evil-room"), Verdict::Hold);
}

#[test]
fn an_answer_to_what_the_user_named_is_still_vouched_for() {
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "book.find", json!({ "name": "Bob Stone" }));
    assert_eq!(posted(&world, &run, "stone-family"), Verdict::Allow);
    // What it vouched for before something was placed there stays.
    call(&world, &run, "book.append", json!({ "text": "evil" }));
    assert_eq!(posted(&world, &run, "stone-family"), Verdict::Allow);
}

#[test]
fn what_the_user_named_may_be_stored_and_recalled() {
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "book.append", json!({ "text": "Evil Room" }));
    call(&world, &run, "book.find", json!({ "name": "Bob Stone" }));
    assert_eq!(posted(&world, &run, "stone-family"), Verdict::Allow);
}
