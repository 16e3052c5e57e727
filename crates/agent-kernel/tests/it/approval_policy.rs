//! Another policy while calls are held, and facts that move under a grant.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{Ports, SignedFileOutcome, block_on};
use weaver_policy::PolicySet;
use weaver_policy::approval::{Phase, ResolutionVerdict};
use weaver_types::{
    ApprovalRequestId, CapabilityId, Effects, Principal, ReasonCode, Tenant, Verdict,
};

use crate::approvals::{ALICE, Desk, RULES, documents, push, rejected};
use crate::support::{Asked, World, ana, answer, draft, memory, succeeded};

fn replace(desk: &Desk, policy: Arc<PolicySet>) {
    block_on(desk.world.kernel.replace_policy(policy));
}

/// A rule that does not concern a push.
const OTHER_RULE: &str =
    "[[rules]]\nname = \"no\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n";

/// The same rules with one more.
fn wider() -> Arc<PolicySet> {
    documents(&format!("{RULES}{OTHER_RULE}"), "")
}

#[test]
fn what_is_still_held_with_the_same_authority_gives_way_to_a_linked_request() {
    for granted in [false, true] {
        let desk = Desk::new();
        let old = desk.held(&push());
        let id = old.request.id.clone();
        let file = desk.say(&id, ResolutionVerdict::Granted, "alice", ALICE);
        if granted {
            desk.receive(&file);
        }
        replace(&desk, wider());
        let next = desk.world.kernel.approval_successor(&id).unwrap();
        let fresh = desk.world.kernel.pending_approval(&next).unwrap();
        assert_eq!(fresh.request.supersedes, Some(id.clone()));
        assert_ne!(fresh.request.policy, old.request.policy);
        assert_eq!(fresh.request.arguments, old.request.arguments);
        let held = desk.push();
        assert_eq!(held.request.as_ref(), Some(&next), "the next call waits for that one");
        assert_eq!(rejected(desk.receive(&file)), "already_resolved");
        assert_eq!(desk.world.executed(), 0);
        assert_eq!(desk.grant(&next, "alice", ALICE), SignedFileOutcome::Granted { request: next });
        assert!(succeeded(&desk.push()));
    }
}

/// Documents that are signed again and again keep no request waiting for longer.
#[test]
fn another_policy_gives_a_waiting_request_no_more_time() {
    let desk = Desk::new();
    let old = desk.held(&push()).request;
    let (deadline, mut id, mut rules) = (old.deadline, old.id, RULES.to_owned());
    for n in 0..2 {
        desk.world.clock.advance(Duration::from_secs(5 * 60));
        rules += &OTHER_RULE.replace("\"no\"", &format!("\"no{n}\""));
        replace(&desk, documents(&rules, ""));
        id = desk.world.kernel.approval_successor(&id).unwrap();
        let fresh = desk.world.kernel.pending_approval(&id).unwrap();
        assert_eq!(fresh.request.deadline, deadline);
    }
    desk.world.clock.advance(Duration::from_secs(5 * 60));
    rules += OTHER_RULE;
    replace(&desk, documents(&rules, ""));
    assert_eq!(desk.world.kernel.approval_successor(&id), None, "nobody waits for it");
    block_on(desk.world.kernel.sweep());
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Expired));
    assert_eq!(desk.world.kernel.pending_approvals().len(), 0);
}

#[test]
fn what_is_not_held_in_the_same_way_is_closed() {
    let two = "[approvals]\nfloor = { quorum = 2 }\n";
    let none = "[[rules]]\nname = \"no\"\nmatch = { capability = \"git.*\" }\neffect = \"deny\"\n";
    for (rules, verdict) in [(two, Verdict::Hold), (none, Verdict::Deny)] {
        let desk = Desk::new();
        let id = desk.held(&push()).request.id;
        replace(&desk, documents(&format!("{RULES}{rules}"), ""));
        let phase = desk.world.kernel.approval_phase(&id);
        assert_eq!(phase, Some(Phase::Revoked { by: "kernel".to_owned() }));
        assert_eq!(desk.world.kernel.pending_approvals().len(), 0);
        assert_eq!(desk.push().decision.verdict(), verdict);
    }
}

