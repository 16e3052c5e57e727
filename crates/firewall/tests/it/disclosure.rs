//! What is masked follows the contract: secrets always, personal data where the contract asks for
//! it or where none speaks.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_firewall::{FrameStream, HandleQuery, MASK, StreamEnd};
use weaver_types::{
    Capability, CapabilityDraft, Frame, RawChunk, RawResult, ResponseMode, SensitivityTag,
};

use crate::support::{FIREWALL, draft, spec};

const TOKEN: &str = "ghp_0123456789abcdefghij0123456789abcdef";
const MODES: [ResponseMode; 3] = [ResponseMode::Auto, ResponseMode::Table, ResponseMode::Summary];

/// No contract speaks of it.
fn undeclared() -> Capability {
    draft(&[]).build().unwrap()
}

/// A contract covers it, and tags it with these.
fn declared(tags: &[SensitivityTag], reveal: &[&str]) -> Capability {
    CapabilityDraft {
        mask_personal: false,
        sensitivity: tags.iter().copied().collect(),
        reveal: reveal.iter().map(|kind| (*kind).to_owned()).collect(),
        ..draft(&[])
    }
    .build()
    .unwrap()
}

fn rows() -> RawResult {
    RawResult::json(json!([
        {"id": 1, "user_email": "jane.roe@corp.example.com", "phone": "+1 (415) 555-2671",
         "api_key": TOKEN, "note": format!("ask joe@corp.example.com, {TOKEN}, from 10.1.2.3")},
        {"id": 2, "user_email": "joe@corp.example.com", "phone": null, "api_key": null, "note": ""},
    ]))
}

fn text(frame: &Frame) -> String {
    serde_json::to_string(frame).unwrap()
}

/// Everything that shows a result: frames, pages, queries, views, streams.
fn everything(capability: &Capability, pii_reader: bool) -> Vec<Frame> {
    let mut frames = Vec::new();
    for mode in MODES {
        let mut spec = spec(mode);
        (spec.capability, spec.pii_reader) = (capability, pii_reader);
        let lines = RawResult::text("from joe@corp.example.com\npassword=hunter2");
        frames.push(FIREWALL.frame(&rows(), &spec));
        frames.push(FIREWALL.frame(&lines, &spec));
        let queries = [
            json!({}),
            json!({"view": "get", "args": {"path": "[0]"}}),
            json!({"fields": ["user_email", "note"]}),
            json!({"filter": {"id": 1}, "sort": "-id"}),
        ];
        for query in queries {
            let query: HandleQuery = HandleQuery::parse(&query).unwrap();
            frames.push(FIREWALL.expand(&rows(), &query, &spec).unwrap());
        }
        let head: HandleQuery = HandleQuery::parse(&json!({"view": "head"})).unwrap();
        frames.push(FIREWALL.expand(&lines, &head, &spec).unwrap());
        let mut stream = FrameStream::new(&FIREWALL, spec, None);
        frames.extend(stream.push(RawChunk::Text("from joe@corp.ex".to_owned())));
        frames.extend(stream.push(RawChunk::Text(format!("ample.com {TOKEN}\n"))));
        let whole = stream.take_result();
        frames.push(stream.end(StreamEnd::Complete, &whole, None).0);
    }
    frames
}

#[test]
fn secrets_are_masked_whatever_a_contract_says() {
    let none = declared(&[], &[]);
    let reveals = declared(&[SensitivityTag::Pii], &["email", "api_key", "password"]);
    for (capability, reader) in [(&none, false), (&none, true), (&reveals, true)] {
        for frame in everything(capability, reader) {
            let text = text(&frame);
            assert!(!text.contains(TOKEN) && !text.contains("hunter2"), "{text}");
        }
    }
}

