//! What a verification proved, and what it could not.

use weaver_types::Timestamp;
use weaver_types::ledger::Head;

/// What a verification proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The head that the events hash to.
    pub head: Head,
    /// Events whose rows say that they were synced to disk when they were acknowledged. No hash
    /// covers that.
    pub synced: u64,
    /// Events without payload, each named by a later `log.pruned` event.
    pub pruned: u64,
    /// The time of the last event.
    pub last_at: Option<Timestamp>,
    /// The earlier head that the log extends.
    pub earlier: Option<Head>,
}

impl Report {
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
            out.push(format!(
                "the first {} events are those of the given head: none was changed, removed, \
                 reordered or cut off",
                earlier.size
            ));
        }
        out
    }

    /// What is not proven, one sentence each.
    #[must_use]
    pub fn not_proven(&self) -> Vec<String> {
        let mut out = Vec::new();
        let known = self.earlier.as_ref().map_or(0, |head| head.size);
        match &self.earlier {
            None => out.push(
                "without a head from elsewhere, truncation cannot be ruled out, nor that somebody \
                 rewrote the whole file"
                    .to_owned(),
            ),
            Some(_) if known < self.head.size => out.push(format!(
                "events from {known} on came after the given head: that none of them was rewritten \
                 or cut off since is not proven"
            )),
            Some(_) => out.push(
                "events after the given head, if there ever were any, could have been cut off"
                    .to_owned(),
            ),
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
