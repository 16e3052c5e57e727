//! Findings about policies and rules that only observe.

use weaver_policy::{Effect, PolicySet, Rule, RuleEnforcement};

use super::subsumption::subsumes;
use super::{FindingCollector, LintCode};

/// Reports what is not enforced, and how that affects other rules.
pub(super) fn check_observed(set: &PolicySet, findings: &mut FindingCollector) {
    let policy = set.policy();
    if policy.enforcement == RuleEnforcement::Observe {
        let message = "it enforces nothing: what it would hold or deny goes through".to_owned();
        let remedy = "look at it with `weaver policy replay`, and take `enforcement` away";
        findings.add(LintCode::PolicyObserves, format!("policy `{}`", policy.id), message, remedy);
    }
    for rule in &policy.rules {
        match (policy.enforcement, rule.enforcement) {
            (RuleEnforcement::Enforce, Some(RuleEnforcement::Observe)) => {
                rule_observes(set, rule, findings);
            }
            (RuleEnforcement::Observe, Some(RuleEnforcement::Enforce))
                if rule.effect == Effect::Allow =>
            {
                let message = "the policy observes, so everything is allowed without it".to_owned();
                let remedy = "take `enforcement` away from it";
                let place = format!("rule `{}`", rule.name);
                findings.add(LintCode::EnforcedInVain, place, message, remedy);
            }
            _ => {}
        }
    }
}

/// Reports a rule that only observes. If it overlaps with an enforced rule of a different effect,
/// the enforced one alone decides: an observed denial leaves the allow rule in effect, and the
/// reverse.
fn rule_observes(set: &PolicySet, rule: &Rule, findings: &mut FindingCollector) {
    let policy = set.policy();
    let place = || format!("rule `{}`", rule.name);
    let message = "it is recorded and not enforced".to_owned();
    let remedy = "look at it with `weaver policy replay`, and take `enforcement` away";
    findings.add(LintCode::RuleObserves, place(), message, remedy);
    let enforced = policy.rules.iter().filter(|other| {
        policy.enforcement_of(other) == RuleEnforcement::Enforce && other.effect != rule.effect
    });
    let shadowed = enforced
        .filter(|other| {
            subsumes(&rule.matches, &other.matches) || subsumes(&other.matches, &rule.matches)
        })
        .min_by_key(|other| &other.name);
    let Some(other) = shadowed else { return };
    let (own, others) = (rule.effect.as_str(), other.effect.as_str());
    let message = format!(
        "enforced it would {own} what rule `{}` would {others}; until then that rule alone decides",
        other.name
    );
    let remedy = "enforce it, or make sure that the other rule alone is what you want for now";
    findings.add(LintCode::ObservedShadows, place(), message, remedy);
}
