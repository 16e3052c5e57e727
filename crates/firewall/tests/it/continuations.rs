//! Following the query for the rest, from the first frame on, always advances, ends, and shows every
//! part of the redacted original once, within the budget.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weaver_firewall::{FrameSpec, HandleQuery};
use weaver_text::escape;
use weaver_text::token::{Estimate, TokenCounter as _};
use weaver_types::{Constraints, ContentBlocks, Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, auto};

/// Tokens beyond the budget: a part that is cut has at least one character.
const SLACK_TOKENS: usize = 8;
/// More pages than any generated value has.
const MAX_PAGES: usize = 2_000;

/// The text of the only block.
fn text_of(frame: &Frame) -> String {
    let [block] = frame.content.as_slice() else { panic!("{:?}", frame.content) };
    block["text"].as_str().unwrap().to_owned()
}

/// One answer, the query that gave it, and the query for the rest.
#[derive(Debug)]
struct Page {
    query: Value,
    text: String,
    notes: Vec<String>,
    next: Option<Value>,
}

impl Page {
    fn new(query: Value, frame: &Frame, max_tokens: u32) -> Result<Self, TestCaseError> {
        let text = text_of(frame);
        let tokens = Estimate.count(&text).tokens().unwrap();
        let most = usize::try_from(max_tokens).unwrap() + SLACK_TOKENS;
        prop_assert!(tokens <= most, "{tokens} tokens of {most} for {query}");
        Ok(Self { query, text, notes: frame.notes.clone(), next: frame.next.clone() })
    }

    /// The number that the query for the rest has under this key, 0 without one.
    fn next_number(&self, key: &str) -> usize {
        number(self.next.as_ref().unwrap(), key)
    }
}

fn number(query: &Value, key: &str) -> usize {
    let found = query.get(key).or_else(|| query.get("args")?.get(key));
    usize::try_from(found.and_then(Value::as_u64).unwrap_or(0)).unwrap()
}

/// How far a query has come.
fn progress(query: &Value) -> [usize; 3] {
    ["start", "offset", "char_offset"].map(|key| number(query, key))
}

/// The answers that follow from a query on.
fn pages_from(raw: &RawResult, query: Value, max_tokens: u32) -> Result<Vec<Page>, TestCaseError> {
    let mut pages = Vec::new();
    let mut next = Some(query);
    while let Some(query) = next {
        prop_assert!(pages.len() < MAX_PAGES, "it does not end: {query}");
        let parsed = HandleQuery::parse(&query);
        prop_assert!(parsed.is_ok(), "{query}: {parsed:?}");
        let frame = FIREWALL.expand(raw, &parsed.unwrap(), &auto(max_tokens));
        prop_assert!(frame.is_ok(), "{query}: {frame:?}");
        let page = Page::new(query.clone(), &frame.unwrap(), max_tokens)?;
        if let Some(next) = &page.next {
            let goes_on =
                progress(next) > progress(&query) || next.get("view") != query.get("view");
            prop_assert!(goes_on, "{query} is followed by {next}");
        }
        next = page.next.clone();
        pages.push(page);
    }
    Ok(pages)
}

/// The first frame and the answers that follow from it.
fn all_pages(raw: &RawResult, max_tokens: u32) -> Result<(Page, Vec<Page>), TestCaseError> {
    let first = Page::new(json!({}), &FIREWALL.frame(raw, &auto(max_tokens)), max_tokens)?;
    let rest = match &first.next {
        Some(next) => pages_from(raw, next.clone(), max_tokens)?,
        None => Vec::new(),
    };
    Ok((first, rest))
}

/// A value as a frame has it: redacted, with hidden characters escaped.
fn displayed(value: &Value) -> Value {
    fn escaped(value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(escape::block(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(escaped).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name, escaped(value))).collect()
            }
            other => other,
        }
    }
    escaped(FIREWALL.redact_value(value).0)
}

