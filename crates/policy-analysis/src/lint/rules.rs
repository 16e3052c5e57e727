//! Findings about rules.

use std::collections::BTreeSet;

use weaver_policy::{Effect, PolicySet, Rule};
use weaver_types::{Authority, Capability, Constraints};

use super::subsumption::{ANYTHING, requires_less, stand_in, subsumes};
use super::{Findings, LintCode};
use crate::catalogue::CatalogueOrigin;

/// How many pairs of rules are compared.
const MAX_PAIRS: usize = 5_000_000;
/// From this number of rules on, a decision is no longer quick.
const MANY_RULES: usize = 256;

/// Rules that another rule makes unreachable or redundant.
pub(super) fn coverage(set: &PolicySet, findings: &mut Findings) {
    let mut pairs = MAX_PAIRS;
    for narrow in &set.policy().rules {
        let first = narrow.matches.capability.first();
        let id = first.map_or_else(|| ANYTHING.to_owned(), stand_in);
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

/// Reports what the wide rule makes of the narrow one; false where it leaves it its effect.
fn report(wide: &Rule, narrow: &Rule, findings: &mut Findings) -> bool {
    if wide.enforcement != narrow.enforcement {
        // One of them is not enforced, so neither takes the place of the other.
        return false;
    }
    let name = format!("rule `{}`", narrow.name);
    if wide.effect == Effect::Deny && narrow.effect == Effect::Allow {
        let message = format!("it never allows anything: rule `{}` denies all of it", wide.name);
        let remedy = "remove it, or let the deny rule leave it out with `unless`";
        findings.add(LintCode::UnreachableRule, name, message, remedy);
        return true;
    }
    // Of two rules that say the same, the one with the later name is reported.
    let mutual = subsumes(&narrow.matches, &wide.matches) && says_as_much(narrow, wide);
    if !says_as_much(wide, narrow) || (mutual && wide.name > narrow.name) {
        return false;
    }
    let message = format!("it changes nothing: rule `{}` says the same of all of it", wide.name);
    findings.add(LintCode::RedundantRule, name, message, "remove it");
    true
}

/// Whether `narrow` adds nothing where both match.
fn says_as_much(wide: &Rule, narrow: &Rule) -> bool {
    if wide.effect != narrow.effect {
        return false;
    }
    let tighter = narrow.constraints != Constraints::default()
        && narrow.constraints.clone().join(&wide.constraints) != wide.constraints;
    match narrow.effect {
        Effect::Allow => !tighter && requires_less(&wide.require, &narrow.require),
        Effect::Deny => wide.code == narrow.code,
        Effect::RequireApproval => {
            let joined: Authority = wide.authority.clone().join(&narrow.authority);
            !tighter && joined == wide.authority
        }
    }
}

/// Rules compared with the capabilities that there are.
pub(super) fn catalogue(
    set: &PolicySet,
    tools: &[Capability],
    origin: CatalogueOrigin,
    findings: &mut Findings,
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
        let about = candidates.into_iter().filter(|rule| rule.matches.fits_capability(tool));
        matching.extend(about.map(|rule| rule.name.as_str()));
    }
    let all = &set.policy().rules;
    let given = origin == CatalogueOrigin::Given;
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
