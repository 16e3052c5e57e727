//! The principal of one client, resolved against the policy in force, and the client's runs.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use weaver_agent_kernel::{Caller, Invocation, Kernel};
use weaver_firewall::Firewall;
use weaver_policy::{PolicySet, TokenIdentity};
use weaver_types::{CapabilityRequest, CheckResult, Principal, PrincipalId, RunContext};

use super::error::ServeError;
use super::run_tracker::RunTracker;

/// The principal of one client.
///
/// Requests of servers need this much of a client, so that servers need not know the client itself.
/// A run ends with its client only when nobody else holds its tracker, so others hold this weakly.
pub(crate) struct ClientPrincipal {
    source: PrincipalSource,
    cached: ArcSwap<ResolvedPrincipal>,
    pub(crate) run_tracker: Arc<RunTracker>,
}

/// Identifies a client's principal before a policy resolves it.
pub(crate) enum PrincipalSource {
    /// A principal that the policy names.
    Named(PrincipalId),
    /// The bearer of a token from a trusted issuer.
    Token(Arc<TokenIdentity>),
}

impl PrincipalSource {
    /// The principal with the rights that this policy grants.
    pub(crate) fn resolve(&self, policy: &PolicySet) -> Result<Principal, ServeError> {
        match self {
            Self::Named(id) => {
                policy.principal(id).ok_or_else(|| ServeError::Principal { id: id.clone() })
            }
            Self::Token(identity) => Ok(policy.policy().principal_for_token(identity)?),
        }
    }
}

/// A principal with the policy that granted its rights.
struct ResolvedPrincipal {
    policy: Arc<PolicySet>,
    principal: Arc<Principal>,
}

impl ResolvedPrincipal {
    fn resolve(source: &PrincipalSource, policy: Arc<PolicySet>) -> Result<Self, ServeError> {
        let principal = Arc::new(source.resolve(&policy)?);
        Ok(Self { policy, principal })
    }
}

impl ClientPrincipal {
    /// A principal from `source`, with the runs of `run_tracker`.
    ///
    /// # Errors
    /// [`ServeError`], when the policy defines no such principal.
    pub(crate) fn new(
        source: PrincipalSource,
        run_tracker: Arc<RunTracker>,
        policy: Arc<PolicySet>,
    ) -> Result<Self, ServeError> {
        let cached = ArcSwap::from_pointee(ResolvedPrincipal::resolve(&source, policy)?);
        Ok(Self { source, cached, run_tracker })
    }

    /// Its id.
    pub(crate) fn id(&self) -> PrincipalId {
        self.cached.load().principal.id.clone()
    }

    /// The principal, as this policy grants it.
    ///
    /// # Errors
    /// [`ServeError`], when the policy does not define it.
    pub(crate) fn resolve(&self, policy: Arc<PolicySet>) -> Result<Arc<Principal>, ServeError> {
        let cached = self.cached.load();
        if Arc::ptr_eq(&cached.policy, &policy) {
            return Ok(Arc::clone(&cached.principal));
        }
        let resolved = ResolvedPrincipal::resolve(&self.source, policy)?;
        let principal = Arc::clone(&resolved.principal);
        self.cached.store(Arc::new(resolved));
        Ok(principal)
    }

    /// The current run, the same until it was idle for too long.
    pub(crate) async fn run(&self, kernel: &Kernel) -> Result<RunContext, ServeError> {
        self.run_tracker.current(kernel).await
    }

    /// What the agent has to be told about its run, once.
    pub(crate) fn take_run_notice(&self) -> Option<String> {
        self.run_tracker.take_notice()
    }

    /// The firewall for text of servers that the client gets outside of a call.
    pub(crate) async fn firewall<'k>(&self, kernel: &'k Kernel) -> Cow<'k, Firewall> {
        match self.run_tracker.last_run().await {
            Some(run) => kernel.firewall_of_run(&run),
            None => Cow::Borrowed(kernel.firewall()),
        }
    }

    /// Refuses a call that cannot be made, and records it.
    pub(crate) async fn reject(
        &self,
        kernel: &Kernel,
        request: &CapabilityRequest,
        denial: CheckResult,
    ) -> Result<Invocation, ServeError> {
        let run = self.run(kernel).await?;
        let principal = self.resolve(kernel.policy())?;
        let caller = Caller { run: &run, principal: &principal };
        Ok(kernel.reject(caller, request, denial).await)
    }
}
