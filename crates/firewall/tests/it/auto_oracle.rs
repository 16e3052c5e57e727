//! In mode `auto`, too, whatever is shown is the redacted original at its place, and what is not
//! shown is counted: heads and tails of texts, rows, trees and views.

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_firewall::{FrameBudget, FrameSpec, HandleQuery};
use weaver_types::{Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, auto, spec};

/// What stands for what was left out. No generated value has it.
const MARK: char = '…';

fn text_of(frame: &Frame) -> String {
    let texts = frame.content.iter().filter_map(|block| block.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The numbers of a mark or a note, in their order.
fn numbers(text: &str) -> Vec<usize> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    digits.map(|part| part.parse().unwrap()).collect()
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => any::<i32>().prop_map(Value::from),
        3 => "[a-z ,\"]{0,30}".prop_map(Value::from),
        1 => Just(json!(null)),
        1 => any::<bool>().prop_map(Value::from),
        1 => (0..20_u8).prop_map(|n| json!(format!("jane.roe{n}@corp.example.org"))),
        1 => "[a-zé日]{200,400}".prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 200, 30, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::from),
            prop::collection::btree_map("[a-e]{1,2}", inner, 0..30)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn flat_rows() -> impl Strategy<Value = Vec<Value>> {
    let names = prop::sample::subsequence(vec!["id", "a", "b", "c", "d", "e", "f"], 1..7);
    let row = (names, prop::collection::vec(scalar(), 7)).prop_map(|(names, values)| {
        Value::Object(names.into_iter().map(str::to_owned).zip(values).collect())
    });
    prop::collection::vec(row, 1..120)
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        6 => "[a-z ]{0,60}",
        1 => "[a-zé日 ]{100,1500}",
        1 => (0..20_u8).prop_map(|n| format!("ask jane.roe{n}@corp.example.org about it")),
    ];
    prop::collection::vec(line, 1..120)
}

