//! Which clients are there, and which of them have a call under way at which server: by that it is
//! known whom a server means when it asks something.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::{RunId, UpstreamName};

use super::client_folders::ClientFolders;
use super::client_link::ClientLink;
use super::instance_key::InstanceKey;

/// The clients that are there.
#[derive(Clone, Default)]
pub(crate) struct Callers {
    table: Arc<Mutex<CallerTable>>,
    /// The folders that they work in.
    pub(crate) folders: ClientFolders,
}

#[derive(Default)]
struct CallerTable {
    connected: Vec<KnownClient>,
    /// The calls under way at each server, each with its client.
    calls: BTreeMap<UpstreamName, Vec<KnownClient>>,
}

struct KnownClient {
    link: Arc<ClientLink>,
    /// The run of its last call.
    run: Option<RunId>,
}

impl Callers {
    /// A client is there until what is given back is dropped.
    pub(crate) fn connect(&self, client: &Arc<ClientLink>) -> ConnectedClient {
        self.lock().connected.push(KnownClient { link: Arc::clone(client), run: None });
        ConnectedClient { callers: self.clone(), client: Arc::clone(client) }
    }

    /// A call is under way, in a run of the client, until what is given back is dropped.
    pub(crate) fn enter(
        &self,
        server: &UpstreamName,
        client: &Arc<ClientLink>,
        run: &RunId,
    ) -> CallUnderWay {
        let mut table = self.lock();
        let connected = table.connected.iter_mut().find(|one| Arc::ptr_eq(&one.link, client));
        if let Some(connected) = connected.filter(|one| one.run.as_ref() != Some(run)) {
            connected.run = Some(run.clone());
        }
        let calling = KnownClient { link: Arc::clone(client), run: Some(run.clone()) };
        table.calls.entry(server.clone()).or_default().push(calling);
        CallUnderWay { callers: self.clone(), server: server.clone(), client: Arc::clone(client) }
    }

    /// The one client that a server can mean: the only one with a call under way there, or the only
    /// one at all. `None` where it could be several: what one of them is asked or told is none of
    /// the others' business. An instance of the server means a client whose calls it serves.
    pub(crate) fn meant_by(
        &self,
        server: &UpstreamName,
        instance: Option<&InstanceKey>,
    ) -> Option<Arc<ClientLink>> {
        let table = self.lock();
        let served = |client: &&KnownClient| match (instance, &client.run) {
            (None, _) => true,
            (Some(InstanceKey::Run(served)), Some(run)) => served == run,
            (Some(InstanceKey::Folder(served)), Some(run)) => {
                self.folders.of(run).as_ref() == Some(served)
            }
            (Some(_), None) => false,
        };
        let links = |clients: &'_ [KnownClient]| -> Vec<Arc<ClientLink>> {
            clients.iter().filter(served).map(|client| Arc::clone(&client.link)).collect()
        };
        let calling = table.calls.get(server).map(|calls| links(calls)).unwrap_or_default();
        let among = if calling.is_empty() { links(&table.connected) } else { calling };
        let (first, rest) = among.split_first()?;
        rest.iter().all(|other| Arc::ptr_eq(first, other)).then(|| Arc::clone(first))
    }

    fn lock(&self) -> MutexGuard<'_, CallerTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that is there.
pub(crate) struct ConnectedClient {
    callers: Callers,
    client: Arc<ClientLink>,
}

impl Drop for ConnectedClient {
    fn drop(&mut self) {
        let connected = &mut self.callers.lock().connected;
        if let Some(at) = connected.iter().position(|one| Arc::ptr_eq(&one.link, &self.client)) {
            connected.swap_remove(at);
        }
    }
}

/// A call under way at a server.
pub(crate) struct CallUnderWay {
    callers: Callers,
    server: UpstreamName,
    client: Arc<ClientLink>,
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let mut table = self.callers.lock();
        if let Some(calls) = table.calls.get_mut(&self.server) {
            let place = calls.iter().position(|one| Arc::ptr_eq(&one.link, &self.client));
            place.map(|at| calls.swap_remove(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_means_the_client_that_calls_it_and_nobody_where_it_could_be_two() {
        let callers = Callers::default();
        let (one, other) = (Arc::<ClientLink>::default(), Arc::<ClientLink>::default());
        let [a, b] = ["a", "b"].map(|name| UpstreamName::parse(name).unwrap());
        let [run, another] = ["run_1", "run_2"].map(|run| RunId::parse(run).unwrap());
        let means = |server: &UpstreamName, client: &Arc<ClientLink>| {
            callers.meant_by(server, None).is_some_and(|meant| Arc::ptr_eq(&meant, client))
        };
        assert!(callers.meant_by(&a, None).is_none());
        let first = callers.connect(&one);
        assert!(means(&a, &one), "it is the only one");
        let _second = callers.connect(&other);
        assert!(callers.meant_by(&a, None).is_none());
        let (call, again) = (callers.enter(&a, &one, &run), callers.enter(&a, &one, &run));
        assert!(means(&a, &one) && callers.meant_by(&b, None).is_none());
        let both = callers.enter(&a, &other, &another);
        assert!(callers.meant_by(&a, None).is_none());
        let own = InstanceKey::Run(another.clone());
        assert!(callers.meant_by(&a, Some(&own)).is_some_and(|meant| Arc::ptr_eq(&meant, &other)));
        assert!(callers.meant_by(&b, Some(&own)).is_some_and(|meant| Arc::ptr_eq(&meant, &other)));
        let nobody = InstanceKey::Run(RunId::parse("run_3").unwrap());
        assert!(callers.meant_by(&a, Some(&nobody)).is_none(), "it serves nobody else");
        drop((call, again));
        assert!(means(&a, &other));
        drop((both, first));
        assert!(means(&a, &other));
    }
}
