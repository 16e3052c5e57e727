//! The decision: a join of what every check contributes, which nothing can loosen.

mod authority;
mod constraints;
mod contribution;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use self::contribution::cut;
use crate::digest::Digest;
use crate::reason::ReasonCode;

pub use authority::Authority;
pub use constraints::Constraints;
pub use contribution::{Check, Contribution, Discharge, MAX_DETAIL};

/// The four answers, from mild to strict; the stricter wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go on.
    Allow,
    /// The requester's side can repair it.
    Ask,
    /// Somebody else must release it.
    Hold,
    /// Final.
    Deny,
}

impl Verdict {
    /// The word used on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Hold => "hold",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The contribution that speaks for a decision: the first at the winning verdict. Where people
/// released the call, or a policy that observes let it through, that comes before what would have
/// allowed it anyway.
fn leading(said: &[Contribution], verdict: Verdict) -> Option<&Contribution> {
    let winning = || said.iter().filter(|c| c.verdict == verdict);
    let allowed = || winning().filter(|_| verdict == Verdict::Allow);
    let released = allowed().find(|c| c.reason.is_release());
    let unenforced = || allowed().find(|c| c.reason == ReasonCode::NotEnforced);
    released.or_else(unenforced).or_else(|| winning().next())
}

/// Where the policy in force came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Documents signed under the operator's root key.
    Signed,
    /// Built in the host's code.
    Code,
    /// Unsigned documents, allowed by a flag for development.
    UnsignedDevelopment,
}

/// Under which documents a decision was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basis {
    /// The digest of the contracts.
    pub contracts: Digest,
    /// Where they came from.
    pub origin: Origin,
    /// The digest of the policy.
    pub policy: Digest,
}

