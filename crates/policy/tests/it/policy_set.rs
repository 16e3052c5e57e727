//! What a policy set tells about principals, agents and capabilities.

use std::borrow::Cow;

use weaver_policy::{
    AgentCapabilities, Contracts, Effect, NameCondition, Pattern, Policy, PolicySet, Rule,
};
use weaver_types::{
    AgentId, Capability, Effects, Principal, PrincipalId, ReasonCode, Rung, SafetyClass, Verdict,
};

use crate::support::{Case, draft, host, set};

fn named(roles: &[&str], permissions: &[&str], attributes: &[(&str, &str)]) -> Principal {
    let mut who = Principal::new(PrincipalId::parse("ana").unwrap());
    let owned = |name: &&str| (*name).to_owned();
    who.roles = roles.iter().map(owned).collect();
    who.permissions = permissions.iter().map(owned).collect();
    who.attributes =
        attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    who
}

#[test]
fn a_principal_keeps_what_it_brings_and_the_policy_grants() {
    let granted = named(&["a", "b"], &["p", "q"], &[("tenant", "t"), ("team", "x")]);
    let policy = Policy::new("p").with_principal(granted.clone());
    let set = PolicySet::from_code(policy, Contracts::new("c")).unwrap();
    for (brought, kept) in [
        (named(&["a"], &["p"], &[("tenant", "t")]), named(&["a"], &["p"], &[("tenant", "t")])),
        (named(&["a", "x"], &[], &[]), named(&["a"], &[], &[])),
        (named(&["a"], &["p", "x"], &[]), named(&["a"], &["p"], &[])),
        (named(&["a"], &[], &[("tenant", "other")]), named(&["a"], &[], &[])),
        (named(&[], &[], &[("colour", "red"), ("team", "x")]), named(&[], &[], &[("team", "x")])),
        (named(&["x"], &["x"], &[("x", "x")]), named(&[], &[], &[])),
    ] {
        assert_eq!(*set.limit_to_grants(&brought), kept, "{brought:?}");
        assert_eq!(matches!(set.limit_to_grants(&brought), Cow::Borrowed(_)), brought == kept);
    }
    let mut other = named(&["x"], &["x"], &[("x", "x")]);
    other.id = PrincipalId::parse("bob").unwrap();
    assert_eq!(*set.limit_to_grants(&other), other);
}

#[test]
fn an_agent_is_admitted_by_its_list_and_its_ceiling() {
    let agent = |name: &str| AgentId::parse(name).unwrap();
    let declared = AgentCapabilities::new(agent("a"), SafetyClass::ReadOnly)
        .with_tools([Pattern::parse("docs.*").unwrap()]);
    let (read, write) =
        (host("docs.read", Effects::READ_LOCAL), host("docs.write", Effects::WRITE_LOCAL));
    let mail = host("mail.read", Effects::READ_LOCAL);
    let policy = |policy| PolicySet::from_code(policy, Contracts::new("c")).unwrap();
    let set = policy(Policy::new("p").with_agent(declared));
    assert!(set.agent_may_use(&agent("a"), &read));
    assert!(!set.agent_may_use(&agent("a"), &write));
    assert!(!set.agent_may_use(&agent("a"), &mail));
    assert!(!set.agent_may_use(&agent("b"), &read));
    assert!(policy(Policy::new("p")).agent_may_use(&agent("b"), &write));
}

#[test]
fn what_is_prohibited_or_hidden_by_the_contracts_is_hidden_from_everybody() {
    let contracts = "[capabilities.\"docs.*\"]\nvisible = false\n\
                     [capabilities.\"docs.read\"]\nvisible = true\n\
                     [capabilities.\"docs.re*\"]\nvisible = true\n";
    let set = set("", contracts);
    let on = |id: &str, rung| {
        let mut draft = draft(id, Effects::READ_LOCAL);
        draft.rung = Some(rung);
        set.is_hidden_from_everybody(&draft.build().unwrap())
    };
    assert!(!on("mail.read", Rung::L4));
    assert!(on("mail.read", Rung::L5));
    assert!(on("docs.list", Rung::L0));
    // Among patterns the one that hides counts, and the id itself before all of them.
    assert!(on("docs.reread", Rung::L0));
    assert!(!on("docs.read", Rung::L0));
    assert!(on("docs.read", Rung::L5));
}

#[test]
fn only_the_id_itself_names_a_contract() {
    let contracts = "[capabilities.\"docs.*\"]\n[capabilities.\"docs.read\"]\n";
    let set = set("", contracts);
    let names = |capability: Capability| set.has_exact_contract(capability.id());
    assert!(names(host("docs.read", Effects::READ_LOCAL)));
    assert!(!names(host("docs.write", Effects::READ_LOCAL)));
    assert!(!names(host("mail.send", Effects::READ_LOCAL)));
}

