//! Single statements and pragmas, for everything that reads or writes the file.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use weaver_types::ledger::LedgerError;

use super::fault::{from_number, from_sql};

pub(super) type SqlResult<T> = Result<T, LedgerError>;

/// Runs one statement.
pub(super) fn run(db: &Connection, sql: &str, params: impl rusqlite::Params) -> SqlResult<()> {
    run_counted(db, sql, params).map(drop)
}

/// Runs one statement, and says how many rows it changed.
pub(super) fn run_counted(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> SqlResult<usize> {
    db.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params))
        .map_err(|error| from_sql(&error))
}

/// A pragma whose value is a number.
fn pragma(db: &Connection, name: &str) -> SqlResult<i64> {
    db.pragma_query_value(None, name, |row| row.get(0)).map_err(|error| from_sql(&error))
}

/// The format version that the file names.
pub(super) fn format_version(db: &Connection) -> SqlResult<u64> {
    from_number("the format version", pragma(db, "user_version")?)
}

/// Keeps SQLite from planning a statement anew for each value that is bound to it, which takes longer
/// than most of them.
pub(super) fn keep_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}
