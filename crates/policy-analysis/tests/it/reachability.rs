//! Reachability: every yes has a witness, and a no is never wrong.

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_policy::{Pattern, PolicySet};
use weaver_policy_analysis::{CapabilitySet, Reachability, ReachabilityQuery, RecordedRequest};
use weaver_types::{CapabilityId, Integrity, SafetyClass, Verdict};

use crate::support::{NOW, baseline, set};

const CONTRACTS: &str = r#"
    [capabilities."docs.read"]
    effects = "read_local"
    [capabilities."docs.write"]
    effects = "write_local"
    [capabilities."db.drop"]
    effects = { impact = "destroy", world = "closed" }
    rung = "L3"
    lower_rung = true
    sink = "none"
    [capabilities."mail.send"]
    effects = "write_open"
    rung = "L3"
    lower_rung = true
    permissions = ["mail"]
"#;

fn allowed() -> ReachabilityQuery {
    ReachabilityQuery::new(Verdict::Allow, NOW)
}

fn ask(set: &PolicySet, query: &ReachabilityQuery) -> Reachability {
    let answer = query.solve(set, &CapabilitySet::from_documents(set));
    if let Reachability::Reachable { witness } = &answer {
        let request = RecordedRequest::from_value(witness.request.clone(), NOW).unwrap();
        let tool = request.capability(set).unwrap();
        assert_eq!(set.decide(&request.query(&tool)).verdict(), query.verdict);
    }
    answer
}

