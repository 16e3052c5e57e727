//! The ledger open for writing.

use std::path::Path;

use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::LedgerError;

use crate::{Exit, Failure};

/// A ledger that a command writes. A daemon that owned it makes way until this is dropped.
pub(super) struct WritableLedger {
    pub(super) ledger: SqliteLedger,
    #[cfg(unix)]
    _loan: weaver_gateway::daemon::StoreLoan,
}

/// Opens a ledger that is there, as its only writer; `holder` is shown to others meanwhile.
pub(super) fn open(store: &Path, holder: &str) -> Result<WritableLedger, Failure> {
    // It is not made here, and a file that is none is named.
    drop(super::open(store)?);
    #[cfg(unix)]
    let loan = weaver_gateway::daemon::borrow_store(store)
        .map_err(|error| crate::daemon::failed(store, error))?;
    let options = OpenOptions { holder: holder.to_owned(), ..OpenOptions::default() };
    let opened = SqliteLedger::open(store, options).map_err(|error| match &error {
        LedgerError::Locked { path, holder } => {
            let message = format!("{path} is in use by {holder}");
            Failure::new(Exit::Store, error.code(), message)
                .next("this writes to the ledger: stop that process, then do it again")
        }
        _ => Failure::store(store, &error),
    })?;
    Ok(WritableLedger {
        ledger: opened,
        #[cfg(unix)]
        _loan: loan,
    })
}
