//! What the log says of approvals, and what becomes of a change that meets another one.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{Ports, SignedFileOutcome, block_on};
use weaver_policy::approval::{BeliefOutcome, OperatorAction, Phase};
use weaver_types::ledger::{
    Batch, Durability, Ledger, LedgerError, Namespace, RecordKey, RecordWrite,
};
use weaver_types::{ApprovalRequestId, Tenant, Timestamp, Verdict};

use crate::approval_words::word;
use crate::approvals::{
    ALICE, ANA, BOB, Desk, MINUTE, RULES, STRANGER, documents, key as signing_key, push, rejected,
};
use crate::support::{Asked, Faulty, log, memory, succeeded};

/// The last event of this kind.
fn event(desk: &Desk, kind: &str) -> Value {
    let all = log(desk.world.ledger.as_ref());
    all.into_iter().rfind(|event| event.kind == kind).unwrap().payload
}

fn key(id: &ApprovalRequestId) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Hold, id.as_str())
}

/// A desk whose ledger can be told to refuse.
fn faulty() -> (Desk, Arc<Faulty>) {
    let ledger = Faulty::new(memory());
    let desk = Desk::on(Arc::clone(&ledger) as Arc<dyn Ledger>, Ports::default());
    (desk, ledger)
}

#[test]
fn the_end_of_a_request_says_by_whom() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    desk.deny(&id, "alice", ALICE);
    assert_eq!(event(&desk, "approval.denied")["by"], "alice");

    let pay = Asked::new("pay.send").with(json!({ "amount": 7 }));
    let id = desk.held(&pay).request.id;
    let revoke = OperatorAction::RevokeRequest { request: id.clone() };
    assert_eq!(
        desk.receive(&word(&desk, revoke)),
        SignedFileOutcome::RequestRevoked { request: id }
    );
    let revoked = event(&desk, "approval.revoked");
    assert_eq!(
        (&revoked["by"], &revoked["reason"]),
        (&json!("operator"), &json!("approval_revoked"))
    );

    let id = desk.held(&pay).request.id;
    let more = "[[rules]]\nname = \"no\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n";
    block_on(desk.world.kernel.replace_policy(documents(&format!("{RULES}{more}"), "")));
    let next = desk.world.kernel.approval_successor(&id).unwrap();
    let replaced = event(&desk, "approval.superseded");
    assert_eq!((&replaced["by"], &replaced["request"]), (&json!(next), &json!(id)));

    desk.world.clock.advance(15 * MINUTE);
    block_on(desk.world.kernel.sweep());
    let expired = event(&desk, "approval.expired");
    assert_eq!((expired.get("by"), &expired["request"]), (None, &json!(next)));
}

#[test]
fn a_request_that_somebody_else_has_changed_is_read_again() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let value = desk.world.ledger.read(&key(&id)).unwrap().unwrap().value;
    let put = vec![RecordWrite { key: key(&id), value, expires_at: None }];
    desk.world.ledger.commit(Batch { put, ..Batch::new(Durability::Os) }).wait().unwrap();
    assert_eq!(desk.grant(&id, "alice", ALICE), SignedFileOutcome::Granted { request: id });
    assert!(succeeded(&desk.push()));
}

#[test]
fn a_conflict_without_a_newer_record_changes_nothing_and_can_be_tried_again() {
    let (desk, ledger) = faulty();
    let id = desk.held(&push()).request.id;
    let own = key(&id);
    ledger.fail(move |batch| {
        let touches = batch.puts().any(|put| put.key == own);
        touches.then(|| LedgerError::Conflict { key: own.clone() })
    });
    let SignedFileOutcome::Failed { problem } = desk.grant(&id, "alice", ALICE) else {
        panic!("it was taken");
    };
    assert!(problem.contains("the request is on its way; try again"), "{problem}");
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Requested));
    ledger.heal();
    desk.world.clock.advance(MINUTE);
    assert_eq!(desk.grant(&id, "alice", ALICE), SignedFileOutcome::Granted { request: id });
}

