//! The cases of Lodestar v0.5.0 on its gate and on signatures, and those on the join of a
//! decision, in our language. The cases on arbitration are in `signals`.

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use weaver_policy::{DocumentSource, DocumentSources, LoadError, PolicySet};
use weaver_types::canonical::{self, Profile};
use weaver_types::signature::{DocumentKind, SigningKey};
use weaver_types::{
    ApprovalAuthority, CheckKind, CheckResult, Decision, DecisionBasis, Digest, Effects,
    JustificationSource, PolicyOrigin, ReasonCode, Rung, Verdict, hex,
};

use crate::support::{Case, NOW, baseline, codes, draft, envelope, head, host, root, set};

/// Where we answer otherwise, on purpose: the case, our verdict and our reason.
const DEVIATIONS: [(&str, Verdict, ReasonCode); 1] = [
    // What no rule mentions is denied on L4 too; Lodestar holds it.
    ("GATE-06", Verdict::Deny, ReasonCode::NoMatchingRule),
];

fn data() -> Value {
    canonical::parse(include_bytes!("../data/lodestar.json"), Profile::Foreign).unwrap()
}

fn case(id: &str) -> Value {
    let data = data();
    let cases = data["cases"].as_array().unwrap();
    cases.iter().find(|case| case["id"] == id).unwrap_or_else(|| panic!("no case {id}")).clone()
}

