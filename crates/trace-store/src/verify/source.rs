//! The source that verification reads from.

use weaver_types::Timestamp;
use weaver_types::ledger::{Head, LedgerError};

use crate::log::{Row, RowRef};
use crate::merkle::Frontier;

/// What a store says of its log, read in one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The stored head.
    pub head: Head,
    /// The stored frontier.
    pub frontier: Frontier,
    /// The least sequence number of a stored event.
    pub first: Option<u64>,
    /// The greatest.
    pub last: Option<u64>,
    /// The stored time of the log, below which no event is dated: that of the last event, and the
    /// Unix epoch of an empty log.
    pub highest: Timestamp,
    /// Events that were synced when they were acknowledged; `None` where nobody counts.
    pub synced: Option<u64>,
}

/// What stands beside the log, and is covered by sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The records.
    Records,
    /// The names of the blobs.
    Blobs,
}

impl Part {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Blobs => "names of the blobs",
        }
    }
}

/// A log that can be verified: a ledger, or a file read beside one.
pub trait Source {
    /// What is there.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read or its head is not of the stored form.
    fn extent(&self) -> Result<Extent, LedgerError>;

    /// Events as stored, from `from` on, in the order of their sequence numbers, at most `limit`.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, LedgerError>;

    /// Looks at the same events where they lie, without a copy of each; gives how many there were.
    /// What `take` does must not ask this source again: it may be locked meanwhile.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn visit(
        &self,
        from: u64,
        limit: usize,
        take: &mut dyn FnMut(&RowRef<'_>),
    ) -> Result<usize, LedgerError> {
        let rows = self.rows(from, limit)?;
        for row in &rows {
            take(&row.as_ref());
        }
        Ok(rows.len())
    }

    /// A tile as stored, [`TILE_BYTES`](crate::merkle::TILE_BYTES) bytes; `None` where there is none.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn tile(&self, _level: u32, _index: u64) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(None)
    }

    /// The first part beside the log that is not what was written, as far as the store keeps sums.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn astray(&self) -> Result<Option<Part>, LedgerError> {
        Ok(None)
    }

    /// The names of what stands in the store's schema and is not what a ledger has, in one text;
    /// `None` where the schema is as it was made, or there is none.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn foreign_objects(&self) -> Result<Option<String>, LedgerError> {
        Ok(None)
    }

    /// Whether this store keeps tiles; verification then asks for all of them.
    ///
    /// # Errors
    /// [`LedgerError`], when the store cannot be read.
    fn keeps_tiles(&self) -> Result<bool, LedgerError> {
        Ok(false)
    }
}
