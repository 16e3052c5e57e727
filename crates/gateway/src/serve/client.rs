//! One client of the gateway: who it acts as, what it sees of the tools, and the run it works in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use weaver_policy::{PolicySet, TokenIdentity};
use weaver_types::{CapabilityId, Principal, PrincipalId, RunContext, RunId};

use super::client_feature_cache::ClientFeatureCache;
use super::client_link::ClientLink;
use super::error::ServeError;
use super::gateway::Gateway;
use super::run_keeper::RunKeeper;
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
    pub(crate) features: ClientFeatureCache,
    source: PrincipalSource,
    principal: ArcSwap<GrantedPrincipal>,
    runs: Arc<RunKeeper>,
}

/// What a client sees, and where it works.
pub(crate) struct ClientView {
    pub(crate) profile: Profile,
    pub(crate) folder: Option<PathBuf>,
}

/// Who a client acts as, before a policy says what that is worth.
pub(crate) enum PrincipalSource {
    /// A principal that the policy names.
    Named(PrincipalId),
    /// Whoever a token of a trusted issuer speaks for.
    Token(Arc<TokenIdentity>),
}

impl PrincipalSource {
    /// The principal, as this policy grants it.
    pub(crate) fn principal(&self, policy: &PolicySet) -> Result<Principal, ServeError> {
        match self {
            Self::Named(id) => {
                policy.principal(id).ok_or_else(|| ServeError::Principal { id: id.clone() })
            }
            Self::Token(identity) => Ok(policy.policy().identify(identity)?),
        }
    }
}

/// A principal, and the policy that grants it what it has.
struct GrantedPrincipal {
    policy: Arc<PolicySet>,
    principal: Arc<Principal>,
}

impl GrantedPrincipal {
    fn of(source: &PrincipalSource, policy: Arc<PolicySet>) -> Result<Self, ServeError> {
        let principal = Arc::new(source.principal(&policy)?);
        Ok(Self { policy, principal })
    }
}

impl Client {
    /// A client that acts as whom `source` says, in the runs that `runs` keeps.
    ///
    /// # Errors
    /// [`ServeError`], when the policy in force knows nobody of that kind.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        view: ClientView,
        source: PrincipalSource,
        runs: Arc<RunKeeper>,
    ) -> Result<Self, ServeError> {
        let ClientView { profile, folder } = view;
        let granted = GrantedPrincipal::of(&source, gateway.kernel.policy())?;
        let principal = ArcSwap::from_pointee(granted);
        let (gateway, link, features) = (Arc::clone(gateway), Arc::default(), Default::default());
        Ok(Self { gateway, profile, folder, link, features, source, principal, runs })
    }

    /// The run of this client, the same until it has been idle for long.
    pub(crate) async fn run(&self) -> Result<RunContext, ServeError> {
        self.runs.current(&self.gateway.kernel).await
    }

    /// The run that it worked in last; `None` before its first call.
    pub(crate) async fn last_run(&self) -> Option<RunId> {
        self.runs.run_id().await
    }

    /// Records what the user said in the current run, as reported by a trusted host.
    pub(crate) async fn record_user_statements(&self, texts: &[String]) -> Result<(), ServeError> {
        self.runs.record_user_statements(&self.gateway.kernel, texts).await
    }

    /// The client's session is over. Nobody may hold this client any more, or its run is kept.
    pub(crate) async fn leave(self: Arc<Self>) -> Result<(), ServeError> {
        let (gateway, runs) = (Arc::clone(&self.gateway), Arc::clone(&self.runs));
        drop(self);
        gateway.runs.leave(&gateway.kernel, runs).await
    }

    /// The principal, as the policy in force grants it.
    ///
    /// # Errors
    /// [`ServeError`], when a policy came into force that does not know it.
    pub(crate) fn principal(&self) -> Result<Arc<Principal>, ServeError> {
        let known = self.principal.load();
        let policy = self.gateway.kernel.policy();
        if Arc::ptr_eq(&known.policy, &policy) {
            return Ok(Arc::clone(&known.principal));
        }
        let granted = GrantedPrincipal::of(&self.source, policy)?;
        let principal = Arc::clone(&granted.principal);
        self.principal.store(Arc::new(granted));
        Ok(principal)
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
