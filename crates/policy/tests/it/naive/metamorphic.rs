//! What must not loosen a decision, whatever the documents and the request are.

use std::sync::atomic::{AtomicUsize, Ordering};

use toml::{Table, Value};
use weaver_policy::{Policy, PolicySet, RateLimitWindows, RuleEnforcement};
use weaver_types::{
    Capability, CheckKind, CheckResult, Confidentiality, Decision, Effects, Integrity, Operation,
    ReasonCode, Rung, SafetyMode, Verdict,
};

use super::case::load;
use super::dice::Dice;
use super::document::{Documents, Shape, deny_rule, limit};
use super::matching::{Subjects, any_all, matcher, text};
use super::request::{Asked, signal};
use super::words::{IDS, ROLES};

const DOCUMENTS: u64 = 40;
const REQUESTS: usize = 15;

/// A loaded set, a request, and the capability in force.
type Question<'a> = (&'a PolicySet, &'a Asked, &'a Capability);

/// Makes documents of this shape, changes them, and compares what both sets say. The counter keeps
/// a property from passing because nothing was compared.
fn compare(
    shape: Shape,
    change_documents: impl Fn(&mut Dice, &mut Documents),
    change_request: impl Fn(&mut Dice, &mut Asked),
    check: impl Fn(&Documents, Question<'_>, Question<'_>),
) {
    let compared = AtomicUsize::new(0);
    for seed in 0..DOCUMENTS {
        let mut dice = Dice::new(7_000_000 + seed);
        let before = Documents::random(&mut dice, shape);
        let Ok(set) = load(&before) else { continue };
        let mut after = before.clone();
        change_documents(&mut dice, &mut after);
        let changed = load(&after).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for _ in 0..REQUESTS {
            let asked = Asked::random(&mut dice);
            let mut other = asked.clone();
            change_request(&mut dice, &mut other);
            if let Ok(capability) = set.apply_contract(&asked.proposal) {
                check(&after, (&set, &asked, &capability), (&changed, &other, &capability));
                compared.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    assert!(compared.into_inner() > 300);
}

fn decide((set, asked, capability): Question<'_>) -> Decision {
    asked.decide(set, capability, None)
}

fn shown(documents: &Documents, question: Question<'_>) -> String {
    let [policy, contracts, _] = documents.texts();
    format!("{policy}\n---\n{contracts}\n{}", question.1)
}

fn is_not_looser(documents: &Documents, before: Question<'_>, after: Question<'_>) {
    let (was, is) = (decide(before), decide(after));
    let show = || shown(documents, after);
    assert!(is.verdict() >= was.verdict(), "{was:#?}\n{is:#?}\n{}", show());
}

fn is_no_wider(documents: &Documents, before: Question<'_>, after: Question<'_>) {
    is_not_looser(documents, before, after);
    let (was, is) = (decide(before), decide(after));
    let show = || shown(documents, after);
    assert_eq!(is.constraints().clone().join(was.constraints()), *is.constraints(), "{}", show());
    assert_eq!(is.authority().clone().join(was.authority()), *is.authority(), "{}", show());
}

const NOTHING: fn(&mut Dice, &mut Documents) = |_, _| {};
const AS_BEFORE: fn(&mut Dice, &mut Asked) = |_, _| {};

#[test]
fn a_further_deny_rule_never_loosens() {
    let add = |dice: &mut Dice, documents: &mut Documents| {
        let name = dice.pick(&["0", "r4", "zz"]);
        let rule = deny_rule(dice, name);
        documents.rules().push(rule);
    };
    compare(Shape::FULL, add, AS_BEFORE, is_no_wider);
}

#[test]
fn a_further_limit_never_loosens() {
    let add = |dice: &mut Dice, documents: &mut Documents| {
        let one = limit(dice, "further", Subjects::ALL);
        let limits = documents.policy.entry("limits").or_insert_with(|| Value::Array(Vec::new()));
        limits.as_array_mut().unwrap().push(one);
    };
    compare(Shape::FULL, add, AS_BEFORE, |documents, before, after| {
        let (set, asked, capability) = after;
        let (mut windows, report) = (RateLimitWindows::new(), asked.report());
        let query = asked.query(capability, None, &report);
        (0..5).for_each(|_| windows.record(&query, set.limits()));
        let is = asked.decide(set, capability, Some(&windows));
        let was = decide(before).verdict();
        assert!(is.verdict() >= was, "{is:#?}\n{}", shown(documents, after));
    });
}

/// Where no rule asks for the label.
#[test]
fn a_taint_never_loosens() {
    let subjects = Subjects { label: false, ..Subjects::ALL };
    let taint = |dice: &mut Dice, asked: &mut Asked| {
        asked.label.integrity = Integrity::Untrusted;
        if dice.chance(50) {
            asked.label.confidentiality = Confidentiality::Restricted;
        }
    };
    compare(Shape { subjects, ..Shape::FULL }, NOTHING, taint, is_no_wider);
}

#[test]
fn a_further_signal_never_loosens() {
    let speak = |dice: &mut Dice, asked: &mut Asked| {
        asked.signals.push(signal(dice));
        asked.a_source_failed |= dice.chance(10);
    };
    compare(Shape::FULL, NOTHING, speak, |documents, before, after| {
        is_no_wider(documents, before, after);
        let (set, asked, capability) = after;
        let silent = Asked { signals: Vec::new(), a_source_failed: false, ..asked.clone() };
        let (bare, loud) = (decide((set, &silent, capability)), decide(after));
        assert!(bare.verdict() <= loud.verdict(), "{}", shown(documents, after));
        let failure = |said: &CheckResult| said.reason == ReasonCode::SignalUnavailable;
        let spoke = loud.check_results().iter().any(failure);
        assert!(!spoke || (asked.a_source_failed && loud.verdict() >= Verdict::Hold));
        // What is said without signals is still said, except that a denial asks for nothing.
        let asks = |said: &&CheckResult| said.reason != ReasonCode::ArgumentsRequired;
        for said in bare.check_results().iter().filter(asks) {
            assert!(loud.check_results().contains(said), "{said:?}");
        }
    });
}

#[test]
fn no_rule_set_weakens_the_floor() {
    compare(Shape::FULL, NOTHING, AS_BEFORE, |_, before, _| {
        let (_, asked, capability) = before;
        let verdict = decide(before).verdict();
        if capability.rung() == Rung::L5 {
            assert_eq!(verdict, Verdict::Deny);
        }
        if capability.rung() == Rung::L4 && asked.operation == Operation::Invoke {
            assert!(verdict >= Verdict::Hold);
        }
        if asked.mode != SafetyMode::Normal && capability.spec().effects != Effects::READ_LOCAL {
            assert_eq!(verdict, Verdict::Deny);
        }
    });
}

/// The set with another policy.
fn with_policy(set: &PolicySet, change: impl FnOnce(&mut Policy)) -> PolicySet {
    let mut policy = set.policy().clone();
    change(&mut policy);
    PolicySet::from_code(policy, set.contracts().clone()).unwrap()
}

#[test]
fn observing_records_the_decision_that_enforcing_makes() {
    compare(Shape::FULL, NOTHING, AS_BEFORE, |documents, before, _| {
        let (set, asked, capability) = before;
        let enforced = decide(before);
        let relaxed = with_policy(set, |policy| policy.enforcement = RuleEnforcement::Observe);
        let observed = decide((&relaxed, asked, capability));
        let would = observed.would_have().unwrap();
        assert_eq!(would.verdict(), enforced.verdict(), "{}", shown(documents, before));
        assert_eq!(would.check_results(), enforced.check_results());
        assert_eq!(observed.constraints(), enforced.constraints());
        let always = [
            CheckKind::Prohibited,
            CheckKind::Mode,
            CheckKind::Contract,
            CheckKind::Precondition,
            CheckKind::System,
        ];
        let holds = enforced.obstacles().filter(|said| always.contains(&said.check));
        let strictest = holds.map(|said| said.verdict).max().unwrap_or(Verdict::Allow);
        assert_eq!(observed.verdict(), strictest, "{}", shown(documents, before));
        if capability.rung() == Rung::L5 {
            assert_eq!(observed.verdict(), Verdict::Deny, "nothing frees L5");
        }
        let full = ReasonCode::LedgerUnavailable;
        let full = CheckResult::new(CheckKind::System, Verdict::Deny, full, "it is full");
        let both = observed.joined_with(full);
        assert_eq!(both.verdict(), Verdict::Deny, "a stricter word joins both");
        assert_eq!(both.would_have().unwrap().verdict(), Verdict::Deny);
    });
}

/// Observing some rules is to enforce the others alone.
#[test]
fn observed_rules_are_as_if_they_were_not_there() {
    let observe = |dice: &mut Dice, documents: &mut Documents| {
        for rule in documents.rules() {
            if dice.chance(40) {
                let rule = rule.as_table_mut().unwrap();
                rule.insert("enforcement".to_owned(), text("observe"));
            }
        }
    };
    compare(Shape::FULL, observe, AS_BEFORE, |documents, before, after| {
        let (set, asked, capability) = after;
        let rest =
            with_policy(set, |policy| policy.rules.retain(|rule| rule.enforcement.is_none()));
        let (some, rest) = (decide(after), decide((&rest, asked, capability)));
        assert_eq!(some.verdict(), rest.verdict(), "{}", shown(documents, after));
        if let Some(would) = some.would_have() {
            assert_eq!(would.verdict(), decide(before).verdict(), "{}", shown(documents, after));
        }
    });
}

/// Roles stand in `require` and under `unless` in deny rules.
#[test]
fn a_role_taken_away_never_loosens() {
    let subjects = Subjects { roles: false, ..Subjects::ALL };
    // Both sets are the same: the rules are changed before the first is loaded.
    let compared = AtomicUsize::new(0);
    for seed in 0..DOCUMENTS {
        let mut dice = Dice::new(8_000_000 + seed);
        let mut documents = Documents::random(&mut dice, Shape { subjects, ..Shape::FULL });
        for rule in documents.rules() {
            if rule["effect"].as_str() == Some("deny") && dice.chance(70) {
                let roles = Table::from_iter([("roles".to_owned(), any_all(&mut dice, ROLES))]);
                let matches = rule["match"].as_table_mut().unwrap();
                matches.insert("unless".to_owned(), Value::Table(roles));
            }
        }
        let Ok(set) = load(&documents) else { continue };
        for _ in 0..REQUESTS {
            let asked = Asked::random(&mut dice);
            let mut other = asked.clone();
            let Some(role) = other.principal.roles.first().cloned() else { continue };
            other.principal.roles.remove(&role);
            if let Ok(capability) = set.apply_contract(&asked.proposal) {
                is_not_looser(&documents, (&set, &asked, &capability), (&set, &other, &capability));
                compared.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    assert!(compared.into_inner() > 200);
}

/// With a rule that requires an approval, an unknown match can stand where no rule matched, and
/// hold what was denied before; it is decided again with the arguments before anything is done.
#[test]
fn arguments_left_out_never_loosen_without_approval_rules() {
    let shape = Shape { approvals: false, ..Shape::FULL };
    let leave_out = |_: &mut Dice, asked: &mut Asked| asked.arguments = None;
    compare(shape, NOTHING, leave_out, is_not_looser);
}

#[test]
fn arguments_left_out_never_allow_more() {
    let leave_out = |_: &mut Dice, asked: &mut Asked| asked.arguments = None;
    compare(Shape::FULL, NOTHING, leave_out, |documents, before, after| {
        let (was, is) = (decide(before), decide(after));
        assert!(!is.is_allowed() || was.is_allowed(), "{}", shown(documents, after));
    });
}

#[test]
fn origins_left_out_never_allow_more() {
    let leave_out = |_: &mut Dice, asked: &mut Asked| asked.origins = None;
    compare(Shape::FULL, NOTHING, leave_out, |documents, before, after| {
        let (was, is) = (decide(before), decide(after));
        assert!(!is.is_allowed() || was.is_allowed(), "{}", shown(documents, after));
    });
}

/// An allow rule that applies to less. Beside an approval rule its shortfall could go with it.
#[test]
fn a_narrower_allow_rule_never_loosens_without_approval_rules() {
    let narrow = |dice: &mut Dice, documents: &mut Documents| {
        for rule in documents.rules() {
            let more = matcher(dice, 1, Subjects::ALL);
            if rule["effect"].as_str() == Some("allow") && dice.chance(60) && !more.is_empty() {
                let old = rule["match"].as_table().unwrap().clone();
                let all: Vec<_> = [old, more].into_iter().filter(|one| !one.is_empty()).collect();
                let not = |one: &Table| {
                    let one = Value::Table(one.clone());
                    Value::Table(Table::from_iter([("not".to_owned(), one)]))
                };
                // Both: not any of their contraries.
                let contraries = Value::Array(all.iter().map(not).collect());
                let any = Table::from_iter([("any".to_owned(), contraries)]);
                let both = Table::from_iter([("not".to_owned(), Value::Table(any))]);
                rule.as_table_mut().unwrap().insert("match".to_owned(), Value::Table(both));
            }
        }
    };
    let shape = Shape { approvals: false, ..Shape::FULL };
    compare(shape, narrow, AS_BEFORE, is_not_looser);
}

#[test]
fn the_order_of_rules_does_not_matter() {
    let mix = |dice: &mut Dice, documents: &mut Documents| {
        let mut rules = documents.rules().clone();
        dice.shuffle(&mut rules);
        *documents.rules() = rules;
    };
    compare(Shape::FULL, mix, AS_BEFORE, |documents, before, after| {
        let (was, is) = (decide(before), decide(after));
        assert_eq!(was.check_results(), is.check_results(), "{}", shown(documents, after));
        assert_eq!(was.primary_reason(), is.primary_reason());
    });
}

#[test]
fn what_is_allowed_is_visible() {
    let see = |documents: &Documents, before: Question<'_>, _: Question<'_>| {
        let (set, asked, capability) = before;
        let visible = set.is_visible(&asked.principal, capability);
        assert!(
            visible || decide(before).verdict() == Verdict::Deny,
            "{}",
            shown(documents, before)
        );
    };
    compare(Shape::FULL, NOTHING, AS_BEFORE, see);
}

#[test]
fn equal_documents_and_queries_give_equal_bytes() {
    compare(Shape::FULL, NOTHING, AS_BEFORE, |_, before, after| {
        let bytes = |question| serde_json::to_vec(&decide(question)).unwrap();
        assert_eq!(bytes(before), bytes(after));
    });
}

#[test]
fn the_join_is_never_looser_than_a_part_of_it() {
    compare(Shape::FULL, NOTHING, AS_BEFORE, |_, before, _| {
        let decision = decide(before);
        for part in decision.check_results() {
            assert!(part.verdict <= decision.verdict());
            let (limits, authority) = (decision.constraints(), decision.authority());
            assert_eq!(limits.clone().join(&part.constraints), *limits);
            assert_eq!(authority.clone().join(&part.authority), *authority);
        }
    });
}

#[test]
fn a_contract_applied_twice_changes_nothing() {
    compare(Shape::FULL, NOTHING, AS_BEFORE, |documents, before, _| {
        let (set, _, capability) = before;
        let again = set.apply_contract(capability);
        assert_eq!(again.as_ref(), Ok(capability), "{}", shown(documents, before));
    });
}

/// A key that is misspelt anywhere refuses the documents.
#[test]
fn an_unknown_key_anywhere_is_refused() {
    let mut spoilt = 0;
    for seed in 0..15 {
        let mut dice = Dice::new(9_000_000 + seed);
        let documents = Documents::random(&mut dice, Shape::FULL);
        if load(&documents).is_err() {
            continue;
        }
        for of_policy in [true, false] {
            let table = if of_policy { &documents.policy } else { &documents.contracts };
            for at in 0..count(table) {
                let mut next = documents.clone();
                let table = if of_policy { &mut next.policy } else { &mut next.contracts };
                spoil(table, &mut at.clone());
                let [policy, contracts, _] = next.texts();
                assert!(load(&next).is_err(), "{policy}\n{contracts}");
                spoilt += 1;
            }
        }
    }
    assert!(spoilt > 200, "{spoilt}");
}

/// Tables whose keys are names, and values that arguments are compared with.
const FREE: &[&str] = &["principals", "attributes", "scope", "capabilities", "equals", "in"];

/// The tables below, that have fixed keys.
fn children(table: &mut Table) -> Vec<&mut Table> {
    let mut out = Vec::new();
    for (key, value) in table.iter_mut() {
        let constant = key == "equals" || key == "in";
        let names = FREE.contains(&key.as_str());
        match value {
            _ if constant => {}
            Value::Table(table) => {
                if names {
                    out.extend(table.iter_mut().filter_map(|(_, one)| one.as_table_mut()));
                } else {
                    out.push(table);
                }
            }
            Value::Array(list) => out.extend(list.iter_mut().filter_map(Value::as_table_mut)),
            _ => {}
        }
    }
    out
}

fn count(table: &Table) -> usize {
    let mut table = table.clone();
    1 + children(&mut table).into_iter().map(|one| count(one)).sum::<usize>()
}

/// Puts a key that nobody knows into the table with this number.
fn spoil(table: &mut Table, at: &mut usize) -> bool {
    if *at == 0 {
        table.insert("nobody_knows".to_owned(), text(IDS[0]));
        return true;
    }
    *at -= 1;
    children(table).into_iter().any(|one| spoil(one, at))
}
