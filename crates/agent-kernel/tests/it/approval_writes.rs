//! A run that writes after a call was held, and what becomes of the grant of that call.

use serde_json::json;
use weaver_agent_kernel::{Caller, Ports, block_on};
use weaver_policy::approval::Phase;
use weaver_types::{ReasonCode, Verdict};

use crate::approvals::{ALICE, BOB, Desk, RULES, documents, push};
use crate::support::{Asked, answer, fold, snapshot, sqlite, succeeded};

fn read() -> Asked {
    Asked::new("fs.read").with(json!({ "path": "notes.txt" }))
}

fn write() -> Asked {
    Asked::new("fs.write").with(json!({ "path": "notes.txt", "text": "else" }))
}

fn pay(amount: u8) -> Asked {
    Asked::new("pay.send").with(json!({ "amount": amount }))
}

/// A run that has read something untrusted, so that what it reads later changes nothing.
fn untrusted(desk: Desk) -> Desk {
    assert!(succeeded(&desk.call(&read())));
    desk
}

#[test]
fn a_write_after_the_hold_ends_the_grant_and_a_read_does_not() {
    let desk = untrusted(Desk::new());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.call(&read())));
    assert!(succeeded(&desk.call(&write())));
    let refused = desk.push();
    assert_eq!(answer(&refused), (Verdict::Deny, ReasonCode::PreconditionFailed));
    assert!(refused.decision.detail().contains("a call that writes"), "{refused:?}");
    assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Revoked { .. })));

    let again = desk.held(&push()).request;
    assert_eq!((again.id == id, again.unreviewed_writes), (false, 1));
    desk.grant(&again.id, "alice", ALICE);
    assert!(succeeded(&desk.call(&read())), "reads do not end a grant");
    assert!(succeeded(&desk.push()));
}

#[test]
fn a_write_before_the_answer_asks_about_the_call_anew() {
    let desk = untrusted(Desk::new());
    let id = desk.held(&push()).request.id;
    assert!(succeeded(&desk.call(&write())));
    assert_ne!(desk.held(&push()).request.id, id);
    assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Superseded { .. })));
}

#[test]
fn calls_that_were_released_each_leave_the_others_grant() {
    let desk = untrusted(Desk::new());
    let held = [push(), pay(1), pay(2)].map(|asked| (desk.held(&asked).request.id, asked));
    for (id, _) in &held {
        desk.grant(id, "alice", ALICE);
        if desk.world.kernel.approval_phase(id) == Some(Phase::Requested) {
            desk.grant(id, "bob", BOB);
        }
    }
    for (_, asked) in &held {
        assert!(succeeded(&desk.call(asked)), "{asked:?}");
    }
}

#[test]
fn writes_of_another_run_do_not_count() {
    let desk = untrusted(Desk::new());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.world.call(&desk.world.run(), &desk.who, &write())));
    assert!(succeeded(&desk.push()));
}

#[test]
fn a_write_between_the_release_and_the_call_is_found_too() {
    let desk = untrusted(Desk::new());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let (caller, asked) = (Caller { run: &desk.run, principal: &desk.who }, push());
    let grant = block_on(desk.world.kernel.grant(caller, asked.call()));
    let token = grant.token.unwrap();
    assert!(succeeded(&desk.call(&write())));
    let (kernel, mode) = (&desk.world.kernel, asked.mode);
    let done = block_on(kernel.invoke(caller, &token, &asked.arguments, mode));
    assert!(!done.decision.is_allowed(), "{done:?}");
    assert_eq!(desk.world.executed(), 2);
}

#[test]
fn of_many_writes_and_one_granted_call_at_once_none_comes_before_it() {
    let desk = untrusted(Desk::new());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let calls = std::sync::atomic::AtomicU64::new(0);
    let done = crate::races::together(|_| {
        let first = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 9;
        (first, desk.call(&if first { push() } else { write() }))
    });
    let pushed = done.iter().find(|(first, _)| *first).is_some_and(|(_, done)| succeeded(done));
    let log = crate::support::log(desk.world.ledger.as_ref());
    let intents = log.iter().filter(|event| event.kind == "call.intent");
    let tools: Vec<_> = intents.map(|event| event.payload["capability"].clone()).collect();
    assert_eq!(tools.iter().any(|tool| tool == "git.push"), pushed);
    if pushed {
        assert_eq!(tools[1], "git.push", "{tools:?}");
    }
}

#[test]
fn the_count_survives_a_restart_and_is_the_fold_over_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let desk = untrusted(Desk::on(sqlite(&folder.path().join("ledger.db")), Ports::default()));
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.call(&write())));
    let desk = desk.restarted(documents(RULES, ""));
    let ledger = desk.world.ledger.as_ref();
    let state = snapshot(ledger, &desk.run.run_id).unwrap();
    assert_eq!(state.unreviewed_writes, 1);
    assert_eq!(state, fold(ledger, &desk.run.run_id));
    assert_eq!(answer(&desk.push()), (Verdict::Deny, ReasonCode::PreconditionFailed));
}
