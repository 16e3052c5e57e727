use proptest::collection::{btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use weaver_types::{
    AllowedAgents, CapabilityDraft, CapabilityId, CapabilityRequest, Effects, Impact, Operation,
    Principal, PrincipalId, SafetyMode, SensitivityTag, ToolSpec,
};

use super::*;
use crate::field_condition::SensitivityCondition;
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::policy::Policy;
use crate::rule::Effect;

fn roles() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set(select(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]), 0..3)
}

fn patterns(texts: Vec<&'static str>) -> impl Strategy<Value = Vec<Pattern>> {
    vec(select(texts).prop_map(|text| Pattern::parse(text).unwrap()), 0..2)
}

/// A match that says little by itself.
fn plain(names: Vec<&'static str>) -> impl Strategy<Value = MatchConditions> {
    let impact = btree_set(select(vec![Impact::Read, Impact::Write]), 0..2);
    let sensitivity =
        btree_set(select(vec![SensitivityCondition::None, SensitivityCondition::Pii]), 0..2);
    let operation = btree_set(select(vec![Operation::Invoke, Operation::View]), 0..2);
    let mode = btree_set(select(vec![SafetyMode::Normal, SafetyMode::Safe]), 0..2);
    let intent = patterns(vec!["look", "*"]);
    (patterns(names), impact, sensitivity, operation, mode, intent, roles(), roles()).prop_map(
        |(capability, impact, sensitivity, operation, mode, intent, any, all)| MatchConditions {
            capability,
            impact,
            sensitivity,
            operation,
            mode,
            intent,
            roles: NameCondition { any, all },
            ..MatchConditions::default()
        },
    )
}

fn nested() -> impl Strategy<Value = MatchConditions> {
    plain(vec!["t.*", "t.a", "x.*"]).prop_recursive(3, 12, 2, |inner| {
        let one = || of(inner.clone().prop_map(Box::new));
        (plain(vec!["t.*", "t.a", "x.*"]), vec(inner.clone(), 0..3), one(), one())
            .prop_map(|(own, any, not, unless)| MatchConditions { any, not, unless, ..own })
    })
}

proptest! {
    #[test]
    fn what_the_bits_say_is_what_the_match_says(
        matches in nested(),
        held in roles(),
        (impact, pii) in (select(vec![Impact::Read, Impact::Write]), any::<bool>()),
        operation in select(vec![Operation::Invoke, Operation::View]),
        mode in select(vec![SafetyMode::Normal, SafetyMode::Safe, SafetyMode::Strict]),
        intent in of(Just("look")),
    ) {
        let effects = Effects { impact, ..Effects::READ_LOCAL };
        let id = CapabilityId::parse("t.a").unwrap();
        let sensitivity = if pii { [SensitivityTag::Pii].into() } else { BTreeSet::new() };
        let draft = CapabilityDraft {
            sensitivity,
            ..CapabilityDraft::new(id, "Tool", effects, AllowedAgents::Any)
        };
        let tool = draft.build().unwrap();
        let mut who = Principal::new(PrincipalId::parse("ana").unwrap());
        who.roles = held;
        let mut request = CapabilityRequest::new(tool.id().clone(), "goal");
        request.intent = intent.map(str::to_owned);
        let query = PolicyQuery { operation, mode, ..PolicyQuery::new(&tool, &who, &request) };
        let rule = Rule { matches, ..Rule::new("r", Effect::Allow) };
        let compiled = CompiledRules::new(std::slice::from_ref(&rule));
        let truth = match compiled.candidates("t.a").first() {
            Some(place) => compiled.evaluate_bits(*place as usize, compiled.query_bits(&query)),
            None => Truth::No,
        };
        let whole = rule.matches.applies_to(&query);
        prop_assert!(truth == whole || truth == Truth::Unknown, "{truth:?}, {whole:?}");
    }
}

#[test]
fn roles_and_what_a_capability_does_need_no_look_at_the_match() {
    let tool = ToolSpec::new("t.a", "Tool").with_effects(Effects::READ_LOCAL).build().unwrap();
    let who = Principal::new(PrincipalId::parse("ana").unwrap()).with_roles(["reader"]);
    let request = CapabilityRequest::new(tool.id().clone(), "goal");
    let query = PolicyQuery::new(&tool, &who, &request);
    let rules = Policy::baseline().unwrap().rules;
    let compiled = CompiledRules::new(&rules);
    for place in 0..rules.len() {
        assert_ne!(compiled.evaluate_bits(place, compiled.query_bits(&query)), Truth::Unknown);
    }
}

#[test]
fn a_name_in_a_nested_match_is_looked_at() {
    let tool = ToolSpec::new("t.a", "Tool").with_effects(Effects::READ_LOCAL).build().unwrap();
    let who = Principal::new(PrincipalId::parse("ana").unwrap());
    let request = CapabilityRequest::new(tool.id().clone(), "goal");
    let other = || MatchConditions {
        capability: vec![Pattern::parse("x.*").unwrap()],
        ..MatchConditions::default()
    };
    let not = MatchConditions { not: Some(Box::new(other())), ..MatchConditions::default() };
    for matches in [not, MatchConditions { any: vec![other()], ..MatchConditions::default() }] {
        let compiled = CompiledRules::new(&[Rule { matches, ..Rule::new("r", Effect::Allow) }]);
        let bits = compiled.query_bits(&PolicyQuery::new(&tool, &who, &request));
        assert_eq!(compiled.evaluate_bits(0, bits), Truth::Unknown);
    }
}
