//! Opens the ledger for writing.

use std::path::Path;

use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::LedgerError;

use crate::{Exit, Failure};

/// A ledger that a command writes. A daemon that owns it lends it until this is dropped.
pub(super) struct WritableLedger {
    pub(super) ledger: SqliteLedger,
    _loan: weaver_gateway::daemon::StoreLoan,
}

/// Opens an existing ledger as its only writer; others see `holder` meanwhile.
pub(super) fn open(store: &Path, holder: &str) -> Result<WritableLedger, Failure> {
    // A missing file or one that is no ledger is an error, not created.
    drop(super::open_ledger(store)?);
    let loan = weaver_gateway::daemon::borrow_store(store)
        .map_err(|error| crate::daemon::daemon_failure(store, error))?;
    let options = OpenOptions { holder: holder.to_owned(), ..OpenOptions::default() };
    let opened = SqliteLedger::open(store, options).map_err(|error| match &error {
        LedgerError::Locked { path, holder } => {
            let message = format!("{path} is in use by {holder}");
            Failure::new(Exit::Store, error.code(), message)
                .with_next_step("this writes to the ledger: stop that process, then do it again")
        }
        _ => Failure::store(store, &error),
    })?;
    Ok(WritableLedger { ledger: opened, _loan: loan })
}
