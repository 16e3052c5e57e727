//! Which clients are there, and which of them have a call under way at which server: by that it is
//! known whom a server means when it asks something.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weaver_types::{RunId, UpstreamName};

use super::asked_client::AskedClient;
use super::client_call::ClientCall;
use super::client_link::ClientLink;
use super::client_principal::ClientPrincipal;
use super::instance_key::InstanceKey;
use super::run_clients::RunClients;

/// The clients that are there.
#[derive(Clone, Default)]
pub(crate) struct Callers {
    table: Arc<Mutex<CallerTable>>,
    /// The same by their runs: as whom they act, and where they work.
    pub(crate) runs: RunClients,
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
    /// The call that is under way.
    call: Option<Arc<ClientCall>>,
    /// Who it acts as, while it is connected.
    principal: Weak<ClientPrincipal>,
}

impl Callers {
    /// A client is there until what is given back is dropped.
    pub(crate) fn connect(
        &self,
        link: &Arc<ClientLink>,
        principal: Weak<ClientPrincipal>,
    ) -> ConnectedClient {
        let connected = KnownClient { link: Arc::clone(link), run: None, call: None, principal };
        self.lock().connected.push(connected);
        ConnectedClient { callers: self.clone(), client: Arc::clone(link) }
    }

    /// A call is under way, in a run of the client, until what is given back is dropped.
    pub(crate) fn enter(
        &self,
        server: &UpstreamName,
        call: &Arc<ClientCall>,
        run: &RunId,
    ) -> CallUnderWay {
        let client = call.link();
        let mut table = self.lock();
        let connected = table.connected.iter_mut().find(|one| Arc::ptr_eq(&one.link, client));
        if let Some(connected) = connected.filter(|one| one.run.as_ref() != Some(run)) {
            connected.run = Some(run.clone());
        }
        let (link, run) = (Arc::clone(client), Some(run.clone()));
        let (call_made, principal) = (Some(Arc::clone(call)), Weak::new());
        let calling = KnownClient { link, run, call: call_made, principal };
        table.calls.entry(server.clone()).or_default().push(calling);
        CallUnderWay { callers: self.clone(), server: server.clone(), call: Arc::clone(call) }
    }

    /// The one client that a server can mean: the only one with a call under way there, or the only
    /// one at all. `None` where it could be several: what one of them is asked or told is none of
    /// the others' business. An instance of the server means a client whose calls it serves.
    pub(crate) fn meant_by(
        &self,
        server: &UpstreamName,
        instance: Option<&InstanceKey>,
    ) -> Option<AskedClient> {
        let table = self.lock();
        let served = |client: &&KnownClient| match (instance, &client.run) {
            (None, _) => true,
            (Some(InstanceKey::Run(served)), Some(run)) => served == run,
            (Some(InstanceKey::Folder(served)), Some(run)) => {
                self.runs.folder_of(run).as_ref() == Some(served)
            }
            (Some(_), None) => false,
        };
        let calling = table.calls.get(server).into_iter().flatten();
        let calling: Vec<&KnownClient> = calling.filter(served).collect();
        let among = match calling.is_empty() {
            true => table.connected.iter().filter(served).collect(),
            false => calling,
        };
        let (first, rest) = among.split_first()?;
        if !rest.iter().all(|other| Arc::ptr_eq(&first.link, &other.link)) {
            return None;
        }
        let calls = among.iter().filter_map(|client| client.call.clone());
        Some(AskedClient::new(Arc::clone(&first.link), calls.collect()))
    }

    /// Who the client of a link acts as, while it is there.
    pub(crate) fn principal_of(&self, link: &Arc<ClientLink>) -> Option<Arc<ClientPrincipal>> {
        let table = self.lock();
        let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, link));
        connected?.principal.upgrade()
    }

    /// The run of the last call of a client.
    pub(crate) fn run_of(&self, client: &Arc<ClientLink>) -> Option<RunId> {
        let table = self.lock();
        let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, client));
        connected.and_then(|one| one.run.clone())
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
    call: Arc<ClientCall>,
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let mut table = self.callers.lock();
        if let Some(calls) = table.calls.get_mut(&self.server) {
            let is_it = |one: &KnownClient| {
                one.call.as_ref().is_some_and(|call| Arc::ptr_eq(call, &self.call))
            };
            let place = calls.iter().position(is_it);
            place.map(|at| calls.swap_remove(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::client_call::CallFollowing;

    #[test]
    fn a_server_means_the_client_that_calls_it_and_nobody_where_it_could_be_two() {
        let callers = Callers::default();
        let (one, other) = (Arc::<ClientLink>::default(), Arc::<ClientLink>::default());
        let [a, b] = ["a", "b"].map(|name| UpstreamName::parse(name).unwrap());
        let [run, another] = ["run_1", "run_2"].map(|run| RunId::parse(run).unwrap());
        let is = |meant: Option<AskedClient>, client: &Arc<ClientLink>| {
            meant.is_some_and(|meant| Arc::ptr_eq(meant.link(), client))
        };
        let means = |server: &UpstreamName, client: &Arc<ClientLink>| {
            is(callers.meant_by(server, None), client)
        };
        let call =
            |client: &Arc<ClientLink>| ClientCall::open(client, None, CallFollowing::default()).0;
        assert!(callers.meant_by(&a, None).is_none());
        let first = callers.connect(&one, Weak::new());
        assert!(means(&a, &one), "it is the only one");
        let _second = callers.connect(&other, Weak::new());
        assert!(callers.meant_by(&a, None).is_none());
        let (first_call, again) =
            (callers.enter(&a, &call(&one), &run), callers.enter(&a, &call(&one), &run));
        assert!(means(&a, &one) && callers.meant_by(&b, None).is_none());
        let both = callers.enter(&a, &call(&other), &another);
        assert!(callers.meant_by(&a, None).is_none());
        let own = InstanceKey::Run(another.clone());
        assert!(is(callers.meant_by(&a, Some(&own)), &other));
        assert!(is(callers.meant_by(&b, Some(&own)), &other));
        let nobody = InstanceKey::Run(RunId::parse("run_3").unwrap());
        assert!(callers.meant_by(&a, Some(&nobody)).is_none(), "it serves nobody else");
        drop((first_call, again));
        assert!(means(&a, &other));
        drop((both, first));
        assert!(means(&a, &other));
    }
}
