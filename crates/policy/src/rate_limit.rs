//! Rate limits of a policy: at most so many calls in so many seconds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::match_conditions::MatchConditions;

/// The largest number of calls that a limit may allow in its window.
pub const MAX_LIMIT_CALLS: u32 = 100_000;
/// The largest window, in seconds.
pub const MAX_LIMIT_WINDOW_S: u32 = 3_600;

/// A property that calls must share to be counted together.
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

/// A higher limit for principals with certain roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleLimit {
    /// The roles; one of them suffices.
    pub any: BTreeSet<String>,
    /// The maximum number of calls for these roles; at least as many as the limit allows everybody.
    pub max_calls: u32,
}

/// A maximum number of allowed invocations within a number of seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RateLimit {
    /// The name, unique in the policy.
    pub name: String,
    /// The calls to which it applies.
    pub matches: MatchConditions,
    /// The maximum number of calls, from 1 to [`MAX_LIMIT_CALLS`].
    pub max_calls: u32,
    /// The window in seconds, from 1 to [`MAX_LIMIT_WINDOW_S`].
    pub window_s: u32,
    /// The properties that calls must share to be counted together; if empty, all calls are counted
    /// together.
    pub by: BTreeSet<LimitKey>,
    /// Higher limits for certain roles.
    pub for_roles: Vec<RoleLimit>,
}

impl RateLimit {
    /// A limit on all calls, counted by principal and capability.
    #[must_use]
    pub fn new(name: impl Into<String>, max_calls: u32, window_s: u32) -> Self {
        Self {
            name: name.into(),
            matches: MatchConditions::default(),
            max_calls,
            window_s,
            by: BTreeSet::from([LimitKey::Principal, LimitKey::Capability]),
            for_roles: Vec::new(),
        }
    }

    /// The limit for counting calls that are known only from the log, as after a restart. It drops
    /// conditions that the log cannot answer, so it counts every call that the full limit may have
    /// counted. `roles_are_known` is true if the policy names the principal.
    #[must_use]
    pub fn restricted_to_logged_fields(&self, roles_are_known: bool) -> Self {
        Self { matches: self.matches.restricted_to_logged_fields(roles_are_known), ..self.clone() }
    }

    /// Whether it depends on more of a capability than its id. Only then must the capability be
    /// known to count a call.
    #[must_use]
    pub fn reads_capability(&self) -> bool {
        self.matches.read_capability()
    }

    /// How many calls a principal with these roles may make: the largest number that applies.
    #[must_use]
    pub fn max_calls_for(&self, roles: &BTreeSet<String>) -> u32 {
        let concerns = |one: &&RoleLimit| one.any.iter().any(|role| roles.contains(role));
        let raised = self.for_roles.iter().filter(concerns);
        raised.map(|one| one.max_calls).fold(self.max_calls, u32::max)
    }
}
