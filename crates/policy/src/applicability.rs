//! Evaluates whether match conditions apply to a query, in Kleene's strong three-valued logic.
//!
//! Arguments may be missing, so a condition on them can be unknown. Over the order `No < Unknown <
//! Yes`, *and* is the minimum, *or* is the maximum, and *not* swaps `No` and `Yes` (Kleene,
//! *Introduction to Metamathematics*, § 64). These connectives are monotone in the available
//! information: learning the arguments can turn `Unknown` into `Yes` or `No`, but never `Yes` into
//! `No` or the reverse. A caller may therefore act on `Yes` and `No` before it knows the arguments.
//! It must read `Unknown` the strict way: an allow rule needs `Yes`; a deny rule, an approval rule
//! or a limit applies unless the result is `No`.

use weaver_types::Capability;

use crate::match_conditions::{CallValues, CapabilityValues, MatchConditions};
use crate::query::PolicyQuery;
use crate::truth::Truth;

/// The values of a query that conditions on fields are compared with.
pub(crate) struct QueryValues<'q> {
    pub(crate) capability: CapabilityValues<'q>,
    pub(crate) call: CallValues<'q>,
}

impl<'q> QueryValues<'q> {
    pub(crate) fn of(query: &PolicyQuery<'q>) -> Self {
        let (principal, request) = (query.principal, query.request);
        let call = CallValues {
            intent: request.intent.as_deref(),
            scope: &request.scope,
            mode: query.mode,
            confidentiality: query.label.confidentiality,
            integrity: query.label.integrity,
            principal: Some(principal.id.as_str()),
            roles: &principal.roles,
            attributes: &principal.attributes,
            agent: principal.agent.as_ref().map(|agent| agent.as_str()),
            time: query.now,
            operation: query.operation,
        };
        Self { capability: capability_values(query.capability), call }
    }
}

fn capability_values(capability: &Capability) -> CapabilityValues<'_> {
    let spec = capability.spec();
    CapabilityValues {
        capability: Some(capability.id().as_str()),
        impact: spec.effects.impact,
        world: spec.effects.world,
        class: capability.class(),
        rung: capability.rung(),
        sink: capability.sink(),
        tags: &spec.tags,
        sensitivity: &spec.sensitivity,
    }
}

impl MatchConditions {
    /// Evaluates every non-empty field against the query. The result is unknown if it depends on
    /// arguments, or on origins of their values, that the query does not have.
    #[must_use]
    pub fn applies_to(&self, query: &PolicyQuery<'_>) -> Truth {
        self.applies(&QueryValues::of(query), query)
    }

    /// Every query has the values of all fields, so two-valued logic is enough for these.
    fn applies(&self, values: &QueryValues<'_>, query: &PolicyQuery<'_>) -> Truth {
        if !self.are_met_by_capability(&values.capability) || !self.are_met_by_call(&values.call) {
            return Truth::No;
        }
        let mut out = Truth::Yes;
        for predicate in &self.arguments {
            out = out.min(predicate.evaluate(query.arguments, query.origins));
        }
        if !self.any.is_empty() {
            let any = self.any.iter().map(|alternative| alternative.applies(values, query)).max();
            out = out.min(any.unwrap_or(Truth::No));
        }
        for excluded in [&self.not, &self.unless].into_iter().flatten() {
            out = out.min(!excluded.applies(values, query));
        }
        out
    }

    /// Whether the top-level fields about the capability match. Conditions nested under `any`,
    /// `not` and `unless` are not evaluated.
    #[must_use]
    pub fn matches_capability(&self, capability: &Capability) -> bool {
        self.are_met_by_capability(&capability_values(capability))
    }
}
