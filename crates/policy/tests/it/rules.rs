//! The meaning of `match` and `require`.

use weaver_types::{
    AgentId, ApprovalAuthority, Capability, Confidentiality, Effects, JustificationSource,
    Operation, ReasonCode, Remedy, SafetyMode, Verdict,
};

use crate::support::{Case, NOW, codes, draft, host, set};

fn read(id: &str) -> Capability {
    host(id, Effects::READ_LOCAL)
}

#[test]
fn silence_is_not_permission() {
    let set = set("", "");
    let case = Case::new(read("a"), &["admin"]);
    assert_eq!(case.answer(&set), (Verdict::Deny, ReasonCode::NoMatchingRule));
}

#[test]
fn a_deny_rule_wins_over_any_allow_rule() {
    let rules = r#"
[[rules]]
name = "a"
match = { capability = "docs.*" }
effect = "allow"
[[rules]]
name = "b"
match = { capability = "*.secret" }
effect = "deny"
reason = "not for agents"
"#;
    let set = set(rules, "");
    assert_eq!(Case::new(read("docs.open"), &[]).answer(&set).0, Verdict::Allow);
    let decision = Case::new(read("docs.secret"), &[]).decide(&set);
    assert_eq!(decision.primary_reason(), ReasonCode::ExplicitDenyRule);
    assert_eq!(decision.detail(), "rule `b`: not for agents");
}

#[test]
fn an_approval_rule_holds_with_its_authority() {
    let rules = r#"
[[rules]]
name = "pay"
match = { capability = "pay.*" }
effect = "require_approval"
authority = { min_trust = 900, clearance = "confidential", scopes = ["finance"], roles = ["cfo"], quorum = 2 }
constraints = { max_rows = 5 }
"#;
    let decision = Case::new(read("pay.list"), &[]).decide(&set(rules, ""));
    assert_eq!(decision.verdict(), Verdict::Hold);
    assert_eq!(decision.primary_reason(), ReasonCode::ApprovalRequired);
    let authority = ApprovalAuthority {
        min_trust: Some(900),
        clearance: Some(Confidentiality::Confidential),
        scopes: ["finance".to_owned()].into(),
        roles: [["cfo".to_owned()].into()].into(),
        quorum: 2,
    };
    assert_eq!(*decision.authority(), authority);
    assert_eq!(decision.constraints().max_rows, Some(5));
}

const REQUIRES: &str = r#"
[[rules]]
name = "r"
match = { capability = "x" }
effect = "allow"
[rules.require]
roles = { any = ["a", "b"], all = ["c"] }
permissions = ["p"]
attributes = { tenant = "*", region = "eu-*" }
justification = { min_chars = 5, sources = ["model"] }
"#;

fn full() -> Case {
    let mut case = Case::new(read("x"), &["a", "c"]);
    case.principal.permissions.insert("p".to_owned());
    case.principal.attributes.insert("tenant".to_owned(), String::new());
    case.principal.attributes.insert("region".to_owned(), "eu-1".to_owned());
    case.justified("12345", JustificationSource::Model)
}

#[test]
fn each_unmet_requirement_has_its_own_code() {
    let set = set(REQUIRES, "");
    assert_eq!(full().answer(&set).0, Verdict::Allow);
    let without = |change: fn(&mut Case)| {
        let mut case = full();
        change(&mut case);
        case.answer(&set)
    };
    let deny = |reason| (Verdict::Deny, reason);
    assert_eq!(without(|c| c.principal.roles.retain(|r| r != "a")), deny(ReasonCode::MissingRole));
    assert_eq!(without(|c| c.principal.roles.retain(|r| r != "c")), deny(ReasonCode::MissingRole));
    assert_eq!(without(|c| c.principal.permissions.clear()), deny(ReasonCode::MissingPermission));
    assert_eq!(
        without(|c| c.principal.attributes.retain(|k, _| k != "tenant")),
        deny(ReasonCode::MissingAttribute)
    );
    assert_eq!(
        without(|c| c.principal.attributes.extend([("region".to_owned(), "us-1".to_owned())])),
        deny(ReasonCode::MissingAttribute)
    );
    assert_eq!(
        without(|c| c.request.justification = None),
        (Verdict::Ask, ReasonCode::InsufficientJustification)
    );
}

#[test]
fn the_mildest_shortfall_counts() {
    let rules = r#"
[[rules]]
name = "admins"
match = {}
effect = "allow"
require = { roles = { all = ["admin"] } }
[[rules]]
name = "long"
match = {}
effect = "allow"
require = { justification = { min_chars = 40 } }
[[rules]]
name = "short"
match = {}
effect = "allow"
require = { justification = { min_chars = 20 } }
"#;
    let set = set(rules, "");
    assert_eq!(Case::new(read("x"), &["admin"]).answer(&set).0, Verdict::Allow);
    let decision = Case::new(read("x"), &[]).decide(&set);
    assert_eq!(decision.verdict(), Verdict::Ask);
    let remedy = &decision.obstacles().next().unwrap().discharge;
    assert!(matches!(remedy, Remedy::Justification { min_chars: 20, .. }));
    assert_eq!(decision.obstacles().count(), 1);
}

