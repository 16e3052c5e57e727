//! What contextweaver (Python) 0.18.2 makes of the same logs. Where we differ is asserted here and
//! listed in the table of deviations. Results come without a firewall, so their texts are stubs.

use std::sync::{Arc, LazyLock};

use contextweaver::compile::{
    CompileRequest, ContextItem, ContextItemKind, ContextLog, ContextPack, OverflowAction,
    OverflowPolicy, Phase, SensitivityAction, ToolOutput, build, item_from_output,
};
use contextweaver::error::BuildError;
use serde_json::{Map, Value, json};
use weaver_text::token::{Tiktoken, TokenCounter as _};
use weaver_types::{Confidentiality, Label, RawResult};

static RECORDED: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/context_vectors.json")).unwrap());

fn level(value: &Value) -> Confidentiality {
    serde_json::from_value(value.clone()).unwrap()
}

fn item(value: &Value) -> ContextItem {
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    let (id, parent) = (text("id"), value["parent_id"].as_str().map(str::to_owned));
    let confidentiality = level(&value["sensitivity"]);
    let make = match ContextItemKind::parse(&text("kind")).unwrap() {
        ContextItemKind::ToolResult => {
            let label = Label { confidentiality, ..Label::clean() };
            let result = RawResult::text(text("text"));
            let output =
                ToolOutput { id, call: parent, result, label, metadata: Default::default() };
            return item_from_output(output, None);
        }
        ContextItemKind::UserTurn => ContextItem::user_turn,
        ContextItemKind::AgentMessage => ContextItem::agent_message,
        ContextItemKind::ToolCall => ContextItem::call_text,
        ContextItemKind::Doc => ContextItem::doc,
        ContextItemKind::RetrievedDoc => ContextItem::retrieved_doc,
        ContextItemKind::MemoryFact => ContextItem::memory_fact,
        ContextItemKind::PlanState => ContextItem::plan_state,
        _ => ContextItem::policy,
    };
    let made: ContextItem = make(id, text("text"));
    let label = Label { confidentiality, ..made.label().clone() };
    let made = made.with_label(label);
    parent.into_iter().fold(made, ContextItem::with_parent)
}

fn log(items: impl IntoIterator<Item = ContextItem>) -> ContextLog {
    crate::frames::log_with(Arc::new(Tiktoken::CL100K), items)
}

fn run(id: &str) -> (Result<ContextPack, BuildError>, &'static Value) {
    let input = &RECORDED[id]["input"];
    let phase = input["phase"].as_str().unwrap_or("answer");
    let mut request = CompileRequest::new(Phase::parse(phase).unwrap());
    if let Some(budget) = input["budget_tokens"].as_u64() {
        request = request.with_budget(usize::try_from(budget).unwrap());
    }
    let policy = &input["policy"];
    if !policy.is_null() {
        request.sensitivity_floor = level(&policy["sensitivity_floor"]);
    }
    if policy["sensitivity_action"] == "redact" {
        request.sensitivity_action = SensitivityAction::mask();
    }
    if policy["overflow_action"] == "raise" {
        request.overflow = OverflowPolicy::for_every_kind(OverflowAction::Error);
    }
    let log = log(input["items"].as_array().unwrap().iter().map(item));
    (build(&log, &request), &RECORDED[id]["output"])
}

fn built(id: &str) -> (ContextPack, &'static Value) {
    let (pack, output) = run(id);
    (pack.unwrap(), output)
}

fn ids(pack: &ContextPack) -> Vec<&str> {
    pack.item_ids.iter().map(|id| &**id).collect()
}

