//! Dry runs and explanations: what a call would get, with nothing done.

use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{BudgetRemaining, Caller};
use weaver_firewall::SessionBudget;
use weaver_policy::{Effect, Policy, Rule};
use weaver_types::{Effects, Millicents, ReasonCode, ResponseMode, RunBudget, SafetyMode};

use crate::support::{Asked, World, ana, answer, draft, log, memory, open_policy, principal};

/// A world with a call for each verdict.
fn world() -> World {
    let policy = open_policy().with_rule(
        Rule::new("never", Effect::Deny).on(weaver_policy::Pattern::parse("fs.never").unwrap()),
    );
    let world = World::new(policy);
    let mut spec = draft("fs.write", Effects::WRITE_LOCAL);
    spec.input_schema = Some(
        json!({
            "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } }
        })
        .into(),
    );
    world.register(spec).tool("disk.wipe", Effects::DESTROY_LOCAL);
    world.tool("fs.never", Effects::READ_LOCAL).tool("fs.read", Effects::READ_LOCAL);
    world
}

#[test]
fn a_dry_run_says_what_the_call_then_gets() {
    let world = world();
    let (who, admin) = (ana(), principal("root", &["admin"]));
    let raw = Asked::new("fs.read").mode(ResponseMode::Raw);
    let none = RunBudget { max_tool_calls: Some(0), ..RunBudget::unlimited() };
    let short = RunBudget { max_prompt_tokens: Some(10), ..RunBudget::unlimited() };
    for (asked, who, budget) in [
        (Asked::new("fs.read"), &who, RunBudget::unlimited()),
        (Asked::new("fs.write").with(json!({ "path": "a" })), &who, RunBudget::unlimited()),
        (Asked::new("fs.write"), &who, RunBudget::unlimited()),
        (Asked::new("fs.never"), &who, RunBudget::unlimited()),
        (Asked::new("disk.wipe"), &who, RunBudget::unlimited()),
        (Asked::new("no.such"), &who, RunBudget::unlimited()),
        (raw.clone(), &who, RunBudget::unlimited()),
        (raw, &admin, RunBudget::unlimited()),
        (Asked::new("fs.read"), &who, none),
        (Asked::new("fs.read"), &who, short),
    ] {
        let run = world.run_with(budget, SafetyMode::Normal);
        let before = (log(world.ledger.as_ref()).len(), world.executed());
        let told = world.kernel.dry_run(Caller { run: &run, principal: who }, asked.call());
        assert_eq!((log(world.ledger.as_ref()).len(), world.executed()), before, "{asked:?}");
        assert!(
            world.kernel.pending_approvals().is_empty()
                || asked.request.capability_id.as_str() != "disk.wipe"
        );
        let done = world.call(&run, who, &asked);
        assert_eq!((told.verdict(), told.decision.primary_reason()), answer(&done), "{asked:?}");
        if let Some(frame) = done.result.and_then(|result| result.data) {
            assert_eq!(told.mode, frame.mode, "{asked:?}");
        }
    }
}

#[test]
fn it_names_driver_arguments_time_and_what_is_left() {
    let world = world();
    let budget = RunBudget {
        max_tool_calls: Some(3),
        max_latency_ms: Some(2_000),
        max_cost: Some(Millicents(9)),
        ..RunBudget::unlimited()
    };
    let (run, who) = (world.run_with(budget, SafetyMode::Normal), ana());
    let asked = Asked::new("fs.write").with(json!({ "path": "a" }));
    world.call(&run, &who, &asked);
    let told = world.kernel.dry_run(Caller { run: &run, principal: &who }, asked.call());
    assert_eq!(told.driver.as_deref(), Some("fn"));
    assert_eq!(told.arguments, Some(json!({ "path": "a" })));
    assert_eq!((told.timeout, told.max_cost), (Some(Duration::from_secs(5)), Millicents(0)));
    let left = BudgetRemaining {
        tool_calls: Some(2),
        prompt_tokens: None,
        latency_us: Some(2_000_000),
        cost: Some(Millicents(9)),
        session_tokens: None,
    };
    assert_eq!(told.budget_remaining, Some(left));
    let unknown = Asked::new("no.such");
    let told = world.kernel.dry_run(Caller { run: &run, principal: &who }, unknown.call());
    assert_eq!((told.driver, told.arguments, told.timeout), (None, None, None));
    assert_eq!(told.budget_remaining, Some(left), "nothing is charged");
}

