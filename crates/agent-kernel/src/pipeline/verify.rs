//! Verifying a token: everything that it is bound to, compared one by one.

use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_types::{ReasonCode, TokenClaims};

use crate::caller::Caller;
use crate::clock_guard::Moment;
use crate::kernel::Kernel;
use crate::pending_grants::PendingGrant;
use crate::revocation::RevocationScope;
use crate::token::{NarrowedToken, Token};

/// Why a token does not count, and in words.
type Refusal = (ReasonCode, &'static str);

/// A token that counts, with the grant that it was made for.
pub(crate) struct VerifiedToken {
    pending: Arc<PendingGrant>,
    narrowed: Option<TokenClaims>,
}

impl VerifiedToken {
    /// What the token says.
    pub(crate) fn claims(&self) -> &TokenClaims {
        self.narrowed.as_ref().unwrap_or(&self.pending.claims)
    }

    /// What was granted.
    pub(crate) fn pending(&self) -> &PendingGrant {
        &self.pending
    }
}

/// A genuine token.
struct GenuineToken {
    /// Its grant, while it waits for its invocation.
    pending: Option<Arc<PendingGrant>>,
    /// What it says, where its grant does not say just that.
    read: Option<NarrowedToken>,
}

impl GenuineToken {
    fn claims(&self) -> Option<&TokenClaims> {
        let granted = || self.pending.as_ref().map(|pending| &pending.claims);
        self.read.as_ref().map(|read| &read.claims).or_else(granted)
    }
}

impl Kernel {
    /// Reads and checks a token for this caller at this moment.
    pub(crate) fn verify(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        token: &Token,
        at: Moment,
    ) -> Result<VerifiedToken, Refusal> {
        let genuine = self.genuine(token);
        let Some((genuine, claims)) = genuine.as_ref().and_then(|it| Some((it, it.claims()?)))
        else {
            let detail = "the token is malformed or not made by this kernel";
            return Err((ReasonCode::TokenInvalid, detail));
        };
        self.check(policy, caller, claims, genuine.read.as_ref(), at)?;
        match &genuine.pending {
            Some(pending) => Ok(VerifiedToken {
                pending: Arc::clone(pending),
                narrowed: genuine.read.as_ref().map(|read| read.claims.clone()),
            }),
            None => {
                let detail = "the token was used before, or its grant is no longer known";
                Err((ReasonCode::TokenUsed, detail))
            }
        }
    }

    fn check(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        claims: &TokenClaims,
        narrowed: Option<&NarrowedToken>,
        Moment { now, latest }: Moment,
    ) -> Result<(), Refusal> {
        let refused = |reason, detail| Err((reason, detail));
        if latest >= claims.expires_at || now < claims.issued_at {
            let detail = "the token is past its time; ask for a new grant";
            return refused(ReasonCode::TokenExpired, detail);
        }
        let acting = caller.principal.agent.as_ref().unwrap_or(&caller.run.agent);
        let agent = narrowed.and_then(|narrowed| narrowed.agent.as_ref());
        if claims.tenant != self.settings.tenant
            || claims.tenant != caller.principal.tenant
            || claims.principal != caller.principal.id
            || claims.run != caller.run.run_id
            || claims.audience != self.settings.audience
            || agent.is_some_and(|agent| agent != acting)
        {
            let detail = "the token was made for another principal, agent, run or audience";
            return refused(ReasonCode::TokenScope, detail);
        }
        if narrowed.is_some_and(|narrowed| narrowed.void) {
            return refused(ReasonCode::TokenScope, "the caveats of the token exclude each other");
        }
        if claims.policy != policy.basis().policy {
            let detail = "the policy has changed since the grant; ask again";
            return refused(ReasonCode::PolicyChanged, detail);
        }
        if self.is_revoked(claims) {
            return refused(ReasonCode::TokenRevoked, "the grant was revoked");
        }
        Ok(())
    }

    fn genuine(&self, token: &Token) -> Option<GenuineToken> {
        let keys = self.key_ring();
        let sealed = keys.genuine(token)?;
        let pending = sealed.name().and_then(|name| self.pending.get(name));
        // What was put under this MAC is remembered, and need not be read again.
        let known = pending.as_ref().is_some_and(|one| sealed.seal() == Some(&one.seal));
        let read = if known { None } else { Some(sealed.read()?) };
        Some(GenuineToken { pending, read })
    }

    /// True when what the token stands for was revoked.
    pub(crate) fn is_revoked(&self, claims: &TokenClaims) -> bool {
        self.is_grant_revoked(&RevocationScope {
            principal: &claims.principal,
            run: &claims.run,
            token: Some(&claims.token_id),
            at: claims.issued_at,
        })
    }

    /// True when a grant was revoked, as the records or the log tell it, or the log cannot be read.
    pub(crate) fn is_grant_revoked(&self, grant: &RevocationScope<'_>) -> bool {
        self.runs.read_log(self.ledger.as_ref()).is_err() || self.revocations.covers(grant)
    }
}