fn head(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// The texts of pages of lines, of which some end within a line.
fn joined(pages: &[Page]) -> String {
    let mut out = String::new();
    for page in pages {
        out.push_str(&page.text);
        if page.next.is_some() && page.next_number("char_offset") == 0 {
            out.push('\n');
        }
    }
    out
}

/// Holds the head, the pages and the tail of a text against it.
fn check_text(text: &str, max_tokens: u32) -> Result<(), TestCaseError> {
    let redacted = FIREWALL.redact_text(text).text;
    let whole = escape::faithful(&redacted);
    let (first, pages) = all_pages(&RawResult::text(text), max_tokens)?;
    if first.next.is_none() {
        prop_assert_eq!(first.text, whole);
        return Ok(());
    }
    let (before, rest) = first.text.split_once('…').unwrap();
    let (_, after) = rest.rsplit_once('…').unwrap();
    let (middle, after) = match after.strip_prefix('\n') {
        Some(after) if first.next.as_ref().unwrap()["view"] == "lines" => {
            (format!("{}\n", joined(&pages)), after)
        }
        _ => (pages.iter().map(|page| page.text.as_str()).collect(), after),
    };
    let read = format!("{before}{middle}{after}");
    prop_assert_eq!(read.trim_end_matches('\n'), whole.trim_end_matches('\n'));
    Ok(())
}

/// Holds pages of the JSON of a value against it: what was shown before, and then its characters.
fn check_json(shown: &str, first: &Page, pages: &[Page], whole: &str) -> Result<(), TestCaseError> {
    let mut read = head(shown, first.next_number("char_offset"));
    prop_assert!(first.next_number("char_offset") > 0);
    for page in pages {
        prop_assert_eq!(number(&page.query, "char_offset"), read.chars().count());
        read.push_str(&page.text);
    }
    prop_assert_eq!(read, whole);
    Ok(())
}

/// Holds the first frame and the pages of a value that is not rows against it.
fn check_value(value: &Value, max_tokens: u32) -> Result<(), TestCaseError> {
    let (first, pages) = all_pages(&RawResult::json(value.clone()), max_tokens)?;
    let whole = displayed(value);
    let Some(next) = &first.next else { return Ok(()) };
    if next["view"] == "get" {
        return check_json(&first.text, &first, &pages, &whole.to_string());
    }
    // Only one text is cut: its rest follows.
    prop_assert_eq!(&next["view"], "chars");
    let path = next["args"]["path"].as_str().unwrap();
    let before: String = {
        let query =
            json!({ "view": "chars", "args": { "path": path, "end": next["args"]["start"] } });
        let pages = pages_from(&RawResult::json(value.clone()), query, max_tokens * 50)?;
        pages.iter().map(|page| page.text.as_str()).collect()
    };
    let after: String = pages.iter().map(|page| page.text.as_str()).collect();
    let text = format!("{before}{after}");
    let shown: Value = serde_json::from_str(&first.text).unwrap();
    let (differing, path_found) = differing_text(&shown, &whole);
    prop_assert_eq!(path_found, 1);
    let (cut, full) = differing.unwrap();
    prop_assert!(cut.strip_suffix('…').is_some_and(|cut| full.starts_with(cut)), "{cut:?}");
    prop_assert_eq!(escape::block(&text), full);
    Ok(())
}

/// The last text in which two values differ, and in how many they do.
fn differing_text(a: &Value, b: &Value) -> (Option<(String, String)>, usize) {
    match (a, b) {
        (a, b) if a == b => (None, 0),
        (Value::String(a), Value::String(b)) => (Some((a.clone(), b.clone())), 1),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let all = a.iter().zip(b).map(|(a, b)| differing_text(a, b));
            all.fold((None, 0), |(found, count), (one, more)| (one.or(found), count + more))
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            let all = a.iter().map(|(name, a)| differing_text(a, b.get(name).unwrap()));
            all.fold((None, 0), |(found, count), (one, more)| (one.or(found), count + more))
        }
        _ => (None, 1_000),
    }
}

