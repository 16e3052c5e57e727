//! What SQLite reports, as errors of the ledger.

use rusqlite::{Error, ErrorCode};
use weaver_types::ledger::LedgerError;

/// The error for a failed statement. A file that is not what SQLite wrote is damaged; anything
/// else that fails closes the ledger.
pub(super) fn from_sql(error: &Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            damaged(format!("SQLite says: {error}"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            LedgerError::Failed(format!(
                "{error}; the file, its folder and the files beside it (-wal, -shm, .lock) must be \
                 readable and writable for this user"
            ))
        }
        Some(_) => LedgerError::Failed(error.to_string()),
        None => damaged(format!("a row is not of the stored form: {error}")),
    }
}

pub(super) fn from_io(what: &str, path: &std::path::Path, error: &std::io::Error) -> LedgerError {
    LedgerError::Failed(format!("{what} {}: {error}", path.display()))
}

pub(super) fn damaged(what: impl std::fmt::Display) -> LedgerError {
    LedgerError::Damaged(format!(
        "{what}; run `weaver trace verify` to see what is left, and restore a backup"
    ))
}

pub(super) fn poisoned() -> LedgerError {
    LedgerError::Failed("a thread died while it used the ledger".to_owned())
}

/// A size or sequence number as SQLite holds it.
pub(super) fn to_sql(number: u64) -> Result<i64, LedgerError> {
    i64::try_from(number)
        .map_err(|_| LedgerError::Malformed(format!("{number} is beyond the range of the store")))
}

/// A size or sequence number from SQLite.
pub(super) fn from_number(what: &str, number: i64) -> Result<u64, LedgerError> {
    u64::try_from(number).map_err(|_| damaged(format!("{what} is {number}")))
}
