//! Calls that fail, write less than asked, are interrupted, or are the last thing a process does:
//! each call in turn.

use std::path::Path;

use weaver_faults::image::{Disk, Loss};
use weaver_faults::run::RunOutcome;
use weaver_faults::workload::{self, check_recovery};

use crate::images::write_image;
use crate::support::{LEDGER, folder, is_long_run, run};

const WORK: [&str; 2] = ["2", "9"];

/// How a run with a fault ended.
#[derive(Debug, PartialEq, Eq)]
enum RunEnd {
    /// It completed as without the fault.
    Done,
    /// The ledger reported a failure and stayed closed.
    Failed,
    /// The ledger refused every batch until the end.
    Refused,
    /// The process was killed.
    Killed,
}

/// Runs with one fault, and checks that everything acknowledged was recovered: after the death of
/// the process, and after a power cut in addition.
fn run_with_fault(place: &Path, work: &[&str], fault: &str) -> RunEnd {
    let _ = std::fs::remove_dir_all(place);
    let outcome = run(place, work, Some(fault));
    let end = classify_end(&outcome, fault);
    let acknowledged = outcome.acknowledged();
    let heads: Vec<_> = acknowledged.iter().map(|one| one.head.clone()).collect();
    let mut disk = Disk::new();
    outcome.steps.iter().for_each(|step| disk.apply(step));

    let left = check_recovery(&place.join(LEDGER), &heads);
    let left = left.unwrap_or_else(|error| panic!("{fault}: {error}")).size;
    assert_eq!(workload::lost_batches(&acknowledged, left, false), [0; 0], "{fault}");

    let seeds = [3, 7].map(|seed| Loss::Torn { page: 512, seed });
    for loss in [Loss::All].into_iter().chain(seeds) {
        let image = place.with_extension("image");
        write_image(&disk.crash(loss), &image);
        let left = check_recovery(&image.join(LEDGER), &heads);
        let left = left.unwrap_or_else(|error| panic!("{fault}, {loss:?}: {error}")).size;
        assert_eq!(workload::lost_batches(&acknowledged, left, true), [0; 0], "{fault}, {loss:?}");
    }
    end
}

/// The last line says how it ended, and nothing else is said but acknowledgements.
fn classify_end(outcome: &RunOutcome, fault: &str) -> RunEnd {
    let last = outcome.lines.last().map(String::as_str).unwrap_or_default();
    let others = outcome.lines.len() - outcome.acknowledged().len();
    assert_eq!(outcome.stderr, "", "{fault}");
    if fault.contains("kill") {
        assert!(!outcome.success && others == 0, "{fault}: {outcome:?}");
        return RunEnd::Killed;
    }
    assert_eq!(others, 1, "{fault}: {:?}", outcome.lines);
    if outcome.success {
        assert_eq!(last, "done", "{fault}");
        return RunEnd::Done;
    }
    if last.starts_with("failed ledger.full the ledger is full for now: the disk takes no more") {
        return RunEnd::Refused;
    }
    assert!(last.starts_with("failed ledger.failed the ledger failed and is closed: "), "{last}");
    RunEnd::Failed
}

/// How many calls a run without a fault makes.
fn count_calls(place: &Path) -> usize {
    let outcome = run(place, &WORK, None);
    assert!(outcome.success);
    let calls = outcome.calls();
    assert!(calls > 200, "{calls}");
    calls
}

/// Every call, or in the normal run every `stride`-th, each action beginning elsewhere.
fn sampled_calls(calls: usize, stride: usize, begin: usize) -> impl Iterator<Item = usize> {
    let stride = if is_long_run() { 1 } else { stride };
    (1..=calls).skip(begin % stride).step_by(stride)
}

#[test]
fn a_failing_call_is_never_a_success() {
    let folder = folder();
    let calls = count_calls(&folder.path().join("whole"));
    let place = folder.path().join("failed");
    for (begin, action) in ["EIO", "ENOSPC", "EINTR", "EMFILE", "short"].into_iter().enumerate() {
        let mut ends = Vec::new();
        for nth in sampled_calls(calls, 20, begin * 7) {
            ends.push(run_with_fault(&place, &WORK, &format!("any:{nth}:{action}")));
        }
        let failed = ends.iter().filter(|end| **end == RunEnd::Failed).count();
        println!("{action}: {} calls failed, {failed} of them closed the ledger", ends.len());
        // A write that is cut short or interrupted is made again; one that was not made is refused
        // to whoever asked for it, and nobody else. Syncs, opens and the shared memory close it.
        let fatal = matches!(action, "EIO" | "ENOSPC" | "EMFILE");
        assert!(failed > 0 || !fatal, "{action}: {ends:?}");
        assert!(failed < ends.len() / 2, "{action}: {ends:?}");
    }
}

#[test]
fn writes_that_fail_for_a_while_take_nothing_with_them_and_the_ledger_goes_on() {
    let folder = folder();
    let calls = count_calls(&folder.path().join("whole"));
    let place = folder.path().join("failed");
    let mut gone_on = 0;
    let mut all = 0;
    for (begin, action) in ["ENOSPC", "EIO"].into_iter().enumerate() {
        for nth in sampled_calls(calls * 2 / 3, 12, begin * 5) {
            for more in [0, 3, 7] {
                let fault = format!("write:{nth}-{}:{action}", nth + more);
                gone_on += usize::from(run_with_fault(&place, &WORK, &fault) == RunEnd::Done);
                all += 1;
            }
        }
    }
    println!("{gone_on} of {all} outages were sat out");
    assert!(gone_on > all * 3 / 4, "{gone_on} of {all}");
}

#[test]
fn each_sync_that_fails_closes_the_ledger_or_takes_nothing_with_it() {
    let folder = folder();
    let whole = run(&folder.path().join("whole"), &WORK, None);
    let syncs =
        whole.steps.iter().filter(|step| matches!(step, weaver_faults::trace::Step::Sync(_)));
    let syncs = syncs.count();
    assert!(syncs > 10, "{syncs}");
    let place = folder.path().join("failed");
    let mut failed = 0;
    for nth in sampled_calls(syncs, 2, 0) {
        // This one alone, as after a passing fault; and all from here on.
        for fault in [format!("sync:{nth}:EIO"), format!("sync:{nth}+:EIO")] {
            failed += usize::from(run_with_fault(&place, &WORK, &fault) == RunEnd::Failed);
        }
    }
    assert!(failed >= 10, "{failed}");
}

#[test]
fn while_a_disk_stays_full_nothing_is_taken() {
    let folder = folder();
    let calls = count_calls(&folder.path().join("whole"));
    let place = folder.path().join("failed");
    let mut failed = 0;
    for nth in sampled_calls(calls * 2 / 3, 24, 5) {
        let end = run_with_fault(&place, &WORK, &format!("write:{nth}+:ENOSPC"));
        failed += usize::from(matches!(end, RunEnd::Refused | RunEnd::Failed));
    }
    assert!(failed >= 4, "{failed}");
}

#[test]
fn a_process_killed_at_any_call_loses_nothing_acknowledged() {
    let folder = folder();
    let calls = count_calls(&folder.path().join("whole"));
    let place = folder.path().join("killed");
    for (begin, action) in ["kill-before", "kill-after"].into_iter().enumerate() {
        for nth in sampled_calls(calls, 12, begin * 5) {
            assert_eq!(
                run_with_fault(&place, &WORK, &format!("any:{nth}:{action}")),
                RunEnd::Killed
            );
        }
    }
}
