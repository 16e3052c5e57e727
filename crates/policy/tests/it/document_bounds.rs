//! The bounds of documents, from both sides, and what is said beyond them.

use std::collections::BTreeSet;

use weaver_policy::{
    Contract, Contracts, DENY_RULE_CODES, Effect, LoadError, MatchConditions, Pattern, Policy,
    PolicySet, RateLimit, RoleLimit, Rule, RuleEnforcement,
};
use weaver_types::ReasonCode;

use crate::support::{codes, load, set};

fn in_code(policy: Policy) -> Result<PolicySet, LoadError> {
    PolicySet::from_code(policy, Contracts::new("c"))
}

fn problems(policy: Policy) -> Vec<(&'static str, String)> {
    let Err(error) = in_code(policy) else { return Vec::new() };
    error.findings().iter().map(|one| (one.code, one.message.clone())).collect()
}

#[test]
fn a_list_has_at_most_twenty_thousand_entries() {
    let many = |count: usize| {
        let names: Vec<_> = (0..count).map(|n| format!("\"h{n}\"")).collect();
        load(&format!("trusted_hosts = [{}]\n", names.join(",")), "", "")
    };
    assert!(many(20_000).is_ok());
    let error = many(20_001).unwrap_err();
    let finding = &error.findings()[0];
    assert_eq!(finding.code, "policy.too_many");
    assert_eq!(finding.message, "20001 entries, the limit is 20000");
    assert_eq!(finding.key.as_deref(), Some("trusted_hosts"));
}

#[test]
fn a_policy_in_code_has_at_most_twenty_thousand_rules_and_as_many_limits() {
    let mut policy = Policy::new("p");
    policy.rules = (0..20_001).map(|n| Rule::new(format!("r{n}"), Effect::Deny)).collect();
    let too_many = |what: &str| vec![("policy.too_many", what.to_owned())];
    assert_eq!(problems(policy.clone()), too_many("20001 rules, the limit is 20000"));
    policy.rules.clear();
    policy.limits = (0..20_001).map(|n| RateLimit::new(format!("l{n}"), 1, 1)).collect();
    assert_eq!(problems(policy.clone()), too_many("20001 limits, the most are 20000"));
    policy.limits.pop();
    assert!(problems(policy).is_empty());
}

#[test]
fn a_name_has_1_to_128_visible_bytes() {
    let long = |n: usize| "n".repeat(n);
    let wrong = "the name is empty, too long or holds hidden characters".to_owned();
    for (name, good) in [
        (long(1), true),
        (long(128), true),
        (long(129), false),
        (long(300), false),
        (String::new(), false),
        (" ".to_owned(), false),
        ("a\u{202e}b".to_owned(), false),
        ("a\nb".to_owned(), false),
        ("a b".to_owned(), true),
    ] {
        let expected = if good { vec![] } else { vec![("policy.text", wrong.clone())] };
        let rule = Policy::new("p").with_rule(Rule::new(name.clone(), Effect::Deny));
        assert_eq!(problems(rule), expected, "{name:?}");
        let limit = Policy::new("p").with_limit(RateLimit::new(name.clone(), 1, 1));
        assert_eq!(problems(limit), expected, "{name:?}");
    }
}

#[test]
fn a_limit_has_bounds_for_its_calls_and_for_its_seconds() {
    for (calls, seconds, good) in [
        (1, 1, true),
        (100_000, 3_600, true),
        (0, 60, false),
        (100_001, 60, false),
        (1, 0, false),
        (1, 3_601, false),
    ] {
        let codes: Vec<_> =
            problems(Policy::new("p").with_limit(RateLimit::new("l", calls, seconds)))
                .into_iter()
                .map(|(code, _)| code)
                .collect();
        let expected = if good { vec![] } else { vec!["policy.bounds"] };
        assert_eq!(codes, expected, "{calls} {seconds}");
    }
}

#[test]
fn a_role_has_at_least_the_calls_of_everybody_and_at_most_the_bound() {
    let role = |names: &[&str], max_calls| {
        let mut limit = RateLimit::new("l", 10, 60);
        let any: BTreeSet<_> = names.iter().map(|name| (*name).to_owned()).collect();
        limit.for_roles = vec![RoleLimit { any, max_calls }];
        problems(Policy::new("p").with_limit(limit)).len()
    };
    for (calls, wrong) in [(9, 1), (10, 0), (11, 0), (100_000, 0), (100_001, 1)] {
        assert_eq!(role(&["ops"], calls), wrong, "{calls}");
    }
    assert_eq!(role(&[], 10), 1);
}

