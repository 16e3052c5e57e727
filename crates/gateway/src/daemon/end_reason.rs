//! Why a gateway of the daemon ends.

use crate::serve::AfterShutdown;

/// Why a gateway of the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndReason {
    /// A command stops the daemon.
    Stopped,
    /// A signal came, no client came for long, or another daemon takes its place.
    NotNeeded,
    /// A usable configuration takes the place of its own.
    Reconfigured,
    /// A command restarts it: the installed program takes its place in its process.
    Restarted,
    /// A command borrows the store.
    Lent,
}

impl EndReason {
    /// What follows, as clients are told.
    pub(super) fn farewell(self) -> AfterShutdown {
        match self {
            Self::Stopped => AfterShutdown::Stopped,
            Self::NotNeeded | Self::Reconfigured | Self::Restarted | Self::Lent => {
                AfterShutdown::Restarting
            }
        }
    }

    /// The reason as the log says it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Stopped => "stopped by a command",
            Self::NotNeeded => "ended by a signal, or not needed",
            Self::Reconfigured => "restarted with what is on disk",
            Self::Restarted => "restarted by a command",
            Self::Lent => "a command borrowed the store",
        }
    }
}
