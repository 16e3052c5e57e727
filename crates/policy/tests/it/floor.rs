//! What no rule can weaken, and the run modes.

use weaver_types::{
    Effects, Operation, ReasonCode, Remedy, ResponseMode, Rung, SafetyMode, Verdict,
};

use crate::support::{Case, draft, host, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";

fn on_rung(rung: Rung) -> Case {
    let mut draft = draft("x", Effects::READ_LOCAL);
    draft.rung = Some(rung);
    Case::new(draft.build().unwrap(), &[])
}

#[test]
fn an_allow_rule_never_frees_l4_or_l5() {
    let set = set(ALLOW_ALL, "");
    assert_eq!(on_rung(Rung::L3).answer(&set).0, Verdict::Allow);
    let held = on_rung(Rung::L4).decide(&set);
    assert_eq!((held.verdict(), held.primary_reason()), (Verdict::Hold, ReasonCode::FloorHold));
    assert_eq!(held.obstacles().next().unwrap().discharge, Remedy::Approval);
    assert_eq!(on_rung(Rung::L5).answer(&set), (Verdict::Deny, ReasonCode::Prohibited));
}

#[test]
fn no_matching_rule_is_a_denial_on_l4_too() {
    let case = Case::new(host("x", Effects::WRITE_OPEN), &["admin"]);
    assert_eq!(case.answer(&set("", "")), (Verdict::Deny, ReasonCode::NoMatchingRule));
}

#[test]
fn a_view_is_not_held_by_l4_but_stopped_by_l5_rules_and_roles() {
    let rules = r#"
[[rules]]
name = "allow"
match = {}
effect = "allow"
require = { roles = { all = ["r"] }, justification = {} }
[[rules]]
name = "no-views"
match = { capability = "secret", operation = "view" }
effect = "deny"
"#;
    let set = set(rules, "");
    let view = |id: &str, effects, roles: &[&str]| {
        let mut case = Case::new(host(id, effects), roles);
        case.operation = Operation::View;
        case.answer(&set)
    };
    let open = Effects::WRITE_OPEN;
    assert_eq!(view("x", open, &["r"]), (Verdict::Allow, ReasonCode::RuleAllow));
    assert_eq!(view("x", open, &[]), (Verdict::Deny, ReasonCode::MissingRole));
    assert_eq!(view("secret", open, &["r"]), (Verdict::Deny, ReasonCode::ExplicitDenyRule));
    let mut case = on_rung(Rung::L5);
    case.operation = Operation::View;
    assert_eq!(case.answer(&set).1, ReasonCode::Prohibited);
}

#[test]
fn careful_modes_allow_local_reads_only() {
    let set = set(ALLOW_ALL, "");
    for mode in [SafetyMode::Safe, SafetyMode::Strict] {
        let answer = |effects| {
            let mut case = Case::new(host("x", effects), &[]);
            case.mode = mode;
            case.answer(&set)
        };
        assert_eq!(answer(Effects::READ_LOCAL).0, Verdict::Allow);
        assert_eq!(answer(Effects::READ_OPEN), (Verdict::Deny, ReasonCode::ModeForbids));
        assert_eq!(answer(Effects::WRITE_LOCAL), (Verdict::Deny, ReasonCode::ModeForbids));
        let mut raised = on_rung(Rung::L1);
        raised.mode = mode;
        assert_eq!(raised.answer(&set), (Verdict::Deny, ReasonCode::ModeForbids));
    }
}

#[test]
fn strict_shows_handles_and_summaries_of_them() {
    let set = set(ALLOW_ALL, "");
    let shown = |operation| {
        let mut case = Case::new(host("x", Effects::READ_LOCAL), &[]);
        (case.mode, case.operation) = (SafetyMode::Strict, operation);
        case.decide(&set).constraints().mode
    };
    assert_eq!(shown(Operation::Invoke), Some(ResponseMode::HandleOnly));
    assert_eq!(shown(Operation::View), Some(ResponseMode::Summary));
}
