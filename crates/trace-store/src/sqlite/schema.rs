//! The form of the file, and what it says of itself.

use rusqlite::{Connection, params};
use weaver_types::digest::Digest;
use weaver_types::ledger::{Head, LedgerError, MAX_PAGE};
use weaver_types::{LogId, Random, Timestamp};

use super::fault::{damaged, from_number, from_sql, to_sql};
use super::file_identity::FileIdentity;
use super::statement::{format_version, run_counted};
use super::sums::{self, Sums};
use super::{events, foreign_objects, orphaned_blobs, tiles};
use crate::blob::{BLOB_KEY, BlobKey};
use crate::entry::Header;
use crate::log::Tip;
use crate::merkle::{self, Frontier};
use crate::verify::Extent;

/// The `application_id` of a ledger file: the ASCII text `WvLg`.
pub const APPLICATION_ID: i32 = 0x5776_4c67;
/// The version of the form, in the file's `user_version`.
pub const FORMAT_VERSION: u64 = 2;

/// Leaves that are hashed at most to check the end of the log when it is opened.
const CHECKED: u64 = 512;

/// The tables of version 1. The head changes with every commit and stands in the one row of
/// `meta`. The index on the time of expiry is partial: only records that expire are in it, and they
/// enter it at its end, since expiry is a fixed time after now.
const VERSION_1: &str = "
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    log TEXT NOT NULL,
    blob_key BLOB NOT NULL,
    size INTEGER NOT NULL,
    root BLOB NOT NULL,
    frontier BLOB NOT NULL,
    highest INTEGER NOT NULL
) STRICT;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    header BLOB NOT NULL,
    leaf BLOB NOT NULL,
    salt BLOB,
    payload BLOB,
    durability INTEGER NOT NULL
) STRICT;
CREATE TABLE records (
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    value BLOB NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (tenant, namespace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE blobs (
    id BLOB PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

pub(super) const EXTENT: &str = "SELECT log, size, root, frontier,
    (SELECT min(seq) FROM events), (SELECT max(seq) FROM events), highest, synced
    FROM meta WHERE one = 1";
/// Of a file of version 1, which did not count what was synced.
const EXTENT_1: &str = "SELECT log, size, root, frontier,
    (SELECT min(seq) FROM events), (SELECT max(seq) FROM events), highest, NULL
    FROM meta WHERE one = 1";

/// True when the file is still empty; an error when it is something else than a ledger, or newer.
pub(super) fn is_new(db: &Connection) -> Result<bool, LedgerError> {
    let file = FileIdentity::read(db).map_err(|error| from_sql(&error))?;
    if file.application == i64::from(APPLICATION_ID) {
        let found = from_number("the format version", file.version)?;
        return match found {
            1..=FORMAT_VERSION => Ok(false),
            found if found > FORMAT_VERSION => {
                let what = "the ledger".to_owned();
                Err(LedgerError::Newer { what, found, known: FORMAT_VERSION })
            }
            found => Err(damaged(format!("there never was a format version {found}"))),
        };
    }
    if file.is_empty() {
        return Ok(true);
    }
    Err(LedgerError::Damaged("the file is an SQLite database, but no ledger; name another".into()))
}

/// What stands in the schema and is not what we create: see [`foreign_objects::find`].
pub(super) fn foreign_objects(db: &Connection) -> Result<Option<String>, LedgerError> {
    // While a file is brought to version 2, its tiles come first.
    const FORMS_1: [&[&str]; 2] = [&[VERSION_1], &[VERSION_1, tiles::VERSION_2]];
    const FORMS_2: [&[&str]; 2] = [
        &[VERSION_1, tiles::VERSION_2, sums::VERSION_2, orphaned_blobs::TABLES],
        &[VERSION_1, tiles::VERSION_2, sums::VERSION_2],
    ];
    foreign_objects::find(db, if format_version(db)? < 2 { &FORMS_1 } else { &FORMS_2 })
}

/// Makes the tables, in one transaction.
pub(super) fn create(db: &Connection, random: &dyn Random) -> Result<(), LedgerError> {
    let failed = |error: weaver_types::RandomError| LedgerError::Failed(error.to_string());
    let tip = Tip::new(LogId::random(random).map_err(failed)?);
    let mut key = zeroize::Zeroizing::new([0; BLOB_KEY]);
    random.fill(key.as_mut_slice()).map_err(failed)?;
    let sql = |error: rusqlite::Error| from_sql(&error);
    db.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
    db.execute_batch(VERSION_1).map_err(sql)?;
    db.execute_batch(tiles::VERSION_2).map_err(sql)?;
    db.execute_batch(sums::VERSION_2).map_err(sql)?;
    db.execute(
        "INSERT INTO meta (one, log, blob_key, size, root, frontier, highest)
         VALUES (1, ?1, ?2, 0, ?3, ?4, 0)",
        params![tip.log.as_str(), key.as_slice(), tip.frontier.root(), tip.frontier.to_bytes()],
    )
    .map_err(sql)?;
    Sums::default().save(db)?;
    db.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    db.pragma_update(None, "user_version", to_sql(FORMAT_VERSION)?).map_err(sql)?;
    db.execute_batch("COMMIT").map_err(sql)
}

/// What the file says of its log, in one snapshot.
pub(super) fn extent(db: &Connection) -> Result<Extent, LedgerError> {
    let sql = if format_version(db)? < 2 { EXTENT_1 } else { EXTENT };
    let (log, size, root, frontier, first, last, highest, synced) = db
        .query_row(sql, [], |row| {
            let text: (String, i64, Vec<u8>, Vec<u8>) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let ends: (Option<i64>, Option<i64>) = (row.get(4)?, row.get(5)?);
            Ok((text.0, text.1, text.2, text.3, ends.0, ends.1, row.get(6)?, row.get(7)?))
        })
        .map_err(|error| from_sql(&error))?;
    let size = from_number("the size of the log", size)?;
    let root = <[u8; 32]>::try_from(root).map_err(|_| damaged("the root has not 32 bytes"))?;
    let seq = |seq: Option<i64>| {
        seq.map(|seq| from_number("the sequence number of an event", seq)).transpose()
    };
    let counted = |count: Option<i64>| {
        count.map(|count| from_number("the number of synced events", count)).transpose()
    };
    Ok(Extent {
        head: Head {
            log: LogId::parse(log).map_err(damaged)?,
            size,
            root: Digest::from_bytes(root),
        },
        frontier: Frontier::from_bytes(size, &frontier).map_err(damaged)?,
        first: seq(first)?,
        last: seq(last)?,
        highest: Timestamp::from_micros(highest),
        synced: counted(synced)?,
    })
}

/// The end of the log, checked as far as a moment allows: the rows end where the head says, the
/// root is that of the frontier, the last subtree is that of the last events, and the time of the log
/// is that of the last event.
pub(super) fn tip(db: &Connection) -> Result<Tip, LedgerError> {
    let Extent { head, frontier, last, highest, .. } = extent(db)?;
    let rows = last.map_or(0, |last| last.saturating_add(1));
    if rows != head.size {
        return Err(damaged(format!(
            "the head counts {} events, but the rows end after {rows}",
            head.size
        )));
    }
    if frontier.root() != *head.root.as_bytes() {
        return Err(damaged("the stored root is not that of the stored frontier"));
    }
    let at = check_end(db, &frontier)?;
    if highest != at {
        return Err(damaged(format!(
            "the stored time of the log is {highest}, but its events end at {at}"
        )));
    }
    Ok(Tip::at(head.log, frontier, highest))
}

/// Checks the last events against the frontier, and gives the time at which they end.
fn check_end(db: &Connection, frontier: &Frontier) -> Result<Timestamp, LedgerError> {
    let Some((node, leaves)) = frontier.last() else { return Ok(Timestamp::default()) };
    let count = if leaves > CHECKED { 1 } else { leaves };
    let from = frontier.size() - count;
    let mut end = Frontier::default();
    let rows = events::page(db, from, MAX_PAGE)?;
    for row in &rows {
        let leaf = merkle::leaf_hash(&row.event.header);
        if leaf != *row.leaf.as_bytes() {
            return Err(damaged(format!("event {} was changed", row.event.seq)));
        }
        end.push(leaf);
    }
    match rows.last() {
        Some(row) if end.size() == count && (count < leaves || end.root() == node) => {
            Header::parse(&row.event.header).map(|header| header.at).map_err(|error| {
                damaged(format!("event {} has a bad header: {error}", row.event.seq))
            })
        }
        _ => Err(damaged("the last events are not those of the stored head")),
    }
}

/// The key under which blobs are named.
pub(super) fn blob_key(db: &Connection) -> Result<BlobKey, LedgerError> {
    let key: Vec<u8> = db
        .query_row("SELECT blob_key FROM meta WHERE one = 1", [], |row| row.get(0))
        .map_err(|error| from_sql(&error))?;
    let key = zeroize::Zeroizing::new(key);
    let key = <[u8; BLOB_KEY]>::try_from(key.as_slice());
    Ok(BlobKey::new(key.map_err(|_| damaged("the key of the blobs has not 32 bytes"))?))
}

/// Writes the head over the one at size `before`, which this process wrote, and the sums beside it:
/// if another head stands there, somebody else has written too.
pub(super) fn save_end(
    db: &Connection,
    tip: &Tip,
    before: u64,
    sums: &Sums,
) -> Result<(), LedgerError> {
    let sql = "UPDATE meta SET size = ?1, root = ?2, frontier = ?3, highest = ?4,
        synced = ?5, records = ?6, blobs = ?7 WHERE one = 1 AND size = ?8";
    let size = to_sql(tip.frontier.size())?;
    let (root, frontier) = (tip.root(), tip.frontier.to_bytes());
    let (synced, records, blobs) = sums.columns()?;
    let (highest, stored) = (tip.highest.micros(), before.cast_signed());
    let values = params![size, root, frontier, highest, synced, records, blobs, stored];
    if run_counted(db, sql, values)? == 1 {
        return Ok(());
    }
    Err(damaged(format!("the stored head is not the one of {before} events that was written last")))
}

/// Writes a page, so that the transaction has something to sync. Rows that are written as they
/// already stand would not do: SQLite leaves their page alone.
pub(super) fn touch(db: &Connection) -> Result<(), LedgerError> {
    db.pragma_update(None, "user_version", to_sql(FORMAT_VERSION)?)
        .map_err(|error| from_sql(&error))
}