#[test]
fn tables_and_lists_nest_no_deeper_together_than_alone() {
    let nested = |tables: usize, lists: usize| {
        let name = vec!["a"; tables].join(".");
        codes(&format!("[{name}]\nx = {}{}\n", "[".repeat(lists), "]".repeat(lists)))
    };
    // The document itself is a table.
    assert_eq!(nested(20, 11), ["policy.unknown_key"]);
    assert_eq!(nested(20, 12), ["policy.too_deep"]);
    assert_eq!(nested(31, 1), ["policy.too_deep"]);
}

#[test]
fn a_value_of_another_type_is_named() {
    for (value, found) in [
        ("\"x\"", "this is text"),
        ("1", "this is a whole number"),
        ("1.5", "this is a number"),
        ("true", "this is true or false"),
        ("2027-01-31T00:00:00Z", "this is a point in time"),
        ("[1]", "this is a list"),
    ] {
        let error = load(&format!("principals = {value}\n"), "", "").unwrap_err();
        let finding = &error.findings()[0];
        assert_eq!(finding.code, "policy.type", "{value}");
        assert_eq!((finding.message.as_str(), finding.remedy.as_str()), (found, "write a table"));
    }
    let error = load("trusted_hosts = { a = 1 }\n", "", "").unwrap_err();
    assert_eq!(error.findings()[0].message, "this is a table");
}

#[test]
fn a_text_has_at_most_4096_bytes() {
    let host = |length: usize| codes(&format!("trusted_hosts = [\"{}\"]\n", "h".repeat(length)));
    assert!(host(1).is_empty() && host(4_096).is_empty());
    for length in [0, 4_097, 9_000] {
        assert_eq!(host(length), ["policy.text"], "{length}");
    }
}

#[test]
fn a_finding_quotes_a_name_that_is_not_plain() {
    let place = |name: &str| {
        let error = load(&format!("[principals.a]\n\"{name}\" = 1\n"), "", "").unwrap_err();
        error.findings()[0].key.clone().unwrap()
    };
    let long = |count: usize| "n".repeat(count);
    for (name, shown) in [
        ("a", "a".to_owned()),
        ("a-b_1A", "a-b_1A".to_owned()),
        ("a b", "\"a b\"".to_owned()),
        ("a.b", "\"a.b\"".to_owned()),
        ("", "\"\"".to_owned()),
        (&long(80), long(80)),
        (&long(81), format!("\"{}\"", long(80))),
    ] {
        assert_eq!(place(name), format!("principals.a.{shown}"));
    }
}

#[test]
fn a_table_or_list_is_found_at_its_key_and_any_other_value_where_it_stands() {
    let column = |body: &str| load(body, "", "").unwrap_err().findings()[0].column;
    assert_eq!(column("principals = [1]\n"), Some(1));
    assert_eq!(column("trusted_hosts = { a = 1 }\n"), Some(1));
    assert_eq!(column("principals = \"x\"\n"), Some(14));
    assert_eq!(column("principals = 1\n"), Some(14));
}

#[test]
fn matches_in_code_nest_at_most_32_levels() {
    let codes = |levels: usize, wrap: fn(MatchConditions) -> MatchConditions| {
        let mut rule = Rule::new("r", Effect::Deny);
        rule.matches = (0..levels).fold(MatchConditions::default(), |inner, _| wrap(inner));
        problems(Policy::new("p").with_rule(rule)).into_iter().map(|(code, _)| code).collect()
    };
    let wraps: [fn(MatchConditions) -> MatchConditions; 3] = [
        |inner| MatchConditions { any: vec![inner], ..MatchConditions::default() },
        |inner| MatchConditions { not: Some(Box::new(inner)), ..MatchConditions::default() },
        |inner| MatchConditions { unless: Some(Box::new(inner)), ..MatchConditions::default() },
    ];
    for wrap in wraps {
        let none: Vec<&str> = codes(31, wrap);
        assert!(none.is_empty(), "{none:?}");
        assert_eq!(codes(32, wrap), ["policy.too_deep"]);
    }
}

