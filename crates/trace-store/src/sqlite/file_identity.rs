//! The application id and version of an SQLite file, read before anything else.

use rusqlite::{Connection, Error};

/// The header fields that name a file's kind and format, and its number of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    pub(super) application: i64,
    pub(super) version: i64,
    tables: i64,
}

impl FileIdentity {
    /// Reads all fields in one statement, and so from one commit. Between two statements another
    /// process could create its tables, and the mix would look like a foreign file.
    pub(super) fn read(db: &Connection) -> Result<Self, Error> {
        let sql = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
            FROM pragma_application_id, pragma_user_version";
        db.query_row(sql, [], |row| {
            Ok(Self { application: row.get(0)?, version: row.get(1)?, tables: row.get(2)? })
        })
    }

    /// Whether nothing has been created in the file yet.
    pub(super) fn is_empty(self) -> bool {
        self == Self { application: 0, version: 0, tables: 0 }
    }
}
