//! The bridge: from packs to the items of a compiled context.

use contextweaver::bridge::{
    AgentNeeds, BridgeError, ContextEnvelope, ContextInjector, DecisionResolver, DecisionSpec,
    ExclusionReason, InjectionPlan, Pack, PackStore, injection_plan_to_compiled_items,
};
use contextweaver::compile::{ContextItem, ContextItemKind};
use weaver_text::token::{CharsPerFour, Tiktoken, TokenCounter};
use weaver_types::{CallId, Confidentiality, Integrity, Label};

const KEY: &str = "support.context.injection.v1";

fn store() -> PackStore {
    let mut store = PackStore::new();
    let trusted = Label::new(Confidentiality::Internal, Integrity::Trusted);
    let taint = Label::undeclared_output().tainted_by(&CallId::parse("call_1").unwrap());
    let secret = Label::new(Confidentiality::Confidential, Integrity::Trusted);
    for pack in [
        Pack::new("rules", "vault/rules.md")
            .with_label(trusted)
            .with_entry("a", "Be brief.")
            .with_entry("b", "Be kind."),
        Pack::new("meeting.transcript", "recorder")
            .with_label(taint)
            .with_entry("t", "Ana: we ship on Friday."),
        Pack::new("history", "vault/history.md")
            .with_entry("long", "x ".repeat(4_000))
            .with_entry("short", "The last meeting was short."),
        Pack::new("salaries", "hr").with_label(secret).with_entry("s", "42"),
    ] {
        store.add(pack).unwrap();
    }
    store
}

fn plan(spec: DecisionSpec, envelope: &ContextEnvelope) -> Result<InjectionPlan, BridgeError> {
    let mut resolver = DecisionResolver::new();
    resolver.declare(spec).unwrap();
    ContextInjector::new(&Tiktoken::O200K).build_plan(resolver.resolve(KEY)?, envelope, &store())
}

fn spec() -> DecisionSpec {
    DecisionSpec::new(KEY, 100).with_required_pack("rules")
}

fn copilot(packs: &[&str]) -> ContextEnvelope {
    let required_packs = packs.iter().map(|pack| (*pack).to_owned()).collect();
    let agent = AgentNeeds { agent_name: "meeting_copilot".to_owned(), required_packs };
    ContextEnvelope { agent: Some(agent), ..ContextEnvelope::default() }
}

#[test]
fn a_plan_carries_labels_sources_and_tokens_to_its_items() {
    let asked = spec()
        .with_optional_pack("meeting.transcript")
        .with_optional_pack("history")
        .with_optional_pack("gone");
    let envelope = ContextEnvelope { trace_id: "trace_1".into(), ..ContextEnvelope::default() };
    let plan = plan(asked, &envelope).unwrap();
    assert_eq!((plan.decision.as_str(), plan.trace_id.as_str()), (KEY, "trace_1"));
    let items = injection_plan_to_compiled_items(&plan);
    let said: Vec<(&str, &str, bool)> =
        items.iter().map(|i| (i.id.as_str(), i.source.as_str(), i.required)).collect();
    assert_eq!(
        said,
        [
            ("pack:rules/a", "vault/rules.md", true),
            ("pack:rules/b", "vault/rules.md", true),
            ("pack:meeting.transcript/t", "recorder", false),
            ("pack:history/short", "vault/history.md", false),
        ]
    );
    assert_eq!(
        plan.excluded,
        [
            ("history/long".to_owned(), ExclusionReason::Budget),
            ("gone".to_owned(), ExclusionReason::Missing),
        ]
    );
    let counted: usize = items
        .iter()
        .map(|item| Tiktoken::O200K.count(&format!("{}\n", item.text)).tokens().unwrap())
        .sum();
    assert_eq!((plan.used_tokens, plan.budget_tokens), (counted, 100));
    assert!(counted <= 100);
    assert_eq!(items[0].label.integrity, Integrity::Trusted);
    assert_eq!(items[2].label.taints.len(), 1);
    assert_eq!(plan.label.integrity, Integrity::Untrusted);

    let item = ContextItem::from(items[2].clone());
    assert_eq!((item.kind(), item.label()), (ContextItemKind::Doc, &items[2].label));
    assert_eq!(item.metadata()["source"], "recorder");
    assert_eq!(item.metadata()["pack"], "meeting.transcript");
}

/// In whatever order: what is shown last takes nothing back.
#[test]
fn the_label_of_a_plan_is_that_of_all_that_it_shows() {
    let envelope = ContextEnvelope::default();
    let spec = DecisionSpec::new(KEY, 100)
        .with_required_pack("meeting.transcript")
        .with_optional_pack("rules");
    let label = plan(spec, &envelope).unwrap().label;
    assert_eq!(label.integrity, Integrity::Untrusted);
    assert_eq!(label.taints.len(), 1);
}

