//! What one check says of a call, and what would take it away.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Authority, Constraints, Verdict};
use crate::reason::ReasonCode;
use crate::request::JustificationSource;

/// How many characters of detail a contribution keeps.
pub const MAX_DETAIL: usize = 512;

/// Which check speaks. The order settles the primary reason among equally strict contributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The run mode.
    Mode,
    /// Rung L5.
    Prohibited,
    /// The rules of the policy.
    Rule,
    /// Roles.
    Role,
    /// Permissions and agents.
    Permission,
    /// Attributes.
    Attribute,
    /// Rules about sensitive data.
    Sensitivity,
    /// Justifications and missing arguments.
    Justification,
    /// The floor at rung L4.
    Floor,
    /// Runtime signals.
    Signal,
    /// Information flow.
    Flow,
    /// Rates and budgets.
    Limit,
    /// The approved contract.
    Contract,
    /// Preconditions.
    Precondition,
    /// The system itself: ledger, clock, token.
    System,
}

/// What would take a contribution away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Discharge {
    /// Nothing would.
    Nothing,
    /// A justification with a minimum length, from one of these sources.
    Justification {
        /// Characters after trimming.
        min_chars: u32,
        /// Sources that count.
        sources: BTreeSet<JustificationSource>,
    },
    /// The arguments of the call.
    Arguments,
    /// An approval for this call by somebody with the contribution's authority.
    Approval,
    /// Time: try again after this number of milliseconds.
    Wait {
        /// Milliseconds.
        retry_after_ms: u64,
    },
}

/// What one check has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contribution {
    /// Who could release it.
    #[serde(default)]
    pub authority: Authority,
    /// Which check.
    pub check: Check,
    /// What it limits.
    #[serde(default)]
    pub constraints: Constraints,
    /// What exactly, in words, for people; at most [`MAX_DETAIL`] characters.
    pub detail: String,
    /// What would take it away.
    pub discharge: Discharge,
    /// Why.
    pub reason: ReasonCode,
    /// What it says.
    pub verdict: Verdict,
}

impl Contribution {
    /// A contribution without authority, constraints or discharge.
    #[must_use]
    pub fn new(
        check: Check,
        verdict: Verdict,
        reason: ReasonCode,
        detail: impl AsRef<str>,
    ) -> Self {
        Self {
            check,
            verdict,
            reason,
            detail: cut(detail.as_ref()).to_owned(),
            authority: Authority::default(),
            constraints: Constraints::default(),
            discharge: Discharge::Nothing,
        }
    }

    /// The same with what would take it away.
    #[must_use]
    pub fn discharged_by(mut self, discharge: Discharge) -> Self {
        self.discharge = discharge;
        self
    }

    /// The same with the authority that could release it.
    #[must_use]
    pub fn with_authority(mut self, authority: Authority) -> Self {
        self.authority = authority;
        self
    }

    /// Whether it holds the call until people release it.
    #[must_use]
    pub fn waits_for_people(&self) -> bool {
        self.verdict == Verdict::Hold && self.discharge == Discharge::Approval
    }

    /// The same with limits.
    #[must_use]
    pub fn with_constraints(mut self, constraints: Constraints) -> Self {
        self.constraints = constraints;
        self
    }
}

/// The first [`MAX_DETAIL`] characters.
pub(super) fn cut(detail: &str) -> &str {
    // A text has at least as many bytes as characters.
    if detail.len() <= MAX_DETAIL {
        return detail;
    }
    let end = detail.char_indices().nth(MAX_DETAIL).map(|(end, _)| end);
    end.and_then(|end| detail.get(..end)).unwrap_or(detail)
}
