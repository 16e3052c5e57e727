//! Whether anybody else has written the file while it is in use here.
//!
//! SQLite gives each connection a number that changes once another connection has committed. It is
//! looked at inside of every transaction, before anything is written. A changed number alone is no
//! harm, since a checkpoint of a reader's tool changes it too: then the end of the log, the schema
//! and everything beside the log are compared with what this process wrote.

use rusqlite::Connection;
use weaver_types::ledger::LedgerError;

use super::fault::{damaged, from_sql};
use super::sums::Sums;
use super::{foreign_objects, schema};
use crate::log::Tip;

/// What the number was when it was looked at last.
pub(super) struct ForeignWriteCheck {
    version: i64,
}

impl ForeignWriteCheck {
    pub(super) fn begin(db: &Connection) -> Result<Self, LedgerError> {
        Ok(Self { version: version(db)? })
    }

    /// Inside of a transaction: compares the file with what was written last, where somebody else
    /// has committed since.
    pub(super) fn check(
        &mut self,
        db: &Connection,
        tip: &Tip,
        sums: &Sums,
    ) -> Result<(), LedgerError> {
        let now = version(db)?;
        if now == self.version {
            return Ok(());
        }
        compare(db, tip, sums)?;
        if let Some(part) = sums.differ(db)? {
            return Err(damaged(format!("another program changed the {}", part.name())));
        }
        self.version = now;
        Ok(())
    }
}

/// Whether the log ends where this process left it, in the schema that we create: what was
/// acknowledged is there, and nothing else.
pub(super) fn compare(db: &Connection, tip: &Tip, sums: &Sums) -> Result<(), LedgerError> {
    foreign_objects::refuse(schema::foreign_objects(db)?)?;
    let found = schema::tip(db)?;
    if found.head() != tip.head() || found.highest != tip.highest {
        return Err(damaged(format!(
            "the log ends after {} events, and not with those that were written last; another \
             program wrote the file",
            found.frontier.size()
        )));
    }
    if Sums::load(db)? != *sums {
        return Err(damaged("the sums beside the log were changed by another program"));
    }
    Ok(())
}

fn version(db: &Connection) -> Result<i64, LedgerError> {
    db.prepare_cached("PRAGMA data_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| from_sql(&error))
}
