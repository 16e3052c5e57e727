//! Verification: the whole log against its own commitments, its stored head and an earlier head.
//!
//! Nothing stored is taken on trust: every commitment is computed from salt and payload, every
//! leaf from the stored header, and the root from the leaves. Without a head from elsewhere that
//! proves only that the file agrees with itself, and the [`Report`] says so.

mod error;
mod gone;
mod report;
mod source;

use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, Head};
use weaver_types::{EventKind, LogId, Timestamp};

use crate::entry::{Header, SALT, commitment};
use crate::log::Row;
use crate::merkle::{self, Frontier};
use crate::prune::{self, Note};
use gone::Gone;

pub use error::{Fault, VerifyError};
pub use report::Report;
pub use source::{Extent, Source};

/// Events read at once.
const PAGE: usize = 256;

/// Verifies the log of `source`; with an `earlier` head, also that the log extends it.
///
/// # Errors
/// [`VerifyError`], which names the first bad event where there is one.
pub fn verify(source: &dyn Source, earlier: Option<&Head>) -> Result<Report, VerifyError> {
    verify_with(source, earlier, &mut |_, _| {})
}

/// As [`verify`]; `progress` hears after every page how many of how many events are done.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    source: &dyn Source,
    earlier: Option<&Head>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, VerifyError> {
    let extent = source.extent()?;
    check_earlier(&extent.head, earlier)?;
    let mut walk = Walk::new(extent.head.log.clone(), earlier);
    walk.extends()?;
    while walk.frontier.size() < extent.head.size {
        let from = walk.frontier.size();
        let left = usize::try_from(extent.head.size - from).unwrap_or(usize::MAX);
        let rows = source.rows(from, left.min(PAGE))?;
        if rows.is_empty() {
            return Err(Fault::Missing.at(from));
        }
        for row in &rows {
            walk.event(row)?;
        }
        progress(walk.frontier.size(), extent.head.size);
    }
    finish(walk, extent, earlier)
}

fn check_earlier(head: &Head, earlier: Option<&Head>) -> Result<(), VerifyError> {
    match earlier {
        Some(earlier) if earlier.log != head.log => {
            Err(VerifyError::OtherLog { earlier: earlier.log.clone(), stored: head.log.clone() })
        }
        _ => Ok(()),
    }
}

fn finish(walk: Walk<'_>, extent: Extent, earlier: Option<&Head>) -> Result<Report, VerifyError> {
    let size = extent.head.size;
    // Only now: a bad event before the cut is the first bad one.
    if let Some(earlier) = earlier.filter(|earlier| earlier.size > size) {
        return Err(VerifyError::Truncated { earlier: earlier.size, stored: size });
    }
    if walk.frontier.root() != *extent.head.root.as_bytes() {
        let proven = earlier.map_or(0, |head| head.size);
        return Err(VerifyError::Root { from: proven, size });
    }
    if walk.frontier != extent.frontier {
        return Err(VerifyError::Frontier);
    }
    if extent.first.is_some_and(|first| first > 0) && size > 0 {
        return Err(Fault::Missing.at(0));
    }
    if let Some(extra) = extent.first.filter(|first| *first >= size) {
        return Err(Fault::Extra.at(extra));
    }
    if extent.last.is_some_and(|last| last >= size) {
        return Err(Fault::Extra.at(size));
    }
    if let Some(seq) = walk.gone.first() {
        return Err(Fault::Gone.at(seq));
    }
    let last = walk.highest.unwrap_or_default();
    if extent.highest != last {
        return Err(VerifyError::Highest { stored: extent.highest, last });
    }
    Ok(Report {
        head: extent.head,
        synced: walk.synced,
        pruned: walk.gone.pruned(),
        last_at: walk.highest,
        earlier: earlier.cloned(),
    })
}

/// What has been read so far.
struct Walk<'a> {
    log: LogId,
    earlier: Option<&'a Head>,
    frontier: Frontier,
    highest: Option<Timestamp>,
    synced: u64,
    gone: Gone,
}

impl<'a> Walk<'a> {
    fn new(log: LogId, earlier: Option<&'a Head>) -> Self {
        let frontier = Frontier::default();
        Self { log, earlier, frontier, highest: None, synced: 0, gone: Gone::default() }
    }

    fn event(&mut self, row: &Row) -> Result<(), VerifyError> {
        let seq = self.frontier.size();
        self.check(seq, row).map_err(|fault| fault.at(seq))?;
        self.frontier.push(merkle::leaf_hash(&row.event.header));
        self.synced += u64::from(row.event.durability == Durability::Disk);
        self.extends()
    }

    fn check(&mut self, seq: u64, row: &Row) -> Result<(), Fault> {
        let event = &row.event;
        if event.seq != seq {
            return Err(Fault::Missing);
        }
        if merkle::leaf_hash(&event.header) != *row.leaf.as_bytes() {
            return Err(Fault::Leaf);
        }
        let header = Header::parse(&event.header).map_err(Fault::Header)?;
        if header.seq != seq {
            return Err(Fault::Misplaced { seq: header.seq });
        }
        if header.log != self.log {
            return Err(Fault::OtherLog { log: header.log });
        }
        if self.highest.is_some_and(|highest| header.at < highest) {
            return Err(Fault::Time);
        }
        self.highest = Some(header.at);
        match (&event.salt, &event.payload) {
            (None, None) if prune::never(header.kind) => return Err(Fault::Gone),
            (None, None) => self.gone.miss(seq),
            (Some(salt), Some(payload)) => {
                if salt.len() != SALT || commitment(salt, payload) != header.commit {
                    return Err(Fault::Commitment);
                }
                if header.kind == EventKind::Pruned {
                    self.gone.explain(&Note::parse(payload).map_err(Fault::Note)?);
                }
            }
            _ => return Err(Fault::HalfGone),
        }
        Ok(())
    }

    /// At the size of the earlier head, the root must be the one it names.
    fn extends(&self) -> Result<(), VerifyError> {
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