#[test]
fn a_condition_on_names_is_met_by_one_or_by_all_of_them() {
    let held = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let any = NameCondition::any(["a", "b"]);
    assert!(any.is_met_by(&held(&["b", "x"])) && !any.is_met_by(&held(&["x"])));
    assert_eq!(any.any, held(&["a", "b"]));
}

#[test]
fn a_rule_is_found_by_the_fixed_head_or_tail_of_its_patterns() {
    let indexed = |patterns: &[&str]| {
        let rule = Rule::new("r", Effect::Allow);
        let on = |rule: Rule, text: &&str| rule.on(Pattern::parse(text).unwrap());
        patterns.iter().fold(rule, on).is_indexed()
    };
    for patterns in [&["docs.read"][..], &["docs.*"], &["*.read"], &["docs.*", "mail.send"]] {
        assert!(indexed(patterns), "{patterns:?}");
    }
    for patterns in [&[][..], &["*"], &["a*b"], &["docs.*", "a*b"], &["docs.*", "*"]] {
        assert!(!indexed(patterns), "{patterns:?}");
    }
}

#[test]
fn an_unmet_rule_names_what_the_principal_lacks() {
    let detail = |require: &str| {
        let rule =
            format!("[[rules]]\nname = \"r\"\nmatch = {{}}\neffect = \"allow\"\n{require}\n");
        let mut case = Case::new(host("x", Effects::READ_LOCAL), &["d"]);
        case.principal.attributes.insert("team".to_owned(), "y".to_owned());
        let decision = case.decide(&set(&rule, ""));
        let said = "rule `r` would allow it";
        decision.detail().strip_prefix(said).unwrap().to_owned()
    };
    for (require, words) in [
        (
            "require.roles = { any = [\"b\", \"a\"] }",
            ", but the principal has none of the roles `a`, `b`",
        ),
        (
            "require.roles = { any = [\"a\"], all = [\"c\", \"d\", \"e\"] }",
            ", but the principal lacks the roles `c`, `e`",
        ),
        ("require.permissions = [\"p\", \"q\"]", ", but the principal lacks `p`, `q`"),
        (
            "require.attributes = { tenant = \"*\", team = \"x\" }",
            ", but the principal's attributes do not fit: `team`, `tenant`",
        ),
        (
            "require.justification = { min_chars = 9, sources = [\"human\", \"host\", \"model\"] }",
            " with a justification of at least 9 characters from a human or the host or the model",
        ),
        (
            "require.justification = { min_chars = 9, sources = [\"host\"] }",
            " with a justification of at least 9 characters from the host",
        ),
    ] {
        assert_eq!(detail(require), words, "{require}");
    }
}

#[test]
fn a_denial_names_a_rule_only_where_other_arguments_would_meet_it() {
    let rule = |name: &str, effect: &str, more: &str| {
        format!(
            "[[rules]]\nname = \"{name}\"\neffect = \"{effect}\"\n\
             match = {{ capability = \"x\", arguments = {{ at = \"/to\", equals = \"b\" }}{more} }}\n"
        )
    };
    let allow_other = "rule `a` allows `x` with other arguments only";
    let none = "no rule matches `x`";
    for (rules, detail) in [
        (rule("a", "allow", ""), allow_other),
        (rule("a", "deny", ""), none),
        (rule("a", "require_approval", ""), none),
        (rule("a", "allow", ", principal = \"other\""), none),
        (rule("a", "allow", "") + &rule("0", "deny", ""), allow_other),
    ] {
        let decision = Case::new(host("x", Effects::READ_LOCAL), &[]).decide(&set(&rules, ""));
        assert_eq!(decision.verdict(), Verdict::Deny);
        assert_eq!(decision.primary_reason(), ReasonCode::NoMatchingRule);
        assert_eq!(decision.detail(), detail, "{rules}");
    }
}

#[test]
fn a_role_beyond_those_that_have_bits_is_still_asked_for() {
    let rules: String = (0..70)
        .map(|n| {
            format!(
                "[[rules]]\nname = \"n{n:02}\"\neffect = \"allow\"\n\
                 match = {{ capability = \"x{n:02}\", roles = {{ KIND = [\"r{n:02}\"] }} }}\n"
            )
        })
        .collect();
    for kind in ["any", "all"] {
        let set = set(&rules.replace("KIND", kind), "");
        for n in [0, 62, 63, 64, 65, 69] {
            let with = |role: &str| {
                Case::new(host(&format!("x{n:02}"), Effects::READ_LOCAL), &[role]).answer(&set).0
            };
            assert_eq!(with(&format!("r{n:02}")), Verdict::Allow, "{kind} {n}");
            assert_eq!(with("r01"), Verdict::Deny, "{kind} {n}");
            assert_eq!(with("other"), Verdict::Deny, "{kind} {n}");
        }
    }
}
