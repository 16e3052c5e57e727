//! Approvals given in advance: counted, bounded, revocable.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{Ports, SignedFileOutcome};
use weaver_policy::Pattern;
use weaver_policy::approval::{
    APPROVAL_VERSION, Nonce, OperatorAction, SignedStandingApproval, StandingApproval,
};
use weaver_types::ledger::{Batch, Durability, Ledger, Namespace, RecordKey, RecordWrite};
use weaver_types::{Clock, OsRandom, ReasonCode, StandingApprovalId, Tenant, Verdict};

use crate::approval_words::word;
use crate::approvals::{
    ALICE, ANA, BOB, Desk, LOW, RULES, STRANGER, documents, key, push, rejected,
};
use crate::races::together;
use crate::support::{Asked, answer, log, memory, sqlite, succeeded};

const HOUR: Duration = Duration::from_secs(3_600);

/// A standing approval for pushes by ana with so many uses.
pub(crate) fn standing(desk: &Desk, uses: u32) -> StandingApproval {
    let now = desk.world.clock.now();
    StandingApproval {
        v: APPROVAL_VERSION,
        id: StandingApprovalId::random(&OsRandom).unwrap(),
        log: desk.world.ledger.head().unwrap().log,
        tenant: Tenant::default(),
        capability: vec![Pattern::parse("git.*").unwrap()],
        principals: vec![Pattern::parse("ana").unwrap()],
        agents: Vec::new(),
        arguments: vec![
            serde_json::from_value(json!({ "at": "/remote", "equals": "origin" })).unwrap(),
        ],
        folders: Vec::new(),
        expires: now.after(HOUR),
        uses,
        opened_at: now,
        nonce: Nonce::random(&OsRandom).unwrap(),
    }
}

fn signed(desk: &Desk, standing: &StandingApproval, seeds: &[u8]) -> Vec<u8> {
    let at = desk.world.clock.now();
    let envelopes = seeds.iter().map(|seed| standing.envelope(&key(*seed), at).unwrap()).collect();
    SignedStandingApproval { standing: standing.clone(), envelopes }.to_json().unwrap()
}

fn accepted(desk: &Desk, uses: u32) -> StandingApprovalId {
    let standing = standing(desk, uses);
    let received = desk.receive(&signed(desk, &standing, &[ALICE]));
    assert_eq!(received, SignedFileOutcome::StandingAccepted { standing: standing.id.clone() });
    standing.id
}

#[test]
fn a_standing_approval_releases_what_the_floor_holds_as_often_as_it_says() {
    let desk = Desk::new();
    let id = accepted(&desk, 2);
    for used in 1..=2 {
        let done = desk.push();
        assert!(succeeded(&done), "{done:?}");
        assert_eq!(done.request, None);
        let intents: Vec<Value> = log(desk.world.ledger.as_ref())
            .into_iter()
            .filter(|event| event.kind == "call.intent")
            .map(|event| event.payload["released_by"].clone())
            .collect();
        let told = json!({ "standing": id, "people": ["alice"], "use": used });
        assert_eq!(intents.last(), Some(&told));
    }
    let third = desk.push();
    assert_eq!(answer(&third), (Verdict::Hold, ReasonCode::FloorHold));
    assert!(third.request.is_some());
    assert_eq!(desk.world.executed(), 2);
}

#[test]
fn it_speaks_of_its_own_calls_only() {
    let desk = Desk::new();
    accepted(&desk, 5);
    let other = Asked::new("git.push").with(json!({ "remote": "fork" }));
    assert_eq!(desk.call(&other).decision.verdict(), Verdict::Hold);
    let bob = crate::support::principal("bob", &["writer"]);
    let by_bob = desk.world.call(&desk.run, &bob, &push());
    assert_eq!(by_bob.decision.verdict(), Verdict::Hold);
    // What a rule holds for two people of finance is not released by one signature.
    let mut pays = standing(&desk, 5);
    pays.capability = vec![Pattern::parse("pay.*").unwrap()];
    pays.arguments.clear();
    let one = signed(&desk, &pays, &[ALICE]);
    assert!(matches!(desk.receive(&one), SignedFileOutcome::StandingAccepted { .. }));
    let pay = Asked::new("pay.send").with(json!({ "amount": 7 }));
    assert_eq!(desk.call(&pay).decision.verdict(), Verdict::Hold);
    let mut two = standing(&desk, 5);
    two.capability = pays.capability.clone();
    two.arguments.clear();
    assert!(matches!(
        desk.receive(&signed(&desk, &two, &[ALICE, BOB])),
        SignedFileOutcome::StandingAccepted { .. }
    ));
    assert!(succeeded(&desk.call(&pay)));
    desk.world.clock.advance(HOUR);
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "it is over");
    assert_eq!(desk.world.executed(), 1);
}

