//! Attacks on held calls: each releases nothing, leaves an event, and an honest grant still works.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{Ports, SignedFileOutcome, StoredApproval};
use weaver_policy::approval::{ApprovalRequest, Phase, Resolution, ResolutionVerdict};
use weaver_types::ledger::{Batch, Durability, Ledger, Namespace, RecordKey, RecordWrite};
use weaver_types::{ApprovalRequestId, Clock, ReasonCode, Tenant, Timestamp, Verdict};

use crate::approvals::{
    ALICE, ANA, BOB, Desk, LOW, MINUTE, RULES, STRANGER, answered, documents, key, push, rejected,
};
use crate::support::{Asked, START, answer, log, memory, succeeded};

const GRANTED: ResolutionVerdict = ResolutionVerdict::Granted;

fn rejections(desk: &Desk) -> Vec<String> {
    log(desk.world.ledger.as_ref())
        .into_iter()
        .filter(|event| event.kind == "approval.rejected")
        .map(|event| event.payload["code"].as_str().unwrap().to_owned())
        .collect()
}

/// What releases nothing is refused with this code, told in the log, and leaves the request open
/// for an honest answer.
fn refused(desk: &Desk, id: &ApprovalRequestId, file: &[u8], code: &str) {
    let before = rejections(desk).len();
    assert_eq!(rejected(desk.receive(file)), code);
    assert_eq!(rejections(desk)[before..], [code]);
    assert_eq!(desk.world.kernel.approval_phase(id), Some(Phase::Requested));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 0);
}

fn honest(desk: &Desk, id: &ApprovalRequestId) {
    assert_eq!(desk.grant(id, "alice", ALICE), SignedFileOutcome::Granted { request: id.clone() });
    assert!(succeeded(&desk.push()));
    assert_eq!(desk.world.executed(), 1);
}

/// Cases: APR-19, W2.
#[test]
fn the_authority_stands_in_the_keys_document() {
    let desk = Desk::under(memory(), documents(&format!("{RULES}{TRUSTED}"), ""), Ports::default());
    let id = desk.held(&push()).request.id;
    refused(&desk, &id, &desk.say(&id, GRANTED, "low", LOW), "trust");
    refused(&desk, &id, &desk.say(&id, GRANTED, "alice", STRANGER), "wrong_key");
    refused(&desk, &id, &desk.say(&id, GRANTED, "alice", BOB), "wrong_key");
    refused(&desk, &id, &desk.say(&id, GRANTED, "mallory", STRANGER), "unknown_approver");
    refused(&desk, &id, &desk.say(&id, GRANTED, "ana", ANA), "requester");
    honest(&desk, &id);
}

const TRUSTED: &str = "[approvals]\nfloor = { min_trust = 800 }\n";

/// Cases: APR-04, APR-14.
#[test]
fn an_answer_to_another_request_or_arguments_releases_nothing() {
    let desk = Desk::new();
    let open = desk.held(&push());
    let id = open.request.id.clone();
    let other = desk.held(&Asked::new("git.push").with(json!({ "remote": "fork" })));
    let file = desk.say(&other.request.id, GRANTED, "alice", ALICE);
    let mut moved: Value = serde_json::from_slice(&file).unwrap();
    moved["resolution"]["request"] = json!(id);
    refused(&desk, &id, moved.to_string().as_bytes(), "request_changed");
    let mut edited: Value = serde_json::from_slice(&desk.say(&id, GRANTED, "bob", BOB)).unwrap();
    edited["resolution"]["reason"] = json!("fine");
    refused(&desk, &id, edited.to_string().as_bytes(), "signature_invalid");
    let mut unsigned: Value = serde_json::from_slice(&desk.say(&id, GRANTED, "bob", BOB)).unwrap();
    unsigned.as_object_mut().unwrap().remove("envelope");
    refused(&desk, &id, unsigned.to_string().as_bytes(), "unsigned");
    refused(&desk, &id, b"not json", "malformed");
    let mut nothing = open.clone();
    nothing.request = unknown(&open.request);
    refused(&desk, &id, &answered(&nothing, GRANTED, "bob", BOB, START), "wrong_request");
    honest(&desk, &id);
}

fn unknown(request: &ApprovalRequest) -> ApprovalRequest {
    ApprovalRequest { id: ApprovalRequestId::parse("apr_unknown").unwrap(), ..request.clone() }
}

