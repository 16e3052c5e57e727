//! One client of the gateway: its principal, the tools it sees, and its run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use weaver_agent_kernel::Invocation;
use weaver_firewall::Firewall;
use weaver_types::{
    CapabilityId, CapabilityRequest, CheckResult, Principal, RunContext, RunId, UpstreamName,
};

use super::client_feature_cache::ClientFeatureCache;
use super::client_link::ClientLink;
use super::client_principal::ClientPrincipal;
use super::error::ServeError;
use super::feature_snapshot::FeatureSnapshot;
use super::gateway::Gateway;
use super::managed_server::{ManagedServer, UnavailableServer};
use super::run_clients::RunClient;
use super::task::TaskContext;
use crate::config::ClientProfile;

/// One client of the gateway.
pub(crate) struct Client {
    pub(crate) gateway: Arc<Gateway>,
    /// Which servers and tools it sees.
    pub(crate) profile: ClientProfile,
    /// The folder in which it was started, for a local client.
    pub(crate) folder: Option<PathBuf>,
    /// Notifications to it and questions for it, outside its own requests.
    pub(crate) link: Arc<ClientLink>,
    /// The resources and prompts it sees, where they differ from everybody's.
    feature_cache: ClientFeatureCache,
    principal: Arc<ClientPrincipal>,
}

/// What a client sees, and the folder it works in.
pub(crate) struct ClientScope {
    pub(crate) profile: ClientProfile,
    pub(crate) folder: Option<PathBuf>,
}

