//! The interior hashes in the file: reading and writing tiles, and proofs from them.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::error_mapping::{damaged_error, from_sql, to_sql, unsigned_from_sql};
use super::statement::{SqlResult, run};
use crate::merkle::tile::{PartialTiles, slot_hash, tile_slot};
use crate::merkle::{Frontier, Hash, TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, Tile, path};
use crate::verify::no_such_proof;

pub(super) const END: &str = "SELECT size, frontier FROM meta WHERE one = 1";
pub(super) const TILE: &str = "SELECT nodes FROM tiles WHERE level = ?1 AND place = ?2";
pub(super) const TOP: &str =
    "SELECT substr(nodes, 1, 32) FROM tiles WHERE level = ?1 AND place = ?2";
pub(super) const LEAVES: &str = "SELECT leaf FROM events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq";
const PUT: &str = "INSERT INTO tiles (level, place, nodes) VALUES (?1, ?2, ?3)
    ON CONFLICT (level, place) DO UPDATE SET nodes = excluded.nodes";

/// One stored tile.
pub(super) fn tile(db: &Connection, level: u32, index: u64) -> SqlResult<Option<Vec<u8>>> {
    blob(db, TILE, level, index)
}

/// Writes tiles.
pub(super) fn save(db: &Connection, tiles: &[Tile]) -> SqlResult<()> {
    for Tile { level, index, nodes } in tiles {
        run(db, PUT, params![level, to_sql(*index)?, nodes])?;
    }
    Ok(())
}

/// Checks that the tiles at the end of the log hold the subtrees of its frontier that belong in
/// tiles. It takes a few reads, whatever the size. Full verification checks every tile.
pub(super) fn check_frontier_tiles(db: &Connection, frontier: &Frontier) -> SqlResult<()> {
    let size = frontier.size();
    let levels = (TILE_HEIGHT..u64::BITS).filter(|level| size & (1 << level) != 0);
    for level in levels {
        let place = (size >> level) - 1;
        let (tile_level, index, slot) = tile_slot(level, place);
        let nodes = tile(db, tile_level, index)?.unwrap_or_default();
        if nodes.len() != TILE_BYTES || slot_hash(&nodes, slot) != frontier.subtree(level, place) {
            return Err(damaged_error(format!(
                "tile {index} of level {tile_level} is missing, or not that of the events"
            )));
        }
    }
    Ok(())
}

/// The partial tiles at the end of a log of `size` events.
pub(super) fn load_partial_tiles(db: &Connection, size: u64) -> SqlResult<PartialTiles> {
    let mut higher = Vec::new();
    for level in 1..TILE_HEIGHT {
        let children = size.checked_shr(TILE_HEIGHT * level).unwrap_or(0);
        if children == 0 {
            break;
        }
        let index = children / TILE_WIDTH;
        higher.push(match tile(db, level, index)? {
            Some(nodes) if nodes.len() == TILE_BYTES => nodes,
            None if children % TILE_WIDTH < 2 => vec![0; TILE_BYTES],
            _ => {
                return Err(damaged_error(format!(
                    "tile {index} of level {level} is missing or cut"
                )));
            }
        });
    }
    let leaves = leaves(db, size - size % TILE_WIDTH, size)?;
    Ok(PartialTiles::resume(size, higher, &leaves))
}

/// The root over the first `size` events.
pub(super) fn root(db: &Connection, size: u64) -> SqlResult<Hash> {
    in_snapshot(db, |db| {
        let mut nodes = SubtreeReader::open(db, size, size)?;
        path::root(size, &mut |level, place| nodes.node(level, place))
    })
}

/// An inclusion proof.
pub(super) fn inclusion(db: &Connection, index: u64, size: u64) -> SqlResult<Vec<Hash>> {
    in_snapshot(db, |db| {
        let mut nodes = SubtreeReader::open(db, index, size)?;
        path::inclusion(index, size, &mut |level, place| nodes.node(level, place))?
            .ok_or_else(|| no_such_proof(index, size))
    })
}

/// A consistency proof.
pub(super) fn consistency(db: &Connection, old: u64, new: u64) -> SqlResult<Vec<Hash>> {
    in_snapshot(db, |db| {
        let mut nodes = SubtreeReader::open(db, old, new)?;
        path::consistency(old, new, &mut |level, place| nodes.node(level, place))?
            .ok_or_else(|| no_such_proof(old, new))
    })
}

/// Reads in one snapshot, which takes the file locks once.
fn in_snapshot<T>(db: &Connection, read: impl FnOnce(&Connection) -> SqlResult<T>) -> SqlResult<T> {
    run(db, "BEGIN", [])?;
    let found = read(db);
    let ended = run(db, "COMMIT", []);
    found.and_then(|found| ended.map(|()| found))
}

