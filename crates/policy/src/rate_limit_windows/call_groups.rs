//! Groups of calls that a limit counts together, and the times of their calls.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weaver_types::{AgentId, CapabilityId, PrincipalId, RunId, Tenant, Timestamp};

/// The key of a group of calls, borrowed from a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKey<'a> {
    pub(crate) limit: &'a str,
    pub(crate) tenant: &'a Tenant,
    pub(crate) principal: Option<&'a PrincipalId>,
    pub(crate) capability: Option<&'a CapabilityId>,
    pub(crate) run: Option<&'a RunId>,
    pub(crate) agent: Option<&'a AgentId>,
}

impl GroupKey<'_> {
    fn to_owned_key(self) -> OwnedGroupKey {
        OwnedGroupKey {
            limit: self.limit.to_owned(),
            tenant: self.tenant.clone(),
            principal: self.principal.cloned(),
            capability: self.capability.cloned(),
            run: self.run.cloned(),
            agent: self.agent.cloned(),
        }
    }
}

/// The key of a group of calls, owned. Its fields are those of [`GroupKey`] in the same order, so
/// that both are ordered alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OwnedGroupKey {
    limit: String,
    tenant: Tenant,
    principal: Option<PrincipalId>,
    capability: Option<CapabilityId>,
    run: Option<RunId>,
    agent: Option<AgentId>,
}

/// The key of a group, owned or borrowed. Through this trait object, the map with owned keys can be
/// searched with a borrowed key, so a lookup copies nothing.
trait AsGroupKey {
    fn as_group_key(&self) -> GroupKey<'_>;
}

impl AsGroupKey for OwnedGroupKey {
    fn as_group_key(&self) -> GroupKey<'_> {
        GroupKey {
            limit: &self.limit,
            tenant: &self.tenant,
            principal: self.principal.as_ref(),
            capability: self.capability.as_ref(),
            run: self.run.as_ref(),
            agent: self.agent.as_ref(),
        }
    }
}

impl AsGroupKey for GroupKey<'_> {
    fn as_group_key(&self) -> GroupKey<'_> {
        *self
    }
}

impl<'a> Borrow<dyn AsGroupKey + 'a> for OwnedGroupKey {
    fn borrow(&self) -> &(dyn AsGroupKey + 'a) {
        self
    }
}

impl PartialEq for dyn AsGroupKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.as_group_key() == other.as_group_key()
    }
}

impl Eq for dyn AsGroupKey + '_ {}

impl PartialOrd for dyn AsGroupKey + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn AsGroupKey + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_group_key().cmp(&other.as_group_key())
    }
}

/// The times of a group's calls, earliest first, and how long each is counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallTimes {
    pub(crate) window: Duration,
    pub(crate) calls: VecDeque<Timestamp>,
}

impl CallTimes {
    /// How many calls are expired: those at or before `now - window`.
    pub(crate) fn expired_count(&self, now: Timestamp, window: Duration) -> usize {
        self.calls.partition_point(|at| at.after(window) <= now)
    }

    /// How many calls are still counted.
    pub(crate) fn unexpired_count(&self, now: Timestamp) -> usize {
        self.calls.len() - self.expired_count(now, self.window)
    }
}

/// The call times of all groups, in an ordered map. Keys usually differ in their first characters,
/// so a search compares less than a keyed hash would read, and no choice of names can make it slow.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallTimesByGroup(BTreeMap<OwnedGroupKey, CallTimes>);

impl CallTimesByGroup {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, group: GroupKey<'_>) -> Option<&CallTimes> {
        self.0.get(&group as &dyn AsGroupKey)
    }

    /// Updates the call times of a group. A new group starts empty; only then is its key copied.
    pub(crate) fn update(&mut self, group: GroupKey<'_>, change: impl FnOnce(&mut CallTimes)) {
        match self.0.get_mut(&group as &dyn AsGroupKey) {
            Some(times) => change(times),
            None => {
                let mut times = CallTimes::default();
                change(&mut times);
                self.0.insert(group.to_owned_key(), times);
            }
        }
    }

    pub(crate) fn all_times(&self) -> impl Iterator<Item = &CallTimes> {
        self.0.values()
    }

    /// Keeps the groups for which `keep` returns true, given the name of their limit.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &mut CallTimes) -> bool) {
        self.0.retain(|group, times| keep(&group.limit, times));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_the_view_of_it_and_by_no_other() {
        let (tenant, other_tenant) = (Tenant::default(), Tenant::parse("other").unwrap());
        let principal = PrincipalId::parse("ana").unwrap();
        let view = GroupKey {
            limit: "l",
            tenant: &tenant,
            principal: Some(&principal),
            capability: None,
            run: None,
            agent: None,
        };
        let group = view.to_owned_key();
        let name: &dyn AsGroupKey = &group;
        let equal = |other: GroupKey<'_>| {
            let order = name.partial_cmp(&other as &dyn AsGroupKey);
            assert_eq!(order, Some(name.cmp(&other as &dyn AsGroupKey)));
            assert_eq!(group.partial_cmp(&other.to_owned_key()), order);
            *name == *(&other as &dyn AsGroupKey)
        };
        assert!(equal(view));
        assert!(!equal(GroupKey { limit: "m", ..view }));
        assert!(!equal(GroupKey { tenant: &other_tenant, ..view }));
        assert!(!equal(GroupKey { principal: None, ..view }));
    }
}