/// Cases: W4, APR-21.
#[test]
fn an_answer_dated_before_its_request_or_after_now_does_not_count() {
    let desk = Desk::new();
    let open = desk.held(&push());
    let id = open.request.id.clone();
    let dated = |at: Timestamp| answered(&open, GRANTED, "alice", ALICE, at);
    let year_2001 = Timestamp::parse_rfc3339("2001-01-01T00:00:00Z").unwrap();
    refused(&desk, &id, &dated(year_2001), "too_early");
    refused(&desk, &id, &dated(START.after(MINUTE)), "too_late");
    honest(&desk, &id);
}

/// Cases: APR-15.
#[test]
fn the_deadline_is_a_moment_whatever_the_offset() {
    let desk = Desk::new();
    let open = desk.held(&push());
    let file = desk.say(&open.request.id, GRANTED, "alice", ALICE);
    desk.world.clock.advance(15 * MINUTE);
    assert_eq!(rejected(desk.receive(&file)), "too_late");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    let (early, late) = ("2027-01-15T09:59:59+02:00", "2027-01-15T07:59:59Z");
    assert_eq!(Timestamp::parse_rfc3339(early), Timestamp::parse_rfc3339(late));
}

#[test]
fn an_answer_counts_once_and_not_for_a_second_call() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let file = desk.say(&id, GRANTED, "alice", ALICE);
    assert_eq!(desk.receive(&file), SignedFileOutcome::Granted { request: id.clone() });
    assert_eq!(rejected(desk.receive(&file)), "replayed");
    assert!(succeeded(&desk.push()));
    assert_eq!(rejected(desk.receive(&file)), "already_resolved");
    let again = desk.push();
    assert_eq!(again.decision.verdict(), Verdict::Hold);
    assert_eq!(rejected(desk.receive(&file)), "already_resolved");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 1);
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(rejected(desk.receive(&file)), "already_resolved");
    assert_eq!(desk.world.executed(), 1);
}

#[test]
fn rejections_are_told_once_each_and_a_flood_is_counted() {
    let desk = Desk::new();
    for _ in 0..3 {
        assert_eq!(rejected(desk.receive(b"the same")), "malformed");
    }
    assert_eq!(rejections(&desk).len(), 1);
    for n in 0..500 {
        assert_eq!(rejected(desk.receive(format!("another {n}").as_bytes())), "malformed");
    }
    assert_eq!(rejections(&desk).len(), 64);
    desk.world.clock.advance(MINUTE);
    desk.receive(b"one more");
    let last = log(desk.world.ledger.as_ref()).pop().unwrap();
    assert_eq!(last.payload["rejections_not_recorded"], 437);
}

/// Writes a record of a held call behind the kernel's back.
fn write(ledger: &dyn Ledger, id: &str, record: &Value) {
    let key = RecordKey::new(Tenant::default(), Namespace::Hold, id);
    let value = serde_json_bytes(record);
    let batch = Batch {
        put: vec![RecordWrite { key, value, expires_at: None }],
        ..Batch::new(Durability::Disk)
    };
    ledger.commit(batch).wait().unwrap();
}

fn serde_json_bytes(value: &Value) -> Vec<u8> {
    weaver_types::canonical::to_bytes(value, weaver_types::canonical::Profile::Foreign).unwrap()
}

/// The request that an approver in another process is shown for this id.
fn shown(desk: &Desk, id: &ApprovalRequestId) -> ApprovalRequest {
    let key = RecordKey::new(Tenant::default(), Namespace::Hold, id.as_str());
    let record = desk.world.ledger.read(&key).unwrap().unwrap();
    match StoredApproval::read(id.as_str(), &record).unwrap() {
        StoredApproval::Open(open) => open.request,
        StoredApproval::Ended(ended) => panic!("it has ended: {ended:?}"),
    }
}

/// Cases: W3, APR-20.
#[test]
fn a_planted_request_is_not_what_is_released() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let mut planted = desk.record(&id).unwrap();
    planted["hold"]["open"]["request"]["arguments"] = json!({ "run": "unit tests" });
    planted["hold"]["open"]["request"]["detail"] = json!("run unit tests");
    planted["hold"]["open"]["request"]["authority"] = json!({ "quorum": 0 });
    write(desk.world.ledger.as_ref(), id.as_str(), &planted);
    let seen = shown(&desk, &id);
    assert_eq!(seen.detail, "run unit tests", "the approver is shown the planted one");
    let said = Resolution::new(&seen, GRANTED, "alice", START).unwrap();
    let file = said.sign(&key(ALICE)).unwrap().to_json().unwrap();
    assert_eq!(rejected(desk.receive(&file)), "request_changed");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 0);
    // After a restart the planted record is void, and the honest call opens another request.
    let desk = desk.restarted(documents(RULES, ""));
    assert!(desk.world.kernel.approval_phase(&id).unwrap().is_end());
    assert_eq!(rejected(desk.receive(&file)), "already_resolved");
    let fresh = desk.held(&push()).request.id;
    assert_ne!(fresh, id);
    honest(&desk, &fresh);
}

