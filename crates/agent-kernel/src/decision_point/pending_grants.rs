//! The grants that wait for their invocation.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use ahash::RandomState;
use weaver_policy::approval::ObservedPrecondition;
use weaver_types::{CallId, CapabilityRequest, TokenClaims, TokenId};

use crate::token::TokenMac;

/// How many grants may wait; beyond that the oldest become void.
const MAX_PENDING: usize = 65_536;
/// How many removed grants the age queue may contain before it is cleaned up.
const MAX_STALE_QUEUE_ENTRIES: usize = 1_024;

/// A grant that waits for its invocation.
#[derive(Debug, Clone)]
pub(crate) struct PendingGrant {
    /// The claims of its token, and the MAC that proves that a token has exactly these claims.
    pub(crate) claims: TokenClaims,
    pub(crate) mac: TokenMac,
    pub(crate) call: CallId,
    pub(crate) request: CapabilityRequest,
    /// The preconditions as observed at the grant.
    pub(crate) preconditions: Vec<ObservedPrecondition>,
}

/// The waiting grants, by token and by age.
#[derive(Default)]
pub(crate) struct PendingGrants(Mutex<GrantTables>);

#[derive(Default)]
struct GrantTables {
    by_token: HashMap<TokenId, Arc<PendingGrant>, RandomState>,
    /// The oldest first. Some may have been removed by now; a token id is never reused.
    by_age: VecDeque<TokenId>,
}

impl PendingGrants {
    pub(crate) fn insert(&self, pending: PendingGrant) {
        let Ok(mut grants) = self.0.lock() else { return };
        while grants.by_token.len() >= MAX_PENDING {
            let Some(oldest) = grants.by_age.pop_front() else { break };
            grants.by_token.remove(&oldest);
        }
        let GrantTables { by_token, by_age } = &mut *grants;
        // Removed entries are cleaned up together once they are the majority, so that each
        // insertion costs constant time on average.
        if by_age.len() > MAX_STALE_QUEUE_ENTRIES + by_token.len() * 2 {
            by_age.retain(|token| by_token.contains_key(token));
        }
        let token = &pending.claims.token_id;
        by_age.push_back(token.clone());
        by_token.insert(token.clone(), Arc::new(pending));
    }

    pub(crate) fn get(&self, token: &str) -> Option<Arc<PendingGrant>> {
        self.0.lock().ok()?.by_token.get(token).cloned()
    }

    pub(crate) fn remove(&self, token: &TokenId) {
        let Ok(mut grants) = self.0.lock() else { return };
        grants.by_token.remove(token);
        // Usually the oldest grant is used first; its queue entry can be dropped now.
        if grants.by_age.front() == Some(token) {
            grants.by_age.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::{
        CapabilityId, Constraints, Digest, KeyId, PrincipalId, RunId, Tenant, Timestamp,
    };

    fn token(n: usize) -> String {
        format!("tok_{n:08}")
    }

    fn pending(n: usize) -> PendingGrant {
        let capability = CapabilityId::parse("fs.read").unwrap();
        let claims = TokenClaims {
            v: 1,
            token_id: TokenId::parse(token(n)).unwrap(),
            key_id: KeyId::parse("key_1").unwrap(),
            tenant: Tenant::default(),
            principal: PrincipalId::parse("ana").unwrap(),
            capability: capability.clone(),
            fingerprint: Digest::from_bytes([0; 32]),
            run: RunId::parse("run_1").unwrap(),
            arguments: None,
            audience: String::new(),
            policy: Digest::from_bytes([0; 32]),
            constraints: Constraints::default(),
            raw: false,
            issued_at: Timestamp::default(),
            expires_at: Timestamp::default(),
        };
        PendingGrant {
            claims,
            mac: [0; 32],
            call: CallId::parse("call_1").unwrap(),
            request: CapabilityRequest::new(capability, ""),
            preconditions: Vec::new(),
        }
    }

    #[test]
    fn the_oldest_grants_give_way() {
        let grants = PendingGrants::default();
        // The names of tokens do not come in the order of their age.
        let of_age = |n: usize| MAX_PENDING + 9 - n;
        for n in 0..=MAX_PENDING {
            grants.insert(pending(of_age(n)));
        }
        assert!(grants.get(&token(of_age(0))).is_none());
        let next = grants.get(&token(of_age(1))).unwrap();
        grants.remove(&next.claims.token_id);
        let all = grants.0.lock().unwrap();
        assert_eq!(all.by_token.len(), MAX_PENDING - 1);
        assert!(all.by_age.len() <= MAX_PENDING);
    }

    #[test]
    fn what_was_used_leaves_nothing_behind() {
        let grants = PendingGrants::default();
        grants.insert(pending(0));
        for n in 1..10 * MAX_STALE_QUEUE_ENTRIES {
            let used = pending(n);
            let token = used.claims.token_id.clone();
            grants.insert(used);
            grants.remove(&token);
        }
        assert!(grants.get(&token(0)).is_some(), "the one that was not used still waits");
        let all = grants.0.lock().unwrap();
        assert_eq!(all.by_token.len(), 1);
        assert!(all.by_age.len() <= MAX_STALE_QUEUE_ENTRIES + 4, "{}", all.by_age.len());
        assert_eq!(all.by_age.front().map(TokenId::as_str), Some(&*token(0)), "and is the oldest");
    }

    #[test]
    fn names_of_tokens_that_are_gone_are_taken_out_together() {
        let grants = PendingGrants::default();
        grants.insert(pending(0));
        // One that waits, and behind it one name for each that is gone.
        let named = |gone: usize| {
            let used = pending(gone);
            let token = used.claims.token_id.clone();
            grants.insert(used);
            let named = grants.0.lock().unwrap().by_age.len();
            grants.remove(&token);
            named
        };
        for gone in 1..=MAX_STALE_QUEUE_ENTRIES + 2 {
            assert_eq!(named(gone), gone + 1);
        }
        assert_eq!(named(MAX_STALE_QUEUE_ENTRIES + 3), 2);
    }
}