/// The decision on one request: a value, not an error. It carries its own explanation.
///
/// It can only be made by joining contributions and only be changed by adding one, so nothing
/// that holds a decision can loosen it.
///
/// ```
/// use weaver_types::{Basis, Check, Contribution, Decision, Digest, Origin, ReasonCode, Verdict};
///
/// let basis = Basis { policy: Digest::from_bytes([0; 32]), contracts: Digest::from_bytes([0; 32]), origin: Origin::Code };
/// let allow = Contribution::new(Check::Rule, Verdict::Allow, ReasonCode::RuleAllow, "rule `reads`");
/// let decision = Decision::join(vec![allow], basis);
/// assert!(decision.allowed());
///
/// let hold = Contribution::new(Check::Floor, Verdict::Hold, ReasonCode::FloorHold, "rung L4");
/// let decision = decision.tightened(hold);
/// assert_eq!((decision.verdict(), decision.primary()), (Verdict::Hold, ReasonCode::FloorHold));
/// ```
///
/// It is handed on and kept many times, so copies share what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision(Arc<JoinedContributions>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct JoinedContributions {
    verdict: Verdict,
    primary: ReasonCode,
    contributions: Vec<Contribution>,
    authority: Authority,
    constraints: Constraints,
    basis: Basis,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_have: Option<Decision>,
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Decision {
    /// Joins contributions: strictest verdict, highest authority, tightest constraints. None at
    /// all is a denial. What waits for people waits for one at least, and says so.
    #[must_use]
    pub fn join(mut contributions: Vec<Contribution>, basis: Basis) -> Self {
        if contributions.is_empty() {
            contributions.push(Contribution::new(
                Check::Rule,
                Verdict::Deny,
                ReasonCode::NoMatchingRule,
                "no check contributed anything",
            ));
        }
        for held in contributions.iter_mut().filter(|c| c.waits_for_people()) {
            held.authority.quorum = held.authority.quorum.max(1);
        }
        if contributions.len() > 1 {
            contributions.sort_by(|a, b| {
                (a.check, b.verdict, a.reason, &a.detail)
                    .cmp(&(b.check, a.verdict, b.reason, &b.detail))
            });
        }
        let verdict = contributions.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Deny);
        let primary =
            leading(&contributions, verdict).map_or(ReasonCode::NoMatchingRule, |c| c.reason);
        let mut authority = Authority::default();
        let mut constraints = Constraints::default();
        for contribution in &contributions {
            authority = authority.join(&contribution.authority);
            constraints = constraints.join(&contribution.constraints);
        }
        let would_have = None;
        let joined = JoinedContributions {
            verdict,
            primary,
            contributions,
            authority,
            constraints,
            basis,
            would_have,
        };
        Self(Arc::new(joined))
    }

    /// The same decision, made under a policy that observes: `would_have` is what it would have
    /// been, were everything enforced. It changes nothing about this decision.
    #[must_use]
    pub fn observing(mut self, would_have: Self) -> Self {
        Arc::make_mut(&mut self.0).would_have = Some(would_have);
        self
    }

    /// What it would have been, were everything enforced; `None` under a policy that enforces all
    /// that it says.
    #[must_use]
    pub fn would_have(&self) -> Option<&Self> {
        self.0.would_have.as_ref()
    }

    /// What it would have been, where that is another verdict: something stood in the way and was
    /// not enforced.
    #[must_use]
    pub fn not_enforced(&self) -> Option<&Self> {
        self.would_have().filter(|would| would.verdict() != self.verdict())
    }

    /// The same decision with one more contribution joined in: enforced, whatever the policy
    /// observes.
    #[must_use]
    pub fn tightened(self, contribution: Contribution) -> Self {
        let would_have = self.would_have().is_some().then(|| contribution.clone());
        self.tightened_observing(contribution, would_have)
    }

    /// The same decision with `enforced` joined in, and `would_have` into what it would have been,
    /// under a policy that observes.
    #[must_use]
    pub fn tightened_observing(
        self,
        enforced: Contribution,
        would_have: Option<Contribution>,
    ) -> Self {
        let joined = Arc::unwrap_or_clone(self.0);
        let JoinedContributions { mut contributions, basis, would_have: before, .. } = joined;
        contributions.push(enforced);
        let decision = Self::join(contributions, basis);
        match (before, would_have) {
            (Some(before), Some(said)) => decision.observing(before.tightened(said)),
            (Some(before), None) => decision.observing(before),
            (None, _) => decision,
        }
    }

    /// The same decision with other words in its details: what stands in the way stays. `words`
    /// gives nothing for a detail that stays as it is.
    #[must_use]
    pub fn reworded(self, words: impl Fn(&str) -> Option<String>) -> Self {
        self.reworded_by(&words)
    }

    fn reworded_by(self, words: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut joined = self.0;
        if let Some(would_have) = joined.would_have.clone() {
            Arc::make_mut(&mut joined).would_have = Some(would_have.reworded_by(words));
        }
        if joined.contributions.iter().any(|said| words(&said.detail).is_some()) {
            for said in &mut Arc::make_mut(&mut joined).contributions {
                if let Some(other) = words(&said.detail) {
                    said.detail = cut(&other).to_owned();
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
    pub fn allowed(&self) -> bool {
        self.0.verdict == Verdict::Allow
    }

    /// The first reason at the winning verdict; of a call that people released, that they did.
    #[must_use]
    pub fn primary(&self) -> ReasonCode {
        self.0.primary
    }

    /// The words of the contribution that gave the primary reason.
    #[must_use]
    pub fn detail(&self) -> &str {
        leading(&self.0.contributions, self.0.verdict).map_or("", |c| c.detail.as_str())
    }

    /// Everything that was said, in the order of the checks.
    #[must_use]
    pub fn contributions(&self) -> &[Contribution] {
        &self.0.contributions
    }

    /// The contributions that stand in the way, strictest first.
    pub fn obstacles(&self) -> impl Iterator<Item = &Contribution> {
        [Verdict::Deny, Verdict::Hold, Verdict::Ask]
            .into_iter()
            .flat_map(|verdict| self.0.contributions.iter().filter(move |c| c.verdict == verdict))
    }

    /// The authority that could release it.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.0.authority
    }

    /// The limits that go with it.
    #[must_use]
    pub fn constraints(&self) -> &Constraints {
        &self.0.constraints
    }

    /// The documents behind it.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.0.basis
    }
}

#[cfg(test)]
mod tests;
