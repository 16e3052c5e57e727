//! Tool definitions, answers and imports, with goldens and the recorded cases of agent-kernel.

use serde_json::{Value, json};
use weaver_types::formats::{
    AnswerContent, ToolFormat, ToolSet, ToolSetOptions, answer_message, draft_from_tool,
    drafts_from_tools, upstream_digest,
};
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, Effects, Frame, Label,
    ResponseMode, ResultStatus, SensitivityTag, Timestamp, ToolErrorCode, ToolResult,
};

const GOLDEN: &str = "tests/data/formats/definitions.json";

pub(crate) fn recorded(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/formats/recorded.json")).unwrap();
    all["cases"][id]["output"].clone()
}

pub(crate) fn id(text: &str) -> CapabilityId {
    CapabilityId::parse(text).unwrap()
}

pub(crate) fn capability(name: &str, effects: Effects, schema: Option<Value>) -> Capability {
    let draft = CapabilityDraft {
        description: "Does it.".to_owned(),
        input_schema: schema.map(Into::into),
        ..CapabilityDraft::new(id(name), name, effects, AllowedAgents::Any)
    };
    draft.build().unwrap()
}

/// The capability of the recorded definitions.
fn writer() -> Capability {
    let schema = json!({
        "type": "object",
        "properties": {
            "q": { "type": "string" },
            "o": { "type": "object", "properties": { "x": { "type": "integer" } } },
        },
    });
    let mut draft = capability("a.b", Effects::WRITE_LOCAL, Some(schema)).into_draft();
    draft.sensitivity = [SensitivityTag::Pii].into();
    draft.build().unwrap()
}

fn definitions(format: ToolFormat, capability: &Capability, offer: ToolSetOptions) -> Value {
    json!(ToolSet::new(format, [capability], offer).unwrap().definitions())
}

const STRICT: ToolSetOptions = ToolSetOptions { strict: true, cache: false };
const CACHED: ToolSetOptions = ToolSetOptions { strict: false, cache: true };

/// The recorded definition, with the one difference in strict mode: what is optional may be null.
fn optional_is_nullable(mut tools: Value, parameters: &str) -> Value {
    let at = |path: &str| format!("{parameters}/properties/{path}");
    *tools.pointer_mut(&at("q/type")).unwrap() = json!(["string", "null"]);
    *tools.pointer_mut(&at("o/type")).unwrap() = json!(["object", "null"]);
    *tools.pointer_mut(&at("o/properties/x/type")).unwrap() = json!(["integer", "null"]);
    tools
}

/// The order of `required` means nothing.
fn sorted(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::Array(names)) = fields.get_mut("required") {
                    names.sort_by_key(ToString::to_string);
                }
                fields.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

/// Cases: C02.
#[test]
fn definitions_are_the_recorded_ones() {
    let (case, writer) = (recorded("C02"), writer());
    let ours = definitions(ToolFormat::OpenAiResponses, &writer, STRICT);
    let theirs = optional_is_nullable(case["openai_responses"].clone(), "/0/parameters");
    assert_eq!(ours, sorted(theirs));
    let ours = definitions(ToolFormat::OpenAiChat, &writer, STRICT);
    let theirs = optional_is_nullable(case["openai_chat"].clone(), "/0/function/parameters");
    assert_eq!(ours, sorted(theirs));
    let mut theirs = case["anthropic"].clone();
    assert_eq!(theirs[0]["name"], "a.b", "the API takes no dots");
    theirs[0]["name"] = json!("a__b");
    assert_eq!(definitions(ToolFormat::Anthropic, &writer, CACHED), theirs);
    let mut plain = capability("x", Effects::READ_LOCAL, None).into_draft();
    plain.description = "d".to_owned();
    let theirs = case["no_schema"].clone();
    assert_eq!(definitions(ToolFormat::OpenAiResponses, &plain.build().unwrap(), STRICT), theirs);
    // There an id with `__` is an error; here it has a name of its own.
    assert_eq!(case["bad_name"]["error"]["type"], "AdapterParseError");
    let both = [
        capability("a__b", Effects::READ_LOCAL, None),
        capability("a.b", Effects::READ_LOCAL, None),
    ];
    let set = ToolSet::new(ToolFormat::OpenAiResponses, &both, STRICT).unwrap();
    assert_ne!(set.definitions()[0]["name"], set.definitions()[1]["name"]);
}

