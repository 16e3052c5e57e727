//! The folders that clients work in, by their runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::RunId;

/// The folders that clients were started in. A client that is reached over a network has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientFolders(Arc<Mutex<BTreeMap<RunId, PathBuf>>>);

impl ClientFolders {
    /// A client works in this folder.
    pub(crate) fn note(&self, run: &RunId, folder: &Path) {
        let mut folders = self.lock();
        if folders.get(run).is_none_or(|known| known != folder) {
            folders.insert(run.clone(), folder.to_owned());
        }
    }

    /// The folder that the client of a run works in.
    pub(crate) fn of(&self, run: &RunId) -> Option<PathBuf> {
        self.lock().get(run).cloned()
    }

    /// Forgets the runs that are over.
    pub(crate) fn keep(&self, runs: &BTreeSet<RunId>) {
        self.lock().retain(|run, _| runs.contains(run));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
