//! Whether what a policy says is enforced, or only recorded.
//!
//! The dry run of a policy, as Gatekeeper's `dryrun`, SELinux's permissive mode and
//! `Content-Security-Policy-Report-Only` have it: every decision is made in full, and what it would
//! have stopped goes on and is recorded. Only a signed policy says so.

use serde::{Deserialize, Serialize};

/// Whether what a policy or one of its rules says is enforced.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleEnforcement {
    /// It is enforced.
    #[default]
    Enforce,
    /// It is decided and recorded, and changes nothing.
    Observe,
}

impl RuleEnforcement {
    /// The word used in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::Enforce
    }
}
