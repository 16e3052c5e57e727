//! Why the record of a run is not accepted.

/// How many events at the end of the log are read at most.
pub(crate) const MAX_TAIL_EVENTS: u64 = 200_000;

/// Why the record of a run is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// It does not match the run's events, or is missing.
    #[error(
        "its record does not match its events in the log: somebody changed it, removed it or \
         put an older one back"
    )]
    Differs,
    /// It has no readable form, or a newer one.
    #[error("its record cannot be read: it is damaged, or a newer version wrote it")]
    Unreadable,
    /// The log has no event of the run.
    #[error("the log has no such run: somebody planted its record")]
    Planted,
    /// Payloads of the run's events were pruned, and the log does not restate them.
    #[error("payloads of its events were pruned, so its record cannot be compared with the log")]
    Pruned,
    /// The run started before the part of the log that is read.
    #[error(
        "it began before the last {MAX_TAIL_EVENTS} events, so its record cannot be compared with them"
    )]
    TooOld,
}

impl RunFault {
    /// Whether the log does not say any more what the record should be. Every other fault shows
    /// that somebody or something else changed the record.
    #[must_use]
    pub fn is_incomparable(self) -> bool {
        match self {
            Self::Pruned | Self::TooOld => true,
            Self::Differs | Self::Unreadable | Self::Planted => false,
        }
    }
}
