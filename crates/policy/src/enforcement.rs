//! Whether what a policy says is enforced, or only recorded.
//!
//! The dry run of a policy, as Gatekeeper's `dryrun`, SELinux's permissive mode and
//! `Content-Security-Policy-Report-Only` have it: every decision is made in full, and what it would
//! have stopped goes on and is recorded. Only a signed policy says so.

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::rule::Rule;
use crate::set::PolicySet;

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

impl Policy {
    /// Whether a rule of this policy is enforced: as the rule says, or else as the policy does.
    #[must_use]
    pub fn enforcement_of(&self, rule: &Rule) -> RuleEnforcement {
        rule.enforcement.unwrap_or(self.enforcement)
    }

    /// Whether anything in it is not enforced.
    #[must_use]
    pub fn observes(&self) -> bool {
        self.enforcement == RuleEnforcement::Observe
            || self.rules.iter().any(|rule| self.enforcement_of(rule) == RuleEnforcement::Observe)
    }

    /// Whether it needs the second form of documents, which knows enforcement.
    pub(crate) fn speaks_of_enforcement(&self) -> bool {
        self.enforcement != RuleEnforcement::Enforce
            || self.rules.iter().any(|rule| rule.enforcement.is_some())
    }
}

impl PolicySet {
    /// One sentence for people on what the policy in force does not enforce; `None` where it
    /// enforces all that it says. Whoever lists tools, reports a state or verifies a log shows it.
    #[must_use]
    pub fn observation_notice(&self) -> Option<String> {
        let policy = self.policy();
        if policy.enforcement == RuleEnforcement::Observe {
            return Some(format!(
                "The policy `{}` observes: it holds and denies nothing, and the log records what it \
                 would have done. L5, revocations and the firewall still hold.",
                policy.id
            ));
        }
        let observed: Vec<&str> = policy
            .rules
            .iter()
            .filter(|rule| policy.enforcement_of(rule) == RuleEnforcement::Observe)
            .map(|rule| rule.name.as_str())
            .collect();
        let (first, more) = (observed.first()?, observed.len() - 1);
        let rules = match more {
            0 => format!("Rule `{first}` observes"),
            1 => format!("Rule `{first}` and 1 more observe"),
            more => format!("Rule `{first}` and {more} more observe"),
        };
        Some(format!(
            "{rules}: the log records what would have happened, and nothing is stopped or allowed on \
             that account."
        ))
    }
}
