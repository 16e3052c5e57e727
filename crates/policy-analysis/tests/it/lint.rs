//! What lint finds, and what it leaves alone.

use weaver_policy::PolicySet;
use weaver_policy_analysis::{CapabilitySet, LintCode, lint};
use weaver_types::CapabilityId;

use crate::support::{NOW, baseline, load, set};

fn rule(name: &str, effect: &str, matches: &str, rest: &str) -> String {
    format!(
        "[[rules]]\nname = \"{name}\"\neffect = \"{effect}\"\nmatch = {{ {matches} }}\n{rest}\n"
    )
}

fn found(set: &PolicySet) -> Vec<(LintCode, String)> {
    let all = lint(set, &CapabilitySet::from_documents(set), NOW);
    all.into_iter().map(|one| (one.code, one.place)).collect()
}

fn in_rules(rules: &[String]) -> Vec<(LintCode, String)> {
    let only = [LintCode::UnreachableRule, LintCode::RedundantRule];
    let set = set(&rules.concat(), "");
    found(&set).into_iter().filter(|(code, _)| only.contains(code)).collect()
}

#[test]
fn an_allow_rule_under_a_wider_deny_is_unreachable() {
    let deny = rule("deny", "deny", "capability = \"docs.*\"", "");
    let narrow = "capability = \"docs.r*d\", roles = { any = [\"a\"] }";
    let unreachable = [(LintCode::UnreachableRule, "rule `allow`".to_owned())];
    assert_eq!(in_rules(&[rule("allow", "allow", narrow, ""), deny.clone()]), unreachable);
    let wider = rule("allow", "allow", "capability = [\"docs.*\", \"x\"]", "");
    assert_eq!(in_rules(&[wider, deny]), []);
    let some = rule("deny", "deny", "capability = \"docs.*\", mode = \"SAFE\"", "");
    assert_eq!(in_rules(&[rule("allow", "allow", narrow, ""), some]), []);
}

#[test]
fn a_rule_that_another_takes_in_is_redundant_once() {
    let twin = |name| rule(name, "allow", "capability = \"a.*\"", "");
    let redundant = [(LintCode::RedundantRule, "rule `b`".to_owned())];
    assert_eq!(in_rules(&[twin("b"), twin("a")]), redundant);
    let demanding = "require = { roles = { any = [\"x\"] } }";
    let stricter = rule("b", "allow", "capability = \"a.b\"", demanding);
    assert_eq!(in_rules(&[twin("a"), stricter.clone()]), redundant);
    let limiting = rule("b", "allow", "capability = \"a.b\"", "constraints = { max_rows = 5 }");
    assert_eq!(in_rules(&[twin("a"), limiting]), []);
    let deny = rule("c", "deny", "capability = \"a.b\"", "code = \"missing_role\"");
    let other = rule("d", "deny", "capability = \"a.*\"", "");
    assert_eq!(in_rules(&[deny, other]), [], "another reason is another effect");
    let quorum = |name, n: u8| {
        let authority = format!("authority = {{ quorum = {n} }}");
        rule(name, "require_approval", "capability = \"a.*\"", &authority)
    };
    assert_eq!(in_rules(&[quorum("a", 2), quorum("b", 1)]), redundant);
    assert_eq!(in_rules(&[quorum("a", 1), quorum("b", 3)]).len(), 1);
}

#[test]
fn exceptions_are_taken_into_account() {
    let deny = rule("deny", "deny", "capability = \"a\", not = { roles = { any = [\"x\"] } }", "");
    let all = rule("allow", "allow", "capability = \"a\"", "");
    assert_eq!(in_rules(&[all, deny.clone()]), []);
    let others = "capability = \"a\", unless = { roles = { any = [\"x\", \"y\"] } }";
    assert_eq!(in_rules(&[rule("allow", "allow", others, ""), deny]).len(), 1);
}

#[test]
fn rules_are_measured_against_a_catalogue_that_is_given() {
    let contracts = "[capabilities.\"docs.read\"]\neffects = \"read_local\"\n";
    let rules = rule("reads", "allow", "effects = { impact = \"read\" }", "")
        + &rule("writes", "allow", "capability = \"docs.*\", effects = { impact = \"write\" }", "");
    let set = set(&rules, contracts);
    let catalogue = CapabilitySet::new([CapabilityId::parse("docs.read").unwrap()]);
    let all = lint(&set, &catalogue, NOW);
    let missed: Vec<_> = all.iter().filter(|one| one.code == LintCode::MatchesNoTool).collect();
    assert_eq!(missed.len(), 1);
    assert_eq!(missed[0].place, "rule `writes`");
    assert!(found(&set).iter().all(|(code, _)| *code != LintCode::MatchesNoTool));
}

