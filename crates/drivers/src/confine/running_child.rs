//! A running confined child.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{CoverRefreshError, Launcher};

/// A child that a launcher started, recognised even if its process id has been given to another
/// process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningChild {
    process: u32,
    /// When it started, in ticks since the start of the machine; `None` where that is unknown.
    started: Option<u64>,
    /// A variable and its value (`NAME=value`) that only this child and its descendants have.
    marker: Option<String>,
}

impl RunningChild {
    /// A child that runs now and that its parent has not waited for.
    #[must_use]
    pub fn new(process: u32) -> Self {
        #[cfg(target_os = "linux")]
        let started = super::linux::server_processes::process_start(process);
        #[cfg(not(target_os = "linux"))]
        let started = None;
        Self { process, started, marker: None }
    }

    /// The same, with the variable by which descendants that left its process group are found.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub(crate) fn with_marker(self, marker: Option<String>) -> Self {
        Self { marker, ..self }
    }

    /// Covers denied files that were replaced or created since the child was started with
    /// [`Protection::Mounts`](super::Protection::Mounts), without ending it: in every mount
    /// namespace of the child. Then makes sure that none of its processes opened one before. Blocks
    /// for the time that a few processes take.
    ///
    /// # Errors
    /// [`CoverRefreshError`]: the child may still reach a file, and must be ended.
    pub fn cover_replaced_files(
        &self,
        launcher: &Launcher,
        denied: &BTreeSet<PathBuf>,
    ) -> Result<(), CoverRefreshError> {
        #[cfg(target_os = "linux")]
        {
            super::child_cover::cover_in_child(launcher, self.known(), denied)
        }
        // Mounts hide nothing on this system.
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (self.process, self.started, &self.marker, launcher, denied);
            Err(CoverRefreshError::NoMounts)
        }
    }

    /// Whether it has not ended.
    pub(crate) fn is_running(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            super::linux::server_processes::is_running(self.known())
        }
        // Unknown, so that nobody relies on its end.
        #[cfg(not(target_os = "linux"))]
        {
            true
        }
    }

    /// Kills all of its descendants, while it runs.
    #[cfg(target_os = "linux")]
    pub(crate) fn kill_descendants(&self) {
        super::linux::server_processes::kill_descendants(self.known());
    }

    #[cfg(target_os = "linux")]
    fn known(&self) -> super::linux::server_processes::KnownChild<'_> {
        let (process, started) = (self.process, self.started);
        let marker = self.marker.as_deref();
        super::linux::server_processes::KnownChild { process, started, marker }
    }
}
