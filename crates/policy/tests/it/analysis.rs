//! Analysis: requests, explanations, cases, differences.

use serde_json::{Value, json};
use weaver_policy::Query;
use weaver_policy::analysis::{
    Answer, Cases, Change, Comparison, Judge, RecordedRequest, explain, explain_denial,
};
use weaver_types::{
    CapabilityDraft, Effects, Justification, JustificationSource, ReasonCode, SensitivityTag,
    Verdict, canonical,
};

use crate::support::{Case, NOW, baseline, draft, set};

const CONTRACTS: &str = r#"
    [capabilities."docs.read"]
    effects = "read_local"
    [capabilities."docs.write"]
    effects = "write_local"
    [capabilities."mail.send"]
    effects = "write_open"
"#;

fn request(value: &Value) -> RecordedRequest {
    RecordedRequest::from_value(value.clone(), NOW).unwrap()
}

#[test]
fn a_request_is_read_strictly_and_written_back() {
    let full = json!({
        "id": "7", "capability": "docs.write",
        "principal": { "id": "ana", "roles": ["writer"], "attributes": { "tenant": "a" },
            "permissions": ["p"], "agent": "bot" },
        "args": { "n": 1 }, "operation": "view", "intent": "i", "scope": { "s": "t" },
        "justification": { "text": "because", "source": "human" },
        "run": { "id": "run_1", "mode": "SAFE",
            "label": { "confidentiality": "internal", "integrity": "untrusted" } },
        "at": "2026-01-02T03:04:05Z", "human_channel": false
    });
    let read = request(&full);
    assert_eq!(request(&read.to_json()), read);
    assert_eq!(read.at.rfc3339(), "2026-01-02T03:04:05.000000Z");
    let short = request(&json!({ "id": "1", "capability": "x", "principal": { "id": "a" } }));
    assert_eq!((short.at, short.human_channel), (NOW, true));
}

