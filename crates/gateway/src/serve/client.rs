//! One client of the gateway: who it acts as, what it sees of the tools, and the run it works in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use weaver_agent_kernel::Invocation;
use weaver_types::{CapabilityId, CapabilityRequest, Contribution, Principal, RunContext, RunId};

use super::client_feature_cache::ClientFeatureCache;
use super::client_link::ClientLink;
use super::client_principal::ClientPrincipal;
use super::error::ServeError;
use super::feature_snapshot::FeatureSnapshot;
use super::gateway::Gateway;
use super::run_clients::RunClient;
use crate::config::Profile;

/// One client of the gateway.
pub(crate) struct Client {
    pub(crate) gateway: Arc<Gateway>,
    /// What it sees.
    pub(crate) profile: Profile,
    /// The folder that it was started in, where it runs on this machine.
    pub(crate) folder: Option<PathBuf>,
    /// What goes to and from it beside its requests.
    pub(crate) link: Arc<ClientLink>,
    /// What it sees beside tools, where that is not what all see.
    features: ClientFeatureCache,
    principal: Arc<ClientPrincipal>,
}

/// What a client sees, and where it works.
pub(crate) struct ClientView {
    pub(crate) profile: Profile,
    pub(crate) folder: Option<PathBuf>,
}

impl Client {
    /// A client that acts as this principal.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        view: ClientView,
        principal: ClientPrincipal,
    ) -> Self {
        let ClientView { profile, folder } = view;
        let (gateway, principal) = (Arc::clone(gateway), Arc::new(principal));
        let (link, features) = (Arc::default(), ClientFeatureCache::default());
        Self { gateway, profile, folder, link, features, principal }
    }

    /// The run of this client, the same until it has been idle for long.
    pub(crate) async fn run(&self) -> Result<RunContext, ServeError> {
        self.principal.run(&self.gateway.kernel).await
    }

    /// The run that it worked in last; `None` before its first call.
    pub(crate) async fn last_run(&self) -> Option<RunId> {
        self.principal.runs.run_id().await
    }

    /// Records what the user said in the current run, as reported by a trusted host.
    pub(crate) async fn record_user_statements(&self, texts: &[String]) -> Result<(), ServeError> {
        self.principal.runs.record_user_statements(&self.gateway.kernel, texts).await
    }

    /// The client's session is over. Nobody may hold this client any more, or its run is kept.
    pub(crate) async fn leave(self: Arc<Self>) -> Result<(), ServeError> {
        let (gateway, runs) = (Arc::clone(&self.gateway), Arc::clone(&self.principal.runs));
        drop(self);
        gateway.runs.leave(&gateway.kernel, runs).await
    }

    /// The principal, as the policy in force grants it.
    ///
    /// # Errors
    /// [`ServeError`], when a policy came into force that does not know it.
    pub(crate) fn principal(&self) -> Result<Arc<Principal>, ServeError> {
        self.principal.granted(self.gateway.kernel.policy())
    }

    /// The principal by itself, for whoever asks the client something while it is there.
    pub(crate) fn weak_principal(&self) -> Weak<ClientPrincipal> {
        Arc::downgrade(&self.principal)
    }

    /// Refuses a call that never became one, and records it.
    pub(crate) async fn reject(
        &self,
        request: &CapabilityRequest,
        said: Contribution,
    ) -> Result<Invocation, ServeError> {
        self.principal.reject(&self.gateway.kernel, request, said).await
    }

    /// Keeps as whom the client of a run acts, and in which folder it works.
    ///
    /// # Errors
    /// [`ServeError`], when the policy in force does not know its principal.
    pub(crate) fn note_run(&self, run: &RunId) -> Result<(), ServeError> {
        let (principal, folder) = (self.principal()?.id.clone(), self.folder.clone());
        self.gateway.upstreams.callers.runs.note(run, RunClient { principal, folder });
        Ok(())
    }

    /// What the servers offer to this client beside tools: a client with instances of its own sees
    /// what those offer.
    pub(crate) async fn feature_snapshot(&self) -> Arc<FeatureSnapshot> {
        let Ok(run) = self.listing_run().await else { return Arc::default() };
        let upstreams = &self.gateway.upstreams;
        match upstreams.features_of_run(run.as_ref()).await {
            None => upstreams.features(),
            Some(own) => {
                let firewall = self.gateway.kernel.firewall();
                self.features.of(own, |all| upstreams.feature_snapshot(all, firewall))
            }
        }
    }

    /// The run for which features are listed: the client's last one, if any. A client that logs in
    /// somewhere by itself gets one before its first call, since nobody else's lists are for it.
    async fn listing_run(&self) -> Result<Option<RunId>, ServeError> {
        let principal = self.principal()?;
        let run = match self.last_run().await {
            Some(run) => Some(run),
            None if self.gateway.upstreams.needs_login_of(&principal.id) => {
                Some(self.run().await?.run_id)
            }
            None => None,
        };
        if let Some(run) = &run {
            self.note_run(run)?;
        }
        Ok(run)
    }

    /// True when the client may know of the capability.
    pub(crate) fn visible(&self, id: &CapabilityId) -> bool {
        let Ok(principal) = self.principal() else { return false };
        self.profile.shows(id) && self.gateway.visible_to(&principal, id)
    }

    /// True when the capability is shown to the client.
    pub(crate) fn offered(&self, id: &CapabilityId) -> bool {
        self.visible(id) && self.gateway.changed(id).is_none()
    }

    /// How many tools of each server wait for an operator's word, by server and what is the matter.
    /// The names are not told: they may be what speaks to a model.
    pub(crate) fn waiting_tools(&self) -> BTreeMap<(String, &'static str), usize> {
        let mut out = BTreeMap::new();
        let ids = self.gateway.registry.list_ids();
        for id in ids.into_iter().filter(|id| self.visible(id)) {
            let Some(said) = self.gateway.changed(&id) else { continue };
            let server = id.as_str().split_once('.').map_or("", |(server, _)| server).to_owned();
            *out.entry((server, said.reason.as_str())).or_default() += 1;
        }
        out
    }
}