#[test]
fn its_mode_is_that_which_the_session_leaves() {
    let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(1_000);
    let world = World::bounded(memory(), open_policy(), session);
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, admin) = (world.run(), principal("root", &["admin"]));
    let asked = Asked::new("fs.read").with(json!({ "a": "b".repeat(900) })).mode(ResponseMode::Raw);
    let mut modes = Vec::new();
    loop {
        let told = world.kernel.dry_run(Caller { run: &run, principal: &admin }, asked.call());
        let done = world.call(&run, &admin, &asked);
        assert_eq!((told.verdict(), told.decision.primary_reason()), answer(&done));
        let Some(frame) = done.result.and_then(|result| result.data) else { break };
        assert!(frame.mode >= told.mode, "no more is shown than was said");
        modes.push(told.mode);
    }
    assert!(modes.len() > 1 && modes.first() < modes.last(), "{modes:?}");
}

#[test]
fn a_denial_is_explained_with_every_condition() {
    let world = World::new(Policy::baseline().unwrap());
    world.tool("crm.write", Effects::WRITE_LOCAL);
    let (run, bo) = (world.run(), principal("bo", &["reader"]));
    let caller = Caller { run: &run, principal: &bo };
    let told = world.kernel.explain_denial(caller, Asked::new("crm.write").call());
    assert!(told.denied);
    let conditions: Vec<_> =
        told.failed_conditions.iter().map(|one| one.condition.as_str()).collect();
    assert_eq!(conditions, ["roles", "min_justification"]);
    assert_eq!(told.rule_name, "write-roles");
    assert_eq!(told.reason_code, Some(ReasonCode::MissingRole));
    let roles = &told.failed_conditions[0];
    assert_eq!(roles.actual, json!(["reader"]));
    assert!(!roles.suggestion.is_empty() && !roles.required.is_null());
    assert_eq!(told.remediation.len(), 2);
    assert!(told.narrative.contains("crm.write") && told.narrative.contains("bo"), "{told:?}");
    assert!(log(world.ledger.as_ref()).is_empty());
}

#[test]
fn what_the_kernel_says_beside_the_policy_is_explained_too() {
    let world = world();
    let who = ana();
    let used = RunBudget { max_tool_calls: Some(0), ..RunBudget::unlimited() };
    let used = world.run_with(used, SafetyMode::Normal);
    let told = world
        .kernel
        .explain_denial(Caller { run: &used, principal: &who }, Asked::new("fs.write").call());
    let conditions: Vec<_> =
        told.failed_conditions.iter().map(|one| one.condition.as_str()).collect();
    assert!(conditions.contains(&"budget") && conditions.contains(&"arguments"), "{told:?}");
    assert_eq!(told.reason_code, Some(ReasonCode::BudgetExceeded));
    let run = world.run();
    let caller = Caller { run: &run, principal: &who };
    let unknown = world.kernel.explain_denial(caller, Asked::new("no.such").call());
    assert_eq!(unknown.reason_code, Some(ReasonCode::NotFound));
    assert_eq!((unknown.denied, unknown.rule_name.as_str()), (true, "not-found"));
    let fine = world.kernel.explain_denial(caller, Asked::new("fs.read").call());
    assert_eq!((fine.denied, fine.reason_code), (false, None));
}

#[test]
fn what_the_policy_says_and_what_the_kernel_says_are_both_told() {
    let world = World::new(Policy::baseline().unwrap());
    world.tool("crm.write", Effects::WRITE_LOCAL);
    let used = RunBudget { max_tool_calls: Some(0), ..RunBudget::unlimited() };
    let (run, bo) = (world.run_with(used, SafetyMode::Normal), principal("bo", &["reader"]));
    let caller = Caller { run: &run, principal: &bo };
    let told = world.kernel.explain_denial(caller, Asked::new("crm.write").call());
    let conditions: Vec<_> =
        told.failed_conditions.iter().map(|one| one.condition.as_str()).collect();
    assert_eq!(conditions, ["roles", "min_justification", "budget"]);
    assert_eq!(told.remediation.last().map(String::as_str), Some("Begin another run"));
    let end = format!("would be denied: {}.", told.remediation.join("; "));
    assert!(told.narrative.ends_with(&end), "{}", told.narrative);
}

