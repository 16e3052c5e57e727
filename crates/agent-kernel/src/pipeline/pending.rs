//! Grants that wait for their invocation.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use ahash::RandomState;
use weaver_policy::approval::Observed;
use weaver_types::{CallId, CapabilityRequest, TokenId};

/// How many grants may wait; beyond it the oldest are void.
const MAX_PENDING: usize = 65_536;
/// How many that are gone are remembered by their age at least.
const MOST_GONE: usize = 1_024;

/// A grant that waits for its invocation.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) call: CallId,
    pub(crate) request: CapabilityRequest,
    /// What the preconditions were.
    pub(crate) facts: Vec<Observed>,
}

/// The grants that wait, by token and by age.
#[derive(Default)]
pub(crate) struct PendingGrants(Mutex<Grants>);

struct Grants {
    by_token: HashMap<TokenId, Arc<Pending>, RandomState>,
    /// The oldest first. Some may be gone by now; a token never comes again.
    by_age: VecDeque<TokenId>,
}

impl Default for Grants {
    fn default() -> Self {
        let (by_token, by_age) = (
            HashMap::with_capacity_and_hasher(MOST_GONE, RandomState::new()),
            VecDeque::with_capacity(2 * MOST_GONE),
        );
        Self { by_token, by_age }
    }
}

impl PendingGrants {
    pub(crate) fn insert(&self, token: TokenId, pending: Pending) {
        let Ok(mut grants) = self.0.lock() else { return };
        while grants.by_token.len() >= MAX_PENDING {
            let Some(oldest) = grants.by_age.pop_front() else { break };
            grants.by_token.remove(&oldest);
        }
        let Grants { by_token, by_age } = &mut *grants;
        // Once most of them are gone, they are taken out together.
        if by_age.len() > MOST_GONE + by_token.len() * 2 {
            by_age.retain(|token| by_token.contains_key(token));
        }
        by_age.push_back(token.clone());
        by_token.insert(token, Arc::new(pending));
    }

    pub(crate) fn get(&self, token: &TokenId) -> Option<Arc<Pending>> {
        self.0.lock().ok()?.by_token.get(token).cloned()
    }

    pub(crate) fn remove(&self, token: &TokenId) {
        if let Ok(mut grants) = self.0.lock() {
            grants.by_token.remove(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::CapabilityId;

    #[test]
    fn the_oldest_grants_give_way() {
        let grants = PendingGrants::default();
        let token = |n: usize| TokenId::parse(format!("tok_{:08}", MAX_PENDING + 9 - n)).unwrap();
        let pending = Pending {
            call: CallId::parse("call_1").unwrap(),
            request: CapabilityRequest::new(CapabilityId::parse("fs.read").unwrap(), ""),
            facts: Vec::new(),
        };
        for n in 0..=MAX_PENDING {
            grants.insert(token(n), pending.clone());
        }
        assert!(grants.get(&token(0)).is_none());
        assert!(grants.get(&token(1)).is_some());
        grants.remove(&token(1));
        let all = grants.0.lock().unwrap();
        assert_eq!(all.by_token.len(), MAX_PENDING - 1);
        assert!(all.by_age.len() <= MAX_PENDING);
    }

    #[test]
    fn what_was_used_leaves_nothing_behind() {
        let grants = PendingGrants::default();
        let pending = Pending {
            call: CallId::parse("call_1").unwrap(),
            request: CapabilityRequest::new(CapabilityId::parse("fs.read").unwrap(), ""),
            facts: Vec::new(),
        };
        let token = |n: usize| TokenId::parse(format!("tok_{n}")).unwrap();
        grants.insert(token(0), pending.clone());
        for n in 1..10 * MOST_GONE {
            grants.insert(token(n), pending.clone());
            grants.remove(&token(n));
        }
        assert!(grants.get(&token(0)).is_some(), "the one that was not used still waits");
        let all = grants.0.lock().unwrap();
        assert_eq!(all.by_token.len(), 1);
        assert!(all.by_age.len() <= MOST_GONE + 4, "{}", all.by_age.len());
    }
}
