//! Whether a match applies to a query: evaluation in Kleene's strong three-valued logic.
//!
//! Arguments may not be known yet, so a condition on them can be unknown. *And* is the minimum, *or*
//! the maximum and *not* the mirror image over `No < Unknown < Yes` (Kleene, *Introduction to
//! Metamathematics*, § 64). The connectives are monotone in what is known: learning the arguments can
//! turn an unknown into yes or no, and never a yes into a no or back. That is why a caller may act on
//! `Yes` and `No` before the arguments are known, and why it must read `Unknown` the strict way: an
//! allow rule needs `Yes`, a deny or approval rule and a limit need only not be `No`.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::Capability;

use crate::matching::Match;
use crate::pattern::Pattern;
use crate::query::Query;
use crate::truth::Truth;

impl Match {
    /// Whether every field with content holds for the query; unknown where that depends on
    /// arguments, or origins of their values, that the query does not have.
    #[must_use]
    pub fn applies_to(&self, query: &Query<'_>) -> Truth {
        if !self.known_fields_hold(query) {
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

    /// The fields that every query has a value for.
    fn known_fields_hold(&self, query: &Query<'_>) -> bool {
        self.fits_capability(query.capability)
            && self.fits_caller(query)
            && self.fits_run(query)
            && self.fits_request(query)
    }

    /// Whether the match's own fields about the capability hold. What is nested under `any`, `not`
    /// and `unless` is not looked at.
    #[must_use]
    pub fn fits_capability(&self, capability: &Capability) -> bool {
        let spec = capability.spec();
        fits(&self.capability, capability.id().as_str())
            && admits(&self.impact, &spec.effects.impact)
            && admits(&self.world, &spec.effects.world)
            && admits(&self.class, &capability.class())
            && admits(&self.rung, &capability.rung())
            && admits(&self.sink, &capability.sink())
            && self.tags.met_by(&spec.tags)
            && (self.sensitivity.is_empty()
                || self.sensitivity.iter().any(|kind| kind.among(&spec.sensitivity)))
    }

    fn fits_caller(&self, query: &Query<'_>) -> bool {
        let principal = query.principal;
        let agent = principal.agent.as_ref();
        self.roles.met_by(&principal.roles)
            && fits(&self.principal, principal.id.as_str())
            && all_fit(&self.attributes, &principal.attributes)
            && (self.agent.is_empty()
                || agent.is_some_and(|agent| fits(&self.agent, agent.as_str())))
    }

    fn fits_run(&self, query: &Query<'_>) -> bool {
        admits(&self.mode, &query.mode)
            && admits(&self.confidentiality, &query.label.confidentiality)
            && admits(&self.integrity, &query.label.integrity)
            && self.time.as_ref().is_none_or(|window| window.contains(query.now))
    }

    fn fits_request(&self, query: &Query<'_>) -> bool {
        let request = query.request;
        admits(&self.operation, &query.operation)
            && all_fit(&self.scope, &request.scope)
            && (self.intent.is_empty()
                || request.intent.as_ref().is_some_and(|intent| fits(&self.intent, intent)))
    }
}

/// An empty set is no condition.
fn admits<T: Ord>(set: &BTreeSet<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}

fn fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

fn all_fit(required: &BTreeMap<String, Pattern>, held: &BTreeMap<String, String>) -> bool {
    required
        .iter()
        .all(|(name, pattern)| held.get(name).is_some_and(|value| pattern.matches(value)))
}
