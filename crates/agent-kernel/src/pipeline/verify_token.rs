//! Verifies a token: its MAC, then everything that it is bound to.

use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_types::{ReasonCode, TokenClaims};

use crate::caller::Caller;
use crate::clock_guard::ClockReading;
use crate::kernel::Kernel;
use crate::pending_grants::PendingGrant;
use crate::revocation::GrantScope;
use crate::token::{NarrowedToken, Token};

/// Why a token is refused: the reason and a message.
type TokenRefusal = (ReasonCode, &'static str);

/// A token that was accepted, with the grant that it was made for.
pub(crate) struct VerifiedToken {
    pending: Arc<PendingGrant>,
    narrowed: Option<TokenClaims>,
}

impl VerifiedToken {
    /// What the token says.
    pub(crate) fn claims(&self) -> &TokenClaims {
        self.narrowed.as_ref().unwrap_or(&self.pending.claims)
    }

    /// The grant.
    pub(crate) fn pending(&self) -> &PendingGrant {
        &self.pending
    }
}

/// A token whose MAC is genuine, with its grant.
struct TokenWithGrant {
    /// Its grant, while it waits for its invocation.
    pending: Option<Arc<PendingGrant>>,
    /// What the token allows, if that differs from its grant.
    narrowed: Option<NarrowedToken>,
}

impl TokenWithGrant {
    fn claims(&self) -> Option<&TokenClaims> {
        let granted = || self.pending.as_ref().map(|pending| &pending.claims);
        self.narrowed.as_ref().map(|read| &read.claims).or_else(granted)
    }
}

impl Kernel {
    /// Verifies a token for this caller at this time.
    ///
    /// The MAC is checked before anything is read from the token. Whether the grant is still
    /// pending is asked last, so that an invalid token says nothing about which grants exist.
    pub(crate) fn verify_token(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        token: &Token,
        at: ClockReading,
    ) -> Result<VerifiedToken, TokenRefusal> {
        let token_with_grant = self.authenticate(token);
        let Some((token_with_grant, claims)) =
            token_with_grant.as_ref().and_then(|it| Some((it, it.claims()?)))
        else {
            let detail = "the token is malformed or not made by this kernel";
            return Err((ReasonCode::TokenInvalid, detail));
        };
        self.check_claims(policy, caller, claims, token_with_grant.narrowed.as_ref(), at)?;
        match &token_with_grant.pending {
            Some(pending) => Ok(VerifiedToken {
                pending: Arc::clone(pending),
                narrowed: token_with_grant.narrowed.as_ref().map(|read| read.claims.clone()),
            }),
            None => {
                let detail = "the token was used before, or its grant is no longer known";
                Err((ReasonCode::TokenUsed, detail))
            }
        }
    }

    fn check_claims(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        claims: &TokenClaims,
        narrowed: Option<&NarrowedToken>,
        ClockReading { now, expiry_time: latest }: ClockReading,
    ) -> Result<(), TokenRefusal> {
        let refused = |reason, detail| Err((reason, detail));
        if latest >= claims.expires_at || now < claims.issued_at {
            let detail = "the token is past its time; ask for a new grant";
            return refused(ReasonCode::TokenExpired, detail);
        }
        let acting = caller.principal.agent.as_ref().unwrap_or(&caller.run.agent);
        let agent = narrowed.and_then(|narrowed| narrowed.agent.as_ref());
        if claims.tenant != self.context.settings.tenant
            || claims.tenant != caller.principal.tenant
            || claims.principal != caller.principal.id
            || claims.run != caller.run.run_id
            || claims.audience != self.context.settings.audience
            || agent.is_some_and(|agent| agent != acting)
        {
            let detail = "the token was made for another principal, agent, run or audience";
            return refused(ReasonCode::TokenScope, detail);
        }
        if narrowed.is_some_and(|narrowed| narrowed.contradictory) {
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

    fn authenticate(&self, token: &Token) -> Option<TokenWithGrant> {
        let keys = self.key_ring();
        let sealed = keys.authenticate(token)?;
        let pending = sealed.token_name().and_then(|name| self.pending_grants.get(name));
        // The grant was stored under this MAC, so its claims need not be parsed again.
        let has_granted_mac =
            pending.as_ref().is_some_and(|one| sealed.root_mac() == Some(&one.mac));
        let read = if has_granted_mac { None } else { Some(sealed.read()?) };
        Some(TokenWithGrant { pending, narrowed: read })
    }

    /// True when the grant behind these claims was revoked.
    pub(crate) fn is_revoked(&self, claims: &TokenClaims) -> bool {
        self.is_grant_revoked(&GrantScope {
            principal: &claims.principal,
            run: &claims.run,
            token: Some(&claims.token_id),
            at: claims.issued_at,
        })
    }

    /// True when a grant was revoked according to the records or the log, or when the log cannot be
    /// read.
    pub(crate) fn is_grant_revoked(&self, grant: &GrantScope<'_>) -> bool {
        self.recorder.read_log().is_err() || self.revocations.is_revoked(grant)
    }
}
