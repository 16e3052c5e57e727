//! The decision: a join of the results of all checks, which can only become stricter.

mod authority;
mod check_result;
mod constraints;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use self::check_result::truncate_detail;
use crate::digest::Digest;
use crate::reason::ReasonCode;

pub use authority::ApprovalAuthority;
pub use check_result::{CheckKind, CheckResult, MAX_DETAIL, Remedy};
pub use constraints::Constraints;

/// The four verdicts, from mild to strict; the stricter wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may go ahead.
    Allow,
    /// The requester can fix the problem, for example by giving a justification.
    Ask,
    /// Somebody else must release the call.
    Hold,
    /// Final refusal.
    Deny,
}

crate::words! { Verdict: "The word used on the wire.";
    Allow = "allow", Ask = "ask", Hold = "hold", Deny = "deny",
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The check result that explains a decision: the first one at the winning verdict. For an allowed
/// call, a release by people or by an observing policy comes before any rule that would have
/// allowed the call anyway, because it is the reason why the call went through.
fn deciding_result(results: &[CheckResult], verdict: Verdict) -> Option<&CheckResult> {
    let winning = || results.iter().filter(|c| c.verdict == verdict);
    let allowed = || winning().filter(|_| verdict == Verdict::Allow);
    let released = allowed().find(|c| c.reason.is_release());
    let unenforced = || allowed().find(|c| c.reason == ReasonCode::NotEnforced);
    released.or_else(unenforced).or_else(|| winning().next())
}

/// Where the policy in force came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOrigin {
    /// Documents signed under the operator's root key.
    Signed,
    /// Built by the host's code.
    Code,
    /// Unsigned documents, permitted by a development flag.
    UnsignedDevelopment,
}

/// The documents on which a decision rests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionBasis {
    /// The digest of the contracts.
    pub contracts: Digest,
    /// Where they came from.
    pub origin: PolicyOrigin,
    /// The digest of the policy.
    pub policy: Digest,
}

