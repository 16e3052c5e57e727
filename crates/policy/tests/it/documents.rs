//! Limits, form, and messages that lead to the place.

use weaver_policy::{Effect, Policy, PolicySet, Rule};
use weaver_types::{Confidentiality, PrincipalId};

use crate::support::{NOW, codes, load, policy_text, root};

#[test]
fn a_misspelt_key_is_refused_with_its_place_and_a_suggestion() {
    let body = "\n[[rules]]\nname = \"r\"\neffect = \"allow\"\n  mathc = { capability = \"x\" }\n";
    let error = load(body, "", "").unwrap_err();
    let finding = &error.findings()[1];
    assert_eq!(finding.code, "policy.unknown_key");
    assert_eq!((finding.line, finding.column), (Some(9), Some(3)));
    assert_eq!(finding.key.as_deref(), Some("rules[0].mathc"));
    assert_eq!(finding.remedy, "did you mean `match`?");
    let line = finding.to_string();
    assert!(line.starts_with("policy.toml:9:3: rules[0].mathc: unknown key `mathc`"), "{line}");
}

#[test]
fn a_misspelt_key_is_refused_wherever_it_stands() {
    let rule =
        |inner: &str| codes(&format!("[[rules]]\nname = \"r\"\neffect = \"allow\"\n{inner}\n"));
    for inner in [
        "match = { capabilty = \"x\" }",
        "match = { roles = { anny = [\"a\"] } }",
        "match = { effects = { impakt = \"read\" } }",
        "match = {}\nrequire = { role = { any = [\"a\"] } }",
        "match = {}\nrequire = { justification = { min_char = 3 } }",
        "match = {}\nconstraints = { maxrows = 3 }",
    ] {
        assert!(rule(inner).contains(&"policy.unknown_key"), "{inner}");
    }
    assert_eq!(codes("[principals.a]\nrole = [\"x\"]"), ["policy.unknown_key"]);
    let contracts = load("", "[capabilities.\"x\"]\nefects = \"read_local\"\n", "").unwrap_err();
    assert_eq!(contracts.findings()[0].remedy, "did you mean `effects`?");
    let keys = load("", "", "[approvers.a]\nkeyy = \"\"\n").unwrap_err();
    assert!(keys.findings().iter().any(|f| f.remedy == "did you mean `key`?"));
}

#[test]
fn everything_wrong_in_all_documents_is_told_at_once() {
    let error = load("colour = 1\n", "[capabilities.\"x\"]\nrung = \"L9\"\n", "trust = 1\n");
    let error = error.unwrap_err();
    let files: Vec<_> = error.findings().iter().map(|f| f.file.as_str()).collect();
    assert_eq!(files, ["contracts.toml", "keys.toml", "policy.toml"]);
    assert_eq!(error.to_string().lines().count(), 3);
}

#[test]
fn words_types_and_bounds_are_checked() {
    let rule =
        |inner: &str| codes(&format!("[[rules]]\nname = \"r\"\nmatch = {{}}\n{inner}\n")).join(" ");
    assert_eq!(rule("effect = \"alow\""), "policy.word");
    assert_eq!(rule(""), "policy.missing_key");
    assert_eq!(rule("effect = 1"), "policy.type");
    let rule = |inner: &str| {
        codes(&format!("[[rules]]\nname = \"r\"\neffect = \"allow\"\nmatch = {inner}\n")).join(" ")
    };
    assert_eq!(rule("{ class = \"readonly\" }"), "policy.word");
    assert_eq!(rule("{ capability = [] }"), "policy.empty_list");
    assert_eq!(rule("{ capability = \"\" }"), "policy.text");
    assert_eq!(rule("{ roles = {} }"), "policy.empty_table");
    assert_eq!(rule("{}\nrequire = { justification = { min_chars = 0 } }"), "policy.bounds");
    assert_eq!(rule("{}\nrequire = { justification = { min_chars = 1001 } }"), "policy.bounds");
    assert_eq!(rule("{}\nconstraints = { max_rows = -1 }"), "policy.bounds");
}

#[test]
fn two_rules_of_one_name_are_refused() {
    let rule = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"deny\"\n";
    assert_eq!(codes(&format!("{rule}{rule}")), ["policy.duplicate_name"]);
    let policy = Policy::new("t")
        .with_rule(Rule::new("r", Effect::Deny))
        .with_rule(Rule::new("r", Effect::Allow));
    let error = PolicySet::from_code(policy, weaver_policy::Contracts::new("c")).unwrap_err();
    assert_eq!(error.code(), "policy.duplicate_name");
    assert_eq!(error.findings()[0].key.as_deref(), Some("rules[1].name"));
}