#[test]
fn constraints_of_all_met_rules_combine_to_the_tightest() {
    let rules = r#"
[[rules]]
name = "a"
match = {}
effect = "allow"
constraints = { max_rows = 10, allowed_fields = ["id", "name"] }
[[rules]]
name = "b"
match = { capability = "x" }
effect = "allow"
constraints = { max_rows = 50, allowed_fields = ["name", "mail"], mode = "summary" }
"#;
    let decision = Case::new(read("x"), &[]).decide(&set(rules, ""));
    let limits = decision.constraints();
    assert_eq!(limits.max_rows, Some(10));
    assert_eq!(limits.allowed_fields.as_ref().unwrap().iter().collect::<Vec<_>>(), ["name"]);
    assert_eq!(limits.mode.unwrap().as_str(), "summary");
}

#[test]
fn every_field_of_a_match_must_hold() {
    let rules = r#"
[[rules]]
name = "r"
effect = "allow"
[rules.match]
capability = ["x.*", "y"]
effects = { impact = "read", world = "closed" }
class = ["read_only", "network"]
rung = "L0"
principal = "ag*"
roles = { any = ["a"] }
agent = "bot-*"
operation = "invoke"
mode = ["NORMAL", "SAFE"]
"#;
    let set = set(rules, "");
    let good = |id: &str, effects| {
        let mut case = Case::new(host(id, effects), &["a"]);
        case.principal.agent = Some(AgentId::parse("bot-1").unwrap());
        case
    };
    let read = || good("x.1", Effects::READ_LOCAL);
    assert_eq!(read().answer(&set).0, Verdict::Allow);
    assert_eq!(good("y", Effects::READ_LOCAL).answer(&set).0, Verdict::Allow);
    let unmatched = |case: Case| {
        let decision = case.decide(&set);
        decision.check_results().iter().any(|c| c.reason == ReasonCode::NoMatchingRule)
    };
    assert!(unmatched(good("y.1", Effects::READ_LOCAL)));
    assert!(unmatched(good("x.1", Effects::READ_OPEN)));
    let with = |change: fn(&mut Case)| {
        let mut case = read();
        change(&mut case);
        case
    };
    assert!(unmatched(with(|c| c.principal.agent = None)));
    assert!(unmatched(with(|c| c.principal.agent = AgentId::parse("x").ok())));
    assert!(unmatched(with(|c| c.principal.roles.clear())));
    assert!(unmatched(with(|c| c.operation = Operation::View)));
    assert!(unmatched(with(|c| c.mode = SafetyMode::Strict)));
}

#[test]
fn without_a_human_channel_a_question_for_people_becomes_a_hold() {
    let rule = |sources: &str| {
        format!(
            "[[rules]]\nname = \"r\"\nmatch = {{}}\neffect = \"allow\"\n\
             require = {{ justification = {{ sources = [{sources}] }} }}\n"
        )
    };
    let answer = |sources: &str, human| {
        let mut case = Case::new(read("x"), &[]);
        case.human = human;
        case.decide(&set(&rule(sources), ""))
    };
    assert_eq!(answer("\"human\", \"host\"", true).verdict(), Verdict::Ask);
    let hold = answer("\"human\", \"host\"", false);
    assert_eq!(hold.verdict(), Verdict::Hold);
    assert_eq!(hold.obstacles().next().unwrap().discharge, Remedy::Approval);
    assert_eq!(answer("\"human\", \"model\"", false).verdict(), Verdict::Ask);
}

#[test]
fn permissions_and_agents_of_the_capability_itself_are_checked() {
    let set = set("[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n", "");
    let mut needs = draft("x", Effects::READ_LOCAL);
    needs.permissions.insert("cal.read".to_owned());
    let mut case = Case::new(needs.build().unwrap(), &[]);
    assert_eq!(case.answer(&set), (Verdict::Deny, ReasonCode::MissingPermission));
    case.principal.permissions.insert("cal.read".to_owned());
    assert_eq!(case.answer(&set).0, Verdict::Allow);

    let mut only = draft("x", Effects::READ_LOCAL);
    only.agents = weaver_types::AllowedAgents::Only([AgentId::parse("a").unwrap()].into());
    let mut case = Case::new(only.build().unwrap(), &[]);
    assert_eq!(case.answer(&set), (Verdict::Deny, ReasonCode::AgentNotAllowed));
    case.principal.agent = Some(AgentId::parse("a").unwrap());
    assert_eq!(case.answer(&set).0, Verdict::Allow);
}

#[test]
fn a_hold_without_arguments_asks_for_them() {
    let rules = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"require_approval\"\n";
    let set = set(rules, "");
    let mut case = Case::new(read("x"), &[]);
    let asks = |case: &Case| {
        let decision = case.decide(&set);
        decision.obstacles().any(|c| c.reason == ReasonCode::ArgumentsRequired)
    };
    assert!(!asks(&case));
    case.arguments = None;
    assert!(asks(&case));
    case.human = false;
    assert!(asks(&case));
}

