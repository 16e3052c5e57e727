//! What an SQLite file says it is, before anything else is read of it.

use rusqlite::{Connection, Error};

/// The header fields that name a file's kind and format, and whether it holds anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    pub(super) application: i64,
    pub(super) version: i64,
    tables: i64,
}

impl FileIdentity {
    /// Reads it in one statement, which sees one commit: between two, another process may have made
    /// its tables, and half of each would look like a file of somebody else.
    pub(super) fn read(db: &Connection) -> Result<Self, Error> {
        let sql = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
            FROM pragma_application_id, pragma_user_version";
        db.query_row(sql, [], |row| {
            Ok(Self { application: row.get(0)?, version: row.get(1)?, tables: row.get(2)? })
        })
    }

    /// Whether nobody has made anything in the file yet.
    pub(super) fn is_empty(self) -> bool {
        self == Self { application: 0, version: 0, tables: 0 }
    }
}
