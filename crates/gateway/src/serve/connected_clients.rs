//! The connected clients, and which of them have a call in flight at which server. When a server
//! sends a request of its own, this decides which client it is meant for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weaver_types::{RunId, UpstreamName};

use super::client_call::ClientCall;
use super::client_link::ClientLink;
use super::client_principal::ClientPrincipal;
use super::instance_key::InstanceKey;
use super::run_clients::RunClients;
use super::target_client::TargetClient;

/// The connected clients and their calls.
#[derive(Clone, Default)]
pub(crate) struct ConnectedClients {
    table: Arc<Mutex<ConnectedClientTable>>,
    /// The same clients by run: the principal each acts as, and its folder.
    pub(crate) run_clients: RunClients,
}

#[derive(Default)]
struct ConnectedClientTable {
    connected: Vec<ActiveClient>,
    /// The calls in flight at each server, each with its client.
    calls: BTreeMap<UpstreamName, Vec<ActiveClient>>,
}

struct ActiveClient {
    link: Arc<ClientLink>,
    /// The run of its last call.
    run: Option<RunId>,
    /// The call in flight.
    call: Option<Arc<ClientCall>>,
    /// The principal it acts as, while it is connected.
    principal: Weak<ClientPrincipal>,
}

impl ConnectedClients {
    /// Registers a client as connected until the returned guard is dropped.
    pub(crate) fn register(
        &self,
        link: &Arc<ClientLink>,
        principal: Weak<ClientPrincipal>,
    ) -> ClientRegistration {
        let connected = ActiveClient { link: Arc::clone(link), run: None, call: None, principal };
        self.lock().connected.push(connected);
        ClientRegistration { connected_clients: self.clone(), client: Arc::clone(link) }
    }

    /// Registers a call in flight until the returned guard is dropped.
    pub(crate) fn begin_call(
        &self,
        server: &UpstreamName,
        call: &Arc<ClientCall>,
        run: &RunId,
    ) -> ActiveCallGuard {
        let client = call.link();
        let mut table = self.lock();
        let connected = table.connected.iter_mut().find(|one| Arc::ptr_eq(&one.link, client));
        if let Some(connected) = connected.filter(|one| one.run.as_ref() != Some(run)) {
            connected.run = Some(run.clone());
        }
        let (link, run) = (Arc::clone(client), Some(run.clone()));
        let (made, principal) = (Some(Arc::clone(call)), Weak::new());
        let active = ActiveClient { link, run, call: made, principal };
        table.calls.entry(server.clone()).or_default().push(active);
        ActiveCallGuard {
            connected_clients: self.clone(),
            server: server.clone(),
            call: Arc::clone(call),
        }
    }

    /// The client that a request of a server is meant for: the only one with a call in flight
    /// there, or else the only connected one. `None` where several are possible, because a question
    /// to one client must not reach another. For a dedicated instance only the clients it serves
    /// are considered.
    pub(crate) fn request_target(
        &self,
        server: &UpstreamName,
        instance: Option<&InstanceKey>,
    ) -> Option<TargetClient> {
        let table = self.lock();
        let is_served = |client: &&ActiveClient| match (instance, &client.run) {
            (None, _) => true,
            (Some(InstanceKey::Run(owner)), Some(run)) => owner == run,
            (Some(InstanceKey::Folder(folder)), Some(run)) => {
                self.run_clients.folder_of(run).as_ref() == Some(folder)
            }
            (Some(_), None) => false,
        };
        let calling = table.calls.get(server).into_iter().flatten();
        let calling: Vec<&ActiveClient> = calling.filter(is_served).collect();
        let candidates = match calling.is_empty() {
            true => table.connected.iter().filter(is_served).collect(),
            false => calling,
        };
        let (first, rest) = candidates.split_first()?;
        if !rest.iter().all(|other| Arc::ptr_eq(&first.link, &other.link)) {
            return None;
        }
        let calls = candidates.iter().filter_map(|client| client.call.clone());
        Some(TargetClient::new(Arc::clone(&first.link), calls.collect()))
    }

