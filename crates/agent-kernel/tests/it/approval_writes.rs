//! A run that writes after a call was held, and what becomes of the grant of that call.

use serde_json::json;
use weaver_agent_kernel::{Caller, FnDriver, Ports, block_on};
use weaver_policy::approval::{Phase, Resolution, ResolutionVerdict};
use weaver_types::{ApprovalRequestId, Clock as _, Effects, RawResult, ReasonCode, Verdict};

use crate::approvals::{ALICE, BOB, Desk, RULES, documents, key, push};
use crate::support::{Asked, answer, draft, fold, snapshot, sqlite, succeeded};

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

/// Signs a grant by somebody who has seen so many writes of the run.
fn grant_after(desk: &Desk, id: &ApprovalRequestId, seen_writes: Option<u64>) {
    let open = desk.world.kernel.pending_approval(id).unwrap();
    let now = desk.world.clock.now();
    let mut said =
        Resolution::new(&open.request, ResolutionVerdict::Granted, "alice", now).unwrap();
    said.seen_writes = seen_writes;
    desk.receive(&said.sign(&key(ALICE)).unwrap().to_json().unwrap());
}

#[test]
fn whoever_agrees_after_a_write_has_seen_it() {
    for (seen_writes, passes) in
        [(Some(2), true), (None, false), (Some(1), false), (Some(3), false)]
    {
        let desk = untrusted(Desk::new());
        let id = desk.held(&push()).request.id;
        for _ in 0..2 {
            assert!(succeeded(&desk.call(&write())));
        }
        assert_eq!(desk.held(&push()).request.id, id, "the request goes on waiting");
        grant_after(&desk, &id, seen_writes);
        assert_eq!(succeeded(&desk.push()), passes, "{seen_writes:?}");
    }
}

#[test]
fn of_two_people_each_has_seen_the_writes() {
    let desk = untrusted(Desk::new());
    let id = desk.held(&pay(200)).request.id;
    desk.grant(&id, "bob", BOB);
    assert!(succeeded(&desk.call(&write())));
    grant_after(&desk, &id, Some(1));
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Granted));
    assert_eq!(answer(&desk.call(&pay(200))), (Verdict::Deny, ReasonCode::PreconditionFailed));
}

#[test]
fn a_read_that_moves_the_session_or_saves_a_file_ends_the_grant_too() {
    let desk = untrusted(Desk::new());
    for id in ["browser.navigate_back", "browser.snapshot"] {
        let mut tool = draft(id, Effects::READ_LOCAL);
        let filename = json!({"type": "string", "description": "File to save the snapshot to"});
        let properties = json!({"filename": filename, "depth": {"type": "integer"}});
        tool.input_schema = Some(json!({"type": "object", "properties": properties}).into());
        desk.world.driven(tool, FnDriver::inline(|_| Ok(RawResult::text("done"))));
    }
    for (read, arguments, passes) in [
        ("browser.snapshot", json!({"depth": 1}), true),
        ("browser.snapshot", json!({"filename": "report.txt"}), false),
        ("browser.navigate_back", json!({}), false),
    ] {
        let id = desk.held(&push()).request.id;
        desk.grant(&id, "alice", ALICE);
        assert!(succeeded(&desk.call(&Asked::new(read).with(arguments.clone()))));
        assert_eq!(succeeded(&desk.push()), passes, "{read} {arguments}");
    }
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