#[test]
fn a_deny_rule_in_code_gives_a_code_for_denials() {
    let of = |effect, code| {
        let mut rule = Rule::new("r", effect);
        rule.code = Some(code);
        problems(Policy::new("p").with_rule(rule)).len()
    };
    for (code, _) in DENY_RULE_CODES {
        assert_eq!((of(Effect::Deny, code), of(Effect::Allow, code)), (0, 1), "{code:?}");
    }
    assert_eq!(of(Effect::Deny, ReasonCode::RuleAllow), 1);
    assert_eq!(of(Effect::Deny, ReasonCode::RateLimited), 1);
}

#[test]
fn what_is_wrong_in_code_is_named_by_its_way() {
    let mut contracts = Contracts::new("c");
    let contract = Contract { timeout_ms: Some(1), ..Contract::default() };
    contracts.capabilities.insert(Pattern::parse("docs.*").unwrap(), contract);
    let error = PolicySet::from_code(Policy::new("p"), contracts).unwrap_err();
    let finding = &error.findings()[0];
    assert_eq!(finding.key.as_deref(), Some("capabilities.\"docs.*\".timeout_ms"));
    assert_eq!((finding.code, finding.file.as_str()), ("policy.bounds", "code"));
}

fn issuer(name: &str, more: &str) -> String {
    format!("[issuers.\"{name}\"]\nissuer = \"https://id.example\"\n{more}\n")
}

#[test]
fn an_issuer_has_a_short_plain_name() {
    for name in ["a", "a-b_1", &"a".repeat(32)] {
        assert!(codes(&issuer(name, "")).is_empty(), "{name}");
    }
    for name in ["", "A", "a b", "a.b", "\u{e9}", &"a".repeat(33), &"a".repeat(80)] {
        assert_eq!(codes(&issuer(name, "")), ["policy.value"], "{name}");
    }
}

#[test]
fn an_issuer_is_reached_over_https_or_on_this_machine() {
    let address = |text: &str| {
        codes(&format!("[issuers.a]\nissuer = \"https://id.example\"\njwks_uri = \"{text}\"\n"))
    };
    for text in [
        "https://id.example",
        "https://id.example:8443/keys",
        "http://localhost",
        "http://localhost:8080/keys",
        "http://127.0.0.1:1/",
        "http://[::1]:8080/a",
    ] {
        assert!(address(text).is_empty(), "{text}");
    }
    for text in [
        "https://",
        "https:///keys",
        "http://id.example/",
        "http://localhost.evil.example/",
        "http://",
        "ftp://id.example/",
        "id.example",
        "https://id.example/a b",
        "https://id.example/\u{a0}",
        "https://id.example/\\u0007",
        "https://id.example/#a",
        "https://user@id.example/",
        "https://id.example/?a=b",
        "https://id.example/\\\\a",
    ] {
        assert_eq!(address(text), ["policy.value"], "{text}");
    }
}

#[test]
fn an_issuer_gives_the_roles_that_it_names() {
    let roles = "[issuers.a.groups]\nstaff = [\"reader\", \"writer\"]\n[issuers.a.scopes]\n\
                 admin = \"admin\"\n";
    let set = set(&issuer("a", roles), "");
    let issuer = &set.policy().issuers["a"];
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(issuer.groups.len(), 1);
    assert_eq!(issuer.groups["staff"], of(&["reader", "writer"]));
    assert_eq!(issuer.scopes.len(), 1);
    assert_eq!(issuer.scopes["admin"], of(&["admin"]));
    let plain = crate::support::set(&self::issuer("a", ""), "");
    assert!(plain.policy().issuers["a"].groups.is_empty());
}

#[test]
fn a_contract_stands_under_an_id_or_a_pattern() {
    let under = |name: &str| {
        let result = load("", &format!("[capabilities.\"{name}\"]\n"), "");
        result.err().map(|error| error.code())
    };
    assert_eq!(under("docs.read"), None);
    assert_eq!(under("docs.*"), None);
    assert_eq!(under("docs read*"), None);
    assert_eq!(under("docs read"), Some("policy.value"));
}

#[test]
fn what_is_enforced_anyway_is_not_written_down() {
    assert_eq!(RuleEnforcement::Enforce.as_str(), "enforce");
    assert_eq!(RuleEnforcement::Observe.as_str(), "observe");
    let written = |enforcement| {
        let mut policy = Policy::new("p");
        policy.enforcement = enforcement;
        serde_json::to_value(policy).unwrap().get("enforcement").cloned()
    };
    assert_eq!(written(RuleEnforcement::Enforce), None);
    assert_eq!(written(RuleEnforcement::Observe), Some("observe".into()));
}