#[test]
fn a_granted_call_whose_request_was_used_elsewhere_is_refused_as_used() {
    let (desk, ledger) = faulty();
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let own = key(&id);
    ledger.fail(move |batch| {
        let touches = batch.puts().any(|put| put.key == own);
        touches.then(|| LedgerError::Conflict { key: own.clone() })
    });
    let refused = desk.push();
    assert_eq!(refused.decision.primary_reason().as_str(), "token_used", "{refused:?}");
    assert_eq!(desk.world.executed(), 0);
    ledger.heal();
    assert!(succeeded(&desk.push()), "it was not used after all");
}

/// An outcome of a class, as an operator says it.
fn outcome() -> OperatorAction {
    OperatorAction::Outcome(BeliefOutcome {
        class: "weather".to_owned(),
        confidence: 900,
        correct: true,
        call: None,
    })
}

#[test]
fn a_word_that_meets_a_conflict_elsewhere_fails_at_once() {
    let (desk, ledger) = faulty();
    let mask = RecordKey::new(Tenant::default(), Namespace::Masks, "run_1");
    ledger.fail(move |_| Some(LedgerError::Conflict { key: mask.clone() }));
    let SignedFileOutcome::Failed { problem } = desk.receive(&word(&desk, outcome())) else {
        panic!("it was taken");
    };
    assert!(!problem.contains("changes too fast"), "{problem}");
    ledger.heal();
    assert!(matches!(
        desk.receive(&word(&desk, outcome())),
        SignedFileOutcome::OutcomeRecorded { .. }
    ));
}

#[test]
fn a_word_is_known_again_for_as_long_as_it_could_be_taken() {
    let (desk, ledger) = faulty();
    let kept: Arc<Mutex<Vec<Option<Timestamp>>>> = Arc::default();
    let seen = Arc::clone(&kept);
    ledger.fail(move |batch| {
        let received = batch.puts().filter(|put| put.key.namespace == Namespace::Received);
        seen.lock().unwrap().extend(received.map(|put| put.expires_at));
        None
    });
    let said_at = weaver_types::Clock::now(desk.world.clock.as_ref());
    desk.receive(&word(&desk, outcome()));
    let lives = weaver_policy::approval::OPERATOR_STATEMENT_MAX_AGE;
    let skew = weaver_policy::approval::MAX_SKEW;
    assert_eq!(*kept.lock().unwrap(), [Some(said_at.after(lives + 2 * skew))]);
}

#[test]
fn the_end_of_a_run_stands_in_the_log_under_the_run() {
    let desk = Desk::new();
    assert!(succeeded(&desk.call(&Asked::new("fs.read"))));
    let run = desk.run.run_id.clone();
    desk.receive(&word(&desk, OperatorAction::EndRun { run: run.clone() }));
    let all = log(desk.world.ledger.as_ref());
    let ended: Vec<_> = all.iter().filter(|event| event.payload["by"] == "operator").collect();
    assert_eq!(ended.len(), 2);
    for event in ended {
        assert_eq!(event.run.as_deref(), Some(run.as_str()), "{event:?}");
        assert_eq!(event.payload["subject"], format!("run:{run}"));
    }
}

#[test]
fn a_rejected_answer_is_recorded_with_the_request_that_it_names() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let file = desk.say(&id, weaver_policy::approval::ResolutionVerdict::Granted, "alice", BOB);
    rejected(desk.receive(&file));
    let told = event(&desk, "approval.rejected");
    assert_eq!((&told["request"], &told["bytes"]), (&json!(id), &json!(file.len())));
    assert_eq!(told.get("rejections_not_recorded"), None);
    // The key is Bob's, whoever the file names.
    assert_eq!(
        (&told["by"], &told["key"]),
        (&json!("bob"), &json!(signing_key(BOB).public().to_string()))
    );
    rejected(desk.receive(b"{}"));
    let told = event(&desk, "approval.rejected");
    assert_eq!((told.get("request"), &told["code"]), (None, &json!("malformed")));
    assert_eq!((told.get("by"), told.get("key")), (None, None));
    // A flood is counted, and told with the next.
    for n in 0..70 {
        rejected(desk.receive(format!("{{\"n\":{n}}}").as_bytes()));
    }
    desk.world.clock.advance(MINUTE);
    rejected(desk.receive(b"{\"last\":1}"));
    assert_eq!(event(&desk, "approval.rejected")["rejections_not_recorded"], 8);
}

