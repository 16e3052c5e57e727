use proptest::prelude::*;
use serde_json::json;
use weaver_types::{CallId, CapabilityId, Handle, HandleId, Label, ToolProvenance};

use super::*;

fn frame(texts: &[String], number: u64) -> Frame {
    let text = |at: usize| texts.get(at).cloned().unwrap_or_default();
    let id =
        |at: usize| format!("id{}", text(at).replace(|c: char| !c.is_ascii_alphanumeric(), ""));
    let call = CallId::parse(id(0)).unwrap();
    let capability = CapabilityId::parse("a.tool").unwrap();
    let handle = Handle {
        handle_id: HandleId::parse(id(1)).unwrap(),
        capability_id: capability.clone(),
        media_type: text(2).into(),
        created_at: weaver_types::Timestamp::from_micros(i64::MIN),
        expires_at: weaver_types::Timestamp::from_micros(i64::MAX),
        total_rows: Some(number),
        byte_size: number,
        views: texts.iter().cloned().map(Into::into).collect(),
    };
    let provenance = ToolProvenance { source_uri: text(3), freshness_s: Some(number) };
    Frame {
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
        call_id: call.clone(),
        capability_id: capability,
        mode: ResponseMode::HandleOnly,
        status: Status::Partial,
        facts: Vec::new(),
        table: Vec::new(),
        raw: None,
        handle: number.is_multiple_of(2).then_some(handle),
        warnings: Vec::new(),
        provenance: number.is_multiple_of(3).then_some(provenance),
        label: Label::undeclared_output().tainted_by(&call),
        created_at: weaver_types::Timestamp::from_micros(i64::MIN),
        is_final: false,
    }
}

fn counted(texts: &[String], number: u64) -> BTreeMap<String, u64> {
    texts.iter().map(|text| (format!("redacted_{text}"), number)).collect()
}

proptest! {
    #[test]
    fn the_estimate_is_never_too_low(texts in prop::collection::vec(any::<String>(), 0..6), number: u64) {
        let mut frame = frame(&texts, number);
        frame.warnings = warnings(&counted(&texts, number));
        frame.facts.clone_from(&texts);
        frame.table = texts.iter().map(|text| Map::from_iter([(text.clone(), json!(number))])).collect();
        frame.raw = Some(json!(texts));
        for look in [EscapeEstimate::WorstCase, EscapeEstimate::SingleScan] {
            prop_assert!(chars(&frame.warnings) <= size::warnings_at_most(&frame.warnings, look));
            prop_assert!(chars(&frame) <= size::frame_at_most(&frame, look));
        }
    }

    #[test]
    fn the_short_way_is_the_long_way(
        texts in prop::collection::vec("[a-z\"\u{e9}]{0,40}", 0..12),
        (number, more, max) in (any::<u64>(), 0..2_usize, 300..3_000_usize),
    ) {
        let draft = || Draft {
            frame: frame(&texts, number),
            facts: Facts { shown: texts.clone(), more },
            rows: texts.iter().map(|text| Map::from_iter([(text.clone(), json!(number))])).collect(),
            counts: counted(&texts, number),
        };
        let fitted = fit(draft(), max);
        let mut long = draft();
        long.frame.warnings = warnings(&long.counts);
        prop_assert_eq!(fitted, fit_closely(long, max));
    }
}
