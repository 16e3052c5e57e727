//! The compiled policy against a plain reading of the meaning, and what must never loosen.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;
use weaver_policy::{
    ArgumentPredicate, Contracts, Effect, JustificationRequirement, MatchConditions, NameCondition,
    Pattern, Policy, PolicySet, Requirements, Rule, SensitivityCondition,
};
use weaver_types::{
    AllowedAgents, Confidentiality, Effects, Impact, Integrity, JustificationSource, Label,
    Operation, ReasonCode, Rung, SafetyMode, SensitivityTag, SinkKind, Verdict, World,
};

use crate::support::{Case, draft};

const IDS: [&str; 6] = ["a.b", "a.c", "b.b", "a", "a.b.b", "äb.b"];
const GLOBS: [&str; 10] = ["a.b", "a.*", "*.b", "a*b", "*", "a.c", "**", "*.b.*", "ä*", "b.b"];
const ROLES: [&str; 3] = ["x", "y", "z"];

fn set_of<T: Clone + Ord + std::fmt::Debug + 'static>(
    all: Vec<T>,
) -> impl Strategy<Value = BTreeSet<T>> {
    subsequence(all.clone(), 0..=all.len())
        .prop_map(|some| some.into_iter().collect::<BTreeSet<_>>())
}

fn texts(all: &'static [&'static str]) -> impl Strategy<Value = BTreeSet<String>> {
    set_of(all.iter().map(|text| (*text).to_owned()).collect())
}

/// Nothing at all, most of the time.
fn rarely<T: Default + Clone + std::fmt::Debug>(
    some: impl Strategy<Value = T>,
) -> impl Strategy<Value = T> {
    prop_oneof![3 => Just(T::default()), 1 => some]
}

fn any_roles() -> impl Strategy<Value = NameCondition> {
    (rarely(texts(&ROLES)), rarely(texts(&ROLES))).prop_map(|(any, all)| NameCondition { any, all })
}

fn patterns(of: &'static [&'static str]) -> impl Strategy<Value = Vec<Pattern>> {
    vec(select(of), 0..3)
        .prop_map(|all| all.into_iter().map(|text| Pattern::parse(text).unwrap()).collect())
}

fn any_predicate() -> impl Strategy<Value = ArgumentPredicate> {
    let test =
        select(vec![json!({ "max": 3 }), json!({ "present": false }), json!({ "in": [1, "a"] })]);
    test.prop_map(|mut test| {
        test["at"] = json!("/n");
        serde_json::from_value(test).unwrap()
    })
}

/// A match, now and then with others inside it.
fn any_match() -> impl Strategy<Value = MatchConditions> {
    let inner =
        || plain_match().prop_filter("says something", |m| *m != MatchConditions::default());
    let not = prop_oneof![2 => Just(None), 1 => inner().prop_map(|m| Some(Box::new(m)))];
    let any = prop_oneof![2 => Just(Vec::new()), 1 => vec(inner(), 1..3)];
    (plain_match(), any, not).prop_map(|(outer, any, not)| MatchConditions { any, not, ..outer })
}

fn plain_match() -> impl Strategy<Value = MatchConditions> {
    let more = (
        rarely(set_of(vec![SinkKind::None, SinkKind::Payment])),
        rarely(set_of(vec![
            SensitivityCondition::None,
            SensitivityCondition::Pii,
            SensitivityCondition::Secrets,
        ])),
        rarely(set_of(vec![Integrity::Trusted, Integrity::Untrusted])),
        rarely(vec(any_predicate(), 1..3)),
    );
    (known_match(), more).prop_map(|(known, (sink, sensitivity, integrity, arguments))| {
        MatchConditions { sink, sensitivity, integrity, arguments, ..known }
    })
}

fn known_match() -> impl Strategy<Value = MatchConditions> {
    (
        patterns(&GLOBS),
        rarely(set_of(vec![Impact::Read, Impact::Write, Impact::Destroy])),
        rarely(set_of(vec![World::Closed, World::Open])),
        rarely(set_of(vec![Rung::L0, Rung::L3, Rung::L4])),
        any_roles(),
        rarely(set_of(vec![Operation::Invoke, Operation::View])),
        rarely(set_of(vec![SafetyMode::Normal, SafetyMode::Strict])),
        rarely(patterns(&["agent", "other", "a*"])),
    )
        .prop_map(|(capability, impact, world, rung, roles, operation, mode, principal)| {
            MatchConditions {
                capability,
                impact,
                world,
                rung,
                roles,
                operation,
                mode,
                principal,
                ..MatchConditions::default()
            }
        })
}

