//! Verification: the whole log against its own commitments, its stored head, and what is brought
//! from outside: a signed checkpoint or an earlier head.
//!
//! Nothing stored is taken on trust: every commitment is computed from salt and payload, every
//! leaf from the stored header, the root and the tiles from the leaves, the keys from the events
//! that name them. Without anything from elsewhere that proves only that the file agrees with
//! itself, and the [`Report`] says so.

mod error;
mod lines;
mod prove;
mod pruned_events;
mod report;
mod source;
mod walk;

use weaver_types::ledger::Head;

use crate::checkpoint::{Checkpoint, CheckpointError, Note, Trust, VerifiedCheckpoint};
use crate::merkle::tile::PartialTiles;
use walk::LogVerifier;

pub use error::{Fault, VerifyError};
pub use lines::{Lines, line};
pub use prove::Prove;
pub(crate) use prove::no_such_proof;
pub use report::Report;
pub use source::{Extent, Part, Source};

/// Events read at once.
const PAGE: usize = 256;
/// How often a log that grows meanwhile is followed, to find the notes of what was just pruned.
const FOLLOWED: usize = 8;

/// What is known of a log from elsewhere.
#[derive(Debug, Clone, Copy)]
pub enum TrustAnchor<'a> {
    /// Nothing: truncation cannot be ruled out.
    Nothing,
    /// A head that was kept elsewhere. It proves as much as the place where it was kept.
    Head(&'a Head),
    /// A signed checkpoint, and who is trusted to have signed it.
    Checkpoint(&'a Note, &'a Trust),
}

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
    verify_against(source, earlier.map_or(TrustAnchor::Nothing, TrustAnchor::Head), progress)
}

/// Verifies the log of `source` against what is known from outside; `progress` hears after every
/// page how many of how many events are done.
///
/// # Errors
/// [`VerifyError`], which names the first bad event where there is one.
pub fn verify_against(
    source: &dyn Source,
    outside: TrustAnchor<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, VerifyError> {
    let earlier = match outside {
        TrustAnchor::Nothing => None,
        TrustAnchor::Head(head) => Some(head.clone()),
        TrustAnchor::Checkpoint(note, trust) => {
            refuse_early(trust.open(note))?;
            Some(Checkpoint::parse(note.text())?.head())
        }
    };
    // A view in the place of a table would answer everything that follows.
    if let Some(names) = source.foreign_objects()? {
        return Err(VerifyError::Schema { names });
    }
    let mut extent = source.extent()?;
    check_earlier(&extent.head, earlier.as_ref())?;
    let tiles = source.keeps_tiles()?.then(PartialTiles::default);
    let mut walk = LogVerifier::new(extent.head.log.clone(), earlier.as_ref(), tiles);
    walk.extends()?;
    for _ in 0..FOLLOWED {
        walk.upto(source, extent.head.size, progress)?;
        if walk.gone.first().is_none() {
            break;
        }
        // What is pruned while this runs has its note in events that came after the first look.
        let later = source.extent()?;
        if later.head.size <= extent.head.size {
            break;
        }
        extent = later;
    }
    let checkpoint = walk.finish(source, &extent, outside)?;
    match extent.synced {
        Some(counted) if counted != walk.synced => {
            return Err(VerifyError::Synced { counted, found: walk.synced });
        }
        _ => {}
    }
    if let Some(part) = source.astray()? {
        return Err(VerifyError::Astray { part });
    }
    Ok(Report {
        head: extent.head,
        synced: walk.synced,
        pruned: walk.gone.pruned(),
        last_at: walk.highest,
        earlier: earlier.clone(),
        checkpoint,
    })
}

/// What no log can mend is said before it is read. An unknown key may still be one that the log
/// leads to.
fn refuse_early(opened: Result<VerifiedCheckpoint, CheckpointError>) -> Result<(), VerifyError> {
    match opened {
        Ok(_) | Err(CheckpointError::Untrusted { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn check_earlier(head: &Head, earlier: Option<&Head>) -> Result<(), VerifyError> {
    match earlier {
        Some(earlier) if earlier.log != head.log => {
            Err(VerifyError::OtherLog { earlier: earlier.log.clone(), stored: head.log.clone() })
        }
        _ => Ok(()),
    }
}
