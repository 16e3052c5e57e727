//! A log with more records than one page of the ledger holds.

use weaver_faults::workload::{self, RecoveredLog, check_recovery};
use weaver_trace_store::{OpenOptions, SqliteLedger};

use crate::support::{LEDGER, folder};

/// A fifth of the batches adds a record that stays, so that these are more than `MAX_PAGE`.
const BATCHES: u64 = 5_100;

#[test]
fn records_beyond_the_first_page_are_not_missed() {
    let folder = folder();
    let path = folder.path().join(LEDGER);
    let ledger = SqliteLedger::open(&path, OpenOptions::default()).unwrap();
    (0..BATCHES).for_each(|number| drop(workload::append(&ledger, number).unwrap()));
    drop(ledger);
    assert_eq!(check_recovery(&path, &[]), Ok(RecoveredLog { size: BATCHES }));
}
