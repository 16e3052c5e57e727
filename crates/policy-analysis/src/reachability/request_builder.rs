//! Builds the request that an assignment describes.

use std::collections::BTreeSet;

use weaver_policy::Truth;
use weaver_types::{
    AgentId, CapabilityRequest, Confidentiality, Integrity, Label, Principal, PrincipalId,
    SafetyMode, Timestamp,
};

use super::arguments::{self, Synthesis};
use super::partial_evaluator::PartialEvaluator;
use super::search_gap::SearchGap;
use super::variables::{Assignment, Domain, Variables};
use crate::recorded_request::RecordedRequest;

/// Builds requests from assignments, in which an unassigned variable has its simplest value.
pub(super) struct RequestBuilder {
    /// The principal to search for; `None` to search over all.
    pub(super) fixed_principal: Option<Principal>,
    /// Roles that the principal has in any case.
    pub(super) with_roles: BTreeSet<String>,
}

impl RequestBuilder {
    /// The request that the assignment describes.
    pub(super) fn build(
        &self,
        documents: &PartialEvaluator<'_>,
        assignment: &Assignment,
    ) -> Result<RecordedRequest, SearchGap> {
        let variables = &documents.space.variables;
        let given = variables.flag(Some(&variables.arguments), assignment);
        let arguments = if given.contains(Truth::Yes) {
            match arguments::synthesize(&documents.space.predicate_outcomes(assignment)) {
                Synthesis::Found(value) => Some(value),
                Synthesis::Impossible | Synthesis::NotFound => return Err(SearchGap::Arguments),
            }
        } else {
            None
        };
        let justification = match variables.domains.get(variables.justification) {
            Some(Domain::Justification(all)) => {
                let index = variables.value_index(variables.justification, assignment);
                all.get(index).copied().flatten()
            }
            _ => None,
        };
        let mut request = CapabilityRequest::new(documents.capability.id().clone(), "");
        request.intent = variables.assigned_text(variables.intent, assignment).map(str::to_owned);
        let scope = variables.scope.iter();
        request.scope = scope
            .filter_map(|(name, variable)| {
                Some((name.clone(), variables.assigned_text(*variable, assignment)?.to_owned()))
            })
            .collect();
        if let Some(shape) = justification {
            request = request.justified(justification_text(shape.length), shape.source);
        }
        let run = run_settings(variables, assignment);
        Ok(RecordedRequest {
            id: "witness".to_owned(),
            principal: self.principal(variables, assignment)?,
            request,
            arguments,
            operation: documents.operation,
            mode: run.mode,
            label: run.label,
            run: None,
            at: run.at,
            human_channel: variables.value_index(variables.human, assignment) == 0,
        })
    }

    fn principal(
        &self,
        variables: &Variables,
        assignment: &Assignment,
    ) -> Result<Principal, SearchGap> {
        if let Some(fixed) = &self.fixed_principal {
            return Ok(fixed.clone());
        }
        let name = variables.assigned_text(variables.principal, assignment).unwrap_or("someone");
        let id = PrincipalId::parse(name)?;
        let agent = variables.assigned_text(variables.agent, assignment).map(AgentId::parse);
        let attributes = variables.attributes.iter();
        let roles = variables.names_of_set_flags(&variables.roles, assignment);
        Ok(Principal {
            roles: roles.into_iter().chain(self.with_roles.iter().cloned()).collect(),
            permissions: variables
                .names_of_set_flags(&variables.permissions, assignment)
                .into_iter()
                .collect(),
            attributes: attributes
                .filter_map(|(name, variable)| {
                    Some((name.clone(), variables.assigned_text(*variable, assignment)?.to_owned()))
                })
                .collect(),
            agent: agent.transpose()?,
            ..Principal::new(id)
        })
    }
}

/// The run settings of a request.
struct RunSettings {
    mode: SafetyMode,
    label: Label,
    at: Timestamp,
}

fn run_settings(variables: &Variables, assignment: &Assignment) -> RunSettings {
    let index = |variable: usize| variables.value_index(variable, assignment);
    let mode = match variables.domains.get(variables.mode) {
        Some(Domain::Mode(all)) => all.get(index(variables.mode)).copied(),
        _ => None,
    };
    let confidentiality = match variables.domains.get(variables.confidentiality) {
        Some(Domain::Confidentiality(all)) => all.get(index(variables.confidentiality)).copied(),
        _ => None,
    };
    let integrity = match variables.domains.get(variables.integrity) {
        Some(Domain::Integrity(all)) => all.get(index(variables.integrity)).copied(),
        _ => None,
    };
    let at = match variables.domains.get(variables.time) {
        Some(Domain::Time(all)) => all.get(index(variables.time)).copied(),
        _ => None,
    };
    let label = Label::new(
        confidentiality.unwrap_or(Confidentiality::Public),
        integrity.unwrap_or(Integrity::Trusted),
    );
    RunSettings { mode: mode.unwrap_or_default(), label, at: at.unwrap_or_default() }
}

/// A justification of exactly `length` characters that trimming does not shorten.
fn justification_text(length: u32) -> String {
    let words = "because it has been asked for and is needed now ";
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut out: String = words.chars().cycle().take(length).collect();
    if out.ends_with(' ') {
        out.pop();
        out.push('.');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_justification_has_the_length_that_counts() {
        for length in 1..200 {
            let text = justification_text(length);
            assert_eq!(text.trim().chars().count(), usize::try_from(length).unwrap());
        }
    }
}
