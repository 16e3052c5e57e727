//! Calls under a policy that observes: done, and recorded with what they would have been.

use serde_json::json;
use weaver_agent_kernel::{Caller, RevocationSubject, block_on};
use weaver_policy::{Policy, RateLimit, RuleEnforcement};
use weaver_types::{Effects, ReasonCode, ResponseMode, RunBudget, Rung, SafetyMode, Verdict};

use crate::support::{Asked, World, ana, answer, draft, log, open_policy, succeeded};

fn observing(mut policy: Policy) -> World {
    policy.enforcement = RuleEnforcement::Observe;
    World::new(policy)
}

#[test]
fn what_would_have_been_denied_is_done_and_recorded() {
    let world = observing(Policy::new("empty"));
    world.tool("fs.write", Effects::WRITE_LOCAL).tool("mail.send", Effects::WRITE_OPEN);
    let run = world.run();
    for (id, verdict, reason) in
        [("fs.write", "deny", "no_matching_rule"), ("mail.send", "deny", "no_matching_rule")]
    {
        let asked = Asked::new(id).with(json!({ "path": "/a" }));
        let done = world.call(&run, &ana(), &asked);
        assert!(succeeded(&done), "{done:?}");
        assert_eq!(answer(&done), (Verdict::Allow, ReasonCode::NotEnforced));
        let intent = log(world.ledger.as_ref())
            .into_iter()
            .rfind(|event| event.kind.as_str() == "call.intent")
            .unwrap();
        assert_eq!(intent.payload["v"], 2, "an older reader must not take it for enforced");
        assert_eq!(intent.payload["verdict"], "allow");
        assert_eq!(intent.payload["reason"], "not_enforced");
        let would = &intent.payload["would_have"];
        assert_eq!((&would["verdict"], &would["reason"]), (&json!(verdict), &json!(reason)));
        assert!(would["checks"].as_array().is_some_and(|checks| !checks.is_empty()));
    }
    assert_eq!(world.executed(), 2);
}

#[test]
fn a_policy_that_enforces_is_recorded_as_before() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))));
    for event in log(world.ledger.as_ref()) {
        assert_eq!(event.payload.get("would_have"), None, "{event:?}");
        assert_ne!(event.payload["v"], 2, "{event:?}");
    }
}

#[test]
fn l5_the_mode_revocations_and_raw_results_hold() {
    let world = observing(Policy::new("empty"));
    let mut prohibited = draft("x.never", Effects::READ_LOCAL);
    prohibited.rung = Some(Rung::L5);
    world.register(prohibited).tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    let never = world.call(&run, &ana(), &Asked::new("x.never"));
    assert_eq!(answer(&never).0, Verdict::Deny);
    let safe = world.run_with(RunBudget::unlimited(), SafetyMode::Safe);
    let done = world.call(&safe, &ana(), &Asked::new("fs.write"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::ModeForbids));
    let raw = world.call(&run, &ana(), &Asked::new("fs.write").mode(ResponseMode::Raw));
    assert_eq!(answer(&raw).0, Verdict::Deny);
    let (who, asked) = (ana(), Asked::new("fs.write"));
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    let subject = RevocationSubject::Principal(who.id.clone());
    block_on(world.kernel.void_grants(subject, &who.id)).unwrap();
    let call = asked.call();
    let done =
        block_on(world.kernel.invoke(caller, &token, call.arguments.unwrap(), ResponseMode::Table));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::TokenRevoked));
    assert_eq!(world.executed(), 0);
}

#[test]
fn a_limit_is_recorded_and_stops_nothing() {
    let world = observing(open_policy().with_limit(RateLimit::new("few", 1, 60)));
    world.tool("fs.read", Effects::READ_LOCAL);
    let run = world.run();
    for would in [Verdict::Allow, Verdict::Deny, Verdict::Deny] {
        let done = world.call(&run, &ana(), &Asked::new("fs.read"));
        assert!(succeeded(&done), "{done:?}");
        assert_eq!(done.decision.would_have().unwrap().verdict(), would);
    }
}

#[test]
fn a_refused_call_is_recorded_with_its_arguments_redacted() {
    let world = World::new(Policy::new("empty"));
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let arguments = json!({ "path": "/a", "to": "jane.roe@corp.example.com" });
    let done = world.call(&world.run(), &ana(), &Asked::new("fs.write").with(arguments));
    assert_eq!(answer(&done).0, Verdict::Deny);
    let refused = log(world.ledger.as_ref()).pop().unwrap();
    assert_eq!(refused.kind.as_str(), "call.refused");
    let text = refused.payload["arguments"]["text"].as_str().unwrap();
    assert!(text.contains("/a") && !text.contains("jane.roe"), "{text}");
    assert!(refused.payload["arguments"]["commit"].as_str().unwrap().starts_with("sha256:"));
}