#[test]
fn every_case_of_these_groups_is_answered_for() {
    let here = [
        "GATE-01", "GATE-02", "GATE-03", "GATE-04", "GATE-05", "GATE-06", "GATE-07", "GATE-08",
        "GATE-09", "GATE-10", "GATE-11", "GATE-12", "GATE-13", "GATE-14", "PSIG-01", "PSIG-02",
        "PSIG-03", "PSIG-04", "PSIG-05", "UNI-01", "UNI-02", "UNI-03",
    ];
    let in_signals: Vec<_> = (1..=9).map(|n| format!("ARB-0{n}")).collect();
    let known: BTreeSet<_> = here.iter().map(|id| (*id).to_owned()).chain(in_signals).collect();
    let data = data();
    let ids = data["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap());
    assert_eq!(ids.map(str::to_owned).collect::<BTreeSet<_>>(), known);
}

// The gate.

const RUNGS: [Rung; 6] = [Rung::L0, Rung::L1, Rung::L2, Rung::L3, Rung::L4, Rung::L5];
const BLAST: [&str; 4] = ["self", "session", "project", "external"];

/// Lodestar's match in our words: a level is a list of rungs, blast radius and sensitivity are
/// tags of the contract, a scope is an entry of the request's scope.
fn match_of(matches: &Value) -> String {
    let mut out = Vec::new();
    for (key, value) in matches.as_object().unwrap() {
        out.push(match key.as_str() {
            "tool" => format!("capability = {value}"),
            "required_level_lte" => {
                let most = value.as_u64().unwrap() as usize;
                format!(
                    "rung = {:?}",
                    RUNGS[..=most].iter().map(|r| format!("{r:?}")).collect::<Vec<_>>()
                )
            }
            "max_blast_radius" => {
                let most = BLAST.iter().position(|word| value == word).unwrap();
                let tags: Vec<_> =
                    BLAST[..=most].iter().map(|word| format!("blast:{word}")).collect();
                format!("tags = {{ any = {tags:?} }}")
            }
            "data_sensitivity" => {
                format!("tags = {{ any = \"data:{}\" }}", value.as_str().unwrap())
            }
            "scope" => format!(
                "scope = {{ {} = {} }}",
                value["level"].as_str().unwrap(),
                value["identifier"]
            ),
            other => panic!("{other}"),
        });
    }
    format!("{{ {} }}", out.join(", "))
}

fn rule_of(index: usize, rule: &Value) -> String {
    let authority = &rule["approval"]["required_authority"];
    let authority = authority.as_object().map_or(String::new(), |need| {
        let trust = need["min_trust_baseline"].as_f64().unwrap() * 1_000.0;
        let scope = &need["scope"];
        let scope = format!(
            "{}:{}",
            scope["level"].as_str().unwrap(),
            scope["identifier"].as_str().unwrap()
        );
        format!("authority = {{ min_trust = {trust}, scopes = [{scope:?}] }}\n")
    });
    format!(
        "[[rules]]\nname = \"r{index}\"\nmatch = {}\neffect = {}\nreason = {}\n{authority}",
        match_of(&rule["match"]),
        rule["effect"],
        rule["reason"],
    )
}

fn gate() -> PolicySet {
    let data = data();
    let rules = data["policy"]["rules"].as_array().unwrap();
    let text: String = rules.iter().enumerate().map(|(n, rule)| rule_of(n, rule)).collect();
    set(&text, "")
}

fn action(when: &Value) -> Case {
    let mut draft = draft(when["tool"].as_str().unwrap_or("fs.read"), Effects::READ_LOCAL);
    draft.rung = when["required_level"].as_u64().map(|level| RUNGS[level as usize]);
    let tag = |kind: &str, key: &str| when[key].as_str().map(|word| format!("{kind}:{word}"));
    draft.tags = [tag("blast", "blast_radius"), tag("data", "data_sensitivity")]
        .into_iter()
        .flatten()
        .collect();
    let mut case = Case::new(draft.build().unwrap(), &[]);
    let scope = &when["scope"];
    if let (Some(level), Some(id)) = (scope["level"].as_str(), scope["identifier"].as_str()) {
        case.request.scope.insert(level.to_owned(), id.to_owned());
    }
    case
}

fn verdict(word: &Value) -> Verdict {
    let all = [Verdict::Allow, Verdict::Ask, Verdict::Hold, Verdict::Deny];
    all.into_iter().find(|verdict| word == verdict.as_str()).unwrap()
}

/// The reason that answers to where Lodestar says its verdict came from.
fn reason(then: &Value) -> ReasonCode {
    match (then["matched"]["source"].as_str().unwrap(), verdict(&then["verdict"])) {
        ("rule", Verdict::Allow) => ReasonCode::RuleAllow,
        ("rule", Verdict::Hold) => ReasonCode::ApprovalRequired,
        ("rule", Verdict::Deny) => ReasonCode::ExplicitDenyRule,
        ("floor", Verdict::Hold) => ReasonCode::FloorHold,
        ("floor", Verdict::Deny) => ReasonCode::Prohibited,
        ("default", Verdict::Deny) => ReasonCode::NoMatchingRule,
        other => panic!("{other:?}"),
    }
}

fn check(id: &str, set: &PolicySet, when: &Value, then: &Value) {
    let decision = action(when).decide(set);
    let answer = (decision.verdict(), decision.primary_reason());
    if let Some((_, verdict, reason)) = DEVIATIONS.iter().find(|(other, ..)| *other == id) {
        assert_eq!(answer, (*verdict, *reason), "{id}");
        assert_ne!(*verdict, self::verdict(&then["verdict"]), "{id} deviates no more");
        return;
    }
    assert_eq!(answer, (verdict(&then["verdict"]), reason(then)), "{id}");
    if let Some(index) = then["matched"]["rule_index"].as_u64() {
        let detail = format!("rule `r{index}`: {}", then["reason"].as_str().unwrap());
        assert_eq!(decision.detail(), detail, "{id}");
    }
    if let Some(need) = then["required_authority"].as_object() {
        let trust = need.get("min_trust_baseline").map(|t| (t.as_f64().unwrap() * 1_000.0) as u16);
        let scope = need.get("scope").map(|s| {
            format!("{}:{}", s["level"].as_str().unwrap(), s["identifier"].as_str().unwrap())
        });
        let scopes = scope.into_iter().collect();
        let expected = ApprovalAuthority {
            min_trust: trust,
            scopes,
            quorum: 1,
            ..ApprovalAuthority::default()
        };
        assert_eq!(*decision.authority(), expected, "{id}");
    }
}

/// Cases: GATE-01 to GATE-10.
#[test]
fn recorded_requests_are_decided_as_the_reference_does_or_stricter() {
    let set = gate();
    for n in 1..=10 {
        let id = format!("GATE-{n:02}");
        let case = case(&id);
        if case["when"]["tool"].is_string() {
            check(&id, &set, &case["when"], &case["then"]);
        } else {
            for (key, when) in case["when"].as_object().unwrap() {
                check(&id, &set, when, &case["then"][key]);
            }
        }
    }
}

/// Cases: GATE-11.
#[test]
fn a_scope_fits_by_level_and_name() {
    let rules =
        "[[rules]]\nname = \"r\"\nmatch = { scope = { project = \"p1\" } }\neffect = \"allow\"\n";
    let set = set(rules, "");
    let case = case("GATE-11");
    check("GATE-11", &set, &case["when"], &case["then"]);
    let mut fits = case["when"].clone();
    fits["scope"] = serde_json::json!({ "level": "project", "identifier": "p1" });
    assert_eq!(action(&fits).decide(&set).verdict(), Verdict::Allow);
}

/// Cases: GATE-12.
#[test]
fn sensitivity_is_compared_as_a_word() {
    let rules = "[[rules]]\nname = \"r\"\nmatch = { tags = { any = \"data:private\" } }\neffect = \"allow\"\n";
    let set = set(rules, "");
    let case = case("GATE-12");
    check("GATE-12", &set, &case["when"], &case["then"]);
    let fits = serde_json::json!({ "data_sensitivity": "private" });
    assert_eq!(action(&fits).decide(&set).verdict(), Verdict::Allow);
}

/// There is no preset to refuse. A rule that allows L4 loads, and frees nothing there.
///
/// Cases: GATE-13.
#[test]
fn no_rule_approves_l4_by_itself() {
    let rules = "[[rules]]\nname = \"r\"\nmatch = { rung = [\"L0\", \"L1\", \"L2\", \"L3\", \"L4\"] }\neffect = \"allow\"\n";
    let set = set(rules, "");
    for rung in [Rung::L3, Rung::L4] {
        let mut draft = draft("x", Effects::READ_LOCAL);
        draft.rung = Some(rung);
        let expected = if rung == Rung::L4 { Verdict::Hold } else { Verdict::Allow };
        assert_eq!(Case::new(draft.build().unwrap(), &[]).decide(&set).verdict(), expected);
    }
}

/// Cases: GATE-14.
#[test]
fn malformed_documents_and_envelopes_are_refused() {
    let rule =
        "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\nauthority = { min_trust = 1 }\n";
    assert_eq!(codes(rule).len(), 1);
    let (text, good) = signed(1);
    let without_key = good.replace("\"key\"", "\"kez\"");
    assert_ne!(without_key, good);
    assert_eq!(refused(&text, Some(&without_key)), ["policy.signature_malformed"]);
    let own = root().public().to_string();
    let other = SigningKey::from_seed([8; 32]).public().to_string();
    for (name, code) in
        [(other.as_str(), "policy.signature_key"), ("somebody-else", "policy.signature_invalid")]
    {
        let renamed = good.replace(&own, name);
        assert_ne!(renamed, good);
        assert_eq!(refused(&text, Some(&renamed)), [code]);
    }
}

// Signatures.

/// Lodestar signs the canonical form of `id`, `rules` and `version`. Ours gives the same bytes.
///
/// Cases: PSIG-01.
#[test]
fn the_canonical_form_has_the_bytes_of_the_reference() {
    let (policy, then) = (data()["policy"].clone(), case("PSIG-01")["then"].clone());
    let bytes = canonical::to_bytes(&policy, Profile::Document).unwrap();
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), then["canonical"].as_str().unwrap());
    assert_eq!(hex(&Sha256::digest(&bytes)), then["sha256_hex"].as_str().unwrap());
}