/// Provides the complete subtrees of the log within one snapshot, and caches what it has read for
/// the duration of one proof.
struct SubtreeReader<'a> {
    db: &'a Connection,
    /// The frontier of the log, which may be larger than the size of the proof.
    frontier: Frontier,
    /// The events covered by full level 0 tiles.
    tiled_events: u64,
    tiles: BTreeMap<(u32, u64), Vec<u8>>,
    /// The subtrees after the last full level 0 tile, by level and index.
    tail: Option<BTreeMap<(u32, u64), Hash>>,
}

impl<'a> SubtreeReader<'a> {
    fn open(db: &'a Connection, of: u64, size: u64) -> SqlResult<Self> {
        let (stored, frontier) = db
            .prepare_cached(END)
            .and_then(|mut end| {
                end.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
            })
            .map_err(|error| from_sql(&error))?;
        let stored = unsigned_from_sql("the size of the log", stored)?;
        if size > stored {
            return Err(no_such_proof(of, size));
        }
        let frontier = Frontier::from_bytes(stored, &frontier).map_err(damaged_error)?;
        let tiled_events = stored - stored % TILE_WIDTH;
        Ok(Self { db, frontier, tiled_events, tiles: BTreeMap::new(), tail: None })
    }

    fn node(&mut self, level: u32, place: u64) -> SqlResult<Hash> {
        if let Some(hash) = self.frontier.subtree(level, place) {
            return Ok(hash);
        }
        let full = self.tiled_events;
        let end = place.saturating_add(1).checked_shl(level).unwrap_or(u64::MAX);
        if end > full {
            return self.tail_subtree(level, place, full);
        }
        if level == 0 {
            return self.leaf(place);
        }
        let (tile_level, index, slot) = tile_slot(level, place);
        let missing =
            || damaged_error(format!("tile {index} of level {tile_level} is missing or cut"));
        if slot == 0 && !self.tiles.contains_key(&(tile_level, index)) {
            let top = blob(self.db, TOP, tile_level, index)?.ok_or_else(missing)?;
            return slot_hash(&top, 0).ok_or_else(missing);
        }
        if !self.tiles.contains_key(&(tile_level, index)) {
            let nodes = tile(self.db, tile_level, index)?.ok_or_else(missing)?;
            self.tiles.insert((tile_level, index), nodes);
        }
        let nodes = self.tiles.get(&(tile_level, index));
        nodes.and_then(|nodes| slot_hash(nodes, slot)).ok_or_else(missing)
    }

    fn leaf(&self, seq: u64) -> SqlResult<Hash> {
        let found = leaves(self.db, seq, seq.saturating_add(1))?;
        found.first().copied().ok_or_else(|| damaged_error(format!("event {seq} is missing")))
    }

    fn tail_subtree(&mut self, level: u32, place: u64, full: u64) -> SqlResult<Hash> {
        if self.tail.is_none() {
            let mut tail = BTreeMap::new();
            let mut frontier = Frontier::default();
            for leaf in leaves(self.db, full, self.frontier.size())? {
                frontier.push_with(leaf, &mut |level, place, hash| {
                    tail.insert((level, place + (full >> level)), hash);
                });
            }
            self.tail = Some(tail);
        }
        let found = self.tail.as_ref().and_then(|tail| tail.get(&(level, place)).copied());
        found.ok_or_else(|| {
            damaged_error(format!("the events from {full} on do not reach the head"))
        })
    }
}

/// The leaf hashes from `from` up to `to`; an error if any is missing.
fn leaves(db: &Connection, from: u64, to: u64) -> SqlResult<Vec<Hash>> {
    let mut out = Vec::new();
    let (first, last) = (to_sql(from)?, to_sql(to)?);
    (|| {
        let mut statement = db.prepare_cached(LEAVES)?;
        let mut found = statement.query((first, last))?;
        while let Some(row) = found.next()? {
            out.push(row.get::<_, Hash>(0)?);
        }
        Ok(())
    })()
    .map_err(|error| from_sql(&error))?;
    if out.len() as u64 == to - from {
        Ok(out)
    } else {
        Err(damaged_error(format!("events between {from} and {to} are missing")))
    }
}

fn blob(db: &Connection, sql: &str, level: u32, index: u64) -> SqlResult<Option<Vec<u8>>> {
    let index = to_sql(index)?;
    (|| db.prepare_cached(sql)?.query_row((level, index), |row| row.get(0)).optional())()
        .map_err(|error| from_sql(&error))
}

#[cfg(test)]
mod tests;
