//! The recorded cases of agent-kernel's default policy, end to end: through the kernel, to what is
//! executed, shown and recorded. How they are decided is tested beside the policy.

use serde_json::{Value, json};
use weaver_agent_kernel::Caller;
use weaver_policy::Policy;
use weaver_types::{
    CapabilityDraft, Constraints, Effects, JustificationSource, Principal, RawResult,
    SensitivityTag,
};

use crate::support::{Asked, World, answer, draft, log, principal, succeeded};

const VECTORS: &str = include_str!("../../../policy/tests/data/agent-kernel.json");
/// The rows that a frame shows at most, whatever a policy allows.
const FRAME_ROWS: u64 = 50;

/// What we answer instead: vector, case, reason code; `refused` where the request does not parse.
const DEVIATIONS: [(&str, usize, &str); 7] = [
    ("P01", 3, "refused"),
    ("P01", 4, "refused"),
    ("P01", 5, "refused"),
    ("P01", 6, "refused"),
    ("P01", 12, "floor_hold"),
    ("P01", 13, "floor_hold"),
    ("P03", 4, "refused"),
];

fn cases(id: &str) -> Vec<(Value, Value)> {
    let all: Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = all["cases"].as_array().unwrap();
    let vector = vectors.iter().find(|vector| vector["id"] == id).unwrap();
    let list = |part: &str| vector[part]["cases"].as_array().unwrap().clone();
    assert_eq!(list("input").len(), list("output").len());
    list("input").into_iter().zip(list("output")).collect()
}

fn ours(id: &str, index: usize) -> Option<&'static str> {
    DEVIATIONS.iter().find(|(v, at, _)| (*v, *at) == (id, index)).map(|(.., code)| *code)
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_array().into_iter().flatten();
    words.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// A kernel under the default policy with the recorded capability, and who asks for what.
struct Desk {
    world: World,
    who: Principal,
    asked: Asked,
}

fn capability(recorded: &Value) -> CapabilityDraft {
    let effects = match recorded["safety"].as_str().unwrap() {
        "READ" => Effects::READ_LOCAL,
        "WRITE" => Effects::WRITE_LOCAL,
        "DESTRUCTIVE" => Effects::DESTROY_LOCAL,
        other => panic!("{other}"),
    };
    let tag = recorded["sens"].as_str().map(|tag| match tag {
        "PII" => SensitivityTag::Pii,
        "PCI" => SensitivityTag::Pci,
        "SECRETS" => SensitivityTag::Secrets,
        "MEMORY" => SensitivityTag::Memory,
        other => panic!("{other}"),
    });
    CapabilityDraft {
        sensitivity: tag.into_iter().collect(),
        allowed_fields: words(&recorded["allowed"]).into_iter().collect(),
        ..draft("c.x", effects)
    }
}

/// The recorded request; `None` where our form of it does not parse.
fn desk(recorded: &Value) -> Option<Desk> {
    let world = World::new(Policy::baseline().unwrap());
    let rows: Value = (0..600).map(|n| json!({ "id": n, "note": "plain" })).collect();
    world.answering(capability(recorded), move |_| Ok(RawResult::json(rows.clone())));
    let roles = words(&recorded["roles"]);
    let mut who = principal("p", &roles.iter().map(String::as_str).collect::<Vec<_>>());
    let texts = |key: &str| {
        let entries = recorded[key].as_object().into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
    };
    who.attributes.extend(texts("attrs"));
    let mut asked = Asked::new("c.x");
    asked.request.scope.extend(texts("scope"));
    if !recorded["constraints"].is_null() {
        asked.request.constraints =
            serde_json::from_value::<Constraints>(recorded["constraints"].clone()).ok()?;
    }
    if let Some(why) = recorded["just"].as_str() {
        asked.request = asked.request.justified(why, JustificationSource::Human);
    }
    Some(Desk { world, who, asked })
}

/// What an allowed call shows: as many rows and fields as the recorded constraints leave.
fn shown(id: &str, index: usize, recorded: &Value, desk: &Desk) {
    let what = format!("{id}[{index}]");
    let done = desk.world.call(&desk.world.run(), &desk.who, &desk.asked);
    assert!(succeeded(&done), "{what}: {done:?}");
    let frame = done.result.unwrap().data.unwrap();
    let rows = recorded["constraints"]["max_rows"].as_u64().unwrap().min(FRAME_ROWS);
    assert_eq!(frame.table.len() as u64, rows, "{what}");
    let listed = recorded["constraints"].get("allowed_fields").is_some();
    // A list of fields counts for every kind of sensitive data.
    let only_id = listed || (id, index) == ("P02", 6);
    let fields: Vec<&String> = frame.table[0].keys().collect();
    assert_eq!(fields, if only_id { vec!["id"] } else { vec!["id", "note"] }, "{what}");
}

/// Cases: P01, P02.
#[test]
fn recorded_decisions_come_out_the_same_through_the_kernel() {
    for id in ["P01", "P02"] {
        for (index, (input, recorded)) in cases(id).into_iter().enumerate() {
            let what = format!("{id}[{index}] {input}");
            let Some(desk) = desk(&input) else {
                assert_eq!(ours(id, index), Some("refused"), "{what}");
                continue;
            };
            let code = recorded["reason_code"].as_str();
            let code = code.or(recorded["error"]["reason_code"].as_str()).unwrap();
            let code = ours(id, index).unwrap_or(code);
            let allowed = recorded["allowed"] == true && ours(id, index).is_none();
            let done = desk.world.call(&desk.world.run(), &desk.who, &desk.asked);
            assert_eq!(answer(&done).1.as_str(), code, "{what}");
            assert_eq!(
                (done.decision.is_allowed(), succeeded(&done)),
                (allowed, allowed),
                "{what}"
            );
            assert_eq!(desk.world.executed(), u64::from(allowed), "{what}");
            let last = log(desk.world.ledger.as_ref()).into_iter().rfind(|event| {
                ["call.outcome", "call.refused", "approval.requested"]
                    .contains(&event.kind.as_str())
            });
            let kind = last.map(|event| event.kind).unwrap_or_default();
            assert_eq!(kind == "call.outcome", allowed, "{what}: {kind}");
            if allowed {
                shown(id, index, &recorded, &desk);
            }
        }
    }
}

/// Cases: P03.
#[test]
fn a_denial_is_explained_the_same_by_the_kernel() {
    for (index, (input, recorded)) in cases("P03").into_iter().enumerate() {
        let what = format!("P03[{index}] {input}");
        let Some(desk) = desk(&input) else {
            assert_eq!(ours("P03", index), Some("refused"), "{what}");
            continue;
        };
        let run = desk.world.run();
        let caller = Caller { run: &run, principal: &desk.who };
        let told = desk.world.kernel.explain_denial(caller, desk.asked.call());
        assert_eq!(told.denied, recorded["denied"] == true, "{what}");
        let own: Vec<String> =
            told.failed_conditions.iter().map(|one| one.reason_code.to_string()).collect();
        for condition in recorded["failed_conditions"].as_array().unwrap() {
            let code = condition["reason_code"].as_str().unwrap();
            assert!(own.iter().any(|own| own == code), "{what}: {code} in {own:?}");
        }
        assert_eq!(told.reason_code.is_some(), recorded["reason_code"].is_string(), "{what}");
        assert_eq!(desk.world.executed(), 0, "{what}");
    }
}
