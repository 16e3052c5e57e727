//! Revocations: what they cost, how long they hold, and where they are looked at.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{
    Caller, DriverError, FnDriver, Kernel, RevocationSubject, Settings, Token, block_on,
};
use weaver_firewall::HandleQuery;
use weaver_types::ledger::{Batch, Durability, Ledger, Namespace, RecordKey};
use weaver_types::{
    CapabilityDraft, Clock, Effects, HandleId, Principal, RawResult, ReasonCode, ResponseMode,
    RunContext, Tenant,
};

use crate::support::{
    Asked, Faulty, World, ana, draft, kinds, memory, open_policy, parts, sqlite, succeeded,
};
use crate::tokens::token_id;

fn subjects(run: &RunContext, who: &Principal, token: &Token) -> [RevocationSubject; 3] {
    [
        RevocationSubject::Token(token_id(token)),
        RevocationSubject::Principal(who.id.clone()),
        RevocationSubject::Run(run.run_id.clone()),
    ]
}

#[test]
fn a_revocation_is_one_record_however_much_it_voids() {
    let faulty = Faulty::new(memory());
    let world = World::on(Arc::clone(&faulty) as Arc<dyn Ledger>, open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &run, principal: &who };
    let tokens: Vec<Token> = (0..2_000)
        .map(|_| block_on(world.kernel.grant(caller, asked.call())).token.unwrap())
        .collect();
    let (batches, writes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = (Arc::clone(&batches), Arc::clone(&writes));
    faulty.fail(move |batch| {
        counted.0.fetch_add(1, Ordering::SeqCst);
        let all = batch.puts().count() + batch.add.len() + batch.delete.len() + batch.events.len();
        counted.1.fetch_add(all, Ordering::SeqCst);
        None
    });
    for subject in subjects(&run, &who, &tokens[0]) {
        block_on(world.kernel.void_grants(subject, &who.id)).unwrap();
    }
    // A record and an event each.
    assert_eq!((batches.load(Ordering::SeqCst), writes.load(Ordering::SeqCst)), (3, 6));
    faulty.heal();
    for token in tokens.iter().step_by(97) {
        let done = block_on(world.kernel.invoke(caller, token, &json!({}), ResponseMode::Table));
        assert_eq!(done.decision.primary_reason(), ReasonCode::TokenRevoked);
    }
}

/// A kernel on a file, with one tool.
fn opened(path: &std::path::Path, clock: &Arc<dyn Clock>) -> Kernel {
    let kernel = parts(sqlite(path), Arc::clone(clock), open_policy()).open().unwrap();
    let tool = FnDriver::inline(|_| Ok(RawResult::json(json!([{ "id": 1 }, { "id": 2 }]))));
    let capability = draft("fs.read", Effects::READ_LOCAL).build().unwrap();
    kernel.registry().register(capability, Arc::new(tool)).unwrap();
    kernel
}

/// One ledger may have a kernel for each tenant; a principal of another one is somebody else.
#[test]
fn who_is_revoked_in_one_tenant_is_not_in_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let world = World::new(open_policy());
    let clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &run, principal: &who };
    let expand = |handle: &HandleId| {
        block_on(opened(&path, &clock).expand(caller, handle, &HandleQuery::default()))
    };
    let handle = {
        let kernel = opened(&path, &clock);
        let done = block_on(kernel.execute(caller, asked.call()));
        done.result.unwrap().data.unwrap().handle.unwrap().handle_id
    };
    let subject = RevocationSubject::Principal(who.id.clone());
    {
        let tenant = Tenant::parse("other").unwrap();
        let settings = Settings { tenant, ..Settings::default() };
        let parts = parts(sqlite(&path), Arc::clone(&clock), open_policy());
        let other = parts.with_settings(settings).open().unwrap();
        block_on(other.void_grants(subject.clone(), &who.id)).unwrap();
    }
    assert_ne!(expand(&handle).decision.primary_reason(), ReasonCode::HandleRevoked);
    block_on(opened(&path, &clock).void_grants(subject, &who.id)).unwrap();
    remove_records(&path);
    assert_eq!(expand(&handle).decision.primary_reason(), ReasonCode::HandleRevoked);
}

