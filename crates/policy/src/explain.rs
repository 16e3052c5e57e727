//! Explains why a query gets its decision, and what would change it.

mod condition;
mod denial;
mod flow;
mod masked_values;
mod requirement;
mod rules;
mod statement;

use serde::Serialize;
use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::{CheckKind, Decision, ReasonCode, Verdict};

use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;

pub use denial::{DenialExplanation, explain_denial};
pub(crate) use flow::{confidentiality_word, describe_tainting_calls};
pub(crate) use masked_values::describe_masked_values;
pub(crate) use requirement::{missing_roles, quote_names, sources_in_words};

/// A condition that is not met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedCondition {
    /// The subject of the condition, for example `roles` or `min_justification`.
    pub condition: String,
    /// The required value.
    pub required: Value,
    /// The actual value.
    pub actual: Value,
    /// What would meet the condition, for people.
    pub suggestion: String,
    /// The reason code that it explains.
    pub reason_code: ReasonCode,
    /// The rule that requires it, if a rule does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The verdict while it is not met.
    pub verdict: Verdict,
    /// The check that requires it.
    pub check: CheckKind,
}

/// A decision with all unmet conditions, recomputed from the documents and the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    decision: Decision,
    conditions: Vec<FailedCondition>,
    subject: String,
}

/// Explains the decision on a query.
///
/// ```
/// use weaver_policy::explain::explain;
/// use weaver_policy::{Contracts, Policy, PolicySet, PolicyQuery};
/// use weaver_types::{CapabilityRequest, Effects, Principal, PrincipalId, ToolSpec};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let tool = ToolSpec::new("docs.write", "Writes").with_effects(Effects::WRITE_LOCAL).build()?;
/// let who = Principal::new(PrincipalId::parse("ana")?);
/// let what = CapabilityRequest::new(tool.id().clone(), "to write");
/// let explanation = explain(&set, &PolicyQuery::new(&tool, &who, &what));
/// assert_eq!(explanation.conditions()[0].condition, "roles");
/// assert!(explanation.to_text().contains("Add 'admin' or 'writer' role to principal 'ana'"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn explain(set: &PolicySet, query: &PolicyQuery<'_>) -> Explanation {
    let decision = set.decide(query);
    let conditions = condition::failed_conditions(set, query, &decision);
    let (capability, principal) = (query.capability.id(), &query.principal.id);
    let subject = format!("`{capability}` for `{principal}`");
    Explanation { decision, conditions, subject }
}

impl Explanation {
    /// The decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// All unmet conditions, strictest first, without duplicates.
    #[must_use]
    pub fn conditions(&self) -> &[FailedCondition] {
        &self.conditions
    }

    /// The canonical bytes of the decision, for comparison with a recorded one.
    ///
    /// # Errors
    /// [`CanonicalError`]; every value in a decision has a canonical form.
    pub fn decision_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::serialize(&self.decision, Profile::Foreign)
    }

    /// Whether a recorded decision is identical to this one in canonical form.
    #[must_use]
    pub fn reproduces(&self, recorded: &Value) -> bool {
        let recorded = canonical::to_bytes(recorded, Profile::Foreign);
        self.decision_bytes().is_ok_and(|own| recorded.is_ok_and(|recorded| own == recorded))
    }

    /// The explanation as JSON: `decision` and `conditions`.
    ///
    /// # Errors
    /// [`serde_json::Error`]; every value can be serialised.
    pub fn to_json(&self) -> Result<Value, serde_json::Error> {
        Ok(Value::Object(
            [
                ("decision".to_owned(), serde_json::to_value(&self.decision)?),
                ("conditions".to_owned(), serde_json::to_value(&self.conditions)?),
            ]
            .into_iter()
            .collect(),
        ))
    }

    /// The explanation as plain text of several lines. Text from requests and documents is escaped.
    #[must_use]
    pub fn to_text(&self) -> String {
        let verdict = match self.decision.verdict() {
            Verdict::Allow => "is allowed",
            Verdict::Ask => "could go on, if the requester repaired it",
            Verdict::Hold => "is held until somebody releases it",
            Verdict::Deny => "is denied",
        };
        let line = |text: &str| weaver_text::escape::line(text).into_owned();
        let mut out = format!(
            "{} {verdict} [{}]\n",
            line(&self.subject),
            self.decision.primary_reason().as_str()
        );
        if self.conditions.is_empty() {
            out.push_str(&format!("  {}\n", line(self.decision.detail())));
        }
        for one in &self.conditions {
            let rule = one.rule.as_ref().map(|rule| format!(", rule `{rule}`")).unwrap_or_default();
            out.push_str(&line(&format!(
                "  {}: {} [{}{rule}]",
                one.verdict,
                one.condition,
                one.reason_code.as_str()
            )));
            out.push_str(&format!("\n    required {}\n", line(&one.required.to_string())));
            out.push_str(&format!("    actual   {}\n", line(&one.actual.to_string())));
            out.push_str(&format!("    {}\n", line(&one.suggestion)));
        }
        out
    }
}
