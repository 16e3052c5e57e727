//! What a policy that observes enforces, and what it says that it would have done.

use serde_json::json;
use weaver_policy::{
    Contracts, Effect, Pattern, Policy, PolicySet, RateLimitWindows, Rule, RuleEnforcement,
    document_digest,
};
use weaver_types::signature::DocumentKind;
use weaver_types::{
    Capability, Confidentiality, Decision, Effects, Integrity, Label, MaskedValue, Operation,
    ReasonCode, Rung, SafetyMode, SinkKind, ValueFamily, Verdict,
};

use crate::support::{Case, draft, head, host, load, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n";

fn observing(rules: &str) -> PolicySet {
    set(&format!("enforcement = \"observe\"\n{rules}"), "")
}

fn would_have(decision: &Decision) -> (Verdict, ReasonCode) {
    let would = decision.would_have().unwrap();
    (would.verdict(), would.primary_reason())
}

fn on_rung(rung: Rung) -> Case {
    let mut draft = draft("x", Effects::READ_LOCAL);
    draft.rung = Some(rung);
    Case::new(draft.build().unwrap(), &[])
}

/// The same policy, enforced by nobody.
#[test]
fn a_policy_that_observes_lets_through_what_it_would_have_denied_or_held() {
    let set = observing("");
    let denied = Case::new(host("x", Effects::WRITE_LOCAL), &[]).decide(&set);
    assert_eq!(
        (denied.verdict(), denied.primary_reason()),
        (Verdict::Allow, ReasonCode::NotEnforced)
    );
    assert_eq!(would_have(&denied), (Verdict::Deny, ReasonCode::NoMatchingRule));
    assert!(denied.detail().contains("no rule matches"), "{}", denied.detail());

    let held = on_rung(Rung::L4).decide(&observing(ALLOW_ALL));
    assert_eq!(held.verdict(), Verdict::Allow);
    assert_eq!(would_have(&held), (Verdict::Hold, ReasonCode::FloorHold));
    assert_eq!(held.not_enforced().map(Decision::verdict), Some(Verdict::Hold));

    let allowed = on_rung(Rung::L0).decide(&observing(ALLOW_ALL));
    assert_eq!(would_have(&allowed), (Verdict::Allow, ReasonCode::RuleAllow));
    assert_eq!((allowed.primary_reason(), allowed.detail()), (ReasonCode::RuleAllow, "rule `all`"));
    assert_eq!(allowed.not_enforced(), None);
}

#[test]
fn a_policy_that_enforces_says_nothing_of_what_would_have_been() {
    assert_eq!(on_rung(Rung::L4).decide(&set(ALLOW_ALL, "")).would_have(), None);
    assert_eq!(on_rung(Rung::L4).decide(&set(ALLOW_ALL, "")).would_have(), None);
}

#[test]
fn l5_the_run_mode_and_what_is_hidden_hold_under_every_policy() {
    let set = observing(ALLOW_ALL);
    assert_eq!(on_rung(Rung::L5).answer(&set), (Verdict::Deny, ReasonCode::Prohibited));
    let mut safe = on_rung(Rung::L3);
    safe.mode = SafetyMode::Safe;
    assert_eq!(safe.answer(&set), (Verdict::Deny, ReasonCode::ModeForbids));
    let contracts = "[capabilities.\"x\"]\nvisible = false\n";
    {
        let hiding = load("", contracts, "").unwrap();
        let mut policy = hiding.policy().clone();
        policy.enforcement = RuleEnforcement::Observe;
        let hiding = PolicySet::from_code(policy, hiding.contracts().clone()).unwrap();
        assert_eq!(on_rung(Rung::L0).answer(&hiding).0, Verdict::Deny);
    }
}

#[test]
fn a_masked_value_goes_nowhere_that_the_firewall_does_not_let_it_go() {
    let mut draft = draft("mail.send", Effects::WRITE_OPEN);
    draft.sink = Some(SinkKind::ExternalSend);
    let case = Case::new(draft.build().unwrap(), &[]);
    let masked = [MaskedValue {
        mask: "[SECRET_1]".to_owned(),
        place: "/body".to_owned(),
        kind: "api_key".to_owned(),
        family: ValueFamily::Secret,
        label: Label::new(Confidentiality::Restricted, Integrity::Trusted),
        origins: ["files".to_owned()].into(),
        stays_readable: false,
    }];
    let set = observing(ALLOW_ALL);
    let decision = set.decide(&weaver_policy::PolicyQuery {
        masked: &masked,
        origin: Some("mail"),
        ..case.query()
    });
    assert_eq!(
        (decision.verdict(), decision.primary_reason()),
        (Verdict::Hold, ReasonCode::MaskedValueFlow)
    );
}

#[test]
fn the_constraints_of_what_is_not_enforced_still_bound_the_result() {
    let rules = "[[rules]]\nname = \"ask\"\nmatch = {}\neffect = \"require_approval\"\n\
                 constraints = { max_rows = 5 }\n";
    let decision = Case::new(host("x", Effects::READ_LOCAL), &[]).decide(&observing(rules));
    assert_eq!(decision.verdict(), Verdict::Allow);
    assert_eq!(decision.constraints().max_rows, Some(5));
    assert_eq!(
        decision.authority(),
        &weaver_types::ApprovalAuthority::default(),
        "nobody is asked"
    );
}

#[test]
fn an_observed_rule_neither_stops_nor_allows() {
    let rule = |effect: &str, enforcement: &str| {
        format!(
            "[[rules]]\nname = \"r\"\nmatch = {{ capability = \"x\" }}\neffect = \"{effect}\"\n\
             enforcement = \"{enforcement}\"\n"
        )
    };
    let answer = |rules: String| {
        let decision = Case::new(host("x", Effects::READ_LOCAL), &[]).decide(&set(&rules, ""));
        let would = decision.would_have().map_or(decision.verdict(), Decision::verdict);
        (decision.verdict(), would)
    };
    for (effect, would) in [("deny", Verdict::Deny), ("require_approval", Verdict::Hold)] {
        let beside = |enforcement| rule(effect, enforcement) + ALLOW_ALL;
        assert_eq!(answer(beside("observe")), (Verdict::Allow, would));
        assert_eq!(answer(beside("enforce")), (would, would));
        // Without any rule that allows, it is denied as ever.
        assert_eq!(answer(rule(effect, "observe")), (Verdict::Deny, would));
    }
    assert_eq!(answer(rule("allow", "observe")), (Verdict::Deny, Verdict::Allow));
}

#[test]
fn only_what_would_have_stopped_a_call_is_recorded_of_a_rule_that_observes() {
    let rule = |name: &str, effect: &str, enforcement: &str| {
        format!(
            "[[rules]]\nname = \"{name}\"\nmatch = {{}}\neffect = \"{effect}\"\n\
             enforcement = \"{enforcement}\"\n"
        )
    };
    let recorded = |rules: &str| {
        let decision = Case::new(host("x", Effects::READ_LOCAL), &[]).decide(&set(rules, ""));
        let all = decision.check_results().iter();
        let not_enforced = all.filter(|one| one.reason == ReasonCode::NotEnforced);
        not_enforced.map(|one| one.detail.clone()).collect::<Vec<_>>()
    };
    let denied = "not enforced; it would have been denied (explicit_deny_rule): rule `d`";
    let held = "not enforced; it would have been held (approval_required): rule `h`";
    for (rules, expected) in [
        (rule("d", "deny", "observe") + ALLOW_ALL, vec![denied]),
        (rule("h", "require_approval", "observe") + ALLOW_ALL, vec![held]),
        (rule("d", "deny", "enforce") + ALLOW_ALL, vec![]),
        (rule("a", "allow", "observe"), vec![]),
        (rule("a", "allow", "observe") + "require.roles = { any = [\"r\"] }\n", vec![]),
        (rule("d", "deny", "enforce") + &rule("a", "allow", "observe"), vec![]),
    ] {
        assert_eq!(recorded(&rules), expected, "{rules}");
    }
}

#[test]
fn a_rule_is_enforced_in_a_policy_that_observes() {
    let rules = "[[rules]]\nname = \"never\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n\
                 enforcement = \"enforce\"\n";
    let set = observing(rules);
    let answer = |id: &str| Case::new(host(id, Effects::WRITE_LOCAL), &[]).answer(&set);
    assert_eq!(answer("x"), (Verdict::Deny, ReasonCode::ExplicitDenyRule));
    assert_eq!(answer("y"), (Verdict::Allow, ReasonCode::NotEnforced));
}

#[test]
fn a_limit_is_recorded_and_not_enforced() {
    let limits = "[[limits]]\nname = \"few\"\nmatch = {}\nmax_calls = 1\nwindow_s = 60\n";
    let set = observing(&format!("{ALLOW_ALL}{limits}"));
    let case = Case::new(host("x", Effects::READ_LOCAL), &[]);
    let mut windows = RateLimitWindows::new();
    windows.record(&case.query(), set.limits());
    let said = windows.check(&case.query(), set.limits()).remove(0);
    let decision = set.with_limit_result(case.decide(&set), said.clone());
    assert_eq!(decision.verdict(), Verdict::Allow);
    assert_eq!(would_have(&decision), (Verdict::Deny, ReasonCode::RateLimited));
    let enforcing = crate::support::set(ALLOW_ALL, "");
    let decision = enforcing.with_limit_result(case.decide(&enforcing), said);
    assert_eq!(decision.primary_reason(), ReasonCode::RateLimited);
}

#[test]
fn what_is_signed_covers_the_enforcement() {
    let text = head("policy");
    let digest =
        |more: &str| document_digest(DocumentKind::Policy, &format!("{text}{more}")).unwrap();
    assert_ne!(digest("enforcement = \"observe\"\n"), digest("enforcement = \"enforce\"\n"));
    assert_ne!(digest("enforcement = \"observe\"\n"), digest(""));
}

#[test]
fn the_notice_names_what_is_not_enforced() {
    assert_eq!(set(ALLOW_ALL, "").observation_notice(), None);
    let all = observing(ALLOW_ALL).observation_notice().unwrap();
    assert!(all.contains("`t` observes") && all.contains("L5"), "{all}");
    let rule = |name: &str| Rule {
        enforcement: Some(RuleEnforcement::Observe),
        ..Rule::new(name, Effect::Deny).on(Pattern::parse("x").unwrap())
    };
    let policy = Policy::new("t").with_rule(rule("a")).with_rule(rule("b"));
    let some = PolicySet::from_code(policy, Contracts::new("t")).unwrap();
    let some = some.observation_notice().unwrap();
    assert!(some.starts_with("Rule `a` and 1 more observe"), "{some}");
}

/// The checks that hold under every policy.
#[test]
fn a_view_is_observed_too() {
    let mut case = Case::new(host("x", Effects::READ_LOCAL), &[]);
    case.operation = Operation::View;
    let capability: &Capability = &case.capability;
    assert_eq!(capability.rung(), Rung::L0);
    let decision = case.decide(&observing(""));
    assert_eq!(decision.verdict(), Verdict::Allow);
    assert_eq!(would_have(&decision).0, Verdict::Deny);
    assert_eq!(json!(decision)["would_have"]["verdict"], json!("deny"));
}
