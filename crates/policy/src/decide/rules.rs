//! What the rules say: deny overrides, and nothing matches means denied.
//!
//! The combining algorithm is *deny-overrides* of XACML with a verdict more: every matching deny or
//! approval rule contributes, and the join of the decision takes the strictest. Among the matching
//! allow rules one whose requirements are met is enough, since each of them alone would allow. Where
//! none is met, the one that lacks the least says what is missing: whoever asks is shown the shortest
//! way, and what is said does not depend on the order of the rules.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weaver_types::{
    Authority, Check, Constraints, Contribution, Discharge, JustificationSource, Operation,
    Principal, ReasonCode, Verdict,
};

use crate::name_condition::NameCondition;
use crate::query::Query;
use crate::rule::{DENY_CODES, Effect, JustificationNeed, Require, Rule};
use crate::set::PolicySet;
use crate::truth::Truth;

/// How many rules of one effect are named one by one; the rest speak together.
const MAX_NAMED: usize = 16;

/// A matching rule, with the words that it speaks with.
#[derive(Clone, Copy)]
struct MatchingRule<'r> {
    rule: &'r Rule,
    words: &'r str,
}

/// What all matching rules say, of those that are asked.
pub(super) fn contributions(
    set: &PolicySet,
    query: &Query<'_>,
    asked: impl Fn(&Rule) -> bool,
) -> Vec<Contribution> {
    let (all, compiled) = (&set.policy().rules, set.compiled());
    let bits = compiled.bits(query);
    let (mut denied, mut held, mut met) = (Vec::new(), Vec::new(), Vec::new());
    let mut mildest: Option<Shortfall<'_>> = None;
    for place in compiled.candidates(query.capability.id().as_str()).iter() {
        let Ok(place) = usize::try_from(*place) else { continue };
        let by_bits = compiled.evaluate_bits(place, bits);
        if by_bits == Truth::No {
            continue;
        }
        let Some(rule) = all.get(place).filter(|rule| asked(rule)) else { continue };
        if by_bits == Truth::Unknown && !speaks(rule, query) {
            continue;
        }
        let matching = MatchingRule { rule, words: compiled.detail(place) };
        match rule.effect {
            Effect::Deny => denied.push(matching),
            Effect::RequireApproval => held.push(matching),
            Effect::Allow => match Shortfall::of(rule, query) {
                None => met.push(matching),
                Some(short) if mildest.as_ref().is_none_or(|m| short.rank() < m.rank()) => {
                    mildest = Some(short);
                }
                Some(_) => {}
            },
        }
    }
    let nothing = denied.is_empty() && held.is_empty() && met.is_empty() && mildest.is_none();
    let mut out = Vec::with_capacity(4);
    denials_of(&mut out, &denied);
    contributions_of(&mut out, &held, Verdict::Hold, ReasonCode::ApprovalRequired);
    let allowed =
        if set.policy().builtin { ReasonCode::DefaultPolicyAllow } else { ReasonCode::RuleAllow };
    contributions_of(&mut out, &met, Verdict::Allow, allowed);
    if met.is_empty()
        && let Some(short) = mildest
    {
        out.extend(short.contributions());
    }
    if nothing {
        let id = query.capability.id().as_str();
        let detail = match allows_others(set, query, asked) {
            Some(rule) => {
                ["rule `", &rule.name, "` allows `", id, "` with other arguments only"].concat()
            }
            None => ["no rule matches `", id, "`"].concat(),
        };
        let reason = ReasonCode::NoMatchingRule;
        out.push(Contribution::new(Check::Rule, Verdict::Deny, reason, detail));
    }
    out
}

/// The first rule that would allow the call if it had other arguments.
fn allows_others<'s>(
    set: &'s PolicySet,
    query: &Query<'_>,
    asked: impl Fn(&Rule) -> bool,
) -> Option<&'s Rule> {
    query.arguments?;
    let open = Query { arguments: None, ..*query };
    let mut rules = set.candidate_rules(query.capability.id().as_str());
    rules.find(|rule| {
        rule.effect == Effect::Allow
            && asked(rule)
            && rule.matches.applies_to(&open) == Truth::Unknown
    })
}

