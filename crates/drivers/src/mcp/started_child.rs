//! The child of a connection, from its start on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::child_config::ChildConfinement;
use crate::confine::{self, CoverRefreshError, EnforcedConfinement, Protection, RunningChild};

/// How long a launcher may take to confine itself. The child has no part in that.
const LAUNCH_TIME: Duration = Duration::from_secs(10);

/// A child that may still be starting.
#[derive(Debug, Clone)]
pub(crate) struct StartedChild {
    pub(crate) child: RunningChild,
    /// What its launcher reported; closed once there will be no report.
    pub(crate) enforced: watch::Receiver<Option<EnforcedConfinement>>,
    /// Every path under which something denied could be found when it was started.
    pub(crate) denied: BTreeSet<PathBuf>,
}

impl StartedChild {
    /// Keeps files that were replaced or made since from the child. Waits for its launcher, and
    /// not for the child.
    pub(crate) async fn cover_replaced_files(
        &self,
        confined: ChildConfinement,
    ) -> Result<(), CoverRefreshError> {
        let mut report = self.enforced.clone();
        let enforced = match timeout(LAUNCH_TIME, report.wait_for(Option::is_some)).await {
            Ok(Ok(enforced)) => enforced.clone().unwrap_or_default(),
            // It was not started, or nothing confines it.
            Ok(Err(_)) => return Ok(()),
            Err(_) => return Err(CoverRefreshError::Launching),
        };
        let (started, has) = (self.clone(), |one| enforced.protections.contains(&one));
        let (by_mounts, by_rules) = (has(Protection::Mounts), has(Protection::Files));
        let covered = tokio::task::spawn_blocking(move || {
            let denied = &confined.confinement.denied;
            match by_mounts {
                true => started.child.cover_replaced_files(&confined.launcher, denied),
                false if by_rules => started.check_places(denied),
                false => Ok(()),
            }
        });
        covered
            .await
            .unwrap_or_else(|error| Err(CoverRefreshError::Processes { reason: error.to_string() }))
    }

    /// Fails where rules alone confine the child, and links lead to denied files at places that it
    /// may still reach. Rules cannot be changed while it runs.
    fn check_places(&self, denied: &BTreeSet<PathBuf>) -> Result<(), CoverRefreshError> {
        let is_denied = |place: &PathBuf| self.denied.iter().any(|path| place.starts_with(path));
        let new = confine::linked_places(denied).into_iter().find(|place| !is_denied(place));
        match new.filter(|_| self.child.is_running()) {
            Some(path) => Err(CoverRefreshError::NewPath { path }),
            None => Ok(()),
        }
    }
}
