//! Results that do not fit what their tool declares: executed, charged, and not shown.

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, FnDriver, Invocation, block_on};
use weaver_types::{
    CapabilityDraft, Effects, RawChunk, RawContent, RawResult, ReasonCode, ResponseMode,
    StructuredContent, ToolErrorCode,
};

use crate::support::{Asked, World, ana, draft, fold, log, open_policy, snapshot, succeeded};

fn declared(id: &str, effects: Effects, schema: Value) -> CapabilityDraft {
    CapabilityDraft { output_schema: Some(schema.into()), ..draft(id, effects) }
}

fn rows() -> Value {
    json!({
        "type": "object",
        "required": ["rows"],
        "properties": { "rows": { "type": "array", "items": { "type": "integer" } } },
        "additionalProperties": false,
    })
}

fn called(raw: RawResult) -> (World, Invocation) {
    let world = World::new(open_policy());
    world.answering(declared("db.list", Effects::WRITE_LOCAL, rows()), move |_| Ok(raw.clone()));
    let done = world.call(&world.run(), &ana(), &Asked::new("db.list"));
    (world, done)
}

#[test]
fn what_fits_is_shown() {
    let (fits, other) = (json!({ "rows": [1, 2] }), json!([{ "any": "thing" }]));
    let mut beside = RawResult::json(other);
    beside.structured = StructuredContent::Beside(fits.clone());
    for raw in [RawResult::json(fits), beside, RawResult::json(json!("no rows")).failed()] {
        let (_, done) = called(raw.clone());
        assert_eq!(succeeded(&done), !raw.is_error, "{raw:?}");
        assert!(done.result.unwrap().data.is_some(), "{raw:?}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_and_nothing_of_it_is_shown_or_kept() {
    let wrong = json!({ "rows": [1, "hunter2-secret"], "password": "hunter2" });
    let mut beside = RawResult::json(json!({ "rows": [] }));
    beside.structured = StructuredContent::Beside(wrong.clone());
    let mut missing = RawResult::text("hunter2");
    missing.structured = StructuredContent::Missing;
    let bytes =
        RawContent::Binary { media_type: "application/json".to_owned(), bytes: b"{}".to_vec() };
    for raw in
        [RawResult::json(wrong), beside, missing, RawResult::text("hunter2"), RawResult::new(bytes)]
    {
        let (world, done) = called(raw.clone());
        let result = done.result.as_ref().unwrap();
        assert!(!result.success && result.data.is_none(), "{raw:?}");
        assert_eq!(result.error_code, Some(ToolErrorCode::Unexpected));
        let message = &result.error_message;
        assert!(message.starts_with("invalid_result: the tool was executed"), "{message}");
        assert!(!format!("{done:?}").contains("hunter2"), "{done:?}");
        let log = log(world.ledger.as_ref());
        let last = log.last().unwrap();
        assert_eq!(
            (last.kind.as_str(), &last.payload["reason"], &last.payload["success"]),
            ("call.outcome", &json!("invalid_result"), &json!(false))
        );
        assert!(last.payload.get("frame").is_none());
        assert!(log.iter().all(|event| !event.payload.to_string().contains("hunter2")));
        let run = weaver_types::RunId::parse(last.run.clone().unwrap()).unwrap();
        let state = snapshot(world.ledger.as_ref(), &run).unwrap();
        assert_eq!((state.meters.tool_calls, state.meters.denials), (1, 0));
        assert_eq!(state, fold(world.ledger.as_ref(), &run));
        let told = world.kernel.explain(&ana(), &done.call).unwrap();
        assert_eq!(told.failure, Some(ReasonCode::InvalidResult));
    }
}

/// Parts of a stream are shown before the whole is known, so such a tool is not streamed.
#[test]
fn what_has_to_fit_is_not_shown_in_parts() {
    let world = World::new(open_policy());
    let numbers = json!({ "type": "array", "items": { "type": "integer" } });
    world.driven(
        declared("db.stream", Effects::READ_LOCAL, numbers),
        FnDriver::streaming(|call, sender| {
            sender.send(RawChunk::Json(json!(1)))?;
            let last = if call.arguments().is_empty() { json!("hunter2") } else { json!(2) };
            sender.send(RawChunk::Json(last))
        }),
    );
    let (run, who) = (world.run(), ana());
    let caller = Caller { run: &run, principal: &who };
    let streamed = |arguments: Value| {
        let asked = Asked::new("db.stream").with(arguments);
        let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
        let mut stream =
            world.kernel.invoke_stream(caller, &token, &asked.arguments, ResponseMode::Table);
        let mut items = 0;
        while block_on(stream.next()).is_some() {
            items += 1;
        }
        (items, stream.invocation().cloned().unwrap())
    };
    let (items, done) = streamed(json!({}));
    assert_eq!((items, succeeded(&done)), (0, false));
    assert!(done.result.unwrap().error_message.starts_with("invalid_result"));
    let (items, done) = streamed(json!({ "good": true }));
    assert_eq!((items, succeeded(&done)), (1, true));
}

#[test]
fn a_schema_of_results_that_cannot_be_used_is_refused_at_registration() {
    let world = World::new(open_policy());
    let spec = declared("db.list", Effects::READ_LOCAL, json!({ "$ref": "https://a.test/s.json" }));
    let driver = std::sync::Arc::new(FnDriver::inline(|_| Ok(RawResult::text(""))));
    let refused = world.kernel.registry().register(spec.build().unwrap(), driver).unwrap_err();
    assert_eq!(refused.code(), "registry.schema");
    assert!(refused.to_string().contains("output schema"), "{refused}");
}