/// Counts, and what was dropped and why, are the same.
fn agrees(id: &str) -> ContextPack {
    let (pack, output) = built(id);
    let (ours, theirs) = (pack.to_json(), &output["stats"]);
    for name in [
        "total_candidates", "included_count", "dropped_count", "dependency_closures",
        "dedup_removed",
    ] {
        assert_eq!(ours[name], theirs[name], "{id} {name}");
    }
    for name in ["dropped_items", "dropped_reasons"] {
        assert_eq!(ours["stats"][name], theirs[name], "{id} {name}");
    }
    let kinds = |stats: &Value| {
        stats["tokens_per_section"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(kinds(&ours["stats"]), kinds(theirs), "{id}");
    pack
}

#[test]
fn build_phase_kinds() {
    for phase in ["call", "interpret", "answer"] {
        let pack = match phase {
            // A call brings its result with it.
            "call" => built("build.phase_kinds.call").0,
            _ => agrees(&format!("build.phase_kinds.{phase}")),
        };
        // The head first, then the order of the log, not that of the scores.
        let order: Vec<bool> = pack.items.iter().map(|s| s.kind.is_head()).collect();
        assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
        assert_eq!(pack.text.matches("[USER]\n").count(), 1);
    }
}

#[test]
fn build_closure() {
    let pack = agrees("build.closure.route_phase");
    assert_eq!(ids(&pack), ["t0", "t1", "u1"]);
    let pack = agrees("build.closure.missing_parent");
    assert_eq!(pack.text, "[USER]\nhello there world\n\n");
}

#[test]
fn build_budget_drop_orphans_child() {
    let (pack, theirs) = built("build.budget_drop_orphans_child");
    assert!(theirs["prompt"].as_str().unwrap().starts_with("[TOOL RESULT"));
    assert_eq!(ids(&pack), ["u1"]);
    assert_eq!(
        pack.to_json()["stats"]["dropped_items"],
        json!([{ "item_id": "c1", "reason": "budget" }, { "item_id": "r1", "reason": "group" }])
    );
}

#[test]
fn build_sensitivity() {
    agrees("build.sensitivity.drop_default");
    agrees("build.sensitivity.floor_internal");
    let pack = agrees("build.sensitivity.redact");
    for level in ["confidential", "restricted"] {
        assert!(pack.text.contains(&format!("[REDACTED: {level}]")));
    }
    assert!(!pack.text.contains("confidential doc body"));
}

#[test]
fn build_sensitivity_child_of_dropped_parent() {
    let (pack, theirs) = built("build.sensitivity.child_of_dropped_parent");
    assert!(theirs["prompt"].as_str().unwrap().contains("hunter2"));
    assert_eq!((pack.text.as_str(), pack.stats.dropped_count), ("", 2));
}

#[test]
fn build_overflow_raise() {
    let (pack, theirs) = run("build.overflow_raise");
    assert_eq!(theirs["code"], "CW_BUDGET_OVERFLOW");
    let error = pack.unwrap_err();
    assert_eq!(error, BuildError::Overflow { kind: "user_turn", count: 1, budget: 20 });
}

#[test]
fn build_budget_not_enforced_tiny_items() {
    let (pack, theirs) = built("build.budget_not_enforced_tiny_items");
    assert_eq!(theirs["rendered_tokens_cl100k"], 239);
    assert!(pack.stats.prompt_tokens <= 1 && Tiktoken::CL100K.within(&pack.text, 1));
    assert_eq!((pack.stats.total_candidates, pack.stats.dropped_count), (40, 40));
}

#[test]
fn build_memory_header() {
    let facts =
        (0..70).map(|n| ContextItem::memory_fact(format!("f{n}"), format!("key{n:03}: value {n}")));
    let log = log(facts);
    // Before calls too, where theirs has none.
    let call = build(&log, &CompileRequest::new(Phase::Call)).unwrap();
    assert_eq!(RECORDED["build.memory_header_call_phase"]["output"]["prompt"], "");
    assert!(call.text.contains("key069: value 69"), "{}", call.text);
    // By what the question is about, not by the names of the keys.
    let theirs = RECORDED["build.memory_header_caps"]["output"]["prompt"].as_str().unwrap();
    assert!(theirs.contains("key000") && !theirs.contains("key069"));
    let request = CompileRequest::new(Phase::Answer).with_budget(60).with_query("key069");
    let answer = build(&log, &request).unwrap();
    assert!(answer.text.contains("key069: value 69"), "{}", answer.text);
}

#[test]
fn build_firewall_resets_sensitivity() {
    let recorded = &RECORDED["build.firewall_resets_sensitivity"];
    assert_eq!(recorded["output"]["sensitivity"], "public");
    let made = json!({"id": "r", "kind": "tool_result", "text": "x", "sensitivity": "restricted"});
    assert_eq!(item(&made).label().confidentiality, Confidentiality::Restricted);
    let made = json!({"id": "r", "kind": "tool_result", "text": "x", "sensitivity": "public"});
    assert_eq!(item(&made).label().confidentiality, Confidentiality::Internal);
}

#[test]
fn build_events_100() {
    let recorded = &RECORDED["build.events_100"];
    let lines = include_str!("../data/events_100.jsonl").lines();
    let log = log(lines.map(|line| item(&serde_json::from_str(line).unwrap())));
    let query = recorded["input"]["query"].as_str().unwrap();
    let pack = build(&log, &CompileRequest::new(Phase::Answer).with_query(query)).unwrap();
    let theirs = &recorded["output"]["stats"];
    assert_eq!(pack.to_json()["total_candidates"], theirs["total_candidates"]);
    // Two of the items are said "again" later: theirs takes them for the same.
    assert_eq!(
        (&pack.to_json()["included_count"], &theirs["included_count"]),
        (&json!(99), &json!(97))
    );
    assert!(Tiktoken::CL100K.within(&pack.text, 6000));
    let dropped: Vec<(&str, &str)> =
        pack.stats.dropped_items.iter().map(|d| (&*d.item_id, d.reason.as_str())).collect();
    assert_eq!(dropped, [("e00059", "sensitivity")]);
    assert!(pack.item_ids.is_sorted());
}

/// The words of both analysers, and what the budget is counted in.
#[test]
fn text_cases() {
    let counts = &RECORDED["text.heuristic_tokens"];
    let texts = counts["input"].as_array().unwrap();
    // There is no estimate that says nothing for three characters.
    assert_eq!((&texts[1], &counts["output"][1]), (&json!("abc"), &json!(0)));
    for text in texts.iter().filter_map(Value::as_str).filter(|text| !text.is_empty()) {
        assert!(Tiktoken::CL100K.count(text).tokens().unwrap() > 0);
    }
    let words = &RECORDED["text.tokenize"]["output"];
    assert_eq!(words["日本語 tool"], json!(["tool"]));
    // A query in any script finds its item, and parts of names are words.
    for (text, query) in [("日本語 tool", "日本"), ("billing.invoices.search", "invoice")] {
        let log = log([ContextItem::doc("d", text), ContextItem::doc("e", "something else")]);
        let request = CompileRequest {
            explain: true,
            ..CompileRequest::new(Phase::Answer).with_query(query)
        };
        let pack = build(&log, &request).unwrap();
        let matched: Vec<bool> = pack.explanations.iter().map(|e| e.match_points > 0).collect();
        assert_eq!(matched, [true, false], "{text}");
    }
    // There, two texts of which one has a word more are two thirds alike; here they differ.
    assert_eq!(RECORDED["text.jaccard"]["output"][2], json!(0.6666666666666666));
    let log = log([ContextItem::doc("d", "alpha beta"), ContextItem::doc("e", "alpha beta gamma")]);
    assert_eq!(build(&log, &CompileRequest::new(Phase::Answer)).unwrap().stats.dedup_removed, 0);
}
