//! The short ways of a host: a kernel from two parts, a call from an id, an answer from a function.

use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{
    ApprovalAnswer, Call, Caller, Kernel, Ports, Registry, Settings, TimedApprovalResolver,
    block_on,
};
use weaver_policy::{Contracts, Effect, Policy, PolicySet, Rule};
use weaver_types::{
    CapabilityId, CapabilityRequest, Effects, Impact, RawResult, ReasonCode, ResponseMode,
    RunSettings, ToolSpec, Verdict,
};

use crate::support::{ana, answer, open_policy};

fn registry() -> Registry {
    let registry = Registry::new();
    for (id, effects) in [("docs.read", Effects::READ_LOCAL), ("mail.send", Effects::WRITE_OPEN)] {
        let spec = ToolSpec::new(id, id).with_effects(effects);
        registry.register_fn(spec.build().unwrap(), |_| Ok(RawResult::text("done"))).unwrap();
    }
    registry
}

fn policy() -> PolicySet {
    PolicySet::from_code(open_policy(), Contracts::new("none")).unwrap()
}

/// A kernel that asks this function, and has so many milliseconds for it.
fn asking(
    timeout_ms: u64,
    f: impl Fn(&weaver_policy::approval::ApprovalRequest) -> ApprovalAnswer + Send + Sync + 'static,
) -> Kernel {
    let resolver = TimedApprovalResolver::blocking(Duration::from_millis(timeout_ms), f);
    let ports = Ports { resolver: Some(resolver), ..Ports::default() };
    Kernel::builder(registry(), policy()).with_ports(ports).open().unwrap()
}

/// Verdict and reason of a letter that is sent.
fn send(kernel: &Kernel) -> (Verdict, ReasonCode) {
    let run = kernel.start_run(RunSettings::default()).unwrap();
    let caller = Caller { run: &run, principal: &ana() };
    answer(&block_on(kernel.call(caller, "mail.send", json!({}))))
}

#[test]
fn a_kernel_of_two_parts_calls_by_id() {
    let kernel = Kernel::in_memory(registry(), policy()).unwrap();
    let run = kernel.start_run(RunSettings::default()).unwrap();
    let caller = Caller { run: &run, principal: &ana() };
    let done = block_on(kernel.call(caller, "docs.read", json!({})));
    assert!(done.decision.is_allowed());
    let frame = done.frame().unwrap();
    assert!(serde_json::to_string(frame).unwrap().contains("done"));
    assert_eq!(kernel.ledger().head().unwrap().size, 3);
    // What the short way gives is what the exact one gives.
    let request = CapabilityRequest::new(CapabilityId::parse("docs.read").unwrap(), "");
    let mode = ResponseMode::Auto;
    let call = Call { request: &request, arguments: Some(&json!({})), mode };
    let exact = block_on(kernel.execute(caller, call));
    assert_eq!(exact.decision, done.decision);
    assert_eq!(exact.frame().unwrap().content, frame.content);
}

#[test]
fn an_id_that_none_can_have_is_refused_like_an_unknown_one() {
    let kernel = Kernel::in_memory(registry(), policy()).unwrap();
    let run = kernel.start_run(RunSettings::default()).unwrap();
    let caller = Caller { run: &run, principal: &ana() };
    let unknown = block_on(kernel.call(caller, "docs.write", json!({})));
    let size = kernel.ledger().head().unwrap().size;
    for id in ["", "no good\nid", &"x".repeat(10_000)] {
        let done = block_on(kernel.call(caller, id, json!({})));
        assert_eq!(done.decision, unknown.decision, "{id:?}");
        assert!(done.frame().is_none());
    }
    assert_eq!(unknown.decision.primary_reason(), ReasonCode::NotFound);
    assert_eq!(kernel.ledger().head().unwrap().size, size + 3, "each refusal is recorded");
}

