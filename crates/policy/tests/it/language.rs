//! Each word of the language of policies: what it matches, and what is refused.

use serde_json::{Value, json};
use weaver_policy::approval::StandingApprovalBounds;
use weaver_policy::{PolicyQuery, PolicySet, ValueOrigin, ValueOrigins};
use weaver_types::{
    CapabilityDraft, CapabilityId, CheckKind, Confidentiality, Effects, Integrity, JsonPointer,
    Label, Operation, ReasonCode, SensitivityTag, SinkKind, Timestamp, Verdict,
};

use crate::support::{Case, NOW, codes, draft, host, load, set};

/// Whether an allow rule with this match applies.
fn applies(matches: &str, case: &Case) -> bool {
    let rule = format!("[[rules]]\nname = \"r\"\neffect = \"allow\"\nmatch = {{ {matches} }}\n");
    !silent(&set(&rule, ""), case)
}

fn silent(set: &PolicySet, case: &Case) -> bool {
    let decision = case.decide(set);
    decision.check_results().iter().any(|c| c.reason == ReasonCode::NoMatchingRule)
}

fn tool(change: impl FnOnce(&mut CapabilityDraft)) -> Case {
    let mut draft = draft("mail.send", Effects::READ_LOCAL);
    change(&mut draft);
    Case::new(draft.build().unwrap(), &[])
}

fn plain() -> Case {
    tool(|_| {})
}

fn with(change: impl FnOnce(&mut Case)) -> Case {
    let mut case = plain();
    change(&mut case);
    case
}

#[test]
fn fields_about_the_capability() {
    let payment = tool(|d| {
        d.effects = Effects::WRITE_LOCAL;
        d.sink = Some(SinkKind::Payment);
    });
    assert!(applies("sink = \"payment\"", &payment));
    assert!(!applies("sink = [\"credential\", \"none\"]", &payment));
    assert!(applies("sink = \"none\"", &plain()));

    let tagged = tool(|d| d.tags.extend(["a".to_owned(), "b".to_owned()]));
    assert!(applies("tags = { any = [\"b\", \"c\"] }", &tagged));
    assert!(applies("tags = { any = [\"b\"], all = [\"a\", \"b\"] }", &tagged));
    assert!(!applies("tags = { all = [\"a\", \"c\"] }", &tagged));
    assert!(!applies("tags = { any = [\"b\"] }", &plain()));

    let pii = tool(|d| d.sensitivity.extend([SensitivityTag::Pii]));
    assert!(applies("sensitivity = [\"secrets\", \"pii\"]", &pii));
    assert!(!applies("sensitivity = \"none\"", &pii));
    assert!(applies("sensitivity = \"none\"", &plain()));
    assert!(applies("sensitivity = [\"none\", \"pii\"]", &pii));
}

#[test]
fn fields_about_the_request() {
    let support = with(|c| c.request.intent = Some("support.reply".to_owned()));
    assert!(applies("intent = [\"billing\", \"support.*\"]", &support));
    assert!(!applies("intent = \"billing\"", &support));
    assert!(!applies("intent = \"*\"", &plain()));

    let scoped = with(|c| {
        c.request.scope.insert("region".to_owned(), "eu-1".to_owned());
        c.request.scope.insert("team".to_owned(), "x".to_owned());
    });
    assert!(applies("scope = { region = \"eu-*\" }", &scoped));
    assert!(applies("scope = { region = \"*\", team = \"x\" }", &scoped));
    assert!(!applies("scope = { region = \"*\", team = \"y\" }", &scoped));
    assert!(!applies("scope = { region = \"*\" }", &plain()));
}