#[test]
fn what_is_no_request_is_refused_with_its_id() {
    let refused = |line: &str| RecordedRequest::parse(line.as_bytes(), NOW).unwrap_err();
    let unknown = refused(r#"{"id":"7","capability":"x","principal":{"id":"a"},"arg":{}}"#);
    assert_eq!((unknown.id.as_deref(), unknown.code()), (Some("7"), "request.form"));
    assert!(unknown.message.contains("unknown field `arg`"), "{unknown}");
    for (line, code) in [
        ("{", "request.json"),
        (r#"{"id":"1","id":"2"}"#, "request.json"),
        (r#"{"id":"1","capability":"x"}"#, "request.form"),
        (r#"{"id":1,"capability":"x","principal":{"id":"a"}}"#, "request.form"),
        (r#"{"id":"1","capability":"","principal":{"id":"a"}}"#, "request.form"),
        (r#"{"id":"1","capability":"x","principal":{"id":"a"},"at":"noon"}"#, "request.time"),
        (r#"{"id":"1","capability":"x","principal":{"id":"a","x":1}}"#, "request.form"),
    ] {
        assert_eq!(refused(line).code(), code, "{line}");
    }
}

#[test]
fn a_capability_gets_what_the_contracts_say_and_nothing_else() {
    let set = set("[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n", CONTRACTS);
    let mut judge = Judge::new(&set);
    let mut answer = |capability: &str| {
        let line = json!({ "id": "1", "capability": capability, "args": {},
            "principal": { "id": "a" } });
        let answer = judge.answer(&request(&line)).unwrap();
        (answer.verdict, answer.primary)
    };
    assert_eq!(answer("docs.read"), (Verdict::Allow, ReasonCode::RuleAllow));
    assert_eq!(answer("nobody.described.it"), (Verdict::Hold, ReasonCode::FloorHold));
}

#[test]
fn only_what_was_allowed_counts_against_a_limit() {
    let set = set(
        r#"
        [[rules]]
        name = "readers"
        match = { roles = { any = ["reader"] } }
        effect = "allow"
        [[limits]]
        name = "two"
        match = {}
        max_calls = 2
        window_s = 60
        "#,
        CONTRACTS,
    );
    let mut judge = Judge::new(&set);
    let mut ask = |roles: &[&str]| -> Answer {
        let line = json!({ "id": "1", "capability": "docs.read",
            "principal": { "id": "a", "roles": roles } });
        judge.answer(&request(&line)).unwrap()
    };
    for _ in 0..5 {
        assert_eq!(ask(&[]).primary, ReasonCode::NoMatchingRule);
    }
    assert_eq!(ask(&["reader"]).verdict, Verdict::Allow);
    assert_eq!(ask(&["reader"]).verdict, Verdict::Allow);
    let third = ask(&["reader"]);
    assert_eq!((third.verdict, third.primary), (Verdict::Deny, ReasonCode::RateLimited));
    assert_eq!(third.reasons, [ReasonCode::RateLimited, ReasonCode::RuleAllow]);
}

fn query(case: &Case) -> Query<'_> {
    Query {
        arguments: case.arguments.as_ref(),
        human_channel: case.human,
        now: NOW,
        ..Query::new(&case.capability, &case.principal, &case.request)
    }
}

/// Condition, required, actual, suggestion and code of something that fails.
type Failed = (String, Value, Value, String, ReasonCode);

/// The name of the rule, and everything that fails.
fn denial(case: &Case) -> (String, Vec<Failed>) {
    let set = baseline();
    let query = query(case);
    let found = explain_denial(&set, &query);
    assert_eq!(found.denied, set.decide(&query).verdict() != Verdict::Allow);
    let conditions = found
        .failed_conditions
        .into_iter()
        .map(|one| (one.condition, one.required, one.actual, one.suggestion, one.reason_code));
    (found.rule_name, conditions.collect())
}

fn said(text: &str) -> Option<Justification> {
    Some(Justification { text: text.to_owned(), source: JustificationSource::Human })
}

#[test]
fn a_denial_is_explained_as_the_reference_explains_it() {
    let read = Case::new(draft("c.x", Effects::READ_LOCAL).build().unwrap(), &[]);
    assert_eq!(denial(&read), ("allowed".to_owned(), Vec::new()));

    let mut write = Case::new(draft("c.x", Effects::WRITE_LOCAL).build().unwrap(), &[]);
    write.request.justification = said("hi");
    let short = |n: usize| {
        let words = format!("Provide justification with at least 15 characters (currently {n})");
        let code = ReasonCode::InsufficientJustification;
        ("min_justification".to_owned(), json!(15), json!(n), words, code)
    };
    let (rule, found) = denial(&write);
    assert_eq!(rule, "write-roles");
    let add = "Add 'admin' or 'writer' role to principal 'agent'".to_owned();
    let role = ("roles".to_owned(), json!(["admin", "writer"]), json!([]), add);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], (role.0, role.1, role.2, role.3, ReasonCode::MissingRole));
    assert_eq!(found[1], short(2));

    // Beside what the reference names stands the floor, which the reference has not.
    let sensitivity = [SensitivityTag::Pii].into();
    let destroy = CapabilityDraft { sensitivity, ..draft("c.x", Effects::UNDECLARED) };
    let mut destroy = Case::new(destroy.build().unwrap(), &["admin"]);
    destroy.request.justification = said("short");
    let (rule, found) = denial(&destroy);
    assert_eq!(rule, "destructive-min-justification");
    let names: Vec<_> = found.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(names, ["min_justification", "tenant_attribute", "approval"]);
    assert_eq!(found[0], short(5));

    let sensitivity = [SensitivityTag::Secrets].into();
    let secrets = CapabilityDraft { sensitivity, ..draft("c.x", Effects::READ_LOCAL) };
    let (rule, found) = denial(&Case::new(secrets.build().unwrap(), &[]));
    assert_eq!((rule.as_str(), found.len()), ("read-roles", 2), "{found:?}");
    assert_eq!(found[0].1, json!(["admin", "secrets_reader"]));
    assert_eq!(found[0].3, "Add 'admin' or 'secrets_reader' role to principal 'agent'");
    assert_eq!(found[1], short(0));
}

#[test]
fn what_a_deny_rule_misses_is_named() {
    let sensitivity = [SensitivityTag::Pii].into();
    let pii = CapabilityDraft { sensitivity, ..draft("c.x", Effects::READ_LOCAL) };
    let (_, found) = denial(&Case::new(pii.build().unwrap(), &[]));
    let (condition, required, actual, suggestion, code) = &found[0];
    assert_eq!(condition, "tenant_attribute");
    assert_eq!((required, actual), (&json!("present"), &json!("absent")));
    assert_eq!(suggestion, "Add 'tenant' attribute to principal 'agent'");
    assert_eq!(*code, ReasonCode::MissingTenantAttribute);
}

#[test]
fn an_explanation_reproduces_the_bytes_and_names_every_obstacle() {
    let set = set(
        r#"
        [[rules]]
        name = "calm"
        match = { capability = "docs.*", mode = "NORMAL" }
        require = { permissions = ["p"], attributes = { tenant = "a*" } }
        effect = "allow"
        [[rules]]
        name = "four eyes"
        match = { capability = "mail.*" }
        effect = "require_approval"
        authority = { quorum = 2, min_trust = 500, scopes = ["mail"] }
        [[rules]]
        name = "inside"
        match = { capability = "mail.send", not = { arguments = [{ at = "/to", suffix = "@a" }] } }
        effect = "deny"
        "#,
        CONTRACTS,
    );
    for (capability, mode, integrity) in [
        ("docs.read", "NORMAL", "trusted"),
        ("docs.write", "SAFE", "untrusted"),
        ("mail.send", "STRICT", "untrusted"),
        ("x.y", "NORMAL", "trusted"),
    ] {
        let request = request(&json!({ "id": "1", "capability": capability,
            "principal": { "id": "a" }, "args": { "to": "b" },
            "run": { "mode": mode, "label": { "integrity": integrity } } }));
        let tool = request.capability(&set).unwrap();
        let explanation = explain(&set, &request.query(&tool));
        let decision = set.decide(&request.query(&tool));
        let recorded: Value =
            serde_json::from_slice(&canonical::of(&decision, canonical::Profile::Foreign).unwrap())
                .unwrap();
        assert!(explanation.reproduces(&recorded), "{capability}");
        let other = set.decide(&request.query(&tool)).tightened(weaver_types::Contribution::new(
            weaver_types::Check::System,
            Verdict::Deny,
            ReasonCode::PolicyUnavailable,
            "other",
        ));
        assert!(!explanation.reproduces(&serde_json::to_value(&other).unwrap()));
        for obstacle in decision.obstacles() {
            let named = explanation.conditions().iter().any(|one| {
                (one.check, one.verdict) == (obstacle.check, obstacle.verdict)
                    || one.reason_code == obstacle.reason
            });
            assert!(named, "{capability}: {obstacle:?}");
        }
        let words = explanation.words();
        assert!(words.contains(decision.primary().as_str()), "{words}");
    }
}

#[test]
fn the_words_say_what_would_change_it() {
    let set = set(
        r#"
        [[rules]]
        name = "calm"
        match = { capability = "docs.*", roles = { any = ["reader"] } }
        effect = "allow"
        "#,
        CONTRACTS,
    );
    let request = request(&json!({ "id": "1", "capability": "docs.read",
        "principal": { "id": "a" } }));
    let tool = request.capability(&set).unwrap();
    let words = explain(&set, &request.query(&tool)).words();
    assert!(words.contains("rule `calm` would match but for `roles`"), "{words}");
}

#[test]
fn cases_pass_and_fail_one_by_one() {
    let set = set("[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n", CONTRACTS);
    let cases = Cases::parse(
        r#"
        [[cases]]
        name = "reads"
        capability = "docs.read"
        principal = { id = "a" }
        at = 2026-01-02T03:04:05Z
        expect = { verdict = "allow" }
        [[cases]]
        name = "sends"
        capability = "mail.send"
        principal = { id = "a" }
        args = { to = "b" }
        expect = { verdict = "allow" }
        "#,
        NOW,
    );
    let outcomes = cases.unwrap().run(&set);
    assert_eq!(outcomes.iter().map(|o| o.passed).collect::<Vec<_>>(), [true, false]);
    assert_eq!(outcomes[1].found, Ok((Verdict::Hold, ReasonCode::FloorHold)));
}

#[test]
fn a_file_of_cases_names_what_is_wrong_in_it() {
    let wrong = |text: &str| Cases::parse(text, NOW).unwrap_err().to_string();
    assert!(wrong("[[cases]]\nname = \"x\"\nname = 1").starts_with("line 3"));
    assert!(wrong("[[case]]\nname = \"x\"").contains("`case`"));
    let one = "[[cases]]\nname = \"x\"\ncapability = \"c\"\nprincipal = { id = \"a\" }\n";
    assert!(wrong(one).contains("case 1 `x`: it needs `expect"));
    assert!(wrong(&format!("{one}expect = {{ verdict = \"maybe\" }}")).contains("maybe"));
    let typo = format!("{one}rolse = 1\nexpect = {{ verdict = \"deny\" }}");
    assert!(wrong(&typo).contains("unknown field `rolse`"));
}

#[test]
fn a_comparison_counts_what_flips_by_kind() {
    let rule =
        |effect: &str| format!("[[rules]]\nname = \"docs\"\nmatch = {{}}\neffect = \"{effect}\"\n");
    let before = set(&rule("allow"), CONTRACTS);
    let added = "[[rules]]\nname = \"more\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n";
    let after = set(&(rule("deny") + added), CONTRACTS);
    let mut comparison = Comparison::new(&before, &after);
    for capability in ["docs.read", "docs.write", "mail.send"] {
        let line = json!({ "id": capability, "capability": capability, "args": {},
            "principal": { "id": "a" } });
        comparison.replay(&request(&line)).unwrap();
    }
    assert_eq!(comparison.changes()["policy.rules.docs"], Change::Changed);
    assert_eq!(comparison.changes()["policy.rules.more"], Change::Added);
    assert_eq!(comparison.changes().len(), 2, "{:?}", comparison.changes());
    assert_eq!(comparison.counts()["allow→deny"], 2);
    assert_eq!(comparison.counts()["hold→deny"], 1);
    assert_eq!((comparison.seen(), comparison.flips().len()), (3, 3));
    assert!(Comparison::new(&before, &before).changes().is_empty());
}
