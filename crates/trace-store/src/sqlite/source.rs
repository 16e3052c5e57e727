//! What whoever reads the file can be asked: how far it goes, its rows, its tiles and its proofs.

use weaver_types::ledger::LedgerError;

use super::reader::Snapshots;
use super::{events, schema, sums, tiles};
use crate::log::{Row, RowRef};
use crate::merkle::Hash;
use crate::verify::{Extent, Part, Prove, Source};

/// What reads the file by short snapshots: the writing process, and any other.
pub(super) trait SnapshotSource {
    fn snapshots(&self) -> &Snapshots;
}

impl<T: SnapshotSource> Source for T {
    fn extent(&self) -> Result<Extent, LedgerError> {
        self.snapshots().with(schema::extent)
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, LedgerError> {
        self.snapshots().with(|db| events::each(db, from, limit))
    }

    fn visit(
        &self,
        from: u64,
        limit: usize,
        take: &mut dyn FnMut(&RowRef<'_>),
    ) -> Result<usize, LedgerError> {
        self.snapshots().with(|db| events::visit(db, from, limit, take))
    }

    fn tile(&self, level: u32, index: u64) -> Result<Option<Vec<u8>>, LedgerError> {
        self.snapshots().with(|db| tiles::tile(db, level, index))
    }

    fn astray(&self) -> Result<Option<Part>, LedgerError> {
        self.snapshots().with(sums::astray)
    }

    fn foreign_objects(&self) -> Result<Option<String>, LedgerError> {
        self.snapshots().with(schema::foreign_objects)
    }

    fn keeps_tiles(&self) -> Result<bool, LedgerError> {
        self.snapshots().with(tiles::kept)
    }
}

impl<T: SnapshotSource> Prove for T {
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
