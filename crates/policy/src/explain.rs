//! Why a request is answered as it is, and what would change that.

mod condition;
mod denial;
mod rules;

use serde::Serialize;
use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::{Check, Decision, ReasonCode, Verdict};

use crate::query::Query;
use crate::set::PolicySet;

pub use denial::{DenialExplanation, explain_denial};

/// One condition that does not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedCondition {
    /// What it is about, for example `roles` or `min_justification`.
    pub condition: String,
    /// What must be.
    pub required: Value,
    /// What is.
    pub actual: Value,
    /// What would change it, in words.
    pub suggestion: String,
    /// The reason code it stands behind.
    pub reason_code: ReasonCode,
    /// The rule that asks for it, where a rule does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How strict it is.
    pub verdict: Verdict,
    /// The check that it belongs to.
    pub check: Check,
}

/// A decision with everything that stands in its way, worked out again from the documents and
/// the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    decision: Decision,
    conditions: Vec<FailedCondition>,
    subject: String,
}

/// Explains what the documents say to a query.
///
/// ```
/// use weaver_policy::explain::explain;
/// use weaver_policy::{Contracts, Policy, PolicySet, Query};
/// use weaver_types::{CapabilityRequest, Effects, Principal, PrincipalId, ToolSpec};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let tool = ToolSpec::new("docs.write", "Writes").with_effects(Effects::WRITE_LOCAL).build()?;
/// let who = Principal::new(PrincipalId::parse("ana")?);
/// let what = CapabilityRequest::new(tool.id().clone(), "to write");
/// let explanation = explain(&set, &Query::new(&tool, &who, &what));
/// assert_eq!(explanation.conditions()[0].condition, "roles");
/// assert!(explanation.words().contains("Add 'admin' or 'writer' role to principal 'ana'"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn explain(set: &PolicySet, query: &Query<'_>) -> Explanation {
    let decision = set.decide(query);
    let conditions = condition::all(set, query, &decision);
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

    /// Every condition that fails, strictest first, each once.
    #[must_use]
    pub fn conditions(&self) -> &[FailedCondition] {
        &self.conditions
    }

    /// The canonical bytes of the decision: what a recorded one is compared with.
    ///
    /// # Errors
    /// [`CanonicalError`]; a decision has nothing in it that could not be written.
    pub fn decision_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::of(&self.decision, Profile::Foreign)
    }

    /// Whether a decision that was recorded is this one, byte by byte in canonical form.
    #[must_use]
    pub fn reproduces(&self, recorded: &Value) -> bool {
        let recorded = canonical::to_bytes(recorded, Profile::Foreign);
        self.decision_bytes().is_ok_and(|own| recorded.is_ok_and(|recorded| own == recorded))
    }

    /// The explanation as JSON: `decision` and `conditions`.
    ///
    /// # Errors
    /// [`serde_json::Error`]; nothing in it cannot be written.
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

    /// The explanation in plain words, several lines. What it repeats of requests and documents
    /// is escaped.
    #[must_use]
    pub fn words(&self) -> String {
        let verdict = match self.decision.verdict() {
            Verdict::Allow => "is allowed",
            Verdict::Ask => "could go on, if the requester repaired it",
            Verdict::Hold => "is held until somebody releases it",
            Verdict::Deny => "is denied",
        };
        let line = |text: &str| weaver_text::escape::line(text).into_owned();
        let mut out =
            format!("{} {verdict} [{}]\n", line(&self.subject), self.decision.primary().as_str());
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
