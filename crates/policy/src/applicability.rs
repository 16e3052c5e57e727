//! Evaluates whether match conditions apply to a query, in Kleene's strong three-valued logic.
//!
//! Arguments may be missing, so a condition on them can be unknown. Over the order `No < Unknown <
//! Yes`, *and* is the minimum, *or* is the maximum, and *not* swaps `No` and `Yes` (Kleene,
//! *Introduction to Metamathematics*, § 64). These connectives are monotone in the available
//! information: learning the arguments can turn `Unknown` into `Yes` or `No`, but never `Yes` into
//! `No` or the reverse. A caller may therefore act on `Yes` and `No` before it knows the arguments.
//! It must read `Unknown` the strict way: an allow rule needs `Yes`; a deny rule, an approval rule
//! or a limit applies unless the result is `No`.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::Capability;

use crate::match_conditions::MatchConditions;
use crate::pattern::Pattern;
use crate::query::PolicyQuery;
use crate::truth::Truth;

impl MatchConditions {
    /// Evaluates every non-empty field against the query. The result is unknown if it depends on
    /// arguments, or on origins of their values, that the query does not have.
    #[must_use]
    pub fn applies_to(&self, query: &PolicyQuery<'_>) -> Truth {
        if !self.matches_known_fields(query) {
            return Truth::No;
        }
        let mut out = Truth::Yes;
        for predicate in &self.arguments {
            out = out.min(predicate.evaluate(query.arguments, query.origins));
        }
        if !self.any.is_empty() {
            let any = self.any.iter().map(|alternative| alternative.applies_to(query)).max();
            out = out.min(any.unwrap_or(Truth::No));
        }
        for excluded in [&self.not, &self.unless].into_iter().flatten() {
            out = out.min(!excluded.applies_to(query));
        }
        out
    }

    /// Evaluates the fields for which every query has a value, so two-valued logic is enough.
    fn matches_known_fields(&self, query: &PolicyQuery<'_>) -> bool {
        self.matches_capability(query.capability)
            && self.matches_caller(query)
            && self.matches_run(query)
            && self.matches_request(query)
    }

    /// Whether the top-level fields about the capability match. Conditions nested under `any`,
    /// `not` and `unless` are not evaluated.
    #[must_use]
    pub fn matches_capability(&self, capability: &Capability) -> bool {
        let spec = capability.spec();
        any_pattern_matches(&self.capability, capability.id().as_str())
            && admits(&self.impact, &spec.effects.impact)
            && admits(&self.world, &spec.effects.world)
            && admits(&self.class, &capability.class())
            && admits(&self.rung, &capability.rung())
            && admits(&self.sink, &capability.sink())
            && self.tags.is_met_by(&spec.tags)
            && (self.sensitivity.is_empty()
                || self.sensitivity.iter().any(|kind| kind.is_met_by(&spec.sensitivity)))
    }

    fn matches_caller(&self, query: &PolicyQuery<'_>) -> bool {
        let principal = query.principal;
        let agent = principal.agent.as_ref();
        self.roles.is_met_by(&principal.roles)
            && any_pattern_matches(&self.principal, principal.id.as_str())
            && all_fit(&self.attributes, &principal.attributes)
            && (self.agent.is_empty()
                || agent.is_some_and(|agent| any_pattern_matches(&self.agent, agent.as_str())))
    }

    fn matches_run(&self, query: &PolicyQuery<'_>) -> bool {
        admits(&self.mode, &query.mode)
            && admits(&self.confidentiality, &query.label.confidentiality)
            && admits(&self.integrity, &query.label.integrity)
            && self.time.as_ref().is_none_or(|window| window.contains(query.now))
    }

    fn matches_request(&self, query: &PolicyQuery<'_>) -> bool {
        let request = query.request;
        admits(&self.operation, &query.operation)
            && all_fit(&self.scope, &request.scope)
            && (self.intent.is_empty()
                || request
                    .intent
                    .as_ref()
                    .is_some_and(|intent| any_pattern_matches(&self.intent, intent)))
    }
}

/// An empty set imposes no condition.
fn admits<T: Ord>(set: &BTreeSet<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}

fn any_pattern_matches(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

fn all_fit(required: &BTreeMap<String, Pattern>, held: &BTreeMap<String, String>) -> bool {
    required
        .iter()
        .all(|(name, pattern)| held.get(name).is_some_and(|value| pattern.matches(value)))
}
