//! Held calls: requested, answered with a signed file, and made once. This file holds what the
//! tests about approvals share, and the life of a request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Caller, Invocation, PendingApproval, Ports, SignedFileOutcome, block_on,
};
use weaver_policy::approval::{Phase, Resolution, ResolutionVerdict};
use weaver_policy::{DocumentSource, DocumentSources, PolicySet};
use weaver_types::ledger::{Ledger, Namespace, RecordKey};
use weaver_types::signature::SigningKey;
use weaver_types::{
    ApprovalRequestId, CapabilityDraft, Clock, Confidentiality, Effects, Integrity, Label,
    ManualClock, Principal, ReasonCode, RunContext, Tenant, Timestamp, Verdict,
};

use crate::support::{
    Asked, START, World, ana, answer, draft, kinds, log, memory, principal, sqlite, succeeded,
};

/// Seeds of the keys in the keys document.
pub(crate) const ALICE: u8 = 1;
pub(crate) const BOB: u8 = 2;
pub(crate) const LOW: u8 = 3;
pub(crate) const ANA: u8 = 4;
pub(crate) const OPERATOR: u8 = 5;
pub(crate) const STRANGER: u8 = 99;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Everything is allowed; what pays needs two people of finance, and the floor holds the rest of
/// what leaves the house.
pub(crate) const RULES: &str = r#"
[[rules]]
name = "all"
match = {}
effect = "allow"

[[rules]]
name = "two"
match = { capability = "pay.*" }
effect = "require_approval"
authority = { quorum = 2, scopes = ["finance"] }
"#;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

fn approver(name: &str, seed: u8, trust: u16, more: &str) -> String {
    let key = key(seed).public();
    format!(
        "[approvers.{name}]\nkey = \"{key}\"\ntrust = {trust}\nclearance = \"restricted\"\n{more}\n"
    )
}

fn keys() -> String {
    let finance = "scopes = [\"finance\"]";
    [
        approver("alice", ALICE, 900, finance),
        approver("bob", BOB, 900, finance),
        approver("low", LOW, 100, ""),
        approver("ana", ANA, 1000, finance),
        approver("operator", OPERATOR, 0, "operator = true"),
    ]
    .concat()
}

/// A policy set of these texts, with the keys document of these tests.
pub(crate) fn documents(rules: &str, contracts: &str) -> Arc<PolicySet> {
    documents_with(rules, contracts, &keys())
}

/// The same rules under a keys document that names another key for alice.
pub(crate) fn documents_without_alice() -> Arc<PolicySet> {
    let alice = key(ALICE).public().to_string();
    documents_with(RULES, "", &keys().replace(&alice, &key(STRANGER).public().to_string()))
}

fn documents_with(rules: &str, contracts: &str, keys: &str) -> Arc<PolicySet> {
    let head = |kind: &str| format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n");
    let texts = [head("policy") + rules, head("contracts") + contracts, head("keys") + keys];
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", &texts[0]),
        contracts: DocumentSource::unsigned("contracts.toml", &texts[1]),
        keys: DocumentSource::unsigned("keys.toml", &texts[2]),
    };
    let set = PolicySet::load_unsigned_development(&sources, START);
    Arc::new(set.unwrap_or_else(|error| panic!("{error}")))
}

