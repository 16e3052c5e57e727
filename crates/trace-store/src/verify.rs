//! Verification of the whole log against its own commitments, its stored head, and trust anchors
//! from outside: a signed checkpoint or an earlier head.
//!
//! Nothing stored is trusted. Every commitment is computed from salt and payload, every leaf from
//! the stored header, the root and the tiles from the leaves, and the keys from the events that
//! name them. Without a trust anchor this proves only that the file is consistent with itself, and
//! the [`VerificationReport`] says so.

mod error;
mod lines;
mod log_verifier;
mod prove;
mod pruned_events;
mod report;
mod source;

use weaver_types::ledger::TreeHead;

use crate::checkpoint::{Checkpoint, CheckpointError, SignedNote, TrustPolicy, VerifiedCheckpoint};
use crate::merkle::tile::PartialTiles;
use log_verifier::LogVerifier;

pub use error::{EventFault, VerifyError};
pub use lines::{JsonLinesLog, line};
pub use prove::LogProver;
pub(crate) use prove::{no_such_proof, no_such_size};
pub use report::VerificationReport;
pub use source::{LogExtent, LogSource, SideTable};

/// Events read at once.
const PAGE: usize = 256;
/// How often verification follows a log that grows meanwhile, to find the notes for recently pruned
/// events.
const MAX_FOLLOW_ROUNDS: usize = 8;

/// What is known about a log from outside.
#[derive(Debug, Clone, Copy)]
pub enum TrustAnchor<'a> {
    /// Nothing: truncation cannot be ruled out.
    Nothing,
    /// A head that was stored elsewhere. It is as trustworthy as the place where it was stored.
    Head(&'a TreeHead),
    /// A signed checkpoint, and the policy that says whose signature is trusted.
    Checkpoint(&'a SignedNote, &'a TrustPolicy),
}

/// Verifies the log of `source`; with an `earlier` head, also that the log extends it.
///
/// # Errors
/// [`VerifyError`], with the first bad event if there is one.
pub fn verify(
    source: &dyn LogSource,
    earlier: Option<&TreeHead>,
) -> Result<VerificationReport, VerifyError> {
    verify_with(source, earlier, &mut |_, _| {})
}

/// As [`verify`]; `progress` receives, after every page, how many of how many events are done.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    source: &dyn LogSource,
    earlier: Option<&TreeHead>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerificationReport, VerifyError> {
    verify_against(source, earlier.map_or(TrustAnchor::Nothing, TrustAnchor::Head), progress)
}

/// Verifies the log of `source` against a trust anchor; `progress` receives, after every page, how
/// many of how many events are done.
///
/// # Errors
/// [`VerifyError`], with the first bad event if there is one.
pub fn verify_against(
    source: &dyn LogSource,
    outside: TrustAnchor<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerificationReport, VerifyError> {
    let earlier = match outside {
        TrustAnchor::Nothing => None,
        TrustAnchor::Head(head) => Some(head.clone()),
        TrustAnchor::Checkpoint(note, trust) => {
            refuse_hopeless_checkpoint(trust.open(note))?;
            Some(Checkpoint::parse(note.text())?.head())
        }
    };
    // First, because a view in place of a table would falsify all later answers.
    if let Some(names) = source.foreign_objects()? {
        return Err(VerifyError::Schema { names });
    }
    let mut extent = source.extent()?;
    check_earlier(&extent.head, earlier.as_ref())?;
    let tiles = source.keeps_tiles()?.then(PartialTiles::default);
    let mut walk = LogVerifier::new(extent.head.log.clone(), earlier.as_ref(), tiles);
    walk.check_earlier_head()?;
    for _ in 0..MAX_FOLLOW_ROUNDS {
        walk.verify_up_to(source, extent.head.size, progress)?;
        if walk.pruned_events.first().is_none() {
            break;
        }
        // Events pruned during this run have their notes in events after the first extent.
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
    if let Some(part) = source.mismatched_table()? {
        return Err(VerifyError::Astray { part });
    }
    Ok(VerificationReport {
        head: extent.head,
        synced: walk.synced,
        pruned: walk.pruned_events.explained(),
        last_at: walk.latest_time,
        earlier: earlier.clone(),
        checkpoint,
    })
}

/// Reports an unusable checkpoint before the log is read. An untrusted key is not an error yet,
/// because the log may contain a chain of hand-overs to it.
fn refuse_hopeless_checkpoint(
    opened: Result<VerifiedCheckpoint, CheckpointError>,
) -> Result<(), VerifyError> {
    match opened {
        Ok(_) | Err(CheckpointError::Untrusted { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn check_earlier(head: &TreeHead, earlier: Option<&TreeHead>) -> Result<(), VerifyError> {
    match earlier {
        Some(earlier) if earlier.log != head.log => {
            Err(VerifyError::OtherLog { earlier: earlier.log.clone(), stored: head.log.clone() })
        }
        _ => Ok(()),
    }
}
