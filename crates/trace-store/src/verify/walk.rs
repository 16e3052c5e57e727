//! The walk through a log, from its first event to its last.

use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, Head};
use weaver_types::{EventKind, LogId, Timestamp};

use super::pruned_events::PrunedEvents;
use super::{Extent, Fault, PAGE, Source, TrustAnchor, VerifyError};
use crate::checkpoint::{CheckpointError, KeyEventError, KeyHistory, VerifiedCheckpoint};
use crate::entry::{HeaderRef, SALT, commitment};
use crate::log::RowRef;
use crate::merkle::tile::PartialTiles;
use crate::merkle::{self, Frontier, Tile};
use crate::prune::{self, Note};

/// What has been read so far.
pub(super) struct LogVerifier<'a> {
    log: LogId,
    earlier: Option<&'a Head>,
    frontier: Frontier,
    tiles: Option<PartialTiles>,
    keys: KeyHistory,
    pub(super) highest: Option<Timestamp>,
    pub(super) synced: u64,
    pub(super) gone: PrunedEvents,
}

impl<'a> LogVerifier<'a> {
    pub(super) fn new(log: LogId, earlier: Option<&'a Head>, tiles: Option<PartialTiles>) -> Self {
        Self {
            log,
            earlier,
            frontier: Frontier::default(),
            tiles,
            keys: KeyHistory::default(),
            highest: None,
            synced: 0,
            gone: PrunedEvents::default(),
        }
    }

    /// Goes on up to `size` events.
    pub(super) fn upto(
        &mut self,
        source: &dyn Source,
        size: u64,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), VerifyError> {
        while self.frontier.size() < size {
            let from = self.frontier.size();
            let left = usize::try_from(size - from).unwrap_or(usize::MAX);
            let mut fault = None;
            let seen = source.visit(from, left.min(PAGE), &mut |row| {
                if fault.is_none() {
                    fault = self.event(row).err();
                }
            })?;
            match fault {
                Some(fault) => return Err(fault),
                None if seen == 0 => return Err(Fault::Missing.at(from)),
                None => {}
            }
            for tile in self.tiles.as_mut().map(PartialTiles::take_full).unwrap_or_default() {
                check_tile(source, &tile)?;
            }
            progress(self.frontier.size(), size);
        }
        Ok(())
    }

    /// Holds what was read against the stored head and what is known from outside.
    pub(super) fn finish(
        &self,
        source: &dyn Source,
        extent: &Extent,
        outside: TrustAnchor<'_>,
    ) -> Result<Option<VerifiedCheckpoint>, VerifyError> {
        let size = extent.head.size;
        // Only now: a bad event before the cut is the first bad one.
        if let Some(earlier) = self.earlier.filter(|earlier| earlier.size > size) {
            return Err(VerifyError::Truncated { earlier: earlier.size, stored: size });
        }
        if self.frontier.root() != *extent.head.root.as_bytes() {
            let proven = self.earlier.map_or(0, |head| head.size);
            return Err(VerifyError::Root { from: proven, size });
        }
        if self.frontier != extent.frontier {
            return Err(VerifyError::Frontier);
        }
        self.check_ends(extent)?;
        for tile in self.tiles.iter().flat_map(PartialTiles::unfinished) {
            check_tile(source, tile)?;
        }
        match outside {
            TrustAnchor::Nothing | TrustAnchor::Head(_) => Ok(None),
            TrustAnchor::Checkpoint(note, trust) => Ok(Some(trust.open_with(note, &self.keys)?)),
        }
    }

    /// The events begin and end where the head says, and so does the time of the log.
    fn check_ends(&self, extent: &Extent) -> Result<(), VerifyError> {
        let size = extent.head.size;
        if extent.first.is_some_and(|first| first > 0) && size > 0 {
            return Err(Fault::Missing.at(0));
        }
        if let Some(extra) = extent.first.filter(|first| *first >= size) {
            return Err(Fault::Extra.at(extra));
        }
        if extent.last.is_some_and(|last| last >= size) {
            return Err(Fault::Extra.at(size));
        }
        if let Some(seq) = self.gone.first() {
            return Err(Fault::Gone.at(seq));
        }
        let last = self.highest.unwrap_or_default();
        if extent.highest != last {
            return Err(VerifyError::Highest { stored: extent.highest, last });
        }
        Ok(())
    }

