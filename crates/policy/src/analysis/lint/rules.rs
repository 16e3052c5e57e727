//! Findings about rules.

use weaver_text::glob::Kind;
use weaver_types::{Authority, Capability, Constraints};

use super::cover::{covers, demands_less, stand_in};
use super::{Findings, LintCode};
use crate::decide::about_capability;
use crate::rule::{Effect, Rule};
use crate::set::PolicySet;

/// How many pairs of rules are compared.
const MAX_PAIRS: usize = 5_000_000;
/// From so many rules on, a decision is no longer quick.
const MANY: usize = 256;

/// Rules that another rule takes the effect from.
pub(super) fn coverage(set: &PolicySet, findings: &mut Findings) {
    let all = &set.policy().rules;
    let mut left = MAX_PAIRS;
    for (place, narrow) in all.iter().enumerate() {
        let first = narrow.matches.capability.first();
        let id = first.map_or_else(|| "\u{1}".to_owned(), stand_in);
        for other in set.compiled().candidates(&id).iter() {
            let Some(at) = usize::try_from(*other).ok().filter(|at| *at != place) else { continue };
            let Some(wide) = all.get(at) else { continue };
            if left == 0 {
                let message = "there are too many rules about every capability".to_owned();
                let remedy = "let more rules name the capabilities that they are about";
                findings.add(LintCode::NotAllCompared, "policy", message, remedy);
                return;
            }
            left -= 1;
            if covers(&wide.matches, &narrow.matches) && takes(wide, at, narrow, place, findings) {
                break;
            }
        }
    }
}

/// Says what the wide rule takes from the narrow one, if anything.
fn takes(wide: &Rule, at: usize, narrow: &Rule, place: usize, findings: &mut Findings) -> bool {
    let name = format!("rule `{}`", narrow.name);
    if wide.effect == Effect::Deny && narrow.effect == Effect::Allow {
        let message = format!("it never allows anything: rule `{}` denies all of it", wide.name);
        let remedy = "remove it, or let the deny rule leave it out with `unless`";
        findings.add(LintCode::UnreachableRule, name, message, remedy);
        return true;
    }
    // Of two that say the same, the later name is the one too many.
    let mutual = covers(&narrow.matches, &wide.matches) && says_as_much(narrow, wide);
    if !says_as_much(wide, narrow) || (mutual && at > place) {
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
        Effect::Allow => !tighter && demands_less(&wide.require, &narrow.require),
        Effect::Deny => wide.code == narrow.code,
        Effect::RequireApproval => {
            let joined: Authority = wide.authority.clone().join(&narrow.authority);
            !tighter && joined == wide.authority
        }
    }
}

/// Rules against tools.
pub(super) fn catalogue(
    set: &PolicySet,
    tools: &[Capability],
    given: bool,
    findings: &mut Findings,
) {
    let all = &set.policy().rules;
    let mut used = vec![false; all.len()];
    for tool in tools {
        let candidates = set.compiled().candidates(tool.id().as_str());
        if candidates.len() > MANY {
            let message = format!("{} rules are looked at for each call of it", candidates.len());
            let place = format!("capability `{}`", tool.id());
            let remedy = "join rules with `any`, or let them name fewer capabilities";
            findings.add(LintCode::ManyRulesForTool, place, message, remedy);
        }
        for place in candidates.iter().filter_map(|place| usize::try_from(*place).ok()) {
            if let (Some(rule), Some(used)) = (all.get(place), used.get_mut(place)) {
                *used = *used || about_capability(&rule.matches, tool);
            }
        }
    }
    for (rule, _) in all.iter().zip(used).filter(|(_, used)| given && !used) {
        let message = "no capability of the catalogue is one that it matches".to_owned();
        let remedy = "correct its `match`, or remove it";
        findings.add(LintCode::MatchesNoTool, format!("rule `{}`", rule.name), message, remedy);
    }
    let residual = all.iter().filter(|rule| is_residual(rule)).count();
    if residual > MANY {
        let message = format!("{residual} rules name no capability by id, beginning or end");
        let remedy = "let them name ids, or patterns with one star at an end";
        findings.add(LintCode::ManyResidualRules, "policy", message, remedy);
    }
}

fn is_residual(rule: &Rule) -> bool {
    let patterns = &rule.matches.capability;
    patterns.is_empty()
        || patterns.iter().any(|p| matches!(p.glob().kind(), Kind::General | Kind::Prefix("")))
}