/// A text with one stretch cut out of it: what stands before and after, and the mark.
fn halves(shown: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = shown.split_once(MARK)?;
    let (mark, tail) = rest.rsplit_once(MARK)?;
    Some((head, mark, tail))
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Holds what is shown of a text against the redacted text.
fn check_text(shown: &str, redacted: &str, notes: &[String]) -> Result<(), TestCaseError> {
    if shown == redacted {
        prop_assert!(!notes.iter().any(|note| note.starts_with("Cut")), "{notes:?}");
        return Ok(());
    }
    let Some((head, mark, tail)) = halves(shown) else {
        return Err(TestCaseError::fail(format!("neither whole nor marked: {shown:?}")));
    };
    let by_lines = mark.contains("lines cut");
    let tail = if by_lines { tail.strip_prefix('\n').unwrap_or(tail) } else { tail };
    prop_assert!(redacted.starts_with(head), "the head is not a head");
    prop_assert!(redacted.ends_with(tail), "the tail is no tail");
    let missing = chars(redacted) - chars(head) - chars(tail);
    let said = numbers(mark);
    match (by_lines, said.as_slice()) {
        (true, [lines, first, last, cut]) => {
            let all = redacted.split_inclusive('\n').count();
            let kept = head.split_inclusive('\n').count() + tail.split_inclusive('\n').count();
            prop_assert_eq!((*cut, *lines), (missing, all - kept));
            prop_assert_eq!(
                (*first, last + 1 - first),
                (head.split_inclusive('\n').count(), *lines)
            );
        }
        (false, [cut, first, last]) => {
            prop_assert_eq!((*cut, *first), (missing, chars(head)));
            prop_assert_eq!(last + 1 - first, missing);
        }
        _ => prop_assert!(false, "the mark does not say how much: {mark:?}"),
    }
    prop_assert!(notes.iter().any(|note| note.starts_with("Cut")), "{notes:?}");
    Ok(())
}

/// Holds a shortened value against the redacted one; whether anything is left out of it.
fn check_tree(shown: &Value, original: &Value, at: &str) -> Result<bool, TestCaseError> {
    let number = |text: &str| numbers(text).first().copied();
    match (shown, original) {
        (Value::String(text), Value::Array(_) | Value::Object(_)) => {
            // A level that is left out, with the number of its parts.
            let parts = original.as_array().map_or_else(
                || original.as_object().map(serde_json::Map::len),
                |items| Some(items.len()),
            );
            prop_assert!(text.starts_with(MARK), "{at}: {text:?}");
            prop_assert_eq!(number(text), parts, "{}", at);
            Ok(true)
        }
        (Value::String(text), Value::String(whole)) if text != whole => {
            let head = text.strip_suffix(MARK);
            prop_assert!(head.is_some_and(|head| whole.starts_with(head)), "{at}: {text:?}");
            Ok(true)
        }
        (Value::Array(items), Value::Array(all)) => {
            let is_mark = |item: &Value| item.as_str().is_some_and(|text| text.starts_with(MARK));
            let more = items.last().filter(|last| is_mark(last) && items.len() <= all.len());
            // The last item may itself be a level that is left out.
            let more = more.filter(|last| last.as_str().is_some_and(|t| t.contains(" more")));
            let shown = items.len() - usize::from(more.is_some());
            match more.and_then(Value::as_str) {
                Some(mark) => prop_assert_eq!(number(mark), Some(all.len() - shown), "{}", at),
                None => prop_assert_eq!(items.len(), all.len(), "{}", at),
            }
            let mut cut = more.is_some();
            for (place, (item, original)) in items.iter().take(shown).zip(all).enumerate() {
                cut |= check_tree(item, original, &format!("{at}[{place}]"))?;
            }
            Ok(cut)
        }
        (Value::Object(map), Value::Object(all)) => {
            let more = map.get(&MARK.to_string()).and_then(Value::as_str);
            let shown = map.len() - usize::from(more.is_some());
            match more {
                Some(mark) => prop_assert_eq!(number(mark), Some(all.len() - shown), "{}", at),
                None => prop_assert_eq!(map.len(), all.len(), "{}", at),
            }
            let mut cut = more.is_some();
            for (name, value) in map.iter().filter(|(name, _)| !name.starts_with(MARK)) {
                let Some(original) = all.get(name) else {
                    return Err(TestCaseError::fail(format!("{at}: `{name}` was never there")));
                };
                cut |= check_tree(value, original, &format!("{at}.{name}"))?;
            }
            Ok(cut)
        }
        _ => {
            prop_assert!(is_scalar_or_masked(shown, original), "{}: {} is {}", at, original, shown);
            Ok(false)
        }
    }
}

/// Whether a scalar is the original one. What is shown as a text is redacted as one too, where the
/// words of a neighbour may name a number: such a value may be a mask. What is shown whole is held
/// against the redacted text.
fn is_scalar_or_masked(shown: &Value, original: &Value) -> bool {
    shown == original || original.is_number() && shown == "[REDACTED]"
}

/// One cell as a table of mode `auto` has it.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Holds the lines of a table against rows from `first` on.
fn check_lines(
    table: &str,
    count: usize,
    redacted: &[Value],
    first: usize,
) -> Result<(), TestCaseError> {
    // A row of one column with nothing in it is an empty line, which the reader would pass over.
    let is_one_column = table.lines().next().is_some_and(|head| !head.contains(','));
    let table = match is_one_column {
        true => table
            .split('\n')
            .map(|line| if line.is_empty() { "\"\"" } else { line })
            .collect::<Vec<_>>()
            .join("\n"),
        false => table.to_owned(),
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    for (at, record) in reader.records().take(count).enumerate() {
        let (record, row) = (record.unwrap(), &redacted[first + at]);
        for (name, shown) in names.iter().zip(record.iter()) {
            let original = cell(row.get(name));
            let cut = shown.strip_suffix(MARK).is_some_and(|head| original.starts_with(head));
            prop_assert!(cut || shown == original, "row {} field {name}: {shown:?}", first + at);
        }
        for name in row.as_object().into_iter().flat_map(|row| row.keys()) {
            prop_assert!(names.contains(name), "row {}: `{name}` has no column", first + at);
        }
    }
    Ok(())
}

/// A value whose text was redacted.
fn redacted_as_text(value: &Value) -> Value {
    serde_json::from_str(&FIREWALL.redact_text(&value.to_string()).text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_text_is_whole_or_its_head_and_tail_with_the_rest_counted(
        lines in lines(),
        max_tokens in 120..4_000_u32,
    ) {
        let text = lines.join("\n");
        let redacted = FIREWALL.redact_text(&text).text;
        let frame = FIREWALL.frame(&RawResult::text(text), &auto(max_tokens));
        check_text(&text_of(&frame), &redacted, &frame.notes)?;
    }

    #[test]
    fn rows_are_whole_or_counted(rows in flat_rows(), max_tokens in 200..4_000_u32) {
        let redacted: Vec<Value> = rows.iter().map(|row| FIREWALL.redact_value(row).0).collect();
        let frame = FIREWALL.frame(&RawResult::json(Value::from(rows)), &auto(max_tokens));
        let text = text_of(&frame);
        let noted = frame.notes.iter().find(|note| note.starts_with("Shown: rows 0 to "));
        match noted.map(|note| numbers(note)) {
            Some(said) => {
                prop_assert_eq!((said[0], said[2]), (0, redacted.len()));
                let next = json!({ "offset": said[1] + 1 });
                prop_assert_eq!(frame.next.as_ref(), Some(&next));
                check_lines(&text, said[1] + 1, &redacted, 0)?;
            }
            None if frame.notes.iter().any(|note| note.starts_with("Short")) => {
                // Not even one row fits, so there is an overview of all of them.
                let shown: Value = serde_json::from_str(&text).unwrap();
                prop_assert!(check_tree(&shown, &Value::from(redacted), "")?);
                prop_assert!(frame.next.is_some());
            }
            None => match serde_json::from_str::<Value>(&text) {
                // It is shown as a text, so it is redacted as one too.
                Ok(whole) => prop_assert_eq!(whole, redacted_as_text(&Value::from(redacted))),
                // All of the rows, as a table.
                Err(_) => check_lines(&text, redacted.len(), &redacted, 0)?,
            },
        }
    }

    #[test]
    fn a_page_of_rows_begins_where_it_was_asked_for(
        rows in flat_rows(),
        offset in 0..120_usize,
        limit in 1..60_usize,
        max_tokens in 200..4_000_u32,
    ) {
        prop_assume!(offset < rows.len());
        let redacted: Vec<Value> = rows.iter().map(|row| FIREWALL.redact_value(row).0).collect();
        let query = HandleQuery { offset: offset as u64, limit: Some(limit as u64), ..HandleQuery::default() };
        let raw = RawResult::json(Value::from(rows));
        let Ok(frame) = FIREWALL.expand(&raw, &query, &auto(max_tokens)) else { return Ok(()) };
        if frame.notes.iter().any(|note| note.contains("too large for one answer")) {
            return Ok(());
        }
        let asked = limit.min(redacted.len() - offset);
        let noted = frame.notes.iter().find(|note| note.starts_with("Shown: rows "));
        let shown = match noted.map(|note| numbers(note)) {
            Some(said) => {
                prop_assert_eq!((said[0], said[2]), (offset, redacted.len()));
                said[1] + 1 - said[0]
            }
            None => asked,
        };
        prop_assert!(shown <= asked);
        check_lines(&text_of(&frame), shown, &redacted, offset)?;
    }

    #[test]
    fn a_tree_is_whole_or_says_of_each_place_how_much_is_left_out(
        tree in tree(),
        max_tokens in 200..3_000_u32,
    ) {
        // Lists of objects are tables, and a text alone is a text: the cases above.
        let value = json!({ "tree": { "of": tree }, "and": 1 });
        let redacted = FIREWALL.redact_value(&value).0;
        let frame = FIREWALL.frame(&RawResult::json(value), &auto(max_tokens));
        let said = |start: &str| frame.notes.iter().any(|note| note.starts_with(start));
        if said("Shortened: most of it") {
            return Ok(());
        }
        let shown: Value = serde_json::from_str(&text_of(&frame)).unwrap();
        let cut = check_tree(&shown, &redacted, "")?;
        prop_assert!(cut || shown == redacted_as_text(&redacted), "{}", shown);
        prop_assert_eq!(cut, said("Shortened"), "{:?}", frame.notes);
        prop_assert_eq!(cut, frame.next.is_some());
    }

    #[test]
    fn views_of_a_text_show_lines_at_their_places(
        lines in lines(),
        start in 0..130_usize,
        length in 1..60_usize,
        in_auto in any::<bool>(),
        budget in 300..6_000_u32,
    ) {
        let text = lines.join("\n");
        let redacted = FIREWALL.redact_text(&text).text;
        let all: Vec<&str> = redacted.lines().collect();
        let query = json!({ "view": "lines", "args": { "start": start, "end": start + length } });
        let query = HandleQuery::parse(&query).unwrap();
        let mode = if in_auto { ResponseMode::Auto } else { ResponseMode::Table };
        let own = spec(mode);
        let spec = FrameSpec { budget: FrameBudget { max_chars: budget, max_tokens: budget, ..own.budget }, ..own };
        let Ok(frame) = FIREWALL.expand(&RawResult::text(text), &query, &spec) else { return Ok(()) };
        let wanted: Vec<&str> = all.iter().skip(start).take(length).copied().collect();
        let told = !frame.notes.is_empty() || !frame.warnings.is_empty() || frame.next.is_some();
        if in_auto {
            let shown = text_of(&frame);
            let whole = wanted.join("\n");
            prop_assert!(shown == whole || told, "{shown:?}");
            prop_assert!(whole.starts_with(shown.split(MARK).next().unwrap().trim_end_matches('\n')));
        } else {
            for (at, row) in frame.table.iter().enumerate() {
                prop_assert_eq!(row["line"].as_u64(), Some((start + at) as u64));
                // A line that is longer than the budget is left out, and that is told.
                let (shown, original) = (row.get("value").and_then(Value::as_str), wanted[at]);
                let Some(shown) = shown else {
                    prop_assert!(told, "line {}", start + at);
                    continue;
                };
                let cut = shown.strip_suffix(MARK).is_some_and(|head| original.starts_with(head));
                prop_assert!(shown == original || (cut && told), "line {}", start + at);
            }
            prop_assert!(frame.table.len() == wanted.len() || told);
        }
    }

    #[test]
    fn views_of_a_tree_show_what_stands_at_their_path(tree in tree(), max_tokens in 200..3_000_u32) {
        let value = json!({ "tree": { "of": tree, "x": [1, 2] }, "and": 1 });
        let redacted = FIREWALL.redact_value(&value).0;
        let query = HandleQuery::parse(&json!({ "view": "get", "args": { "path": "tree" } })).unwrap();
        let Ok(frame) = FIREWALL.expand(&RawResult::json(value), &query, &auto(max_tokens)) else { return Ok(()) };
        if frame.notes.iter().any(|note| note.starts_with("Shortened: most of it")) {
            return Ok(());
        }
        let shown: Value = serde_json::from_str(&text_of(&frame)).unwrap();
        let cut = check_tree(&shown, &redacted["tree"], "tree")?;
        prop_assert!(!cut || frame.notes.iter().any(|note| note.starts_with("Shortened")));
    }
}
