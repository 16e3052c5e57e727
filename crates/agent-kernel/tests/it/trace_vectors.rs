//! What agent-kernel (Python) wrote into its trace in the recorded cases K01, K02 and K03, against
//! our log and its statistics. Where we differ the case stands in
//! `docs/conformance/vector-deviations.md`.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::DriverError;
use weaver_policy::{Effect, NameCondition, Policy, Rule};
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::project::LogStats;
use weaver_trace_store::query::EventFilter;
use weaver_types::{CapabilityDraft, Effects, LogId, OsRandom, RawResult};

use crate::support::{Asked, Logged, World, ana, draft, log, open_policy, succeeded};

fn case(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/trace_vectors.json")).unwrap();
    all["cases"][id].clone()
}

fn world(policy: Policy) -> (World, Arc<MemoryLedger>) {
    let ledger = Arc::new(MemoryLedger::new(LogId::random(&OsRandom).unwrap(), Arc::new(OsRandom)));
    (World::on(ledger.clone(), policy), ledger)
}

fn stats(ledger: &MemoryLedger) -> LogStats {
    LogStats::from_log(ledger, None, &EventFilter::default(), &mut |_, _| {}).unwrap()
}

fn last(world: &World, kind: &str) -> Logged {
    log(world.ledger.as_ref()).into_iter().rfind(|event| event.kind == kind).unwrap()
}

/// Cases: K01.
#[test]
fn the_trace_says_who_what_and_redacted_arguments_and_the_statistics_count() {
    let recorded = case("K01");
    let (world, ledger) = world(open_policy());
    let sensitivity = [weaver_types::SensitivityTag::Pii].into();
    world
        .answering(CapabilityDraft { sensitivity, ..draft("r.list", Effects::READ_LOCAL) }, |_| {
            Ok(RawResult::json(json!([{"id": 1, "mail": "bob@corp.com"}])))
        });
    let args = json!({"q": "mail bob@corp.com", "password": "hunter2!"});
    for _ in 0..4 {
        let asked = Asked::new("r.list").with(args.clone());
        assert!(succeeded(&world.call(&world.run(), &ana(), &asked)));
    }
    let intent = last(&world, "call.intent").payload;
    let trace = &recorded["trace"];
    assert_eq!(intent["capability"], trace["capability_id"]);
    assert_eq!(intent["principal"], "ana");
    assert!(intent["token"].is_string() && intent["driver"].is_string());
    let arguments: Value =
        serde_json::from_str(intent["arguments"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, trace["args"]);
    let outcome = last(&world, "call.outcome").payload;
    assert_eq!(outcome["success"], true);
    // One token is one invocation here, so there are as many grants.
    let (ours, theirs) = (stats(&ledger), &recorded["stats"]);
    assert_eq!((&json!(ours.grants), &theirs["grants"]), (&json!(4), &json!(1)));
    assert_eq!(json!(ours.outcomes["success"]), theirs["invocations"]);
    assert_eq!(json!(ours.handles), theirs["handle_stores"]);
    assert_eq!(json!(ours.views), theirs["expansions"]);
    assert_eq!(json!(ours.denials_by_reason), theirs["denials_by_reason"]);
    assert!(ours.failures_by_reason.is_empty());
}

/// Cases: K02.
#[test]
fn an_error_stands_in_the_log_redacted_and_an_unknown_capability_too() {
    let recorded = case("K02");
    let (world, ledger) = world(open_policy());
    world.answering(draft("r.list", Effects::READ_LOCAL), |_| {
        Err(DriverError::Failed("upstream: Bearer abcdefgh1234 bob@corp.com".to_owned()))
    });
    world.call(&world.run(), &ana(), &Asked::new("r.list"));
    let message = last(&world, "call.outcome").payload["error_message"].to_string();
    assert!(!message.contains("abcdefgh1234") && !message.contains("bob@corp.com"), "{message}");
    assert!(message.contains("upstream: Bearer [BEARER_1] [EMAIL_1]"), "{message}");
    assert!(recorded["trace_error"].as_str().unwrap().contains("[REDACTED]"));
    world.call(&world.run(), &ana(), &Asked::new("nope"));
    let refused = last(&world, "call.refused").payload;
    assert_eq!((&refused["capability"], &refused["reason"]), (&json!("nope"), &json!("not_found")));
    let ours = stats(&ledger);
    assert_eq!(json!(ours.refusals["deny"]), recorded["unknown_capability"]["traces"]);
    assert_eq!(ours.failures_by_reason["execution_failed"], 1);
}

/// Cases: K03.
#[test]
fn a_denial_stands_in_the_log_and_in_the_statistics_by_its_reason() {
    let recorded = &case("K03")["deny"];
    let mut rule = Rule::new("writers", Effect::Allow);
    rule.require.roles = NameCondition::any(["another"]);
    let (world, ledger) = world(Policy::new("roles").with_rule(rule));
    world.tool("w", Effects::WRITE_LOCAL);
    let done = world.call(&world.run(), &ana(), &Asked::new("w"));
    assert!(!succeeded(&done));
    let refused = last(&world, "call.refused").payload;
    let export = &recorded["export"];
    assert_eq!(refused["capability"], export["capability_id"]);
    assert_eq!(refused["reason"], export["reason_code"]);
    assert!(refused.get("token").is_none(), "nothing was granted");
    let (ours, theirs) = (stats(&ledger), &recorded["stats"]);
    assert_eq!(json!(ours.grants), theirs["grants"]);
    assert_eq!(json!(ours.refusals.values().sum::<u64>()), theirs["denials"]);
    assert_eq!(json!(ours.denials_by_reason), theirs["denials_by_reason"]);
    assert!(ours.outcomes.is_empty());
}
