//! The recorded policy cases of agent-kernel (Python), each by its id. Where we differ the case
//! stands in `DEVIATIONS`, and in `docs/conformance/vector-deviations.md` with the reason.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_policy::explain::explain_denial;
use weaver_types::{
    CapabilityDraft, Constraints, Effects, JustificationSource, ReasonCode, SensitivityTag, Verdict,
};

use crate::support::{Case, baseline, codes, draft, set};

const VECTORS: &str = include_str!("../data/agent-kernel.json");

/// What we answer instead: vector, case, reason code; `refused` where the request does not parse.
const DEVIATIONS: [(&str, usize, &str); 11] = [
    ("P01", 3, "refused"),
    ("P01", 4, "refused"),
    ("P01", 5, "refused"),
    ("P01", 6, "refused"),
    ("P01", 12, "floor_hold"),
    ("P01", 13, "floor_hold"),
    ("D01", 5, "insufficient_justification"),
    ("D01", 6, "missing_role"),
    ("P03", 4, "refused"),
    // Rows that a request asks for are its own limit, never widened by a rule.
    ("D01", 1, "rule_allow"),
    ("P02", 6, "default_policy_allow"),
];

fn vector(id: &str) -> Value {
    let all: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = all["cases"].as_array().unwrap();
    cases.iter().find(|case| case["id"] == id).unwrap().clone()
}

/// A recorded request; `None` where our form of it does not parse.
fn case(recorded: &Value) -> Option<Case> {
    let effects = match recorded["safety"].as_str().unwrap_or("READ") {
        "READ" => Effects::READ_LOCAL,
        "WRITE" => Effects::WRITE_LOCAL,
        "DESTRUCTIVE" => Effects::DESTROY_LOCAL,
        other => panic!("{other}"),
    };
    let words = |value: &Value| -> Vec<String> {
        let words = value.as_array().into_iter().flatten();
        words.map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let tag = recorded["sens"].as_str().map(|tag| match tag {
        "PII" => SensitivityTag::Pii,
        "PCI" => SensitivityTag::Pci,
        "SECRETS" => SensitivityTag::Secrets,
        "MEMORY" => SensitivityTag::Memory,
        other => panic!("{other}"),
    });
    let draft = CapabilityDraft {
        sensitivity: tag.into_iter().collect(),
        allowed_fields: words(&recorded["allowed"]).into_iter().collect(),
        ..draft("c.x", effects)
    };
    let roles = words(&recorded["roles"]);
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    let mut case = Case::new(draft.build().unwrap(), &roles);
    for (name, value) in recorded["attrs"].as_object().into_iter().flatten() {
        case.principal.attributes.insert(name.clone(), value.as_str().unwrap().to_owned());
    }
    for (name, value) in recorded["scope"].as_object().into_iter().flatten() {
        case.request.scope.insert(name.clone(), value.as_str().unwrap().to_owned());
    }
    case.request.intent = recorded["intent"].as_str().map(str::to_owned);
    if !recorded["constraints"].is_null() {
        case.request.constraints =
            serde_json::from_value::<Constraints>(recorded["constraints"].clone()).ok()?;
    }
    Some(match recorded["just"].as_str() {
        Some(text) => case.justified(text, JustificationSource::Human),
        None => case,
    })
}

fn ours(id: &str, index: usize) -> Option<&'static str> {
    DEVIATIONS.iter().find(|(v, at, _)| (*v, *at) == (id, index)).map(|(.., code)| *code)
}

/// Runs every case of a vector whose answers are decisions.
fn decisions(id: &str, set: &PolicySet, answer: impl Fn(&Value) -> Value) {
    let vector = vector(id);
    let inputs = vector["input"]["cases"].as_array().unwrap();
    let outputs = vector["output"]["cases"].as_array().unwrap();
    assert_eq!(inputs.len(), outputs.len());
    for (index, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        let (what, wanted) = (format!("{id}[{index}] {input}"), answer(output));
        let Some(case) = case(input) else {
            assert_eq!(ours(id, index), Some("refused"), "{what}");
            continue;
        };
        let decision = case.decide(set);
        let code = wanted["reason_code"].as_str().or(wanted["error"]["reason_code"].as_str());
        let expected = ours(id, index).or(code).unwrap();
        assert_eq!(decision.primary_reason(), ReasonCode::parse(expected).unwrap(), "{what}");
        let allowed = wanted["allowed"] == true && expected != "floor_hold";
        assert_eq!(decision.is_allowed(), allowed, "{what}");
        if !allowed {
            continue;
        }
        let limits = decision.constraints();
        let rows = wanted["constraints"]["max_rows"].as_u64();
        match (id, index) {
            ("D01", 1) => assert_eq!(limits.max_rows, Some(5), "{what}"),
            _ => assert_eq!(limits.max_rows.map(u64::from), rows, "{what}"),
        }
        let fields: Option<BTreeSet<String>> =
            serde_json::from_value(wanted["constraints"]["allowed_fields"].clone()).unwrap();
        match (id, index) {
            // A list of fields counts for every kind of sensitive data.
            ("P02", 6) => assert!(limits.allowed_fields.is_some(), "{what}"),
            _ => assert_eq!(limits.allowed_fields, fields, "{what}"),
        }
    }
}

