//! Whatever a frame, a page or a view shows is the redacted original at its place, and what it does
//! not show is counted.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weaver_firewall::{FrameBudget, FrameSpec, HandleQuery};
use weaver_types::{Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, spec, warned};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => any::<i32>().prop_map(Value::from),
        3 => "[a-z ]{0,30}".prop_map(Value::from),
        1 => Just(json!(null)),
        1 => any::<bool>().prop_map(Value::from),
        1 => (0..20_u8).prop_map(|n| json!(format!("jane.roe{n}@corp.example.org"))),
        1 => "[a-zé日]{200,400}".prop_map(Value::from),
        1 => proptest::collection::vec(any::<i16>(), 0..4).prop_map(Value::from),
        1 => any::<i16>().prop_map(|n| json!({ "n": n, "mail": "jane.roe@corp.example.org" })),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Value>> {
    let names = proptest::sample::subsequence(vec!["id", "a", "b", "c", "d", "e", "f"], 1..7);
    let row = (names, proptest::collection::vec(value(), 7)).prop_map(|(names, values)| {
        Value::Object(names.into_iter().map(str::to_owned).zip(values).collect())
    });
    proptest::collection::vec(row, 1..30)
}

/// Compares the rows that are shown with the redacted ones from `first` on.
fn compare(frame: &Frame, redacted: &[Value], first: usize) -> Result<(), TestCaseError> {
    let counted: u64 = frame.warnings.iter().map(|warning| warning.count).sum();
    for (at, shown) in frame.table.iter().enumerate() {
        let place = first + at;
        let original = redacted.get(place).and_then(Value::as_object);
        let empty = Map::new();
        let original = original.unwrap_or(&empty);
        prop_assert!(!shown.is_empty() || original.is_empty(), "row {place} is shown as {{}}");
        for (name, value) in shown {
            let cut = is_cut(value, original.get(name)) && counted > 0;
            prop_assert!(cut || Some(value) == original.get(name), "row {place} field {name}");
        }
        prop_assert!(shown.len() == original.len() || counted > 0, "row {place}: not counted");
    }
    Ok(())
}

/// Whether a long text is shown up to some place.
fn is_cut(shown: &Value, original: Option<&Value>) -> bool {
    let head = shown.as_str().and_then(|shown| shown.strip_suffix('…'));
    let original = original.and_then(Value::as_str);
    head.zip(original).is_some_and(|(head, original)| original.starts_with(head))
}

fn redacted(rows: &[Value]) -> Vec<Value> {
    rows.iter().map(|row| FIREWALL.redact_value(row).0).collect()
}

proptest! {
    #[test]
    fn a_table_shows_rows_as_they_are_and_counts_the_others(
        rows in rows(),
        max_chars in 300..8_000_u32,
        max_rows in 1..40_u32,
    ) {
        let own = spec(ResponseMode::Table);
        let budget = FrameBudget { max_chars, max_rows, ..own.budget };
        let spec = FrameSpec { budget, ..own };
        let frame = FIREWALL.frame(&RawResult::json(Value::from(rows.clone())), &spec);
        compare(&frame, &redacted(&rows), 0)?;
        let hidden = rows.len() - frame.table.len();
        let omitted = warned(&frame, "rows_omitted").or(warned(&frame, "content_omitted"));
        prop_assert!(hidden == 0 || omitted.is_some(), "{hidden} rows are not counted");
        if let Some(omitted) = warned(&frame, "rows_omitted") {
            prop_assert_eq!(omitted, hidden as u64);
        }
    }

    #[test]
    fn a_page_shows_rows_as_they_are_from_its_offset_on(
        rows in rows(),
        offset in 0..30_u64,
        limit in 1..40_u64,
        max_chars in 300..8_000_u32,
    ) {
        let own = spec(ResponseMode::Table);
        let budget = FrameBudget { max_chars, ..own.budget };
        let spec = FrameSpec { budget, ..own };
        let query = HandleQuery { offset, limit: Some(limit), ..HandleQuery::default() };
        let raw = RawResult::json(Value::from(rows.clone()));
        let Ok(frame) = FIREWALL.expand(&raw, &query, &spec) else { return Ok(()) };
        let first = usize::try_from(offset).unwrap();
        compare(&frame, &redacted(&rows), first)?;
        let asked = rows.len().saturating_sub(first).min(usize::try_from(limit).unwrap());
        let told = !frame.warnings.is_empty() || frame.next.is_some() || !frame.notes.is_empty();
        prop_assert!(frame.table.len() == asked || told, "{asked} rows were asked for");
    }

    #[test]
    fn all_pages_together_are_all_rows(rows in rows(), max_chars in 600..8_000_u32) {
        let own = spec(ResponseMode::Table);
        let budget = FrameBudget { max_chars, ..own.budget };
        let spec = FrameSpec { budget, ..own };
        let raw = RawResult::json(Value::from(rows.clone()));
        let (redacted, mut seen) = (redacted(&rows), 0);
        while seen < rows.len() {
            let query = HandleQuery { offset: seen as u64, ..HandleQuery::default() };
            let frame = FIREWALL.expand(&raw, &query, &spec).unwrap();
            compare(&frame, &redacted, seen)?;
            // A row that fits into no frame is passed over, and counted.
            seen += frame.table.len().max(1);
        }
    }
}
