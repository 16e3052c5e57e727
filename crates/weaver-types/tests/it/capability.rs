//! Capabilities: what the fingerprint covers, to the byte, and what it leaves out.

use std::collections::BTreeSet;

use serde_json::json;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{
    AgentId, AllowedAgents, CapabilityDraft, CapabilityId, Confidentiality, Effects, Impact,
    Integrity, Label, Rung, SensitivityTag, SinkKind, TelemetrySettings, World,
};

const FORM: &str = include_str!("../data/golden/fingerprint.json");
const FINGERPRINT: &str = include_str!("../data/golden/fingerprint.sha256");
const TOOL: &str = include_str!("../data/golden/upstream_tool.json");
const INSTRUCTIONS: &str = include_str!("../data/golden/upstream_instructions.txt");
const UPSTREAM: &str = include_str!("../data/golden/upstream.sha256");

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn draft() -> CapabilityDraft {
    CapabilityDraft {
        reveal: std::collections::BTreeSet::new(),
        accepts_masked: std::collections::BTreeSet::new(),
        mask_personal: true,
        id: CapabilityId::parse("desk.find").unwrap(),
        name: "find".to_owned(),
        title: Some("Find tickets".to_owned()),
        description: "Finds tickets by words.".to_owned(),
        effects: Effects::READ_OPEN,
        rung: None,
        sink: None,
        idempotent: true,
        input_schema: Some(
            json!({
                "type": "object",
                "required": ["query"],
                "properties": {
                    "query": { "type": "string" },
                    "limit": { "type": "integer", "maximum": 9_007_199_254_740_993_u64 }
                }
            })
            .into(),
        ),
        output_schema: Some(json!({ "type": "array" }).into()),
        permissions: words(&["tickets"]),
        agents: AllowedAgents::Only([AgentId::parse("planner").unwrap()].into()),
        sensitivity: [SensitivityTag::Pii].into(),
        tags: words(&["desk"]),
        allowed_fields: words(&["subject", "id"]),
        identity_scopes: words(&["desk:read"]),
        max_retries: 2,
        timeout_ms: 5_000,
        records: None,
        output_label: Label::undeclared_output(),
        clearance: Confidentiality::Internal,
        critical_arguments: BTreeSet::new(),
        sends_to: BTreeSet::new(),
        emit: TelemetrySettings { trace: true, metric: true },
        upstream_digest: None,
        suspicions: BTreeSet::new(),
    }
}

fn fingerprint_after(change: impl Fn(&mut CapabilityDraft)) -> Digest {
    let mut changed = draft();
    change(&mut changed);
    changed.build().unwrap().fingerprint()
}

#[test]
fn the_fingerprint_is_golden() {
    let found = draft().build().unwrap().fingerprint();
    assert_eq!(found, Digest::of(DomainTag::FINGERPRINT, FORM.trim_end().as_bytes()));
    assert_eq!(found.to_string(), FINGERPRINT.trim_end());
    let form = canonical::parse(FORM.trim_end().as_bytes(), Profile::Foreign).unwrap();
    assert_eq!(canonical::to_bytes(&form, Profile::Foreign).unwrap(), FORM.trim_end().as_bytes());
}

#[test]
fn every_covered_field_changes_the_fingerprint() {
    type Change = fn(&mut CapabilityDraft);
    let changes: [(&str, Change); 19] = [
        ("id", |d| d.id = CapabilityId::parse("desk.seek").unwrap()),
        ("name", |d| d.name.push('s')),
        ("title", |d| d.title = None),
        ("description", |d| d.description.push('!')),
        ("impact", |d| d.effects.impact = Impact::Destroy),
        ("world", |d| d.effects.world = World::Closed),
        // The class stays what it was.
        ("effects within a class", |d| d.effects = Effects::WRITE_OPEN),
        ("idempotent", |d| d.idempotent = false),
        ("input schema", |d| d.input_schema = Some(json!({ "type": "object" }).into())),
        ("no input schema", |d| d.input_schema = None),
        ("output schema", |d| d.output_schema = Some(json!({ "type": "object" }).into())),
        ("permissions", |d| d.permissions.clear()),
        ("agents", |d| d.agents = AllowedAgents::Any),
        ("no agents", |d| d.agents = AllowedAgents::Only(BTreeSet::new())),
        ("sensitivity", |d| d.sensitivity.clear()),
        ("tags", |d| d.tags.clear()),
        ("allowed fields", |d| drop(d.allowed_fields.pop_last())),
        ("identity scopes", |d| d.identity_scopes.clear()),
        ("retries", |d| d.max_retries = 3),
    ];
    let mut seen = BTreeSet::from([draft().build().unwrap().fingerprint()]);
    for (what, change) in changes {
        assert!(seen.insert(fingerprint_after(change)), "{what} is not covered");
    }
    assert!(seen.insert(fingerprint_after(|d| d.timeout_ms = 5_001)), "timeout is not covered");
}

#[test]
fn what_signed_documents_and_hosts_set_is_left_out() {
    type Change = fn(&mut CapabilityDraft);
    let changes: [(&str, Change); 6] = [
        ("rung", |d| d.rung = Some(Rung::L5)),
        ("sink", |d| d.sink = Some(SinkKind::Payment)),
        ("output label", |d| {
            d.output_label = Label::new(Confidentiality::Restricted, Integrity::Trusted);
        }),
        ("clearance", |d| d.clearance = Confidentiality::Restricted),
        ("telemetry", |d| d.emit = TelemetrySettings { trace: false, metric: false }),
        ("upstream digest", |d| d.upstream_digest = Some(Digest::from_bytes([1; 32]))),
    ];
    for (what, change) in changes {
        assert_eq!(fingerprint_after(change).to_string(), FINGERPRINT.trim_end(), "{what}");
    }
}

#[test]
fn the_upstream_digest_is_golden() {
    let (tool, instructions) = (TOOL.trim_end().as_bytes(), INSTRUCTIONS.trim_end().as_bytes());
    let found =
        [instructions, b""].map(|said| Digest::of_parts(DomainTag::UPSTREAM, &[tool, said]));
    let wanted: Vec<&str> = UPSTREAM.lines().collect();
    assert_eq!(found.map(|digest| digest.to_string()).as_slice(), wanted);
}

#[test]
fn numbers_out_of_bounds_and_schemas_that_are_none_are_refused() {
    type Change = fn(&mut CapabilityDraft);
    let changes: [(&str, Change); 6] = [
        ("capability.out_of_bounds", |d| d.max_retries = 6),
        ("capability.out_of_bounds", |d| d.timeout_ms = 99),
        ("capability.out_of_bounds", |d| d.timeout_ms = 3_600_001),
        ("capability.text", |d| d.name = " ".to_owned()),
        ("capability.schema", |d| d.input_schema = Some(json!("object").into())),
        ("capability.schema", |d| d.output_schema = Some(json!([]).into())),
    ];
    for (code, change) in changes {
        let mut changed = draft();
        change(&mut changed);
        assert_eq!(changed.build().unwrap_err().code(), code);
    }
}

#[test]
fn the_descriptor_tells_what_may_be_told() {
    let capability = draft().build().unwrap();
    let told = serde_json::to_value(capability.descriptor()).unwrap();
    let wanted = json!({
        "id": "desk.find",
        "name": "find",
        "title": "Find tickets",
        "description": "Finds tickets by words.",
        "effects": { "impact": "read", "world": "open" },
        "class": "network",
        "rung": "L1",
        "sensitivity": ["pii"],
        "tags": ["desk"],
        "fingerprint": FINGERPRINT.trim_end(),
    });
    assert_eq!(told, wanted);
}
