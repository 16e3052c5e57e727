//! What comes back of a call: its words, its times, its names, and the keys in the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{DriverError, FnDriver, Invocation};
use weaver_types::{
    CapabilityDraft, Effects, RawResult, ResponseMode, RunBudget, RunContext, SafetyMode,
    ToolErrorCode,
};

use crate::approvals::documents;
use crate::support::{
    Asked, World, ana, answer, draft, log, open_policy, principal, snapshot, succeeded,
};

fn code(done: &Invocation) -> ToolErrorCode {
    done.result.as_ref().unwrap().error_code.unwrap()
}

#[test]
fn every_error_of_a_driver_has_its_word() {
    let world = World::new(open_policy());
    let words = |text: &str| text.to_owned();
    for (nth, (error, wanted)) in [
        (DriverError::NotFound(words("a")), ToolErrorCode::NotFound),
        (DriverError::Invalid(words("a")), ToolErrorCode::ValidationError),
        (DriverError::Timeout(Duration::from_millis(1)), ToolErrorCode::Timeout),
        (DriverError::Network(words("a")), ToolErrorCode::NetworkError),
        (DriverError::Unavailable(words("a")), ToolErrorCode::NetworkError),
        (DriverError::Lost(words("a")), ToolErrorCode::NetworkError),
        (DriverError::RateLimited { said: words("a"), wait: None }, ToolErrorCode::RateLimited),
        (DriverError::Failed(words("a")), ToolErrorCode::Unexpected),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("fs.tool{nth}");
        let told = error.clone();
        world.answering(draft(&id, Effects::READ_LOCAL), move |_| Err(told.clone()));
        let done = world.call(&world.run(), &ana(), &Asked::new(&id));
        assert_eq!(code(&done), wanted, "{error}");
    }
}

#[test]
fn every_refusal_has_its_word() {
    let world = World::new(open_policy());
    let mut spec = draft("fs.read", Effects::READ_LOCAL);
    spec.input_schema = Some(json!({ "type": "object", "required": ["path"] }).into());
    world.register(spec).tool("fs.write", Effects::WRITE_LOCAL);
    let call = |run: &RunContext, id: &str| code(&world.call(run, &ana(), &Asked::new(id)));
    let run = world.run();
    assert_eq!(call(&run, "no.such"), ToolErrorCode::NotFound);
    assert_eq!(call(&run, "fs.read"), ToolErrorCode::ValidationError);
    let safe = world.run_with(RunBudget::unlimited(), SafetyMode::Safe);
    assert_eq!(call(&safe, "fs.write"), ToolErrorCode::PermissionDenied);
    let none = RunBudget { max_tool_calls: Some(0), ..RunBudget::unlimited() };
    let none = world.run_with(none, SafetyMode::Normal);
    assert_eq!(call(&none, "fs.write"), ToolErrorCode::BudgetExceeded);
    assert_eq!(world.executed(), 0);
}

#[test]
fn a_result_names_its_run_its_span_and_its_time() {
    let world = World::new(open_policy());
    let clock = Arc::clone(&world.clock);
    world.answering(draft("fs.read", Effects::READ_LOCAL), move |_| {
        clock.advance(Duration::from_micros(7_500));
        Ok(RawResult::text("done"))
    });
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("fs.read"));
    let refused = world.call(&run, &ana(), &Asked::new("no.such"));
    for answer in [&done, &refused] {
        let result = answer.result.as_ref().unwrap();
        assert_eq!(result.trace_id, run.trace_id);
        assert_eq!(result.trace_id.len(), 32);
        let digits = answer.call.as_str().strip_prefix("call_").unwrap();
        assert_eq!(result.span_id, digits.chars().take(16).collect::<String>());
        assert_eq!(result.span_id.len(), 16);
    }
    let result = done.result.unwrap();
    assert_eq!(result.latency_us, 7_500);
    assert!((result.latency_ms() - 7.5).abs() < f64::EPSILON);
    assert_eq!(refused.result.unwrap().latency_us, 0);
    let ledger = world.ledger.as_ref();
    assert_eq!(snapshot(ledger, &run.run_id).unwrap().meters.latency_us, 7_500);
    let log = log(ledger);
    let outcome = log.iter().find(|event| event.kind == "call.outcome").unwrap();
    assert_eq!(outcome.payload["latency_us"], 7_500);
}

