//! The report of a verification: what it proved, and what it could not prove.

use weaver_types::Timestamp;
use weaver_types::ledger::TreeHead;

use crate::checkpoint::VerifiedCheckpoint;

/// What a verification proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationReport {
    /// The head that the events hash to.
    pub head: TreeHead,
    /// Events whose rows claim that they were synced to disk when they were acknowledged. No hash
    /// covers that.
    pub synced: u64,
    /// Events without a payload, each named by a later `log.pruned` event.
    pub pruned: u64,
    /// The time of the last event.
    pub last_at: Option<Timestamp>,
    /// The earlier head that the log extends; with a checkpoint, the head that it names.
    pub earlier: Option<TreeHead>,
    /// The checkpoint that the log extends, with the key and the witnesses that signed it.
    pub checkpoint: Option<VerifiedCheckpoint>,
}

impl VerificationReport {
    /// What is proven, one sentence each.
    #[must_use]
    pub fn proven(&self) -> Vec<String> {
        let mut out = vec![format!(
            "all {} events match their commitments, stand in order and hash to the stored root",
            self.head.size
        )];
        if self.pruned > 0 {
            out.push(format!(
                "{} of them are pruned, as `log.pruned` events say; their headers stand",
                self.pruned
            ));
        }
        if let Some(earlier) = &self.earlier {
            let what = if self.checkpoint.is_some() { "checkpoint" } else { "head" };
            out.push(format!(
                "the first {} events are those of the given {what}: none was changed, removed, \
                 reordered or cut off",
                earlier.size
            ));
        }
        if let Some(VerifiedCheckpoint { key, witnesses, .. }) = &self.checkpoint {
            out.push(format!("the checkpoint was signed by {key}, which counted at its size"));
            out.extend(witnesses.iter().map(|seen| {
                format!(
                    "the witness {} signed it, by its own clock {} seconds after 1970",
                    seen.key.name(),
                    seen.at
                )
            }));
        }
        out
    }

    /// What is not proven, one sentence each.
    #[must_use]
    pub fn not_proven(&self) -> Vec<String> {
        let mut out = Vec::new();
        let what = if self.checkpoint.is_some() { "checkpoint" } else { "head" };
        match &self.earlier {
            None => out.push(
                "this cannot rule out truncation, nor that somebody rewrote the whole file: no \
                 checkpoint or head from elsewhere was given"
                    .to_owned(),
            ),
            Some(TreeHead { size, .. }) if *size < self.head.size => out.push(format!(
                "events from {size} on came after the given {what}: that none of them was rewritten \
                 or cut off since is not proven"
            )),
            Some(_) => out.push(format!(
                "events after the given {what}, if there ever were any, could have been cut off"
            )),
        }
        match &self.checkpoint {
            None if self.earlier.is_some() => out.push(
                "the given head is not signed: it proves as much as the place where it was kept"
                    .to_owned(),
            ),
            Some(verified) if verified.witnesses.is_empty() => out.push(
                "no witness was asked for: that others were shown the same log is not proven"
                    .to_owned(),
            ),
            _ => {}
        }
        out.push(format!(
            "that {} events were synced to disk is only what is written beside them: the root does \
             not cover it",
            self.synced
        ));
        if self.pruned > 0 {
            out.push("what the pruned payloads said cannot be checked any more".to_owned());
        }
        out.push("the records beside the log are not covered by its root".to_owned());
        out
    }
}