#[test]
fn it_never_releases_what_flow_holds() {
    let desk = Desk::new();
    accepted(&desk, 5);
    assert!(succeeded(&desk.push()));
    assert!(succeeded(&desk.call(&Asked::new("fs.read"))), "brings untrusted text into the run");
    let done = desk.push();
    assert_eq!(done.decision.verdict(), Verdict::Hold);
    let untrusted = |c: &weaver_types::CheckResult| c.reason == ReasonCode::UntrustedInfluence;
    assert!(done.decision.obstacles().any(untrusted));
    assert_eq!(desk.world.executed(), 2);
}

#[test]
fn of_64_threads_on_ten_uses_ten_execute() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let desk = Desk::on(ledger, Ports::default());
        accepted(&desk, 10);
        let done = together(|_| desk.push());
        assert_eq!(desk.world.executed(), 10);
        assert_eq!(done.iter().filter(|done| succeeded(done)).count(), 10);
        for held in done.iter().filter(|done| !succeeded(done)) {
            assert_eq!(held.decision.verdict(), Verdict::Hold, "{held:?}");
        }
        let mut uses: Vec<_> = log(desk.world.ledger.as_ref())
            .into_iter()
            .filter(|event| event.kind == "call.intent")
            .map(|event| event.payload["released_by"]["use"].as_u64().unwrap())
            .collect();
        uses.sort_unstable();
        assert_eq!(uses, (1..=10).collect::<Vec<_>>());
        // Nor is there an eleventh after a restart.
        let desk = desk.restarted(documents(RULES, ""));
        assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
        assert_eq!(desk.world.executed(), 10);
    }
}

#[test]
fn it_counts_only_with_the_signatures_and_within_the_bounds() {
    let bounds = "[approvals]\nstanding = { max_uses = 5, max_lifetime_s = 3600, authority = { min_trust = 800 } }\n";
    let desk = Desk::under(memory(), documents(&format!("{RULES}{bounds}"), ""), Ports::default());
    let fine = standing(&desk, 5);
    let refuse = |change: fn(&mut StandingApproval), seeds: &[u8]| {
        let mut other = fine.clone();
        change(&mut other);
        rejected(desk.receive(&signed(&desk, &other, seeds)))
    };
    assert_eq!(refuse(|s| s.uses = 6, &[ALICE]), "bounds");
    assert_eq!(refuse(|s| s.uses = 0, &[ALICE]), "bounds");
    assert_eq!(refuse(|s| s.expires = s.opened_at.after(HOUR * 2), &[ALICE]), "bounds");
    assert_eq!(refuse(|s| s.log = "log_other".parse().unwrap(), &[ALICE]), "wrong_log");
    assert_eq!(refuse(|_| {}, &[STRANGER]), "unknown_approver");
    assert_eq!(refuse(|_| {}, &[LOW]), "trust");
    assert_eq!(refuse(|_| {}, &[]), "unsigned");
    let mut edited: Value = serde_json::from_slice(&signed(&desk, &fine, &[ALICE])).unwrap();
    edited["standing"]["uses"] = json!(4);
    assert_eq!(rejected(desk.receive(edited.to_string().as_bytes())), "signature_invalid");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    let file = signed(&desk, &fine, &[ALICE]);
    assert!(matches!(desk.receive(&file), SignedFileOutcome::StandingAccepted { .. }));
    assert!(succeeded(&desk.push()));
    assert_eq!(rejected(desk.receive(&file)), "replayed", "its uses do not come back");
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(rejected(desk.receive(&file)), "replayed");
}

#[test]
fn whoever_asks_does_not_release_in_advance_either() {
    let desk = Desk::new();
    let own = standing(&desk, 5);
    assert!(matches!(
        desk.receive(&signed(&desk, &own, &[ANA])),
        SignedFileOutcome::StandingAccepted { .. }
    ));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn a_revoked_one_releases_nothing_and_does_not_come_back() {
    let desk = Desk::new();
    let mine = standing(&desk, 5);
    let file = signed(&desk, &mine, &[ALICE]);
    desk.receive(&file);
    assert!(succeeded(&desk.push()));
    let before = record(&desk, &mine.id);
    let revoked =
        weaver_policy::approval::OperatorAction::RevokeStanding { standing: mine.id.clone() };
    assert_eq!(
        desk.receive(&word(&desk, revoked)),
        SignedFileOutcome::StandingRevoked { standing: mine.id.clone() }
    );
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(rejected(desk.receive(&file)), "replayed");
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    put(&desk, &mine.id, before);
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "also with its record put back");
    assert_eq!(desk.world.executed(), 1);
}