fn any_need() -> impl Strategy<Value = Option<JustificationRequirement>> {
    let sources = btree_set(
        select(vec![
            JustificationSource::Human,
            JustificationSource::Host,
            JustificationSource::Model,
        ]),
        1..3,
    );
    prop_oneof![
        Just(None),
        (1..30_u32, sources)
            .prop_map(|(min_chars, sources)| Some(JustificationRequirement { min_chars, sources }))
    ]
}

fn any_require() -> impl Strategy<Value = Requirements> {
    let attribute = || Pattern::parse("v*").unwrap();
    (any_roles(), rarely(texts(&["p", "q"])), rarely(texts(&["k"])), any_need()).prop_map(
        move |(roles, permissions, keys, justification)| Requirements {
            roles,
            permissions,
            attributes: keys.into_iter().map(|key| (key, attribute())).collect(),
            justification,
        },
    )
}

fn any_rules() -> impl Strategy<Value = Vec<Rule>> {
    let effect = select(vec![Effect::Allow, Effect::Allow, Effect::Deny, Effect::RequireApproval]);
    vec((effect, any_match(), any_require()), 0..7).prop_map(|rules| {
        let rule =
            |(n, (effect, matches, require)): (usize, (Effect, MatchConditions, Requirements))| {
                let mut rule = Rule::new(format!("r{n}"), effect);
                rule.matches = matches;
                if effect == Effect::Allow {
                    rule.require = require;
                }
                rule
            };
        rules.into_iter().enumerate().map(rule).collect()
    })
}

fn compiled(rules: Vec<Rule>) -> PolicySet {
    let mut policy = Policy::new("t");
    policy.rules = rules;
    PolicySet::from_code(policy, Contracts::new("t")).unwrap()
}

/// Any policy over a small world, so that rules really meet.
pub(crate) fn any_policy() -> impl Strategy<Value = PolicySet> {
    any_rules().prop_map(compiled)
}

/// Any query over the same world.
pub(crate) fn any_case() -> impl Strategy<Value = Case> {
    let effects = (
        select(vec![Impact::Read, Impact::Write, Impact::Destroy]),
        select(vec![World::Closed, World::Open]),
    );
    let rung = prop_oneof![3 => Just(None), 1 => select(vec![Rung::L1, Rung::L4, Rung::L5]).prop_map(Some)];
    let sink =
        prop_oneof![Just(None), select(vec![SinkKind::None, SinkKind::Payment]).prop_map(Some)];
    let capability = (select(&IDS[..]), effects, rung, sink, any::<bool>());
    let label = (
        select(vec![Confidentiality::Public, Confidentiality::Restricted]),
        select(vec![Integrity::Trusted, Integrity::Untrusted]),
    );
    let why = prop_oneof![
        Just(None),
        (0..40_usize, select(vec![JustificationSource::Human, JustificationSource::Model]))
            .prop_map(Some)
    ];
    let caller = (texts(&ROLES), texts(&["p", "q"]), any::<bool>(), why);
    let around = (
        select(vec![Operation::Invoke, Operation::View]),
        select(vec![SafetyMode::Normal, SafetyMode::Normal, SafetyMode::Strict]),
        any::<bool>(),
        any::<bool>(),
    );
    let more = (
        rarely(set_of(vec![SensitivityTag::Pii, SensitivityTag::Secrets])),
        select(vec![json!({}), json!({ "n": 1 }), json!({ "n": 4 }), json!({ "n": "a" })]),
    );
    (capability, label, caller, around, more).prop_map(
        |((id, (impact, world), rung, sink, nobody), label, caller, around, more)| {
            let mut draft = draft(id, Effects { impact, world });
            (draft.rung, draft.sink) = (rung, sink);
            draft.sensitivity = more.0;
            if nobody {
                draft.agents = AllowedAgents::Only(BTreeSet::new());
            }
            let mut case = Case::new(draft.build().unwrap(), &[]);
            case.label = Label::new(label.0, label.1);
            let (roles, permissions, attribute, why) = caller;
            (case.principal.roles, case.principal.permissions) = (roles, permissions);
            if attribute {
                case.principal.attributes.insert("k".to_owned(), "v1".to_owned());
            }
            if let Some((length, source)) = why {
                case = case.justified(&"j".repeat(length), source);
            }
            (case.operation, case.mode, case.human) = (around.0, around.1, around.2);
            case.arguments = (!around.3).then_some(more.1);
            case
        },
    )
}