#[test]
fn fields_about_the_caller_and_the_run() {
    let acme = with(|c| {
        c.principal.attributes.insert("tenant".to_owned(), "acme".to_owned());
    });
    assert!(applies("attributes = { tenant = \"ac*\" }", &acme));
    assert!(!applies("attributes = { tenant = \"b*\" }", &acme));
    assert!(!applies("attributes = { tenant = \"*\" }", &plain()));

    let tainted = with(|c| c.label = Label::new(Confidentiality::Internal, Integrity::Untrusted));
    assert!(applies("label = { integrity = \"untrusted\" }", &tainted));
    assert!(!applies("label = { integrity = \"trusted\" }", &tainted));
    let label = "label = { confidentiality = [\"public\", \"internal\"], integrity = \"trusted\" }";
    assert!(!applies(label, &tainted));
    assert!(applies(label, &plain()));
}

#[test]
fn the_time_is_that_of_the_query() {
    let rule = r#"
[[rules]]
name = "office"
match = { time = { from = "09:00", to = "17:00", days = ["mon", "tue"], not_after = 2027-01-01T00:00:00Z } }
effect = "allow"
"#;
    let set = set(rule, "");
    let allowed =
        |at: &str| plain().decide_at(&set, Timestamp::parse_rfc3339(at).unwrap()).is_allowed();
    assert!(allowed("2026-01-05T09:00:00Z"));
    assert!(!allowed("2026-01-05T17:00:00Z"));
    assert!(!allowed("2026-01-07T10:00:00Z"));
    assert!(!allowed("2028-01-03T10:00:00Z"));
}

#[test]
fn matches_nest() {
    let roles = |names: &[&str]| Case::new(host("mail.send", Effects::READ_LOCAL), names);
    let either = "any = [{ roles = { any = [\"a\"] } }, { roles = { all = [\"b\", \"c\"] } }]";
    assert!(applies(either, &roles(&["a"])));
    assert!(applies(either, &roles(&["b", "c"])));
    assert!(!applies(either, &roles(&["b"])));
    let neither = "not = { roles = { any = [\"a\"] } }, unless = { roles = { any = [\"b\"] } }";
    assert!(applies(neither, &roles(&["c"])));
    assert!(!applies(neither, &roles(&["a"])));
    assert!(!applies(neither, &roles(&["b"])));
    let double = "not = { not = { capability = \"mail.*\" } }";
    assert!(applies(double, &plain()));
    assert!(!applies("any = [{ capability = \"x\" }], capability = \"mail.*\"", &plain()));
}

const AMOUNT: &str = "arguments = { at = \"/amount\", min = 1, max = 100 }";

#[test]
fn arguments_are_looked_at() {
    let with = |arguments: Value| with(|c| c.arguments = Some(arguments));
    assert!(applies(AMOUNT, &with(json!({ "amount": 100 }))));
    assert!(!applies(AMOUNT, &with(json!({ "amount": 101 }))));
    let two = "arguments = [{ at = \"/to\", domains = [\"*.example.com\"] }, \
               { at = \"/path\", inside = \"/data\", suffix = [\".md\", \".txt\"] }]";
    let call = |to: &str, path: &str| with(json!({ "to": to, "path": path }));
    assert!(applies(two, &call("https://a.example.com/x", "/data/a.md")));
    assert!(!applies(two, &call("https://a.example.org/x", "/data/a.md")));
    assert!(!applies(two, &call("https://a.example.com/x", "/data/../a.md")));
    let values = "arguments = { at = \"\", equals = { a = [1, 2.5, true, \"x\"] } }";
    assert!(applies(values, &with(json!({ "a": [1.0, 2.5, true, "x"] }))));
    assert!(!applies(values, &with(json!({ "a": [1, 2.5, true] }))));
}

#[test]
fn a_denial_says_that_a_rule_allows_other_arguments() {
    let rule = format!("[[rules]]\nname = \"few\"\neffect = \"allow\"\nmatch = {{ {AMOUNT} }}\n");
    let detail = |text: &str, case: &Case| case.decide(&set(text, "")).detail().to_owned();
    let many = with(|c| c.arguments = Some(json!({ "amount": 101 })));
    let said = detail(&rule, &many);
    assert!(
        said.contains("rule `few` allows") && said.contains("with other arguments only"),
        "{said}"
    );
    let elsewhere = rule.replace("match = {", "match = { capability = \"x\",");
    let said = detail(&elsewhere, &many);
    assert!(said.contains("no rule matches"), "{said}");
}