/// Whether the rule speaks. What is not known of the arguments yet makes no rule allow, and keeps
/// none from denying or holding.
fn speaks(rule: &Rule, query: &Query<'_>) -> bool {
    match rule.effect {
        Effect::Allow => rule.matches.applies_to(query) == Truth::Yes,
        Effect::Deny | Effect::RequireApproval => rule.matches.applies_to(query) != Truth::No,
    }
}

/// One contribution a rule for the first [`MAX_NAMED`], and one for all others together.
fn contributions_of(
    out: &mut Vec<Contribution>,
    rules: &[MatchingRule<'_>],
    verdict: Verdict,
    reason: ReasonCode,
) {
    let says = |detail: &str, authority: Authority, constraints: Constraints| Contribution {
        authority,
        constraints,
        discharge: match verdict {
            Verdict::Hold => Discharge::Approval,
            Verdict::Allow | Verdict::Ask | Verdict::Deny => Discharge::Nothing,
        },
        ..Contribution::new(Check::Rule, verdict, reason, detail)
    };
    for MatchingRule { rule, words } in rules.iter().take(MAX_NAMED) {
        out.push(says(words, rule.authority.clone(), rule.constraints.clone()));
    }
    if let Some(rest) = rules.get(MAX_NAMED..).filter(|rest| !rest.is_empty()) {
        let (mut authority, mut constraints) = (Authority::default(), Constraints::default());
        for MatchingRule { rule, .. } in rest {
            authority = authority.join(&rule.authority);
            constraints = constraints.join(&rule.constraints);
        }
        out.push(says(&format!("{} more rules", rest.len()), authority, constraints));
    }
}

/// As [`contributions_of`], with the code that each rule gives; the rest speaks once for each code.
fn denials_of(out: &mut Vec<Contribution>, rules: &[MatchingRule<'_>]) {
    let says = |code: ReasonCode, detail: &str| {
        let known = DENY_CODES.into_iter().find(|(known, _)| *known == code);
        let check = known.map_or(Check::Rule, |(_, check)| check);
        Contribution::new(check, Verdict::Deny, code, detail)
    };
    let code_of = |rule: &Rule| rule.code.unwrap_or(ReasonCode::ExplicitDenyRule);
    for MatchingRule { rule, words } in rules.iter().take(MAX_NAMED) {
        out.push(says(code_of(rule), words));
    }
    let mut rest = BTreeMap::new();
    for MatchingRule { rule, .. } in rules.iter().skip(MAX_NAMED) {
        *rest.entry(code_of(rule)).or_insert(0_usize) += 1;
    }
    for (code, count) in rest {
        out.push(says(code, &format!("{count} more rules")));
    }
}

/// What a matching allow rule lacks.
struct Shortfall<'r> {
    rule: &'r Rule,
    /// What nobody can repair in this request.
    unmet: Vec<UnmetRequirement>,
    justification: Option<MissingJustification<'r>>,
}

/// Roles, permissions or attributes that the principal lacks.
struct UnmetRequirement {
    check: Check,
    reason: ReasonCode,
    detail: String,
}

/// A justification that the request does not bring, and the verdict that follows.
#[derive(Clone, Copy)]
struct MissingJustification<'r> {
    need: &'r JustificationNeed,
    verdict: Verdict,
}

impl<'r> Shortfall<'r> {
    /// `None` when the rule is fully met.
    fn of(rule: &'r Rule, query: &Query<'_>) -> Option<Self> {
        let unmet = unmet_requirements(&rule.require, query.principal);
        let justification = rule
            .require
            .justification
            .as_ref()
            .filter(|need| !justified(need, query))
            .map(|need| MissingJustification { need, verdict: verdict_without(need, query) });
        let met = unmet.is_empty() && justification.is_none();
        (!met).then_some(Self { rule, unmet, justification })
    }

