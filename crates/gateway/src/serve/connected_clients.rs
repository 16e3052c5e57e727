//! The connected clients, and which of them have a call in flight at which server. When a server
//! sends a request of its own, this decides which client it is meant for, and whom a log message may
//! be about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weaver_drivers::mcp::LogLevel;
use weaver_types::{RunId, UpstreamName};

use super::audience::Audience;
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
    /// The run in which it last asked for something.
    run: Option<RunId>,
    /// The call in flight.
    call: Option<Arc<ClientCall>>,
    /// The principal it acts as, while it is connected.
    principal: Weak<ClientPrincipal>,
}

/// A call that was in flight at a server when it sent a message.
#[derive(Debug, Clone)]
pub(crate) struct CallAtServer {
    link: Weak<ClientLink>,
    run: RunId,
    call: Weak<ClientCall>,
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
        let mut table = self.lock();
        let (link, run) = (Arc::clone(call.link()), Some(run.clone()));
        let (made, principal) = (Some(Arc::clone(call)), Weak::new());
        let active = ActiveClient { link, run, call: made, principal };
        table.calls.entry(server.clone()).or_default().push(active);
        ActiveCallGuard {
            connected_clients: self.clone(),
            server: server.clone(),
            call: Arc::clone(call),
        }
    }

    /// Sets the run of a connected client. True where it was in another one before.
    pub(crate) fn set_run(&self, client: &Arc<ClientLink>, run: &RunId) -> bool {
        let mut table = self.lock();
        let connected = table.connected.iter_mut().find(|one| Arc::ptr_eq(&one.link, client));
        let Some(connected) = connected.filter(|one| one.run.as_ref() != Some(run)) else {
            return false;
        };
        connected.run.replace(run.clone()).is_some()
    }

    /// The client that a request of a server is meant for: the only one of the audience with a call
    /// in flight there, or else the only connected one. `None` where several are possible, because a
    /// question to one client must not reach another.
    pub(crate) fn request_target(
        &self,
        server: &UpstreamName,
        audience: &Audience,
    ) -> Option<TargetClient> {
        let table = self.lock();
        let candidates = self.candidates(&table, server, audience);
        let (first, rest) = candidates.split_first()?;
        if !rest.iter().all(|other| Arc::ptr_eq(&first.link, &other.link)) {
            return None;
        }
        Some(target(&first.link, &candidates))
    }

    /// The calls that are in flight at a server now.
    pub(crate) fn calls_at(&self, server: &UpstreamName) -> Vec<CallAtServer> {
        let table = self.lock();
        let calls = table.calls.get(server).into_iter().flatten();
        let calls = calls.filter_map(|one| {
            let (link, call) = (Arc::downgrade(&one.link), Arc::downgrade(one.call.as_ref()?));
            Some(CallAtServer { link, run: one.run.clone()?, call })
        });
        calls.collect()
    }

    /// This client, if a log message may be about it: it belongs to the audience, and one of the
    /// `calls` that were in flight when the server logged is its own, or none is of the audience.
    pub(crate) fn log_target(
        &self,
        audience: &Audience,
        calls: &[CallAtServer],
        client: &Arc<ClientLink>,
    ) -> Option<TargetClient> {
        let of_audience = |call: &&CallAtServer| self.belongs(audience, Some(&call.run), None);
        let calls: Vec<&CallAtServer> = calls.iter().filter(of_audience).collect();
        if calls.is_empty() {
            let table = self.lock();
            let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, client))?;
            return self
                .belongs(audience, connected.run.as_ref(), Some(&connected.principal))
                .then(|| TargetClient::new(Arc::clone(client), Vec::new()));
        }
        let is_own = |call: &&&CallAtServer| call.link.ptr_eq(&Arc::downgrade(client));
        let own: Vec<&&CallAtServer> = calls.iter().filter(is_own).collect();
        let open = own.iter().filter_map(|call| call.call.upgrade()).collect();
        (!own.is_empty()).then(|| TargetClient::new(Arc::clone(client), open))
    }

    /// The clients of an audience with a call in flight at a server, or else all that are connected.
    fn candidates<'t>(
        &self,
        table: &'t ConnectedClientTable,
        server: &UpstreamName,
        audience: &Audience,
    ) -> Vec<&'t ActiveClient> {
        let belongs = |client: &&ActiveClient| {
            self.belongs(audience, client.run.as_ref(), Some(&client.principal))
        };
        let calling = table.calls.get(server).into_iter().flatten();
        let calling: Vec<&ActiveClient> = calling.filter(belongs).collect();
        match calling.is_empty() {
            true => table.connected.iter().filter(belongs).collect(),
            false => calling,
        }
    }

    /// Whether a client belongs to an audience.
    fn belongs(
        &self,
        audience: &Audience,
        run: Option<&RunId>,
        principal: Option<&Weak<ClientPrincipal>>,
    ) -> bool {
        match audience {
            Audience::Everyone => true,
            Audience::Principal(owner) => {
                let of_run = run.and_then(|run| self.run_clients.principal_of(run));
                let of_client = || Some(principal?.upgrade()?.id());
                of_run.or_else(of_client).as_ref() == Some(owner)
            }
            Audience::Clients(InstanceKey::Run(owner)) => run == Some(owner),
            Audience::Clients(InstanceKey::Folder(folder)) => {
                run.and_then(|run| self.run_clients.folder_of(run)).as_ref() == Some(folder)
            }
        }
    }

    /// The lowest level of log messages that a connected client wants; `None` where none does.
    pub(crate) fn wanted_log_level(&self) -> Option<LogLevel> {
        let table = self.lock();
        table.connected.iter().filter_map(|client| client.link.wanted_log_level()).min()
    }

    /// What the connected clients watch at a server, with their runs.
    pub(crate) fn watched_at(&self, server: &UpstreamName) -> Vec<(RunId, BTreeSet<String>)> {
        let table = self.lock();
        let watched = table.connected.iter().filter_map(|client| {
            let uris = client.link.subscriptions.watched_at(server);
            client.run.clone().filter(|_| !uris.is_empty()).map(|run| (run, uris))
        });
        watched.collect()
    }

    /// The connected clients that watch something: their channels and principals.
    pub(crate) fn watching(&self) -> Vec<(Arc<ClientLink>, Weak<ClientPrincipal>)> {
        let table = self.lock();
        let watching =
            table.connected.iter().filter(|one| !one.link.subscriptions.watched().is_empty());
        watching.map(|one| (Arc::clone(&one.link), Weak::clone(&one.principal))).collect()
    }

    /// The runs of the connected clients that watch something. Their instances are still needed.
    pub(crate) fn watching_runs(&self) -> BTreeSet<RunId> {
        let table = self.lock();
        let watching =
            table.connected.iter().filter(|one| !one.link.subscriptions.watched().is_empty());
        watching.filter_map(|one| one.run.clone()).collect()
    }

    /// The principal of a client, while it is connected.
    pub(crate) fn principal_of(&self, link: &Arc<ClientLink>) -> Option<Arc<ClientPrincipal>> {
        let table = self.lock();
        let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, link));
        connected?.principal.upgrade()
    }

    /// The run in which a client last asked for something.
    pub(crate) fn run_of(&self, client: &Arc<ClientLink>) -> Option<RunId> {
        let table = self.lock();
        let connected = table.connected.iter().find(|one| Arc::ptr_eq(&one.link, client));
        connected.and_then(|one| one.run.clone())
    }

    fn lock(&self) -> MutexGuard<'_, ConnectedClientTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client with those of the candidates' calls that are its own.
