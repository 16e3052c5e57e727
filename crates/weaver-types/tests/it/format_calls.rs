//! Calls of models: read, or refused with what is wrong.

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_types::formats::{
    AnswerContent, CallError, ToolCall, ToolFormat, ToolSet, ToolSetOptions, answer_message,
};
use weaver_types::{Effects, JustificationSource};

use crate::formats::{capability, recorded};

fn set(format: ToolFormat) -> ToolSet {
    let tools = ["r.list", "no.other"].map(|id| capability(id, Effects::READ_LOCAL, None));
    ToolSet::new(format, &tools, ToolSetOptions::default()).unwrap()
}

/// A call of `r.list` with these arguments, given as JSON text.
fn call(format: ToolFormat, arguments: &str) -> String {
    let text = Value::String(arguments.to_owned());
    match format {
        ToolFormat::Mcp => format!(r#"{{"name":"r.list","arguments":{arguments}}}"#),
        ToolFormat::OpenAiResponses => {
            format!(
                r#"{{"type":"function_call","call_id":"1","name":"r__list","arguments":{text}}}"#
            )
        }
        ToolFormat::OpenAiChat => format!(
            r#"{{"id":"1","type":"function","function":{{"name":"r__list","arguments":{text}}}}}"#
        ),
        ToolFormat::Anthropic => {
            format!(r#"{{"type":"tool_use","id":"1","name":"r__list","input":{arguments}}}"#)
        }
        ToolFormat::Gemini => {
            format!(r#"{{"functionCall":{{"id":"1","name":"r__list","args":{arguments}}}}}"#)
        }
        other => panic!("no test of {other:?}"),
    }
}

fn read(format: ToolFormat, arguments: &str) -> Result<ToolCall, CallError> {
    set(format).read(&call(format, arguments))
}

#[test]
fn a_call_is_read_in_each_format() {
    for format in ToolFormat::ALL {
        let call =
            read(format, r#"{"n":1,"operation":"r.delete_all","deep":{"a":[null]}}"#).unwrap();
        assert_eq!(call.capability_id.as_str(), "r.list", "the arguments select nothing");
        let expected = json!({ "n": 1, "operation": "r.delete_all", "deep": { "a": [null] } });
        assert_eq!(Value::Object(call.arguments), expected);
        assert_eq!(call.reference, if format == ToolFormat::Mcp { "" } else { "1" });
        assert_eq!(call.justification, None);
    }
}

#[test]
fn what_is_wrong_with_arguments_is_said() {
    for format in ToolFormat::ALL {
        for (arguments, fault) in [
            (r#"{"a":1,"a":2}"#, "duplicate key"),
            (r#"{"a":{"b":1,"\u0062":2}}"#, "duplicate key"),
            (r#"{"a":18446744073709551616}"#, "integer out of range"),
            (r#"{"a":1e999}"#, "beyond double precision"),
            (r#"{"a":"\ud800"}"#, "lone surrogate"),
            (r#"{"a" 1}"#, "not RFC 8259 JSON"),
        ] {
            let error = read(format, arguments).unwrap_err();
            assert!(error.to_string().contains(fault), "{format:?} {arguments}: {error}");
        }
        for (arguments, found) in [("7", "a number"), ("[]", "a list"), ("null", "null")] {
            let error = read(format, arguments).unwrap_err();
            assert_eq!(error.code(), "format.not_an_object");
            assert!(error.to_string().contains(found), "{error}");
        }
        let exact = read(format, r#"{"a":9007199254740993,"b":-9223372036854775808}"#).unwrap();
        assert_eq!(exact.arguments["a"].to_string(), "9007199254740993", "kept exactly");
    }
}

#[test]
fn what_is_no_call_of_an_offered_tool_is_refused() {
    for format in ToolFormat::ALL {
        let set = set(format);
        let unknown = call(format, "{}").replace("list", "wipe\\u001b");
        let error = set.read(&unknown).unwrap_err();
        assert_eq!(error.code(), "format.unknown_tool");
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
        for (message, code) in [
            ("{", "format.message"),
            ("{}", "format.shape"),
            ("[1]", "format.shape"),
            (r#"{"type":"message","id":"1"}"#, "format.shape"),
        ] {
            assert_eq!(set.read(message).unwrap_err().code(), code, "{format:?} {message}");
        }
        let endless = " ".repeat(weaver_types::formats::MAX_MESSAGE_BYTES + 1);
        assert_eq!(set.read(&endless).unwrap_err().code(), "format.too_long");
    }
}

#[test]
fn the_calls_of_a_list_are_read_each_by_itself() {
    for format in ToolFormat::ALL {
        let items = format!(
            r#"[{{"type":"text","text":"I look"}},{},{}]"#,
            call(format, "{}"),
            call(format, "3")
        );
        let read = set(format).read_all(&items).unwrap();
        assert_eq!(read.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
        assert_eq!(set(format).read_all("{}").unwrap_err().code(), "format.shape");
    }
}

#[test]
fn a_justification_in_the_arguments_is_a_models() {
    let why = "the customer asked for exactly this";
    let arguments = json!({ "_justification": why, "n": 1 }).to_string();
    for format in ToolFormat::ALL {
        let call = read(format, &arguments).unwrap();
        assert_eq!(Value::Object(call.arguments.clone()), json!({ "n": 1 }));
        let justification = call.request("look").justification.unwrap();
        assert_eq!(
            (justification.text.as_str(), justification.source),
            (why, JustificationSource::Model)
        );
        let call = read(format, r#"{"_justification":7}"#).unwrap();
        assert_eq!((call.justification, call.arguments.len()), (None, 1));
    }
    // A tool that has an argument of that name gets it.
    let schema =
        json!({ "type": "object", "properties": { "_justification": { "type": "string" } } });
    let own = capability("r.list", Effects::READ_LOCAL, Some(schema));
    let set = ToolSet::new(ToolFormat::Mcp, [&own], ToolSetOptions::default()).unwrap();
    let call = set.read(&call(ToolFormat::Mcp, &arguments)).unwrap();
    assert_eq!((call.justification, call.arguments.len()), (None, 2));
}

/// Cases: C03.
#[test]
fn what_cannot_be_read_is_answered_as_recorded() {
    let theirs = recorded("C03");
    let openai = set(ToolFormat::OpenAiResponses);
    let unread = |set: &ToolSet, message: &str| {
        let error = set.read(message).unwrap_err();
        answer_message(
            set.format(),
            error.call_reference(),
            &AnswerContent::unreadable_call(&error),
        )
    };
    let body = |value: &Value| -> Value { serde_json::from_str(value.as_str().unwrap()).unwrap() };
    // Malformed arguments. Which tool it was is known all the same.
    let ours =
        unread(&openai, &call(ToolFormat::OpenAiResponses, "{x").replace(r#""1""#, r#""2""#));
    let theirs_two = &theirs["responses"][1];
    assert_eq!(ours["call_id"], theirs_two["call_id"]);
    let (ours, theirs_body) = (body(&ours["output"]), body(&theirs_two["output"]));
    assert_eq!((&ours["error"], &theirs_body["error"]), (&json!(true), &json!(true)));
    assert_eq!(theirs_body["capability_id"], "(unresolved)");
    assert_eq!(ours["capability_id"], "r.list");
    assert!(ours["message"].as_str().unwrap().contains("(byte 1)"), "{ours}");
    // A tool that is not there.
    let message = r#"{"type":"function_call","call_id":"3","name":"no__pe","arguments":"{}"}"#;
    let ours = unread(&openai, message);
    assert_eq!(ours["call_id"], theirs["responses"][2]["call_id"]);
    assert_eq!(body(&ours["output"])["capability_id"], "(unresolved)");
    assert_eq!(body(&ours["output"])["code"], "format.unknown_tool");
    // Arguments that are no object.
    let anthropic = set(ToolFormat::Anthropic);
    let ours = unread(&anthropic, r#"{"type":"tool_use","id":"t2","name":"r__list","input":5}"#);
    let theirs_two = &theirs["anthropic"][1];
    for key in ["type", "tool_use_id", "is_error"] {
        assert_eq!(ours[key], theirs_two[key]);
    }
}

proptest! {
    #[test]
    fn arguments_come_out_as_they_went_in(
        all in prop::collection::btree_map("[a-z]{1,5}", prop_oneof![
            any::<i64>().prop_map(|n| json!(n)), "\\PC{0,12}".prop_map(|t| json!(t)), any::<bool>().prop_map(|b| json!(b)),
        ], 0..6)
    ) {
        let arguments = json!(all);
        for format in ToolFormat::ALL {
            let call = read(format, &arguments.to_string()).unwrap();
            prop_assert_eq!(Value::Object(call.arguments), arguments.clone());
        }
    }

    #[test]
    fn nothing_that_is_sent_breaks_the_reader(message in "\\PC{0,200}|[\\[\\]{}\":,a-z0-9]{0,200}") {
        for format in ToolFormat::ALL {
            let _ = set(format).read(&message);
            let _ = set(format).read_all(&message);
        }
    }
}
