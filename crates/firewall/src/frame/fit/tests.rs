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
        next_parts: Vec::new(),
        call_id: call.clone(),
        capability_id: capability,
        mode: ResponseMode::HandleOnly,
        status: ResultStatus::Partial,
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
            prop_assert!(json_chars(&frame.warnings) <= json_size::warnings_at_most(&frame.warnings, look));
            prop_assert!(json_chars(&frame) <= json_size::frame_at_most(&frame, look));
        }
    }

    #[test]
    fn the_short_way_is_the_long_way(
        texts in prop::collection::vec("[a-z\"\u{e9}]{0,40}", 0..12),
        (number, more, max) in (any::<u64>(), 0..2_usize, 300..3_000_usize),
    ) {
        let draft = || FrameDraft {
            frame: frame(&texts, number),
            facts: Facts { shown: texts.clone(), omitted: more },
            rows: texts.iter().map(|text| Map::from_iter([(text.clone(), json!(number))])).collect(),
            counts: counted(&texts, number),
        };
        let fitted = fit(draft(), max);
        let mut long = draft();
        long.frame.warnings = warnings(&long.counts);
        prop_assert_eq!(fitted, fit_exactly(long, max));
    }
}

fn row(name: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), json!(1))])
}

#[test]
fn rows_go_from_the_end_until_they_fit_with_room_for_two_warnings() {
    // A row of `{"a":1}` and its comma take 8 characters, the list 11, two warnings 128.
    for (count, left, kept, used) in [
        (0, 0, 0, 0),
        (2, 27, 2, 27),
        (2, 26, 0, 139),
        (41, 339, 41, 339),
        (41, 338, 24, 331),
        (41, 331, 24, 331),
        (41, 330, 23, 323),
        (41, 148, 1, 147),
        (41, 147, 1, 147),
        (41, 146, 0, 139),
    ] {
        let mut counts = BTreeMap::new();
        let (rows, size) = fit_rows(vec![row("a"); count], left, &mut counts);
        assert_eq!((rows.len(), size), (kept, used), "{count} rows in {left}");
        let gone = (count - kept) as u64;
        assert_eq!(counts.get("rows_omitted").copied().unwrap_or(0), gone, "{count} in {left}");
    }
}

#[test]
fn of_a_first_row_that_does_not_fit_the_fields_are_kept_that_do() {
    let wide = Map::from_iter([
        ("a".to_owned(), json!("x".repeat(500))),
        ("b".to_owned(), json!(1)),
        ("c".to_owned(), json!(2)),
    ]);
    let mut counts = BTreeMap::new();
    let (rows, used) = fit_rows(vec![wide, row("a")], 300, &mut counts);
    assert_eq!(json!(rows), json!([{ "b": 1, "c": 2 }]));
    assert_eq!(used, 15 + 139);
    let expected = [("fields_omitted".to_owned(), 1), ("rows_omitted".to_owned(), 1)];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn fields_that_fit_are_kept_and_measured() {
    let row = || Map::from_iter([("a".to_owned(), json!(1)), ("b".to_owned(), json!("xy"))]);
    for (left, kept, used) in [(8, 0, 3), (9, 1, 9), (17, 1, 9), (18, 2, 18)] {
        let (fields, gone, size) = fit_fields(row(), left);
        assert_eq!((fields.len(), gone, size), (kept, 2 - kept, used), "{left}");
    }
}

#[test]
fn facts_that_fit_are_kept_and_the_last_says_how_many_do_not() {
    let facts = |count: usize, more| Facts { shown: vec!["aa".to_owned(); count], omitted: more };
    // A fact of two letters takes 5 characters, the list 11, a warning 64, what the last says 49 or 50.
    for (count, more, left, kept) in [
        (3, 0, 26, 3),
        (3, 0, 25, 0),
        (30, 0, 161, 30),
        (30, 0, 160, 7),
        (30, 0, 159, 6),
        (1, 2, 129, 1),
        (1, 2, 128, 0),
        (0, 2, 200, 0),
    ] {
        let mut counts = BTreeMap::new();
        let shown = fit_facts(facts(count, more), left, &mut counts);
        let gone = count + more - kept;
        let own = shown.iter().filter(|fact| *fact == "aa").count();
        assert_eq!(own, kept, "{count} and {more} in {left}");
        assert_eq!(counts.get("facts_omitted").copied().unwrap_or(0), gone as u64, "{left}");
        if shown.len() > own {
            let last = format!("… ({gone} more facts omitted; full data via handle)");
            assert_eq!(shown.last(), Some(&last), "{left}");
        }
    }
}

#[test]
fn masked_values_are_one_warning_where_there_is_no_room_for_their_kinds() {
    let of = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        pairs.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    };
    let counts = of(&[("redacted_email", 2), ("redacted_ssn", 3), ("rows_omitted", 1)]);
    assert_eq!(merge_masked_kinds(counts), of(&[("redacted", 5), ("rows_omitted", 1)]));
    let mut counts = of(&[("a", 1)]);
    add_count(&mut counts, "a", 2);
    add_count(&mut counts, "b", 0);
    assert_eq!(counts, of(&[("a", 3)]));
}

#[test]
fn the_smallest_frame_counts_all_that_is_gone() {
    let full = || {
        let mut frame = frame(&["text".to_owned()], 3);
        frame.table = vec![row("a")];
        frame.facts = vec!["fact".to_owned()];
        frame
    };
    let counts = BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 3)]);
    let left = without_content(full(), &counts, usize::MAX);
    assert!(left.table.is_empty() && left.facts.is_empty() && left.provenance.is_some());
    assert_eq!(left.warnings, [omitted_warning(5)]);
    let size = json_chars(&left);
    assert!(without_content(full(), &counts, size).provenance.is_some());
    assert!(without_content(full(), &counts, size - 1).provenance.is_none());
    assert_eq!(without_content(full(), &BTreeMap::new(), 0).warnings, [omitted_warning(1)]);
}

#[test]
fn whatever_there_is_the_frame_is_within_its_budget() {
    let draft = |facts: Vec<String>, rows: Vec<Map<String, Value>>| FrameDraft {
        frame: frame(&[], 1),
        facts: Facts { shown: facts, omitted: 0 },
        rows,
        counts: BTreeMap::new(),
    };
    for count in 0..80 {
        let facts = vec!["x".repeat(50); count];
        assert!(json_chars(&fit(draft(facts, Vec::new()), 2_000)) <= 2_000, "{count} facts");
        let rows = vec![row("some_field_of_a_row"); count];
        assert!(json_chars(&fit(draft(Vec::new(), rows), 2_000)) <= 2_000, "{count} rows");
    }
    assert!(json_chars(&fit(draft(vec![String::new(); 3_000], Vec::new()), 8_000)) <= 8_000);
    assert!(json_chars(&fit(draft(Vec::new(), vec![Map::new(); 3_000]), 8_000)) <= 8_000);
}

#[test]
fn characters_and_bytes_are_counted_apart() {
    assert_eq!((json_chars(&"é"), json_size::json_bytes(&"é")), (3, 4));
    assert_eq!((json_chars(&"a…\n"), json_size::json_bytes(&"a…\n")), (6, 8));
}