    /// The principal of a client, while it is connected.
    pub(crate) fn principal_of(&self, link: &Arc<ClientLink>) -> Option<Arc<ClientPrincipal>> {
        let table = self.lock();
        let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, link));
        connected?.principal.upgrade()
    }

    /// The run of a client's last call.
    pub(crate) fn run_of(&self, client: &Arc<ClientLink>) -> Option<RunId> {
        let table = self.lock();
        let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, client));
        connected.and_then(|one| one.run.clone())
    }

    fn lock(&self) -> MutexGuard<'_, ConnectedClientTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a client registered as connected.
pub(crate) struct ClientRegistration {
    connected_clients: ConnectedClients,
    client: Arc<ClientLink>,
}

impl Drop for ClientRegistration {
    fn drop(&mut self) {
        let connected = &mut self.connected_clients.lock().connected;
        if let Some(index) = connected.iter().position(|one| Arc::ptr_eq(&one.link, &self.client)) {
            connected.swap_remove(index);
        }
    }
}

/// Keeps a call registered as in flight.
pub(crate) struct ActiveCallGuard {
    connected_clients: ConnectedClients,
    server: UpstreamName,
    call: Arc<ClientCall>,
}

impl Drop for ActiveCallGuard {
    fn drop(&mut self) {
        let mut table = self.connected_clients.lock();
        if let Some(calls) = table.calls.get_mut(&self.server) {
            let is_it = |one: &ActiveClient| {
                one.call.as_ref().is_some_and(|call| Arc::ptr_eq(call, &self.call))
            };
            let position = calls.iter().position(is_it);
            position.map(|index| calls.swap_remove(index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::client_call::CallChannels;

    #[test]
    fn a_server_means_the_client_that_calls_it_and_nobody_where_it_could_be_two() {
        let connected_clients = ConnectedClients::default();
        let (one, other) = (Arc::<ClientLink>::default(), Arc::<ClientLink>::default());
        let [a, b] = ["a", "b"].map(|name| UpstreamName::parse(name).unwrap());
        let [run, another] = ["run_1", "run_2"].map(|run| RunId::parse(run).unwrap());
        let is = |meant: Option<TargetClient>, client: &Arc<ClientLink>| {
            meant.is_some_and(|meant| Arc::ptr_eq(meant.link(), client))
        };
        let means = |server: &UpstreamName, client: &Arc<ClientLink>| {
            is(connected_clients.request_target(server, None), client)
        };
        let call =
            |client: &Arc<ClientLink>| ClientCall::open(client, None, CallChannels::default()).0;
        assert!(connected_clients.request_target(&a, None).is_none());
        let first = connected_clients.register(&one, Weak::new());
        assert!(means(&a, &one), "it is the only one");
        let _second = connected_clients.register(&other, Weak::new());
        assert!(connected_clients.request_target(&a, None).is_none());
        let (first_call, again) = (
            connected_clients.begin_call(&a, &call(&one), &run),
            connected_clients.begin_call(&a, &call(&one), &run),
        );
        assert!(means(&a, &one) && connected_clients.request_target(&b, None).is_none());
        let both = connected_clients.begin_call(&a, &call(&other), &another);
        assert!(connected_clients.request_target(&a, None).is_none());
        let own = InstanceKey::Run(another.clone());
        assert!(is(connected_clients.request_target(&a, Some(&own)), &other));
        assert!(is(connected_clients.request_target(&b, Some(&own)), &other));
        let nobody = InstanceKey::Run(RunId::parse("run_3").unwrap());
        assert!(
            connected_clients.request_target(&a, Some(&nobody)).is_none(),
            "it serves nobody else"
        );
        drop((first_call, again));
        assert!(means(&a, &other));
        drop((both, first));
        assert!(means(&a, &other));
    }
}
