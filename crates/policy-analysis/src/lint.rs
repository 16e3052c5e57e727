//! Lint: what is valid in the documents and probably not intended.

mod approvals;
mod contracts;
mod enforcement;
mod rules;
mod subsumption;

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId, Timestamp};

use crate::catalogue::Catalogue;
use crate::request::proposed;

/// The most findings of one code.
const MAX_PER_CODE: usize = 200;

/// What kind of finding it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LintCode {
    /// An allow rule that never allows: a deny rule covers all that it matches.
    UnreachableRule,
    /// A rule that changes nothing: another says the same of all that it matches.
    RedundantRule,
    /// A rule that matches no capability of the catalogue.
    MatchesNoTool,
    /// So many rules that no id narrows down that every decision looks at all of them.
    ManyResidualRules,
    /// A capability for which very many rules are looked at.
    ManyRulesForTool,
    /// Not all pairs of rules were compared.
    NotAllCompared,
    /// A contract that cannot be applied, so that the capability is not offered.
    ContractRefused,
    /// A contract that puts a capability on a lower rung than its effects.
    LoweredRung,
    /// An output that counts as trusted, though an untrusted run may write where it comes from.
    TrustedOutput,
    /// A hold that nobody in the keys document can release.
    NobodyCanRelease,
    /// A role that a hold asks for and no approver carries.
    UnknownApproverRole,
    /// A document or a key that ends within 30 days, or has ended.
    EndsSoon,
    /// A policy that enforces nothing.
    PolicyObserves,
    /// A rule that is not enforced, in a policy that enforces.
    RuleObserves,
    /// A rule that is not enforced and says what an enforced rule would have to say: while it is
    /// observed, that rule alone decides.
    ObservedShadows,
    /// An enforced allow rule in a policy that observes: everything is allowed there already.
    EnforcedInVain,
}

impl LintCode {
    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnreachableRule => "unreachable_rule",
            Self::RedundantRule => "redundant_rule",
            Self::MatchesNoTool => "matches_no_tool",
            Self::ManyResidualRules => "many_residual_rules",
            Self::ManyRulesForTool => "many_rules_for_tool",
            Self::NotAllCompared => "not_all_compared",
            Self::ContractRefused => "contract_refused",
            Self::LoweredRung => "lowered_rung",
            Self::TrustedOutput => "trusted_output",
            Self::NobodyCanRelease => "nobody_can_release",
            Self::UnknownApproverRole => "unknown_approver_role",
            Self::EndsSoon => "ends_soon",
            Self::PolicyObserves => "policy_observes",
            Self::RuleObserves => "rule_observes",
            Self::ObservedShadows => "observed_shadows",
            Self::EnforcedInVain => "enforced_in_vain",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LintFinding {
    /// What kind.
    pub code: LintCode,
    /// Where: a rule, a capability, a document, a key.
    pub place: String,
    /// What was found.
    pub message: String,
    /// What to do, if it is not intended.
    pub remedy: String,
}

/// Collects findings, up to a maximum number of each code.
#[derive(Debug, Default)]
struct Findings {
    all: Vec<LintFinding>,
    counts: BTreeMap<LintCode, usize>,
}

impl Findings {
    fn add(&mut self, code: LintCode, place: impl Into<String>, message: String, remedy: &str) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= MAX_PER_CODE {
            let remedy = remedy.to_owned();
            self.all.push(LintFinding { code, place: place.into(), message, remedy });
        }
    }
}

/// Looks for what is probably not intended. A finding is no error, and no finding is no proof. Rules
/// are compared with the catalogue only where it was given. At most 200 findings of each code.
///
/// ```
/// use weaver_policy_analysis::{Catalogue, LintCode, lint};
/// use weaver_policy::{Contracts, Effect, Pattern, Policy, PolicySet, Rule};
/// use weaver_types::Timestamp;
///
/// let rule = |name, effect, on| Ok::<_, Box<dyn std::error::Error>>(
///     Rule::new(name, effect).on(Pattern::parse(on)?));
/// let policy = Policy::new("p")
///     .with_rule(rule("reads", Effect::Allow, "docs.read")?)
///     .with_rule(rule("no-docs", Effect::Deny, "docs.*")?);
/// let set = PolicySet::from_code(policy, Contracts::new("none"))?;
/// let found = lint(&set, &Catalogue::of(&set), Timestamp::default());
/// assert_eq!((found[0].code, found[0].place.as_str()), (LintCode::UnreachableRule, "rule `reads`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn lint(set: &PolicySet, catalogue: &Catalogue, now: Timestamp) -> Vec<LintFinding> {
    let mut findings = Findings::default();
    let mut tools: BTreeMap<&CapabilityId, Capability> = BTreeMap::new();
    for id in catalogue.ids() {
        match proposed(set, id) {
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
    rules::coverage(set, &mut findings);
    enforcement::observed(set, &mut findings);
    rules::catalogue(set, &tools, catalogue.origin(), &mut findings);
    contracts::lowered(set, &mut findings);
    contracts::trusted(&tools, &mut findings);
    approvals::releasable(set, &tools, now, &mut findings);
    approvals::ending(set, now, &mut findings);
    findings.all.sort();
    findings.all
}
