//! Implements [`LogSource`] and [`LogProver`] for everything that reads the file.

use weaver_types::ledger::LedgerError;

use super::reader::SnapshotReader;
use super::{events, integrity_sums, schema, tiles};
use crate::log::{EventRow, EventRowRef};
use crate::merkle::Hash;
use crate::verify::{LogExtent, LogProver, LogSource, SideTable};

/// A reader of the file by short snapshots: the writing process, or another one.
pub(super) trait SnapshotSource {
    fn snapshots(&self) -> &SnapshotReader;
}

impl<T: SnapshotSource> LogSource for T {
    fn extent(&self) -> Result<LogExtent, LedgerError> {
        self.snapshots().with(schema::extent)
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError> {
        self.snapshots().with(|db| events::each(db, from, limit))
    }

    fn visit(
        &self,
        from: u64,
        limit: usize,
        take: &mut dyn FnMut(&EventRowRef<'_>),
    ) -> Result<usize, LedgerError> {
        self.snapshots().with(|db| events::visit(db, from, limit, take))
    }

    fn tile(&self, level: u32, index: u64) -> Result<Option<Vec<u8>>, LedgerError> {
        self.snapshots().with(|db| tiles::tile(db, level, index))
    }

    fn mismatched_table(&self) -> Result<Option<SideTable>, LedgerError> {
        self.snapshots().with(integrity_sums::mismatched_table)
    }

    fn foreign_objects(&self) -> Result<Option<String>, LedgerError> {
        self.snapshots().with(schema::foreign_objects)
    }

    fn keeps_tiles(&self) -> Result<bool, LedgerError> {
        Ok(true)
    }
}

impl<T: SnapshotSource> LogProver for T {
    fn root(&self, size: u64) -> Result<Hash, LedgerError> {
        self.snapshots().with(|db| tiles::root(db, size))
    }

    fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
        self.snapshots().with(|db| tiles::inclusion(db, index, size))
    }

    fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
        self.snapshots().with(|db| tiles::consistency(db, old, new))
    }
}
