//! Detects writes by other programs while the file is in use.
//!
//! `PRAGMA data_version` changes whenever another connection has committed. It is checked inside
//! every transaction before anything is written. A changed number alone is harmless, since a
//! checkpoint by another tool changes it too. In that case the end of the log, the schema and the
//! tables beside the log are compared with what this process wrote.

use rusqlite::Connection;
use weaver_types::ledger::LedgerError;

use super::error_mapping::{damaged_error, from_sql};
use super::integrity_sums::IntegritySums;
use super::{foreign_objects, schema};
use crate::log::LogTip;

/// The data version at the last check.
pub(super) struct ForeignWriteCheck {
    version: i64,
}

impl ForeignWriteCheck {
    pub(super) fn begin(db: &Connection) -> Result<Self, LedgerError> {
        Ok(Self { version: version(db)? })
    }

    /// Called inside a transaction. If another connection has committed, compares the file with
    /// what this process wrote last.
    pub(super) fn check(
        &mut self,
        db: &Connection,
        tip: &LogTip,
        sums: &IntegritySums,
    ) -> Result<(), LedgerError> {
        let now = version(db)?;
        if now == self.version {
            return Ok(());
        }
        compare(db, tip, sums)?;
        if let Some(part) = sums.first_mismatch(db)? {
            return Err(damaged_error(format!("another program changed the {}", part.name())));
        }
        self.version = now;
        Ok(())
    }
}

/// Checks that the log ends where this process left it, in our own schema: everything that was
/// acknowledged is there, and nothing else.
pub(super) fn compare(
    db: &Connection,
    tip: &LogTip,
    sums: &IntegritySums,
) -> Result<(), LedgerError> {
    foreign_objects::refuse_foreign(schema::foreign_objects(db)?)?;
    let found = schema::load_tip(db)?;
    if found.head() != tip.head() || found.latest_time != tip.latest_time {
        return Err(damaged_error(format!(
            "the log ends after {} events, and not with those that were written last; another \
             program wrote the file",
            found.frontier.size()
        )));
    }
    if IntegritySums::load(db)? != *sums {
        return Err(damaged_error("the sums beside the log were changed by another program"));
    }
    Ok(())
}

fn version(db: &Connection) -> Result<i64, LedgerError> {
    db.prepare_cached("PRAGMA data_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| from_sql(&error))
}