#[test]
fn a_policy_that_changed_while_closed_is_met_by_the_next_call_or_sweep() {
    for swept in [false, true] {
        let desk = Desk::new();
        let id = desk.held(&push()).request.id;
        desk.grant(&id, "alice", ALICE);
        let desk = desk.restarted(wider());
        if swept {
            assert_eq!(block_on(desk.world.kernel.sweep()), 1);
            assert!(desk.world.kernel.approval_successor(&id).is_some());
            assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
        } else {
            assert_eq!(answer(&desk.push()), (Verdict::Deny, ReasonCode::PolicyChanged));
            assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Revoked { .. })));
            assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
        }
        assert_eq!(desk.world.executed(), 0);
    }
}

#[test]
fn an_answer_to_a_request_of_another_policy_waits_for_its_successor() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let file = desk.say(&id, ResolutionVerdict::Granted, "alice", ALICE);
    let desk = desk.restarted(wider());
    assert_eq!(rejected(desk.receive(&file)), "policy_changed");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn a_rejected_answer_says_which_document_changed() {
    let contract = "[capabilities.\"x.y\"]\neffects = \"read_local\"\n";
    for (rules, contracts, what) in [
        (OTHER_RULE, "", "the policy has changed"),
        ("", contract, "the contracts have changed"),
        (OTHER_RULE, contract, "the policy and the contracts have changed"),
    ] {
        let desk = Desk::new();
        let id = desk.held(&push()).request.id;
        let file = desk.say(&id, ResolutionVerdict::Granted, "alice", ALICE);
        let desk = desk.restarted(documents(&format!("{RULES}{rules}"), contracts));
        let SignedFileOutcome::Rejected { detail, .. } = desk.receive(&file) else {
            panic!("{what}")
        };
        assert!(detail.starts_with(what), "{detail}");
    }
}

#[test]
fn a_token_of_another_policy_is_refused() {
    let desk = Desk::new();
    let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.read");
    let token = block_on(desk.world.kernel.grant(caller, asked.call())).token.unwrap();
    replace(&desk, wider());
    let done = block_on(desk.world.kernel.invoke(caller, &token, &asked.arguments, asked.mode));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::PolicyChanged));
}

/// A granted push, in a desk.
fn granted() -> (Desk, ApprovalRequestId) {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    (desk, id)
}

#[test]
fn a_label_that_was_approved_is_no_obstacle() {
    let desk = Desk::new();
    assert!(succeeded(&desk.call(&Asked::new("fs.read"))));
    let open = desk.held(&push());
    assert!(open.request.holds.iter().any(|h| h.reason == ReasonCode::UntrustedInfluence));
    desk.grant(&open.request.id, "alice", ALICE);
    assert!(succeeded(&desk.push()), "the approver saw where the run had been");
}

/// An agent that waits for a person goes on with other work, before and after the answer.
#[test]
fn what_an_untrusted_run_reads_while_it_waits_ends_no_approval() {
    let desk = Desk::new();
    let read = || assert!(succeeded(&desk.call(&Asked::new("fs.read"))));
    read();
    let open = desk.held(&push());
    read();
    let again = desk.push();
    assert_eq!(again.request, Some(open.request.id.clone()), "the same request waits");
    (0..20).for_each(|_| read());
    desk.grant(&open.request.id, "alice", ALICE);
    read();
    assert!(succeeded(&desk.push()));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "once");
}

#[test]
fn a_request_of_another_tenant_has_a_successor_too() {
    let named = format!("{RULES}\n[principals.ana]\nroles = [\"reader\", \"writer\"]\n");
    let tenant = Tenant::parse("acme").unwrap();
    let world = World::of_tenant(&tenant, memory(), documents(&named, ""));
    world.tool("git.push", Effects::WRITE_OPEN);
    let who = Principal { tenant, ..ana() };
    let held = world.call(&world.run(), &who, &push()).request.unwrap();
    block_on(world.kernel.replace_policy(documents(&format!("{named}{OTHER_RULE}"), "")));
    let phase = world.kernel.approval_phase(&held);
    assert!(matches!(phase, Some(Phase::Superseded { by: Some(_) })), "{phase:?}");
}

