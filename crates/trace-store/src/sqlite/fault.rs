//! Maps errors of SQLite to errors of the ledger.

use rusqlite::{Error, ErrorCode, ffi};
use weaver_types::ledger::LedgerError;

/// The error for a failed statement. A file that is not what SQLite wrote is damaged; what passes,
/// a lock of another process or a disk without room, is a refusal; anything else that fails closes
/// the ledger. A failed sync is never a refusal: what the system dropped with it, nobody knows.
pub(super) fn from_sql(error: &Error) -> LedgerError {
    let detail = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerError::Busy { path: "the file".to_owned(), waited_ms: 0 }
        }
        Some(ErrorCode::DiskFull) => no_room(error),
        // A quota, a bound on the size of files: a write that was not made.
        _ if detail == Some(ffi::SQLITE_IOERR_WRITE) => no_room(error),
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

fn no_room(error: &Error) -> LedgerError {
    LedgerError::Full(format!("the disk takes no more ({error}); make room on it"))
}

/// Whether a failure is one that passes: nothing of the transaction was applied, and the next one
/// may succeed.
pub(super) fn passes(error: &LedgerError) -> bool {
    matches!(error, LedgerError::Busy { .. } | LedgerError::Full(_))
}

/// What is said for good once the writer has ended.
pub(super) fn ending(error: &LedgerError) -> LedgerError {
    if error.is_refusal() { LedgerError::Failed(error.to_string()) } else { error.clone() }
}

/// Whatever stops the writer closes the ledger; what passes does not stop it.
pub(super) fn fatal(error: &LedgerError) -> LedgerError {
    match error {
        LedgerError::Failed(_) | LedgerError::Damaged(_) => error.clone(),
        other if passes(other) => other.clone(),
        other => LedgerError::Failed(other.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(code: i32) -> LedgerError {
        from_sql(&Error::SqliteFailure(ffi::Error::new(code), Some("said".to_owned())))
    }

    #[test]
    fn what_passes_is_a_refusal_and_what_does_not_closes_the_ledger() {
        for (code, wanted) in [
            (ffi::SQLITE_BUSY, "ledger.busy"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "ledger.busy"),
            (ffi::SQLITE_LOCKED, "ledger.busy"),
            (ffi::SQLITE_FULL, "ledger.full"),
            (ffi::SQLITE_IOERR_WRITE, "ledger.full"),
            (ffi::SQLITE_IOERR, "ledger.failed"),
            (ffi::SQLITE_IOERR_FSYNC, "ledger.failed"),
            (ffi::SQLITE_IOERR_READ, "ledger.failed"),
            (ffi::SQLITE_CORRUPT, "ledger.damaged"),
            (ffi::SQLITE_NOTADB, "ledger.damaged"),
            (ffi::SQLITE_CANTOPEN, "ledger.failed"),
            (ffi::SQLITE_PERM, "ledger.failed"),
            (ffi::SQLITE_READONLY, "ledger.failed"),
            (ffi::SQLITE_MISUSE, "ledger.failed"),
        ] {
            let error = sql(code);
            assert_eq!(error.code(), wanted, "{code}");
            assert_eq!(passes(&error), ["ledger.busy", "ledger.full"].contains(&wanted), "{code}");
            assert_eq!(error.is_refusal(), passes(&error));
        }
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_PERM, ffi::SQLITE_READONLY] {
            assert!(sql(code).to_string().contains("must be readable and writable for this user"));
        }
        assert!(!sql(ffi::SQLITE_MISUSE).to_string().contains("must be readable"));
        assert!(sql(ffi::SQLITE_FULL).to_string().contains("make room on it"));
        let row = from_sql(&Error::QueryReturnedNoRows).to_string();
        assert!(row.contains("a row is not of the stored form"), "{row}");
        assert!(row.contains("run `weaver trace verify`"), "{row}");
    }

    #[test]
    fn whatever_stops_the_writer_is_no_refusal_for_those_after_it() {
        let malformed = || LedgerError::Malformed("x".to_owned());
        let (damaged, full) = (damaged("x"), LedgerError::Full("x".to_owned()));
        assert_eq!(fatal(&damaged), damaged);
        assert_eq!(fatal(&full), full, "what passes does not stop it");
        assert_eq!(fatal(&malformed()), LedgerError::Failed(malformed().to_string()));
        assert_eq!(
            fatal(&LedgerError::Closed),
            LedgerError::Failed("the ledger is closed".to_owned())
        );
        assert_eq!(ending(&damaged), damaged);
        assert_eq!(ending(&full), LedgerError::Failed(full.to_string()));
        assert!(!passes(&malformed()) && !passes(&damaged));
    }

    #[test]
    fn numbers_of_the_file_lie_in_its_range() {
        assert_eq!(to_sql(i64::MAX.unsigned_abs()), Ok(i64::MAX));
        let beyond = to_sql(i64::MAX.unsigned_abs() + 1).unwrap_err().to_string();
        assert!(
            beyond.ends_with("9223372036854775808 is beyond the range of the store"),
            "{beyond}"
        );
        assert_eq!(from_number("the size", 0), Ok(0));
        let below = from_number("the size", -1).unwrap_err();
        assert!(
            matches!(&below, LedgerError::Damaged(text) if text.starts_with("the size is -1;"))
        );
        assert!(!poisoned().is_refusal());
    }
}
