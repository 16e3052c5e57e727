//! Helpers to run single statements and pragmas.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use weaver_types::ledger::LedgerError;

use super::error_mapping::from_sql;

pub(super) type SqlResult<T> = Result<T, LedgerError>;

/// Runs one statement.
pub(super) fn run(db: &Connection, sql: &str, params: impl rusqlite::Params) -> SqlResult<()> {
    run_counted(db, sql, params).map(drop)
}

/// Runs one statement, and returns how many rows it changed.
pub(super) fn run_counted(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> SqlResult<usize> {
    db.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params))
        .map_err(|error| from_sql(&error))
}

/// Keeps SQLite from re-planning a statement for each bound value (query planner stability
/// guarantee), which takes longer than most statements.
pub(super) fn enable_stable_query_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}
