//! What stands in the file's schema and is none of ours.
//!
//! Whoever can write the file can plant a trigger that changes a record in the very transaction that
//! writes it, or put a view in the place of a table. SQLite runs them without a word. So the schema
//! that a file has is compared with the one that the same statements make in an empty database: every
//! table, index, trigger and view, each with its exact text.

use std::collections::BTreeMap;

use rusqlite::Connection;
use weaver_types::ledger::LedgerError;

use super::fault::{damaged, from_sql};

/// The most names that are told.
const TOLD: usize = 4;

/// By type and name: the table and the text.
type Objects = BTreeMap<(String, String), (String, Option<String>)>;

/// The names of what is missing, changed or none of ours, in back quotes; `None` where all is as one
/// of the `forms` makes it. A form is a list of statements.
pub(super) fn find(db: &Connection, forms: &[&[&str]]) -> Result<Option<String>, LedgerError> {
    let found = objects(db)?;
    let mut least: Option<Vec<String>> = None;
    for form in forms {
        let empty = Connection::open_in_memory().map_err(|error| from_sql(&error))?;
        for statements in *form {
            empty.execute_batch(statements).map_err(|error| from_sql(&error))?;
        }
        let differing = differing(&found, &objects(&empty)?);
        if differing.is_empty() {
            return Ok(None);
        }
        // The file is told apart from the form that it is closest to.
        if least.as_ref().is_none_or(|least| differing.len() < least.len()) {
            least = Some(differing);
        }
    }
    Ok(least.map(|mut names| {
        names.dedup();
        let more = names.len().saturating_sub(TOLD);
        names.truncate(TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names.join(", "))
    }))
}

/// As an error, for whoever is about to write.
pub(super) fn refuse(found: Option<String>) -> Result<(), LedgerError> {
    match found {
        None => Ok(()),
        Some(names) => Err(damaged(format!(
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

fn differing(found: &Objects, wanted: &Objects) -> Vec<String> {
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