#[test]
fn many_rules_without_a_name_are_reported_once() {
    let rules: String = (0..257)
        .map(|n| rule(&format!("r{n}"), "deny", &format!("capability = \"a*{n}*\""), ""))
        .collect();
    let codes: Vec<_> = found(&set(&rules, "")).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes.iter().filter(|code| **code == LintCode::ManyResidualRules).count(), 1);
    assert!(codes.contains(&LintCode::ManyRulesForTool));
}

#[test]
fn contracts_that_lower_or_trust_too_much_are_reported() {
    let contracts = r#"
        [capabilities."shell.run"]
        effects = "destructive"
        rung = "L1"
        lower_rung = true
        [capabilities."notes.read"]
        effects = "read_local"
        output = { integrity = "trusted" }
        [capabilities."notes.add"]
        effects = "write_local"
        sink = "none"
        [capabilities."clock.now"]
        effects = "read_local"
        output = { integrity = "trusted" }
    "#;
    let all = found(&set("", contracts));
    let of =
        |code| all.iter().filter(|(c, _)| *c == code).map(|(_, p)| p.as_str()).collect::<Vec<_>>();
    assert_eq!(of(LintCode::LoweredRung), ["contract `shell.run`"]);
    assert_eq!(of(LintCode::TrustedOutput), ["capability `notes.read`"]);
}

#[test]
fn holds_that_nobody_can_release_and_what_ends_are_reported() {
    let keys = r#"
        [approvers."alice"]
        key = "ed25519:mpAumt6nmW26HzPRqehQYKePOUOgPSgb7PBjYmQMW1Y"
        trust = 900
        clearance = "confidential"
        scopes = ["mail"]
        not_after = 2027-01-20T00:00:00Z
    "#;
    let text = weaver_types::signature::SigningKey::from_seed([9; 32]).public().to_string();
    let keys = keys.replace("ed25519:mpAumt6nmW26HzPRqehQYKePOUOgPSgb7PBjYmQMW1Y", &text);
    let rules =
        rule("one", "require_approval", "capability = \"a\"", "authority = { min_trust = 900 }")
            + &rule("two", "require_approval", "capability = \"b\"", "authority = { quorum = 2 }");
    let set = load(&rules, "", &keys).unwrap();
    let all = found(&set);
    assert!(all.contains(&(LintCode::NobodyCanRelease, "rule `two`".to_owned())), "{all:?}");
    assert!(!all.contains(&(LintCode::NobodyCanRelease, "rule `one`".to_owned())), "{all:?}");
    assert!(all.contains(&(LintCode::EndsSoon, "approver `alice`".to_owned())), "{all:?}");
}

#[test]
fn a_role_that_no_approver_carries_is_reported() {
    let key = weaver_types::signature::SigningKey::from_seed([9; 32]).public();
    let keys = format!(
        "[approvers.alice]\nkey = \"{key}\"\ntrust = 900\nclearance = \"confidential\"\n\
         roles = [\"cfo\", \"reviewer\"]\n"
    );
    let held = |name, capability, roles: &str| {
        let authority = format!("authority = {{ roles = [{roles}] }}");
        rule(name, "require_approval", &format!("capability = \"{capability}\""), &authority)
    };
    let rules = held("one", "a", "\"cfo\"")
        + &held("two", "b", "\"cfo\", \"cof\"")
        + &held("three", "c", "\"legal\"");
    let all = found(&load(&rules, "", &keys).unwrap());
    let of =
        |code| all.iter().filter(|(c, _)| *c == code).map(|(_, p)| p.as_str()).collect::<Vec<_>>();
    assert_eq!(of(LintCode::UnknownApproverRole), ["rule `three`", "rule `two`"], "{all:?}");
    assert_eq!(of(LintCode::NobodyCanRelease), ["rule `three`"], "{all:?}");
}

