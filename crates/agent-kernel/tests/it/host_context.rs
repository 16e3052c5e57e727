//! What a host says of its runs reaches drivers and the log, and decides nothing.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{AuthorizedCall, Caller, FnDriver, block_on};
use weaver_types::{
    AgentId, Effects, LocaleCode, OsRandom, RawResult, RunBudget, RunContext, RunSettings, Verdict,
};

use crate::support::{Asked, World, ana, answer, draft, log, open_policy, succeeded};

fn run_of(world: &World, metadata: Value) -> RunContext {
    let settings = RunSettings {
        session_id: "sess_abc".to_owned(),
        user_sid: "user 7".to_owned(),
        budget: RunBudget::unlimited(),
        locale: LocaleCode::HiIn,
        metadata: serde_json::from_value(metadata).unwrap(),
        ..RunSettings::default()
    };
    let run = RunContext::create(settings, world.clock.as_ref(), &OsRandom).unwrap();
    run.for_agent(AgentId::parse("planner").unwrap())
}

/// A world with a tool that keeps the calls that it gets.
fn listening() -> (World, Arc<Mutex<Vec<AuthorizedCall>>>) {
    let world = World::new(open_policy());
    let calls: Arc<Mutex<Vec<AuthorizedCall>>> = Arc::default();
    let kept = Arc::clone(&calls);
    world.driven(
        draft("fs.read", Effects::READ_LOCAL),
        FnDriver::inline(move |call| {
            kept.lock().unwrap().push(call.clone());
            Ok(RawResult::text("done"))
        }),
    );
    (world, calls)
}

#[test]
fn a_driver_gets_the_metadata_and_the_sessions_of_the_run() {
    let (world, calls) = listening();
    let metadata = json!({ "user_context": { "tags": [1, null, "a"] }, "trace": true });
    let run = run_of(&world, metadata.clone());
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    let calls = calls.lock().unwrap();
    assert_eq!(json!(calls[0].metadata()), metadata);
    assert_eq!((calls[0].session_id(), calls[0].user_sid()), ("sess_abc", "user 7"));
    assert_eq!(calls[0].agent_name().as_str(), "planner");
    assert_eq!(calls[0].locale().number(1_234_567), "12,34,567");
}

#[test]
fn every_event_of_a_call_names_the_sessions_and_the_agent() {
    let (world, _) = listening();
    let run = run_of(&world, json!({ "user_context": { "plan": "gold" } }));
    let caller = Caller { run: &run, principal: &ana() };
    block_on(world.kernel.record_shortlist(caller, "a goal", &[])).unwrap();
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    let refused = world.call(&run, &ana(), &Asked::new("no.such"));
    assert_eq!(answer(&refused).0, Verdict::Deny);
    let log = log(world.ledger.as_ref());
    let of_run: Vec<_> = log.iter().filter(|event| event.run.is_some()).collect();
    let mut kinds: Vec<&str> = of_run.iter().map(|event| event.kind.as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["call.intent", "call.outcome", "call.refused", "route.shortlisted", "run.started"]
    );
    for event in &of_run {
        assert_eq!(event.payload["session_id"], "sess_abc", "{}", event.kind);
        assert_eq!(event.payload["user_sid"], "user 7", "{}", event.kind);
        assert_eq!(event.payload["run_agent"], "planner", "{}", event.kind);
    }
    let started = of_run.iter().find(|event| event.kind == "run.started").unwrap();
    assert_eq!(started.payload["locale"], "hi-IN");
    for kind in ["run.started", "call.intent", "call.refused"] {
        let event = of_run.iter().find(|event| event.kind == kind).unwrap();
        let text = event.payload["metadata"]["text"].as_str().unwrap();
        assert_eq!(text, r#"{"user_context":{"plan":"gold"}}"#, "{kind}");
    }
}

#[test]
fn metadata_reaches_the_log_redacted_and_bounded() {
    let (world, calls) = listening();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let run = run_of(&world, json!({ "token": secret, "mail": "jane.roe@corp.example.com" }));
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    assert_eq!(calls.lock().unwrap()[0].metadata()["token"], secret, "a driver gets it as it is");
    let long = run_of(&world, json!({ "notes": "all is well ".repeat(1_000) }));
    assert!(succeeded(&world.call(&long, &ana(), &Asked::new("fs.read"))));
    let log = log(world.ledger.as_ref());
    for event in &log {
        let text = event.payload.to_string();
        assert!(!text.contains("ghp_abc") && !text.contains("jane.roe"), "{text}");
    }
    let intents: Vec<_> = log.iter().filter(|event| event.kind == "call.intent").collect();
    assert!(intents[0].payload["metadata"]["text"].is_string());
    let metadata = &intents[1].payload["metadata"];
    assert_eq!((metadata["bytes"].as_u64(), &metadata["text"]), (Some(12_012), &Value::Null));
}

#[test]
fn what_a_host_says_nothing_of_takes_no_place() {
    let (world, calls) = listening();
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))));
    for event in log(world.ledger.as_ref()) {
        for key in ["session_id", "user_sid", "metadata"] {
            assert!(event.payload.get(key).is_none(), "{}: {key}", event.kind);
        }
    }
    let calls = calls.lock().unwrap();
    assert!(calls[0].metadata().is_empty() && calls[0].session_id().is_empty());
    assert_eq!(calls[0].agent_name().as_str(), "default");
}