/// Cases: P01, P02.
#[test]
fn the_default_policy() {
    for id in ["P01", "P02"] {
        decisions(id, &baseline(), Value::clone);
    }
}

/// Cases: P03.
#[test]
fn explaining_a_denial() {
    let (set, vector) = (baseline(), vector("P03"));
    let inputs = vector["input"]["cases"].as_array().unwrap();
    let outputs = vector["output"]["cases"].as_array().unwrap();
    for (index, (input, wanted)) in inputs.iter().zip(outputs).enumerate() {
        let what = format!("P03[{index}] {input}");
        let Some(case) = case(input) else {
            assert_eq!(ours("P03", index), Some("refused"), "{what}");
            continue;
        };
        let told = explain_denial(&set, &case.query());
        assert_eq!(told.denied, wanted["denied"] == true, "{what}");
        let code = told.reason_code.map(ReasonCode::as_str);
        let codes = |value: &Value| -> BTreeSet<String> {
            let failed = value["failed_conditions"].as_array().unwrap().iter();
            failed.map(|one| one["reason_code"].as_str().unwrap().to_owned()).collect()
        };
        let own: BTreeSet<String> =
            told.failed_conditions.iter().map(|one| one.reason_code.to_string()).collect();
        assert!(codes(wanted).is_subset(&own), "{what}: {own:?}");
        assert_eq!(code.is_some(), wanted["reason_code"].is_string(), "{what}");
        assert_eq!(told.remediation.is_empty(), told.failed_conditions.is_empty(), "{what}");
    }
}

/// The recorded policy in our language: what the reference matches and nobody may lack is `match`,
/// what a principal may lack is `require`.
const D01: &str = r#"
[[rules]]
name = "no-eu"
match = { scope = { region = "eu" } }
effect = "deny"
reason = "EU blocked"

[[rules]]
name = "read"
match = { effects = { impact = "read" }, sensitivity = ["none"] }
effect = "allow"
constraints = { max_rows = 20 }

[[rules]]
name = "pii"
match = { sensitivity = ["pii"], attributes = { tenant = "*" }, intent = ["support"] }
effect = "allow"

[[rules]]
name = "write"
match = { effects = { impact = "write" } }
require = { roles = { any = ["editor", "admin"] }, justification = { min_chars = 20 } }
effect = "allow"
"#;

/// Cases: D01.
#[test]
fn a_declared_policy() {
    decisions("D01", &set(D01, ""), |output| output["decision"].clone());
}

/// Cases: D02, X09.
#[test]
fn what_is_malformed_or_misspelt_does_not_load() {
    let rule = |more: &str| format!("[[rules]]\nname = \"a\"\n{more}\n");
    let cases = [
        "default = \"maybe\"\n".to_owned(),
        "rules = {}\n".to_owned(),
        "rules = [\"x\"]\n".to_owned(),
        rule("match = {}"),
        rule("effect = \"allow\"\nmatch = { class = [\"NOPE\"] }"),
        rule("effect = \"allow\"\nmatch = { roles = \"admin\" }"),
        rule("effect = \"allow\"\nmatch = {}\nrequire = { justification = { min_chars = true } }"),
        rule("effect = \"allow\"\nmatch = { attributes = { a = 1 } }"),
        rule("effect = \"allow\"\nmatch = {}\nconstraints = []"),
        // The misspelt key that there gives WRITE to everybody.
        rule("effect = \"allow\"\nmatch = { role = [\"admin\"] }"),
    ];
    let recorded = vector("D02")["input"]["cases"].as_array().unwrap().len();
    assert_eq!(recorded + 1, cases.len());
    for case in &cases {
        assert!(!codes(case).is_empty(), "{case}");
    }
    assert_eq!(vector("X09")["output"]["cases"][0], true, "there it loads and allows");
}

#[test]
fn a_service_holds_no_more_than_it_is_granted() {
    // The recorded answer of a destructive call is an allowance; the floor holds it here.
    let recorded = &vector("P01")["input"]["cases"][13];
    let decision = case(recorded).unwrap().decide(&baseline());
    assert_eq!(decision.verdict(), Verdict::Hold);
}
