//! Calls that a limit counts together, and when each group was called.

use std::collections::VecDeque;
use std::time::Duration;

use ahash::RandomState;
use hashbrown::HashTable;
use weaver_types::{AgentId, CapabilityId, PrincipalId, RunId, Tenant, Timestamp};

/// Calls that one limit counts together, as a query names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone)]
struct Group {
    limit: String,
    tenant: Tenant,
    principal: Option<PrincipalId>,
    capability: Option<CapabilityId>,
    run: Option<RunId>,
    agent: Option<AgentId>,
}

impl Group {
    fn as_ref(&self) -> GroupRef<'_> {
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

/// The times of all groups. A group is looked up by what the query names, without a copy of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    table: HashTable<(Group, Times)>,
    hasher: RandomState,
}

impl Groups {
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn get(&self, group: GroupRef<'_>) -> Option<&Times> {
        let hash = self.hasher.hash_one(group);
        self.table.find(hash, |(own, _)| own.as_ref() == group).map(|(_, times)| times)
    }

    /// The times of a group, empty where it is new.
    pub(crate) fn of(&mut self, group: GroupRef<'_>) -> &mut Times {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(group);
        let same = |(own, _): &(Group, Times)| own.as_ref() == group;
        let rehash = |(own, _): &(Group, Times)| hasher.hash_one(own.as_ref());
        let entry = table.entry(hash, same, rehash);
        let found = entry.or_insert_with(|| (group.to_group(), Times::default()));
        &mut found.into_mut().1
    }

    pub(crate) fn times(&self) -> impl Iterator<Item = &Times> {
        self.table.iter().map(|(_, times)| times)
    }

    /// Keeps the groups of which this says so, by the name of their limit.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &mut Times) -> bool) {
        self.table.retain(|(group, times)| keep(&group.limit, times));
    }
}
