//! Calls and results as providers have them.

use std::collections::BTreeMap;
use std::sync::Arc;

use contextweaver::compile::{
    CallStyle, CompileRequest, ContextItem, ContextLog, Phase, PromptFormat, SensitivityAction,
    build,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_text::token::{CharsPerFour, Tiktoken, TokenCounter as _};
use weaver_types::{Confidentiality, Integrity, Label};

use crate::frames::{frame, log_with, so_many_items, tool_call};

fn native(format: PromptFormat) -> CompileRequest<'static> {
    CompileRequest { format, call_style: CallStyle::Native, ..CompileRequest::new(Phase::Answer) }
}

fn two_calls() -> ContextLog {
    log_with(
        Arc::new(Tiktoken::O200K),
        [
            ContextItem::policy("p", "Never delete."),
            ContextItem::user_turn("u1", "How many are open?"),
            ContextItem::agent_message("a0", "Let me see."),
            tool_call(1, "open"),
            tool_call(2, "closed"),
            ContextItem::tool_result(&frame(2, "summary", &["9 are closed"])),
            ContextItem::agent_message("a1", "A moment."),
            ContextItem::tool_result(&frame(1, "summary", &["3 are open"])),
            tool_call(3, "late"),
            ContextItem::user_turn("u2", "Thanks."),
        ],
    )
}

fn result(said: &str) -> String {
    format!(
        "[TOOL RESULT untrusted handle=hdl_1]\ntickets.list\n- {said}\n{{\"id\":7}}\n\
         warning: rows_omitted x3"
    )
}

#[test]
fn calls_made_together_are_answered_together() {
    let pack = build(&two_calls(), &native(PromptFormat::OpenAi)).unwrap();
    let call = |id: &str, q: &str| {
        let arguments = json!({ "q": q }).to_string();
        json!({ "id": id, "type": "function",
            "function": { "name": "tickets__list", "arguments": arguments } })
    };
    let said = |role: &str, content: &str| json!({ "role": role, "content": content });
    let answer = |id: &str, content: String| json!({ "role": "tool", "tool_call_id": id, "content": content });
    let expected = json!({ "messages": [
        said("system", "[POLICY]\nNever delete."),
        said("user", "How many are open?"),
        said("assistant", "Let me see."),
        { "role": "assistant", "content": null, "tool_calls": [call("c1", "open"), call("c2", "closed")] },
        answer("c1", result("3 are open")),
        answer("c2", result("9 are closed")),
        said("assistant", "A moment."),
        // What has no answer yet is text.
        said("assistant", "[TOOL CALL]\ntickets.list {\"q\":\"late\"}"),
        said("user", "Thanks."),
    ]});
    assert_eq!(pack.messages, Some(expected));
    assert!(Tiktoken::O200K.within(&pack.text, pack.stats.budget));
}

#[test]
fn blocks_of_calls_and_results() {
    let messages = build(&two_calls(), &native(PromptFormat::Anthropic)).unwrap().messages.unwrap();
    let expected = json!([
        { "role": "user", "content": [{ "type": "text", "text": "How many are open?" }] },
        { "role": "assistant", "content": [
            { "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": "c1", "name": "tickets__list", "input": { "q": "open" } },
            { "type": "tool_use", "id": "c2", "name": "tickets__list", "input": { "q": "closed" } },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "c1", "content": result("3 are open") },
            { "type": "tool_result", "tool_use_id": "c2", "content": result("9 are closed") },
        ] },
    ]);
    let all = messages["messages"].as_array().unwrap();
    assert_eq!(json!(all[..3]), expected);
    let last = all.last().unwrap()["content"].as_array().unwrap().last().unwrap();
    assert_eq!(last["cache_control"]["type"], "ephemeral");
    let gemini = build(&two_calls(), &native(PromptFormat::Gemini)).unwrap().messages.unwrap();
    let parts = &gemini["contents"][1]["parts"];
    assert_eq!(
        parts[1]["functionCall"],
        json!({ "name": "tickets__list", "args": { "q": "open" } })
    );
    let answers = &gemini["contents"][2]["parts"];
    assert_eq!(answers[1]["functionResponse"]["response"]["output"], result("9 are closed"));
}