fn target(link: &Arc<ClientLink>, candidates: &[&ActiveClient]) -> TargetClient {
    let own = candidates.iter().filter(|one| Arc::ptr_eq(&one.link, link));
    let calls = own.filter_map(|client| client.call.clone());
    TargetClient::new(Arc::clone(link), calls.collect())
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
    use weaver_types::PrincipalId;

    use super::*;
    use crate::serve::client_call::CallChannels;
    use crate::serve::run_clients::RunClient;

    fn call(client: &Arc<ClientLink>) -> Arc<ClientCall> {
        ClientCall::open(client, None, CallChannels::default()).0
    }

    fn server(name: &str) -> UpstreamName {
        UpstreamName::parse(name).unwrap()
    }

    fn run(name: &str) -> RunId {
        RunId::parse(name).unwrap()
    }

    #[test]
    fn a_server_means_the_client_that_calls_it_and_nobody_where_it_could_be_two() {
        let connected_clients = ConnectedClients::default();
        let (one, other) = (Arc::<ClientLink>::default(), Arc::<ClientLink>::default());
        let [a, b] = ["a", "b"].map(server);
        let [first_run, second_run] = ["run_1", "run_2"].map(run);
        let all = Audience::Everyone;
        let is = |meant: Option<TargetClient>, client: &Arc<ClientLink>| {
            meant.is_some_and(|meant| Arc::ptr_eq(meant.link(), client))
        };
        let means = |server: &UpstreamName, client: &Arc<ClientLink>| {
            is(connected_clients.request_target(server, &all), client)
        };
        assert!(connected_clients.request_target(&a, &all).is_none());
        let first = connected_clients.register(&one, Weak::new());
        assert!(means(&a, &one), "it is the only one");
        let _second = connected_clients.register(&other, Weak::new());
        assert!(connected_clients.request_target(&a, &all).is_none());
        assert!(!connected_clients.set_run(&other, &second_run), "it had none");
        let (first_call, again) = (
            connected_clients.begin_call(&a, &call(&one), &first_run),
            connected_clients.begin_call(&a, &call(&one), &first_run),
        );
        assert!(means(&a, &one) && connected_clients.request_target(&b, &all).is_none());
        let both = connected_clients.begin_call(&a, &call(&other), &second_run);
        assert!(connected_clients.request_target(&a, &all).is_none());
        let own = Audience::Clients(InstanceKey::Run(second_run));
        assert!(is(connected_clients.request_target(&a, &own), &other));
        assert!(is(connected_clients.request_target(&b, &own), &other));
        let nobody = Audience::Clients(InstanceKey::Run(run("run_3")));
        assert!(connected_clients.request_target(&a, &nobody).is_none(), "it serves nobody else");
        drop((first_call, again));
        assert!(means(&a, &other));
        drop((both, first));
        assert!(means(&a, &other));
    }

    #[test]
    fn under_the_login_of_a_principal_no_client_of_another_is_meant() {
        let connected_clients = ConnectedClients::default();
        let [owner, guest] = ["owner", "guest"].map(|id| PrincipalId::parse(id).unwrap());
        let link = Arc::<ClientLink>::default();
        let _connected = connected_clients.register(&link, Weak::new());
        let (a, of_guest) = (server("a"), run("run_1"));
        let client = RunClient { principal: guest.clone(), folder: None };
        connected_clients.run_clients.insert(&of_guest, client);
        connected_clients.set_run(&link, &of_guest);
        let audience = Audience::Principal(owner);
        assert!(connected_clients.request_target(&a, &audience).is_none());
        assert!(connected_clients.log_target(&audience, &[], &link).is_none());
        let _calling = connected_clients.begin_call(&a, &call(&link), &of_guest);
        assert!(connected_clients.request_target(&a, &audience).is_none());
        assert!(connected_clients.request_target(&a, &Audience::Principal(guest)).is_some());
    }

    #[test]
    fn a_log_message_may_be_about_each_client_that_calls_or_about_all_where_none_does() {
        let connected_clients = ConnectedClients::default();
        let links = [(); 3].map(|()| Arc::<ClientLink>::default());
        let _connected = links.each_ref().map(|link| connected_clients.register(link, Weak::new()));
        let a = server("a");
        let calls = || connected_clients.calls_at(&a);
        let heard = |audience: &Audience, calls: &[CallAtServer]| {
            let target = |link| connected_clients.log_target(audience, calls, link);
            links.each_ref().map(|link| target(link).is_some())
        };
        assert_eq!(heard(&Audience::Everyone, &calls()), [true; 3]);
        let (first, second) = (call(&links[0]), call(&links[1]));
        let first_guard = connected_clients.begin_call(&a, &first, &run("run_1"));
        assert_eq!(heard(&Audience::Everyone, &calls()), [true, false, false]);
        let _second = connected_clients.begin_call(&a, &second, &run("run_2"));
        let both = calls();
        assert_eq!(heard(&Audience::Everyone, &both), [true, true, false]);
        let of_one = Audience::Clients(InstanceKey::Run(run("run_2")));
        assert_eq!(heard(&of_one, &both), [false, true, false]);
        drop((first_guard, first));
        assert_eq!(heard(&Audience::Everyone, &calls()), [false, true, false]);
        let late = heard(&Audience::Everyone, &both);
        assert_eq!(late, [true, true, false], "the call was in flight when the server logged");
    }
}