fn pattern_fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|p| p.matches(name))
}

fn says<T: Ord>(set: &BTreeSet<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}

fn has_roles(roles: &NameCondition, held: &BTreeSet<String>) -> bool {
    (roles.any.is_empty() || roles.any.iter().any(|r| held.contains(r)))
        && roles.all.iter().all(|r| held.contains(r))
}

/// Whether the rule speaks: 0 is no, 1 is not known, 2 is yes.
fn matches(rule: &Rule, case: &Case) -> bool {
    let truth = truth(&rule.matches, case);
    if rule.effect == Effect::Allow { truth == 2 } else { truth > 0 }
}

fn truth(m: &MatchConditions, case: &Case) -> u8 {
    let mut out = if known(m, case) { 2 } else { 0 };
    for predicate in &m.arguments {
        let holds = case.arguments.as_ref().map(|given| u8::from(predicate.holds(given)) * 2);
        out = out.min(holds.unwrap_or(1));
    }
    if !m.any.is_empty() {
        out = out.min(m.any.iter().map(|one| truth(one, case)).max().unwrap());
    }
    m.not.iter().fold(out, |out, not| out.min(2 - truth(not, case)))
}

fn known(m: &MatchConditions, case: &Case) -> bool {
    let (spec, capability) = (case.capability.spec(), &case.capability);
    let kinds = |kind: &SensitivityCondition| match kind {
        SensitivityCondition::None => spec.sensitivity.is_empty(),
        SensitivityCondition::Pii => spec.sensitivity.contains(&SensitivityTag::Pii),
        _ => spec.sensitivity.contains(&SensitivityTag::Secrets),
    };
    pattern_fits(&m.capability, capability.id().as_str())
        && says(&m.impact, &spec.effects.impact)
        && says(&m.world, &spec.effects.world)
        && says(&m.class, &capability.class())
        && says(&m.rung, &capability.rung())
        && says(&m.sink, &capability.sink())
        && (m.sensitivity.is_empty() || m.sensitivity.iter().any(kinds))
        && says(&m.integrity, &case.label.integrity)
        && pattern_fits(&m.principal, case.principal.id.as_str())
        && has_roles(&m.roles, &case.principal.roles)
        && says(&m.operation, &case.operation)
        && says(&m.mode, &case.mode)
}

/// The matches inside this one.
fn inner_of(matches: &mut MatchConditions) -> impl Iterator<Item = &mut MatchConditions> {
    matches.any.iter_mut().chain(matches.not.iter_mut().map(|not| &mut **not))
}

/// What a matching allow rule comes to.
fn shortfall(rule: &Rule, case: &Case) -> (usize, Verdict) {
    let (need, who) = (&rule.require, &case.principal);
    let mut denials = 0;
    denials += usize::from(!has_roles(&need.roles, &who.roles));
    denials += usize::from(!need.permissions.is_subset(&who.permissions));
    denials += usize::from(need.attributes.iter().any(|(name, pattern)| {
        who.attributes.get(name).is_none_or(|value| !pattern.matches(value))
    }));
    if denials > 0 {
        return (denials, Verdict::Deny);
    }
    let met = case.operation == Operation::View
        || need.justification.as_ref().is_none_or(|need| {
            case.request.justification.as_ref().is_some_and(|given| {
                given.text.trim().chars().count() >= need.min_chars as usize
                    && need.sources.contains(&given.source)
            })
        });
    let model = need
        .justification
        .as_ref()
        .is_some_and(|need| need.sources.contains(&JustificationSource::Model));
    match (met, case.human || model) {
        (true, _) => (0, Verdict::Allow),
        (false, true) => (0, Verdict::Ask),
        (false, false) => (0, Verdict::Hold),
    }
}

/// The verdict of the rules alone, by a plain reading.
fn rules_verdict(rules: &[Rule], case: &Case) -> Verdict {
    let matching: Vec<_> = rules.iter().filter(|rule| matches(rule, case)).collect();
    let mut verdicts: Vec<_> = matching
        .iter()
        .filter_map(|rule| match rule.effect {
            Effect::Allow => None,
            Effect::Deny => Some(Verdict::Deny),
            Effect::RequireApproval => Some(Verdict::Hold),
        })
        .collect();
    let allows = matching.iter().filter(|rule| rule.effect == Effect::Allow);
    verdicts.extend(allows.map(|rule| shortfall(rule, case)).min().map(|(_, verdict)| verdict));
    verdicts.into_iter().max().unwrap_or(Verdict::Deny)
}

