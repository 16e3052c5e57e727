//! Both backends pass the one list of checks.

use std::sync::Arc;

use weaver_trace_store::{MemoryBlobs, MemoryLedger, OpenOptions, SqliteLedger, conformance};
use weaver_types::{LogId, OsRandom};

const NONE: &[String] = &[];

#[test]
fn the_memory_ledger_conforms() {
    let findings = conformance::check_ledger(&mut || {
        Ok(Box::new(MemoryLedger::new(LogId::parse("log_1").unwrap(), Arc::new(OsRandom))))
    });
    assert_eq!(findings, NONE);
    assert_eq!(conformance::check_blobs(&MemoryBlobs::new([1; 32])), NONE);
}

#[test]
fn the_sqlite_ledger_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    let findings = conformance::check_ledger(&mut || {
        count += 1;
        let path = folder.path().join(format!("{count}.db"));
        SqliteLedger::open(path, OpenOptions::default())
            .map(|ledger| Box::new(ledger) as Box<_>)
            .map_err(Into::into)
    });
    assert_eq!(findings, NONE);
    let findings = conformance::check_reopening(&mut || {
        SqliteLedger::open(folder.path().join("again.db"), OpenOptions::default())
            .map(|ledger| Box::new(ledger) as Box<_>)
            .map_err(Into::into)
    });
    assert_eq!(findings, NONE);
    let findings = conformance::check_exclusive(&mut || {
        SqliteLedger::open(folder.path().join("one.db"), OpenOptions::default())
            .map(|ledger| Box::new(ledger) as Box<_>)
    });
    assert_eq!(findings, NONE);
    let ledger =
        SqliteLedger::open(folder.path().join("blobs.db"), OpenOptions::default()).unwrap();
    assert_eq!(conformance::check_blobs(&ledger.blobs()), NONE);
}
