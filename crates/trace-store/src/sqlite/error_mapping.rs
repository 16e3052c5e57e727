//! Maps errors of SQLite to errors of the ledger.

use rusqlite::{Error, ErrorCode, ffi};
use weaver_types::ledger::LedgerError;

/// Maps a failed statement to a ledger error. A file that is not in SQLite's format is damaged. A
/// transient problem (a lock of another process, a full disk) is a refusal. Any other failure
/// closes the ledger. A failed sync is never transient: the kernel may have dropped the dirty
/// pages, so nobody knows what reached the disk.
pub(super) fn from_sql(error: &Error) -> LedgerError {
    let detail = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerError::Busy { path: "the file".to_owned(), waited_ms: 0 }
        }
        Some(ErrorCode::DiskFull) => full_error(error),
        // A quota, a limit on file size, or a device that refused the write: SQLite has one code for
        // all of them. None of the transaction was applied, so the next one may be tried.
        _ if detail == Some(ffi::SQLITE_IOERR_WRITE) => full_error(error),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            damaged_error(format!("SQLite says: {error}"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            LedgerError::Failed(format!(
                "{error}; the file, its folder and the files beside it (-wal, -shm, .lock) must be \
                 readable and writable for this user"
            ))
        }
        Some(_) => LedgerError::Failed(error.to_string()),
        None => damaged_error(format!("a row is not of the stored form: {error}")),
    }
}

fn full_error(error: &Error) -> LedgerError {
    LedgerError::Full(format!(
        "the disk takes no more ({error}); make room on it, or replace it if it has room"
    ))
}

/// Whether a failure is transient: nothing of the transaction was applied, and the next one may
/// succeed.
pub(super) fn is_transient(error: &LedgerError) -> bool {
    matches!(error, LedgerError::Busy { .. } | LedgerError::Full(_))
}

/// The error that later callers get once the writer has ended.
pub(super) fn closing_error(error: &LedgerError) -> LedgerError {
    if error.is_refusal() { LedgerError::Failed(error.to_string()) } else { error.clone() }
}

/// An error that stops the writer closes the ledger; a transient one does not stop it.
pub(super) fn as_fatal(error: &LedgerError) -> LedgerError {
    match error {
        LedgerError::Failed(_) | LedgerError::Damaged(_) => error.clone(),
        other if is_transient(other) => other.clone(),
        other => LedgerError::Failed(other.to_string()),
    }
}

pub(super) fn from_io(what: &str, path: &std::path::Path, error: &std::io::Error) -> LedgerError {
    LedgerError::Failed(format!("{what} {}: {error}", path.display()))
}

pub(super) fn damaged_error(what: impl std::fmt::Display) -> LedgerError {
    LedgerError::Damaged(format!(
        "{what}; run `weaver trace verify` to see what is left, and restore a backup"
    ))
}

pub(super) fn poisoned_error() -> LedgerError {
    LedgerError::Failed("a thread died while it used the ledger".to_owned())
}

/// A size or sequence number as an SQLite integer.
pub(super) fn to_sql(number: u64) -> Result<i64, LedgerError> {
    i64::try_from(number)
        .map_err(|_| LedgerError::Malformed(format!("{number} is beyond the range of the store")))
}

/// A size or sequence number from an SQLite integer.
pub(super) fn unsigned_from_sql(what: &str, number: i64) -> Result<u64, LedgerError> {
    u64::try_from(number).map_err(|_| damaged_error(format!("{what} is {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of_code(code: i32) -> LedgerError {
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
            let error = error_of_code(code);
            assert_eq!(error.code(), wanted, "{code}");
            assert_eq!(
                is_transient(&error),
                ["ledger.busy", "ledger.full"].contains(&wanted),
                "{code}"
            );
            assert_eq!(error.is_refusal(), is_transient(&error));
        }
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_PERM, ffi::SQLITE_READONLY] {
            assert!(
                error_of_code(code)
                    .to_string()
                    .contains("must be readable and writable for this user")
            );
        }
        assert!(!error_of_code(ffi::SQLITE_MISUSE).to_string().contains("must be readable"));
        assert!(error_of_code(ffi::SQLITE_FULL).to_string().contains("make room on it"));
        let row = from_sql(&Error::QueryReturnedNoRows).to_string();
        assert!(row.contains("a row is not of the stored form"), "{row}");
        assert!(row.contains("run `weaver trace verify`"), "{row}");
    }

    #[test]
    fn whatever_stops_the_writer_is_no_refusal_for_those_after_it() {
        let malformed = || LedgerError::Malformed("x".to_owned());
        let (damaged, full) = (damaged_error("x"), LedgerError::Full("x".to_owned()));
        assert_eq!(as_fatal(&damaged), damaged);
        assert_eq!(as_fatal(&full), full, "what passes does not stop it");
        assert_eq!(as_fatal(&malformed()), LedgerError::Failed(malformed().to_string()));
        assert_eq!(
            as_fatal(&LedgerError::Closed),
            LedgerError::Failed("the ledger is closed".to_owned())
        );
        assert_eq!(closing_error(&damaged), damaged);
        assert_eq!(closing_error(&full), LedgerError::Failed(full.to_string()));
        assert!(!is_transient(&malformed()) && !is_transient(&damaged));
    }

    #[test]
    fn numbers_of_the_file_lie_in_its_range() {
        assert_eq!(to_sql(i64::MAX.unsigned_abs()), Ok(i64::MAX));
        let beyond = to_sql(i64::MAX.unsigned_abs() + 1).unwrap_err().to_string();
        assert!(
            beyond.ends_with("9223372036854775808 is beyond the range of the store"),
            "{beyond}"
        );
        assert_eq!(unsigned_from_sql("the size", 0), Ok(0));
        let below = unsigned_from_sql("the size", -1).unwrap_err();
        assert!(
            matches!(&below, LedgerError::Damaged(text) if text.starts_with("the size is -1;"))
        );
        assert!(!poisoned_error().is_refusal());
    }
}
