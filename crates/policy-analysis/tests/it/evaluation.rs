//! Recorded requests, their evaluation, test cases, and differences.

use serde_json::{Value, json};
use weaver_policy_analysis::{
    DocumentChange, Evaluation, Evaluator, PolicyDiff, RecordedRequest, TestCases,
    VerdictWithReason,
};
use weaver_types::{ReasonCode, Verdict};

use crate::support::{NOW, set};

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
    let mut evaluator = Evaluator::new(&set);
    let mut answer = |capability: &str| {
        let line = json!({ "id": "1", "capability": capability, "args": {},
            "principal": { "id": "a" } });
        let evaluation = evaluator.evaluate(&request(&line)).unwrap();
        (evaluation.verdict, evaluation.primary)
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
    let mut evaluator = Evaluator::new(&set);
    let mut ask = |roles: &[&str]| -> Evaluation {
        let line = json!({ "id": "1", "capability": "docs.read",
            "principal": { "id": "a", "roles": roles } });
        evaluator.evaluate(&request(&line)).unwrap()
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

#[test]
fn cases_pass_and_fail_one_by_one() {
    let set = set("[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n", CONTRACTS);
    let cases = TestCases::parse(
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
    let results = cases.unwrap().run(&set);
    assert_eq!(results.iter().map(|result| result.passed).collect::<Vec<_>>(), [true, false]);
    let found = VerdictWithReason { verdict: Verdict::Hold, reason: ReasonCode::FloorHold };
    assert_eq!(results[1].found, Ok(found));
}

#[test]
fn a_file_of_cases_names_what_is_wrong_in_it() {
    let wrong = |text: &str| TestCases::parse(text, NOW).unwrap_err().to_string();
    assert!(wrong("[[cases]]\nname = \"x\"\nname = 1").starts_with("line 3"));
    assert!(wrong("[[case]]\nname = \"x\"").contains("`case`"));
    let one = "[[cases]]\nname = \"x\"\ncapability = \"c\"\nprincipal = { id = \"a\" }\n";
    assert!(wrong(one).contains("case 1 `x`: it needs `expect"));
    assert!(wrong(&format!("{one}expect = {{ verdict = \"maybe\" }}")).contains("maybe"));
    let typo = format!("{one}rolse = 1\nexpect = {{ verdict = \"deny\" }}");
    assert!(wrong(&typo).contains("unknown field `rolse`"));
}

#[test]
fn a_diff_counts_changed_decisions_by_kind() {
    let rule =
        |effect: &str| format!("[[rules]]\nname = \"docs\"\nmatch = {{}}\neffect = \"{effect}\"\n");
    let before = set(&rule("allow"), CONTRACTS);
    let added = "[[rules]]\nname = \"more\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n";
    let after = set(&(rule("deny") + added), CONTRACTS);
    let mut diff = PolicyDiff::new(&before, &after);
    for capability in ["docs.read", "docs.write", "mail.send"] {
        let line = json!({ "id": capability, "capability": capability, "args": {},
            "principal": { "id": "a" } });
        diff.compare_request(&request(&line)).unwrap();
    }
    assert_eq!(diff.document_changes()["policy.rules.docs"], DocumentChange::Changed);
    assert_eq!(diff.document_changes()["policy.rules.more"], DocumentChange::Added);
    assert_eq!(diff.document_changes().len(), 2, "{:?}", diff.document_changes());
    assert_eq!(diff.counts()["allow→deny"], 2);
    assert_eq!(diff.counts()["hold→deny"], 1);
    assert_eq!((diff.compared_count(), diff.changed_decisions().len()), (3, 3));
    assert!(PolicyDiff::new(&before, &before).document_changes().is_empty());
}