/// The verdict of one rule, with an allow rule beside it that lets everything else go on.
fn verdict(effect: &str, matches: &str, case: &Case) -> Verdict {
    let text = format!(
        "[[rules]]\nname = \"r\"\neffect = \"{effect}\"\nmatch = {{ {matches} }}\n\
         [[rules]]\nname = \"all\"\neffect = \"allow\"\nmatch = {{}}\n"
    );
    case.decide(&set(&text, "")).verdict()
}

#[test]
fn what_is_not_known_never_loosens_however_deep_it_stands() {
    let unknown = with(|c| c.arguments = None);
    let forms = [
        AMOUNT.to_owned(),
        format!("not = {{ {AMOUNT} }}"),
        format!("unless = {{ not = {{ {AMOUNT} }} }}"),
        format!("any = [{{ capability = \"other\" }}, {{ {AMOUNT} }}]"),
        format!("any = [{{ capability = \"other\" }}, {{ not = {{ {AMOUNT} }} }}]"),
        format!("not = {{ {AMOUNT}, not = {{ {AMOUNT} }} }}"),
    ];
    for form in &forms {
        assert!(!applies(form, &unknown), "allow: {form}");
        assert_eq!(verdict("deny", form, &unknown), Verdict::Deny, "{form}");
        assert_eq!(verdict("require_approval", form, &unknown), Verdict::Hold, "{form}");
    }
    // What settles the match without the arguments settles it.
    let no = format!("{AMOUNT}, capability = \"other\"");
    assert_eq!(verdict("deny", &no, &unknown), Verdict::Allow);
    let yes = format!("any = [{{ capability = \"mail.*\" }}, {{ {AMOUNT} }}]");
    assert!(applies(&yes, &unknown));
    let not_yes = format!("not = {{ any = [{{ capability = \"mail.*\" }}, {{ {AMOUNT} }}] }}");
    assert_eq!(verdict("deny", &not_yes, &unknown), Verdict::Allow);
}

#[derive(Debug)]
struct Origins(Option<ValueOrigin>);

impl ValueOrigins for Origins {
    fn origin(&self, _at: &JsonPointer, _value: &Value) -> Option<ValueOrigin> {
        self.0
    }
}

#[test]
fn provenance_is_asked_for_and_conservative_where_nobody_knows() {
    let text = r#"
[[rules]]
name = "r"
match = { not = { arguments = { at = "/to", provenance = ["user", "trusted"] } } }
effect = "require_approval"
[[rules]]
name = "all"
match = {}
effect = "allow"
"#;
    let set = set(text, "");
    let case = with(|c| c.arguments = Some(json!({ "to": "ana@example.com" })));
    let verdict = |origins: Option<&dyn ValueOrigins>| {
        set.decide(&PolicyQuery { origins, ..case.query() }).verdict()
    };
    assert_eq!(verdict(None), Verdict::Hold);
    assert_eq!(verdict(Some(&Origins(None))), Verdict::Hold);
    assert_eq!(verdict(Some(&Origins(Some(ValueOrigin::User)))), Verdict::Allow);
}

#[test]
fn a_deny_rule_gives_the_code_that_it_names() {
    let rule = |code: &str| {
        format!("[[rules]]\nname = \"r\"\nmatch = {{}}\neffect = \"deny\"\ncode = \"{code}\"\n")
    };
    let decision = plain().decide(&set(&rule("missing_tenant_attribute"), ""));
    assert_eq!(decision.primary_reason(), ReasonCode::MissingTenantAttribute);
    assert_eq!(decision.check_results()[0].check, CheckKind::Attribute);
    assert_eq!(codes(&rule("missing_tenant")), ["policy.word"]);
    assert_eq!(codes(&rule("rule_allow")), ["policy.word"]);
    let allow = rule("missing_role").replace("\"deny\"", "\"allow\"");
    assert_eq!(codes(&allow), ["policy.code"]);
}

