//! The principal of one client: who it acts as, as the policy in force grants it, and the runs in which
//! it does.

use std::sync::Arc;

use arc_swap::ArcSwap;
use weaver_agent_kernel::{Caller, Invocation, Kernel};
use weaver_policy::{PolicySet, TokenIdentity};
use weaver_types::{CapabilityRequest, Contribution, Principal, PrincipalId, RunContext};

use super::error::ServeError;
use super::run_keeper::RunKeeper;

/// The principal of one client.
///
/// It is what a request of a server needs of its client, so that servers need not know the client
/// itself. A run ends with its client only when nobody else holds its keeper: others hold this weakly.
pub(crate) struct ClientPrincipal {
    source: PrincipalSource,
    granted: ArcSwap<GrantedPrincipal>,
    pub(crate) runs: Arc<RunKeeper>,
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

impl ClientPrincipal {
    /// Whoever `source` says, in the runs that `runs` keeps.
    ///
    /// # Errors
    /// [`ServeError`], when the policy knows nobody of that kind.
    pub(crate) fn new(
        source: PrincipalSource,
        runs: Arc<RunKeeper>,
        policy: Arc<PolicySet>,
    ) -> Result<Self, ServeError> {
        let granted = ArcSwap::from_pointee(GrantedPrincipal::of(&source, policy)?);
        Ok(Self { source, granted, runs })
    }

    /// The principal, as this policy grants it.
    ///
    /// # Errors
    /// [`ServeError`], when the policy does not know it.
    pub(crate) fn granted(&self, policy: Arc<PolicySet>) -> Result<Arc<Principal>, ServeError> {
        let known = self.granted.load();
        if Arc::ptr_eq(&known.policy, &policy) {
            return Ok(Arc::clone(&known.principal));
        }
        let granted = GrantedPrincipal::of(&self.source, policy)?;
        let principal = Arc::clone(&granted.principal);
        self.granted.store(Arc::new(granted));
        Ok(principal)
    }

    /// The run to work in now, the same until it has been idle for long.
    pub(crate) async fn run(&self, kernel: &Kernel) -> Result<RunContext, ServeError> {
        self.runs.current(kernel).await
    }

    /// Refuses a call that never became one, and records it.
    pub(crate) async fn reject(
        &self,
        kernel: &Kernel,
        request: &CapabilityRequest,
        said: Contribution,
    ) -> Result<Invocation, ServeError> {
        let run = self.run(kernel).await?;
        let principal = self.granted(kernel.policy())?;
        let caller = Caller { run: &run, principal: &principal };
        Ok(kernel.reject(caller, request, said).await)
    }
}
