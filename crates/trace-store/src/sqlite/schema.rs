//! The schema of the file, and its metadata.

use rusqlite::{Connection, params};
use weaver_types::digest::Digest;
use weaver_types::ledger::{LedgerError, MAX_PAGE, TreeHead};
use weaver_types::{LogId, Random, Timestamp};

use super::error_mapping::{damaged_error, from_sql, to_sql, unsigned_from_sql};
use super::file_identity::FileIdentity;
use super::integrity_sums::IntegritySums;
use super::statement::run_counted;
use super::{events, foreign_objects};
use crate::blob::{BLOB_KEY_BYTES, BlobKey};
use crate::entry::EventHeader;
use crate::log::LogTip;
use crate::merkle::{self, Frontier};
use crate::verify::LogExtent;

/// The `application_id` of a ledger file: the ASCII text `WvLg`.
pub const APPLICATION_ID: i32 = 0x5776_4c67;
/// The version of the schema, in the file's `user_version`.
pub const FORMAT_VERSION: u64 = 2;

/// The most leaves that are hashed to check the end of the log on opening.
const MAX_CHECKED_LEAVES: u64 = 512;

/// The tables. The head changes with every commit and is in the single row of `meta`. The index on
/// expiry is partial: only records that expire are in it. They usually enter at its end, because
/// expiry is a fixed time after now. `tiles` has a rowid, because in a table keyed by the whole row
/// SQLite reads the eight kilobytes of every tile that it compares with. The last three tables, with
/// their trigger, are those of [`super::orphaned_blobs`].
const SCHEMA: &str = "
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    log TEXT NOT NULL,
    blob_key BLOB NOT NULL,
    size INTEGER NOT NULL,
    root BLOB NOT NULL,
    frontier BLOB NOT NULL,
    highest INTEGER NOT NULL,
    synced INTEGER NOT NULL,
    records BLOB NOT NULL,
    blobs BLOB NOT NULL
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
CREATE TABLE tiles (
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    nodes BLOB NOT NULL,
    PRIMARY KEY (level, place)
) STRICT;
CREATE TABLE openings (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count INTEGER NOT NULL
) STRICT;
CREATE TABLE blob_written (
    id BLOB PRIMARY KEY,
    opening INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE blob_names (
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    blob BLOB NOT NULL,
    PRIMARY KEY (tenant, namespace, id, blob)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_named ON blob_names (blob);
CREATE TRIGGER record_gone AFTER DELETE ON records BEGIN
    DELETE FROM blob_names
    WHERE tenant = OLD.tenant AND namespace = OLD.namespace AND id = OLD.id;
END;
";

pub(super) const EXTENT: &str = "SELECT log, size, root, frontier,
    (SELECT min(seq) FROM events), (SELECT max(seq) FROM events), highest, synced
    FROM meta WHERE one = 1";
/// True when the file is empty; an error when it is something other than a ledger, or newer.
pub(super) fn is_new(db: &Connection) -> Result<bool, LedgerError> {
    let file = FileIdentity::read(db).map_err(|error| from_sql(&error))?;
    if file.application == i64::from(APPLICATION_ID) {
        let found = unsigned_from_sql("the format version", file.version)?;
        return match found {
            FORMAT_VERSION => Ok(false),
            found if found > FORMAT_VERSION => {
                let what = "the ledger".to_owned();
                Err(LedgerError::Newer { what, found, known: FORMAT_VERSION })
            }
            0 => Err(damaged_error("there never was a format version 0")),
            found => Err(LedgerError::Failed(format!(
                "the ledger has format version {found}, which no release wrote; name another file, \
                 and read this one with the build that wrote it"
            ))),
        };
    }
    if file.is_empty() {
        return Ok(true);
    }
    Err(LedgerError::Damaged("the file is an SQLite database, but no ledger; name another".into()))
}

/// Schema objects that differ from ours: see [`foreign_objects::find`].
pub(super) fn foreign_objects(db: &Connection) -> Result<Option<String>, LedgerError> {
    foreign_objects::find(db, SCHEMA)
}

/// Creates the tables in one transaction.
pub(super) fn create(db: &Connection, random: &dyn Random) -> Result<(), LedgerError> {
    let failed = |error: weaver_types::RandomError| LedgerError::Failed(error.to_string());
    let tip = LogTip::new(LogId::random(random).map_err(failed)?);
    let mut key = zeroize::Zeroizing::new([0; BLOB_KEY_BYTES]);
    random.fill(key.as_mut_slice()).map_err(failed)?;
    let sql = |error: rusqlite::Error| from_sql(&error);
    db.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
    db.execute_batch(SCHEMA).map_err(sql)?;
    let (synced, records, blobs) = IntegritySums::default().columns()?;
    db.execute(
        "INSERT INTO meta (one, log, blob_key, size, root, frontier, highest, synced, records, blobs)
         VALUES (1, ?1, ?2, 0, ?3, ?4, 0, ?5, ?6, ?7)",
        params![
            tip.log.as_str(),
            key.as_slice(),
            tip.frontier.root(),
            tip.frontier.to_bytes(),
            synced,
            records,
            blobs
        ],
    )
    .map_err(sql)?;
    db.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    db.pragma_update(None, "user_version", to_sql(FORMAT_VERSION)?).map_err(sql)?;
    db.execute_batch("COMMIT").map_err(sql)
}

/// The stored metadata of the log, in one snapshot.
pub(super) fn extent(db: &Connection) -> Result<LogExtent, LedgerError> {
    let (log, size, root, frontier, first, last, highest, synced) = db
        .query_row(EXTENT, [], |row| {
            let text: (String, i64, Vec<u8>, Vec<u8>) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let ends: (Option<i64>, Option<i64>) = (row.get(4)?, row.get(5)?);
            Ok((text.0, text.1, text.2, text.3, ends.0, ends.1, row.get(6)?, row.get(7)?))
        })
        .map_err(|error| from_sql(&error))?;
    let size = unsigned_from_sql("the size of the log", size)?;
    let root =
        <[u8; 32]>::try_from(root).map_err(|_| damaged_error("the root has not 32 bytes"))?;
    let seq = |seq: Option<i64>| {
        seq.map(|seq| unsigned_from_sql("the sequence number of an event", seq)).transpose()
    };
    let counted = |count: Option<i64>| {
        count.map(|count| unsigned_from_sql("the number of synced events", count)).transpose()
    };
    Ok(LogExtent {
        head: TreeHead {
            log: LogId::parse(log).map_err(damaged_error)?,
            size,
            root: Digest::from_bytes(root),
        },
        frontier: Frontier::from_bytes(size, &frontier).map_err(damaged_error)?,
        first: seq(first)?,
        last: seq(last)?,
        latest_time: Timestamp::from_micros(highest),
        synced: counted(synced)?,
    })
}

/// Loads the end of the log, with the checks that are quick: the rows end where the head says, the
/// root is that of the frontier, the last subtree matches the last events, and the latest time is
/// that of the last event.
pub(super) fn load_tip(db: &Connection) -> Result<LogTip, LedgerError> {
    let LogExtent { head, frontier, last, latest_time, .. } = extent(db)?;
    let rows = last.map_or(0, |last| last.saturating_add(1));
    if rows != head.size {
        return Err(damaged_error(format!(
            "the head counts {} events, but the rows end after {rows}",
            head.size
        )));
    }
    if frontier.root() != *head.root.as_bytes() {
        return Err(damaged_error("the stored root is not that of the stored frontier"));
    }
    let at = check_last_events(db, &frontier)?;
    if latest_time != at {
        return Err(damaged_error(format!(
            "the stored time of the log is {latest_time}, but its events end at {at}"
        )));
    }
    Ok(LogTip::at(head.log, frontier, latest_time))
}

/// Checks the last events against the frontier, and returns the time of the last one.
fn check_last_events(db: &Connection, frontier: &Frontier) -> Result<Timestamp, LedgerError> {
    let Some((node, leaves)) = frontier.last() else { return Ok(Timestamp::default()) };
    let count = if leaves > MAX_CHECKED_LEAVES { 1 } else { leaves };
    let from = frontier.size() - count;
    let mut end = Frontier::default();
    let rows = events::page(db, from, MAX_PAGE)?;
    for row in &rows {
        let leaf = merkle::leaf_hash(&row.event.header);
        if leaf != *row.leaf.as_bytes() {
            return Err(damaged_error(format!("event {} was changed", row.event.seq)));
        }
        end.push(leaf);
    }
    match rows.last() {
        Some(row) if end.size() == count && (count < leaves || end.root() == node) => {
            EventHeader::parse(&row.event.header).map(|header| header.at).map_err(|error| {
                damaged_error(format!("event {} has a bad header: {error}", row.event.seq))
            })
        }
        _ => Err(damaged_error("the last events are not those of the stored head")),
    }
}

/// The key with which blobs are named.
pub(super) fn blob_key(db: &Connection) -> Result<BlobKey, LedgerError> {
    let key: Vec<u8> = db
        .query_row("SELECT blob_key FROM meta WHERE one = 1", [], |row| row.get(0))
        .map_err(|error| from_sql(&error))?;
    let key = zeroize::Zeroizing::new(key);
    let key = <[u8; BLOB_KEY_BYTES]>::try_from(key.as_slice());
    Ok(BlobKey::new(key.map_err(|_| damaged_error("the key of the blobs has not 32 bytes"))?))
}

/// Replaces the head at size `before`, which this process wrote, together with the sums. If another
/// head is stored, another program has written.
pub(super) fn save_head(
    db: &Connection,
    tip: &LogTip,
    before: u64,
    sums: &IntegritySums,
) -> Result<(), LedgerError> {
    let sql = "UPDATE meta SET size = ?1, root = ?2, frontier = ?3, highest = ?4,
        synced = ?5, records = ?6, blobs = ?7 WHERE one = 1 AND size = ?8";
    let size = to_sql(tip.frontier.size())?;
    let (root, frontier) = (tip.root(), tip.frontier.to_bytes());
    let (synced, records, blobs) = sums.columns()?;
    let (highest, stored) = (tip.latest_time.micros(), before.cast_signed());
    let values = params![size, root, frontier, highest, synced, records, blobs, stored];
    if run_counted(db, sql, values)? == 1 {
        return Ok(());
    }
    Err(damaged_error(format!(
        "the stored head is not the one of {before} events that was written last"
    )))
}

/// Dirties a page, so that the transaction has something to sync. Rewriting a row with equal values
/// is not enough, because SQLite leaves the page alone.
pub(super) fn dirty_a_page(db: &Connection) -> Result<(), LedgerError> {
    db.pragma_update(None, "user_version", to_sql(FORMAT_VERSION)?)
        .map_err(|error| from_sql(&error))
}
