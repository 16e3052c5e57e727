//! The client of each run: its principal and its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::{PrincipalId, RunId};

/// The client of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunClient {
    pub(crate) principal: PrincipalId,
    /// The folder it was started in; `None` for a remote client.
    pub(crate) folder: Option<PathBuf>,
}

/// The clients of the active runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunClients(Arc<Mutex<BTreeMap<RunId, RunClient>>>);

impl RunClients {
    /// Sets the client of a run.
    pub(crate) fn insert(&self, run: &RunId, client: RunClient) {
        let mut clients = self.lock();
        if clients.get(run).is_none_or(|current| *current != client) {
            clients.insert(run.clone(), client);
        }
    }

    /// The folder of a run's client.
    pub(crate) fn folder_of(&self, run: &RunId) -> Option<PathBuf> {
        self.lock().get(run)?.folder.clone()
    }

    /// The principal of a run's client.
    pub(crate) fn principal_of(&self, run: &RunId) -> Option<PrincipalId> {
        self.lock().get(run).map(|client| client.principal.clone())
    }

    /// The runs whose clients are known.
    pub(crate) fn run_ids(&self) -> BTreeSet<RunId> {
        self.lock().keys().cloned().collect()
    }

    /// Removes runs that have ended: those in `noted`, a snapshot taken before `current` was
    /// determined, that are not in `current`. A run added in between has just begun and is kept.
    /// Returns all active runs.
    pub(crate) fn retain_current(
        &self,
        noted: &BTreeSet<RunId>,
        mut current: BTreeSet<RunId>,
    ) -> BTreeSet<RunId> {
        let mut clients = self.lock();
        clients.retain(|run, _| current.contains(run) || !noted.contains(run));
        current.extend(clients.keys().cloned());
        current
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, RunClient>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_begins_while_the_current_ones_are_looked_for_is_kept() {
        let run = |name: &str| RunId::parse(name).unwrap();
        let (clients, principal) = (RunClients::default(), PrincipalId::parse("ana").unwrap());
        let note = |name: &str| {
            let client = RunClient { principal: principal.clone(), folder: Some("/work".into()) };
            clients.insert(&run(name), client);
        };
        note("run_1");
        note("run_2");
        let noted = clients.run_ids();
        note("run_3");
        let going = clients.retain_current(&noted, BTreeSet::from([run("run_2")]));
        assert_eq!(going, BTreeSet::from([run("run_2"), run("run_3")]));
        assert!(clients.folder_of(&run("run_3")).is_some());
        assert!(clients.folder_of(&run("run_1")).is_none());
    }
}
