//! Short ways to make ledgers and batches.

use std::sync::Arc;

use serde_json::Value;
use weaver_trace_store::MemoryLedger;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{CallId, EventKind, LogId, OsRandom, RunId, Timestamp};

pub(crate) fn memory() -> MemoryLedger {
    MemoryLedger::new(LogId::parse("log_test").unwrap(), Arc::new(OsRandom))
}

pub(crate) fn event(at: i64, payload: String) -> NewEvent {
    NewEvent {
        kind: EventKind::Intent,
        at: Timestamp::from_micros(at),
        run: None,
        call: None,
        payload: payload.into_bytes().into(),
    }
}

/// An event as the kernel writes it: of a kind, in a run and a call, each of which may be empty for
/// none.
pub(crate) fn told(
    kind: EventKind,
    at: i64,
    (run, call): (&str, &str),
    payload: &Value,
) -> NewEvent {
    NewEvent {
        kind,
        at: Timestamp::from_micros(at),
        run: RunId::parse(run).ok(),
        call: CallId::parse(call).ok(),
        payload: canonical::to_bytes(payload, Profile::Record).unwrap().into(),
    }
}

/// A ledger in memory that holds these events.
pub(crate) fn ledger_of(events: &[NewEvent]) -> MemoryLedger {
    let ledger = memory();
    for events in events.chunks(100) {
        let batch = Batch { events: events.to_vec(), ..Batch::new(Durability::Os) };
        ledger.commit(batch).wait().unwrap();
    }
    ledger
}

/// A batch with one event that holds its number.
pub(crate) fn numbered(n: u64, durability: Durability) -> Batch {
    Batch::new(durability).with_event(event(1_000, format!("{{\"n\":{n}}}")))
}

pub(crate) fn key(id: &str) -> weaver_types::ledger::RecordKey {
    let namespace = weaver_types::ledger::Namespace::TokenUse;
    weaver_types::ledger::RecordKey::new(weaver_types::Tenant::default(), namespace, id)
}

/// Appends `count` events, one a batch.
pub(crate) fn fill(ledger: &dyn Ledger, count: u64) {
    for n in 0..count {
        ledger.commit(numbered(n, Durability::Os)).wait().unwrap();
    }
}

pub(crate) fn open(path: &std::path::Path) -> weaver_trace_store::SqliteLedger {
    weaver_trace_store::SqliteLedger::open(path, weaver_trace_store::OpenOptions::default())
        .unwrap()
}

/// Changes a file behind the back of the store.
pub(crate) fn change(path: &std::path::Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Starts this test binary as a child that runs one test, told the path by a variable.
pub(crate) fn child(test: &str, variable: &str, path: &std::path::Path) -> std::process::Child {
    use std::process::{Command, Stdio};
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(variable, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How often a child that runs one test has synced the write-ahead log since it last said `begin`,
/// each time that it says one of these; `None` where `strace` is missing or not allowed.
#[cfg(target_os = "linux")]
pub(crate) fn syncs_of(
    test: &str,
    variable: &str,
    folder: &std::path::Path,
    stages: &[&str],
) -> Option<Vec<usize>> {
    use std::process::{Command, Stdio};
    let trace = folder.join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "32", "-e", "trace=fsync,fdatasync,write", "-o"]);
    command
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"]);
    command.env(variable, folder.join("store")).stdout(Stdio::null()).stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: strace is missing or not allowed here, so no sync was looked for");
        return None;
    }
    let (mut syncs, mut seen) = (0, Vec::new());
    for line in std::fs::read_to_string(&trace).unwrap().lines() {
        if line.contains("@ begin") {
            syncs = 0;
        } else if line.contains("sync(") && line.contains("-wal>") {
            syncs += 1;
        } else if stages.iter().any(|stage| line.contains(&format!("@ {stage}"))) {
            seen.push(syncs);
        }
    }
    Some(seen)
}
