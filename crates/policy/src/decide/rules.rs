//! Evaluates the rules: deny overrides, and no matching rule means denied.
//!
//! The combining algorithm is XACML's *deny-overrides* with one more verdict: every matching deny
//! or approval rule adds a result, and the decision takes the strictest. One matching allow rule
//! whose requirements are met suffices, because it would allow the call alone. If none is met, the
//! rule with the smallest shortfall explains what is missing. This shows the requester the shortest
//! way, and it does not depend on the order of the rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weaver_types::{
    ApprovalAuthority, CheckKind, CheckResult, Constraints, JustificationSource, Operation,
    Principal, ReasonCode, Remedy, Verdict,
};

use crate::explain::{missing_roles, quote_names, sources_in_words};
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;
use crate::rule::{DENY_RULE_CODES, Effect, JustificationRequirement, Requirements, Rule};
use crate::truth::Truth;
use crate::unlisted_results::describe_unlisted;

/// How many rules of one effect get a result each; the others share one.
const MAX_NAMED_RULES: usize = 16;

/// A matching rule with its description.
#[derive(Clone, Copy)]
struct MatchingRule<'r> {
    rule: &'r Rule,
    description: &'r str,
}

/// The results of all matching rules that `is_included` selects.
pub(super) fn check_rules(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    is_included: impl Fn(&Rule) -> bool,
) -> Vec<CheckResult> {
    let (all, compiled) = (&set.policy().rules, set.compiled());
    let bits = compiled.query_bits(query);
    let (mut denied, mut held, mut met) = (Vec::new(), Vec::new(), Vec::new());
    let mut viewable = Vec::new();
    let mut smallest_shortfall: Option<Shortfall<'_>> = None;
    for index in compiled.candidates(query.capability.id().as_str()).iter() {
        let Ok(index) = usize::try_from(*index) else { continue };
        let by_bits = compiled.evaluate_bits(index, bits);
        if by_bits == Truth::No {
            continue;
        }
        let Some(rule) = all.get(index).filter(|rule| is_included(rule)) else { continue };
        if by_bits == Truth::Unknown && !takes_effect(rule, query) {
            continue;
        }
        let matching = MatchingRule { rule, description: compiled.rule_description(index) };
        match rule.effect {
            Effect::Deny => denied.push(matching),
            // An approval releases a call. A view executes nothing: what it looks into is the result
            // of a call that was allowed or released, and nobody could release the view.
            Effect::RequireApproval if query.operation == Operation::View => {
                viewable.push(matching);
            }
            Effect::RequireApproval => held.push(matching),
            Effect::Allow => match Shortfall::of(rule, query) {
                None => met.push(matching),
                Some(short)
                    if smallest_shortfall.as_ref().is_none_or(|m| short.rank() < m.rank()) =>
                {
                    smallest_shortfall = Some(short);
                }
                Some(_) => {}
            },
        }
    }
    let nothing = [&denied, &held, &met, &viewable].iter().all(|rules| rules.is_empty())
        && smallest_shortfall.is_none();
    let mut out = Vec::with_capacity(4);
    add_denials(&mut out, &denied);
    add_results(&mut out, &held, Verdict::Hold, ReasonCode::ApprovalRequired);
    name_statement_obstacles(&mut out, &held, query);
    let allowed =
        if set.policy().builtin { ReasonCode::DefaultPolicyAllow } else { ReasonCode::RuleAllow };
    add_results(&mut out, &met, Verdict::Allow, allowed);
    add_results(&mut out, &viewable, Verdict::Allow, allowed);
    if met.is_empty()
        && let Some(short) = smallest_shortfall
    {
        out.extend(short.into_results());
    }
    if nothing {
        let id = query.capability.id().as_str();
        let detail = match rule_allowing_other_arguments(set, query, is_included) {
            Some(rule) => {
                ["rule `", &rule.name, "` allows `", id, "` with other arguments only"].concat()
            }
            None => ["no rule matches `", id, "`"].concat(),
        };
        let reason = ReasonCode::NoMatchingRule;
        out.push(CheckResult::new(CheckKind::Rule, Verdict::Deny, reason, detail));
    }
    out
}

/// The first rule that would allow the call with other arguments.
fn rule_allowing_other_arguments<'s>(
    set: &'s PolicySet,
    query: &PolicyQuery<'_>,
    is_included: impl Fn(&Rule) -> bool,
) -> Option<&'s Rule> {
    query.arguments?;
    let open = PolicyQuery { arguments: None, ..*query };
    let mut rules = set.candidate_rules(query.capability.id().as_str());
    rules.find(|rule| {
        rule.effect == Effect::Allow
            && is_included(rule)
            && rule.matches.applies_to(&open) == Truth::Unknown
    })
}

