//! Findings about rules.

use std::collections::BTreeSet;

use weaver_policy::{Effect, MatchConditions, NameCondition, PolicySet, Rule};
use weaver_types::{ApprovalAuthority, Capability, Constraints};

use super::subsumption::{ANYTHING, representative_name, requires_no_more, subsumes};
use super::{FindingCollector, LintCode};
use crate::capability_set::CapabilitySetOrigin;

/// The maximum number of compared pairs of rules.
const MAX_PAIRS: usize = 5_000_000;
/// Above this number of evaluated rules, a decision is no longer fast.
const MANY_RULES: usize = 256;

/// Reports rules that another rule makes unreachable or redundant.
pub(super) fn check_coverage(set: &PolicySet, findings: &mut FindingCollector) {
    let mut pairs = MAX_PAIRS;
    for narrow in &set.policy().rules {
        let first = narrow.matches.capability.first();
        let id = first.map_or_else(|| ANYTHING.to_owned(), representative_name);
        for wide in set.candidate_rules(&id).filter(|wide| wide.name != narrow.name) {
            if pairs == 0 {
                let message = "there are too many rules about every capability".to_owned();
                let remedy = "let more rules name the capabilities that they are about";
                findings.add(LintCode::NotAllCompared, "policy", message, remedy);
                return;
            }
            pairs -= 1;
            if subsumes(&wide.matches, &narrow.matches) && report(wide, narrow, findings) {
                break;
            }
        }
    }
}

/// Reports how the wide rule affects the narrow one. False if the narrow rule keeps its effect.
fn report(wide: &Rule, narrow: &Rule, findings: &mut FindingCollector) -> bool {
    if wide.enforcement != narrow.enforcement {
        // Only one of them is enforced, so neither replaces the other.
        return false;
    }
    let name = format!("rule `{}`", narrow.name);
    if wide.effect == Effect::Deny && narrow.effect == Effect::Allow {
        let message = format!("it never allows anything: rule `{}` denies all of it", wide.name);
        let remedy = "remove it, or let the deny rule leave it out with `unless`";
        findings.add(LintCode::UnreachableRule, name, message, remedy);
        return true;
    }
    // Of two equivalent rules, the one with the later name is reported.
    let mutual = subsumes(&narrow.matches, &wide.matches) && is_redundant(narrow, wide);
    if !is_redundant(wide, narrow) || (mutual && wide.name > narrow.name) {
        return false;
    }
    let message = format!("it changes nothing: rule `{}` says the same of all of it", wide.name);
    findings.add(LintCode::RedundantRule, name, message, "remove it");
    true
}

/// Whether `narrow` adds nothing where both match.
fn is_redundant(wide: &Rule, narrow: &Rule) -> bool {
    if wide.effect != narrow.effect {
        return false;
    }
    let tighter = narrow.constraints != Constraints::default()
        && narrow.constraints.clone().join(&wide.constraints) != wide.constraints;
    match narrow.effect {
        Effect::Allow => !tighter && requires_no_more(&wide.require, &narrow.require),
        Effect::Deny => wide.code == narrow.code,
        Effect::RequireApproval => {
            let joined: ApprovalAuthority = wide.authority.clone().join(&narrow.authority);
            !tighter && joined == wide.authority
        }
    }
}

/// Reports roles that make no difference: who has such a role may do what the rules allow to
/// everybody, and no less.
pub(super) fn check_roles(set: &PolicySet, findings: &mut FindingCollector) {
    let policy = set.policy();
    let of_principals = policy.principals.values().map(|principal| &principal.roles);
    let of_tokens = policy.issuers.values();
    let of_tokens =
        of_tokens.flat_map(|issuer| issuer.groups.values().chain(issuer.scopes.values()));
    let given: BTreeSet<&String> = of_principals.chain(of_tokens).flatten().collect();
    let mut used = BTreeSet::new();
    for rule in &policy.rules {
        add_roles(&rule.require.roles, &mut used);
        add_matched_roles(&rule.matches, &mut used);
    }
    for limit in &policy.limits {
        add_matched_roles(&limit.matches, &mut used);
    }
    used.extend(set.contracts().visible.iter().flat_map(|one| &one.roles));
    for role in given.difference(&used) {
        let message = "no rule asks for it, so it neither gives nor takes anything".to_owned();
        let remedy = "let rules require it (`require = { roles = … }`), or leave it out";
        findings.add(LintCode::UnusedRole, format!("role `{role}`"), message, remedy);
    }
}

fn add_roles<'p>(roles: &'p NameCondition, used: &mut BTreeSet<&'p String>) {
    used.extend(roles.any.iter().chain(&roles.all));
}

fn add_matched_roles<'p>(matches: &'p MatchConditions, used: &mut BTreeSet<&'p String>) {
    add_roles(&matches.roles, used);
    let parts = matches.any.iter().chain(matches.not.as_deref()).chain(matches.unless.as_deref());
    parts.for_each(|part| add_matched_roles(part, used));
}

/// Compares rules with the capabilities.
pub(super) fn check_against_capabilities(
    set: &PolicySet,
    tools: &[Capability],
    origin: CapabilitySetOrigin,
    findings: &mut FindingCollector,
) {
    let mut matching: BTreeSet<&str> = BTreeSet::new();
    for tool in tools {
        let candidates: Vec<&Rule> = set.candidate_rules(tool.id().as_str()).collect();
        if candidates.len() > MANY_RULES {
            let message = format!("{} rules are looked at for each call of it", candidates.len());
            let place = format!("capability `{}`", tool.id());
            let remedy = "join rules with `any`, or let them name fewer capabilities";
            findings.add(LintCode::ManyRulesForTool, place, message, remedy);
        }
        let about = candidates.into_iter().filter(|rule| rule.matches.matches_capability(tool));
        matching.extend(about.map(|rule| rule.name.as_str()));
    }
    let all = &set.policy().rules;
    let given = origin == CapabilitySetOrigin::Given;
    for rule in all.iter().filter(|rule| given && !matching.contains(rule.name.as_str())) {
        let message = "no capability of the catalogue is one that it matches".to_owned();
        let remedy = "correct its `match`, or remove it";
        findings.add(LintCode::MatchesNoTool, format!("rule `{}`", rule.name), message, remedy);
    }
    let residual = all.iter().filter(|rule| !rule.is_indexed()).count();
    if residual > MANY_RULES {
        let message = format!("{residual} rules name no capability by id, beginning or end");
        let remedy = "let them name ids, or patterns with one star at an end";
        findings.add(LintCode::ManyResidualRules, "policy", message, remedy);
    }
}
