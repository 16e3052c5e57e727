//! Whether a rule applies.

use weaver_types::Capability;

use crate::query::Query;
use crate::rule::{Match, Pattern};

/// Whether every field of the match that says something holds.
pub(crate) fn applies(matches: &Match, query: &Query<'_>) -> bool {
    about_capability(matches, query.capability)
        && about_caller(matches, query)
        && (matches.operation.is_empty() || matches.operation.contains(&query.operation))
        && (matches.mode.is_empty() || matches.mode.contains(&query.mode))
}

fn about_capability(matches: &Match, capability: &Capability) -> bool {
    let effects = capability.spec().effects;
    fits(&matches.capability, capability.id().as_str())
        && (matches.impact.is_empty() || matches.impact.contains(&effects.impact))
        && (matches.world.is_empty() || matches.world.contains(&effects.world))
        && (matches.class.is_empty() || matches.class.contains(&capability.class()))
        && (matches.rung.is_empty() || matches.rung.contains(&capability.rung()))
}

fn about_caller(matches: &Match, query: &Query<'_>) -> bool {
    let principal = query.principal;
    fits(&matches.principal, principal.id.as_str())
        && matches.roles.met_by(&principal.roles)
        && (matches.agent.is_empty()
            || principal.agent.as_ref().is_some_and(|agent| fits(&matches.agent, agent.as_str())))
}

fn fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}
