//! Explanations of decisions, and of denials as the reference gives them.

use serde_json::{Value, json};
use weaver_policy::PolicyQuery;
use weaver_policy::explain::{explain, explain_denial};
use weaver_types::{
    Capability, CapabilityDraft, Confidentiality, Effects, Integrity, Justification,
    JustificationSource, Label, ReasonCode, SafetyMode, SensitivityTag, Verdict, canonical,
};

use crate::support::{Case, NOW, baseline, draft, foreign, set};

const CONTRACTS: &str = r#"
    [capabilities."docs.read"]
    effects = "read_local"
    [capabilities."docs.write"]
    effects = "write_local"
    [capabilities."mail.send"]
    effects = "write_open"
"#;

/// What a server proposes under this id, with its contract applied.
fn effective(set: &weaver_policy::PolicySet, id: &str) -> Capability {
    set.apply_contract(&foreign(id, Effects::UNDECLARED)).unwrap()
}

fn query(case: &Case) -> PolicyQuery<'_> {
    PolicyQuery {
        arguments: case.arguments.as_ref(),
        human_channel: case.human,
        now: NOW,
        ..PolicyQuery::new(&case.capability, &case.principal, &case.request)
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
        ("docs.read", SafetyMode::Normal, Integrity::Trusted),
        ("docs.write", SafetyMode::Safe, Integrity::Untrusted),
        ("mail.send", SafetyMode::Strict, Integrity::Untrusted),
        ("x.y", SafetyMode::Normal, Integrity::Trusted),
    ] {
        let case = Case {
            arguments: Some(json!({ "to": "b" })),
            mode,
            label: Label::new(Confidentiality::Public, integrity),
            ..Case::new(effective(&set, capability), &[])
        };
        let explanation = explain(&set, &case.query());
        let decision = set.decide(&case.query());
        let recorded: Value = serde_json::from_slice(
            &canonical::serialize(&decision, canonical::Profile::Foreign).unwrap(),
        )
        .unwrap();
        assert!(explanation.reproduces(&recorded), "{capability}");
        let other = set.decide(&case.query()).joined_with(weaver_types::CheckResult::new(
            weaver_types::CheckKind::System,
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
        let words = explanation.to_text();
        assert!(words.contains(decision.primary_reason().as_str()), "{words}");
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
    let case = Case::new(effective(&set, "docs.read"), &[]);
    let words = explain(&set, &case.query()).to_text();
    assert!(words.contains("rule `calm` would match but for `roles`"), "{words}");
}
