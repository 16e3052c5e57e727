//! SQLite with nothing around it.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::round::Failure;

/// The bytes of a row: what an event of the bench takes in the ledger.
const ROW: usize = 600;

/// The time for `rows` rows of 600 bytes, `group` a transaction, each synced.
pub(crate) fn rows(folder: &Path, rows: usize, group: usize) -> Result<Duration, Failure> {
    let path = folder.join("bare.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("bare.db{suffix}")));
    }
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE rows (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT",
    )?;
    let bodies: Vec<Vec<u8>> = (0..64_u8).map(|n| vec![n; ROW]).collect();
    let mut insert = db.prepare("INSERT INTO rows (seq, body) VALUES (?1, ?2)")?;
    let (mut begin, mut commit) = (db.prepare("BEGIN IMMEDIATE")?, db.prepare("COMMIT")?);
    let start = Instant::now();
    let mut seq = 0_i64;
    for _ in 0..rows / group {
        begin.execute([])?;
        for body in bodies.iter().cycle().take(group) {
            insert.execute((seq, body))?;
            seq += 1;
        }
        commit.execute([])?;
    }
    Ok(start.elapsed())
}