#[test]
fn beyond_sixteen_denials_each_code_still_speaks() {
    let rules: String = (0..40)
        .map(|n| {
            let code = if n == 39 { "missing_role" } else { "explicit_deny_rule" };
            format!("[[rules]]\nname = \"r{n:02}\"\nmatch = {{}}\neffect = \"deny\"\ncode = \"{code}\"\n")
        })
        .collect();
    let decision = plain().decide(&set(&rules, ""));
    assert_eq!(decision.check_results().len(), 18);
    assert!(decision.check_results().iter().any(|c| c.reason == ReasonCode::MissingRole));
    let details: Vec<_> = decision.check_results().iter().map(|c| c.detail.as_str()).collect();
    for said in ["23 more rules, with", "1 more rules, with"] {
        assert!(details.iter().any(|detail| detail.starts_with(said)), "{details:?}");
    }
}

#[test]
fn other_rules_of_the_same_number_are_told_apart_beyond_sixteen() {
    let rules = |effect: &str, names: &mut dyn Iterator<Item = u32>| -> String {
        let rule =
            |n| format!("[[rules]]\nname = \"r{n:02}\"\nmatch = {{}}\neffect = \"{effect}\"\n");
        names.map(rule).collect()
    };
    for effect in ["deny", "require_approval"] {
        let last = |names: &mut dyn Iterator<Item = u32>| {
            let decision = plain().decide(&set(&rules(effect, names), ""));
            assert_eq!(decision.check_results().len(), 17);
            let mut unlisted = decision
                .check_results()
                .iter()
                .filter(|one| one.detail.starts_with("4 more rules"));
            unlisted.next().map(|one| one.detail.clone()).unwrap()
        };
        let first = last(&mut (0..20));
        assert_ne!(first, last(&mut (0..19).chain([20])), "{effect}");
        assert_eq!(first, last(&mut (0..16).chain([19, 18, 17, 16])), "the order has no meaning");
    }
}

#[test]
fn approvals_add_to_the_authority_of_what_is_held() {
    let text = r#"
[[rules]]
name = "all"
match = {}
effect = "allow"
[approvals]
ttl_s = 60
clock_skew_s = 0
floor = { min_trust = 700, scopes = ["ops"] }
flow = { quorum = 2 }
standing = { max_uses = 5, authority = { min_trust = 950 } }
"#;
    let set = set(text, "");
    let bounds = set.approvals();
    assert_eq!((bounds.ttl_s, bounds.clock_skew_s), (60, 0));
    let default = StandingApprovalBounds::default().max_lifetime_s;
    assert_eq!((bounds.standing.max_uses, bounds.standing.max_lifetime_s), (5, default));
    let mut case = Case::new(host("mail.send", Effects::WRITE_OPEN), &[]);
    case.label = Label::new(Confidentiality::Public, Integrity::Untrusted);
    let decision = case.decide(&set);
    assert_eq!(decision.verdict(), Verdict::Hold);
    assert_eq!((decision.authority().min_trust, decision.authority().quorum), (Some(700), 2));
    let floor = decision.check_results().iter().find(|c| c.check == CheckKind::Floor).unwrap();
    assert_eq!((floor.authority.min_trust, floor.authority.quorum), (Some(700), 1));
}

