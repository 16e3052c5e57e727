//! `weaver trace prune`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use weaver_trace_store::index::Index;
use weaver_trace_store::retention::{
    LEAST_AGE, Retention, RetentionError, Rule, Sweep, SweepTally,
};
use weaver_types::{Clock as _, SystemClock, Tenant};

use super::progress::Progress;
use super::proof_args::Prune;
use super::writing;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Prune) -> Result<Exit, Failure> {
    let store = args.store.as_path();
    let failed = |error| failed(store, error);
    let rule = Rule {
        older_than: args.older_than,
        principal: args.principal.clone(),
        tag: args.tag.clone(),
        kinds: args.kind.clone(),
    };
    let retention = Retention::new(vec![rule], LEAST_AGE).map_err(failed)?;
    let opened = writing::open(store, "weaver trace prune")?;
    let ledger = &opened.ledger;
    let now = SystemClock::default().now();
    let mut sweep = Sweep::resume(ledger, retention, &args.by, now).map_err(failed)?;
    let mut tally = SweepTally::default();
    let mut progress = Progress::new("looked at");
    let mut go_on = || -> Result<bool, RetentionError> {
        let Some(step) = sweep.step(ledger, &[Tenant::default()])? else { return Ok(false) };
        tally.add(&if args.dry_run { step } else { sweep.commit(ledger, step)? });
        let (done, all) = sweep.progress();
        progress.at(done, all);
        Ok(true)
    };
    let swept = loop {
        match go_on() {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    progress.end();
    drop(opened);
    let left = !args.dry_run && tally.total() > 0 && leaves_behind(store)?;
    swept.map_err(failed)?;
    report(args, &tally, left)?;
    Ok(Exit::Ok)
}

/// Takes what was pruned out of the index too. Whether its bytes still lie in the write-ahead log.
fn leaves_behind(store: &Path) -> Result<bool, Failure> {
    let reader = super::open(store)?;
    if let Some(index) = Index::find(store, &reader) {
        let mut progress = Progress::new("indexed");
        let built = index.catch_up(&reader, &mut |done, all| progress.at(done, all));
        progress.end();
        drop(index);
        if built.is_err() {
            // It must not keep what is gone; it is made anew when it is asked for.
            Index::remove(store).map_err(|error| {
                Failure::new(Exit::Store, error.code(), error)
                    .next("the ledger is pruned, its index is not: delete the index")
            })?;
        }
    }
    drop(reader);
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    Ok(std::fs::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > 0))
}

fn report(args: &Prune, tally: &SweepTally, left: bool) -> Result<(), Failure> {
    let total = tally.total();
    if args.output.json {
        let reasons: BTreeMap<&str, u64> =
            tally.pruned.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
        output::json(&json!({
            "ok": true,
            "dry_run": args.dry_run,
            "looked": tally.looked,
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
        tally.bytes, tally.looked
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

fn failed(store: &Path, error: RetentionError) -> Failure {
    match error {
        RetentionError::Ledger(error) => Failure::store(store, &error),
        error => Failure::new(Exit::Usage, error.code(), error)
            .next("`weaver trace prune --help` shows an example"),
    }
}
