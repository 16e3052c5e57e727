//! Detects schema objects that this crate did not create.
//!
//! Whoever can write the file can plant a trigger that changes a record in the same transaction
//! that writes it, or replace a table by a view, and SQLite would run them silently. So the schema
//! of the file is compared with the schema that our own statements create in an empty database:
//! every table, index, trigger and view, by its exact text.

use std::collections::BTreeMap;

use rusqlite::Connection;
use weaver_types::ledger::LedgerError;

use super::error_mapping::{damaged_error, from_sql};

/// The most names in a message.
const MAX_SHOWN_NAMES: usize = 4;

/// Table and SQL text of each object, by type and name.
type Objects = BTreeMap<(String, String), (String, Option<String>)>;

/// The names of objects that are missing, changed or foreign, in back quotes; `None` when the
/// objects are those that `schema` creates.
pub(super) fn find(db: &Connection, schema: &str) -> Result<Option<String>, LedgerError> {
    let empty = Connection::open_in_memory().map_err(|error| from_sql(&error))?;
    empty.execute_batch(schema).map_err(|error| from_sql(&error))?;
    let mut names = differing_names(&objects(db)?, &objects(&empty)?);
    names.dedup();
    let more = names.len().saturating_sub(MAX_SHOWN_NAMES);
    names.truncate(MAX_SHOWN_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok((!names.is_empty()).then(|| format!("{}{more}", names.join(", "))))
}

/// Turns a finding into an error, for callers that are about to write.
pub(super) fn refuse_foreign(found: Option<String>) -> Result<(), LedgerError> {
    match found {
        None => Ok(()),
        Some(names) => Err(damaged_error(format!(
            "the schema of the file is not the one that we create, somebody changed it: {names}"
        ))),
    }
}

fn objects(db: &Connection) -> Result<Objects, LedgerError> {
    (|| {
        let mut statement = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
        let rows = statement
            .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?))))?;
        rows.collect::<rusqlite::Result<_>>()
    })()
    .map_err(|error: rusqlite::Error| from_sql(&error))
}

fn differing_names(found: &Objects, wanted: &Objects) -> Vec<String> {
    let strange = found.iter().filter(|(key, value)| wanted.get(key) != Some(value));
    let missing = wanted.keys().filter(|key| !found.contains_key(key));
    let mut names: Vec<String> = strange
        .map(|(key, _)| key)
        .chain(missing)
        .map(|(_, name)| format!("`{}`", name.escape_debug().take(64).collect::<String>()))
        .collect();
    names.sort();
    names
}
