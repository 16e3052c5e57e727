//! The clients of runs: as whom each acts, and in which folder it works.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::{PrincipalId, RunId};

/// The client of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunClient {
    pub(crate) principal: PrincipalId,
    /// The folder that it was started in. A client that is reached over a network has none.
    pub(crate) folder: Option<PathBuf>,
}

/// The clients of the runs that go on.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunClients(Arc<Mutex<BTreeMap<RunId, RunClient>>>);

impl RunClients {
    /// A run is that of this client.
    pub(crate) fn note(&self, run: &RunId, client: RunClient) {
        let mut clients = self.lock();
        if clients.get(run).is_none_or(|known| *known != client) {
            clients.insert(run.clone(), client);
        }
    }

    /// The folder that the client of a run works in.
    pub(crate) fn folder_of(&self, run: &RunId) -> Option<PathBuf> {
        self.lock().get(run)?.folder.clone()
    }

    /// Whom the client of a run acts as.
    pub(crate) fn principal_of(&self, run: &RunId) -> Option<PrincipalId> {
        self.lock().get(run).map(|client| client.principal.clone())
    }

    /// Forgets the runs that are over.
    pub(crate) fn keep(&self, runs: &BTreeSet<RunId>) {
        self.lock().retain(|run, _| runs.contains(run));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, RunClient>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
