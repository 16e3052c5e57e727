//! Subsumption of match conditions: whether the wide conditions match everything that the narrow
//! ones match.
//!
//! The check is syntactic, field by field: a conjunction is implied if each of its conditions is
//! implied by one on the other side. This is sound but not complete (the general problem is as hard
//! as propositional implication), so *yes* is a proof and *no* is not. It also holds in
//! three-valued logic: the wide conditions are never less true than the narrow ones.

use std::collections::BTreeMap;

use weaver_policy::{
    FieldCondition, JustificationRequirement, MatchConditions, NameCondition, Pattern, Requirements,
};

/// A character that stands for "anything". No pattern in a document contains it.
pub(super) const ANYTHING: &str = "\u{1}";

/// A name that represents all names of a pattern.
pub(super) fn representative_name(pattern: &Pattern) -> String {
    pattern.as_str().replace('*', ANYTHING)
}

fn pattern_subsumes(wide: &Pattern, narrow: &Pattern) -> bool {
    // The stars of the wide pattern match the "anything" character; its fixed parts do not.
    wide == narrow || wide.matches(&representative_name(narrow))
}

fn patterns_subsume(wide: &[Pattern], narrow: &[Pattern]) -> bool {
    wide.is_empty()
        || (!narrow.is_empty()
            && narrow.iter().all(|n| wide.iter().any(|w| pattern_subsumes(w, n))))
}

fn attributes_subsume(
    wide: &BTreeMap<String, Pattern>,
    narrow: &BTreeMap<String, Pattern>,
) -> bool {
    wide.iter().all(|(name, w)| narrow.get(name).is_some_and(|n| pattern_subsumes(w, n)))
}

/// Also used for tags, which have the same form as roles.
fn name_condition_subsumes(wide: &NameCondition, narrow: &NameCondition) -> bool {
    let any = wide.any.is_empty()
        || (!narrow.any.is_empty() && narrow.any.is_subset(&wide.any))
        || !wide.any.is_disjoint(&narrow.all);
    any && wide.all.is_subset(&narrow.all)
}

/// Whether the wide condition on a field subsumes the narrow one on the same field.
fn condition_subsumes(wide: FieldCondition<'_>, narrow: FieldCondition<'_>) -> bool {
    use FieldCondition::{Keywords, NamedPatterns, Names, Patterns, Time};
    match (wide, narrow) {
        (Keywords(wide), Keywords(narrow)) => wide == 0 || (narrow != 0 && narrow & !wide == 0),
        (Patterns(wide), Patterns(narrow)) => patterns_subsume(wide, narrow),
        (Names(wide), Names(narrow)) => name_condition_subsumes(wide, narrow),
        (NamedPatterns(wide), NamedPatterns(narrow)) => attributes_subsume(wide, narrow),
        (Time(wide), Time(narrow)) => wide.is_none() || wide == narrow,
        _ => false,
    }
}

/// Whether `wide` subsumes `narrow`.
pub(super) fn subsumes(wide: &MatchConditions, narrow: &MatchConditions) -> bool {
    let mut fields = wide.fields().zip(narrow.fields());
    fields.all(|((_, wide), (_, narrow))| condition_subsumes(wide, narrow))
        && wide.arguments.iter().all(|one| narrow.arguments.contains(one))
        && subsumes_nested(wide, narrow)
}

fn subsumes_nested(wide: &MatchConditions, narrow: &MatchConditions) -> bool {
    let any = wide.any.is_empty()
        || wide.any == narrow.any
        || wide.any.iter().any(|one| subsumes(one, narrow));
    let excluded = |matches: &MatchConditions| {
        let own = [&narrow.not, &narrow.unless];
        own.into_iter().flatten().any(|not| subsumes(not, matches))
    };
    any && [&wide.not, &wide.unless].into_iter().flatten().all(|not| excluded(not))
}

/// Whether anybody who meets `narrow` also meets `wide`.
pub(super) fn requires_no_more(wide: &Requirements, narrow: &Requirements) -> bool {
    let justified = match (&wide.justification, &narrow.justification) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => asks_no_more(wide, narrow),
    };
    name_condition_subsumes(&wide.roles, &narrow.roles)
        && wide.permissions.is_subset(&narrow.permissions)
        && attributes_subsume(&wide.attributes, &narrow.attributes)
        && justified
}

fn asks_no_more(wide: &JustificationRequirement, narrow: &JustificationRequirement) -> bool {
    wide.min_chars <= narrow.min_chars && narrow.sources.is_subset(&wide.sources)
}