    fn event(&mut self, row: &RowRef<'_>) -> Result<(), VerifyError> {
        let seq = self.frontier.size();
        self.check(seq, row).map_err(|fault| fault.at(seq))?;
        let tiles = &mut self.tiles;
        let leaf = *row.leaf.as_bytes();
        self.frontier.push_with(leaf, &mut |level, place, hash| {
            if let Some(tiles) = tiles {
                tiles.put(level, place, hash);
            }
        });
        self.synced += u64::from(row.durability == Durability::Disk);
        self.extends()
    }

    fn check(&mut self, seq: u64, row: &RowRef<'_>) -> Result<(), Fault> {
        if row.seq != seq {
            return Err(Fault::Missing);
        }
        if merkle::leaf_hash(row.header) != *row.leaf.as_bytes() {
            return Err(Fault::Leaf);
        }
        let header = HeaderRef::parse(row.header).map_err(Fault::Header)?;
        if header.seq != seq {
            return Err(Fault::Misplaced { seq: header.seq });
        }
        if header.log != self.log.as_str() {
            let log = LogId::parse(&header.log).map_err(|_| Fault::Leaf)?;
            return Err(Fault::OtherLog { log });
        }
        if self.highest.is_some_and(|highest| header.at < highest) {
            return Err(Fault::Time);
        }
        self.highest = Some(header.at);
        match (row.salt, row.payload) {
            (None, None) if prune::never(header.kind) => return Err(Fault::Gone),
            (None, None) => self.gone.miss(seq),
            (Some(salt), Some(payload)) => {
                if salt.len() != SALT || commitment(salt, payload) != header.commit {
                    return Err(Fault::Commitment);
                }
                self.heed(header.kind, seq, payload)?;
            }
            _ => return Err(Fault::HalfGone),
        }
        Ok(())
    }

    /// What an event says of the log itself.
    fn heed(&mut self, kind: EventKind, seq: u64, payload: &[u8]) -> Result<(), Fault> {
        match kind {
            EventKind::Pruned => {
                self.gone.explain(&Note::parse(payload).map_err(Fault::Note)?);
                Ok(())
            }
            EventKind::LogKey => match self.keys.take(&self.log, seq, payload) {
                Ok(()) => Ok(()),
                Err(CheckpointError::KeyEvent { why, .. }) => Err(Fault::Key { why }),
                Err(_) => Err(Fault::Key { why: KeyEventError::Unreadable }),
            },
            _ => Ok(()),
        }
    }

    /// At the size of the earlier head, the root must be the one it names.
    pub(super) fn extends(&self) -> Result<(), VerifyError> {
        match self.earlier {
            Some(earlier)
                if earlier.size == self.frontier.size()
                    && Digest::from_bytes(self.frontier.root()) != earlier.root =>
            {
                Err(VerifyError::Forked { size: earlier.size })
            }
            _ => Ok(()),
        }
    }
}

/// The stored tile must hold these hashes. What is not complete yet is never read, so it does not
/// matter.
fn check_tile(source: &dyn Source, tile: &Tile) -> Result<(), VerifyError> {
    let Tile { level, index, nodes } = tile;
    let stored = source.tile(*level, *index)?.unwrap_or_default();
    let mut pairs = nodes.chunks(32).zip(stored.chunks(32));
    let same = |(own, stored): (&[u8], &[u8])| own == stored || own.iter().all(|byte| *byte == 0);
    if stored.len() == nodes.len() && pairs.all(same) {
        Ok(())
    } else {
        Err(VerifyError::Tile { level: *level, index: *index })
    }
}
