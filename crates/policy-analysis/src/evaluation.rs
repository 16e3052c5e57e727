//! Evaluates recorded requests.

use serde::Serialize;
use weaver_policy::{PolicyQuery, PolicySet, RateLimitWindows};
use weaver_types::{Decision, Digest, Operation, PolicyOrigin, ReasonCode, Verdict};

use crate::recorded_request::{RecordedRequest, RequestError};

/// The decision on one recorded request, in its output format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// The `id` of the request.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason.
    pub primary: ReasonCode,
    /// All reasons without duplicates: the primary one, then those of obstacles, strictest first,
    /// then the others.
    pub reasons: Vec<ReasonCode>,
    /// The digest of the policy.
    pub policy_digest: Digest,
    /// The digest of the contracts.
    pub contracts_digest: Digest,
    /// Whether the documents were signed.
    pub origin: PolicyOrigin,
}

impl Evaluation {
    /// Summarises a decision.
    #[must_use]
    pub fn from_decision(id: &str, decision: &Decision) -> Self {
        let mut reasons = vec![decision.primary_reason()];
        for check_result in decision.obstacles().chain(decision.check_results()) {
            if !reasons.contains(&check_result.reason) {
                reasons.push(check_result.reason);
            }
        }
        let basis = decision.basis();
        Self {
            id: id.to_owned(),
            verdict: decision.verdict(),
            primary: decision.primary_reason(),
            reasons,
            policy_digest: basis.policy,
            contracts_digest: basis.contracts,
            origin: basis.origin,
        }
    }
}

/// Evaluates requests in order. Allowed requests count against the rate limits of the policy;
/// others do not.
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
    windows: RateLimitWindows,
}

impl<'s> Evaluator<'s> {
    /// An evaluator without any counted calls.
    #[must_use]
    pub fn new(set: &'s PolicySet) -> Self {
        Self { set, windows: RateLimitWindows::new() }
    }

    /// Evaluates one request, and counts it if it is allowed.
    ///
    /// # Errors
    /// [`RequestError`] if the capability's contract cannot be applied.
    pub fn evaluate(&mut self, request: &RecordedRequest) -> Result<Evaluation, RequestError> {
        self.decide(request).map(|decision| Evaluation::from_decision(&request.id, &decision))
    }

    /// The full decision. Counts like [`Evaluator::evaluate`].
    ///
    /// # Errors
    /// [`RequestError`] if the capability's contract cannot be applied.
    pub fn decide(&mut self, request: &RecordedRequest) -> Result<Decision, RequestError> {
        let capability = request.capability(self.set)?;
        let query = PolicyQuery { windows: Some(&self.windows), ..request.query(&capability) };
        let decision = self.set.decide(&query);
        if decision.is_allowed() && request.operation == Operation::Invoke {
            self.windows.record(&request.query(&capability), self.set.limits());
        }
        Ok(decision)
    }
}
