//! Decides who may watch a resource: a notice of its changes reveals something about it, so it is
//! only for those who may read it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use weaver_agent_kernel::{Call, Caller, Kernel};
use weaver_policy::PolicySet;
use weaver_types::{CapabilityRequest, Decision, Principal, ResponseMode, RunContext};

use super::client_principal::ClientPrincipal;
use super::feature_snapshot::ResourceAddress;
use super::server_feature::FeatureKind;
use super::upstreams::Upstreams;

/// Who would read a resource, and the policy that was in force before this was determined.
pub(crate) struct ResourceReader {
    pub(crate) run: RunContext,
    pub(crate) principal: Arc<Principal>,
    pub(crate) policy: Arc<PolicySet>,
}

impl ResourceReader {
    /// A client in its last run; `None` where the policy in force does not know it.
    async fn of_client(kernel: &Kernel, client: &ClientPrincipal) -> Option<Self> {
        let policy = kernel.policy();
        let principal = client.resolve(Arc::clone(&policy)).ok()?;
        let run = client.run_tracker.last_run().await?;
        Some(Self { run, principal, policy })
    }

    /// The decision on reading a resource; `None` where its server has none.
    pub(crate) fn decision(&self, kernel: &Kernel, address: &ResourceAddress) -> Option<Decision> {
        let id = FeatureKind::ResourceReading.id(address.server.as_str())?;
        let caller = Caller { run: &self.run, principal: &self.principal };
        let (request, arguments) = (CapabilityRequest::new(id, ""), json!({ "uri": address.uri }));
        let call =
            Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Auto };
        Some(kernel.dry_run(caller, call).decision)
    }

    /// True while no other policy has come into force.
    pub(crate) fn is_current(&self, kernel: &Kernel) -> bool {
        Arc::ptr_eq(&self.policy, &kernel.policy())
    }
}

/// Decides all subscriptions again, after another policy came into force, and ends those to
/// resources that may no longer be read.
pub(crate) async fn decide_again(kernel: &Kernel, upstreams: &Upstreams) {
    for (link, principal) in upstreams.connected_clients.watching() {
        let watched = link.subscriptions.watched();
        let reader = match principal.upgrade() {
            Some(principal) => ResourceReader::of_client(kernel, &principal).await,
            None => None,
        };
        let is_denied = |address: &ResourceAddress| {
            let decision = reader.as_ref().and_then(|reader| reader.decision(kernel, address));
            decision.is_none_or(|decision| !decision.is_allowed())
        };
        let denied: BTreeSet<ResourceAddress> = watched.into_iter().filter(is_denied).collect();
        if !denied.is_empty() {
            link.subscriptions.unsubscribe_from(&denied);
            upstreams.sync_subscriptions_of(&denied);
        }
    }
}