/// Whether the rule takes effect. Unknown arguments are read the strict way: they never make a rule
/// allow, and never keep a rule from denying or holding. A view has no arguments, but the call whose
/// result it looks into was decided with its own, so there a condition on arguments stands as it did
/// for a call that was let through.
fn takes_effect(rule: &Rule, query: &PolicyQuery<'_>) -> bool {
    let applies = rule.matches.applies_to(query);
    match (rule.effect, query.operation) {
        (Effect::Allow, Operation::Invoke) | (Effect::Deny, Operation::View) => {
            applies == Truth::Yes
        }
        (Effect::Allow, Operation::View)
        | (Effect::Deny, Operation::Invoke)
        | (Effect::RequireApproval, _) => applies != Truth::No,
    }
}

/// Adds one result for each of the first [`MAX_NAMED_RULES`] rules, and one for all others
/// together.
fn add_results(
    out: &mut Vec<CheckResult>,
    rules: &[MatchingRule<'_>],
    verdict: Verdict,
    reason: ReasonCode,
) {
    let result =
        |detail: &str, authority: ApprovalAuthority, constraints: Constraints| CheckResult {
            authority: if verdict == Verdict::Hold { authority } else { Default::default() },
            constraints,
            discharge: match verdict {
                Verdict::Hold => Remedy::Approval,
                Verdict::Allow | Verdict::Ask | Verdict::Deny => Remedy::Nothing,
            },
            ..CheckResult::new(CheckKind::Rule, verdict, reason, detail)
        };
    for MatchingRule { rule, description } in rules.iter().take(MAX_NAMED_RULES) {
        out.push(result(description, rule.authority.clone(), rule.constraints.clone()));
    }
    if let Some(rest) = rules.get(MAX_NAMED_RULES..).filter(|rest| !rest.is_empty()) {
        let (mut authority, mut constraints) =
            (ApprovalAuthority::default(), Constraints::default());
        for MatchingRule { rule, .. } in rest {
            authority = authority.join(&rule.authority);
            constraints = constraints.join(&rule.constraints);
        }
        let descriptions = rest.iter().map(|matching| matching.description);
        out.push(result(&describe_unlisted("rules", descriptions), authority, constraints));
    }
}

/// Adds to the results of rules about statements what was not understood of this one, so that
/// whoever wrote it can write it otherwise.
fn name_statement_obstacles(
    out: &mut [CheckResult],
    held: &[MatchingRule<'_>],
    query: &PolicyQuery<'_>,
) {
    let Some(arguments) = query.arguments else { return };
    let results = out.iter_mut().filter(|result| result.verdict == Verdict::Hold);
    for (result, MatchingRule { rule, description }) in
        results.zip(held.iter().take(MAX_NAMED_RULES))
    {
        if let Some(obstacle) = rule.matches.statement_obstacle(arguments) {
            let detail = format!("{description}; not understood: {obstacle}");
            // The constructor bounds the text.
            let named = CheckResult::new(result.check, result.verdict, result.reason, detail);
            result.detail = named.detail;
        }
    }
}

/// Like [`add_results`], with the reason code of each rule. The remaining rules share one result
/// per code.
fn add_denials(out: &mut Vec<CheckResult>, rules: &[MatchingRule<'_>]) {
    let result = |code: ReasonCode, detail: &str| {
        let known = DENY_RULE_CODES.into_iter().find(|(known, _)| *known == code);
        let check = known.map_or(CheckKind::Rule, |(_, check)| check);
        CheckResult::new(check, Verdict::Deny, code, detail)
    };
    let code_of = |rule: &Rule| rule.code.unwrap_or(ReasonCode::ExplicitDenyRule);
    for MatchingRule { rule, description } in rules.iter().take(MAX_NAMED_RULES) {
        out.push(result(code_of(rule), description));
    }
    let mut rest: BTreeMap<ReasonCode, Vec<&str>> = BTreeMap::new();
    for MatchingRule { rule, description } in rules.iter().skip(MAX_NAMED_RULES) {
        rest.entry(code_of(rule)).or_default().push(description);
    }
    for (code, descriptions) in rest {
        out.push(result(code, &describe_unlisted("rules", descriptions)));
    }
}

/// The unmet requirements of a matching allow rule.
struct Shortfall<'r> {
    rule: &'r Rule,
    /// Requirements that the requester cannot meet by changing this request.
    unmet: Vec<UnmetRequirement>,
    justification: Option<MissingJustification<'r>>,
}

/// A role, permission or attribute that the principal lacks.
struct UnmetRequirement {
    check: CheckKind,
    reason: ReasonCode,
    detail: String,
}

/// A missing justification and the resulting verdict.
#[derive(Clone, Copy)]
struct MissingJustification<'r> {
    need: &'r JustificationRequirement,
    verdict: Verdict,
}

impl<'r> Shortfall<'r> {
    /// `None` if all requirements are met.
    fn of(rule: &'r Rule, query: &PolicyQuery<'_>) -> Option<Self> {
        let unmet = unmet_requirements(&rule.require, query.principal);
        let justification =
            rule.require.justification.as_ref().filter(|need| !has_justification(need, query)).map(
                |need| MissingJustification {
                    need,
                    verdict: verdict_without_justification(need, query),
                },
            );
        let met = unmet.is_empty() && justification.is_none();
        (!met).then_some(Self { rule, unmet, justification })
    }

    /// The sort key: the smallest shortfall has the lowest rank. Rule names are unique, so the
    /// order is total, and the order of the rules in the document cannot matter.
    fn rank(&self) -> (usize, Option<Verdict>, u32, Reverse<usize>, Option<CheckKind>, &'r str) {
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

    /// Denials for unmet requirements or, if there are none, the request for a justification.
    fn into_results(self) -> Vec<CheckResult> {
        let rule = &self.rule.name;
        if !self.unmet.is_empty() {
            let denial = |one: UnmetRequirement| {
                let detail = format!("rule `{rule}` would allow it, but {}", one.detail);
                CheckResult::new(one.check, Verdict::Deny, one.reason, detail)
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
            let remedy = match verdict {
                Verdict::Hold => Remedy::Approval,
                Verdict::Allow | Verdict::Ask | Verdict::Deny => Remedy::Justification {
                    min_chars: need.min_chars,
                    sources: need.sources.clone(),
                },
            };
            CheckResult::new(CheckKind::Justification, verdict, reason, detail)
                .with_remedy(remedy)
                .with_constraints(self.rule.constraints.clone())
        });
        ask.into_iter().collect()
    }
}

/// Lists unmet requirements: roles, then permissions, then attributes.
fn unmet_requirements(require: &Requirements, principal: &Principal) -> Vec<UnmetRequirement> {
    let mut out = Vec::new();
    let mut unmet = |check, reason, detail| out.push(UnmetRequirement { check, reason, detail });
    if !require.roles.is_met_by(&principal.roles) {
        let what = missing_roles(&require.roles, principal);
        unmet(CheckKind::Role, ReasonCode::MissingRole, what);
    }
    let missing: Vec<_> = require.permissions.difference(&principal.permissions).collect();
    if !missing.is_empty() {
        let what = format!("the principal lacks {}", quote_names(missing));
        unmet(CheckKind::Permission, ReasonCode::MissingPermission, what);
    }
    let attributes = &principal.attributes;
    let unmet_attributes = require.attributes.iter().filter(|(name, pattern)| {
        attributes.get(*name).is_none_or(|value| !pattern.matches(value))
    });
    let unmet_attributes: Vec<_> = unmet_attributes.map(|(name, _)| name).collect();
    if !unmet_attributes.is_empty() {
        let what =
            format!("the principal's attributes do not fit: {}", quote_names(unmet_attributes));
        unmet(CheckKind::Attribute, ReasonCode::MissingAttribute, what);
    }
    out
}

/// Whether the request contains the justification. A view needs none, because one was given for the
/// call.
fn has_justification(need: &JustificationRequirement, query: &PolicyQuery<'_>) -> bool {
    query.operation == Operation::View
        || query.request.justification.as_ref().is_some_and(|given| {
            let enough = usize::try_from(need.min_chars).is_ok_and(|min| given.length() >= min);
            enough && need.sources.contains(&given.source)
        })
}

/// A model, or a person who can be reached, can be asked for the justification. If nobody can be
/// asked, the call is held for release.
fn verdict_without_justification(
    need: &JustificationRequirement,
    query: &PolicyQuery<'_>,
) -> Verdict {
    if query.human_channel || need.sources.contains(&JustificationSource::Model) {
        Verdict::Ask
    } else {
        Verdict::Hold
    }
}
