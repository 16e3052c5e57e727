//! The reference flow: routing offers three tools, the policy decides.

use weaver_types::{Capability, Effects, JustificationSource, ReasonCode, Remedy, Verdict};

use crate::support::{Case, baseline, host};

const ROLES: [&str; 2] = ["reader", "writer"];
const WHY: &str = "the customer confirmed the fix";

fn update_status() -> Capability {
    host("tickets.update_status", Effects::WRITE_LOCAL)
}

fn delete() -> Capability {
    host("tickets.delete", Effects::DESTROY_LOCAL)
}

#[test]
fn a_read_is_allowed() {
    let case = Case::new(host("docs.search", Effects::READ_LOCAL), &ROLES);
    assert_eq!(case.answer(&baseline()), (Verdict::Allow, ReasonCode::DefaultPolicyAllow));
}

#[test]
fn a_write_asks_for_a_justification_and_then_is_allowed() {
    let set = baseline();
    let case = Case::new(update_status(), &ROLES);
    let decision = case.decide(&set);
    assert_eq!(decision.verdict(), Verdict::Ask);
    assert_eq!(decision.primary_reason(), ReasonCode::InsufficientJustification);
    let remedy = &decision.obstacles().next().unwrap().discharge;
    assert!(matches!(remedy, Remedy::Justification { min_chars: 15, .. }));

    let case = case.justified(WHY, JustificationSource::Host);
    assert_eq!(case.answer(&set), (Verdict::Allow, ReasonCode::DefaultPolicyAllow));
}

#[test]
fn a_justification_counts_only_in_full_length_and_from_a_person_or_the_host() {
    let set = baseline();
    let answer = |text: &str, source| {
        Case::new(update_status(), &ROLES).justified(text, source).answer(&set).0
    };
    assert_eq!(answer("fourteen chars", JustificationSource::Human), Verdict::Ask);
    assert_eq!(answer("  fourteen chars   ", JustificationSource::Human), Verdict::Ask);
    assert_eq!(answer("fifteen chars!!", JustificationSource::Human), Verdict::Allow);
    assert_eq!(answer(WHY, JustificationSource::Model), Verdict::Ask);
}

#[test]
fn a_delete_without_the_role_is_a_terminal_deny_though_justified() {
    let case = Case::new(delete(), &ROLES).justified(WHY, JustificationSource::Human);
    assert_eq!(case.answer(&baseline()), (Verdict::Deny, ReasonCode::MissingRole));
    let case = Case::new(delete(), &ROLES);
    assert_eq!(case.answer(&baseline()), (Verdict::Deny, ReasonCode::MissingRole));
}

#[test]
fn an_administrator_is_asked_and_then_held_by_the_floor() {
    let set = baseline();
    let decision = Case::new(delete(), &["admin"]).decide(&set);
    assert_eq!(decision.verdict(), Verdict::Hold);
    assert!(decision.check_results().iter().any(|c| c.verdict == Verdict::Ask));

    let case = Case::new(delete(), &["admin"]).justified(WHY, JustificationSource::Human);
    assert_eq!(case.answer(&set), (Verdict::Hold, ReasonCode::FloorHold));
}

#[test]
fn a_write_without_the_role_is_denied_before_anybody_is_asked() {
    let case = Case::new(update_status(), &["reader"]);
    assert_eq!(case.answer(&baseline()), (Verdict::Deny, ReasonCode::MissingRole));
}