/// A host with a tool that pushes, one that pays and one that reads, and somebody who calls.
pub(crate) struct Desk {
    pub(crate) world: World,
    pub(crate) run: RunContext,
    pub(crate) who: Principal,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::on(memory(), Ports::default())
    }

    pub(crate) fn on(ledger: Arc<dyn Ledger>, ports: Ports) -> Self {
        Self::under(ledger, documents(RULES, ""), ports)
    }

    pub(crate) fn under(ledger: Arc<dyn Ledger>, policy: Arc<PolicySet>, ports: Ports) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let world = tools(World::with(ledger, clock, policy, ports));
        Self { run: world.run(), who: ana(), world }
    }

    /// The same process started again on the same ledger, an instant later.
    pub(crate) fn restarted(self, policy: Arc<PolicySet>) -> Self {
        let (run, who) = (self.run, self.who);
        let World { kernel, ledger, clock, executed } = self.world;
        drop(kernel);
        let mut world = World::with(ledger, clock, policy, Ports::default());
        world.executed = executed;
        Self { world: tools(world), run, who }
    }

    pub(crate) fn call(&self, asked: &Asked) -> Invocation {
        self.world.call(&self.run, &self.who, asked)
    }

    pub(crate) fn push(&self) -> Invocation {
        self.call(&push())
    }

    /// The request of a call that is held.
    pub(crate) fn held(&self, asked: &Asked) -> PendingApproval {
        let done = self.call(asked);
        assert_eq!(done.decision.verdict(), Verdict::Hold, "{done:?}");
        self.world.kernel.pending_approval(&done.request.unwrap()).unwrap()
    }

    pub(crate) fn receive(&self, bytes: &[u8]) -> SignedFileOutcome {
        block_on(self.world.kernel.receive_signed_file(bytes))
    }

    pub(crate) fn grant(&self, id: &ApprovalRequestId, name: &str, seed: u8) -> SignedFileOutcome {
        self.receive(&self.say(id, ResolutionVerdict::Granted, name, seed))
    }

    pub(crate) fn deny(&self, id: &ApprovalRequestId, name: &str, seed: u8) -> SignedFileOutcome {
        self.receive(&self.say(id, ResolutionVerdict::Denied, name, seed))
    }

    /// A signed answer to an open request, dated now.
    pub(crate) fn say(
        &self,
        id: &ApprovalRequestId,
        verdict: ResolutionVerdict,
        name: &str,
        seed: u8,
    ) -> Vec<u8> {
        let open = self.world.kernel.pending_approval(id).unwrap();
        answered(&open, verdict, name, seed, self.world.clock.now())
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        kinds(self.world.ledger.as_ref())
    }

    pub(crate) fn record(&self, id: &ApprovalRequestId) -> Option<Value> {
        let key = RecordKey::new(Tenant::default(), Namespace::Hold, id.as_str());
        let record = self.world.ledger.read(&key).unwrap()?;
        Some(serde_json::from_slice(&record.value).unwrap())
    }
}

fn tools(world: World) -> World {
    for id in ["git.push", "pay.send"] {
        let output_label = Label::new(Confidentiality::Public, Integrity::Trusted);
        world.register(CapabilityDraft { output_label, ..draft(id, Effects::WRITE_OPEN) });
    }
    world.tool("fs.read", Effects::READ_LOCAL).tool("fs.write", Effects::WRITE_LOCAL);
    world
}

pub(crate) fn push() -> Asked {
    Asked::new("git.push").with(json!({ "remote": "origin", "force": true }))
}

pub(crate) fn answered(
    open: &PendingApproval,
    verdict: ResolutionVerdict,
    name: &str,
    seed: u8,
    at: Timestamp,
) -> Vec<u8> {
    let said = Resolution::new(&open.request, verdict, name, at).unwrap();
    said.sign(&key(seed)).unwrap().to_json().unwrap()
}

pub(crate) fn rejected(received: SignedFileOutcome) -> &'static str {
    match received {
        SignedFileOutcome::Rejected { code, .. } => code,
        other => panic!("not rejected: {other:?}"),
    }
}

/// Cases: APR-06.
#[test]
fn a_held_call_is_refused_at_once_and_its_request_lives_on() {
    let desk = Desk::new();
    let done = desk.push();
    assert_eq!(answer(&done), (Verdict::Hold, ReasonCode::FloorHold));
    let id = done.request.clone().unwrap();
    assert_eq!(desk.kinds(), ["run.started", "approval.requested", "call.refused"]);
    let events = log(desk.world.ledger.as_ref());
    assert_eq!(events[2].payload["request"], id.as_str());
    assert_eq!(events[1].payload["deadline"], START.after(15 * MINUTE).micros());
    let open = desk.world.kernel.pending_approval(&id).unwrap();
    assert_eq!((open.phase, open.required_approvers), (Phase::Requested, 1));
    assert_eq!(open.request.arguments, json!({ "remote": "origin", "force": true }));
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn a_granted_call_is_made_once() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    assert_eq!(desk.push().request.as_ref(), Some(&id), "the same call is the same request");
    assert_eq!(desk.grant(&id, "alice", ALICE), SignedFileOutcome::Granted { request: id.clone() });
    assert_eq!(desk.world.executed(), 0, "a grant makes no call");
    let done = desk.push();
    assert!(succeeded(&done), "{done:?}");
    assert_eq!((desk.world.executed(), done.request.as_ref()), (1, Some(&id)));
    assert!(done.decision.check_results().iter().any(|c| c.reason == ReasonCode::ApprovalGranted));
    let intent = log(desk.world.ledger.as_ref()).into_iter().find(|e| e.kind == "call.intent");
    let released = &intent.unwrap().payload["released_by"];
    assert_eq!(released, &json!({ "request": id, "people": ["alice"] }));

    let again = desk.push();
    assert_eq!(again.decision.verdict(), Verdict::Hold);
    assert_ne!(again.request.unwrap(), id, "a call more is a request more");
    assert_eq!(desk.world.executed(), 1);
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Consumed));
}