#[test]
fn a_required_pack_that_is_missing_is_an_error() {
    let missing =
        |pack: &str, by: &str| BridgeError::MissingPack { pack: pack.into(), by: by.into() };
    let none = ContextEnvelope::default();
    let asked = spec().with_required_pack("support.macros");
    let decision = format!("decision `{KEY}`");
    assert_eq!(plan(asked, &none).unwrap_err(), missing("support.macros", &decision));
    let error = plan(spec(), &copilot(&["rules", "meeting.agenda"])).unwrap_err();
    assert_eq!(error, missing("meeting.agenda", "agent `meeting_copilot`"));
    assert_eq!(error.code(), "bridge.missing_pack");
    assert!(error.to_string().contains("meeting.agenda") && error.to_string().contains("add it"));
}

#[test]
fn what_an_agent_requires_is_shown_once_and_whole() {
    let plan = plan(
        spec().with_optional_pack("meeting.transcript"),
        &copilot(&["rules", "meeting.transcript"]),
    );
    let plan = plan.unwrap();
    let items = injection_plan_to_compiled_items(&plan);
    assert_eq!(items.len(), 3);
    assert!(items.iter().all(|item| item.required));
}

#[test]
fn what_is_required_has_room_and_may_be_shown_or_there_is_no_plan() {
    let none = ContextEnvelope::default();
    let asked = spec().with_required_pack("history");
    let error = plan(asked.clone(), &none).unwrap_err();
    assert!(matches!(error, BridgeError::Budget { needed: 4_000.., budget: 100 }), "{error:?}");
    let tight = ContextEnvelope { budget_tokens: Some(3), ..none.clone() };
    assert_eq!(plan(spec(), &tight).unwrap_err().code(), "bridge.budget");
    let loose = ContextEnvelope { budget_tokens: Some(100_000), ..none.clone() };
    assert_eq!(
        plan(asked, &loose).unwrap_err().code(),
        "bridge.budget",
        "an envelope only tightens"
    );
    let secret = plan(spec().with_required_pack("salaries"), &none).unwrap_err();
    assert_eq!(secret.code(), "bridge.withheld");
    let optional = plan(spec().with_optional_pack("salaries"), &none).unwrap();
    assert_eq!(optional.excluded, [("salaries".to_owned(), ExclusionReason::Sensitivity)]);
    let cleared = ContextEnvelope { clearance: Confidentiality::Confidential, ..none };
    let shown = plan(spec().with_required_pack("salaries"), &cleared).unwrap();
    assert_eq!(shown.label.confidentiality, Confidentiality::Confidential);
}

#[test]
fn keys_and_ids_are_unique_and_misspelt_ones_are_told() {
    let mut resolver = DecisionResolver::new();
    resolver.declare(spec()).unwrap();
    assert_eq!(resolver.declare(spec()).unwrap_err().code(), "bridge.duplicate");
    let error = resolver.resolve("support.context.injektion.v1").unwrap_err();
    assert!(error.to_string().contains(&format!("did you mean `{KEY}`?")), "{error}");
    assert!(resolver.resolve("x").unwrap_err().to_string().contains("declare it first"));
    let twice = DecisionSpec::new("k", 1).with_required_pack("a").with_optional_pack("a");
    assert_eq!(resolver.declare(twice).unwrap_err().code(), "bridge.duplicate");
    let mut store = store();
    assert_eq!(store.add(Pack::new("rules", "x")).unwrap_err().code(), "bridge.duplicate");
    for id in ["", "a b", "a/b", "a\n"] {
        assert_eq!(store.add(Pack::new(id, "x")).unwrap_err().code(), "bridge.malformed", "{id:?}");
        let bad = DecisionSpec::new(id, 1);
        assert_eq!(resolver.declare(bad).unwrap_err().code(), "bridge.malformed");
    }
    let twin = Pack::new("twin", "x").with_entry("a", "1").with_entry("a", "2");
    assert_eq!(store.add(twin).unwrap_err().code(), "bridge.duplicate");
}

#[test]
fn an_empty_budget_shows_nothing_that_is_optional() {
    let asked = DecisionSpec::new(KEY, 0).with_optional_pack("rules");
    let mut resolver = DecisionResolver::new();
    resolver.declare(asked).unwrap();
    let spec = resolver.resolve(KEY).unwrap();
    let plan = ContextInjector::new(&CharsPerFour)
        .build_plan(spec, &ContextEnvelope::default(), &store())
        .unwrap();
    assert!(injection_plan_to_compiled_items(&plan).is_empty());
    assert_eq!((plan.used_tokens, plan.label), (0, Label::clean()));
}