#[test]
fn a_capability_that_changed_after_the_hold_is_refused() {
    let (desk, id) = granted();
    let mut changed = draft("git.push", Effects::WRITE_OPEN);
    changed.description = "pushes, and mails the author".to_owned();
    let driver = weaver_agent_kernel::FnDriver::inline(|_| panic!("executed"));
    let parts = vec![(changed.build().unwrap(), Arc::new(driver) as Arc<_>)];
    desk.world.kernel.registry().replace_prefix("git.", parts).unwrap();
    let done = desk.push();
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::ContractChanged), "{done:?}");
    assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Revoked { .. })));
    assert_eq!(desk.push().decision.verdict(), Verdict::Deny, "nobody approved the change");
    let registry = desk.world.kernel.registry();
    let live = registry.get(&CapabilityId::parse("git.push").unwrap()).unwrap();
    registry.approve_version(live.capability().id(), live.capability().fingerprint()).unwrap();
    let again = desk.push();
    assert_eq!(again.decision.verdict(), Verdict::Hold, "it can be asked again");
    assert_ne!(again.request, Some(id));
}

#[test]
fn what_a_trusted_run_reads_while_it_waits_ends_no_request_and_no_approval() {
    let desk = Desk::new();
    let old = desk.held(&push()).request.id;
    assert!(succeeded(&desk.call(&Asked::new("fs.read"))));
    let again = desk.push();
    assert_eq!(again.request, Some(old.clone()), "the same request waits");
    // Another call is decided under what the run has read by now.
    let other = desk.held(&push().with(json!({"remote": "other"}))).request;
    assert!(other.holds.iter().any(|held| held.reason == ReasonCode::UntrustedInfluence));
    desk.grant(&old, "alice", ALICE);
    assert!(succeeded(&desk.call(&Asked::new("fs.read"))));
    assert!(succeeded(&desk.push()), "the arguments are those that the person saw");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "once");
}

#[test]
fn a_question_is_answered_before_a_hold_is_opened() {
    let rules = "[[rules]]\nname = \"why\"\nmatch = {}\nrequire = { justification = { min_chars = 15 } }\neffect = \"allow\"\n";
    let desk = Desk::under(memory(), documents(rules, ""), Ports::default());
    let done = desk.push();
    assert_eq!((done.decision.verdict(), done.request), (Verdict::Hold, None));
    let asked = push().justified();
    assert!(desk.call(&asked).request.is_some());
    let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
    let call = weaver_agent_kernel::Call { arguments: None, ..asked.call() };
    let grant = block_on(desk.world.kernel.grant(caller, call));
    let wanted = |c: &weaver_types::CheckResult| c.reason == ReasonCode::ArgumentsRequired;
    assert!(grant.decision.check_results().iter().any(wanted));
    assert_eq!(grant.request, None);
    let _ = json!({});
}

#[test]
fn what_is_decided_again_is_the_same_call_in_the_same_mode_and_by_the_same_agent() {
    use weaver_types::{AgentId, Principal, SafetyMode};
    let strict = "[[rules]]\nname = \"strict\"\neffect = \"require_approval\"\n\
        match = { capability = \"fs.read\", mode = \"STRICT\" }\n";
    let more = "[[rules]]\nname = \"no\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n";
    let named = "[principals.\"ana\"]\nroles = [\"reader\", \"writer\"]\n";
    let rules = format!("{strict}{RULES}{named}");
    let mut desk = Desk::under(memory(), documents(&rules, ""), Ports::default());
    desk.run.settings.safety_mode = SafetyMode::Strict;
    let agent = AgentId::parse("worker").unwrap();
    desk.who = Principal { agent: Some(agent.clone()), ..desk.who };
    let read = Asked::new("fs.read");
    let id = desk.held(&read).request.id;
    replace(&desk, documents(&format!("{rules}{more}"), ""));
    let next = desk.world.kernel.approval_successor(&id).unwrap();
    let fresh = desk.world.kernel.pending_approval(&next).unwrap();
    assert_eq!(fresh.request.agent, Some(agent));
    assert_eq!(desk.call(&read).request.as_ref(), Some(&next), "the next call waits for that one");
}

#[test]
fn a_request_does_not_end_with_the_budget_that_a_run_has_without_its_own() {
    let desk = Desk::new();
    let most = weaver_types::RunBudget::default().max_tool_calls.unwrap_or(0);
    for _ in 0..=most {
        assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    }
    let id = desk.held(&push()).request.id;
    replace(&desk, wider());
    assert!(desk.world.kernel.approval_successor(&id).is_some());
}
