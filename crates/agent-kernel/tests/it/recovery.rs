//! A process that is killed in the middle of calls. This test binary runs itself as the child.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use weaver_agent_kernel::FnDriver;
use weaver_trace_store::verify::verify;
use weaver_types::ledger::Ledger;
use weaver_types::{Effects, Integrity, RawResult, RunId};

use crate::support::{
    self, Asked, Logged, World, ana, draft, fold, log, open_policy, snapshot, sqlite, succeeded,
};

const LEDGER: &str = "WEAVER_TEST_KERNEL_LEDGER";
const RUN: &str = "run_of_the_child";

/// What the child does: threads call for ever, once a call that never ends has begun.
#[test]
fn child() {
    let Ok(path) = std::env::var(LEDGER) else { return };
    let world = World::on(sqlite(Path::new(&path)), open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("fs.write", Effects::WRITE_LOCAL);
    let ids = ["fs.read", "fs.write", "fs.read", "fs.write", "fs.read"];
    let begun = Arc::new(Barrier::new(ids.len() + 1));
    let at_last = Arc::clone(&begun);
    let stuck = FnDriver::blocking(move |_| {
        at_last.wait();
        std::thread::sleep(Duration::from_secs(3_600));
        Ok(RawResult::text("never"))
    });
    let mut spec = draft("fs.stuck", Effects::WRITE_LOCAL);
    spec.timeout_ms = 60_000;
    world.driven(spec, stuck);
    let run = world.run().with_run_id(RunId::parse(RUN).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| world.call(&run, &ana(), &Asked::new("fs.stuck")));
        for id in ids {
            let (world, run, begun) = (&world, &run, &begun);
            scope.spawn(move || {
                begun.wait();
                loop {
                    let done = world.call(run, &ana(), &Asked::new(id));
                    assert!(succeeded(&done), "{done:?}");
                    let line = format!("\n@ {}\n", done.call);
                    let mut out = std::io::stdout().lock();
                    out.write_all(line.as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

/// Lets a child call for a while and kills it; the calls whose success it told of.
fn kill_in_the_middle(path: &Path, after: usize) -> BTreeSet<String> {
    let mut child = support::child("recovery::child", LEDGER, path);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = lines.map_while(Result::ok).filter_map(|line| {
        let call = line.strip_prefix("@ ")?;
        // A torn last line does not count.
        (call.len() == "call_".len() + 32).then(|| call.to_owned())
    });
    let mut seen: BTreeSet<String> = told.by_ref().take(after).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    seen.extend(told);
    seen
}

fn ends(log: &[Logged]) -> BTreeMap<&str, Vec<&str>> {
    let mut ends: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for event in log {
        if let Some(call) = &event.call {
            ends.entry(call).or_default().push(&event.kind);
        }
    }
    ends
}

#[test]
fn what_was_begun_and_never_ended_reads_as_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let run = RunId::parse(RUN).unwrap();
    let mut head = None;
    for round in 1..=4 {
        let told = kill_in_the_middle(&path, round * 15);
        let ledger = sqlite(&path);
        assert!(verify(ledger.as_ref(), head.as_ref()).is_ok());
        let before = log(ledger.as_ref());
        let open: BTreeSet<String> = ends(&before)
            .into_iter()
            .filter(|(_, kinds)| *kinds == ["call.intent"])
            .map(|(call, _)| call.to_owned())
            .collect();
        assert!(!open.is_empty(), "the call that never ends was open");
        assert!(told.is_disjoint(&open), "what was told has its outcome");

        let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
        let after = log(ledger.as_ref());
        let ends = ends(&after);
        for call in &open {
            assert_eq!(ends[call.as_str()], ["call.intent", "call.outcome_unknown"]);
        }
        for call in &told {
            assert_eq!(ends[call.as_str()], ["call.intent", "call.outcome"]);
        }
        assert_eq!(after.len(), before.len() + open.len(), "each is closed once");
        let state = snapshot(ledger.as_ref(), &run).unwrap();
        assert_eq!(state, fold(ledger.as_ref(), &run));
        assert_eq!(state.label.integrity, Integrity::Untrusted, "the run takes the worst label");
        let report = verify(ledger.as_ref(), head.as_ref()).unwrap();
        head = Some(report.head);
        drop(world);
    }
}
