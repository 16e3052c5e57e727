//! The record of what a decision would have been.

use serde::Serialize;
use weaver_firewall::Firewall;
use weaver_types::{Decision, ReasonCode, Verdict};

use super::Checks;

/// The version of the payload of a decision under a policy that observes: `verdict` is then what was
/// enforced, and `would_have` what the policy says.
const OBSERVING: u8 = 2;

/// The version of the payload that a decision is recorded in.
pub(crate) fn decision_version(decision: &Decision) -> u8 {
    if decision.would_have().is_some() { OBSERVING } else { 1 }
}

/// What is recorded of what a decision would have been, under a policy that observes.
#[derive(Debug, Serialize)]
pub(crate) struct WouldHaveRecord<'a> {
    checks: Checks<'a>,
    checks_total: usize,
    reason: ReasonCode,
    verdict: Verdict,
}

impl<'a> WouldHaveRecord<'a> {
    /// `None` under a policy that enforces all that it says.
    pub(crate) fn of(decision: &'a Decision, firewall: &'a Firewall) -> Option<Self> {
        let would = decision.would_have()?;
        Some(Self {
            checks: Checks::of(would, firewall),
            checks_total: would.contributions().len(),
            reason: would.primary(),
            verdict: would.verdict(),
        })
    }
}
