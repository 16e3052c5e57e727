//! Builds the request that an assignment describes.

use std::collections::BTreeSet;

use weaver_policy::Truth;
use weaver_types::{
    AgentId, CapabilityRequest, Confidentiality, Integrity, Label, Principal, PrincipalId,
};

use super::arguments::{self, Synthesis};
use super::partial_evaluator::PartialEvaluator;
use super::search_gap::SearchGap;
use super::variables::{Assignment, Variables, named_texts, names_of_set_flags};
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
        let given = variables.arguments.is_set(assignment);
        let arguments = if given.contains(Truth::Yes) {
            match arguments::synthesize(&documents.space.predicate_outcomes(assignment)) {
                Synthesis::Found(value) => Some(value),
                Synthesis::Impossible | Synthesis::NotFound => return Err(SearchGap::Arguments),
            }
        } else {
            None
        };
        let mut request = CapabilityRequest::new(documents.capability.id().clone(), "");
        request.intent = variables.intent.text(assignment).map(str::to_owned);
        request.scope = named_texts(&variables.scope, assignment);
        let justification = variables.justification.assigned_or_simplest(assignment);
        if let Some(Some(shape)) = justification {
            request = request.justified(justification_text(shape.length), shape.source);
        }
        let confidentiality = variables.confidentiality.assigned_or_simplest(assignment);
        let integrity = variables.integrity.assigned_or_simplest(assignment);
        Ok(RecordedRequest {
            id: "witness".to_owned(),
            principal: self.principal(variables, assignment)?,
            request,
            arguments,
            operation: documents.operation,
            mode: variables.mode.assigned_or_simplest(assignment).copied().unwrap_or_default(),
            label: Label::new(
                confidentiality.copied().unwrap_or(Confidentiality::Public),
                integrity.copied().unwrap_or(Integrity::Trusted),
            ),
            run: None,
            at: variables.time.assigned_or_simplest(assignment).copied().unwrap_or_default(),
            human_channel: variables.human_channel.assigned_or_simplest(assignment) == Some(&true),
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
        let name = variables.principal.text(assignment).unwrap_or("someone");
        let agent = variables.agent.text(assignment).map(AgentId::parse);
        let mut roles = names_of_set_flags(&variables.roles, assignment);
        roles.extend(self.with_roles.iter().cloned());
        Ok(Principal {
            roles,
            permissions: names_of_set_flags(&variables.permissions, assignment),
            attributes: named_texts(&variables.attributes, assignment),
            agent: agent.transpose()?,
            ..Principal::new(PrincipalId::parse(name)?)
        })
    }
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
