//! Whether one match covers another: everything that the narrow one matches, the wide one does.
//!
//! The answer yes is a proof, the answer no is none. What is not known of arguments is kept: the
//! wide match is never less true than the narrow one.

use std::collections::{BTreeMap, BTreeSet};

use crate::matching::Match;
use crate::rule::{JustificationNeed, Pattern, Require, Roles, Tags};

/// A character for "anything": no pattern that was read from a document holds it.
const ANYTHING: &str = "\u{1}";

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

fn names(
    (wide_any, wide_all): (&BTreeSet<String>, &BTreeSet<String>),
    (any, all): (&BTreeSet<String>, &BTreeSet<String>),
) -> bool {
    (words(wide_any, any) || !wide_any.is_disjoint(all)) && wide_all.is_subset(all)
}

fn roles(wide: &Roles, narrow: &Roles) -> bool {
    names((&wide.any, &wide.all), (&narrow.any, &narrow.all))
}

fn tags(wide: &Tags, narrow: &Tags) -> bool {
    names((&wide.any, &wide.all), (&narrow.any, &narrow.all))
}

/// Whether `wide` covers `narrow`.
pub(super) fn covers(wide: &Match, narrow: &Match) -> bool {
    patterns(&wide.capability, &narrow.capability)
        && words(&wide.impact, &narrow.impact)
        && words(&wide.world, &narrow.world)
        && words(&wide.class, &narrow.class)
        && words(&wide.rung, &narrow.rung)
        && words(&wide.sink, &narrow.sink)
        && tags(&wide.tags, &narrow.tags)
        && words(&wide.sensitivity, &narrow.sensitivity)
        && words(&wide.mode, &narrow.mode)
        && words(&wide.confidentiality, &narrow.confidentiality)
        && words(&wide.integrity, &narrow.integrity)
        && words(&wide.operation, &narrow.operation)
        && covers_request(wide, narrow)
        && covers_nested(wide, narrow)
}

fn covers_request(wide: &Match, narrow: &Match) -> bool {
    patterns(&wide.principal, &narrow.principal)
        && patterns(&wide.agent, &narrow.agent)
        && patterns(&wide.intent, &narrow.intent)
        && roles(&wide.roles, &narrow.roles)
        && values(&wide.attributes, &narrow.attributes)
        && values(&wide.scope, &narrow.scope)
        && (wide.time.is_none() || wide.time == narrow.time)
        && wide.arguments.iter().all(|one| narrow.arguments.contains(one))
}

fn covers_nested(wide: &Match, narrow: &Match) -> bool {
    let any = wide.any.is_empty()
        || wide.any == narrow.any
        || wide.any.iter().any(|one| covers(one, narrow));
    let excluded = |matches: &Match| {
        let own = [&narrow.not, &narrow.unless];
        own.into_iter().flatten().any(|not| covers(not, matches))
    };
    any && [&wide.not, &wide.unless].into_iter().flatten().all(|not| excluded(not))
}

/// Whether whoever meets `narrow` meets `wide`.
pub(super) fn demands_less(wide: &Require, narrow: &Require) -> bool {
    let justified = match (&wide.justification, &narrow.justification) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => less(wide, narrow),
    };
    roles(&wide.roles, &narrow.roles)
        && wide.permissions.is_subset(&narrow.permissions)
        && values(&wide.attributes, &narrow.attributes)
        && justified
}

fn less(wide: &JustificationNeed, narrow: &JustificationNeed) -> bool {
    wide.min_chars <= narrow.min_chars && narrow.sources.is_subset(&wide.sources)
}
