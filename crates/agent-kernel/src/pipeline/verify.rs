//! Verifying a token: everything that it is bound to, compared one by one.

use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_types::{AgentId, ReasonCode, TokenClaims};

use super::pending::Pending;
use crate::clock_guard::Moment;
use crate::kernel::{Caller, Kernel};
use crate::revocation::Granted;
use crate::token::{Narrowed, Token};

/// Why a token does not count, and in words.
type Refusal = (ReasonCode, &'static str);

/// A genuine token.
struct Genuine {
    claims: Arc<TokenClaims>,
    /// The one agent that may use it, where a caveat names one.
    agent: Option<AgentId>,
    /// Whether its caveats exclude each other.
    void: bool,
    /// Its grant, while it waits for its invocation.
    pending: Option<Arc<Pending>>,
}

impl Kernel {
    /// Reads and checks a token for this caller at this moment.
    pub(crate) fn verify(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        token: &Token,
        Moment { now, latest }: Moment,
    ) -> Result<(Arc<TokenClaims>, Arc<Pending>), Refusal> {
        let refused = |reason, detail| Err((reason, detail));
        let Some(Genuine { claims, agent, void, pending }) = self.genuine(token) else {
            let detail = "the token is malformed or not made by this kernel";
            return refused(ReasonCode::TokenInvalid, detail);
        };
        if latest >= claims.expires_at || now < claims.issued_at {
            let detail = "the token is past its time; ask for a new grant";
            return refused(ReasonCode::TokenExpired, detail);
        }
        let acting = caller.principal.agent.as_ref().unwrap_or(&caller.run.agent);
        if claims.tenant != self.settings.tenant
            || claims.tenant != caller.principal.tenant
            || claims.principal != caller.principal.id
            || claims.run != caller.run.run_id
            || claims.audience != self.settings.audience
            || agent.is_some_and(|agent| agent != *acting)
        {
            let detail = "the token was made for another principal, agent, run or audience";
            return refused(ReasonCode::TokenScope, detail);
        }
        if void {
            return refused(ReasonCode::TokenScope, "the caveats of the token exclude each other");
        }
        if claims.policy != policy.basis().policy {
            let detail = "the policy has changed since the grant; ask again";
            return refused(ReasonCode::PolicyChanged, detail);
        }
        if self.is_revoked(&claims) {
            return refused(ReasonCode::TokenRevoked, "the grant was revoked");
        }
        match pending {
            Some(pending) => Ok((claims, pending)),
            None => {
                let detail = "the token was used before, or its grant is no longer known";
                refused(ReasonCode::TokenUsed, detail)
            }
        }
    }

    /// What a genuine token says.
    fn genuine(&self, token: &Token) -> Option<Genuine> {
        let keys = self.keys();
        let sealed = keys.genuine(token)?;
        let pending = sealed.name().and_then(|name| self.pending.get(name));
        // What was put under this MAC is remembered, and need not be read again.
        if let Some(minted) = pending.as_ref().filter(|one| sealed.seal() == Some(&one.seal)) {
            let claims = Arc::clone(&minted.claims);
            return Some(Genuine { claims, agent: None, void: false, pending });
        }
        let Narrowed { claims, agent, void } = sealed.read()?;
        Some(Genuine { claims: Arc::new(claims), agent, void, pending })
    }

    /// True when what the token stands for was revoked.
    pub(crate) fn is_revoked(&self, claims: &TokenClaims) -> bool {
        self.revocations.covers(&Granted {
            principal: &claims.principal,
            run: &claims.run,
            token: Some(&claims.token_id),
            at: claims.issued_at,
        })
    }
}