/// The separation of duties hangs on the principals of an approver: a misspelt one lets the approver
/// release their own calls.
#[test]
fn an_approver_whose_principals_name_nobody_is_reported() {
    let key = |seed| weaver_types::signature::SigningKey::from_seed([seed; 32]).public();
    let head = "trust = 900\nclearance = \"confidential\"\n";
    let approver = |name: &str, seed: u8, rest: &str| {
        format!("[approvers.{name}]\nkey = \"{}\"\n{head}{rest}\n", key(seed))
    };
    let keys = approver("bob", 1, "principals = [\"dve1\"]")
        + &approver("eve", 2, "principals = [\"dev1\", \"corp:8f3\"]")
        + &approver("cleo", 3, "")
        + &approver("dev2", 4, "");
    let issuer = "[issuers.corp]\nissuer = \"https://login.example\"\n\
        jwks_uri = \"https://login.example/k\"\ngroups = { ops = [\"a\"] }\n";
    let of = |policy: &str, code| {
        let all = found(&load(policy, "", &keys).unwrap());
        let places = all.into_iter().filter(|(found, _)| *found == code).map(|(_, place)| place);
        places.collect::<Vec<_>>()
    };
    let team = format!("[principals.dev1]\n[principals.dev2]\n{issuer}");
    assert_eq!(of(&team, LintCode::UnknownApproverPrincipal), ["approver `bob`"]);
    assert_eq!(of(&team, LintCode::ApproverWithoutPrincipals), ["approver `cleo`"]);
    let without_issuer = "[principals.dev1]\n[principals.dev2]\n";
    let unknown = ["approver `bob`", "approver `eve`"];
    assert_eq!(of(without_issuer, LintCode::UnknownApproverPrincipal), unknown);
    let alone = of("[principals.dev1]\n", LintCode::ApproverWithoutPrincipals);
    assert!(alone.is_empty(), "the only principal: {alone:?}");
}

/// A role that nothing asks for neither gives nor takes anything: who has it and nothing else has all
/// that the rules allow to everybody.
#[test]
fn a_role_that_no_rule_asks_for_is_reported() {
    let holders = "[principals.ana]\nroles = [\"writer\"]\n[issuers.corp]\n\
        issuer = \"https://login.example\"\njwks_uri = \"https://login.example/k\"\n\
        scopes = { \"tools:read\" = [\"reader\"] }\ngroups = { ops = [\"admin\"] }\n";
    let of = |rules: &str| {
        let all = found(&set(&format!("{holders}{rules}"), ""));
        let roles = all.into_iter().filter(|(code, _)| *code == LintCode::UnusedRole);
        roles.map(|(_, place)| place).collect::<Vec<_>>()
    };
    let writes =
        rule("w", "allow", "capability = \"a\"", "require = { roles = { any = [\"writer\"] } }");
    assert_eq!(of(&writes), ["role `admin`", "role `reader`"]);
    let not = rule("r", "deny", "capability = \"a\", not = { roles = { all = [\"reader\"] } }", "");
    let any = rule("x", "deny", "any = [{ roles = { any = [\"admin\"] } }]", "");
    assert_eq!(of(&format!("{writes}{not}{any}")), Vec::<String>::new());
}

#[test]
fn the_baseline_has_nothing_hardly_meant() {
    assert_eq!(found(&baseline()), []);
}

#[test]
fn what_is_not_enforced_is_reported() {
    let second = |body: &str| {
        let text = format!("kind = \"policy\"\nformat = 1\nid = \"t\"\nversion = 1\n{body}");
        let empty = |kind| format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n");
        let (contracts, keys) = (empty("contracts"), empty("keys"));
        let source = weaver_policy::DocumentSource::unsigned;
        let sources = weaver_policy::DocumentSources {
            policy: source("p", &text),
            contracts: source("c", &contracts),
            keys: source("k", &keys),
        };
        PolicySet::load_unsigned_development(&sources, NOW).unwrap()
    };
    let only = [
        LintCode::PolicyObserves,
        LintCode::RuleObserves,
        LintCode::ObservedShadows,
        LintCode::EnforcedInVain,
        LintCode::UnreachableRule,
    ];
    let codes = |body: &str| -> Vec<LintCode> {
        let all = found(&second(body)).into_iter().map(|(code, _)| code);
        all.filter(|code| only.contains(code)).collect()
    };
    let allow = rule("allow", "allow", "capability = \"docs.*\"", "");
    let deny = |more| rule("deny", "deny", "capability = \"docs.*\"", more);
    assert_eq!(codes(&format!("{allow}{}", deny(""))), [LintCode::UnreachableRule]);
    let observed = codes(&format!("{allow}{}", deny("enforcement = \"observe\"")));
    assert_eq!(observed, [LintCode::RuleObserves, LintCode::ObservedShadows]);
    assert_eq!(codes(&deny("enforcement = \"observe\"")), [LintCode::RuleObserves]);
    let policy = "enforcement = \"observe\"\n";
    assert_eq!(codes(&format!("{policy}{}", deny(""))), [LintCode::PolicyObserves]);
    let in_vain = rule("allow", "allow", "capability = \"x\"", "enforcement = \"enforce\"");
    let found = codes(&format!("{policy}{in_vain}"));
    assert_eq!(found, [LintCode::PolicyObserves, LintCode::EnforcedInVain]);
}