#[test]
fn what_a_function_released_says_so_first() {
    let kernel = asking(60_000, |request| {
        // One person is asked for, and the request says so.
        assert_eq!(request.authority.quorum, 1);
        assert!(request.holds.iter().all(|held| held.authority.quorum == 1));
        assert!(request.render().unwrap().contains("mail.send"));
        ApprovalAnswer::granted_by(["ben"])
    });
    assert_eq!(send(&kernel), (Verdict::Allow, ReasonCode::ApprovalGranted));
}

#[test]
fn who_asks_cannot_answer_and_no_answer_leaves_the_request_open() {
    let kernel = asking(60_000, |_| ApprovalAnswer::granted_by(["ana"]));
    assert_eq!(send(&kernel), (Verdict::Deny, ReasonCode::ApprovalRevoked));
    let kernel = asking(60_000, |_| ApprovalAnswer::NoAnswer);
    assert_eq!(send(&kernel).0, Verdict::Hold);
    assert_eq!(kernel.open_requests().len(), 1);
}

#[test]
fn a_function_that_is_late_or_panics_ends_the_request() {
    let kernel = asking(20, |_| {
        std::thread::sleep(Duration::from_millis(400));
        ApprovalAnswer::granted_by(["ben"])
    });
    assert_eq!(send(&kernel), (Verdict::Deny, ReasonCode::ApprovalTimeout));
    let kernel = asking(60_000, |_| panic!("the prompt broke"));
    assert_eq!(send(&kernel), (Verdict::Deny, ReasonCode::InternalError));
}

#[test]
fn kernels_of_one_process_share_no_keys() {
    let kernels = [0, 1].map(|_| Kernel::in_memory(registry(), policy()).unwrap());
    let run = kernels[0].start_run(RunSettings::default()).unwrap();
    let caller = Caller { run: &run, principal: &ana() };
    let request = CapabilityRequest::new(CapabilityId::parse("docs.read").unwrap(), "");
    let (arguments, mode) = (json!({}), ResponseMode::Auto);
    let call = Call { request: &request, arguments: Some(&arguments), mode };
    let token = block_on(kernels[0].grant(caller, call)).token.unwrap();
    let other = block_on(kernels[1].invoke(caller, &token, &arguments, mode));
    assert_eq!(other.decision.primary_reason(), ReasonCode::TokenInvalid);
    assert!(block_on(kernels[0].invoke(caller, &token, &arguments, mode)).decision.is_allowed());
}

#[test]
fn what_host_functions_bring_is_untrusted_unless_the_capability_says_otherwise() {
    // On a sink that only the flow can hold.
    let rules = Policy::new("open").with_rule(Rule::new("all", Effect::Allow));
    let policy = PolicySet::from_code(rules, Contracts::new("none")).unwrap();
    let settings = Settings { human_channel: false, ..Settings::default() };
    let kernel = Kernel::builder(registry(), policy).with_settings(settings).open().unwrap();
    let run = kernel.start_run(RunSettings::default()).unwrap();
    let caller = Caller { run: &run, principal: &ana() };
    let held = |kernel: &Kernel| {
        let done = block_on(kernel.call(caller, "mail.send", json!({})));
        let said = done.decision.check_results().iter();
        said.filter(|one| one.reason == ReasonCode::UntrustedInfluence).count()
    };
    assert_eq!(held(&kernel), 0);
    assert!(block_on(kernel.call(caller, "docs.read", json!({}))).decision.is_allowed());
    assert_eq!(held(&kernel), 1, "a result whose label nobody declared taints the run");
}

#[test]
fn every_pair_of_impact_and_world_has_a_name() {
    let named = [
        Effects::READ_LOCAL,
        Effects::READ_OPEN,
        Effects::WRITE_LOCAL,
        Effects::WRITE_OPEN,
        Effects::DESTROY_LOCAL,
        Effects::DESTROY_OPEN,
    ];
    let pairs: std::collections::BTreeSet<(Impact, weaver_types::World)> =
        named.iter().map(|effects| (effects.impact, effects.world)).collect();
    assert_eq!(pairs.len(), 6);
    assert_eq!(Effects::UNDECLARED, Effects::DESTROY_OPEN);
}
