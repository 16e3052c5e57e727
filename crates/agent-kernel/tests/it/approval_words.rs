//! The operator's words: the clock, the end of a run, approvals taken back.

use std::sync::Arc;
use std::time::Duration;

use weaver_agent_kernel::{Ports, RevocationSubject, SignedFileOutcome, block_on};
use weaver_policy::approval::{APPROVAL_VERSION, Nonce, OperatorAction, OperatorStatement, Phase};
use weaver_types::ledger::{Ledger, LedgerError};
use weaver_types::{
    ApprovalRequestId, Clock, EventKind, OsRandom, PrincipalId, ReasonCode, RunId, Tenant,
    Timestamp, Verdict,
};

use crate::approvals::{ALICE, Desk, MINUTE, OPERATOR, RULES, documents, key, push, rejected};
use crate::support::{Asked, Faulty, START, World, answer, memory, succeeded};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The operator's word, signed now by the clock of the wall.
pub(crate) fn word(desk: &Desk, word: OperatorAction) -> Vec<u8> {
    said(desk, word, "operator", OPERATOR)
}

fn said(desk: &Desk, word: OperatorAction, approver: &str, seed: u8) -> Vec<u8> {
    let word = OperatorStatement {
        v: APPROVAL_VERSION,
        action: word,
        log: desk.world.ledger.head().unwrap().log,
        approver: approver.to_owned(),
        at: desk.world.clock.now(),
        nonce: Nonce::random(&OsRandom).unwrap(),
    };
    word.sign(&key(seed)).unwrap().to_json().unwrap()
}

#[test]
fn a_statement_counts_once_for_all_tenants_of_a_log() {
    let desk = Desk::new();
    let tenant = Tenant::parse("other").unwrap();
    let ledger = Arc::clone(&desk.world.ledger);
    let other = World::of_tenant(&tenant, ledger, documents(RULES, ""));
    let until = desk.world.clock.now().after(DAY);
    let file = word(&desk, OperatorAction::ConfirmClock { until });
    assert!(matches!(desk.receive(&file), SignedFileOutcome::ClockConfirmed { .. }));
    assert_eq!(
        rejected(block_on(other.kernel.receive_signed_file(&file))),
        rejected(desk.receive(&file))
    );
}

fn write(desk: &Desk) -> (Verdict, ReasonCode) {
    answer(&desk.call(&Asked::new("fs.write")))
}

#[test]
fn a_clock_that_leaps_holds_effects_until_the_operator_confirms_it() {
    let desk = Desk::new();
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    desk.world.clock.set(START.after(DAY * 2));
    assert_eq!(write(&desk), (Verdict::Hold, ReasonCode::ClockJump));
    assert!(succeeded(&desk.call(&Asked::new("fs.read"))), "reads go on");
    let pushed = desk.push();
    assert_eq!((pushed.decision.verdict(), pushed.request), (Verdict::Hold, None));
    let confirm = || OperatorAction::ConfirmClock { until: START.after(DAY * 3) };
    assert_eq!(rejected(desk.receive(&said(&desk, confirm(), "alice", ALICE))), "not_operator");
    assert_eq!(write(&desk).1, ReasonCode::ClockJump);
    let until = START.after(DAY * 3);
    let file = word(&desk, confirm());
    assert_eq!(desk.receive(&file), SignedFileOutcome::ClockConfirmed { until });
    assert_eq!(rejected(desk.receive(&file)), "replayed");
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    assert!(desk.kinds().contains(&"clock.confirmed".to_owned()));
    desk.world.clock.set(START.after(DAY * 9));
    assert_eq!(write(&desk).1, ReasonCode::ClockJump, "the next leap is another");
    desk.world.clock.set(START.after(DAY * 2 + MINUTE));
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "set right, nothing is left of it");
}

#[test]
fn a_clock_that_leapt_while_closed_holds_effects_too() {
    let desk = Desk::new();
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    desk.world.clock.set(START.after(DAY * 29));
    let desk = desk.restarted(documents(RULES, ""));
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "a month may pass");
    desk.world.clock.set(START.after(DAY * 70));
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(write(&desk).1, ReasonCode::ClockJump);
    desk.receive(&word(&desk, OperatorAction::ConfirmClock { until: START.after(DAY * 71) }));
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    let desk = desk.restarted(documents(RULES, ""));
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "the confirmation is kept");
}

#[test]
fn a_later_confirmation_of_an_earlier_time_takes_nothing_back() {
    let desk = Desk::new();
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    desk.world.clock.set(START.after(DAY * 70));
    let desk = desk.restarted(documents(RULES, ""));
    for days in [110, 71] {
        let until = START.after(DAY * days);
        desk.receive(&word(&desk, OperatorAction::ConfirmClock { until }));
    }
    // More than a month after the last event, and within what was confirmed first.
    desk.world.clock.set(START.after(DAY * 105));
    let desk = desk.restarted(documents(RULES, ""));
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "the later time counts");
}