/// The verdict of everything, by a plain reading.
fn verdict(rules: &[Rule], case: &Case) -> Verdict {
    let capability = &case.capability;
    let invoked = case.operation == Operation::Invoke;
    let mut out = rules_verdict(rules, case);
    let nobody = capability.spec().agents != AllowedAgents::Any;
    let local = capability.rung() == Rung::L0 && capability.spec().effects == Effects::READ_LOCAL;
    if capability.rung() == Rung::L5 || nobody || (case.mode != SafetyMode::Normal && !local) {
        out = Verdict::Deny;
    }
    let sink = capability.sink() != SinkKind::None;
    let flows = sink
        && (case.label.confidentiality > Confidentiality::Internal
            || case.label.integrity == Integrity::Untrusted);
    if invoked && (capability.rung() == Rung::L4 || flows) {
        out = out.max(Verdict::Hold);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_compiled_policy_equals_a_plain_reading(rules in any_rules(), case in any_case()) {
        let decision = case.decide(&compiled(rules.clone()));
        prop_assert_eq!(decision.verdict(), verdict(&rules, &case));
        let silent = !rules.iter().any(|rule| matches(rule, &case));
        let said = decision.check_results().iter().any(|c| c.reason == ReasonCode::NoMatchingRule);
        prop_assert_eq!(silent, said);
        // Every matching deny and approval rule is named, and every met allow rule.
        for rule in &rules {
            let name = format!("rule `{}`", rule.name);
            let named = decision.check_results().iter().any(|c| c.detail == name);
            let expected = matches(rule, &case)
                && (rule.effect != Effect::Allow || shortfall(rule, &case).1 == Verdict::Allow);
            prop_assert_eq!(named, expected, "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_order_of_rules_is_irrelevant(
        (rules, shuffled) in any_rules().prop_flat_map(|r| (Just(r.clone()), Just(r).prop_shuffle())),
        case in any_case(),
    ) {
        let one = case.decide(&compiled(rules));
        let two = case.decide(&compiled(shuffled));
        prop_assert_eq!(one.check_results(), two.check_results());
    }

    #[test]
    fn adding_a_deny_rule_never_loosens(
        rules in any_rules(), matches in any_match(), case in any_case(),
    ) {
        let before = case.decide(&compiled(rules.clone())).verdict();
        let mut deny = Rule::new("new", Effect::Deny);
        deny.matches = matches;
        let after = case.decide(&compiled(rules.into_iter().chain([deny]).collect())).verdict();
        // A denial for want of any rule stays a denial: the new rule can only deny.
        prop_assert!(after >= before);
    }

    #[test]
    fn removing_a_role_never_loosens(
        rules in any_rules(), case in any_case(), role in select(&ROLES[..]),
    ) {
        // A rule that matches on a role stops speaking without it. That loosens where it denied
        // or held, or where it was an allow rule whose shortfall stood beside an approval rule.
        let mut rules = rules;
        for inner in rules.iter_mut().flat_map(|rule| inner_of(&mut rule.matches)) {
            inner.roles = NameCondition::default();
        }
        let approvals = rules.iter().any(|rule| rule.effect == Effect::RequireApproval);
        for rule in rules.iter_mut().filter(|rule| approvals || rule.effect != Effect::Allow) {
            rule.matches.roles = NameCondition::default();
        }
        let set = compiled(rules);
        let mut fewer = case.clone();
        fewer.principal.roles.remove(role);
        prop_assert!(fewer.decide(&set).verdict() >= case.decide(&set).verdict());
    }

    #[test]
    fn a_tainted_run_is_never_freer(rules in any_rules(), case in any_case()) {
        // A rule that matches on the label may say what it likes of it.
        let mut rules = rules;
        for rule in &mut rules {
            rule.matches.integrity.clear();
            inner_of(&mut rule.matches).for_each(|inner| inner.integrity.clear());
        }
        let policy = compiled(rules);
        let mut tainted = case.clone();
        tainted.label =
            tainted.label.join(&Label::new(Confidentiality::Restricted, Integrity::Untrusted));
        prop_assert!(tainted.decide(&policy).verdict() >= case.decide(&policy).verdict());
    }

    #[test]
    fn the_same_input_gives_the_same_bytes(rules in any_rules(), case in any_case()) {
        let bytes = || serde_json::to_vec(&case.decide(&compiled(rules.clone()))).unwrap();
        prop_assert_eq!(bytes(), bytes());
    }
}
