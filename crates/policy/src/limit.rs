//! Rate limits as a policy states them: how many calls in how many seconds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::matching::Match;

/// The most calls that a limit may allow in its window.
pub const MAX_CALLS: u32 = 100_000;
/// The longest window, in seconds.
pub const MAX_WINDOW: u32 = 3_600;

/// What calls must agree in to be counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKey {
    /// The principal.
    Principal,
    /// The capability.
    Capability,
    /// The run.
    Run,
    /// The agent.
    Agent,
}

/// Another number of calls for principals with certain roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleLimit {
    /// One of these roles is enough.
    pub any: BTreeSet<String>,
    /// The most calls for this role; not fewer than the limit allows everybody.
    pub max_calls: u32,
}

/// A maximum number of allowed invocations within a number of seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// Its name, unique in the policy.
    pub name: String,
    /// The calls to which it applies.
    pub matches: Match,
    /// The most calls, from 1 to [`MAX_CALLS`].
    pub max_calls: u32,
    /// The window in seconds, from 1 to [`MAX_WINDOW`].
    pub window_s: u32,
    /// What calls must agree in to be counted together; empty for all calls together.
    pub by: BTreeSet<LimitKey>,
    /// More calls for certain roles.
    pub for_roles: Vec<RoleLimit>,
}

impl Limit {
    /// A limit on everything, by principal and capability.
    #[must_use]
    pub fn new(name: impl Into<String>, max_calls: u32, window_s: u32) -> Self {
        Self {
            name: name.into(),
            matches: Match::default(),
            max_calls,
            window_s,
            by: BTreeSet::from([LimitKey::Principal, LimitKey::Capability]),
            for_roles: Vec::new(),
        }
    }

    /// The limit for counting calls of which only the log tells: it counts every call that the whole
    /// one may have counted. `roles_are_known` where the policy names the principal.
    #[must_use]
    pub fn as_far_as_logged(&self, roles_are_known: bool) -> Self {
        Self { matches: self.matches.as_far_as_logged(roles_are_known), ..self.clone() }
    }

    /// How many calls somebody with these roles may make: the greatest number that applies.
    #[must_use]
    pub fn calls_for(&self, roles: &BTreeSet<String>) -> u32 {
        let concerns = |one: &&RoleLimit| one.any.iter().any(|role| roles.contains(role));
        let raised = self.for_roles.iter().filter(concerns);
        raised.map(|one| one.max_calls).fold(self.max_calls, u32::max)
    }
}
