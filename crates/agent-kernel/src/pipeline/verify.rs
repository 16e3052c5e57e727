//! Verifying a token: everything that it is bound to, compared one by one.

use weaver_policy::PolicySet;
use weaver_types::{ReasonCode, TokenClaims};

use super::pending::Pending;
use crate::kernel::{Caller, Kernel};
use crate::revocation::Granted;
use crate::token::Token;

impl Kernel {
    /// Reads and checks a token for this caller at this moment.
    pub(crate) fn verify(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        token: &Token,
    ) -> Result<(TokenClaims, Pending), (ReasonCode, &'static str)> {
        let claims = self
            .keys
            .verify(token)
            .map_err(|reason| (reason, "the token is malformed or not made by this kernel"))?;
        if self.latest() >= claims.expires_at || self.now() < claims.issued_at {
            return Err((
                ReasonCode::TokenExpired,
                "the token is past its time; ask for a new grant",
            ));
        }
        if claims.tenant != self.settings.tenant
            || claims.tenant != caller.principal.tenant
            || claims.principal != caller.principal.id
            || claims.run != caller.run.run_id
            || claims.audience != self.settings.audience
        {
            return Err((
                ReasonCode::TokenScope,
                "the token was made for another principal, run or audience",
            ));
        }
        if claims.policy != policy.basis().policy {
            return Err((
                ReasonCode::PolicyChanged,
                "the policy has changed since the grant; ask again",
            ));
        }
        if self.is_revoked(&claims) {
            return Err((ReasonCode::TokenRevoked, "the grant was revoked"));
        }
        match self.pending.get(&claims.token_id) {
            Some(pending) => Ok((claims, pending)),
            None => Err((
                ReasonCode::TokenUsed,
                "the token was used before, or its grant is no longer known",
            )),
        }
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