#[test]
fn conditions_in_a_rule_that_cannot_use_them_are_refused() {
    let rule = |effect: &str, more: &str| {
        codes(&format!("[[rules]]\nname = \"r\"\nmatch = {{}}\neffect = \"{effect}\"\n{more}\n"))
    };
    let require = "require = { roles = { any = [\"a\"] } }";
    assert_eq!(rule("deny", require), ["policy.require_without_allow"]);
    assert_eq!(rule("require_approval", require), ["policy.require_without_allow"]);
    assert_eq!(rule("allow", require), [""; 0]);
    assert_eq!(rule("deny", "require = {}"), ["policy.empty_table"]);
    assert_eq!(rule("deny", "constraints = { max_rows = 1 }"), ["policy.constraints_in_deny"]);
    assert_eq!(rule("allow", "authority = { quorum = 2 }"), ["policy.authority_without_approval"]);
}

#[test]
fn thousands_of_matching_rules_give_a_bounded_decision() {
    let rules: String = (0..2_000)
        .map(|n| {
            format!(
                "[[rules]]\nname = \"r{n:04}\"\nmatch = {{}}\neffect = \"require_approval\"\n\
                 authority = {{ min_trust = {} }}\n",
                n / 2
            )
        })
        .collect();
    let decision = Case::new(read("x"), &[]).decide(&set(&rules, ""));
    assert_eq!(decision.check_results().len(), 17);
    assert_eq!(decision.authority().min_trust, Some(999));
}

#[test]
fn documents_that_expire_while_in_force_allow_nothing() {
    let end = NOW.after(std::time::Duration::from_secs(1));
    let expires = format!("expires = {}\n", end.rfc3339());
    let allow = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";
    let case = Case::new(read("x"), &[]);
    for set in [set(&(expires.clone() + allow), ""), set(allow, &expires)] {
        assert_eq!(case.decide(&set).verdict(), Verdict::Allow);
        let decision = case.decide_at(&set, end);
        assert_eq!(decision.verdict(), Verdict::Deny);
        assert_eq!(decision.primary_reason(), ReasonCode::PolicyUnavailable);
    }
}

#[test]
fn limits_of_the_capability_and_of_the_request_are_joined_in() {
    let set = set("[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n", "");
    let mut limited = draft("x", Effects::READ_LOCAL);
    limited.allowed_fields.insert("name".to_owned());
    let mut case = Case::new(limited.build().unwrap(), &[]);
    case.request.constraints.max_rows = Some(3);
    let decision = case.decide(&set);
    assert!(decision.is_allowed());
    assert_eq!(decision.constraints().max_rows, Some(3));
    assert_eq!(decision.constraints().allowed_fields.as_ref().unwrap().len(), 1);
}

#[test]
fn an_approval_rule_holds_calls_and_lets_their_results_be_looked_into() {
    let rules = r#"
[[rules]]
name = "large"
match = { capability = "x", arguments = [{ at = "/amount", min = 101 }] }
effect = "require_approval"
constraints = { max_rows = 5 }
[[rules]]
name = "local"
match = { capability = "y" }
effect = "allow"
require = { roles = { all = ["r"] } }
[[rules]]
name = "waits"
match = { capability = "y" }
effect = "require_approval"
"#;
    let set = set(rules, "");
    let view = |id: &str, roles: &[&str]| {
        let mut case = Case::new(host(id, Effects::WRITE_LOCAL), roles);
        (case.operation, case.arguments) = (Operation::View, None);
        case.decide(&set)
    };
    let large = view("x", &[]);
    assert_eq!((large.verdict(), large.primary_reason()), (Verdict::Allow, ReasonCode::RuleAllow));
    assert_eq!(large.constraints().max_rows, Some(5));
    // What the principal lacks by now is missed as for a call.
    assert_eq!(view("y", &["r"]).verdict(), Verdict::Allow);
    assert_eq!(view("y", &[]).primary_reason(), ReasonCode::MissingRole);
}

#[test]
fn a_justification_given_for_the_call_serves_its_views() {
    let rule = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n\
                require = { justification = {} }\n";
    let set = set(rule, "");
    let mut case = Case::new(read("x"), &[]);
    assert_eq!(case.answer(&set).0, Verdict::Ask);
    case.operation = Operation::View;
    assert_eq!(case.answer(&set).0, Verdict::Allow);
}

#[test]
fn a_hidden_capability_is_denied_as_unknown() {
    let allow = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";
    let set = set(allow, "[capabilities.\"x\"]\nvisible = false\n");
    assert_eq!(Case::new(read("x"), &[]).answer(&set), (Verdict::Deny, ReasonCode::NotFound));
    assert_eq!(Case::new(read("y"), &[]).answer(&set).0, Verdict::Allow);
}
