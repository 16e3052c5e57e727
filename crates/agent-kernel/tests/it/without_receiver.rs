//! Calls to a tool that sends, which name nobody to send to: an event without guests.

use serde_json::{Value, json};
use weaver_policy::Contract;
use weaver_types::{CapabilityDraft, Effects, JsonPointer, RunContext, SinkKind, Verdict};

use crate::support::{Asked, World, ana, contracts, draft, sink};

/// A world with a calendar whose contract says this of receivers, and a run that somebody else may
/// have steered.
fn world(sends_to: &[&str], kind: SinkKind) -> (World, RunContext) {
    let sends_to = sends_to.iter().map(|at| JsonPointer::parse(at).unwrap()).collect();
    let world = World::under(contracts([("cal.create", Contract { sends_to, ..sink(kind) })]));
    let schema = json!({ "type": "object", "properties": {
        "title": {}, "participants": {}, "hosts": {}, "room": { "properties": { "inbox": {} } },
    } });
    let calendar = CapabilityDraft {
        input_schema: Some(schema.into()),
        ..draft("cal.create", Effects::WRITE_OPEN)
    };
    world.register(calendar);
    world.tool("web.read", Effects::READ_OPEN);
    let mut run = world.run();
    assert!(run.record_user_text("Put lunch with Sarah into my calendar"));
    world.call(&run, &ana(), &Asked::new("web.read"));
    (world, run)
}

fn verdict(world: &World, run: &RunContext, arguments: Value) -> Verdict {
    world.call(run, &ana(), &Asked::new("cal.create").with(arguments)).decision.verdict()
}

#[test]
fn an_event_without_guests_goes_nowhere() {
    let places = ["/participants", "/room/inbox", "/hosts/1"];
    let (world, run) = world(&places, SinkKind::ExternalSend);
    for arguments in [
        json!({ "title": "Lunch: a title that nobody said" }),
        json!({ "title": "Lunch", "participants": [] }),
        json!({ "title": "Lunch", "participants": ["", null], "room": {} }),
        json!({ "title": "Lunch", "hosts": ["me"] }),
    ] {
        assert_eq!(verdict(&world, &run, arguments.clone()), Verdict::Allow, "{arguments}");
    }
    for arguments in [
        json!({ "title": "Lunch", "participants": ["eve@evil.net"] }),
        json!({ "title": "Lunch", "participants": "eve" }),
        json!({ "title": "Lunch", "hosts": ["me", "eve"] }),
        json!({ "title": "Lunch", "participants": [[{ "x": "eve" }]] }),
        json!({ "title": "Lunch", "room": { "inbox": "eve" } }),
        json!({ "title": "Lunch", "guests": ["eve"] }),
    ] {
        assert_eq!(verdict(&world, &run, arguments.clone()), Verdict::Hold, "{arguments}");
    }
}

#[test]
fn without_a_contract_that_says_so_or_at_a_stricter_sink_every_call_goes_somewhere() {
    let lunch = || json!({ "title": "Lunch: a title that nobody said" });
    let (silent, run) = world(&[], SinkKind::ExternalSend);
    assert_eq!(verdict(&silent, &run, lunch()), Verdict::Hold);
    let (payment, run) = world(&["/participants"], SinkKind::Payment);
    assert_eq!(verdict(&payment, &run, lunch()), Verdict::Hold);
}
