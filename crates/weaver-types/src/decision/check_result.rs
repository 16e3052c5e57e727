//! The result of one check on a call, and what would lift it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ApprovalAuthority, Constraints, Verdict};
use crate::reason::ReasonCode;
use crate::request::JustificationSource;

/// How many characters of detail a check result keeps.
pub const MAX_DETAIL: usize = 512;

/// Which check a result comes from. The order decides the primary reason among equally strict
/// results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// The safety mode of the run.
    Mode,
    /// Capabilities that the operator prohibited (rung L5).
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
    /// The minimum hold for external or irreversible actions (rung L4), which no rule can waive.
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

/// What would lift the obstacle that a check result reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Remedy {
    /// Nothing; the obstacle is final.
    Nothing,
    /// A justification of a minimum length from one of these sources.
    Justification {
        /// Characters after trimming.
        min_chars: u32,
        /// Sources that count.
        sources: BTreeSet<JustificationSource>,
    },
    /// Other arguments of the call.
    Arguments,
    /// An approval of this call by somebody with the required authority.
    Approval,
    /// Time: a retry after this many milliseconds.
    Wait {
        /// Milliseconds.
        retry_after_ms: u64,
    },
}

/// The result of one check on a call: verdict, reason, limits, and what would remove the obstacle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckResult {
    /// The authority that may release the hold.
    #[serde(default)]
    pub authority: ApprovalAuthority,
    /// The check.
    pub check: CheckKind,
    /// Limits on the call.
    #[serde(default)]
    pub constraints: Constraints,
    /// The details in words, for people; at most [`MAX_DETAIL`] characters.
    pub detail: String,
    /// What would remove the obstacle; the stored name is `discharge`.
    pub discharge: Remedy,
    /// The reason code.
    pub reason: ReasonCode,
    /// The verdict of this check.
    pub verdict: Verdict,
}

impl CheckResult {
    /// A result without authority, limits or remedy.
    #[must_use]
    pub fn new(
        check: CheckKind,
        verdict: Verdict,
        reason: ReasonCode,
        detail: impl AsRef<str>,
    ) -> Self {
        Self {
            check,
            verdict,
            reason,
            detail: truncate_detail(detail.as_ref()).to_owned(),
            authority: ApprovalAuthority::default(),
            constraints: Constraints::default(),
            discharge: Remedy::Nothing,
        }
    }

    /// Sets what would remove the obstacle.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.discharge = remedy;
        self
    }

    /// Sets the authority that may release the hold.
    #[must_use]
    pub fn with_authority(mut self, authority: ApprovalAuthority) -> Self {
        self.authority = authority;
        self
    }

    /// True when it holds the call until people release it.
    #[must_use]
    pub fn needs_human_approval(&self) -> bool {
        self.verdict == Verdict::Hold && self.discharge == Remedy::Approval
    }

    /// Sets limits on what the call may return.
    #[must_use]
    pub fn with_constraints(mut self, constraints: Constraints) -> Self {
        self.constraints = constraints;
        self
    }
}

/// The first [`MAX_DETAIL`] characters.
pub(super) fn truncate_detail(detail: &str) -> &str {
    // A text has at least as many bytes as characters.
    if detail.len() <= MAX_DETAIL {
        return detail;
    }
    let end = detail.char_indices().nth(MAX_DETAIL).map(|(end, _)| end);
    end.and_then(|end| detail.get(..end)).unwrap_or(detail)
}