    /// Milder is less. Total over rules, because names are unique, so that no order of rules can
    /// show.
    fn rank(&self) -> (usize, Option<Verdict>, u32, Reverse<usize>, Option<Check>, &'r str) {
        let need = self.justification.map(|missing| missing.need);
        (
            self.unmet.len(),
            self.justification.map(|missing| missing.verdict),
            need.map_or(0, |need| need.min_chars),
            Reverse(need.map_or(0, |need| need.sources.len())),
            self.unmet.first().map(|one| one.check),
            &self.rule.name,
        )
    }

    /// Denials, or, where there is none, the question for the justification.
    fn contributions(self) -> Vec<Contribution> {
        let rule = &self.rule.name;
        if !self.unmet.is_empty() {
            let denial = |one: UnmetRequirement| {
                let detail = format!("rule `{rule}` would allow it, but {}", one.detail);
                Contribution::new(one.check, Verdict::Deny, one.reason, detail)
            };
            return self.unmet.into_iter().map(denial).collect();
        }
        let ask = self.justification.map(|MissingJustification { need, verdict }| {
            let detail = format!(
                "rule `{rule}` would allow it with a justification of at least {} characters from {}",
                need.min_chars,
                sources_in_words(&need.sources)
            );
            let reason = ReasonCode::InsufficientJustification;
            let discharge = match verdict {
                Verdict::Hold => Discharge::Approval,
                Verdict::Allow | Verdict::Ask | Verdict::Deny => Discharge::Justification {
                    min_chars: need.min_chars,
                    sources: need.sources.clone(),
                },
            };
            Contribution::new(Check::Justification, verdict, reason, detail)
                .discharged_by(discharge)
                .with_constraints(self.rule.constraints.clone())
        });
        ask.into_iter().collect()
    }
}

fn sources_in_words(sources: &BTreeSet<JustificationSource>) -> String {
    let word = |source: &JustificationSource| match source {
        JustificationSource::Human => "a human",
        JustificationSource::Host => "the host",
        JustificationSource::Model => "the model",
    };
    sources.iter().map(word).collect::<Vec<_>>().join(" or ")
}

/// Roles before permissions before attributes.
fn unmet_requirements(require: &Require, principal: &Principal) -> Vec<UnmetRequirement> {
    let mut out = Vec::new();
    let mut unmet = |check, reason, detail| out.push(UnmetRequirement { check, reason, detail });
    if !require.roles.met_by(&principal.roles) {
        let what = missing_roles(&require.roles, principal);
        unmet(Check::Role, ReasonCode::MissingRole, what);
    }
    let missing: Vec<_> = require.permissions.difference(&principal.permissions).collect();
    if !missing.is_empty() {
        let what = format!("the principal lacks {}", quoted(missing));
        unmet(Check::Permission, ReasonCode::MissingPermission, what);
    }
    let held = &principal.attributes;
    let misfits = require
        .attributes
        .iter()
        .filter(|(name, pattern)| held.get(*name).is_none_or(|value| !pattern.matches(value)));
    let misfits: Vec<_> = misfits.map(|(name, _)| name).collect();
    if !misfits.is_empty() {
        let what = format!("the principal's attributes do not fit: {}", quoted(misfits));
        unmet(Check::Attribute, ReasonCode::MissingAttribute, what);
    }
    out
}

fn missing_roles(roles: &NameCondition, principal: &Principal) -> String {
    let all: Vec<_> = roles.all.difference(&principal.roles).collect();
    if all.is_empty() {
        format!("the principal has none of the roles {}", quoted(roles.any.iter().collect()))
    } else {
        format!("the principal lacks the roles {}", quoted(all))
    }
}

fn quoted(names: Vec<&String>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether the request brings the justification. A view needs none: it was given for the call.
fn justified(need: &JustificationNeed, query: &Query<'_>) -> bool {
    query.operation == Operation::View
        || query.request.justification.as_ref().is_some_and(|given| {
            let enough = usize::try_from(need.min_chars).is_ok_and(|min| given.length() >= min);
            enough && need.sources.contains(&given.source)
        })
}

/// Where nobody can be asked, what only a person or the host could repair has to be released.
fn verdict_without(need: &JustificationNeed, query: &Query<'_>) -> Verdict {
    if query.human_channel || need.sources.contains(&JustificationSource::Model) {
        Verdict::Ask
    } else {
        Verdict::Hold
    }
}
