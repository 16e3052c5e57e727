//! A process that is killed while a driver works: nobody knows what became of the effect.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use weaver_agent_kernel::FnDriver;
use weaver_types::ledger::Ledger;
use weaver_types::{CapabilityDraft, Confidentiality, Effects, Integrity, RawResult, RunId};

use crate::support::{
    self, Asked, Logged, World, ana, draft, fold, log, open_policy, snapshot, sqlite, succeeded,
};

const LEDGER: &str = "WEAVER_TEST_IN_DOUBT_LEDGER";
const RUN: &str = "run_in_doubt";

/// A capability that may be repeated, with results that are restricted.
fn secret(id: &str) -> CapabilityDraft {
    let mut draft = draft(id, Effects::WRITE_LOCAL);
    draft.output_label.confidentiality = Confidentiality::Restricted;
    draft.idempotent = true;
    draft.max_retries = 3;
    draft.timeout_ms = 60_000;
    draft
}

/// What the child does: one call whose driver tells that its effect is done, and never comes back.
#[test]
fn child() {
    let Ok(path) = std::env::var(LEDGER) else { return };
    let world = World::on(sqlite(Path::new(&path)), open_policy());
    let driver = FnDriver::blocking(|_| {
        println!("\n@ done");
        std::thread::sleep(std::time::Duration::from_secs(3_600));
        Ok(RawResult::text("never"))
    });
    world.driven(secret("vault.write"), driver);
    let run = world.run().with_run_id(RunId::parse(RUN).unwrap());
    world.call(&run, &ana(), &Asked::new("vault.write"));
}

/// Kills a child in the middle of its driver.
fn killed(path: &Path) {
    let mut child = support::child("in_doubt::child", LEDGER, path);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).any(|line| line == "@ done");
    assert!(told, "the driver was never called");
    child.kill().unwrap();
    child.wait().unwrap();
}

fn ends(log: &[Logged]) -> BTreeMap<String, Vec<String>> {
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in log {
        if let Some(call) = &event.call {
            ends.entry(call.clone()).or_default().push(event.kind.clone());
        }
    }
    ends
}

#[test]
fn a_call_killed_in_its_driver_is_unknown_never_a_success_and_never_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    killed(&path);
    let run = RunId::parse(RUN).unwrap();
    for opening in 1..=3 {
        let ledger = sqlite(&path);
        let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
        // The same tool is there again, and it may be repeated.
        world.register(secret("vault.write")).tool("fs.read", Effects::READ_LOCAL);
        let read = world.call(&world.run(), &ana(), &Asked::new("fs.read"));
        assert!(succeeded(&read));
        assert_eq!(world.executed(), 1, "only what was asked for now");

        let events = log(ledger.as_ref());
        let ends = ends(&events);
        let doubtful: Vec<_> = ends
            .values()
            .filter(|kinds| kinds.contains(&"call.outcome_unknown".to_owned()))
            .collect();
        assert_eq!(doubtful, [&["call.intent", "call.outcome_unknown"]], "opening {opening}");
        // The run is labelled with the worst that the call could have shown.
        let state = snapshot(ledger.as_ref(), &run).unwrap();
        assert_eq!(state, fold(ledger.as_ref(), &run));
        assert_eq!(state.label.confidentiality, Confidentiality::Restricted);
        assert_eq!(state.label.integrity, Integrity::Untrusted);
    }
}