/// A few capabilities that show what each format can and cannot say.
fn several() -> Vec<Capability> {
    let search = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "minLength": 1, "description": "Words." },
            "kind": { "enum": ["note", "task"] },
            "since": { "type": "string", "format": "date-time" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 50, "default": 10 },
            "owner": { "$ref": "#/$defs/person" },
        },
        "required": ["query"],
        "additionalProperties": false,
        "$defs": {
            "person": {
                "type": "object",
                "properties": { "mail": { "type": "string", "format": "email" } },
                "required": ["mail"],
            },
        },
    });
    let open = json!({
        "type": "object",
        "properties": { "fields": { "type": "object", "additionalProperties": { "type": "string" } } },
        "required": ["fields"],
    });
    let mut delete = capability("crm.Delete_user", Effects::UNDECLARED, Some(open)).into_draft();
    delete.sensitivity = [SensitivityTag::Pii, SensitivityTag::Secrets].into();
    let mut titled = capability("notes.search", Effects::READ_LOCAL, Some(search)).into_draft();
    titled.title = Some("Search notes".to_owned());
    titled.output_schema = Some(json!({ "type": "object" }).into());
    titled.idempotent = true;
    vec![
        titled.build().unwrap(),
        delete.build().unwrap(),
        capability("web.fetch/page!", Effects::READ_OPEN, None),
    ]
}