#[test]
fn documents_over_the_limits_are_refused() {
    let large = format!("# {}\n", "x".repeat(4 * 1024 * 1024));
    assert_eq!(codes(&large), ["policy.too_large"]);
    let deep = format!("x = {}{}\n", "[".repeat(40), "]".repeat(40));
    assert_eq!(codes(&deep), ["policy.too_deep"]);
    let deeper = format!("x = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(codes(&deeper), ["policy.too_deep"]);
    let rule = |n| format!("[[rules]]\nname=\"{n}\"\nmatch={{}}\neffect=\"deny\"\n");
    let rules: String = (0..20_000).map(rule).collect();
    assert_eq!(codes(&rules), [""; 0]);
    assert_eq!(codes(&(rules + &rule(20_000))), ["policy.too_many"]);
}

#[test]
fn findings_are_bounded() {
    let keys: String = (0..5_000).map(|n| format!("unknown{n} = 1\n")).collect();
    assert_eq!(codes(&keys).len(), weaver_policy::MAX_FINDINGS);
}

#[test]
fn a_newer_form_is_refused_with_the_form_it_needs() {
    let text = policy_text("").replace("format = 1", "format = 3");
    let error = weaver_policy::sign_document(
        &weaver_policy::DocumentSource::unsigned("p", &text),
        weaver_types::signature::DocumentKind::Policy,
        weaver_types::KeyId::parse("root").unwrap(),
        &root(),
        NOW,
    );
    assert_eq!(error.unwrap_err().code(), "policy.newer_format");
}

#[test]
fn messages_show_hostile_keys_escaped() {
    let error = load("\"a\\u202eb\" = 1\n", "", "").unwrap_err().to_string();
    assert!(!error.contains('\u{202e}') && error.contains("\\u{202e}"), "{error}");
}

#[test]
fn principals_are_read_whole_and_nobody_else_exists() {
    let body = r#"
trusted_hosts = ["desktop"]
[principals."owner"]
roles = ["reader", "writer"]
attributes = { tenant = "acme" }
permissions = ["cal.read"]
agent = "assistant"
"#;
    let set = load(body, "", "").unwrap();
    let owner = set.principal(&PrincipalId::parse("owner").unwrap()).unwrap();
    assert_eq!(owner.roles.len(), 2);
    assert_eq!(owner.attributes["tenant"], "acme");
    assert!(owner.permissions.contains("cal.read"));
    assert_eq!(owner.agent.unwrap().as_str(), "assistant");
    assert!(set.principal(&PrincipalId::parse("other").unwrap()).is_none());
    assert!(set.trusts_host("desktop") && !set.trusts_host("other"));
}

#[test]
fn an_issuer_has_one_safe_address_and_speaks_for_known_principals() {
    let issuer = |more: &str| format!("[issuers.corp]\n{more}\n");
    let set = load(&issuer("issuer = \"https://login.example\""), "", "").unwrap();
    assert_eq!(set.policy().find_issuer("https://login.example").unwrap().0, "corp");
    assert!(load(&issuer("issuer = \"http://127.0.0.1:9/x\""), "", "").is_ok());
    for address in [
        "http://login.example",
        "https://",
        "https://user@login.example",
        "https://login.example/#x",
        "https://login.example/?x",
        "http://127.0.0.1.evil.example",
        "ftp://login.example",
        "login.example",
    ] {
        assert_eq!(
            codes(&issuer(&format!("issuer = \"{address}\""))),
            ["policy.value"],
            "{address}"
        );
    }
    assert_eq!(codes(&issuer("")), ["policy.missing_key"]);
    let known = "issuer = \"https://login.example\"\n";
    assert_eq!(codes(&issuer(&format!("{known}roles = [\"x\"]"))), ["policy.unknown_key"]);
    let nobody = format!("{known}subjects = {{ \"1\" = \"nobody\" }}");
    assert_eq!(codes(&issuer(&nobody)), ["policy.value"]);
    let twice = format!("{}[issuers.other]\n{known}", issuer(known));
    assert_eq!(codes(&twice), ["policy.duplicate_name"]);
    let name = issuer(known).replace("corp", "\"Corp.\"");
    assert_eq!(codes(&name), ["policy.value"]);
}

#[test]
fn approvers_are_read_and_one_key_serves_one_person() {
    let key = root().public();
    let alice = format!(
        "[approvers.alice]\nkey = \"{key}\"\ntrust = 900\nclearance = \"confidential\"\n\
         scopes = [\"finance\"]\nnot_before = 2020-01-01T00:00:00Z\n"
    );
    let set = load("", "", &alice).unwrap();
    let approver = &set.keys().unwrap().approvers["alice"];
    assert_eq!((approver.trust, approver.clearance), (900, Confidentiality::Confidential));
    assert!(approver.keys["key"].is_valid_at(NOW));
    let error = load("", "", &(alice.clone() + &alice.replace("alice", "bob"))).unwrap_err();
    assert_eq!(error.code(), "policy.shared_key");
    let window = format!("{alice}not_after = 2019-01-01T00:00:00Z\n");
    assert_eq!(load("", "", &window).unwrap_err().code(), "policy.window");
    let trust = alice.replace("900", "1001");
    assert_eq!(load("", "", &trust).unwrap_err().code(), "policy.bounds");
}

#[test]
fn the_printed_baseline_is_a_policy_document() {
    let kind = weaver_policy::document_kind(Policy::baseline_text()).unwrap();
    assert_eq!(kind, weaver_types::signature::DocumentKind::Policy);
    assert_eq!(Policy::baseline().unwrap().rules.len(), 12);
}
