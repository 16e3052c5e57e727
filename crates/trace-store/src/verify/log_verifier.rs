//! One pass over a log, from its first event to its last.

use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, TreeHead};
use weaver_types::{EventKind, LogId, Timestamp};

use super::pruned_events::PrunedEvents;
use super::{EventFault, LogExtent, LogSource, PAGE, TrustAnchor, VerifyError};
use crate::checkpoint::{CheckpointError, KeyEventError, KeyHistory, VerifiedCheckpoint};
use crate::entry::{EventHeaderRef, SALT_BYTES, commitment};
use crate::log::EventRowRef;
use crate::merkle::tile::PartialTiles;
use crate::merkle::{self, Frontier, Tile};
use crate::prune::{self, PruningNote};

/// The state of the verification so far.
pub(super) struct LogVerifier<'a> {
    log: LogId,
    earlier: Option<&'a TreeHead>,
    frontier: Frontier,
    tiles: Option<PartialTiles>,
    keys: KeyHistory,
    pub(super) latest_time: Option<Timestamp>,
    pub(super) synced: u64,
    pub(super) pruned_events: PrunedEvents,
}

impl<'a> LogVerifier<'a> {
    pub(super) fn new(
        log: LogId,
        earlier: Option<&'a TreeHead>,
        tiles: Option<PartialTiles>,
    ) -> Self {
        Self {
            log,
            earlier,
            frontier: Frontier::default(),
            tiles,
            keys: KeyHistory::default(),
            latest_time: None,
            synced: 0,
            pruned_events: PrunedEvents::default(),
        }
    }

    /// Continues up to `size` events.
    pub(super) fn verify_up_to(
        &mut self,
        source: &dyn LogSource,
        size: u64,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), VerifyError> {
        while self.frontier.size() < size {
            let from = self.frontier.size();
            let left = usize::try_from(size - from).unwrap_or(usize::MAX);
            let mut fault = None;
            let seen = source.visit(from, left.min(PAGE), &mut |row| {
                if fault.is_none() {
                    fault = self.verify_event(row).err();
                }
            })?;
            match fault {
                Some(fault) => return Err(fault),
                None if seen == 0 => return Err(EventFault::Missing.at(from)),
                None => {}
            }
            for tile in self.tiles.as_mut().map(PartialTiles::take_full).unwrap_or_default() {
                check_tile(source, &tile)?;
            }
            progress(self.frontier.size(), size);
        }
        Ok(())
    }

    /// Compares the result with the stored head and the trust anchor.
    pub(super) fn finish(
        &self,
        source: &dyn LogSource,
        extent: &LogExtent,
        outside: TrustAnchor<'_>,
    ) -> Result<Option<VerifiedCheckpoint>, VerifyError> {
        let size = extent.head.size;
        // Only now: a bad event before the cut is reported first.
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

    /// Checks that the events and the time of the log end where the stored metadata says.
    fn check_ends(&self, extent: &LogExtent) -> Result<(), VerifyError> {
        let size = extent.head.size;
        if extent.first.is_some_and(|first| first > 0) && size > 0 {
            return Err(EventFault::Missing.at(0));
        }
        if let Some(extra) = extent.first.filter(|first| *first >= size) {
            return Err(EventFault::Extra.at(extra));
        }
        if extent.last.is_some_and(|last| last >= size) {
            return Err(EventFault::Extra.at(size));
        }
        if let Some(seq) = self.pruned_events.first() {
            return Err(EventFault::Gone.at(seq));
        }
        let last = self.latest_time.unwrap_or_default();
        if extent.latest_time != last {
            return Err(VerifyError::Highest { stored: extent.latest_time, last });
        }
        Ok(())
    }

    fn verify_event(&mut self, row: &EventRowRef<'_>) -> Result<(), VerifyError> {
        let seq = self.frontier.size();
        self.check_event(seq, row).map_err(|fault| fault.at(seq))?;
        let tiles = &mut self.tiles;
        let leaf = *row.leaf.as_bytes();
        self.frontier.push_with(leaf, &mut |level, place, hash| {
            if let Some(tiles) = tiles {
                tiles.put(level, place, hash);
            }
        });
        self.synced += u64::from(row.durability == Durability::Disk);
        self.check_earlier_head()
    }

    fn check_event(&mut self, seq: u64, row: &EventRowRef<'_>) -> Result<(), EventFault> {
        if row.seq != seq {
            return Err(EventFault::Missing);
        }
        if merkle::leaf_hash(row.header) != *row.leaf.as_bytes() {
            return Err(EventFault::Leaf);
        }
        let header = EventHeaderRef::parse(row.header).map_err(EventFault::Header)?;
        if header.seq != seq {
            return Err(EventFault::Misplaced { seq: header.seq });
        }
        if header.log != self.log.as_str() {
            let log = LogId::parse(&header.log).map_err(|_| EventFault::Leaf)?;
            return Err(EventFault::OtherLog { log });
        }
        if self.latest_time.is_some_and(|latest_time| header.at < latest_time) {
            return Err(EventFault::Time);
        }
        self.latest_time = Some(header.at);
        match (row.salt, row.payload) {
            (None, None) if prune::is_never_pruned(header.kind) => return Err(EventFault::Gone),
            (None, None) => self.pruned_events.add_missing(seq),
            (Some(salt), Some(payload)) => {
                if salt.len() != SALT_BYTES || commitment(salt, payload) != header.commit {
                    return Err(EventFault::Commitment);
                }
                self.apply_log_event(header.kind, seq, payload)?;
            }
            _ => return Err(EventFault::HalfGone),
        }
        Ok(())
    }

    /// Applies an event that concerns the log itself: a pruning note or a key change.
    fn apply_log_event(
        &mut self,
        kind: EventKind,
        seq: u64,
        payload: &[u8],
    ) -> Result<(), EventFault> {
        match kind {
            EventKind::Pruned => {
                self.pruned_events
                    .explain_by(&PruningNote::parse(payload).map_err(EventFault::Note)?);
                Ok(())
            }
            EventKind::LogKey => match self.keys.apply_event(&self.log, seq, payload) {
                Ok(()) => Ok(()),
                Err(CheckpointError::KeyEvent { why, .. }) => Err(EventFault::Key { why }),
                Err(_) => Err(EventFault::Key { why: KeyEventError::Unreadable }),
            },
            _ => Ok(()),
        }
    }

    /// At the size of the earlier head, the root must be the one it names.
    pub(super) fn check_earlier_head(&self) -> Result<(), VerifyError> {
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

/// Compares a stored tile with the computed hashes. Slots of incomplete subtrees are never read, so
/// their content does not matter.
fn check_tile(source: &dyn LogSource, tile: &Tile) -> Result<(), VerifyError> {
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
