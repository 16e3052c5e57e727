//! The stored state of a run is the fold over its events, whatever happens.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use weaver_agent_kernel::{Caller, DriverError, RevocationSubject, block_on};
use weaver_firewall::{HandleQuery, SessionBudget};
use weaver_types::ledger::{Ledger, LedgerError};
use weaver_types::{Effects, HandleId, RawResult, RunBudget, SafetyMode};

use crate::support::{
    Asked, Faulty, World, ana, draft, fold, memory, open_policy, snapshot, sqlite,
};

/// The tokens of a run: some of its calls are refused for want of them.
const TOTAL: u32 = 1_500;

#[derive(Debug, Clone)]
enum Step {
    Call(&'static str),
    View,
    Shortlist,
    /// So many commits from here on are refused.
    Refuse(u8),
    Revoke,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => prop::sample::select(vec!["fs.read", "fs.write", "fs.fail", "fs.lost", "no.such"])
            .prop_map(Step::Call),
        2 => Just(Step::View),
        1 => Just(Step::Shortlist),
        1 => (1_u8..4).prop_map(Step::Refuse),
        1 => Just(Step::Revoke),
        1 => Just(Step::Reopen),
    ]
}

fn world(ledger: Arc<dyn Ledger>) -> World {
    let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(TOTAL);
    let world = World::bounded(ledger, open_policy(), session);
    world.tool("fs.read", Effects::READ_LOCAL).tool("fs.write", Effects::WRITE_LOCAL);
    world.answering(draft("fs.fail", Effects::READ_LOCAL), |_| Ok(RawResult::text("no").failed()));
    world.answering(draft("fs.lost", Effects::WRITE_LOCAL), |_| {
        Err(DriverError::Lost("gone".to_owned()))
    });
    world
}

fn play(inner: Arc<dyn Ledger>, steps: &[Step]) {
    let ledger = Faulty::new(inner);
    let shared = || Arc::clone(&ledger) as Arc<dyn Ledger>;
    let mut world = world(shared());
    let budget = RunBudget { max_tool_calls: Some(12), ..RunBudget::unlimited() };
    let (run, who) = (world.run_with(budget, SafetyMode::Normal), ana());
    let mut handle = HandleId::parse("hdl_1").unwrap();
    for step in steps {
        let caller = Caller { run: &run, principal: &who };
        match step {
            Step::Call(id) => {
                let done = world.call(&run, &who, &Asked::new(id).with(json!({"a": [1, 2, 3]})));
                let frame = done.result.and_then(|result| result.data);
                if let Some(found) = frame.and_then(|frame| frame.handle) {
                    handle = found.handle_id;
                }
            }
            Step::View => {
                block_on(world.kernel.expand(caller, &handle, &HandleQuery::default()));
            }
            Step::Shortlist => {
                let _ = block_on(world.kernel.record_shortlist(caller, "tidy up", &[]));
            }
            Step::Refuse(times) => {
                let left = std::sync::atomic::AtomicU8::new(*times);
                ledger.fail(move |_| {
                    use std::sync::atomic::Ordering::SeqCst;
                    let refuse = left.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok();
                    refuse.then(|| LedgerError::Malformed("busy".to_owned()))
                });
            }
            Step::Revoke => {
                let subject = RevocationSubject::Principal(who.id.clone());
                let _ = block_on(world.kernel.void_grants(subject, &who.id));
                world.clock.advance(std::time::Duration::from_secs(1));
            }
            Step::Reopen => {
                ledger.heal();
                world = self::world(shared());
            }
        }
        let folded = fold(ledger.as_ref(), &run.run_id);
        assert_eq!(snapshot(ledger.as_ref(), &run.run_id).unwrap_or_default(), folded, "{step:?}");
        assert!(folded.meters.tool_calls <= 12);
        let session = world.kernel.token_session(&run).unwrap();
        let used = folded.meters.prompt_tokens.min(TOTAL.into());
        assert_eq!(u64::from(session.used()), used, "{step:?}");
        assert_eq!(session.remaining(), TOTAL - session.used(), "nothing stays reserved");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fold_and_snapshot_agree_in_memory(steps in prop::collection::vec(step(), 1..40)) {
        play(memory(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fold_and_snapshot_agree_on_sqlite(steps in prop::collection::vec(step(), 1..25)) {
        let folder = tempfile::tempdir().unwrap();
        play(sqlite(&folder.path().join("ledger.db")), &steps);
    }
}
