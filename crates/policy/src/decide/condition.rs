//! Whether something applies.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::Capability;

use crate::matching::Match;
use crate::query::Query;
use crate::rule::Pattern;
use crate::truth::Truth;

/// Whether every field of the match that says something holds; unknown where that depends on what
/// is not known of the arguments.
pub(crate) fn applies(matches: &Match, query: &Query<'_>) -> Truth {
    if !plain(matches, query) {
        return Truth::No;
    }
    let mut out = Truth::Yes;
    for predicate in &matches.arguments {
        out = out.min(predicate.truth(query.arguments, query.origins));
    }
    if !matches.any.is_empty() {
        let any = matches.any.iter().map(|one| applies(one, query)).max();
        out = out.min(any.unwrap_or(Truth::No));
    }
    for not in [&matches.not, &matches.unless].into_iter().flatten() {
        out = out.min(!applies(not, query));
    }
    out
}

/// The fields that are always known.
fn plain(matches: &Match, query: &Query<'_>) -> bool {
    about_capability(matches, query.capability)
        && about_caller(matches, query)
        && about_run(matches, query)
        && about_request(matches, query)
}

/// Whether the fields about the capability hold.
pub(crate) fn about_capability(matches: &Match, capability: &Capability) -> bool {
    let spec = capability.spec();
    fits(&matches.capability, capability.id().as_str())
        && says(&matches.impact, &spec.effects.impact)
        && says(&matches.world, &spec.effects.world)
        && says(&matches.class, &capability.class())
        && says(&matches.rung, &capability.rung())
        && says(&matches.sink, &capability.sink())
        && matches.tags.met_by(&spec.tags)
        && (matches.sensitivity.is_empty()
            || matches.sensitivity.iter().any(|one| one.among(&spec.sensitivity)))
}

fn about_caller(matches: &Match, query: &Query<'_>) -> bool {
    let principal = query.principal;
    matches.roles.met_by(&principal.roles)
        && fits(&matches.principal, principal.id.as_str())
        && all_fit(&matches.attributes, &principal.attributes)
        && (matches.agent.is_empty()
            || principal.agent.as_ref().is_some_and(|agent| fits(&matches.agent, agent.as_str())))
}

fn about_run(matches: &Match, query: &Query<'_>) -> bool {
    says(&matches.mode, &query.mode)
        && says(&matches.confidentiality, &query.label.confidentiality)
        && says(&matches.integrity, &query.label.integrity)
        && matches.time.as_ref().is_none_or(|window| window.holds(query.now))
}

fn about_request(matches: &Match, query: &Query<'_>) -> bool {
    let request = query.request;
    says(&matches.operation, &query.operation)
        && all_fit(&matches.scope, &request.scope)
        && (matches.intent.is_empty()
            || request.intent.as_ref().is_some_and(|intent| fits(&matches.intent, intent)))
}

fn says<T: Ord>(set: &BTreeSet<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}

fn fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

fn all_fit(wanted: &BTreeMap<String, Pattern>, held: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(name, pattern)| held.get(name).is_some_and(|value| pattern.matches(value)))
}
