//! The source of a log for verification and queries.

use weaver_types::Timestamp;
use weaver_types::ledger::{LedgerError, TreeHead};

use crate::log::{EventRow, EventRowRef};
use crate::merkle::Frontier;

/// The stored metadata of a log, read in one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogExtent {
    /// The stored head.
    pub head: TreeHead,
    /// The stored frontier.
    pub frontier: Frontier,
    /// The smallest sequence number of a stored event.
    pub first: Option<u64>,
    /// The largest one.
    pub last: Option<u64>,
    /// The stored time of the log, before which no event may be dated: that of the last event, or
    /// the Unix epoch for an empty log.
    pub latest_time: Timestamp,
    /// The stored count of events that were synced when acknowledged; `None` if the store does not
    /// count.
    pub synced: Option<u64>,
}

/// A table beside the log that is covered by a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SideTable {
    /// The records.
    Records,
    /// The names of the blobs.
    Blobs,
}

impl SideTable {
    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Blobs => "names of the blobs",
        }
    }
}

/// A log that can be read and verified: a ledger, or a file read next to one.
pub trait LogSource {
    /// The stored metadata.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read or its head is malformed.
    fn extent(&self) -> Result<LogExtent, LedgerError>;

    /// Stored events from `from` on, in the order of their sequence numbers, at most `limit`.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError>;

    /// Visits the same events without copying them; returns how many there were. `take` must not
    /// call this source again, which may be locked meanwhile.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn visit(
        &self,
        from: u64,
        limit: usize,
        take: &mut dyn FnMut(&EventRowRef<'_>),
    ) -> Result<usize, LedgerError> {
        let rows = self.rows(from, limit)?;
        for row in &rows {
            take(&row.as_ref());
        }
        Ok(rows.len())
    }

    /// A stored tile, [`TILE_BYTES`](crate::merkle::TILE_BYTES) bytes; `None` if there is none.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn tile(&self, _level: u32, _index: u64) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(None)
    }

    /// The first table beside the log that does not match its sum, if the store keeps sums.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn mismatched_table(&self) -> Result<Option<SideTable>, LedgerError> {
        Ok(None)
    }

    /// The names of foreign objects in the store's schema, in one text; `None` if there are none,
    /// or no schema.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn foreign_objects(&self) -> Result<Option<String>, LedgerError> {
        Ok(None)
    }

    /// Whether this store keeps tiles; verification then checks all of them.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn keeps_tiles(&self) -> Result<bool, LedgerError> {
        Ok(false)
    }
}
