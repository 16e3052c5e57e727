//! Outages: what keeps the ledger from being written for a while, such as a full disk.

use std::time::Duration;

use weaver_types::ledger::LedgerError;

use super::Writer;
use crate::log::Tip;
use crate::sqlite::fault::{fatal, from_sql, passes};
use crate::sqlite::reader::PATIENCE;
use crate::sqlite::sums::Sums;
use crate::sqlite::{foreign_write, tiles};

impl Writer {
    /// Whether nothing keeps the ledger from being written any more. What did is over once the
    /// write lock can be had, and the file is as this process left it.
    pub(super) fn is_over(&mut self) -> Result<bool, LedgerError> {
        if self.outage.is_none() {
            return Ok(true);
        }
        self.watch.check()?;
        self.wait(Duration::ZERO)?;
        let begun = self.sql("BEGIN IMMEDIATE");
        self.wait(PATIENCE)?;
        match begun {
            Err(error) if passes(&error) => {
                self.outage = Some(self.named(error, Duration::ZERO));
                return Ok(false);
            }
            begun => begun?,
        }
        foreign_write::compare(&self.db, &self.tip, &self.sums)?;
        self.foreign_writes.check(&self.db, &self.tip, &self.sums)?;
        self.tiles = tiles::growing(&self.db, self.tip.frontier.size())?;
        self.sql("ROLLBACK")?;
        self.outage = None;
        Ok(true)
    }

    /// How long a statement waits for other processes.
    pub(super) fn wait(&self, patience: Duration) -> Result<(), LedgerError> {
        self.db.busy_timeout(patience).map_err(|error| from_sql(&error))
    }

    /// Names the file that was waited for.
    pub(super) fn named(&self, error: LedgerError, waited: Duration) -> LedgerError {
        match error {
            LedgerError::Busy { .. } => LedgerError::Busy {
                path: self.watch.ledger().display().to_string(),
                waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
            },
            other => other,
        }
    }

    /// Undoes what a transaction did that failed, where the failure passes; any other is given
    /// back.
    pub(super) fn roll_back(
        &mut self,
        tip: Tip,
        sums: Sums,
        error: LedgerError,
    ) -> Result<LedgerError, LedgerError> {
        if !passes(&error) {
            return Err(error);
        }
        // SQLite ends some of them by itself.
        if !self.db.is_autocommit() {
            self.sql("ROLLBACK").map_err(|error| fatal(&error))?;
        }
        (self.tip, self.sums) = (tip, sums);
        self.orphans.rolled_back();
        let error = self.named(error, PATIENCE);
        self.outage = Some(error.clone());
        Ok(error)
    }
}
