//! Drivers that are slow, fail, panic or talk too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weaver_agent_kernel::{DriverError, FnDriver};
use weaver_types::{CapabilityDraft, Effects, RawResult, ReasonCode, ToolErrorCode};

use crate::support::{Asked, World, ana, draft, kinds, log, open_policy, succeeded};

fn quick(id: &str, effects: Effects) -> CapabilityDraft {
    CapabilityDraft { timeout_ms: 100, ..draft(id, effects) }
}

fn failure(world: &World, id: &str) -> (ToolErrorCode, String, String) {
    let done = world.call(&world.run(), &ana(), &Asked::new(id));
    let result = done.result.unwrap();
    assert!(!result.success);
    let last = log(world.ledger.as_ref()).pop().unwrap();
    (result.error_code.unwrap(), result.error_message, last.kind)
}

#[test]
fn blocking_and_async_functions_are_cut_off() {
    let world = World::new(open_policy());
    let (gate, waiting) = std::sync::mpsc::channel::<()>();
    let waiting = std::sync::Mutex::new(waiting);
    world.driven(
        quick("fs.block", Effects::READ_LOCAL),
        FnDriver::blocking(move |_| {
            let _ = waiting.lock().unwrap().recv();
            Ok(RawResult::text("late"))
        }),
    );
    let pending = FnDriver::asynchronous(|_| std::future::pending());
    world.driven(quick("fs.pend", Effects::READ_LOCAL), pending);
    for id in ["fs.block", "fs.pend"] {
        let (code, message, kind) = failure(&world, id);
        assert_eq!((code, kind.as_str()), (ToolErrorCode::Timeout, "call.outcome"));
        assert!(message.starts_with("timeout"), "{message}");
    }
    drop(gate);
}

#[test]
fn a_write_whose_end_is_unclear_reads_as_unknown() {
    let world = World::new(open_policy());
    for (id, idempotent) in [("fs.append", false), ("fs.put", true)] {
        let spec = CapabilityDraft { idempotent, ..quick(id, Effects::WRITE_LOCAL) };
        world.driven(spec, FnDriver::asynchronous(|_| std::future::pending()));
    }
    world.answering(draft("fs.lost", Effects::WRITE_LOCAL), |_| {
        Err(DriverError::Lost("the line is dead".to_owned()))
    });
    world.answering(draft("fs.refuse", Effects::WRITE_LOCAL), |_| {
        Err(DriverError::Invalid("no such path".to_owned()))
    });
    assert_eq!(failure(&world, "fs.append").2, "call.outcome_unknown");
    assert_eq!(failure(&world, "fs.lost").2, "call.outcome_unknown");
    assert_eq!(failure(&world, "fs.put").2, "call.outcome");
    assert_eq!(failure(&world, "fs.refuse").2, "call.outcome");
}

#[test]
fn only_what_is_idempotent_is_tried_again() {
    for (idempotent, attempts) in [(true, 3), (false, 1)] {
        let world = World::new(open_policy());
        let tried = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&tried);
        let spec = CapabilityDraft {
            idempotent,
            max_retries: 2,
            ..draft("fs.flaky", Effects::READ_LOCAL)
        };
        world.driven(
            spec,
            FnDriver::inline(move |call| {
                assert_eq!(u32::from(call.attempt()), count.fetch_add(1, Ordering::SeqCst));
                Err(DriverError::Unavailable("not now".to_owned()))
            }),
        );
        let done = world.call(&world.run(), &ana(), &Asked::new("fs.flaky"));
        assert_eq!(tried.load(Ordering::SeqCst), attempts);
        assert_eq!(u32::from(done.result.unwrap().retries), attempts - 1);
        assert_eq!(kinds(world.ledger.as_ref()), ["run.started", "call.intent", "call.outcome"]);
    }
}

#[test]
fn a_panic_ends_only_its_own_call() {
    let world = World::new(open_policy());
    let inline = FnDriver::inline(|_| panic!("on purpose"));
    let blocking = FnDriver::blocking(|_| panic!("on purpose"));
    let before = FnDriver::asynchronous(|call| {
        assert!(call.timeout() > Duration::from_secs(60), "on purpose");
        std::future::ready(Ok(RawResult::text("never")))
    });
    let within = FnDriver::asynchronous(|_| async { panic!("on purpose") });
    for (id, driver) in
        [("p.inline", inline), ("p.blocking", blocking), ("p.before", before), ("p.within", within)]
    {
        world.driven(draft(id, Effects::WRITE_LOCAL), driver);
        let (_, message, kind) = failure(&world, id);
        assert!(message.contains("panicked") && !message.contains("on purpose"), "{message}");
        assert_eq!(kind, "call.outcome_unknown", "how far a write came is unknown");
    }
    world.tool("fs.read", Effects::READ_LOCAL);
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))));
}

#[test]
fn the_words_of_an_error_are_redacted_and_taint_the_run() {
    let world = World::new(open_policy());
    world.answering(draft("db.query", Effects::READ_LOCAL), |_| {
        Err(DriverError::Failed("login with password=hunter2! failed".to_owned()))
    });
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("db.query"));
    let result = done.result.unwrap();
    assert!(result.error_message.contains("login"), "{result:?}");
    assert!(!format!("{result:?}").contains("hunter2"));
    let log = log(world.ledger.as_ref());
    assert!(log.iter().all(|event| !event.payload.to_string().contains("hunter2")));
    let last = log.last().unwrap();
    assert_eq!(last.payload["reason"], ReasonCode::ExecutionFailed.as_str());
    assert_eq!(last.payload["run"]["label"]["integrity"], "untrusted");
}

#[test]
fn arguments_and_goals_reach_the_log_redacted() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let mut asked = Asked::new("fs.read").with(serde_json::json!({"password": "hunter2!"}));
    asked.request.goal = format!("use password=hunter2! {}", "x".repeat(5_000));
    assert!(succeeded(&world.call(&world.run(), &ana(), &asked)));
    let log = log(world.ledger.as_ref());
    assert!(log.iter().all(|event| !event.payload.to_string().contains("hunter2")));
    let arguments = &log[1].payload["arguments"];
    assert!(arguments["commit"].is_string() && arguments["salt"].is_string());
}

/// Retention names events by the tags of the capability that they are about.
#[test]
fn what_is_said_of_a_call_bears_the_tags_of_its_capability() {
    let world = World::new(open_policy());
    let tags = ["PII".to_owned(), "billing".to_owned()].into();
    world.register(CapabilityDraft { tags, ..draft("fs.read", Effects::READ_LOCAL) });
    world.tool("fs.plain", Effects::READ_LOCAL);
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))));
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.plain"))));
    for event in log(world.ledger.as_ref()).iter().filter(|event| event.call.is_some()) {
        let tagged = event.payload["capability"] == "fs.read";
        let tags = serde_json::json!(["PII", "billing"]);
        let want = if tagged { tags } else { serde_json::Value::Null };
        assert_eq!(event.payload.get("tags").cloned().unwrap_or_default(), want, "{}", event.kind);
    }
}