/// Cases: W12.
#[test]
fn a_grant_is_taken_back() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let revoke = OperatorAction::RevokeRequest { request: id.clone() };
    let by_alice = said(&desk, revoke.clone(), "alice", ALICE);
    assert_eq!(rejected(desk.receive(&by_alice)), "not_operator");
    assert_eq!(
        desk.receive(&word(&desk, revoke.clone())),
        SignedFileOutcome::RequestRevoked { request: id.clone() }
    );
    let phase = desk.world.kernel.approval_phase(&id);
    assert_eq!(phase, Some(Phase::Revoked { by: "operator".to_owned() }));
    let again = desk.push();
    assert_eq!(again.decision.verdict(), Verdict::Hold);
    assert_ne!(again.request.unwrap(), id);
    assert_eq!(rejected(desk.receive(&word(&desk, revoke))), "already_resolved");
    let nobody =
        OperatorAction::RevokeRequest { request: ApprovalRequestId::parse("apr_none").unwrap() };
    assert_eq!(rejected(desk.receive(&word(&desk, nobody))), "wrong_request");
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn a_word_that_could_not_be_carried_out_can_be_said_again() {
    let ledger = Faulty::new(memory());
    let desk = Desk::on(Arc::clone(&ledger) as Arc<dyn Ledger>, Ports::default());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let file = word(&desk, OperatorAction::RevokeRequest { request: id.clone() });
    ledger.fail(|batch| {
        let ends = batch.events.iter().any(|event| event.kind == EventKind::ApprovalRevoked);
        ends.then(|| LedgerError::Busy { path: "ledger".to_owned(), waited_ms: 5_000 })
    });
    assert!(matches!(desk.receive(&file), SignedFileOutcome::Failed { .. }));
    ledger.heal();
    assert_eq!(desk.receive(&file), SignedFileOutcome::RequestRevoked { request: id });
    assert_eq!(rejected(desk.receive(&file)), "replayed");
    assert_eq!((desk.push().decision.verdict(), desk.world.executed()), (Verdict::Hold, 0));
}

#[test]
fn the_end_of_a_run_voids_what_was_granted_in_it() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.read");
    let token = block_on(desk.world.kernel.grant(caller, asked.call())).token.unwrap();
    let run = desk.run.run_id.clone();
    let received = desk.receive(&word(&desk, OperatorAction::EndRun { run: run.clone() }));
    assert_eq!(received, SignedFileOutcome::RunEnded { run });
    assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Revoked { .. })));
    let invoked = desk.world.kernel.invoke(caller, &token, &asked.arguments, asked.mode);
    assert_eq!(block_on(invoked).decision.primary_reason(), ReasonCode::TokenRevoked);
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert!(desk.kinds().contains(&"run.finished".to_owned()));
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn the_end_of_a_run_touches_no_other_run() {
    let mut desk = Desk::new();
    let ended = desk.run.clone();
    let first = desk.held(&push()).request.id;
    desk.run = desk.world.run();
    let second = desk.held(&push()).request.id;
    let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.read");
    let token = block_on(desk.world.kernel.grant(caller, asked.call())).token.unwrap();
    let end = OperatorAction::EndRun { run: ended.run_id.clone() };
    desk.receive(&word(&desk, end));
    let kernel = &desk.world.kernel;
    assert!(matches!(kernel.approval_phase(&first), Some(Phase::Revoked { .. })));
    assert!(matches!(kernel.approval_phase(&second), Some(Phase::Requested)), "still open");
    desk.grant(&second, "alice", ALICE);
    assert!(succeeded(&desk.push()), "what waited in it is released");
    let invoked = kernel.invoke(caller, &token, &asked.arguments, asked.mode);
    assert!(succeeded(&block_on(invoked)), "its token is valid");
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "and it goes on");
    desk.run = ended;
    assert_eq!(answer(&desk.call(&Asked::new("fs.write"))).1, ReasonCode::TokenRevoked);
}

#[test]
fn a_principal_that_is_revoked_loses_its_grants() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let subject = RevocationSubject::Principal(desk.who.id.clone());
    let by = PrincipalId::parse("root").unwrap();
    block_on(desk.world.kernel.void_grants(subject, &by)).unwrap();
    assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Revoked { .. })));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn a_word_is_for_one_log_and_not_for_ever() {
    let desk = Desk::new();
    let end = || OperatorAction::EndRun { run: RunId::parse("run_1").unwrap() };
    let file = word(&desk, end());
    let other = Desk::new();
    assert_eq!(rejected(other.receive(&file)), "wrong_log");
    desk.world.clock.advance(15 * MINUTE);
    assert_eq!(rejected(desk.receive(&file)), "too_late");
    let replayed = word(&desk, end());
    assert!(matches!(desk.receive(&replayed), SignedFileOutcome::RunEnded { .. }));
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(rejected(desk.receive(&replayed)), "replayed");
}

#[test]
fn without_a_keys_document_nobody_is_heard() {
    let policy = crate::support::set(crate::support::open_policy());
    let desk = Desk::under(memory(), policy, Ports::default());
    let id = desk.held(&push()).request.id;
    assert_eq!(rejected(desk.grant(&id, "alice", ALICE)), "unknown_approver");
    let end = OperatorAction::EndRun { run: desk.run.run_id.clone() };
    assert_eq!(rejected(desk.receive(&word(&desk, end))), "unknown_approver");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    let _: Timestamp = START;
}