#[test]
fn what_stands_in_the_way_beside_the_policy_names_the_denial() {
    let world = world();
    let used = RunBudget { max_tool_calls: Some(0), ..RunBudget::unlimited() };
    let (run, who) = (world.run_with(used, SafetyMode::Normal), ana());
    let caller = Caller { run: &run, principal: &who };
    let told = world.kernel.explain_denial(caller, Asked::new("fs.read").call());
    assert_eq!((told.denied, told.rule_name.as_str()), (true, "budget"));
    assert_eq!(
        told.narrative,
        "Request for 'fs.read' by 'ana' would be denied: Begin another run."
    );
    let free = world.run();
    let caller = Caller { run: &free, principal: &who };
    let told = world.kernel.explain_denial(caller, Asked::new("no.such").call());
    let conditions: Vec<_> =
        told.failed_conditions.iter().map(|one| one.condition.as_str()).collect();
    assert_eq!(conditions, ["capability"]);
    assert_eq!(told.remediation, ["Look for another capability"]);
}

/// Whether anybody could give the justification that is missing.
#[test]
fn where_nobody_can_be_asked_the_explanation_says_so() {
    use weaver_agent_kernel::Settings;
    let verdicts = [true, false].map(|human_channel| {
        let settings = Settings { human_channel, ..Settings::default() };
        let clock = std::sync::Arc::new(weaver_types::ManualClock::new(crate::support::START));
        let parts = crate::support::parts(memory(), clock, Policy::baseline().unwrap());
        let kernel = parts.with_settings(settings).open().unwrap();
        let driver =
            weaver_agent_kernel::FnDriver::inline(|_| Ok(weaver_types::RawResult::text("done")));
        let tool = draft("crm.write", Effects::WRITE_LOCAL).build().unwrap();
        kernel.registry().register(tool, std::sync::Arc::new(driver)).unwrap();
        let (run, who) = (kernel.start_run(Default::default()).unwrap(), ana());
        let caller = Caller { run: &run, principal: &who };
        let told = kernel.explain_denial(caller, Asked::new("crm.write").call());
        let justification =
            |one: &&weaver_policy::explain::FailedCondition| one.condition == "min_justification";
        told.failed_conditions.iter().find(justification).unwrap().verdict
    });
    assert_eq!(verdicts, [weaver_types::Verdict::Ask, weaver_types::Verdict::Hold]);
}

#[test]
fn what_is_left_of_the_session_is_told_too() {
    let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(7_000);
    let world = World::bounded(memory(), open_policy(), session);
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, who) = (world.run(), ana());
    let caller = Caller { run: &run, principal: &who };
    let left = world.kernel.dry_run(caller, Asked::new("fs.read").call()).budget_remaining;
    assert_eq!(left.unwrap().session_tokens, Some(7_000));
}

/// A rule that speaks of a part of the call other than its capability.
#[test]
fn the_rule_that_denies_is_named_whatever_it_goes_by() {
    for (matches, rule) in [
        ("mode = \"STRICT\"", true),
        ("mode = \"SAFE\"", false),
        ("arguments = { at = \"/path\", equals = \"/etc\" }", true),
        ("arguments = { at = \"/path\", equals = \"/tmp\" }", false),
    ] {
        let text = format!(
            "kind = \"policy\"\nformat = 1\nid = \"p\"\nversion = 1\n\
             [[rules]]\nname = \"no\"\nmatch = {{ capability = \"fs.read\", {matches} }}\n\
             effect = \"deny\"\n\
             [[rules]]\nname = \"all\"\nmatch = {{}}\neffect = \"allow\"\n"
        );
        let world = World::new(Policy::from_code(text.leak()).unwrap());
        world.tool("fs.read", Effects::READ_LOCAL);
        let mut run = world.run();
        let who = ana();
        run.settings.safety_mode = SafetyMode::Strict;
        let caller = Caller { run: &run, principal: &who };
        let asked = Asked::new("fs.read").with(json!({ "path": "/etc" }));
        let told = world.kernel.explain_denial(caller, asked.call());
        assert_eq!(told.denied, rule, "{matches}");
        let named = told.failed_conditions.iter().filter(|one| one.rule.is_some()).count();
        assert_eq!(named, usize::from(rule), "{matches} {told:?}");
    }
}