#[test]
fn retries_are_the_lesser_of_the_tools_and_the_runs() {
    for (tools, runs, attempts) in [(2, 1, 2), (1, 2, 2), (2, 0, 1), (0, 2, 1)] {
        let world = World::new(open_policy());
        let tried = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&tried);
        let spec = CapabilityDraft {
            idempotent: true,
            max_retries: tools,
            ..draft("fs.flaky", Effects::READ_LOCAL)
        };
        world.driven(
            spec,
            FnDriver::inline(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                Err(DriverError::Unavailable("not now".to_owned()))
            }),
        );
        let budget = RunBudget { max_retries_per_tool: runs, ..RunBudget::unlimited() };
        let run = world.run_with(budget, SafetyMode::Normal);
        let done = world.call(&run, &ana(), &Asked::new("fs.flaky"));
        assert_eq!(tried.load(Ordering::SeqCst), attempts, "tool {tools}, run {runs}");
        assert_eq!(u32::from(done.result.unwrap().retries), attempts - 1);
    }
}

#[test]
fn events_carry_their_decision_keys() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("disk.wipe", Effects::DESTROY_LOCAL);
    let budget = RunBudget { max_tool_calls: Some(1), ..RunBudget::unlimited() };
    let run = world.run_with(budget, SafetyMode::Normal);
    world.call(&run, &ana(), &Asked::new("disk.wipe"));
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    world.call(&run, &ana(), &Asked::new("fs.read"));
    let log = log(world.ledger.as_ref());
    let keys: Vec<_> = log
        .iter()
        .map(|event| (event.kind.as_str(), event.payload["decision_key"].as_str()))
        .collect();
    let wanted = [
        ("run.started", Some("kernel.run.started")),
        ("approval.requested", None),
        ("call.refused", Some("kernel.tool.policy.blocked")),
        ("call.intent", Some("kernel.tool.dispatch")),
        ("call.outcome", None),
        ("call.refused", Some("kernel.budget.exceeded")),
    ];
    assert_eq!(keys, wanted);
    assert_eq!(log[0].payload["trace_id"], run.trace_id.as_str());
}

#[test]
fn the_log_says_who_was_shown_a_raw_result() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let admin = principal("root", &["admin"]);
    for (mode, word) in [(ResponseMode::Raw, "raw"), (ResponseMode::Table, "table")] {
        let asked = Asked::new("fs.read").with(json!({ "path": "a" })).mode(mode);
        let done = world.call(&world.run(), &admin, &asked);
        assert!(succeeded(&done), "{:?}", answer(&done));
        let log = log(world.ledger.as_ref());
        let of = |kind: &str| log.iter().rev().find(|event| event.kind == kind).unwrap();
        let (intent, outcome) = (of("call.intent"), of("call.outcome"));
        assert_eq!(intent.call.as_deref(), Some(done.call.as_str()));
        assert_eq!(
            (&intent.payload["mode"], &intent.payload["principal"]),
            (&json!(word), &json!("root"))
        );
        assert_eq!(outcome.payload["frame"]["mode"], word);
    }
}

#[test]
fn what_a_request_asks_for_gives_its_frame_no_more_tokens() {
    let shown = |rule: &str, asked: Option<u32>| {
        let rules = format!("[[rules]]\nname = \"all\"\nmatch = {{}}\neffect = \"allow\"\n{rule}");
        let world = World::under(documents(&rules, ""));
        let line = "the quick brown fox jumps over the lazy dog\n".repeat(20_000);
        world.answering(draft("fs.read", Effects::READ_LOCAL), move |_| {
            Ok(RawResult::text(line.clone()))
        });
        let mut call = Asked::new("fs.read").mode(ResponseMode::Auto);
        call.request.constraints.max_tokens = asked;
        let frame = world.call(&world.run(), &ana(), &call).result.unwrap().data.unwrap();
        serde_json::to_string(&frame).unwrap().len()
    };
    let (own, rule) = (shown("", None), "constraints = { max_tokens = 20000 }\n");
    assert!(shown("", Some(100_000)) <= own + own / 10);
    assert!(shown("", Some(500)) < own / 4);
    let ruled = shown(rule, None);
    assert!(ruled > own * 2);
    assert!(shown(rule, Some(100_000)) <= ruled + ruled / 10);
}