#[test]
fn a_request_that_only_the_records_know_is_void() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let mut planted = desk.record(&id).unwrap();
    planted["hold"]["open"]["request"]["id"] = json!("apr_planted");
    planted["hold"]["open"]["state"]["request"] = json!("apr_planted");
    planted["hold"]["open"]["request"]["detail"] = json!("run unit tests");
    write(desk.world.ledger.as_ref(), "apr_planted", &planted);
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.world.kernel.pending_approvals().len(), 1);
    let phase = desk.world.kernel.approval_phase(&ApprovalRequestId::parse("apr_planted").unwrap());
    assert_eq!(phase, Some(Phase::Revoked { by: "kernel".to_owned() }));
    honest(&desk, &id);
}

/// Cases: APR-11.
#[test]
fn a_record_edited_by_hand_releases_nothing() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 5] = [
        ("granted without votes", |hold| hold["state"]["state"] = json!({ "phase": "granted" })),
        ("other arguments", |hold| hold["request"]["arguments"]["force"] = json!(false)),
        ("a later deadline", |hold| {
            hold["request"]["deadline"] = json!(START.after(900 * MINUTE).micros());
        }),
        ("a lower quorum", |hold| hold["request"]["authority"] = json!({ "quorum": 1 })),
        ("a cleaner label", |hold| hold["request"]["label"]["integrity"] = json!("untrusted")),
    ];
    for (what, edit) in edits {
        let desk = Desk::new();
        let pay = Asked::new("pay.send").with(json!({ "force": true }));
        let id = desk.held(&pay).request.id;
        desk.grant(&id, "alice", ALICE);
        let mut record = desk.record(&id).unwrap();
        edit(&mut record["hold"]["open"]);
        write(desk.world.ledger.as_ref(), id.as_str(), &record);
        let desk = desk.restarted(documents(RULES, ""));
        for asked in [&pay, &Asked::new("pay.send").with(json!({ "force": false }))] {
            assert!(!desk.call(asked).decision.is_allowed(), "{what}");
        }
        assert_eq!(desk.world.executed(), 0, "{what}");
    }
}

#[test]
fn a_used_record_that_is_put_back_releases_nothing() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let granted = desk.record(&id).unwrap();
    assert!(succeeded(&desk.push()));
    write(desk.world.ledger.as_ref(), id.as_str(), &granted);
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "while the process runs");
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "and after a restart");
    assert_eq!(desk.world.executed(), 1);
}

#[test]
fn a_record_put_back_over_a_denial_releases_nothing() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let granted = desk.record(&id).unwrap();
    desk.deny(&id, "bob", BOB);
    assert_eq!(answer(&desk.push()), (Verdict::Deny, ReasonCode::ApprovalDenied));
    write(desk.world.ledger.as_ref(), id.as_str(), &granted);
    let desk = desk.restarted(documents(RULES, ""));
    assert!(!desk.push().decision.is_allowed());
    assert_eq!(desk.world.executed(), 0);
}

/// Cases: W12.
#[test]
fn a_hold_survives_a_restart_in_its_middle_with_one_vote_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = crate::support::sqlite(&folder.path().join("ledger.db"));
    let desk = Desk::on(ledger, Ports::default());
    let pay = Asked::new("pay.send").with(json!({ "amount": 1 }));
    let id = desk.held(&pay).request.id;
    desk.grant(&id, "alice", ALICE);
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.world.kernel.pending_approval(&id).unwrap().agreed_by, ["alice"]);
    assert_eq!(desk.call(&pay).request, Some(id.clone()));
    assert_eq!(rejected(desk.grant(&id, "alice", ALICE)), "replayed");
    desk.world.clock.advance(Duration::from_secs(5));
    assert_eq!(desk.grant(&id, "bob", BOB), SignedFileOutcome::Granted { request: id });
    let desk = desk.restarted(documents(RULES, ""));
    assert!(succeeded(&desk.call(&pay)));
    assert_eq!(desk.world.executed(), 1);
}

#[test]
fn a_key_that_is_revoked_between_grant_and_call_takes_its_grant_along() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let without = crate::approvals::documents_without_alice();
    weaver_agent_kernel::block_on(desk.world.kernel.replace_policy(without));
    let done = desk.push();
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::ApprovalRevoked));
    assert_eq!(desk.world.executed(), 0);
    assert!(desk.world.kernel.approval_phase(&id).unwrap().is_end());
    let _: Arc<_> = desk.world.clock.clone();
    assert_eq!(desk.world.clock.now(), START);
}
