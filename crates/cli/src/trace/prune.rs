//! `weaver trace prune`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use weaver_trace_store::index::Index;
use weaver_trace_store::retention::{
    MIN_AGE, Retention, RetentionError, RetentionRule, RetentionSweep, SweepStep, SweepTally,
};
use weaver_types::Tenant;
use weaver_types::ledger::Ledger;

use super::progress::Progress;
use super::proof_args::Prune;
use super::writable_ledger;
use crate::{Exit, Failure, ledger_clock, output};

pub(super) fn run(args: &Prune) -> Result<Exit, Failure> {
    let store = args.store.as_path();
    let failed = |error| retention_failure(store, error);
    let rule = RetentionRule {
        older_than: args.older_than,
        principal: args.principal.clone(),
        tag: args.tag.clone(),
        kinds: args.kind.clone(),
    };
    let retention = Retention::new(vec![rule], MIN_AGE).map_err(failed)?;
    let mut tally = SweepTally::default();
    let (swept, left) = if args.dry_run {
        // Reads beside the daemon, which keeps its store.
        let reader = super::open_ledger(store)?;
        let now = ledger_clock::now(store, &reader)?;
        let sweep = RetentionSweep::resume(&reader, retention, &args.by, now).map_err(failed)?;
        (sweep_all(sweep, &reader, &mut tally, |_, step| Ok(step)), false)
    } else {
        let opened = writable_ledger::open(store, "weaver trace prune")?;
        let ledger = &opened.ledger;
        let now = ledger_clock::now(store, ledger)?;
        let sweep = RetentionSweep::resume(ledger, retention, &args.by, now).map_err(failed)?;
        let swept = sweep_all(sweep, ledger, &mut tally, |sweep, step| sweep.commit(ledger, step));
        drop(opened);
        (swept, tally.total() > 0 && bytes_left_in_wal(store)?)
    };
    swept.map_err(failed)?;
    print_report(args, &tally, left)?;
    Ok(Exit::Ok)
}

/// Takes every step of the sweep, and counts what `commit` did of each.
fn sweep_all(
    mut sweep: RetentionSweep,
    ledger: &dyn Ledger,
    tally: &mut SweepTally,
    commit: impl Fn(&mut RetentionSweep, SweepStep) -> Result<SweepStep, RetentionError>,
) -> Result<(), RetentionError> {
    let mut progress = Progress::new("looked at");
    let mut next_step = || -> Result<bool, RetentionError> {
        let Some(step) = sweep.step(ledger, &[Tenant::default()])? else { return Ok(false) };
        tally.add(&commit(&mut sweep, step)?);
        let (done, all) = sweep.progress();
        progress.at(done, all);
        Ok(true)
    };
    let swept = loop {
        match next_step() {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    progress.end();
    swept
}

/// Removes pruned events from the index. Returns whether their bytes are still in the write-ahead
/// log.
fn bytes_left_in_wal(store: &Path) -> Result<bool, Failure> {
    let reader = super::open_ledger(store)?;
    if let Some(index) = Index::find(store, &reader) {
        let mut progress = Progress::new("indexed");
        let built = index.catch_up(&reader, &mut |done, all| progress.at(done, all));
        progress.end();
        drop(index);
        if built.is_err() {
            // The index must not keep pruned data; it is rebuilt when needed.
            Index::remove(store).map_err(|error| {
                Failure::new(Exit::Store, error.code(), error)
                    .with_next_step("the ledger is pruned, its index is not: delete the index")
            })?;
        }
    }
    drop(reader);
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    Ok(std::fs::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > 0))
}

fn print_report(args: &Prune, tally: &SweepTally, left: bool) -> Result<(), Failure> {
    let total = tally.total();
    if args.output.json {
        let reasons: BTreeMap<&str, u64> =
            tally.pruned.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
        output::json(&json!({
            "ok": true,
            "dry_run": args.dry_run,
            "looked": tally.examined,
            "pruned": total,
            "reasons": reasons,
            "bytes": tally.bytes,
            "kept": tally.kept,
            "bytes_left_in_log": left,
        }))?;
        return Ok(());
    }
    let did = if args.dry_run { "would prune" } else { "pruned" };
    let mut text = format!(
        "{did} {total} payloads ({} bytes) of {} events looked at\n",
        tally.bytes, tally.examined
    );
    if tally.kept > 0 {
        text.push_str(&format!(
            "{} more are old enough and stay: what they tell of is still open\n",
            tally.kept
        ));
    }
    if left {
        text.push_str(
            "another process reads the ledger: the bytes lie in its write-ahead log until it is \
             opened for writing again\n",
        );
    }
    Ok(output::text(&text)?)
}

fn retention_failure(store: &Path, error: RetentionError) -> Failure {
    match error {
        RetentionError::Ledger(error) => Failure::store(store, &error),
        error => Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("`weaver trace prune --help` shows an example"),
    }
}