fn witness(answer: Reachability) -> Value {
    match answer {
        Reachability::Reachable { witness } => witness.request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_but_an_administrator_destroys() {
    let rules = r#"
        [[rules]]
        name = "admins"
        match = { class = "destructive" }
        require = { roles = { any = ["admin"] }, justification = { min_chars = 20 } }
        effect = "allow"
    "#;
    let query = ReachabilityQuery {
        class: [SafetyClass::Destructive].into(),
        without_roles: ["admin".to_owned()].into(),
        ..allowed()
    };
    let tight = set(rules, CONTRACTS);
    assert!(
        matches!(ask(&tight, &query), Reachability::Unreachable { capabilities } if capabilities > 0)
    );
    let hole = format!(
        "{rules}\n[[rules]]\nname = \"hole\"\nmatch = {{ capability = \"db.*\", agent = \"maint*\", intent = \"cleanup\" }}\neffect = \"allow\"\n"
    );
    let found = witness(ask(&set(&hole, CONTRACTS), &query));
    assert_eq!(found["capability"], "db.drop");
    assert_eq!(found["intent"], "cleanup");
    assert!(found["principal"]["agent"].as_str().unwrap().starts_with("maint"));
    let with = ReachabilityQuery { without_roles: [].into(), ..query };
    let found = witness(ask(&tight, &with));
    assert_eq!(found["principal"]["roles"], json!(["admin"]));
    assert!(found["justification"]["text"].as_str().unwrap().len() >= 20);
}

#[test]
fn the_floor_answers_for_the_baseline() {
    let query = ReachabilityQuery { class: [SafetyClass::Destructive].into(), ..allowed() };
    assert!(matches!(ask(&baseline(), &query), Reachability::Unreachable { .. }));
    let held = ReachabilityQuery { verdict: Verdict::Hold, ..query };
    assert!(matches!(ask(&baseline(), &held), Reachability::Reachable { .. }));
}

#[test]
fn arguments_are_made_for_the_witness() {
    let rules = r#"
        [[rules]]
        name = "small"
        match = { capability = "docs.write", arguments = [
            { at = "/amount", min = 10, max = 20 },
            { at = "/to/address", suffix = "@example.com" },
            { at = "/url", domains = ["*.example.org"] },
            { at = "/path", inside = "/srv/a" },
            { at = "/note", min_length = 3, max_length = 5 } ] }
        effect = "allow"
        [[rules]]
        name = "not-twelve"
        match = { arguments = [{ at = "/amount", in = [10, 20, 15] }] }
        effect = "deny"
    "#;
    let set = set(rules, CONTRACTS);
    let found = witness(ask(&set, &allowed()));
    assert_eq!(
        found["args"]["to"]["address"].as_str().map(|t| t.ends_with("@example.com")),
        Some(true)
    );
    let never = r#"
        [[rules]]
        name = "both"
        match = { arguments = [{ at = "/a", equals = 1 }, { at = "/a", equals = 2 }] }
        effect = "allow"
    "#;
    assert!(matches!(
        ask(&crate::support::set(never, CONTRACTS), &allowed()),
        Reachability::Unreachable { .. }
    ));
}

#[test]
fn what_cannot_be_searched_is_not_decided() {
    let rules = |test: &str| {
        format!("[[rules]]\nname = \"r\"\nmatch = {{ arguments = [{test}] }}\neffect = \"allow\"\n")
    };
    let origin = rules("{ at = \"/a\", provenance = [\"user\"] }");
    assert!(matches!(ask(&set(&origin, CONTRACTS), &allowed()), Reachability::Undecided { .. }));
    let odd = rules(
        "{ at = \"/a\", glob = \"a*b\" }, { at = \"/a\", glob = \"*c*\" }, { at = \"/a\", max_length = 3 }",
    );
    assert!(!matches!(ask(&set(&odd, CONTRACTS), &allowed()), Reachability::Unreachable { .. }));
}

#[test]
fn a_question_about_those_whom_the_policy_names() {
    let rules = r#"
        [principals."ana"]
        roles = ["reader"]
        [principals."root"]
        roles = ["admin"]
        [[rules]]
        name = "admins"
        match = { capability = "docs.*" }
        require = { roles = { all = ["admin"] } }
        effect = "allow"
    "#;
    let set = set(rules, CONTRACTS);
    let known = ReachabilityQuery { known_principals: true, ..allowed() };
    assert_eq!(witness(ask(&set, &known))["principal"]["id"], "root");
    let ana = ReachabilityQuery { principal: vec![Pattern::parse("ana").unwrap()], ..known };
    assert!(matches!(ask(&set, &ana), Reachability::Unreachable { .. }));
    let anybody = ReachabilityQuery { known_principals: false, ..ana };
    assert!(matches!(ask(&set, &anybody), Reachability::Reachable { .. }));
}

#[test]
fn untrusted_runs_and_times_are_searched() {
    let rules = r#"
        [[rules]]
        name = "nights"
        match = { time = { from = "22:00", to = "06:00", days = ["sat"] } }
        effect = "allow"
    "#;
    let nights = set(rules, CONTRACTS);
    assert!(matches!(ask(&nights, &allowed()), Reachability::Reachable { .. }));
    let sends = ReachabilityQuery {
        capability: vec![Pattern::parse("mail.*").unwrap()],
        integrity: [Integrity::Untrusted].into(),
        ..allowed()
    };
    // To a receiver that the user named the call goes on, so nobody can say no.
    assert!(matches!(ask(&nights, &sends), Reachability::Undecided { .. }));
    let docs = rules.replace("match = {", "match = { capability = \"docs.*\",");
    assert!(matches!(ask(&set(&docs, CONTRACTS), &sends), Reachability::Unreachable { .. }));
}

/// Rules that are drawn from, in every combination.
const RULES: [&str; 16] = [
    "match = { capability = \"docs.*\" }\neffect = \"allow\"",
    "match = { }\nrequire = { roles = { any = [\"a\", \"b\"] } }\neffect = \"allow\"",
    "match = { roles = { any = [\"a\"] } }\nrequire = { permissions = [\"mail\"] }\neffect = \"allow\"",
    "match = { principal = [\"x*\", \"ana\"] }\nrequire = { justification = { min_chars = 5, sources = [\"model\"] } }\neffect = \"allow\"",
    "match = { capability = \"mail.*\" }\nrequire = { attributes = { t = \"a*\" }, justification = {} }\neffect = \"allow\"",
    "match = { intent = [\"i*\"], scope = { s = \"*z\" } }\neffect = \"allow\"",
    "match = { arguments = [{ at = \"/n\", min = 5 }] }\neffect = \"allow\"",
    "match = { mode = \"SAFE\" }\neffect = \"deny\"",
    "match = { label = { integrity = \"untrusted\" } }\neffect = \"require_approval\"",
    "match = { not = { roles = { all = [\"b\"] } } }\neffect = \"deny\"",
    "match = { agent = [\"bot*\"] }\neffect = \"deny\"",
    "match = { not = { arguments = [{ at = \"/n\", max = 7 }] }, unless = { agent = \"bot\" } }\neffect = \"deny\"",
    "match = { any = [{ principal = \"*a\" }, { attributes = { t = \"*b\" } }] }\neffect = \"require_approval\"",
    "match = { time = { from = \"09:00\", to = \"17:00\" } }\neffect = \"deny\"",
    "match = { class = \"destructive\" }\nrequire = { roles = { all = [\"a\"] } }\neffect = \"allow\"",
    "match = { operation = \"view\", scope = { s = \"q*\" } }\neffect = \"deny\"",
];

fn requests() -> impl Strategy<Value = Value> {
    let pick = |all: Vec<Value>| proptest::sample::select(all);
    let who = (
        pick(vec![json!("ana"), json!("xa"), json!("bob")]),
        proptest::sample::subsequence(vec!["a", "b", "c"], 0..3),
        proptest::sample::subsequence(vec!["mail", "other"], 0..2),
        pick(vec![json!({}), json!({ "t": "a" }), json!({ "t": "ab" }), json!({ "t": "zb" })]),
        pick(vec![json!(null), json!("bot"), json!("bots"), json!("other")]),
    );
    let what = (
        pick(vec![
            json!("docs.read"),
            json!("docs.write"),
            json!("db.drop"),
            json!("mail.send"),
            json!("q"),
        ]),
        pick(vec![
            json!(null),
            json!({}),
            json!({ "n": 6 }),
            json!({ "n": 9 }),
            json!({ "n": "6" }),
        ]),
        pick(vec![json!(null), json!("it"), json!("no")]),
        pick(vec![json!({}), json!({ "s": "qz" }), json!({ "s": "z" })]),
        pick(vec![
            json!(null),
            json!({ "text": "because it is so", "source": "human" }),
            json!({ "text": "short", "source": "model" }),
        ]),
        pick(vec![json!("invoke"), json!("view")]),
    );
    let run = (
        pick(vec![json!("NORMAL"), json!("SAFE"), json!("STRICT")]),
        pick(vec![json!("trusted"), json!("untrusted")]),
        pick(vec![json!("public"), json!("restricted")]),
        pick(vec![json!("2026-03-04T10:00:00Z"), json!("2026-03-04T20:00:00Z")]),
        any::<bool>(),
    );
    (who, what, run).prop_map(|(who, what, run)| {
        json!({
            "id": "1", "capability": what.0, "args": what.1, "intent": what.2, "scope": what.3,
            "justification": what.4, "operation": what.5, "at": run.3, "human_channel": run.4,
            "principal": { "id": who.0, "roles": who.1, "permissions": who.2,
                "attributes": who.3, "agent": who.4 },
            "run": { "mode": run.0, "label": { "integrity": run.1, "confidentiality": run.2 } },
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn whatever_happens_can_happen(
        drawn in proptest::sample::subsequence(RULES.to_vec(), 0..7),
        requests in proptest::collection::vec(requests(), 30),
    ) {
        let rules: String = drawn
            .iter()
            .enumerate()
            .map(|(n, rule)| format!("[[rules]]\nname = \"r{n}\"\n{rule}\n"))
            .collect();
        let set = set(&rules, CONTRACTS);
        for value in &requests {
            let request = RecordedRequest::from_value(value.clone(), NOW).unwrap();
            let tool = request.capability(&set).unwrap();
            let verdict = set.decide(&request.query(&tool)).verdict();
            let mut query = ReachabilityQuery::new(verdict, NOW);
            query.operation = request.operation;
            query.with_roles = request.principal.roles.clone();
            query.mode = [request.mode].into();
            query.integrity = [request.label.integrity].into();
            query.arguments = Some(request.arguments.is_some());
            query.justified = Some(request.request.justification.is_some());
            let catalogue = CapabilitySet::new([CapabilityId::parse(tool.id()).unwrap()]);
            let answer = query.solve(&set, &catalogue);
            prop_assert!(matches!(answer, Reachability::Reachable { .. }), "{answer:?}\n{value}\n{rules}");
        }
    }
}

#[test]
fn a_query_knows_the_agents_of_the_policy() {
    let set = set(
        "[principals.\"bot\"]\nagent = \"a\"\n[agents.\"a\"]\ntool_allowlist = [\"docs.read\"]\n\
         decision_keys = [\"k.read\"]\nsafety_class_ceiling = \"read_only\"\n\
         [[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n",
        "[capabilities.\"docs.read\"]\neffects = \"read_local\"\n\
         [capabilities.\"docs.copy\"]\neffects = \"read_local\"\n",
    );
    let ask = |tool: &str| {
        let capability = vec![Pattern::parse(tool).unwrap()];
        let allowed = ReachabilityQuery::new(Verdict::Allow, NOW);
        let query = ReachabilityQuery { capability, known_principals: true, ..allowed };
        query.solve(&set, &CapabilitySet::from_documents(&set))
    };
    match ask("docs.read") {
        Reachability::Reachable { witness } => assert_eq!(witness.request["intent"], "k.read"),
        other => panic!("{other:?}"),
    }
    assert!(!matches!(ask("docs.copy"), Reachability::Reachable { .. }));
}
