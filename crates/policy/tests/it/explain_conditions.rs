//! Each reason of a decision is explained by a condition of its own.

use std::time::Duration;

use serde_json::{Value, json};
use weaver_policy::explain::{FailedCondition, explain, explain_denial};
use weaver_policy::{PolicyQuery, PolicySet, RateLimitWindows};
use weaver_types::{
    AgentId, AllowedAgents, Confidentiality, Effects, Integrity, JustificationSource, Label,
    Operation, ReasonCode, Rung, SafetyMode, SinkKind, Verdict,
};

use crate::support::{Case, NOW, draft, host, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n";

fn read() -> Case {
    Case::new(host("x", Effects::READ_LOCAL), &[])
}

/// What explains a reason.
fn conditions(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    reason: ReasonCode,
) -> Vec<FailedCondition> {
    let mut all = explain(set, query).conditions().to_vec();
    all.retain(|one| one.reason_code == reason);
    all
}

/// Condition, what is required, what is there, and what would change it.
#[track_caller]
fn is(found: &[FailedCondition], condition: &str, required: Value, actual: Value, words: &str) {
    let [one] = found else { panic!("{found:?}") };
    assert_eq!(
        (one.condition.as_str(), &one.required, &one.actual, one.suggestion.as_str()),
        (condition, &required, &actual, words)
    );
}

#[test]
fn what_is_prohibited_or_hidden_is_changed_in_the_contracts() {
    let mut draft = draft("x", Effects::READ_LOCAL);
    draft.rung = Some(Rung::L5);
    let case = Case::new(draft.build().unwrap(), &[]);
    let set = set(ALLOW_ALL, "");
    is(
        &conditions(&set, &case.query(), ReasonCode::Prohibited),
        "rung",
        json!("L4 or lower"),
        json!("L5"),
        "Nothing releases it; the contracts prohibit the capability",
    );
    let hidden = crate::support::set(ALLOW_ALL, "[capabilities.\"x\"]\nvisible = false\n");
    for (set, case) in [(&set, &case), (&hidden, &read())] {
        is(
            &conditions(set, &case.query(), ReasonCode::NotFound),
            "visible",
            json!(true),
            json!(false),
            "Let the contracts show the capability to principal 'agent'",
        );
    }
}

#[test]
fn the_mode_the_agent_and_the_permissions_are_named() {
    let set = set(ALLOW_ALL, "");
    let mut write = Case::new(host("x", Effects::WRITE_LOCAL), &[]);
    write.mode = SafetyMode::Safe;
    is(
        &conditions(&set, &write.query(), ReasonCode::ModeForbids),
        "mode",
        json!("NORMAL"),
        json!("SAFE"),
        "Do it in a run of mode NORMAL, or use a tool that only reads on this machine",
    );
    let mut only = draft("x", Effects::READ_LOCAL);
    only.agents = AllowedAgents::Only([AgentId::parse("a").unwrap()].into());
    let mut case = Case::new(only.build().unwrap(), &[]);
    for actual in [json!(null), json!("b")] {
        is(
            &conditions(&set, &case.query(), ReasonCode::AgentNotAllowed),
            "agent",
            json!({ "only": ["a"] }),
            actual,
            "Act through an agent that the contract admits, or admit this one there",
        );
        case.principal.agent = Some(AgentId::parse("b").unwrap());
    }
    let mut needs = draft("x", Effects::READ_LOCAL);
    needs.permissions = ["a".to_owned(), "b".to_owned(), "c".to_owned()].into();
    let mut case = Case::new(needs.build().unwrap(), &[]);
    case.principal.permissions = ["b".to_owned()].into();
    is(
        &conditions(&set, &case.query(), ReasonCode::MissingPermission),
        "permissions",
        json!(["a", "b", "c"]),
        json!(["b"]),
        "Add permission 'a' and 'c' to principal 'agent'",
    );
}

#[test]
fn a_document_that_expired_is_renewed() {
    let end = NOW.after(Duration::from_secs(1));
    let set = set(&format!("expires = {}\n{ALLOW_ALL}", end.rfc3339()), "");
    let case = read();
    let query = PolicyQuery { now: end, ..case.query() };
    is(
        &conditions(&set, &query, ReasonCode::PolicyUnavailable),
        "expires",
        json!({ "policy": "2027-01-15T08:00:01.000000Z", "contracts": null }),
        json!("2027-01-15T08:00:01.000000Z"),
        "Renew the document: set `expires` later, raise `version`, sign it again",
    );
}

#[test]
fn what_flow_holds_is_released_by_people_or_avoided() {
    let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
    draft.sink = Some(SinkKind::ExternalSend);
    let mut case = Case::new(draft.build().unwrap(), &[]);
    case.label = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
    let bounds = "[approvals.flow]\nquorum = 2\nmin_trust = 700\nclearance = \"restricted\"\n\
                  scopes = [\"a\", \"b\"]\n";
    let release = "Have somebody with the authority release it: 2 different approvers, trust of at \
                   least 700, clearance restricted, scope 'a' and 'b'";
    for (policy, people) in [
        (ALLOW_ALL.to_owned(), "Have somebody with the authority release it: one approver"),
        (format!("{ALLOW_ALL}{bounds}"), release),
    ] {
        let set = set(&policy, "");
        is(
            &conditions(&set, &case.query(), ReasonCode::ClearanceExceeded),
            "clearance",
            json!("internal"),
            json!("restricted"),
            &format!("Begin a new run without such data, or: {people}"),
        );
        is(
            &conditions(&set, &case.query(), ReasonCode::UntrustedInfluence),
            "integrity",
            json!("trusted"),
            json!({ "integrity": "untrusted", "taints": json!(case.label.taints) }),
            &format!("Begin a new run without untrusted data, or: {people}"),
        );
    }
}

#[test]
fn what_is_missing_from_the_request_is_asked_for() {
    let hold = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"require_approval\"\n";
    let set = set(hold, "");
    let case = Case { arguments: None, ..read() };
    is(
        &conditions(&set, &case.query(), ReasonCode::ArgumentsRequired),
        "arguments",
        json!("present"),
        json!("absent"),
        "Ask again with the arguments of the call",
    );
    is(
        &conditions(&set, &case.query(), ReasonCode::ApprovalRequired),
        "approval",
        json!({ "quorum": 1 }),
        json!("none"),
        "Have somebody with the authority release it: one approver",
    );
}

#[test]
fn a_limit_that_is_used_up_is_explained_and_no_part_of_a_denial() {
    let limit = "[[limits]]\nname = \"few\"\nmatch = {}\nmax_calls = 1\nwindow_s = 60\n";
    let set = set(&format!("{ALLOW_ALL}{limit}"), "");
    let (case, mut windows) = (read(), RateLimitWindows::new());
    windows.record(&case.query(), set.limits());
    let query = PolicyQuery { windows: Some(&windows), ..case.query() };
    is(
        &conditions(&set, &query, ReasonCode::RateLimited),
        "rate_limited",
        json!({ "after_ms": 60_000 }),
        json!("limit `few`: 1 calls in 60 s are used up"),
        "Try again in 60000 ms",
    );
    let denial = explain_denial(&set, &query);
    assert!(!denial.denied);
    assert_eq!(denial.rule_name, "allowed");
    assert_eq!(denial.reason_code, None);
    assert_eq!(denial.narrative, "Request for 'x' by 'agent' would be allowed by policy 't'.");
}

const DEMANDING: &str = r#"
[[rules]]
name = "demanding"
match = { capability = "x" }
effect = "allow"
require.roles = { any = ["a", "b"], all = ["c", "d"] }
require.permissions = ["p", "q"]
require.attributes = { tenant = "*", team = "x*" }
require.justification = { min_chars = 5, sources = ["human", "host"] }
"#;

#[test]
fn everything_that_a_rule_requires_is_told_at_once() {
    let mut case = read().justified("no", JustificationSource::Human);
    case.principal.roles = ["c".to_owned()].into();
    case.principal.permissions = ["q".to_owned()].into();
    case.principal.attributes.insert("team".to_owned(), "y".to_owned());
    let explanation = explain(&set(DEMANDING, ""), &case.query());
    let found: Vec<_> = explanation
        .conditions()
        .iter()
        .map(|one| {
            assert_eq!(one.rule.as_deref(), Some("demanding"));
            (one.condition.as_str(), one.reason_code, one.suggestion.as_str())
        })
        .filter(|(_, code, _)| *code != ReasonCode::ArgumentsRequired)
        .collect();
    let expected = [
        ("roles", ReasonCode::MissingRole, "Add 'a' or 'b' and 'd' role to principal 'agent'"),
        ("permissions", ReasonCode::MissingPermission, "Add permission 'p' to principal 'agent'"),
        (
            "team_attribute",
            ReasonCode::MissingAttribute,
            "Give principal 'agent' an attribute 'team' that fits 'x*'",
        ),
        (
            "tenant_attribute",
            ReasonCode::MissingAttribute,
            "Add 'tenant' attribute to principal 'agent'",
        ),
        (
            "min_justification",
            ReasonCode::InsufficientJustification,
            "Provide justification with at least 5 characters (currently 2)",
        ),
    ];
    for one in expected {
        assert!(found.contains(&one), "{one:?} in {found:#?}");
    }
}

#[test]
fn a_denial_tells_roles_and_permissions_first_and_attributes_before_the_rest() {
    let mut draft = draft("x", Effects::READ_LOCAL);
    draft.rung = Some(Rung::L5);
    let case = Case::new(draft.build().unwrap(), &[]);
    let denial = explain_denial(&set(DEMANDING, ""), &case.query());
    let names: Vec<_> = denial.failed_conditions.iter().map(|one| one.condition.as_str()).collect();
    let first = ["roles", "permissions", "min_justification", "team_attribute", "tenant_attribute"];
    assert_eq!(names[..5], first);
    assert!(names[5..].contains(&"rung") && names[5..].contains(&"visible"), "{names:?}");
    assert_eq!(denial.rule_name, "read-roles");
}

#[test]
fn only_the_roles_that_are_missing_are_to_be_added() {
    let words = |roles: &[&str]| {
        let rule = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n\
                    require.roles = { any = [\"a\", \"b\"], all = [\"c\"] }\n";
        let case = Case::new(host("x", Effects::READ_LOCAL), roles);
        explain(&set(rule, ""), &case.query()).conditions()[0].suggestion.clone()
    };
    assert_eq!(words(&["a"]), "Add 'c' role to principal 'agent'");
    assert_eq!(words(&["c"]), "Add 'a' or 'b' role to principal 'agent'");
    assert_eq!(words(&[]), "Add 'a' or 'b' and 'c' role to principal 'agent'");
}

#[test]
fn an_attribute_that_would_escape_a_denial_is_named() {
    let rule = "[[rules]]\nname = \"no\"\neffect = \"deny\"\n\
                match = { unless = { attributes = { tenant = \"x*\" } } }\n";
    let set = set(rule, "");
    for held in [None, Some("y")] {
        let mut case = read();
        let tenant = held.map(|value| ("tenant".to_owned(), value.to_owned()));
        case.principal.attributes.extend(tenant);
        let explanation = explain(&set, &case.query());
        let one = &explanation.conditions()[0];
        assert_eq!((one.condition.as_str(), &one.required), ("tenant_attribute", &json!("x*")));
        assert_eq!(one.actual, json!(held.unwrap_or("absent")));
    }
}

/// What is explained of a call with this justification under a rule that asks for one.
fn justified(text: &str, source: JustificationSource, operation: Operation) -> Vec<String> {
    let rule = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n\
                require.justification = { min_chars = 5, sources = [\"human\", \"host\"] }\n";
    let case = Case { operation, ..read().justified(text, source) };
    let explanation = explain(&set(rule, ""), &case.query());
    explanation.conditions().iter().map(|one| one.condition.clone()).collect()
}

#[test]
fn a_justification_falls_short_by_its_length_or_by_its_source() {
    use JustificationSource::{Host, Human, Model};
    let none: [&str; 0] = [];
    assert_eq!(justified("five5", Human, Operation::Invoke), none);
    assert_eq!(justified("five5", Host, Operation::Invoke), none);
    assert_eq!(justified("four", Human, Operation::Invoke), ["min_justification"]);
    assert_eq!(justified("five5", Model, Operation::Invoke), ["justification_source"]);
    assert_eq!(justified("four", Model, Operation::Invoke), ["min_justification"]);
    assert_eq!(justified("", Human, Operation::View), none);
}

#[test]
fn the_words_of_a_denial_by_a_rule_say_what_escapes_it() {
    let deny = |matches: &str| {
        let rule =
            format!("[[rules]]\nname = \"no\"\nmatch = {{ {matches} }}\neffect = \"deny\"\n");
        let mut case = read();
        case.arguments = Some(json!({ "to": "b" }));
        let set = set(&rule, "");
        let all = explain(&set, &case.query());
        let found = all.conditions().iter();
        found
            .map(|one| (one.condition.clone(), one.actual.clone(), one.suggestion.clone()))
            .collect::<Vec<_>>()
    };
    let rule = |actual: Value, words: &str| vec![("rule".to_owned(), actual, words.to_owned())];
    assert_eq!(
        deny("capability = \"x\", mode = \"NORMAL\""),
        rule(
            json!({ "capability": ["x"], "mode": ["NORMAL"] }),
            "Only a request that differs in capability, mode escapes the rule"
        )
    );
    assert_eq!(
        deny(""),
        rule(json!({}), "Nothing in the request can change it: the rule applies to every request")
    );
    let suffix = |suffix: &str| {
        format!("unless = {{ arguments = [{{ at = \"/to\", suffix = \"{suffix}\" }}] }}")
    };
    assert_eq!(
        deny(&suffix("@a")),
        [("argument /to".to_owned(), json!("b"), "Change the argument at '/to'".to_owned())]
    );
    let two = "not = { arguments = [{ at = \"/to\", equals = \"b\" }, { at = \"/cc\", present = true }] }";
    assert_eq!(
        deny(two),
        [("argument /cc".to_owned(), json!(null), "Change the argument at '/cc'".to_owned())]
    );
}

#[test]
fn at_most_three_rules_that_nearly_match_are_named() {
    let rules = |count: usize| {
        let rule = |n| {
            format!(
                "[[rules]]\nname = \"r{n}\"\nmatch = {{ capability = \"x\", principal = \"p{n}\" }}\n\
                 effect = \"allow\"\n"
            )
        };
        let deny = "[[rules]]\nname = \"d\"\nmatch = { capability = \"x\", principal = \"q\" }\n\
                    effect = \"deny\"\n";
        (0..count).map(rule).collect::<String>() + deny
    };
    let near = |count| {
        let all = explain(&set(&rules(count), ""), &read().query());
        all.conditions()[0].suggestion.clone()
    };
    let add = "Add an allow rule that matches the request";
    let rule = |n| format!("rule `r{n}` would match but for `principal`");
    assert_eq!(near(0), add);
    assert_eq!(near(2), format!("{add}; {}; {}", rule(0), rule(1)));
    for count in [3, 4, 9] {
        assert_eq!(near(count), format!("{add}; {}; {}; {}", rule(0), rule(1), rule(2)));
    }
}

#[test]
fn an_explanation_is_written_as_decision_and_conditions() {
    let (set, case) = (set("", ""), read());
    let explanation = explain(&set, &case.query());
    let written = explanation.to_json().unwrap();
    assert_eq!(written["decision"], serde_json::to_value(set.decide(&case.query())).unwrap());
    assert_eq!(written["conditions"], serde_json::to_value(explanation.conditions()).unwrap());
    assert_eq!(written.as_object().unwrap().len(), 2);
    assert_eq!(written["conditions"][0]["condition"], "rule");
    assert_eq!(explanation.decision().verdict(), Verdict::Deny);
}
