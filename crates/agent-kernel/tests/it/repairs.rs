//! Repaired arguments: only where it was switched on; and what is repaired is what is decided on,
//! recorded and sent.

use std::sync::Arc;

use serde_json::json;
use weaver_agent_kernel::{Caller, Repairs, Settings, block_on};
use weaver_types::{CapabilityDraft, Effects, ReasonCode, Verdict};

use crate::support::{
    Asked, World, ana, answer, draft, log, memory, open_policy, parts, succeeded,
};

fn world(repairs: Repairs) -> World {
    let mut world = World::on(memory(), open_policy());
    let settings = Settings { repairs, ..Settings::default() };
    let parts = parts(Arc::clone(&world.ledger), world.clock.clone(), open_policy());
    world.kernel = parts.with_settings(settings).open().unwrap();
    let schema = json!({
        "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } }
    });
    world.register(CapabilityDraft {
        input_schema: Some(schema.into()),
        ..draft("fs.take", Effects::WRITE_LOCAL)
    });
    world
}

#[test]
fn without_the_switch_nothing_is_repaired() {
    let world = world(Repairs::none());
    let done = world.call(&world.run(), &ana(), &Asked::new("fs.take").with(json!({ "n": "7" })));
    assert_eq!(answer(&done), (Verdict::Ask, ReasonCode::InvalidArguments));
    assert_eq!(world.executed(), 0);
}

#[test]
fn what_is_repaired_is_what_is_decided_recorded_and_sent() {
    let world = world(Repairs::all());
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.take").with(json!({ "n": "7" })));
    let caller = Caller { run: &run, principal: &who };
    let told = world.kernel.dry_run(caller, asked.call());
    assert_eq!(told.arguments, Some(json!({ "n": 7 })));
    let done = world.call(&run, &who, &asked);
    assert!(succeeded(&done), "{:?}", answer(&done));
    let frame = done.result.unwrap().data.unwrap();
    assert!(serde_json::to_string(&frame).unwrap().contains(":7"), "sent as a number: {frame:?}");
    let told = log(world.ledger.as_ref());
    let intent = told.iter().find(|event| event.kind == "call.intent").unwrap();
    assert_eq!(intent.payload["repaired"], json!([{ "at": "/n", "what": "converted" }]));
    assert_eq!(intent.payload["arguments"]["text"], "{\"n\":7}");

    // The token is for the repaired arguments: however they are spelt, and for no others.
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    let other = json!({ "n": "8" });
    let done = block_on(world.kernel.invoke(caller, &token, &other, asked.mode));
    assert_eq!(done.decision.primary_reason(), ReasonCode::TokenScope);
    let whole = json!({ "n": 7 });
    let done = block_on(world.kernel.invoke(caller, &token, &whole, asked.mode));
    assert!(succeeded(&done), "{:?}", answer(&done));
    let fits = world.call(&run, &who, &Asked::new("fs.take").with(whole));
    assert!(succeeded(&fits));
    let last = log(world.ledger.as_ref());
    let intent = last.iter().rfind(|event| event.kind == "call.intent").unwrap();
    assert!(intent.payload.get("repaired").is_none());
}
