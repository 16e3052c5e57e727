//! Calls that a limit counts together, and when each group was called.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weaver_types::{AgentId, CapabilityId, PrincipalId, RunId, Tenant, Timestamp};

/// Calls that one limit counts together, as a query names them.
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

/// The same, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    limit: String,
    tenant: Tenant,
    principal: Option<PrincipalId>,
    capability: Option<CapabilityId>,
    run: Option<RunId>,
    agent: Option<AgentId>,
}

/// What names a group: the group itself, or a query's view of it. A map finds its own groups by the
/// view, so that a lookup copies nothing.
trait GroupName {
    fn view(&self) -> GroupRef<'_>;
}

impl GroupName for Group {
    fn view(&self) -> GroupRef<'_> {
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

impl GroupName for GroupRef<'_> {
    fn view(&self) -> GroupRef<'_> {
        *self
    }
}

impl<'a> Borrow<dyn GroupName + 'a> for Group {
    fn borrow(&self) -> &(dyn GroupName + 'a) {
        self
    }
}

impl PartialEq for dyn GroupName + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl Eq for dyn GroupName + '_ {}

impl PartialOrd for dyn GroupName + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn GroupName + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.view().cmp(&other.view())
    }
}

impl PartialOrd for Group {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Group {
    fn cmp(&self, other: &Self) -> Ordering {
        self.view().cmp(&other.view())
    }
}

/// The times of the calls of a group, earliest first, with how long each counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    pub(crate) window: Duration,
    pub(crate) calls: VecDeque<Timestamp>,
}

impl Times {
    /// How many calls no longer count: those at `now - window` and before.
    pub(crate) fn past(&self, now: Timestamp, window: Duration) -> usize {
        self.calls.partition_point(|at| at.after(window) <= now)
    }
}

/// The times of all groups, in order: names differ early, so a search compares less than a keyed hash
/// would read, and whoever chooses the names cannot make it slow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups(BTreeMap<Group, Times>);

impl Groups {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, group: GroupRef<'_>) -> Option<&Times> {
        self.0.get(&group as &dyn GroupName)
    }

    /// Changes the times of a group, which are empty where it is new. Its name is copied only then.
    pub(crate) fn update(&mut self, group: GroupRef<'_>, change: impl FnOnce(&mut Times)) {
        match self.0.get_mut(&group as &dyn GroupName) {
            Some(times) => change(times),
            None => {
                let mut times = Times::default();
                change(&mut times);
                self.0.insert(group.to_group(), times);
            }
        }
    }

    pub(crate) fn times(&self) -> impl Iterator<Item = &Times> {
        self.0.values()
    }

    /// Keeps the groups of which this says so, by the name of their limit.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &mut Times) -> bool) {
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
        let name: &dyn GroupName = &group;
        let equal = |other: GroupRef<'_>| {
            let order = name.partial_cmp(&other as &dyn GroupName);
            assert_eq!(order, Some(name.cmp(&other as &dyn GroupName)));
            assert_eq!(group.partial_cmp(&other.to_group()), order);
            *name == *(&other as &dyn GroupName)
        };
        assert!(equal(view));
        assert!(!equal(GroupRef { limit: "m", ..view }));
        assert!(!equal(GroupRef { tenant: &other_tenant, ..view }));
        assert!(!equal(GroupRef { principal: None, ..view }));
    }
}
