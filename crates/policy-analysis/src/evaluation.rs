//! Evaluation of recorded requests.

use serde::Serialize;
use weaver_policy::{PolicySet, Query, Windows};
use weaver_types::{Decision, Digest, Operation, Origin, ReasonCode, Verdict};

use crate::request::{RecordedRequest, RequestError};

/// The decision about one recorded request, as it is written out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// The `id` of the request.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason.
    pub primary: ReasonCode,
    /// Every reason, each once: the primary one, then those in the way, strictest first, then the
    /// others.
    pub reasons: Vec<ReasonCode>,
    /// The digest of the policy.
    pub policy_digest: Digest,
    /// The digest of the contracts.
    pub contracts_digest: Digest,
    /// Whether the documents were signed.
    pub origin: Origin,
}

impl Evaluation {
    /// The evaluation that a decision amounts to.
    #[must_use]
    pub fn of(id: &str, decision: &Decision) -> Self {
        let mut reasons = vec![decision.primary()];
        for contribution in decision.obstacles().chain(decision.contributions()) {
            if !reasons.contains(&contribution.reason) {
                reasons.push(contribution.reason);
            }
        }
        let basis = decision.basis();
        Self {
            id: id.to_owned(),
            verdict: decision.verdict(),
            primary: decision.primary(),
            reasons,
            policy_digest: basis.policy,
            contracts_digest: basis.contracts,
            origin: basis.origin,
        }
    }
}

/// Evaluates requests one after the other, in the order in which they came: an allowed one counts
/// against the limits of the policy, any other does not.
///
/// ```
/// use weaver_policy_analysis::{Evaluator, RecordedRequest};
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::{Timestamp, Verdict};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let line = br#"{"id":"1","capability":"docs.read","principal":{"id":"ana"}}"#;
/// let request = RecordedRequest::parse(line, Timestamp::default())?;
/// let evaluation = Evaluator::new(&set).evaluate(&request)?;
/// assert_eq!(evaluation.verdict, Verdict::Deny, "nothing is known of `docs.read`, so it may destroy");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Evaluator<'s> {
    set: &'s PolicySet,
    windows: Windows,
}

impl<'s> Evaluator<'s> {
    /// An evaluator that has seen no call yet.
    #[must_use]
    pub fn new(set: &'s PolicySet) -> Self {
        Self { set, windows: Windows::new() }
    }

    /// Evaluates one request and, where it is allowed, counts it.
    ///
    /// # Errors
    /// [`RequestError`] where the capability's contract cannot be applied.
    pub fn evaluate(&mut self, request: &RecordedRequest) -> Result<Evaluation, RequestError> {
        self.decide(request).map(|decision| Evaluation::of(&request.id, &decision))
    }

    /// The whole decision; counts like [`Evaluator::evaluate`].
    ///
    /// # Errors
    /// [`RequestError`] where the capability's contract cannot be applied.
    pub fn decide(&mut self, request: &RecordedRequest) -> Result<Decision, RequestError> {
        let capability = request.capability(self.set)?;
        let query = Query { windows: Some(&self.windows), ..request.query(&capability) };
        let decision = self.set.decide(&query);
        if decision.allowed() && request.operation == Operation::Invoke {
            self.windows.record(&request.query(&capability), self.set.limits());
        }
        Ok(decision)
    }
}
