//! Subsumption of matches: whether everything that the narrow one matches, the wide one matches too.
//!
//! The check is syntactic, field by field: a conjunction is implied when each of its conditions is
//! implied by one of the other side. That is sound and not complete (deciding it in general is as
//! hard as deciding propositional implication), so *yes* is a proof and *no* is none. It holds in
//! three-valued logic as well: the wide match is never less true than the narrow one.

use std::collections::{BTreeMap, BTreeSet};
use weaver_policy::{JustificationNeed, Match, NameCondition, Pattern, Require};

/// A character for "anything": no pattern that was read from a document holds it.
pub(super) const ANYTHING: &str = "\u{1}";

/// A name that stands for the whole of a pattern.
pub(super) fn stand_in(pattern: &Pattern) -> String {
    pattern.as_str().replace('*', ANYTHING)
}

fn pattern(wide: &Pattern, narrow: &Pattern) -> bool {
    // The stars of the wide pattern take in what stands for any text; its fixed parts do not.
    wide == narrow || wide.matches(&stand_in(narrow))
}

fn patterns(wide: &[Pattern], narrow: &[Pattern]) -> bool {
    wide.is_empty()
        || (!narrow.is_empty() && narrow.iter().all(|n| wide.iter().any(|w| pattern(w, n))))
}

fn words<T: Ord>(wide: &BTreeSet<T>, narrow: &BTreeSet<T>) -> bool {
    wide.is_empty() || (!narrow.is_empty() && narrow.is_subset(wide))
}

fn values(wide: &BTreeMap<String, Pattern>, narrow: &BTreeMap<String, Pattern>) -> bool {
    wide.iter().all(|(name, w)| narrow.get(name).is_some_and(|n| pattern(w, n)))
}

/// The same for tags, which have the shape of roles.
fn roles(wide: &NameCondition, narrow: &NameCondition) -> bool {
    let any = words(&wide.any, &narrow.any) || !wide.any.is_disjoint(&narrow.all);
    any && wide.all.is_subset(&narrow.all)
}

/// Whether `wide` subsumes `narrow`.
pub(super) fn subsumes(wide: &Match, narrow: &Match) -> bool {
    patterns(&wide.capability, &narrow.capability)
        && words(&wide.impact, &narrow.impact)
        && words(&wide.world, &narrow.world)
        && words(&wide.class, &narrow.class)
        && words(&wide.rung, &narrow.rung)
        && words(&wide.sink, &narrow.sink)
        && roles(&wide.tags, &narrow.tags)
        && words(&wide.sensitivity, &narrow.sensitivity)
        && words(&wide.mode, &narrow.mode)
        && words(&wide.confidentiality, &narrow.confidentiality)
        && words(&wide.integrity, &narrow.integrity)
        && words(&wide.operation, &narrow.operation)
        && subsumes_request(wide, narrow)
        && subsumes_nested(wide, narrow)
}

fn subsumes_request(wide: &Match, narrow: &Match) -> bool {
    patterns(&wide.principal, &narrow.principal)
        && patterns(&wide.agent, &narrow.agent)
        && patterns(&wide.intent, &narrow.intent)
        && roles(&wide.roles, &narrow.roles)
        && values(&wide.attributes, &narrow.attributes)
        && values(&wide.scope, &narrow.scope)
        && (wide.time.is_none() || wide.time == narrow.time)
        && wide.arguments.iter().all(|one| narrow.arguments.contains(one))
}

fn subsumes_nested(wide: &Match, narrow: &Match) -> bool {
    let any = wide.any.is_empty()
        || wide.any == narrow.any
        || wide.any.iter().any(|one| subsumes(one, narrow));
    let excluded = |matches: &Match| {
        let own = [&narrow.not, &narrow.unless];
        own.into_iter().flatten().any(|not| subsumes(not, matches))
    };
    any && [&wide.not, &wide.unless].into_iter().flatten().all(|not| excluded(not))
}

/// Whether whoever meets `narrow` meets `wide`.
pub(super) fn requires_less(wide: &Require, narrow: &Require) -> bool {
    let justified = match (&wide.justification, &narrow.justification) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => asks_less(wide, narrow),
    };
    roles(&wide.roles, &narrow.roles)
        && wide.permissions.is_subset(&narrow.permissions)
        && values(&wide.attributes, &narrow.attributes)
        && justified
}

fn asks_less(wide: &JustificationNeed, narrow: &JustificationNeed) -> bool {
    wide.min_chars <= narrow.min_chars && narrow.sources.is_subset(&wide.sources)
}