/// The decision on one request: a value, not an error, that carries its own explanation.
///
/// A decision is made only by joining check results and changed only by joining another one, so no
/// code that holds a decision can loosen it.
///
/// ```
/// use weaver_types::{
///     CheckKind, CheckResult, Decision, DecisionBasis, Digest, PolicyOrigin, ReasonCode, Verdict,
/// };
///
/// let none = Digest::from_bytes([0; 32]);
/// let basis = DecisionBasis { policy: none, contracts: none, origin: PolicyOrigin::Code };
/// let allow = CheckResult::new(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow, "rule `reads`");
/// let decision = Decision::join(vec![allow], basis);
/// assert!(decision.is_allowed());
///
/// let hold = CheckResult::new(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold, "rung L4");
/// let decision = decision.joined_with(hold);
/// assert_eq!((decision.verdict(), decision.primary_reason()), (Verdict::Hold, ReasonCode::FloorHold));
/// ```
///
/// Decisions are passed on and stored many times, so copies share their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision(Arc<JoinedCheckResults>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct JoinedCheckResults {
    verdict: Verdict,
    primary: ReasonCode,
    contributions: Vec<CheckResult>,
    authority: ApprovalAuthority,
    constraints: Constraints,
    basis: DecisionBasis,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_have: Option<Decision>,
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Decision {
    /// Joins check results: strictest verdict, highest authority, tightest constraints. An empty
    /// list is a denial. A hold that needs human approval requires a quorum of at least one.
    #[must_use]
    pub fn join(mut check_results: Vec<CheckResult>, basis: DecisionBasis) -> Self {
        if check_results.is_empty() {
            check_results.push(CheckResult::new(
                CheckKind::Rule,
                Verdict::Deny,
                ReasonCode::NoMatchingRule,
                "no check contributed anything",
            ));
        }
        for hold in check_results.iter_mut().filter(|c| c.needs_human_approval()) {
            hold.authority.quorum = hold.authority.quorum.max(1);
        }
        if check_results.len() > 1 {
            check_results.sort_by(|a, b| {
                (a.check, b.verdict, a.reason, &a.detail)
                    .cmp(&(b.check, a.verdict, b.reason, &b.detail))
            });
        }
        let verdict = check_results.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Deny);
        let primary = deciding_result(&check_results, verdict)
            .map_or(ReasonCode::NoMatchingRule, |c| c.reason);
        let mut authority = ApprovalAuthority::default();
        let mut constraints = Constraints::default();
        for check_result in &check_results {
            authority = authority.join(&check_result.authority);
            constraints = constraints.join(&check_result.constraints);
        }
        let would_have = None;
        let joined = JoinedCheckResults {
            verdict,
            primary,
            contributions: check_results,
            authority,
            constraints,
            basis,
            would_have,
        };
        Self(Arc::new(joined))
    }

    /// Attaches `would_have`: the decision that full enforcement would have given, under a policy
    /// that only observes some checks. It does not change this decision.
    #[must_use]
    pub fn with_would_have(mut self, would_have: Self) -> Self {
        Arc::make_mut(&mut self.0).would_have = Some(would_have);
        self
    }

    /// The decision that full enforcement would have given; `None` under a policy that enforces
    /// everything.
    #[must_use]
    pub fn would_have(&self) -> Option<&Self> {
        self.0.would_have.as_ref()
    }

    /// As [`Decision::would_have`], but only when its verdict differs: some obstacle was not
    /// enforced.
    #[must_use]
    pub fn not_enforced(&self) -> Option<&Self> {
        self.would_have().filter(|would| would.verdict() != self.verdict())
    }

    /// Joins one more check result, enforced whatever the policy observes.
    #[must_use]
    pub fn joined_with(self, check_result: CheckResult) -> Self {
        let would_have = self.would_have().is_some().then(|| check_result.clone());
        self.joined_with_enforced(check_result, would_have)
    }

    /// Joins `enforced` into this decision, and `would_have` into the fully enforced one when the
    /// policy observes.
    #[must_use]
    pub fn joined_with_enforced(
        self,
        enforced: CheckResult,
        would_have: Option<CheckResult>,
    ) -> Self {
        let joined = Arc::unwrap_or_clone(self.0);
        let JoinedCheckResults {
            contributions: mut check_results, basis, would_have: before, ..
        } = joined;
        check_results.push(enforced);
        let decision = Self::join(check_results, basis);
        match (before, would_have) {
            (Some(before), Some(would_have)) => {
                decision.with_would_have(before.joined_with(would_have))
            }
            (Some(before), None) => decision.with_would_have(before),
            (None, _) => decision,
        }
    }

    /// Rewrites the details and keeps everything else. `words` returns `None` for a detail that
    /// stays.
    #[must_use]
    pub fn map_details(self, words: impl Fn(&str) -> Option<String>) -> Self {
        self.map_details_by(&words)
    }

    fn map_details_by(self, words: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut joined = self.0;
        if let Some(would_have) = joined.would_have.clone() {
            Arc::make_mut(&mut joined).would_have = Some(would_have.map_details_by(words));
        }
        if joined.contributions.iter().any(|result| words(&result.detail).is_some()) {
            for result in &mut Arc::make_mut(&mut joined).contributions {
                if let Some(other) = words(&result.detail) {
                    result.detail = truncate_detail(&other).to_owned();
                }
            }
        }
        Self(joined)
    }

    /// The strictest verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.0.verdict
    }

    /// True only for [`Verdict::Allow`].
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.0.verdict == Verdict::Allow
    }

    /// The reason of the result that explains the decision; for a call that people released, the
    /// release.
    #[must_use]
    pub fn primary_reason(&self) -> ReasonCode {
        self.0.primary
    }

    /// The detail of the result that explains the decision.
    #[must_use]
    pub fn detail(&self) -> &str {
        deciding_result(&self.0.contributions, self.0.verdict).map_or("", |c| c.detail.as_str())
    }

    /// All check results, in the order of the checks.
    #[must_use]
    pub fn check_results(&self) -> &[CheckResult] {
        &self.0.contributions
    }

    /// The results that stand in the way, strictest first.
    pub fn obstacles(&self) -> impl Iterator<Item = &CheckResult> {
        [Verdict::Deny, Verdict::Hold, Verdict::Ask]
            .into_iter()
            .flat_map(|verdict| self.0.contributions.iter().filter(move |c| c.verdict == verdict))
    }

    /// The authority that could release it.
    #[must_use]
    pub fn authority(&self) -> &ApprovalAuthority {
        &self.0.authority
    }

    /// The limits on what the call may return.
    #[must_use]
    pub fn constraints(&self) -> &Constraints {
        &self.0.constraints
    }

    /// The documents on which it rests.
    #[must_use]
    pub fn basis(&self) -> &DecisionBasis {
        &self.0.basis
    }
}

#[cfg(test)]
mod tests;