/// A policy with one deny rule, and its envelope.
fn signed(version: u64) -> (String, String) {
    let rule = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"deny\"\n";
    let text = head("policy").replace("version = 1", &format!("version = {version}")) + rule;
    let envelope = envelope(DocumentKind::Policy, &text, &root());
    (text, envelope)
}

fn load(text: &str, policy: Option<&str>) -> Result<PolicySet, LoadError> {
    let (contracts, keys) = (head("contracts"), head("keys"));
    let contracts_envelope = envelope(DocumentKind::Contracts, &contracts, &root());
    let keys_envelope = envelope(DocumentKind::Keys, &keys, &root());
    let sources = DocumentSources {
        policy: DocumentSource { name: "p", toml: text, signature: policy.map(str::as_bytes) },
        contracts: DocumentSource::signed("c", &contracts, contracts_envelope.as_bytes()),
        keys: DocumentSource::signed("k", &keys, keys_envelope.as_bytes()),
    };
    PolicySet::load(&sources, &root().public(), NOW)
}

fn refused(text: &str, policy: Option<&str>) -> Vec<&'static str> {
    load(text, policy).unwrap_err().findings().iter().map(|finding| finding.code).collect()
}

/// Cases: PSIG-02.
#[test]
fn unsigned_is_refused_unless_development_says_so() {
    let (text, envelope) = signed(1);
    assert_eq!(refused(&text, None), ["policy.signature_missing"]);
    assert!(load(&text, Some(&envelope)).is_ok());
    assert_eq!(set("", "").basis().origin, PolicyOrigin::UnsignedDevelopment);
}