#[test]
fn each_format_has_its_golden() {
    let (all, mut found) = (several(), serde_json::Map::new());
    for format in ToolFormat::ALL {
        let set = ToolSet::new(format, &all, ToolSetOptions { strict: true, cache: true }).unwrap();
        let note = |note: &weaver_types::formats::FormatLimitation| {
            json!([note.capability, note.place, note.text])
        };
        let notes: Vec<Value> = set.limitations().iter().map(note).collect();
        let entry = json!({ "definitions": set.definitions(), "notes": notes });
        found.insert(format.as_str().to_owned(), entry);
    }
    let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
    if std::env::var_os("WEAVER_BLESS").is_some() {
        std::fs::write(GOLDEN, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(GOLDEN).unwrap(), text, "WEAVER_BLESS=1 writes it anew");
}

fn frame() -> Frame {
    Frame {
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
        next_parts: Vec::new(),
        call_id: CallId::parse("call_1").unwrap(),
        capability_id: id("r.list"),
        mode: ResponseMode::Summary,
        status: ResultStatus::Success,
        facts: vec!["Total rows: 1".to_owned()],
        table: Vec::new(),
        raw: Some(json!({ "password": "hunter2" })),
        handle: None,
        warnings: Vec::new(),
        provenance: None,
        label: Label::undeclared_output(),
        created_at: Timestamp::from_micros(1_800_000_000_000_000),
        is_final: true,
    }
}

#[test]
fn answers_are_the_messages_of_each_format() {
    let set = |format| ToolSet::new(format, &[writer()], ToolSetOptions::default()).unwrap();
    let call = r#"{"type":"tool_use","id":"t1","name":"a__b","input":{}}"#;
    let call = set(ToolFormat::Anthropic).read(call).unwrap();
    let failed = ToolResult::<Frame>::error(
        CallId::parse("call_1").unwrap(),
        id("a.b"),
        ToolErrorCode::Timeout,
        "it took too long",
    );
    let error = json!({
        "capability_id": "a.b", "code": "TIMEOUT", "error": true, "message": "it took too long",
    });
    let said = AnswerContent::result(&failed);
    let written = |value: &Value| serde_json::to_string(value).unwrap();
    let block = json!([{ "type": "text", "text": written(&error) }]);
    for (format, expected) in [
        (
            ToolFormat::OpenAiResponses,
            json!({ "type": "function_call_output", "call_id": "t1", "output": written(&error) }),
        ),
        (
            ToolFormat::OpenAiChat,
            json!({ "role": "tool", "tool_call_id": "t1", "content": written(&error) }),
        ),
        (
            ToolFormat::Anthropic,
            json!({ "type": "tool_result", "tool_use_id": "t1", "content": block, "is_error": true }),
        ),
        (
            ToolFormat::Gemini,
            json!({ "functionResponse": { "id": "t1", "name": "a__b", "response": { "error": error } } }),
        ),
        (ToolFormat::Mcp, json!({ "content": block, "structuredContent": error, "isError": true })),
    ] {
        assert_eq!(answer_message(format, call.call_reference(), &said), expected);
    }
    let fine = answer_message(
        ToolFormat::Anthropic,
        call.call_reference(),
        &AnswerContent::frame(&frame()),
    );
    assert_eq!(fine.get("is_error"), None);
    assert!(fine.to_string().contains("Total rows: 1"));
}

#[test]
fn what_a_raw_frame_holds_reaches_no_model() {
    for format in ToolFormat::ALL {
        let call = weaver_types::formats::CallReference { provider_call_id: "1", name: "r__list" };
        let said = answer_message(format, call, &AnswerContent::frame(&frame())).to_string();
        assert!(!said.contains("hunter2") && said.contains("call_1"), "{said}");
    }
}

/// Cases: C03.
#[test]
fn a_body_has_its_keys_sorted_and_says_what_the_recorded_one_says() {
    let theirs = recorded("C03");
    let body: Value =
        serde_json::from_str(theirs["responses"][0]["output"].as_str().unwrap()).unwrap();
    let call = weaver_types::formats::CallReference { provider_call_id: "1", name: "r__list" };
    let ours = answer_message(ToolFormat::OpenAiResponses, call, &AnswerContent::frame(&frame()));
    assert_eq!(ours["type"], theirs["responses"][0]["type"]);
    assert_eq!(ours["call_id"], theirs["responses"][0]["call_id"]);
    let text = ours["output"].as_str().unwrap();
    let ours: Value = serde_json::from_str(text).unwrap();
    assert_eq!(text, serde_json::to_string(&ours).unwrap(), "sorted");
    assert_eq!(ours["capability_id"], body["capability_id"]);
    assert_eq!(ours["mode"], body["response_mode"]);
    assert_eq!(ours["facts"][0], body["facts"][0]);
}

#[test]
fn a_list_that_was_written_reads_back_to_its_capabilities() {
    for format in ToolFormat::ALL {
        let all = [writer(), several().remove(0), capability("x.y", Effects::READ_OPEN, None)];
        let set = ToolSet::new(format, &all, ToolSetOptions::default()).unwrap();
        let list = match format {
            ToolFormat::Mcp => json!({ "tools": set.definitions() }),
            ToolFormat::Gemini => json!([{ "functionDeclarations": set.definitions() }]),
            _ => json!(set.definitions()),
        };
        let read: Vec<CapabilityDraft> =
            drafts_from_tools(format, None, &list).into_iter().map(Result::unwrap).collect();
        let ids: Vec<&CapabilityId> = read.iter().map(|draft| &draft.id).collect();
        assert_eq!(ids, all.iter().map(Capability::id).collect::<Vec<_>>(), "{format:?}");
        for (ours, theirs) in all.iter().zip(&read) {
            if format == ToolFormat::Mcp {
                let expected = ours.spec();
                assert_eq!(theirs.effects, expected.effects);
                assert_eq!(theirs.idempotent, expected.idempotent);
                assert_eq!(theirs.title, expected.title);
                assert_eq!(theirs.output_schema, expected.output_schema);
            } else {
                assert_eq!(theirs.effects, Effects::UNDECLARED, "nothing says less");
            }
        }
    }
}

#[test]
fn silence_is_read_as_the_most_dangerous() {
    let effects = |annotations: Value| {
        let tool = json!({ "name": "t", "annotations": annotations });
        draft_from_tool(ToolFormat::Mcp, id("s.t"), &tool).effects
    };
    for annotations in [Value::Null, json!({}), json!([]), json!({ "readOnlyHint": "yes" })] {
        assert_eq!(effects(annotations), Effects::UNDECLARED);
    }
    let read = json!({ "readOnlyHint": true, "openWorldHint": false });
    assert_eq!(effects(read), Effects::READ_LOCAL);
    assert_eq!(effects(json!({ "destructiveHint": false })), Effects::WRITE_OPEN);
    // Who says both is believed in the worse.
    let both = json!({ "readOnlyHint": true, "destructiveHint": true, "openWorldHint": false });
    assert_eq!(effects(both), Effects::DESTROY_LOCAL);
    let neither = json!({ "readOnlyHint": false, "destructiveHint": false });
    assert_eq!(effects(neither), Effects::WRITE_OPEN);
}

#[test]
fn what_is_imported_is_the_word_of_a_server() {
    let tool = |format: ToolFormat| match format {
        ToolFormat::OpenAiChat => {
            json!({ "type": "function", "function": { "name": "t", "description": "d" } })
        }
        ToolFormat::OpenAiResponses => {
            json!({ "type": "function", "name": "t", "description": "d" })
        }
        ToolFormat::Gemini => {
            json!({ "functionDeclarations": [{ "name": "t", "description": "d" }] })
        }
        _ => json!({ "name": "t", "description": "d" }),
    };
    for format in ToolFormat::ALL {
        let read = drafts_from_tools(format, Some("s"), &json!([tool(format)])).remove(0).unwrap();
        assert!(read.upstream_digest.is_some(), "{format:?}");
        // Other words, another digest.
        let text = tool(format).to_string().replace("\"d\"", "\"e\"");
        let list = json!([serde_json::from_str::<Value>(&text).unwrap()]);
        let other = drafts_from_tools(format, Some("s"), &list).remove(0).unwrap();
        assert_ne!(read.upstream_digest, other.upstream_digest, "{format:?}");
    }
    let tool = tool(ToolFormat::Mcp);
    let digest = upstream_digest(&tool, None).unwrap();
    assert_eq!(draft_from_tool(ToolFormat::Mcp, id("s.t"), &tool).upstream_digest, Some(digest));
}

#[test]
fn a_foreign_list_becomes_drafts_and_what_is_none_is_named() {
    let list = json!([
        { "type": "function", "name": "get_weather", "description": "Weather.", "parameters": { "type": "object" } },
        { "type": "web_search" },
        { "type": "function", "description": "nameless" },
        { "type": "function", "name": "a b" },
    ]);
    let read = drafts_from_tools(ToolFormat::OpenAiResponses, Some("w"), &list);
    let first = read[0].as_ref().unwrap();
    assert_eq!((first.id.as_str(), first.name.as_str()), ("w.get_weather", "get_weather"));
    assert_eq!(first.input_schema, Some(json!({ "type": "object" }).into()));
    let codes: Vec<&str> = read[1..].iter().map(|r| r.as_ref().unwrap_err().code()).collect();
    assert_eq!(codes, ["format.import_shape", "format.import_shape", "format.import_name"]);
    assert!(drafts_from_tools(ToolFormat::Mcp, None, &json!("no list")).is_empty());
    let gemini = json!({
        "name": "f",
        "parameters": {
            "type": "OBJECT",
            "properties": { "n": { "type": "INTEGER", "nullable": true } },
        },
    });
    let schema = draft_from_tool(ToolFormat::Gemini, id("g.f"), &gemini).input_schema.unwrap();
    let expected =
        json!({ "type": "object", "properties": { "n": { "type": ["integer", "null"] } } });
    assert_eq!(*schema, expected);
}