/// What is redacted is not shown through its arguments, and an id that a provider would refuse is
/// replaced.
#[test]
fn what_is_redacted_stays_text_and_ids_are_plain() {
    let secret = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
    let items = [
        tool_call(1, "salary").with_label(secret),
        ContextItem::tool_result(&frame(1, "summary", &["high"])),
    ];
    let log = log_with(Arc::new(CharsPerFour), items);
    let mask = SensitivityAction::mask();
    let pack =
        build(&log, &CompileRequest { sensitivity_action: mask, ..native(PromptFormat::OpenAi) })
            .unwrap();
    assert!(!pack.text.contains("salary") && !pack.text.contains("tool_calls"), "{}", pack.text);
    let call = weaver_types::CallId::parse("run/1:é").unwrap();
    let capability = weaver_types::CapabilityId::parse("tickets.list").unwrap();
    let mut frame = frame(1, "summary", &["x"]);
    frame.call_id = call.clone();
    let items =
        [ContextItem::tool_call(&call, &capability, &json!({})), ContextItem::tool_result(&frame)];
    let log = log_with(Arc::new(CharsPerFour), items);
    let messages = build(&log, &native(PromptFormat::Anthropic)).unwrap().messages.unwrap();
    assert_eq!(messages["messages"][1]["content"][0]["id"], "at_0");
}

/// The rules of the providers: every call is answered once, right behind the message that makes
/// it, and nothing else is answered.
fn is_valid(format: PromptFormat, messages: &Value) {
    let ids = |value: &Value, list: &str, key: &str| -> Vec<String> {
        let all = value[list].as_array().into_iter().flatten();
        all.filter_map(|part| part[key].as_str().map(str::to_owned)).collect()
    };
    let mut owed: Vec<String> = Vec::new();
    match format {
        PromptFormat::OpenAi => {
            for message in messages["messages"].as_array().unwrap() {
                if message["role"] == "tool" {
                    assert_eq!(message["tool_call_id"].as_str(), Some(owed.remove(0).as_str()));
                } else {
                    assert!(owed.is_empty(), "{messages:#}");
                    owed = ids(message, "tool_calls", "id");
                }
            }
        }
        _ => {
            let mut roles = Vec::new();
            for message in messages["messages"].as_array().unwrap() {
                roles.push(message["role"].clone());
                assert_eq!(ids(message, "content", "tool_use_id"), owed, "{messages:#}");
                let first = message["content"].as_array().unwrap().iter();
                let answers = first.take_while(|part| part["type"] == "tool_result").count();
                assert_eq!(answers, owed.len(), "answers come first");
                owed = ids(message, "content", "id");
            }
            assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
        }
    }
    assert!(owed.is_empty(), "{messages:#}");
}

proptest! {
    #[test]
    fn native_calls_keep_the_rules_and_the_budget(
        items in so_many_items(0..60),
        budget in prop_oneof![0usize..200, 200usize..4000],
        format in prop::sample::select(vec![PromptFormat::OpenAi, PromptFormat::Anthropic]),
    ) {
        let log = log_with(Arc::new(CharsPerFour), items);
        let pack = build(&log, &native(format).with_budget(budget)).unwrap();
        prop_assert!(log.counter().within(&pack.text, budget));
        let Some(messages) = pack.messages else {
            prop_assert_eq!(pack.text, "");
            return Ok(());
        };
        is_valid(format, &messages);
        // Each result that is shown is there once.
        let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
        for section in pack.items.iter().filter(|s| s.text.starts_with("[TOOL RESULT")) {
            *shown.entry(section.text.trim_end()).or_default() += 1;
        }
        let sent = strings(&messages);
        for (text, count) in shown {
            let found: usize = sent.iter().map(|sent| sent.matches(text).count()).sum();
            prop_assert!(found >= count, "{text}");
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