/// Removes the records of all revocations, as whoever can write the store can.
fn remove_records(path: &std::path::Path) {
    let (ledger, tenant) = (sqlite(path), Tenant::default());
    let mut batch = Batch::new(Durability::Disk);
    for (id, _) in ledger.list(&tenant, Namespace::Revocation, None, 100).unwrap() {
        batch.delete.push(RecordKey::new(tenant.clone(), Namespace::Revocation, id));
    }
    assert_eq!(batch.delete.len(), 1);
    block_on(ledger.commit(batch)).unwrap();
}

#[test]
fn tokens_and_handles_stay_revoked_when_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    for (nth, removed) in (0..6).map(|round| (round % 3, round >= 3)) {
        let path = folder.path().join(format!("ledger-{nth}-{removed}.db"));
        let world = World::new(open_policy());
        let clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
        let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
        let caller = Caller { run: &run, principal: &who };
        let (used, unused, handle) = {
            let kernel = opened(&path, &clock);
            let grant = || block_on(kernel.grant(caller, asked.call())).token.unwrap();
            let (used, unused) = (grant(), grant());
            let done = block_on(kernel.invoke(caller, &used, &json!({}), ResponseMode::Table));
            let handle = done.result.unwrap().data.unwrap().handle.unwrap().handle_id;
            let query = HandleQuery::default();
            assert!(succeeded(&block_on(kernel.expand(caller, &handle, &query))));
            let mine = if nth == 0 { &used } else { &unused };
            let subject = subjects(&run, &who, mine)[nth].clone();
            block_on(kernel.void_grants(subject, &who.id)).unwrap();
            (used, unused, handle)
        };
        if removed {
            remove_records(&path);
        }
        world.clock.advance(Duration::from_secs(60));
        let again = opened(&path, &clock);
        let revoked = |token: &Token| {
            block_on(again.invoke(caller, token, &json!({}), ResponseMode::Table))
                .decision
                .primary_reason()
        };
        assert_eq!(revoked(&used), ReasonCode::TokenRevoked);
        if nth > 0 {
            assert_eq!(revoked(&unused), ReasonCode::TokenRevoked);
        }
        let seen = block_on(again.expand(caller, &handle, &HandleQuery::default()));
        assert_eq!(seen.decision.primary_reason(), ReasonCode::HandleRevoked, "{nth}");
        let fresh = block_on(again.execute(caller, asked.call()));
        assert!(succeeded(&fresh), "what is granted after it holds");
    }
}

#[test]
fn a_revocation_is_forgotten_once_it_can_void_nothing() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    let [subject, ..] = subjects(&run, &who, &token);
    block_on(world.kernel.void_grants(subject, &who.id)).unwrap();
    let held = || {
        let (tenant, of) = (Tenant::default(), Namespace::Revocation);
        world.ledger.list(&tenant, of, None, 100).unwrap().len()
    };
    assert_eq!(held(), 1);
    // A day at a time: a leap would not be believed.
    for _ in 0..40 {
        world.clock.advance(Duration::from_secs(20 * 3_600));
        assert!(succeeded(&world.call(&run, &who, &asked)));
    }
    assert_eq!(held(), 0);
}

#[test]
fn a_grant_that_is_revoked_between_two_attempts_is_not_tried_again() {
    let world = World::new(open_policy());
    let (began, begun) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let (began, gone) = (Mutex::new(began), Mutex::new(gone));
    let tried = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&tried);
    let spec = CapabilityDraft {
        idempotent: true,
        max_retries: 2,
        ..draft("fs.flaky", Effects::READ_LOCAL)
    };
    world.driven(
        spec,
        FnDriver::inline(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            began.lock().unwrap().send(()).unwrap();
            gone.lock().unwrap().recv().unwrap();
            Err(DriverError::Unavailable("not now".to_owned()))
        }),
    );
    let (run, who) = (world.run(), ana());
    let done = std::thread::scope(|scope| {
        let call = scope.spawn(|| world.call(&run, &who, &Asked::new("fs.flaky")));
        begun.recv().unwrap();
        let subject = RevocationSubject::Run(run.run_id.clone());
        block_on(world.kernel.void_grants(subject, &who.id)).unwrap();
        drop(go);
        call.join().unwrap()
    });
    assert_eq!(tried.load(Ordering::SeqCst), 1);
    assert!(!succeeded(&done));
    let kinds = kinds(world.ledger.as_ref());
    assert_eq!(kinds.iter().filter(|kind| *kind == "call.intent").count(), 1, "{kinds:?}");
}
