//! Grants that wait for their invocation.

use std::collections::BTreeMap;
use std::sync::Mutex;

use weaver_policy::approval::Observed;
use weaver_types::{CallId, CapabilityRequest, TokenId};

/// How many grants may wait; beyond it the oldest are void.
const MAX_PENDING: usize = 65_536;

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

#[derive(Default)]
struct Grants {
    by_token: BTreeMap<TokenId, (u64, Pending)>,
    by_age: BTreeMap<u64, TokenId>,
    next: u64,
}

impl PendingGrants {
    pub(crate) fn insert(&self, token: TokenId, pending: Pending) {
        let Ok(mut grants) = self.0.lock() else { return };
        while grants.by_token.len() >= MAX_PENDING {
            let Some((_, oldest)) = grants.by_age.pop_first() else { break };
            grants.by_token.remove(&oldest);
        }
        grants.next = grants.next.wrapping_add(1);
        let age = grants.next;
        grants.by_age.insert(age, token.clone());
        grants.by_token.insert(token, (age, pending));
    }

    pub(crate) fn get(&self, token: &TokenId) -> Option<Pending> {
        self.0.lock().ok()?.by_token.get(token).map(|(_, pending)| pending.clone())
    }

    pub(crate) fn remove(&self, token: &TokenId) {
        if let Ok(mut grants) = self.0.lock()
            && let Some((age, _)) = grants.by_token.remove(token)
        {
            grants.by_age.remove(&age);
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
        assert_eq!((all.by_token.len(), all.by_age.len()), (MAX_PENDING - 1, MAX_PENDING - 1));
    }
}