/// One cell as a table has it.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Holds the lines of a table against rows.
fn check_table(table: &str, rows: &[Value], fields: &[String]) -> Result<(), TestCaseError> {
    let mut lines: Vec<&str> = Vec::new();
    // A cell with JSON is not quoted, so only the columns of plain rows can be read back.
    let is_plain = |row: &Value| {
        row.as_object()
            .is_some_and(|row| row.values().all(|cell| !cell.is_array() && !cell.is_object()))
    };
    if !rows.iter().all(is_plain) {
        lines.extend(table.lines());
        prop_assert!(lines.len() > rows.len(), "{table}");
        return Ok(());
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut records = reader.records();
    for row in rows {
        let record = records.next();
        let Some(Ok(record)) = record else {
            // A line without a character is no record.
            prop_assert!(names.len() <= 1, "{table}");
            continue;
        };
        for (name, shown) in names.iter().zip(record.iter()) {
            prop_assert_eq!(shown, cell(row.get(name)), "{}", name);
        }
        for name in row.as_object().unwrap().keys() {
            let is_asked = fields.is_empty() || fields.contains(name);
            prop_assert_eq!(names.contains(name), is_asked, "{}", name);
        }
    }
    Ok(())
}

/// Holds pages of rows against the rows as they are displayed, from a row of which some characters
/// were shown already.
fn check_row_pages(
    pages: &[Page],
    rows: &[Value],
    mut begun: String,
    fields: &[String],
) -> Result<(), TestCaseError> {
    let mut at = pages.first().map_or(rows.len(), |page| number(&page.query, "offset"));
    for page in pages {
        let (offset, from) = (number(&page.query, "offset"), number(&page.query, "char_offset"));
        prop_assert_eq!(offset, at);
        prop_assert_eq!(from, begun.chars().count());
        let next = page.next.as_ref();
        let end = next.map_or(rows.len(), |next| number(next, "offset"));
        let to = next.map_or(0, |next| number(next, "char_offset"));
        let is_row = from > 0 || to > 0;
        if !is_row {
            check_table(&page.text, &rows[offset..end], fields)?;
            at = end;
            continue;
        }
        // The beginning of a row is an overview, and what follows are its characters.
        match from {
            0 => begun.push_str(&head(&page.text, to)),
            _ => begun.push_str(&page.text),
        }
        if to == 0 {
            prop_assert_eq!(end, if next.is_some() { offset + 1 } else { rows.len() });
            let read: Value = serde_json::from_str(&begun).unwrap();
            let row = &rows[offset];
            let wanted: Value = match row {
                Value::Object(row) if !fields.is_empty() => row
                    .iter()
                    .filter(|(name, _)| fields.contains(name))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect::<Map<_, _>>()
                    .into(),
                other => other.clone(),
            };
            prop_assert_eq!(&read, &wanted);
            begun.clear();
            at = offset + 1;
        } else {
            prop_assert_eq!((end, to), (offset, begun.chars().count()));
        }
    }
    prop_assert!(begun.is_empty(), "{begun:?} is not finished");
    prop_assert_eq!(at, rows.len());
    Ok(())
}

/// Holds the first frame and the pages of rows against them.
fn check_rows(raw: &RawResult, rows: &[Value], max_tokens: u32) -> Result<(), TestCaseError> {
    let rows: Vec<Value> = rows.iter().map(displayed).collect();
    let (first, pages) = all_pages(raw, max_tokens)?;
    let Some(next) = &first.next else { return Ok(()) };
    if next.get("view").is_some() {
        // The fields around the rows did not fit beside them.
        return Ok(());
    }
    let (offset, from) = (number(next, "offset"), number(next, "char_offset"));
    if first.notes.iter().any(|note| note.starts_with("Shown: rows 0 to ")) {
        prop_assert_eq!(from, 0);
        let table = first.text.split("\nRows: ").next().unwrap();
        let table = match table.strip_prefix('{') {
            Some(rest) => rest.split_once('\n').unwrap().1,
            None => table,
        };
        check_table(table, &rows[..offset], &[])?;
        return check_row_pages(&pages, &rows, String::new(), &[]);
    }
    let overview: Value = serde_json::from_str(&first.text).unwrap();
    let list = match &overview {
        Value::Object(fields) => fields.values().find_map(Value::as_array).unwrap(),
        other => other.as_array().unwrap(),
    };
    prop_assert_eq!(&list[..offset], &rows[..offset]);
    let begun = list.get(offset).map_or_else(String::new, |item| head(&item.to_string(), from));
    check_row_pages(&pages, &rows, begun, &[])
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}( [a-z]{1,8}){0,6}",
        1 => "[a-z ,\"\n;|]{0,40}",
        1 => "[äöüé日本語中文字 ]{0,40}",
        1 => "[🦩🪅🫠𒀀𒁀]{1,20}",
        1 => (0..20_u8).prop_map(|n| format!("jane.roe{n}@corp.example.org")),
        1 => "[a-z]{3}\u{202e}[a-z]{3}",
        1 => "[a-z \\\\/]{0,9}\r\n[a-z]{0,9}",
    ]
}