#[test]
fn a_record_put_back_gives_no_use_back() {
    let desk = Desk::new();
    let id = accepted(&desk, 2);
    let fresh = record(&desk, &id);
    assert!(succeeded(&desk.push()) && succeeded(&desk.push()));
    put(&desk, &id, fresh);
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 2);
}

#[test]
fn a_record_that_is_taken_away_lets_no_file_in_again() {
    let ledger = memory();
    let desk = Desk::on(Arc::clone(&ledger), Ports::default());
    let (used, revoked) = (standing(&desk, 1), standing(&desk, 1));
    let files = [&used, &revoked].map(|said| signed(&desk, said, &[ALICE]));
    assert!(matches!(desk.receive(&files[0]), SignedFileOutcome::StandingAccepted { .. }));
    assert!(succeeded(&desk.push()));
    assert!(matches!(desk.receive(&files[1]), SignedFileOutcome::StandingAccepted { .. }));
    let word = word(&desk, OperatorAction::RevokeStanding { standing: revoked.id.clone() });
    assert!(matches!(desk.receive(&word), SignedFileOutcome::StandingRevoked { .. }));
    for id in [&used.id, &revoked.id] {
        let mut batch = Batch::new(Durability::Disk);
        batch.delete.push(place(id));
        ledger.commit(batch).wait().unwrap();
    }
    let desk = desk.restarted(documents(RULES, ""));
    for file in &files {
        assert_eq!(rejected(desk.receive(file)), "replayed");
    }
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 1);
}

fn place(id: &StandingApprovalId) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Standing, id.as_str())
}

fn record(desk: &Desk, id: &StandingApprovalId) -> Vec<u8> {
    desk.world.ledger.read(&place(id)).unwrap().unwrap().value
}

fn put(desk: &Desk, id: &StandingApprovalId, value: Vec<u8>) {
    let put = vec![RecordWrite { key: place(id), value, expires_at: None }];
    let ledger: &Arc<dyn Ledger> = &desk.world.ledger;
    ledger.commit(Batch { put, ..Batch::new(Durability::Disk) }).wait().unwrap();
}

#[test]
fn one_that_somebody_else_has_changed_is_read_again_before_it_is_taken_back() {
    let desk = Desk::new();
    let id = accepted(&desk, 2);
    let same = record(&desk, &id);
    put(&desk, &id, same);
    let revoke = OperatorAction::RevokeStanding { standing: id.clone() };
    assert_eq!(
        desk.receive(&word(&desk, revoke)),
        SignedFileOutcome::StandingRevoked { standing: id }
    );
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
}

#[test]
fn a_word_that_was_taken_elsewhere_meanwhile_takes_nothing_back() {
    use weaver_types::ledger::LedgerError;
    let ledger = crate::support::Faulty::new(memory());
    let desk = Desk::on(Arc::clone(&ledger) as Arc<dyn Ledger>, Ports::default());
    let id = accepted(&desk, 2);
    ledger.fail(|batch| {
        let mut guards = batch.guards().map(|(key, _)| key.clone());
        let received = guards.find(|key| key.namespace == Namespace::Received);
        received.map(|key| LedgerError::Conflict { key })
    });
    let revoke = OperatorAction::RevokeStanding { standing: id };
    assert_eq!(rejected(desk.receive(&word(&desk, revoke))), "replayed");
    ledger.heal();
    assert!(succeeded(&desk.push()));
}

#[test]
fn what_is_over_is_forgotten_by_a_sweep_and_its_room_is_free() {
    let desk = Desk::new();
    let id = accepted(&desk, 2);
    let revoke = |desk: &Desk| {
        let action = OperatorAction::RevokeStanding { standing: id.clone() };
        desk.receive(&word(desk, action))
    };
    desk.world.clock.advance(HOUR);
    weaver_agent_kernel::block_on(desk.world.kernel.sweep());
    assert_eq!(rejected(revoke(&desk)), "wrong_request", "it is known no more");
}

#[test]
fn a_call_that_is_allowed_anyway_uses_nothing_up() {
    let desk = Desk::new();
    let mut files = standing(&desk, 2);
    files.capability = vec![Pattern::parse("fs.*").unwrap()];
    files.arguments.clear();
    desk.receive(&signed(&desk, &files, &[ALICE]));
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))));
    let all = log(desk.world.ledger.as_ref());
    let intent = all.iter().find(|event| event.kind == "call.intent").unwrap();
    assert_eq!(intent.payload.get("released_by"), None);
    let state: Value = serde_json::from_slice(&record(&desk, &files.id)).unwrap();
    assert_eq!(state["used"], 0);
}
