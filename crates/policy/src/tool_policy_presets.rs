//! Presets that are equivalent to the three policies of the SecondBrain kernel.

use std::collections::BTreeSet;

use weaver_types::{Constraints, ResponseMode, Rung, SafetyClass};

use crate::pattern::Pattern;
use crate::policy::Policy;
use crate::rule::{Effect, Rule};

/// Creates the policies that hosts of the SecondBrain kernel know. Each is an ordinary [`Policy`]
/// under the usual floor, so calls that write to the outside are held in any case.
///
/// ```
/// use weaver_policy::{Contracts, Pattern, PolicySet, ToolPolicyPresets};
///
/// let blocked = [Pattern::parse("shell.*")?];
/// assert!(PolicySet::from_code(ToolPolicyPresets::normal(blocked, None), Contracts::new("none")).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ToolPolicyPresets;

impl ToolPolicyPresets {
    /// Allows the tools in `allowed` (all tools if `None`), except for those in `blocked`, which
    /// takes precedence. Destructive tools require an approval on every rung.
    #[must_use]
    pub fn normal(
        blocked: impl IntoIterator<Item = Pattern>,
        allowed: Option<Vec<Pattern>>,
    ) -> Policy {
        let mut policy = Policy::new("tool-policy-normal");
        let mut held = Rule::new("destructive-waits", Effect::RequireApproval);
        held.matches.class = BTreeSet::from([SafetyClass::Destructive]);
        held.reason = "what is destructive waits for an approval".to_owned();
        let mut allow = Rule::new("allowed", Effect::Allow);
        let nothing = allowed.as_ref().is_some_and(Vec::is_empty);
        allow.matches.capability = allowed.unwrap_or_default();
        // A tool that is not allowed cannot be approved either.
        held.matches.capability.clone_from(&allow.matches.capability);
        if !nothing {
            policy = policy.with_rule(allow).with_rule(held);
        }
        let blocked: Vec<Pattern> = blocked.into_iter().collect();
        if !blocked.is_empty() {
            let mut deny = Rule::new("blocked", Effect::Deny);
            deny.matches.capability = blocked;
            deny.reason = "the tool is blocked".to_owned();
            policy = policy.with_rule(deny);
        }
        policy
    }

    /// Allows only local reads, in any run.
    #[must_use]
    pub fn safe_mode() -> Policy {
        Policy::new("tool-policy-safe").with_rule(local_reads())
    }

    /// Like [`ToolPolicyPresets::safe_mode`], and shows every result as a handle only.
    #[must_use]
    pub fn strict_mode() -> Policy {
        let mut rule = local_reads();
        rule.constraints =
            Constraints { mode: Some(ResponseMode::HandleOnly), ..Constraints::default() };
        Policy::new("tool-policy-strict").with_rule(rule)
    }
}

fn local_reads() -> Rule {
    let mut rule = Rule::new("local-reads", Effect::Allow);
    rule.matches.class = BTreeSet::from([SafetyClass::ReadOnly]);
    rule.matches.rung = BTreeSet::from([Rung::L0]);
    rule
}