/// Texts, of which some are long.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => word(),
        1 => (word(), 20..80_usize).prop_map(|(word, count)| vec![word; count].join(" ")),
        1 => prop::collection::vec(word(), 20..60).prop_map(|lines| lines.join("\n")),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-e]{1,2}",
        1 => "[a-c]{1,3}\\.[a-c]{1,3}",
        1 => "src/[a-c]{1,3}\\.rs",
        1 => prop::sample::select(vec!["a[0]", "", "$x", "q\"r", "日本.語", "…", "back\\slash"])
            .prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => any::<i32>().prop_map(Value::from),
        6 => text().prop_map(Value::from),
        1 => Just(json!(null)),
        1 => any::<bool>().prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 80, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..12)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Rows with few or many fields, of which some have long texts.
fn rows() -> impl Strategy<Value = Vec<Value>> {
    let narrow = prop::collection::btree_map(name(), scalar(), 1..6);
    let wide = (5..330_usize)
        .prop_map(|count| (0..count).map(|at| (format!("column_{at}"), json!(at))).collect());
    let row = prop_oneof![12 => narrow, 1 => wide];
    let row = row.prop_map(|row| Value::Object(row.into_iter().collect()));
    prop::collection::vec(row, 1..40)
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        12 => word().prop_map(|word| word.replace('\n', " ")),
        1 => ("[a-zé日🦩 ]{1,30}", 50..150_usize).prop_map(|(word, count)| word.repeat(count)),
    ];
    prop::collection::vec(line, 1..80).prop_map(|lines| lines.join("\n"))
}