#[test]
fn other_arguments_another_run_and_another_principal_are_other_calls() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let mut others = vec![
        desk.call(&Asked::new("git.push").with(json!({ "remote": "origin", "force": false }))),
        desk.world.call(&desk.world.run(), &desk.who, &push()),
        desk.world.call(&desk.run, &principal("bob", &["writer"]), &push()),
    ];
    let agent = weaver_types::AgentId::parse("other").unwrap();
    let for_agent = Principal { agent: Some(agent), ..desk.who.clone() };
    others.push(desk.world.call(&desk.run, &for_agent, &push()));
    for other in others {
        assert_eq!(other.decision.verdict(), Verdict::Hold);
        assert_ne!(other.request.unwrap(), id);
    }
    assert_eq!(desk.world.executed(), 0);
    assert!(succeeded(&desk.push()));
}

/// Cases: APR-22.
#[test]
fn a_granted_call_survives_a_restart_and_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let policy = documents(RULES, "");
    for granted_first in [true, false] {
        let path = folder.path().join(format!("{granted_first}.db"));
        let desk = Desk::on(sqlite(&path), Ports::default());
        let open = desk.held(&push());
        let file = desk.say(&open.request.id, ResolutionVerdict::Granted, "alice", ALICE);
        if granted_first {
            desk.receive(&file);
        }
        let desk = desk.restarted(Arc::clone(&policy));
        assert_eq!(
            desk.world.kernel.pending_approval(&open.request.id).unwrap().request,
            open.request
        );
        if !granted_first {
            desk.receive(&file);
        }
        assert!(succeeded(&desk.push()));
        let desk = desk.restarted(Arc::clone(&policy));
        assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
        assert_eq!(desk.world.executed(), 1);
        assert_eq!(desk.world.kernel.approval_phase(&open.request.id), Some(Phase::Consumed));
    }
}

/// Cases: W12.
#[test]
fn of_64_resumes_at_once_one_executes() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let desk = Desk::on(ledger, Ports::default());
        let id = desk.held(&push()).request.id;
        desk.grant(&id, "alice", ALICE);
        let done = crate::races::together(|_| desk.push());
        assert_eq!(desk.world.executed(), 1);
        assert_eq!(done.iter().filter(|done| succeeded(done)).count(), 1);
        for lost in done.iter().filter(|done| !succeeded(done)) {
            assert!(!lost.decision.is_allowed());
        }
        let intents = desk.kinds().iter().filter(|kind| *kind == "call.intent").count();
        assert_eq!(intents, 1);
    }
}

#[test]
fn of_64_first_calls_at_once_one_opens_a_request() {
    let desk = Desk::new();
    let done = crate::races::together(|_| desk.push().request.unwrap());
    assert!(done.iter().all(|id| *id == done[0]));
    let opened = desk.kinds().iter().filter(|kind| *kind == "approval.requested").count();
    assert_eq!((opened, desk.world.kernel.pending_approvals().len()), (1, 1));
}

/// Cases: APR-23.
#[test]
fn a_quorum_counts_people() {
    let desk = Desk::new();
    let pay = Asked::new("pay.send").with(json!({ "amount": 7 }));
    let open = desk.held(&pay);
    let id = open.request.id.clone();
    assert_eq!(open.required_approvers, 2);
    assert_eq!(
        desk.grant(&id, "alice", ALICE),
        SignedFileOutcome::Endorsed { request: id.clone() }
    );
    assert_eq!(desk.call(&pay).decision.verdict(), Verdict::Hold);
    assert_eq!(rejected(desk.grant(&id, "alice", ALICE)), "replayed");
    desk.world.clock.advance(Duration::from_secs(1));
    assert_eq!(rejected(desk.grant(&id, "alice", ALICE)), "replayed");
    assert_eq!(desk.world.kernel.pending_approval(&id).unwrap().agreed_by, ["alice"]);
    assert_eq!(desk.grant(&id, "bob", BOB), SignedFileOutcome::Granted { request: id });
    assert!(succeeded(&desk.call(&pay)));
    assert!(desk.kinds().contains(&"approval.endorsed".to_owned()));

    let other = Asked::new("pay.send").with(json!({ "amount": 8 }));
    let id = desk.held(&other).request.id;
    desk.grant(&id, "alice", ALICE);
    assert_eq!(desk.deny(&id, "bob", BOB), SignedFileOutcome::Denied { request: id.clone() });
    let refused = desk.call(&other);
    assert_eq!(answer(&refused), (Verdict::Deny, ReasonCode::ApprovalDenied));
}