#[test]
fn contracts_say_what_must_not_change_and_what_matters() {
    let contracts = r#"
[capabilities."fs.*"]
preconditions = [{ check = "git_head", repository = { path = "/repo" } }]
critical_arguments = "/path"
[capabilities."fs.*_file"]
critical_arguments = ["/mode"]
[capabilities."fs.write_file"]
preconditions = [{ check = "file_digest", file = { argument = "/path" } }, { check = "environment", name = "HOME" }, { check = "http_etag", url = "https://a.example/docs/{id}" }]
"#;
    let set = set("", contracts);
    let words = |id: &str| {
        let id = CapabilityId::parse(id).unwrap();
        let checks = set.preconditions(&id).iter().map(|p| p.check()).collect::<Vec<_>>();
        let places = set.critical_arguments(&id);
        (checks, places.iter().map(|p| p.as_str().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(words("fs.read_file"), (vec!["git_head"], vec!["/mode".into(), "/path".into()]));
    let own = words("fs.write_file");
    assert_eq!(own.0, ["file_digest", "environment", "http_etag"]);
    assert_eq!(own.1, ["/mode", "/path"]);
    assert_eq!(words("other").0.len(), 0);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    let rule = |matches: &str| {
        format!("[[rules]]\nname = \"r\"\neffect = \"deny\"\nmatch = {{ {matches} }}\n")
    };
    let table = [
        ("capabilty = \"x\"", "policy.unknown_key"),
        ("any = []", "policy.empty_list"),
        ("any = [{}]", "policy.empty_table"),
        ("not = {}", "policy.empty_table"),
        ("not = { rols = { any = [\"a\"] } }", "policy.unknown_key"),
        ("tags = {}", "policy.empty_table"),
        ("scope = {}", "policy.empty_table"),
        ("label = { integrity = \"dubious\" }", "policy.word"),
        ("sensitivity = [\"pi\"]", "policy.word"),
        ("time = {}", "policy.empty_table"),
        ("time = { from = \"9:00\" }", "policy.time"),
        ("time = { from = \"24:00\" }", "policy.time"),
        ("time = { from = \"10:00\", to = \"10:00\" }", "policy.window"),
        ("time = { days = [\"monday\"] }", "policy.word"),
        ("arguments = []", "policy.empty_list"),
        ("arguments = { at = \"/x\" }", "policy.argument"),
        ("arguments = { equals = 1 }", "policy.missing_key"),
        ("arguments = { at = \"x\", equals = 1 }", "policy.value"),
        ("arguments = { at = \"/x\", equal = 1 }", "policy.unknown_key"),
        ("arguments = { at = \"/x\", min = \"1\" }", "policy.type"),
        ("arguments = { at = \"/x\", min = 2, max = 1 }", "policy.argument"),
        ("arguments = { at = \"/x\", domains = [\"a.*.b\"] }", "policy.argument"),
        ("arguments = { at = \"/x\", inside = \"../x\" }", "policy.argument"),
        ("arguments = { at = \"/x\", present = false, min = 1 }", "policy.argument"),
        ("arguments = { at = \"/x\", min = nan }", "policy.number"),
    ];
    for (matches, code) in table {
        assert_eq!(codes(&rule(matches)).first(), Some(&code), "{matches}");
    }
    let nested = rule("not = { any = [{ class = \"network\" }, { argumets = [] }] }");
    let error = load(&nested, "", "").unwrap_err();
    let finding = &error.findings()[0];
    assert_eq!(finding.key.as_deref(), Some("rules[0].match.not.any[1].argumets"));
    assert_eq!(finding.remedy, "did you mean `arguments`?");
}

#[test]
fn limits_severities_and_bounds_are_checked() {
    let limit = |more: &str| {
        format!("[[limits]]\nname = \"l\"\nmatch = {{}}\nmax_calls = 5\nwindow_s = 60\n{more}\n")
    };
    assert_eq!(codes(&limit("by = \"principal\"")), [""; 0]);
    assert_eq!(codes(&(limit("") + &limit(""))), ["policy.duplicate_name"]);
    assert_eq!(codes(&limit("by = [\"tenant\"]")), ["policy.word"]);
    assert_eq!(codes(&limit("").replace("60", "3601")), ["policy.bounds"]);
    assert_eq!(codes(&limit("for_roles = [{ any = \"a\", max_calls = 4 }]")), ["policy.bounds"]);
    assert_eq!(codes("[signals]\nwaring = { hold_from = \"L2\" }\n"), ["policy.unknown_key"]);
    assert_eq!(codes("[signals]\nwarning = { hold_from = \"L9\" }\n"), ["policy.word"]);
    assert_eq!(codes("[signals]\nwarning = { hold_from = \"never\" }\n"), [""; 0]);
    assert_eq!(codes("[approvals]\nttl_s = 59\n"), ["policy.bounds"]);
    assert_eq!(codes("[approvals]\nflor = { quorum = 2 }\n"), ["policy.unknown_key"]);
    assert_eq!(codes("contract_enforcement = \"enforced\"\n"), ["policy.word"]);
    let contract = |text: &str| {
        let error = load("", &format!("[capabilities.\"x\"]\n{text}\n"), "").unwrap_err();
        error.code()
    };
    assert_eq!(contract("critical_arguments = [\"x\"]"), "policy.value");
    assert_eq!(contract("preconditions = [{ check = \"git\" }]"), "policy.word");
    let both = "preconditions = [{ check = \"git_head\", repository = { path = \"/\", argument = \"/a\" } }]";
    assert_eq!(contract(both), "policy.value");
    for url in ["docs/{id}", "ftp://a/", "https://{host}/", "https://u@a/", "https:///x", "{url}"] {
        let tag = format!("preconditions = [{{ check = \"http_etag\", url = \"{url}\" }}]");
        assert_eq!(contract(&tag), "policy.value", "{url}");
    }
    let other =
        "preconditions = [{ check = \"environment\", name = \"A\", file = { path = \"/\" } }]";
    assert_eq!(contract(other), "policy.unknown_key");
}

#[test]
fn views_have_no_arguments_of_their_own() {
    let view = with(|c| {
        c.operation = Operation::View;
        c.arguments = None;
    });
    // The call was decided with its arguments, or there were nothing to look into.
    assert_eq!(verdict("deny", AMOUNT, &view), Verdict::Allow);
    assert_eq!(verdict("deny", "operation = \"view\"", &view), Verdict::Deny);
    let allowed = |conditions: &str| {
        let rule =
            format!("[[rules]]\nname = \"r\"\neffect = \"allow\"\nmatch = {{ {conditions} }}\n");
        view.decide_at(&set(&rule, ""), NOW).is_allowed()
    };
    assert!(allowed(AMOUNT));
    assert!(!allowed(&format!("operation = \"invoke\", {AMOUNT}")));
    assert!(
        plain()
            .decide_at(&set("[[rules]]\nname = \"r\"\neffect = \"allow\"\nmatch = {}\n", ""), NOW)
            .is_allowed()
    );
}

#[test]
fn more_roles_than_a_word_has_bits_are_told_apart() {
    let rules: String = (0..100)
        .map(|n| {
            let roles = format!("any = [\"r{n}\"], all = [\"r{n}\", \"x{n}\"]");
            format!(
                "[[rules]]\nname = \"n{n:02}\"\neffect = \"allow\"\nmatch = {{ roles = {{ {roles} }} }}\n"
            )
        })
        .collect();
    let set = set(&rules, "");
    for n in [0, 30, 31, 32, 63, 99] {
        let roles = [format!("r{n}"), format!("x{n}")];
        let names: Vec<_> = roles.iter().map(String::as_str).collect();
        let case = |names: &[&str]| Case::new(host("a", Effects::READ_LOCAL), names);
        let decision = case(&names).decide(&set);
        assert_eq!(decision.detail(), format!("rule `n{n:02}`"));
        assert!(silent(&set, &case(&names[..1])));
        assert!(silent(&set, &case(&names[1..])));
    }
}