/// The event that an auditor of the separation of duties looks for: somebody tried to release their
/// own call.
#[test]
fn an_answer_to_ones_own_request_is_recorded_under_ones_name() {
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let granted = weaver_policy::approval::ResolutionVerdict::Granted;
    rejected(desk.receive(&desk.say(&id, granted, "ana", ANA)));
    let told = event(&desk, "approval.rejected");
    assert_eq!((&told["code"], &told["by"]), (&json!("requester"), &json!("ana")));
    // A key that nobody in the keys document has, and a signature that does not hold.
    rejected(desk.receive(&desk.say(&id, granted, "mallory", STRANGER)));
    let told = event(&desk, "approval.rejected");
    let stranger = json!(signing_key(STRANGER).public().to_string());
    assert_eq!((told.get("by"), &told["key"]), (None, &stranger));
    let mut forged: serde_json::Value =
        serde_json::from_slice(&desk.say(&id, granted, "ana", ANA)).unwrap();
    forged["resolution"]["reason"] = json!("another");
    rejected(desk.receive(forged.to_string().as_bytes()));
    let told = event(&desk, "approval.rejected");
    assert_eq!((told.get("by"), told.get("key")), (None, None));
    let counts = desk.world.kernel.approval_counts();
    assert_eq!((counts.rejected, counts.granted), (3, 0));
    desk.grant(&id, "alice", ALICE);
    assert_eq!(desk.world.kernel.approval_counts().granted, 1);
}

#[test]
fn a_waiting_call_that_is_given_up_is_woken_no_more() {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let desk = Desk::new();
    let id = desk.held(&push()).request.id;
    let counts: [Arc<Count>; 2] = Default::default();
    {
        let mut stays = pin!(desk.world.kernel.wait_resolution(&id, MINUTE));
        {
            let mut leaves = pin!(desk.world.kernel.wait_resolution(&id, MINUTE));
            let waker = Waker::from(Arc::clone(&counts[0]));
            assert!(leaves.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let waker = Waker::from(Arc::clone(&counts[1]));
        assert!(stays.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        desk.grant(&id, "alice", ALICE);
    }
    let woken = counts.map(|count| count.0.load(Ordering::SeqCst));
    assert_eq!((woken[0], woken[1] > 0), (0, true));
    assert_eq!(desk.push().decision.verdict(), Verdict::Allow);
}

#[test]
fn the_events_of_a_request_bear_the_tags_of_its_capability() {
    use weaver_types::{CapabilityDraft, Effects};
    let desk = Desk::new();
    desk.world.register(CapabilityDraft {
        tags: ["deploy".to_owned()].into(),
        ..crate::support::draft("git.tag", Effects::WRITE_OPEN)
    });
    let id = desk.held(&Asked::new("git.tag")).request.id;
    assert_eq!(event(&desk, "approval.requested")["tags"], json!(["deploy"]));
    desk.deny(&id, "alice", ALICE);
    assert_eq!(event(&desk, "approval.denied")["tags"], json!(["deploy"]));
    let id = desk.held(&push()).request.id;
    desk.deny(&id, "alice", ALICE);
    assert_eq!(event(&desk, "approval.denied").get("tags"), None, "where there are some");
}

#[test]
fn a_granted_call_is_made_although_its_run_holds_more_confidential_data() {
    use weaver_types::{CapabilityDraft, Confidentiality, Effects, Integrity, Label, ReasonCode};
    let desk = Desk::new();
    desk.world.register(CapabilityDraft {
        output_label: Label::new(Confidentiality::Confidential, Integrity::Trusted),
        ..crate::support::draft("hr.read", Effects::READ_LOCAL)
    });
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.call(&Asked::new("hr.read"))));
    // Its arguments are from before; those of another call could hold what was read.
    let other = desk.held(&push().with(serde_json::json!({"remote": "other"}))).request;
    assert!(other.holds.iter().any(|held| held.reason == ReasonCode::ClearanceExceeded));
    assert!(succeeded(&desk.push()));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "once");
}
