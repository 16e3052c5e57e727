//! Groups of calls that a limit counts together, and the times of their calls.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weaver_types::{AgentId, CapabilityId, PrincipalId, RunId, Tenant, Timestamp};

/// The key of a group of calls, borrowed from a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupRef<'a> {
    pub(crate) limit: &'a str,
    pub(crate) tenant: &'a Tenant,
    pub(crate) principal: Option<&'a PrincipalId>,
    pub(crate) capability: Option<&'a CapabilityId>,
    pub(crate) run: Option<&'a RunId>,
    pub(crate) agent: Option<&'a AgentId>,
}

impl GroupRef<'_> {
    fn to_group(self) -> Group {
        Group {
            limit: self.limit.to_owned(),
            tenant: self.tenant.clone(),
            principal: self.principal.cloned(),
            capability: self.capability.cloned(),
            run: self.run.cloned(),
            agent: self.agent.cloned(),
        }
    }
}

/// The key of a group of calls, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    limit: String,
    tenant: Tenant,
    principal: Option<PrincipalId>,
    capability: Option<CapabilityId>,
    run: Option<RunId>,
    agent: Option<AgentId>,
}

/// The key of a group, owned or borrowed. Through this trait object, the map with owned keys can be
/// searched with a borrowed key, so a lookup copies nothing.
trait AsGroupRef {
    fn as_group_ref(&self) -> GroupRef<'_>;
}

impl AsGroupRef for Group {
    fn as_group_ref(&self) -> GroupRef<'_> {
        GroupRef {
            limit: &self.limit,
            tenant: &self.tenant,
            principal: self.principal.as_ref(),
            capability: self.capability.as_ref(),
            run: self.run.as_ref(),
            agent: self.agent.as_ref(),
        }
    }
}

impl AsGroupRef for GroupRef<'_> {
    fn as_group_ref(&self) -> GroupRef<'_> {
        *self
    }
}

impl<'a> Borrow<dyn AsGroupRef + 'a> for Group {
    fn borrow(&self) -> &(dyn AsGroupRef + 'a) {
        self
    }
}

impl PartialEq for dyn AsGroupRef + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.as_group_ref() == other.as_group_ref()
    }
}

impl Eq for dyn AsGroupRef + '_ {}

impl PartialOrd for dyn AsGroupRef + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn AsGroupRef + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_group_ref().cmp(&other.as_group_ref())
    }
}

impl PartialOrd for Group {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Group {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_group_ref().cmp(&other.as_group_ref())
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
pub(crate) struct CallTimesByGroup(BTreeMap<Group, CallTimes>);

impl CallTimesByGroup {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, group: GroupRef<'_>) -> Option<&CallTimes> {
        self.0.get(&group as &dyn AsGroupRef)
    }

    /// Updates the call times of a group. A new group starts empty; only then is its key copied.
    pub(crate) fn update(&mut self, group: GroupRef<'_>, change: impl FnOnce(&mut CallTimes)) {
        match self.0.get_mut(&group as &dyn AsGroupRef) {
            Some(times) => change(times),
            None => {
                let mut times = CallTimes::default();
                change(&mut times);
                self.0.insert(group.to_group(), times);
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
        let view = GroupRef {
            limit: "l",
            tenant: &tenant,
            principal: Some(&principal),
            capability: None,
            run: None,
            agent: None,
        };
        let group = view.to_group();
        let name: &dyn AsGroupRef = &group;
        let equal = |other: GroupRef<'_>| {
            let order = name.partial_cmp(&other as &dyn AsGroupRef);
            assert_eq!(order, Some(name.cmp(&other as &dyn AsGroupRef)));
            assert_eq!(group.partial_cmp(&other.to_group()), order);
            *name == *(&other as &dyn AsGroupRef)
        };
        assert!(equal(view));
        assert!(!equal(GroupRef { limit: "m", ..view }));
        assert!(!equal(GroupRef { tenant: &other_tenant, ..view }));
        assert!(!equal(GroupRef { principal: None, ..view }));
    }
}