impl Client {
    /// A client that acts as this principal.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        scope: ClientScope,
        principal: ClientPrincipal,
    ) -> Self {
        let ClientScope { profile, folder } = scope;
        let (gateway, principal) = (Arc::clone(gateway), Arc::new(principal));
        let (link, feature_cache) = (Arc::default(), ClientFeatureCache::default());
        Self { gateway, profile, folder, link, feature_cache, principal }
    }

    /// The client's run, the same until it was idle for too long.
    pub(crate) async fn run(&self) -> Result<RunContext, ServeError> {
        self.principal.run(&self.gateway.kernel).await
    }

    /// Notes the process of a server that has served a call, as its connection identifies it.
    pub(crate) fn note_process(&self, server: &UpstreamName, connection: u64) {
        let ledger = self.gateway.kernel.ledger();
        self.principal.run_tracker.note_process(ledger.as_ref(), server, connection);
    }

    /// What the agent has to be told about its run and its servers, once.
    pub(crate) fn take_run_notice(&self) -> Option<String> {
        self.principal.take_run_notice()
    }

    /// What tasks of this client need.
    pub(crate) fn task_context(&self) -> TaskContext<'_> {
        TaskContext {
            clock: &self.gateway.clock,
            results: &self.principal.run_tracker.kept_results,
        }
    }

    /// Whether this run goes on: its results may be shown, which the run's label accounts for.
    pub(crate) async fn is_in_run(&self, run: &RunId) -> bool {
        self.principal.run_tracker.is_last_run(run).await
    }

    /// The run of its last call; `None` before the first.
    pub(crate) async fn last_run(&self) -> Option<RunId> {
        self.principal.run_tracker.run_id().await
    }

    /// Notes the name that the client gives itself, for the log.
    pub(crate) fn note_name(&self, name: &str) {
        self.principal.run_tracker.note_client_name(name);
    }

    /// Records what the user said in the current run, as reported by a trusted host.
    pub(crate) async fn record_user_statements(&self, texts: &[String]) -> Result<(), ServeError> {
        self.principal.run_tracker.record_user_statements(&self.gateway.kernel, texts).await
    }

    /// Ends the client's session, and its run where nothing else uses it. Requires the last
    /// reference to the client; otherwise the run stays open.
    pub(crate) async fn close(self: Arc<Self>) -> Result<(), ServeError> {
        let (gateway, runs) = (Arc::clone(&self.gateway), Arc::clone(&self.principal.run_tracker));
        drop(self);
        gateway.runs.end_session(&gateway.kernel, runs).await
    }

    /// The principal, as the policy in force grants it.
    ///
    /// # Errors
    /// [`ServeError`], when the policy in force does not define its principal.
    pub(crate) fn principal(&self) -> Result<Arc<Principal>, ServeError> {
        self.principal.resolve(self.gateway.kernel.policy())
    }

    /// The firewall for text of servers that the client gets outside of a call.
    pub(crate) async fn firewall(&self) -> Cow<'_, Firewall> {
        self.principal.firewall(&self.gateway.kernel).await
    }

    /// The principal without the client, for requests of servers while the client is connected.
    pub(crate) fn weak_principal(&self) -> Weak<ClientPrincipal> {
        Arc::downgrade(&self.principal)
    }

    /// Refuses a call that cannot be made, and records it.
    pub(crate) async fn reject(
        &self,
        request: &CapabilityRequest,
        denial: CheckResult,
    ) -> Result<Invocation, ServeError> {
        Box::pin(self.principal.reject(&self.gateway.kernel, request, denial)).await
    }

    /// Registers the principal and folder of a run's client. Its subscriptions follow it into the
    /// run.
    ///
    /// # Errors
    /// [`ServeError`], when the policy in force does not know its principal.
    pub(crate) fn register_run(&self, run: &RunId) -> Result<(), ServeError> {
        let (principal, folder) = (self.principal()?.id.clone(), self.folder.clone());
        let connected_clients = &self.gateway.upstreams.connected_clients;
        connected_clients.run_clients.insert(run, RunClient { principal, folder });
        if connected_clients.set_run(&self.link, run) {
            self.gateway.upstreams.sync_subscriptions_of(&self.link.subscriptions.watched());
        }
        Ok(())
    }

    /// Lists the resources of servers again that do not report changes: those that all clients see,
    /// and those of its own instances.
    pub(crate) async fn refresh_resources(&self) {
        self.gateway.refresh_resources().await;
        if let Some(run) = self.last_run().await {
            self.gateway.upstreams.refresh_resources_of_client(&run).await;
        }
    }

    /// The resources and prompts that this client sees. A client with dedicated instances sees what
    /// those offer.
    pub(crate) async fn feature_snapshot(&self) -> Arc<FeatureSnapshot> {
        let Ok(run) = self.listing_run().await else { return Arc::default() };
        let upstreams = &self.gateway.upstreams;
        match upstreams.features_of_run(run.as_ref()).await {
            None => upstreams.features(),
            Some(lists) => {
                let firewall = self.gateway.kernel.firewall();
                self.feature_cache
                    .get_or_build(lists, |lists| upstreams.feature_snapshot(lists, firewall))
            }
        }
    }

    /// The run for which resources and prompts are listed: the client's last one, if any. A client
    /// with a login of its own gets a run here, before its first call, because lists under another
    /// login are not for it.
    async fn listing_run(&self) -> Result<Option<RunId>, ServeError> {
        let principal = self.principal()?;
        let run = match self.last_run().await {
            Some(run) => Some(run),
            None if self.gateway.upstreams.needs_separate_login(&principal.id) => {
                Some(self.run().await?.run_id)
            }
            None => None,
        };
        if let Some(run) = &run {
            self.register_run(run)?;
        }
        Ok(run)
    }

    /// True if the client's profile shows a capability, and its server is one for the folder that the
    /// client works in.
    pub(crate) fn shows(&self, id: &CapabilityId) -> bool {
        let server = self.gateway.upstreams.for_capability(id.as_str());
        self.profile.shows(id)
            && server.is_none_or(|server| server.is_offered_in(self.folder.as_deref()))
    }

    /// True when the client may know that the capability exists.
    pub(crate) fn is_visible(&self, id: &CapabilityId) -> bool {
        let Ok(principal) = self.principal() else { return false };
        self.shows(id) && self.gateway.is_visible_to(&principal, id)
    }

    /// True when the client may know of a server: its profile shows the server, and its principal one
    /// of the server's capabilities, or could see one where nothing is known of them yet. The
    /// gateway's own principal knows of all.
    pub(crate) fn may_see_server(&self, server: &UpstreamName) -> bool {
        let Ok(principal) = self.principal() else { return false };
        let is_offered = |one: &Arc<ManagedServer>| {
            one.name != *server || one.is_offered_in(self.folder.as_deref())
        };
        let servers = self.gateway.upstreams.servers();
        if !self.profile.shows_server(server) || !servers.iter().all(is_offered) {
            return false;
        }
        if principal.id == self.gateway.config.principal {
            return true;
        }
        let prefix = format!("{server}.");
        let ids = self.gateway.registry.list_ids().into_iter();
        let mut ids = ids.filter(|id| id.as_str().starts_with(&prefix)).peekable();
        match ids.peek() {
            None => self.gateway.kernel.policy().may_see_namespace(&principal, server.as_str()),
            Some(_) => ids.any(|id| self.gateway.is_visible_to(&principal, &id)),
        }
    }

    /// The unavailable servers that the client may know of, and why they are unavailable.
    pub(crate) fn unavailable_servers(&self) -> Vec<UnavailableServer> {
        let all = self.gateway.upstreams.unavailable_servers().into_iter();
        all.filter(|unavailable| self.may_see_server(&unavailable.server)).collect()
    }

    /// True when the capability is listed for the client.
    pub(crate) fn is_offered(&self, id: &CapabilityId) -> bool {
        self.is_visible(id) && self.gateway.contract_denial(id).is_none()
    }

    /// The number of tools that await an operator's approval, by server and reason. Their names are
    /// withheld, because a name itself may contain an injected instruction.
    pub(crate) fn tools_awaiting_approval(&self) -> BTreeMap<(String, &'static str), usize> {
        let mut counts = BTreeMap::new();
        let ids = self.gateway.registry.list_ids();
        for id in ids.into_iter().filter(|id| self.is_visible(id)) {
            let Some(denial) = self.gateway.contract_denial(&id) else { continue };
            let server = id.as_str().split_once('.').map_or("", |(server, _)| server).to_owned();
            *counts.entry((server, denial.reason.as_str())).or_default() += 1;
        }
        counts
    }
}