/// Cases: PSIG-03.
#[test]
fn a_rule_changed_after_signing_is_refused() {
    let (text, envelope) = signed(1);
    let changed = text.replace("\"deny\"", "\"allow\"");
    assert_eq!(refused(&changed, Some(&envelope)), ["policy.signature_digest"]);
}

/// W1: a garbage signature over the right digest, under the right name.
///
/// Cases: PSIG-04.
#[test]
fn a_right_digest_under_a_wrong_signature_is_refused() {
    let (text, envelope) = signed(1);
    let (before, rest) = envelope.split_once("\"signature\":\"").unwrap();
    let (_, after) = rest.split_once('"').unwrap();
    for (garbage, code) in [
        ("AAAA".to_owned(), "policy.signature_malformed"),
        (format!("{}==", "A".repeat(86)), "policy.signature_invalid"),
    ] {
        let forged = format!("{before}\"signature\":\"{garbage}\"{after}");
        assert_eq!(refused(&text, Some(&forged)), [code]);
    }
}

// PSIG-05, an older version, needs a ledger: see `high_water`.

// The join.

/// Cases: UNI-01.
#[test]
fn being_found_changes_nothing_about_a_missing_role() {
    let set = baseline();
    let write = Case::new(host("notes.write", Effects::WRITE_LOCAL), &[]);
    let write = write.justified("a reason that is long enough", JustificationSource::Human);
    assert!(set.is_visible(&write.principal, &write.capability));
    assert_eq!(write.answer(&set), (Verdict::Deny, ReasonCode::MissingRole));
}

/// Cases: UNI-02.
#[test]
fn fifteen_characters_justify_and_fourteen_do_not() {
    let set = baseline();
    let write = Case::new(host("notes.write", Effects::WRITE_LOCAL), &["writer"]);
    let answer = |length| {
        write.clone().justified(&"j".repeat(length), JustificationSource::Human).answer(&set)
    };
    assert_eq!(answer(14), (Verdict::Ask, ReasonCode::InsufficientJustification));
    assert_eq!(answer(15).0, Verdict::Allow);
}

/// Cases: UNI-03.
#[test]
fn the_strictest_wins_and_every_source_is_listed() {
    let says = |check, verdict, reason| CheckResult::new(check, verdict, reason, "d");
    let all = vec![
        says(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold),
        says(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow),
        says(CheckKind::Mode, Verdict::Deny, ReasonCode::ModeForbids),
    ];
    let (policy, contracts) = (Digest::from_bytes([0; 32]), Digest::from_bytes([0; 32]));
    let basis = DecisionBasis { policy, contracts, origin: PolicyOrigin::Code };
    let decision = Decision::join(all.clone(), basis);
    assert_eq!(
        (decision.verdict(), decision.primary_reason()),
        (Verdict::Deny, ReasonCode::ModeForbids)
    );
    assert_eq!(decision.check_results().len(), 3);
    assert!(all.iter().all(|one| decision.check_results().contains(one)));
}