#[test]
fn personal_data_is_masked_where_it_is_tagged_or_no_contract_speaks() {
    let tagged = [SensitivityTag::Pii, SensitivityTag::Pci].map(|tag| declared(&[tag], &[]));
    for capability in tagged.iter().chain([&undeclared()]) {
        for frame in everything(capability, false) {
            let text = text(&frame);
            assert!(!text.contains("joe@") && !text.contains("555-2671"), "{text}");
        }
    }
}

#[test]
fn personal_data_is_shown_under_a_contract_that_does_not_tag_it() {
    let untagged = declared(&[], &[]);
    let secrets = declared(&[SensitivityTag::Secrets], &[]);
    for capability in [&untagged, &secrets] {
        let mut table = spec(ResponseMode::Table);
        table.capability = capability;
        let frame = FIREWALL.frame(&rows(), &table);
        let row = &frame.table[0];
        assert_eq!(row["user_email"], "jane.roe@corp.example.com");
        assert_eq!(row["phone"], "+1 (415) 555-2671");
        assert_eq!(row["api_key"], MASK);
        assert_eq!(row["note"], format!("ask joe@corp.example.com, {MASK}, from 10.1.2.3"));
    }
    let text: String = everything(&untagged, false).iter().map(text).collect();
    // Frames, pages and streams in each of three modes but where a summary has no such row.
    assert!(text.matches("joe@corp.example.com").count() >= 12, "{text}");
}

#[test]
fn what_a_contract_reveals_is_shown_to_a_pii_reader_alone() {
    let reveals = declared(&[SensitivityTag::Pii], &["email", "ip"]);
    let row = |pii_reader| {
        let mut table = spec(ResponseMode::Table);
        (table.capability, table.pii_reader) = (&reveals, pii_reader);
        FIREWALL.frame(&rows(), &table).table.swap_remove(0)
    };
    let shown = row(true);
    assert_eq!(shown["user_email"], "jane.roe@corp.example.com");
    assert_eq!(shown["phone"], MASK);
    assert_eq!(shown["note"], format!("ask joe@corp.example.com, {MASK}, from 10.1.2.3"));
    let hidden = row(false);
    assert_eq!(hidden["user_email"], MASK);
    assert_eq!(hidden["note"], format!("ask {MASK}, {MASK}, from {MASK}"));
}

#[test]
fn a_query_finds_and_counts_only_what_is_shown() {
    let ask = |capability: &Capability, query: Value| {
        let mut table = spec(ResponseMode::Table);
        table.capability = capability;
        let query: HandleQuery = HandleQuery::parse(&query).unwrap();
        FIREWALL.expand(&rows(), &query, &table).map(|frame| frame.table.len())
    };
    let filter = json!({"filter": {"user_email": {"contains": "jane"}}});
    assert_eq!(ask(&declared(&[], &[]), filter.clone()).ok(), Some(1));
    assert_ne!(ask(&undeclared(), filter).ok(), Some(1));
    let group = json!({"group_by": "user_email"});
    if let Ok(groups) = ask(&undeclared(), group.clone()) {
        assert!(groups <= 1, "masked values tell rows apart");
    }
    assert_eq!(ask(&declared(&[], &[]), group).ok(), Some(2));
}

#[test]
fn the_log_is_redacted_whatever_may_be_seen() {
    let (logged, _) = FIREWALL.redact_value(&json!({"to": "joe@corp.example.com", "phone": "1"}));
    assert_eq!(logged, json!({"to": MASK, "phone": MASK}));
    assert_eq!(FIREWALL.redact_text("joe@corp.example.com").text, MASK);
}

#[test]
fn tags_beyond_personal_data_mask_none_of_it() {
    let tags = BTreeSet::from([SensitivityTag::Memory, SensitivityTag::Secrets]);
    let capability = declared(&tags.into_iter().collect::<Vec<_>>(), &[]);
    let mut table = spec(ResponseMode::Table);
    table.capability = &capability;
    let frame = FIREWALL.frame(&RawResult::text("joe@corp.example.com"), &table);
    assert!(text(&frame).contains("joe@corp.example.com"));
}