#[test]
fn a_return_within_a_line_is_shown_alike_wherever_a_part_ends() {
    for max_tokens in 300..330 {
        check_text(&"\r t".repeat(4_000), max_tokens).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn of_a_text_the_pages_are_its_middle(text in lines(), max_tokens in 200..2_000_u32) {
        check_text(&text, max_tokens)?;
    }

    #[test]
    fn lines_and_characters_from_anywhere_are_those_of_the_text(
        text in lines(),
        start in 0..60_usize,
        length in 0..60_usize,
        limit in prop::option::of(1..100_usize),
        max_tokens in 200..2_000_u32,
    ) {
        let raw = RawResult::text(text.clone());
        let redacted = FIREWALL.redact_text(&text).text;
        let shown = escape::faithful(&redacted).into_owned();
        let all: Vec<&str> = shown.lines().collect();
        prop_assume!(start < all.len() && length > 0 && shown.chars().count() > start);
        let end = start + length;
        let count = limit.unwrap_or(usize::MAX);
        let mut lines = json!({ "view": "lines", "args": { "start": start, "end": end } });
        let mut offset = json!({ "offset": start });
        if let Some(limit) = limit {
            lines["limit"] = json!(limit);
            offset["limit"] = json!(limit);
        }
        let wanted: Vec<&str> = all.iter().skip(start).take(length.min(count)).copied().collect();
        prop_assert_eq!(joined(&pages_from(&raw, lines, max_tokens)?), wanted.join("\n"));
        let wanted: Vec<&str> = all.iter().skip(start).take(count).copied().collect();
        prop_assert_eq!(joined(&pages_from(&raw, offset, max_tokens)?), wanted.join("\n"));
        let chars = json!({ "view": "chars", "args": { "start": start } });
        let read: String = pages_from(&raw, chars, max_tokens)?.into_iter().map(|page| page.text).collect();
        let wanted: String = redacted.chars().skip(start).collect();
        prop_assert_eq!(read, escape::faithful(&wanted));
    }

    #[test]
    fn matches_of_a_search_are_shown_once(text in lines(), max_tokens in 200..2_000_u32) {
        let raw = RawResult::text(text.clone());
        let shown = escape::faithful(&FIREWALL.redact_text(&text).text).into_owned();
        let query = json!({ "view": "search", "args": { "text": "a", "ignore_case": false } });
        let found = shown.lines().enumerate().filter(|(_, line)| line.contains('a'));
        let wanted: Vec<String> = found.map(|(number, line)| format!("{number}: {line}")).collect();
        prop_assert_eq!(joined(&pages_from(&raw, query, max_tokens)?), wanted.join("\n"));
    }

    #[test]
    fn of_a_value_the_pages_go_on_where_the_overview_was_cut(
        tree in tree(),
        max_tokens in 200..2_000_u32,
    ) {
        // Lists of objects are rows: the cases below.
        check_value(&json!({ "tree": { "of": tree, "x.y": "z" }, "and": 1 }), max_tokens)?;
    }

    #[test]
    fn one_long_text_in_a_value_is_read_as_a_text(
        text in lines(),
        name in name(),
        max_tokens in 200..2_000_u32,
    ) {
        check_value(&json!({ name: { "content": text, "of": ["a", 1] } }), max_tokens)?;
    }

    #[test]
    fn a_part_of_a_value_is_shown_once(tree in tree(), max_tokens in 200..2_000_u32) {
        let value = json!({ "data": { "a.b": [{ "in": [tree] }] } });
        let raw = RawResult::json(value.clone());
        for (path, pointer) in [
            ("data", "/data"),
            ("data[\"a.b\"][0]", "/data/a.b/0"),
            ("data[\"a.b\"][0].in[0]", "/data/a.b/0/in/0"),
        ] {
            let part = displayed(&value).pointer(pointer).unwrap().clone();
            let is_list = part.as_array().is_some_and(|items| items.iter().any(Value::is_object));
            let is_wrapper = part.as_object().is_some_and(|fields| fields.values().any(Value::is_array));
            let query = json!({ "view": "get", "args": { "path": path } });
            let pages = pages_from(&raw, query, max_tokens)?;
            if pages.len() == 1 || is_list || is_wrapper {
                continue;
            }
            let (first, rest) = pages.split_first().unwrap();
            let next = first.next.as_ref().unwrap();
            if next["view"] == "get" {
                check_json(&first.text, first, rest, &part.to_string())?;
            } else if let Some(whole) = part.as_str() {
                let read: String = pages.iter().map(|page| page.text.as_str()).collect();
                prop_assert_eq!(escape::block(&read), whole);
            }
        }
    }

    #[test]
    fn rows_and_parts_of_rows_are_shown_once(
        rows in rows(),
        is_wrapped in any::<bool>(),
        max_tokens in 200..3_000_u32,
    ) {
        let value = match is_wrapped {
            true => json!({ "items": rows, "total": rows.len(), "next": null }),
            false => json!(rows),
        };
        check_rows(&RawResult::json(value), &rows, max_tokens)?;
    }

    #[test]
    fn rows_of_trees_are_shown_once(
        trees in prop::collection::vec(tree(), 1..12),
        max_tokens in 200..3_000_u32,
    ) {
        let rows: Vec<Value> = trees.into_iter().map(|tree| json!({ "id": 1, "t": [[tree]] })).collect();
        check_rows(&RawResult::json(json!(rows)), &rows, max_tokens)?;
        let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
        if lines.len() > 1 {
            check_rows(&RawResult::text(lines.join("\n")), &rows, max_tokens)?;
        }
    }

    #[test]
    fn rows_of_a_query_are_shown_once(
        rows in rows(),
        limit in prop::option::of(1..40_usize),
        field in prop::sample::select(vec![None, Some("a"), Some("column_2")]),
        max_tokens in 200..3_000_u32,
    ) {
        let raw = RawResult::json(json!(rows));
        let mut wanted: Vec<Value> = rows.iter().map(displayed).collect();
        let mut query = json!({});
        let fields: Vec<String> = field.into_iter().map(str::to_owned).collect();
        if let Some(field) = field {
            let exists = rows.iter().any(|row| row.get(field).is_some());
            prop_assume!(exists);
            query["fields"] = json!([field]);
            query["filter"] = json!({ field: { "ne": null } });
            wanted.retain(|row| row.get(field).is_some_and(|value| !value.is_null()));
        }
        if let Some(limit) = limit {
            query["limit"] = json!(limit);
            wanted.truncate(limit);
        }
        let mut pages = pages_from(&raw, query, max_tokens)?;
        for page in &mut pages {
            if let Some((table, _)) = page.text.rsplit_once("\nMatching rows: ") {
                page.text = table.to_owned();
            }
        }
        prop_assume!(!wanted.is_empty());
        check_row_pages(&pages, &wanted, String::new(), &fields)?;
    }
}

/// The answer to a query, which must not fail.
#[track_caller]
fn answer(raw: &RawResult, query: &Value) -> Frame {
    let query = HandleQuery::parse(query).unwrap();
    FIREWALL.expand(raw, &query, &auto(8_000)).unwrap()
}

/// The texts of all answers from a query on.
#[track_caller]
fn read_from(raw: &RawResult, query: Value) -> String {
    let pages = pages_from(raw, query, 8_000).unwrap();
    pages.iter().map(|page| page.text.as_str()).collect()
}

#[test]
fn a_long_text_in_a_field_takes_the_budget_and_goes_on_as_a_text() {
    let text: String = (0..6_000).map(|n| format!("line {n} of the file\n")).collect();
    let raw = RawResult::json(json!({ "path": "a.txt", "content": text }));
    let first = FIREWALL.frame(&raw, &auto(8_000));
    let tokens = Estimate.count(&text_of(&first)).tokens().unwrap();
    assert!(tokens > 4_000, "{tokens} tokens");
    let next = first.next.unwrap();
    let start = usize::try_from(next["args"]["start"].as_u64().unwrap()).unwrap();
    assert_eq!(next, json!({ "view": "chars", "args": { "path": "content", "start": start } }));
    assert_eq!(read_from(&raw, next), text.get(start..).unwrap());
    let at_path = |view: &str, more: Value| {
        let mut query = json!({ "view": view, "args": { "path": "content" } });
        query["args"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text_of(&answer(&raw, &query))
    };
    assert_eq!(
        at_path("lines", json!({ "start": 3_000, "end": 3_002 })),
        "line 3000 of the file\nline 3001 of the file"
    );
    assert_eq!(at_path("search", json!({ "text": "line 5999 " })), "5999: line 5999 of the file");
    assert_eq!(at_path("chars", json!({ "start": 5, "end": 9 })), "0 of");
    let get = json!({ "view": "get", "args": { "path": "content" } });
    assert!(text_of(&answer(&raw, &get)).starts_with("line 0 of the file\nline 1 of"));
    assert_eq!(read_from(&raw, get), text);
    for wrong in ["", "path.x"] {
        let query = json!({ "view": "lines", "args": { "path": wrong } });
        let query = HandleQuery::parse(&query).unwrap();
        assert!(FIREWALL.expand(&raw, &query, &auto(8_000)).is_err(), "{wrong}");
    }
}

#[test]
fn behind_an_overlong_line_the_lines_go_on() {
    let short: String = (0..500).map(|n| format!("short line {n}\n")).collect();
    let long = "LONG words of one line. ".repeat(7_500);
    let after: Vec<String> = (0..2_000).map(|n| format!("line {n} after it")).collect();
    let text = format!("{short}{long}\n{}", after.join("\n"));
    let raw = RawResult::text(text.clone());
    let rest = format!("{long}\n{}", after.join("\n"));
    let pages = |query: Value| joined(&pages_from(&raw, query, 8_000).unwrap());
    assert_eq!(pages(json!({ "offset": 500 })), rest);
    let lines = json!({ "view": "lines", "args": { "start": 500, "end": 510 } });
    assert_eq!(pages(lines), rest.lines().take(10).collect::<Vec<_>>().join("\n"));
    let search = json!({ "view": "search", "args": { "text": "LONG" } });
    assert_eq!(pages(search), format!("500: {long}"));
    let first = answer(&raw, &json!({ "offset": 500 })).next.unwrap();
    assert_eq!(first["offset"], 500, "{first}");
    assert!(first["char_offset"].as_u64() > Some(10_000), "{first}");
}

#[test]
fn the_rest_of_a_part_is_below_its_path() {
    let trees: Vec<Value> = (0..3_000).map(|n| json!({ "deep": [[n], ["x y z"]] })).collect();
    let raw = RawResult::json(json!({ "data": { "items": trees }, "ok": true }));
    for path in ["data", "data.items", "data.items[].deep", "data.items[7:2000]"] {
        let pages = pages_from(&raw, json!({ "view": "get", "args": { "path": path } }), 8_000);
        assert!(pages.unwrap().len() > 1, "{path}");
    }
    let body = "words of the body ".repeat(10_000);
    let raw = RawResult::json(json!([{ "body": body, "n": { "x": body } }]));
    for path in ["[0].body", "[0].n.x"] {
        let next = answer(&raw, &json!({ "view": "get", "args": { "path": path } })).next.unwrap();
        assert_eq!((&next["view"], &next["args"]["path"]), (&json!("chars"), &json!(path)));
    }
    let next = answer(&raw, &json!({ "view": "get", "args": { "path": "[0].n" } })).next.unwrap();
    assert_eq!(next["args"]["path"], "[0].n.x");
    // Names with a point are written in quotes.
    let raw = RawResult::json(json!({ "src/main.rs": body, "a.b": "x" }));
    let next = FIREWALL.frame(&raw, &auto(8_000)).next.unwrap();
    assert_eq!(next["args"]["path"], "[\"src/main.rs\"]");
    let start = usize::try_from(next["args"]["start"].as_u64().unwrap()).unwrap();
    assert_eq!(read_from(&raw, next), body.get(start..).unwrap());
}

#[test]
fn head_and_tail_fit_whatever_their_characters_take() {
    for tail in ["🦩🪅🫠", "𒀀𒁀𓂀", "中文字的内容", "x9Q!z%7_", "word "] {
        for turned in [false, true] {
            let (a, b) = ("word ".repeat(20_000), tail.repeat(30_000));
            let text = if turned { format!("{b}{a}") } else { format!("{a}{b}") };
            let shown = text_of(&FIREWALL.frame(&RawResult::text(text), &auto(8_000)));
            let tokens = Estimate.count(&shown).tokens().unwrap();
            assert!((4_000..=8_000).contains(&tokens), "{tokens} tokens with {tail}");
        }
    }
}

#[test]
fn all_columns_of_wide_rows_are_shown() {
    let names: Vec<String> = (0..300).map(|at| format!("c{at}")).collect();
    let row = |n: usize| {
        let cells = names.iter().map(|name| (name.clone(), json!(n)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    let rows: Vec<Value> = (0..200).map(row).collect();
    check_rows(&RawResult::json(json!(rows)), &rows, 8_000).unwrap();
    let line = |n: usize| vec![n.to_string(); 300].join(",");
    let lines: Vec<String> = (0..200).map(line).collect();
    let csv = format!("{}\n{}", names.join(","), lines.join("\n"));
    check_rows(&RawResult::text(csv.clone()), &rows, 8_000).unwrap();
    let columns = answer(&RawResult::text(csv), &json!({ "view": "columns" }));
    assert!(text_of(&columns).contains("\nc299,200,number"), "{}", text_of(&columns));
}

#[test]
fn a_row_that_is_too_large_is_shown_in_parts() {
    let body = "中文字的内容很长很长，".repeat(2_000);
    let rows: Vec<Value> =
        (0..3).map(|n| json!({ "id": n, "subject": format!("s{n}"), "body": body })).collect();
    let raw = RawResult::json(json!(rows));
    let first = FIREWALL.frame(&raw, &auto(8_000));
    for subject in ["s0", "s1", "s2"] {
        assert!(text_of(&first).contains(subject), "the overview shows all rows");
    }
    check_rows(&raw, &rows, 8_000).unwrap();
    let query = json!({ "fields": ["body"], "filter": { "id": { "gte": 1 } } });
    let page = answer(&raw, &query);
    assert!(page.notes[0].contains("Row 0 is too large"), "{:?}", page.notes);
    assert_eq!(page.next.as_ref().unwrap()["filter"], json!({ "id": { "gte": 1 } }));
    let pages = pages_from(&raw, query, 8_000).unwrap();
    assert!(pages.len() >= 6, "{} pages", pages.len());
    let read: String = pages.iter().map(|page| page.text.as_str()).collect();
    assert_eq!(read.matches("Matching rows: 2.").count(), pages.len());
}

#[test]
fn a_condition_sees_a_text_to_its_end() {
    let text: String = (0..6_000).map(|n| format!("line {n} of the file\n")).collect();
    let rows = json!([{ "content": text, "n": 1 }, { "content": "x", "n": 2 }]);
    for mode in [ResponseMode::Auto, ResponseMode::Table] {
        let query =
            json!({ "filter": { "content": { "contains": "line 5999 " } }, "fields": ["n"] });
        let query = HandleQuery::parse(&query).unwrap();
        let spec = FrameSpec { mode, ..auto(8_000) };
        let frame = FIREWALL.expand(&RawResult::json(rows.clone()), &query, &spec).unwrap();
        assert!(json!(frame).to_string().contains("Matching rows: 1"), "{frame:?}");
    }
}

#[test]
fn fields_that_are_not_asked_for_are_not_withheld() {
    let rows: Vec<Value> = (0..5).map(|n| json!({ "id": n, "a": 1, "b": 2 })).collect();
    let raw = RawResult::json(json!(rows));
    for mode in [ResponseMode::Auto, ResponseMode::Table, ResponseMode::Summary] {
        let query = HandleQuery::parse(&json!({ "fields": ["id"] })).unwrap();
        let frame = FIREWALL.expand(&raw, &query, &FrameSpec { mode, ..auto(8_000) }).unwrap();
        assert!(frame.warnings.is_empty(), "{mode:?}: {:?}", frame.warnings);
    }
}

#[test]
fn pages_of_bounded_rows_go_on() {
    let constraints = Constraints { max_rows: Some(7), ..Constraints::default() };
    let rows: Vec<Value> = (0..40).map(|n| json!({ "id": n })).collect();
    let nested: Vec<Value> = (0..40).map(|n| json!({ "id": n, "t": vec![[[n]]; 9] })).collect();
    let lines: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
    for (raw, query) in [
        (RawResult::json(json!(rows)), json!({})),
        (RawResult::json(json!(nested)), json!({})),
        (RawResult::text(lines.join("\n")), json!({})),
        (RawResult::text(lines.join("\n")), json!({ "view": "lines" })),
        (RawResult::json(json!(rows)), json!({ "filter": { "id": { "gte": 0 } } })),
    ] {
        let (mut next, mut pages) = (Some(query.clone()), 0);
        while let Some(query) = next {
            let parsed = HandleQuery::parse(&query).unwrap();
            let spec = FrameSpec { constraints: &constraints, ..auto(8_000) };
            next = FIREWALL.expand(&raw, &parsed, &spec).unwrap().next;
            pages += 1;
            assert!(pages < 20, "{query} does not end");
        }
        assert_eq!(pages, 6, "{query}");
    }
}

#[test]
fn rows_of_nested_values_show_only_the_fields_that_may_be_seen() {
    let named = crate::support::capability(&["id"]);
    let tree = json!(vec!["a hidden text"; 12]);
    let rows: Vec<Value> = (0..9).map(|n| json!({ "id": n, "t": tree })).collect();
    for value in [json!(rows), json!({ "items": rows, "total": 9 })] {
        let spec = FrameSpec { capability: &named, ..auto(300) };
        let frame = FIREWALL.frame(&RawResult::json(value), &spec);
        let shown = json!(frame).to_string();
        assert!(!shown.contains("hidden text") && shown.contains("id"), "{shown}");
    }
}

#[test]
fn items_that_are_pairs_are_masked_alone_as_in_their_list() {
    let pairs = json!([["user", "bob"], ["password", "sunshine"], ["host", "h1"]]);
    let raw = RawResult::json(pairs);
    for query in [json!({}), json!({ "offset": 1 }), json!({ "filter": { "value": { "ne": 1 } } })]
    {
        let shown = text_of(&answer(&raw, &query));
        assert!(!shown.contains("sunshine") && shown.contains("h1"), "{query}: {shown}");
    }
}

#[test]
fn many_blocks_stay_within_the_budget() {
    for (count, words) in [(3, 5_000), (40, 300), (1_000, 60), (5_000, 2)] {
        let text = "words of a block ".repeat(words);
        let block = json!({ "type": "text", "text": text });
        let blocks = vec![block; count];
        let laid_out = Some(ContentBlocks { blocks, structured: None });
        let raw = RawResult { blocks: laid_out, ..RawResult::json(json!({ "content": [] })) };
        let frame = FIREWALL.frame(&raw, &auto(8_000));
        let texts = frame.content.iter().filter_map(|block| block["text"].as_str());
        let tokens: usize = texts.map(|text| Estimate.count(text).tokens().unwrap()).sum();
        assert!((4_000..=8_400).contains(&tokens), "{tokens} tokens of {count} blocks");
        let said = frame.notes.iter().any(|note| note.starts_with("Not shown for want of space"));
        assert_eq!(said, frame.content.len() < count, "{:?}", frame.notes);
    }
}
