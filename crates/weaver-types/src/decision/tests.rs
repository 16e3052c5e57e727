use std::collections::BTreeSet;

use super::*;
use crate::frame::ResponseMode;

fn basis() -> DecisionBasis {
    DecisionBasis {
        policy: Digest::from_bytes([0; 32]),
        contracts: Digest::from_bytes([0; 32]),
        origin: PolicyOrigin::Code,
    }
}

fn says(check: CheckKind, verdict: Verdict, reason: ReasonCode) -> CheckResult {
    CheckResult::new(check, verdict, reason, "")
}

#[test]
fn silence_is_a_denial() {
    let decision = Decision::join(vec![], basis());
    assert_eq!(
        (decision.verdict(), decision.primary_reason()),
        (Verdict::Deny, ReasonCode::NoMatchingRule)
    );
}

#[test]
fn the_primary_reason_is_the_first_check_at_the_winning_verdict() {
    let decision = Decision::join(
        vec![
            says(CheckKind::Limit, Verdict::Deny, ReasonCode::BudgetExceeded),
            says(CheckKind::Role, Verdict::Deny, ReasonCode::MissingRole),
            says(CheckKind::Mode, Verdict::Allow, ReasonCode::RuleAllow),
            says(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold),
        ],
        basis(),
    );
    assert_eq!(decision.primary_reason(), ReasonCode::MissingRole);
    assert_eq!(decision.obstacles().count(), 3);
}

#[test]
fn order_of_contributions_is_irrelevant() {
    let mut parts = vec![
        says(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow),
        says(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold),
        says(CheckKind::Flow, Verdict::Hold, ReasonCode::UntrustedInfluence),
    ];
    let one = Decision::join(parts.clone(), basis());
    parts.reverse();
    assert_eq!(one, Decision::join(parts, basis()));
}

#[test]
fn adding_a_contribution_never_loosens() {
    let base =
        Decision::join(vec![says(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold)], basis());
    let after =
        base.clone().joined_with(says(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow));
    assert_eq!(after.verdict(), base.verdict());
}

#[test]
fn constraints_join_to_the_tightest() {
    let fields =
        |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>());
    let a = Constraints {
        max_rows: Some(10),
        allowed_fields: fields(&["a", "b"]),
        ..Default::default()
    };
    let b = Constraints {
        max_rows: Some(50),
        allowed_fields: fields(&["b", "c"]),
        mode: Some(ResponseMode::HandleOnly),
        ..Default::default()
    };
    let joined = a.join(&b);
    assert_eq!(joined.max_rows, Some(10));
    assert_eq!(joined.allowed_fields, fields(&["b"]));
    assert_eq!(joined.mode, Some(ResponseMode::HandleOnly));
}

#[test]
fn a_detail_is_cut_at_a_whole_character() {
    let detail = |text: &str| {
        CheckResult::new(CheckKind::Rule, Verdict::Deny, ReasonCode::NoMatchingRule, text).detail
    };
    assert_eq!(detail(&"é".repeat(MAX_DETAIL)), "é".repeat(MAX_DETAIL));
    assert_eq!(detail(&"é".repeat(MAX_DETAIL + 1)), "é".repeat(MAX_DETAIL));
    assert_eq!(detail(&"a".repeat(MAX_DETAIL + 9)), "a".repeat(MAX_DETAIL));
    assert_eq!(detail("short"), "short");
}

#[test]
fn what_people_released_says_so_first() {
    let rule = || says(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow);
    for release in [ReasonCode::ApprovalGranted, ReasonCode::StandingApproval] {
        let floor = CheckResult::new(CheckKind::Floor, Verdict::Allow, release, "approved by ben");
        let decision = Decision::join(vec![rule(), floor.clone()], basis());
        assert_eq!((decision.primary_reason(), decision.detail()), (release, "approved by ben"));
        // What stands in the way still comes first.
        let denied = says(CheckKind::Limit, Verdict::Deny, ReasonCode::RateLimited);
        let decision = Decision::join(vec![rule(), floor, denied], basis());
        assert_eq!(decision.primary_reason(), ReasonCode::RateLimited);
    }
}

#[test]
fn what_waits_for_people_waits_for_one_at_least() {
    let held = || {
        says(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold).with_remedy(Remedy::Approval)
    };
    let decision = Decision::join(vec![held()], basis());
    assert_eq!(decision.authority().quorum, 1);
    assert_eq!(decision.check_results()[0].authority.quorum, 1);
    let two =
        held().with_authority(ApprovalAuthority { quorum: 2, ..ApprovalAuthority::default() });
    assert_eq!(Decision::join(vec![held(), two], basis()).authority().quorum, 2);
    let ask = says(CheckKind::Rule, Verdict::Ask, ReasonCode::InsufficientJustification);
    assert_eq!(Decision::join(vec![ask], basis()).authority().quorum, 0);
}