#[test]
fn what_was_denied_is_not_asked_again_until_its_time_is_over() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.deny(&id, "alice", ALICE);
    let refused = desk.push();
    assert_eq!(answer(&refused), (Verdict::Deny, ReasonCode::ApprovalDenied));
    assert_eq!(refused.request, None);
    let other = Asked::new("git.push").with(json!({ "remote": "fork" }));
    assert_eq!(desk.call(&other).decision.verdict(), Verdict::Hold, "another call may be asked");
    // Also across a restart, and with the arguments gone.
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(answer(&desk.push()), (Verdict::Deny, ReasonCode::ApprovalDenied));
    desk.world.clock.advance(15 * MINUTE);
    let again = desk.push();
    assert_eq!(again.decision.verdict(), Verdict::Hold);
    assert_ne!(again.request.unwrap(), id);
}

/// Cases: APR-07.
#[test]
fn nobody_answers_and_the_request_ends() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let kernel = &desk.world.kernel;
    let phase = block_on(kernel.wait_resolution(&id, Duration::from_millis(20)));
    assert_eq!(phase, Some(Phase::Requested), "the call stops waiting, the request lives on");
    desk.world.clock.advance(15 * MINUTE - Duration::from_secs(1));
    assert_eq!(block_on(kernel.sweep()), 0);
    desk.world.clock.advance(Duration::from_secs(1));
    assert_eq!(block_on(kernel.sweep()), 1);
    assert_eq!(
        (kernel.approval_phase(&id), kernel.pending_approvals().len()),
        (Some(Phase::Expired), 0)
    );
    assert!(desk.kinds().contains(&"approval.expired".to_owned()));
    assert_eq!(desk.world.executed(), 0);
    assert_ne!(desk.push().request.unwrap(), id);
}

#[test]
fn a_request_that_is_over_ends_with_the_next_call_too() {
    let desk = Desk::new();
    let open = desk.held(&push());
    desk.grant(&open.request.id, "alice", ALICE);
    desk.world.clock.advance(15 * MINUTE);
    let late = desk.push();
    assert_eq!(late.decision.verdict(), Verdict::Hold, "also when it was granted");
    assert_ne!(late.request.unwrap(), open.request.id);
    assert_eq!(desk.world.kernel.approval_phase(&open.request.id), Some(Phase::Expired));
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn whoever_waits_is_woken_by_the_answer() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let file = desk.say(&id, ResolutionVerdict::Granted, "alice", ALICE);
    let phases: Vec<_> = std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let hour = 60 * MINUTE;
                    block_on(desk.world.kernel.wait_resolution(&id, hour))
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(20));
        desk.receive(&file);
        waiting.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(phases.iter().all(|phase| *phase == Some(Phase::Granted)), "{phases:?}");
    let unknown = ApprovalRequestId::parse("apr_unknown").unwrap();
    assert_eq!(block_on(desk.world.kernel.wait_resolution(&unknown, MINUTE)), None);
}

/// Cases: APR-03.
#[test]
fn without_an_answer_nothing_is_made_and_nothing_is_minted() {
    let desk = Desk::new();
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let asked = push();
    let grant = block_on(desk.world.kernel.grant(caller, asked.call()));
    assert!(grant.token.is_none() && grant.request.is_some());
    assert_eq!(rejected(desk.receive(b"{}")), "malformed");
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn the_arguments_are_kept_while_it_is_open_and_gone_afterwards() {
    let desk = Desk::new();
    let asked = Asked::new("git.push").with(json!({ "note": "password=hunter2!", "n": 1 }));
    let id = desk.held(&asked).request.id;
    let record = desk.record(&id).unwrap();
    assert_eq!(record["hold"]["open"]["request"]["arguments"]["note"], "password=hunter2!");
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.call(&asked)));
    let record = desk.record(&id).unwrap();
    assert!(record["hold"]["open"].is_null() && !record.to_string().contains("hunter2"));
    assert_eq!(record["hold"]["ended"]["phase"]["phase"], "consumed");
    let log = log(desk.world.ledger.as_ref());
    assert!(log.iter().all(|event| !event.payload.to_string().contains("hunter2")));
    let opened = log.iter().find(|event| event.kind == "approval.requested").unwrap();
    assert!(opened.payload["arguments"]["commit"].is_string());
}

#[test]
fn a_dry_run_opens_nothing_and_uses_nothing_up() {
    let desk = Desk::new();
    let mut dry = desk.run.clone();
    dry.dry_run = true;
    let done = desk.world.call(&dry, &desk.who, &push());
    assert_eq!((done.decision.verdict(), done.request), (Verdict::Hold, None));
    assert_eq!(desk.kinds(), Vec::<String>::new());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let done = desk.world.call(&dry, &desk.who, &push());
    assert!(done.decision.is_allowed() && done.result.is_none());
    assert!(succeeded(&desk.push()), "the grant is still there");
}
