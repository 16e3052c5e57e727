//! Lint: finds what is valid in the documents but probably unintended.

mod approvals;
mod contracts;
mod enforcement;
mod rules;
mod subsumption;

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId, Timestamp};

use crate::capability_set::CapabilitySet;
use crate::recorded_request::proposed_capability;

/// The maximum number of findings per code.
const MAX_PER_CODE: usize = 200;

/// The kind of a lint finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LintCode {
    /// An allow rule that never allows anything, because a deny rule covers everything that it
    /// matches.
    UnreachableRule,
    /// A rule without effect, because another rule has the same effect on everything that it
    /// matches.
    RedundantRule,
    /// A rule that matches none of the capabilities.
    MatchesNoTool,
    /// Too many rules that the index cannot narrow down, so every decision evaluates all of them.
    ManyResidualRules,
    /// A capability for which very many rules are evaluated.
    ManyRulesForTool,
    /// A role that somebody has and no rule asks for.
    UnusedRole,
    /// Not all pairs of rules were compared.
    NotAllCompared,
    /// A contract that cannot be applied, so the capability is not offered.
    ContractRefused,
    /// A contract that puts a capability on a lower rung than that of its effects.
    LoweredRung,
    /// An output that is declared trusted although an untrusted run can write to its source.
    TrustedOutput,
    /// A hold that nobody in the keys document can release.
    NobodyCanRelease,
    /// A role that a hold requires and no approver has.
    UnknownApproverRole,
    /// A principal of an approver that the policy does not name, so that the approver can release
    /// the calls of whoever was meant.
    UnknownApproverPrincipal,
    /// An approver without principals, where several people can make calls: the approver can
    /// release their own.
    ApproverWithoutPrincipals,
    /// A document or key that expires within 30 days, or has expired.
    EndsSoon,
    /// A policy that only observes.
    PolicyObserves,
    /// A rule that only observes, in a policy that enforces.
    RuleObserves,
    /// A rule that only observes and contradicts an enforced rule. Until it is enforced, the other
    /// rule alone decides.
    ObservedShadows,
    /// An enforced allow rule in a policy that only observes. It has no effect, because everything
    /// is allowed there.
    EnforcedInVain,
}

weaver_types::words! { LintCode: "The stable code.";
    UnreachableRule = "unreachable_rule", RedundantRule = "redundant_rule",
    MatchesNoTool = "matches_no_tool", ManyResidualRules = "many_residual_rules",
    ManyRulesForTool = "many_rules_for_tool", UnusedRole = "unused_role",
    NotAllCompared = "not_all_compared", ContractRefused = "contract_refused",
    LoweredRung = "lowered_rung", TrustedOutput = "trusted_output",
    NobodyCanRelease = "nobody_can_release", UnknownApproverRole = "unknown_approver_role",
    UnknownApproverPrincipal = "unknown_approver_principal",
    ApproverWithoutPrincipals = "approver_without_principals", EndsSoon = "ends_soon",
    PolicyObserves = "policy_observes", RuleObserves = "rule_observes",
    ObservedShadows = "observed_shadows", EnforcedInVain = "enforced_in_vain",
}

/// One lint finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LintFinding {
    /// The code.
    pub code: LintCode,
    /// The rule, capability, document or key that it is about.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it, if it is unintended.
    pub remedy: String,
}

/// Collects findings, up to a maximum number of each code.
#[derive(Debug, Default)]
struct FindingCollector {
    all: Vec<LintFinding>,
    counts: BTreeMap<LintCode, usize>,
}

impl FindingCollector {
    fn add(&mut self, code: LintCode, place: impl Into<String>, message: String, remedy: &str) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= MAX_PER_CODE {
            let remedy = remedy.to_owned();
            self.all.push(LintFinding { code, place: place.into(), message, remedy });
        }
    }
}

/// Looks for probable mistakes. A finding is not an error, and the absence of findings is not a
/// proof. Rules are compared with the capabilities only if these are a complete list. It reports
/// at most 200 findings per code.
///
/// ```
/// use weaver_policy_analysis::{CapabilitySet, LintCode, lint};
/// use weaver_policy::{Contracts, Effect, Pattern, Policy, PolicySet, Rule};
/// use weaver_types::Timestamp;
///
/// let rule = |name, effect, on| Ok::<_, Box<dyn std::error::Error>>(
///     Rule::new(name, effect).on(Pattern::parse(on)?));
/// let policy = Policy::new("p")
///     .with_rule(rule("reads", Effect::Allow, "docs.read")?)
///     .with_rule(rule("no-docs", Effect::Deny, "docs.*")?);
/// let set = PolicySet::from_code(policy, Contracts::new("none"))?;
/// let found = lint(&set, &CapabilitySet::from_documents(&set), Timestamp::default());
/// assert_eq!((found[0].code, found[0].place.as_str()), (LintCode::UnreachableRule, "rule `reads`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn lint(set: &PolicySet, capabilities: &CapabilitySet, now: Timestamp) -> Vec<LintFinding> {
    let mut findings = FindingCollector::default();
    let mut tools: BTreeMap<&CapabilityId, Capability> = BTreeMap::new();
    for id in capabilities.ids() {
        match proposed_capability(set, id) {
            Ok(capability) => {
                tools.insert(id, capability);
            }
            Err(error) => findings.add(
                LintCode::ContractRefused,
                format!("capability `{id}`"),
                format!("it is not offered: {error}"),
                "correct its contract",
            ),
        }
    }
    let tools: Vec<Capability> = tools.into_values().collect();
    rules::check_coverage(set, &mut findings);
    rules::check_roles(set, &mut findings);
    enforcement::check_observed(set, &mut findings);
    rules::check_against_capabilities(set, &tools, capabilities.origin(), &mut findings);
    contracts::check_lowered_rungs(set, &mut findings);
    contracts::check_trusted_outputs(&tools, &mut findings);
    approvals::check_releasable(set, &tools, now, &mut findings);
    approvals::check_approver_principals(set, &mut findings);
    approvals::check_expiry(set, now, &mut findings);
    findings.all.sort();
    findings.all
}
