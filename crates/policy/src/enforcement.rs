//! Whether a policy's results are enforced, or only recorded.
//!
//! A dry run, as in Gatekeeper's `dryrun`, SELinux's permissive mode and
//! `Content-Security-Policy-Report-Only`: every decision is made in full, but a call that it would
//! have stopped goes on and is recorded. Only a signed policy can turn this on.

use serde::{Deserialize, Serialize};

/// Whether the results of a policy, or of one of its rules, are enforced.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleEnforcement {
    /// Results are enforced.
    #[default]
    Enforce,
    /// Results are recorded and have no effect.
    Observe,
}

weaver_types::words! { RuleEnforcement: "The keyword used in documents.";
    Enforce = "enforce", Observe = "observe",
}

impl RuleEnforcement {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::Enforce
    }
}
