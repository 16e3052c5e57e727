//! The record of what a decision would have been if the policy were enforced.

use serde::Serialize;
use weaver_firewall::Firewall;
use weaver_types::{Decision, ReasonCode, Verdict};

use super::RecordedChecks;

/// The version of the payload of a decision under a policy in observe mode: `verdict` is what was
/// enforced, and `would_have` what the policy decided.
const OBSERVING_VERSION: u8 = 2;

/// The payload version in which a decision is recorded.
pub(crate) fn decision_version(decision: &Decision) -> u8 {
    if decision.would_have().is_some() { OBSERVING_VERSION } else { 1 }
}

/// The record of what a decision would have been, under a policy in observe mode.
#[derive(Debug, Serialize)]
pub(crate) struct WouldHaveRecord<'a> {
    checks: RecordedChecks<'a>,
    checks_total: usize,
    reason: ReasonCode,
    verdict: Verdict,
}

impl<'a> WouldHaveRecord<'a> {
    /// `None` under a policy that is enforced.
    pub(crate) fn of(decision: &'a Decision, firewall: &'a Firewall) -> Option<Self> {
        let would_have = decision.would_have()?;
        Some(Self {
            checks: RecordedChecks::of(would_have, firewall),
            checks_total: would_have.check_results().len(),
            reason: would_have.primary_reason(),
            verdict: would_have.verdict(),
        })
    }
}
