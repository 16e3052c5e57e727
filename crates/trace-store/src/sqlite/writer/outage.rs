//! Outages: transient problems, such as a full disk, that keep the ledger from being written.

use std::time::Duration;

use weaver_types::ledger::LedgerError;

use super::Writer;
use crate::log::LogTip;
use crate::sqlite::error_mapping::{as_fatal, from_sql, is_transient};
use crate::sqlite::integrity_sums::IntegritySums;
use crate::sqlite::reader::BUSY_TIMEOUT;
use crate::sqlite::{foreign_write, tiles};

impl Writer {
    /// Whether writing is possible again. An outage is over once the write lock can be taken and
    /// the file is as this process left it.
    pub(super) fn is_outage_over(&mut self) -> Result<bool, LedgerError> {
        if self.outage.is_none() {
            return Ok(true);
        }
        self.watch.check()?;
        self.set_busy_timeout(Duration::ZERO)?;
        let begun = self.sql("BEGIN IMMEDIATE");
        self.set_busy_timeout(BUSY_TIMEOUT)?;
        match begun {
            Err(error) if is_transient(&error) => {
                self.outage = Some(self.with_path(error, Duration::ZERO));
                return Ok(false);
            }
            begun => begun?,
        }
        foreign_write::compare(&self.db, &self.tip, &self.sums)?;
        self.foreign_writes.check(&self.db, &self.tip, &self.sums)?;
        self.tiles = tiles::load_partial_tiles(&self.db, self.tip.frontier.size())?;
        self.sql("ROLLBACK")?;
        self.outage = None;
        Ok(true)
    }

    /// Sets how long a statement waits for other processes.
    pub(super) fn set_busy_timeout(&self, patience: Duration) -> Result<(), LedgerError> {
        self.db.busy_timeout(patience).map_err(|error| from_sql(&error))
    }

    /// Adds the path of the file to a busy error.
    pub(super) fn with_path(&self, error: LedgerError, waited: Duration) -> LedgerError {
        match error {
            LedgerError::Busy { .. } => LedgerError::Busy {
                path: self.watch.ledger().display().to_string(),
                waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
            },
            other => other,
        }
    }

    /// Undoes a failed transaction if the failure is transient, and starts an outage; any other
    /// error is returned.
    pub(super) fn roll_back(
        &mut self,
        tip: LogTip,
        sums: IntegritySums,
        error: LedgerError,
    ) -> Result<LedgerError, LedgerError> {
        if !is_transient(&error) {
            return Err(error);
        }
        // SQLite has already rolled back some of them.
        if !self.db.is_autocommit() {
            self.sql("ROLLBACK").map_err(|error| as_fatal(&error))?;
        }
        (self.tip, self.sums) = (tip, sums);
        self.orphans.rolled_back();
        let error = self.with_path(error, BUSY_TIMEOUT);
        self.outage = Some(error.clone());
        Ok(error)
    }
}
