//! Streams: the cases of agent-kernel, and what holds for every way of cutting.

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_firewall::{
    FrameBudget, FrameSpec, FrameStream, MASK, MAX_COLLECTED_BYTES, Reservation, SessionBudget,
    StreamCollector, StreamEnd, StreamItem,
};
use weaver_types::{Frame, RawChunk, RawContent, RawResult, ResponseMode, ResultStatus};

use crate::support::{FIREWALL, cases, chars, spec, warned};

/// All frames of a stream without a handle, and what it left as its whole.
fn streamed(
    spec: &FrameSpec<'_>,
    chunks: impl IntoIterator<Item = RawChunk>,
    reserved: Option<Reservation>,
) -> (Vec<StreamItem>, RawResult) {
    let mut stream = FrameStream::new(&FIREWALL, spec.clone(), reserved);
    let parts = chunks.into_iter().filter_map(|chunk| stream.push(chunk));
    let mut items: Vec<StreamItem> = parts.map(StreamItem::Part).collect();
    let whole = stream.take_result();
    let (end, reserved) = stream.end(StreamEnd::Complete, &whole, None);
    items.push(StreamItem::End(end));
    if let Some(reserved) = reserved {
        reserved.settle();
    }
    (items, whole)
}

fn texts(pieces: &[&str]) -> Vec<RawChunk> {
    pieces.iter().map(|piece| RawChunk::Text((*piece).to_owned())).collect()
}

/// Everything that was shown in cells, in order, as one text.
fn shown(items: &[StreamItem]) -> String {
    let cells = items.iter().flat_map(|item| &item.frame().table).flat_map(|row| row.values());
    cells.map(|cell| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)).collect()
}

fn end(items: &[StreamItem]) -> &Frame {
    let Some(StreamItem::End(frame)) = items.last() else { panic!("no last frame") };
    assert!(frame.is_final);
    let parts = &items[..items.len() - 1];
    assert!(parts.iter().all(|i| matches!(i, StreamItem::Part(frame) if !frame.is_final)));
    frame
}

/// Cases: R06.
#[test]
fn a_text_in_pieces_is_redacted_as_the_text_that_it_is() {
    let case = cases("R06");
    let (inputs, outputs) = (&case["input"]["cases"], &case["output"]["cases"]);
    for (pieces, expected) in inputs.as_array().unwrap().iter().zip(outputs.as_array().unwrap()) {
        let mut stream = FIREWALL.stream_redactor();
        let mut out = String::new();
        for piece in pieces.as_array().unwrap() {
            out += &stream.push(piece.as_str().unwrap());
        }
        out += &stream.finish();
        let emitted = expected["emitted"].as_array().unwrap().iter().filter_map(Value::as_str);
        let theirs: String = emitted.chain(expected["flushed"].as_str()).collect();
        // Of an authorization we mask the value, and leave the word before it.
        let masked = theirs.replace("x [REDACTED] tail", "x Bearer [REDACTED] tail");
        assert_eq!(out, masked, "{pieces}");
    }
}

#[test]
fn a_line_of_a_stream_hides_what_the_names_in_it_say() {
    let pieces = [
        "{\"user\":\"a\",\"cvv\":\"12",
        "3\"}\ndata: {\"otp\":\"48",
        "2913\",\"pass\":\"sunshine\"}\n",
    ];
    let (items, _) = streamed(&spec(ResponseMode::Table), texts(&pieces), None);
    let lines =
        [r#"{"user":"a","cvv":"[REDACTED]"}"#, r#"data: {"otp":"[REDACTED]","pass":"[REDACTED]"}"#];
    assert_eq!(shown(&items), lines.concat());
}

/// Cases: R07.
#[test]
fn rows_of_a_stream_are_frames_and_no_key_in_them_ends_it() {
    let case = cases("R07");
    let inputs = case["input"]["cases"].as_array().unwrap();
    let table = spec(ResponseMode::Table);
    for input in inputs {
        let rows = input.as_array().unwrap();
        let (items, whole) = streamed(&table, rows.iter().cloned().map(RawChunk::Json), None);
        end(&items);
        let shown: usize = items.iter().map(|item| item.frame().table.len()).sum();
        assert_eq!(shown, rows.len(), "{input}");
        assert!(matches!(whole.content, RawContent::Json(_)));
    }
    let (items, _) = streamed(&table, [RawChunk::Json(inputs[2][0].clone())], None);
    assert_eq!(json!(items[0].frame().table), json!([{ "n": 1, "email": MASK }]));
    // The same as pieces of one text: masked, though no piece holds the whole address.
    let (items, _) = streamed(&table, texts(&["mail bob@", "corp.com done"]), None);
    assert_eq!(json!(end(&items).table), json!([{ "value": "mail [REDACTED] done" }]));
    assert_eq!(warned(end(&items), "redacted_email"), Some(1));
}

/// The rows that a stream of rows shows, in order, with a budget that no text of [`cut_text`]
/// comes near: cut into single characters it is 80 words of 26.
fn rows_of(rows: &[Value]) -> Vec<Value> {
    let (items, _) =
        streamed(&budget(4_000, 800_000), rows.iter().cloned().map(RawChunk::Json), None);
    items.iter().flat_map(|item| &item.frame().table).map(|row| json!(row)).collect()
}

/// Cases: R07.
#[test]
fn a_value_that_is_spread_over_neighbouring_rows_is_masked_in_each() {
    let case = cases("R07");
    let rows = case["input"]["cases"][1].as_array().unwrap();
    assert_eq!(rows_of(rows), [json!({ "t": "mail [REDACTED]" }), json!({ "t": " done" })]);
    // However small the pieces are, and whatever stands beside them.
    let text = "mail jane.roe@corp.example.com now, or use password=hunter2! instead";
    let rows: Vec<Value> =
        text.chars().map(|c| json!({ "n": 1, "of": { "t": c.to_string() } })).collect();
    let cells = rows_of(&rows);
    let joined: String = cells.iter().map(|row| row["of"]["t"].as_str().unwrap()).collect();
    assert_eq!(joined, FIREWALL.redact_text(text).text);
    // What a row before it says makes it a value too.
    let rows = [json!({ "t": "password: " }), json!({ "t": "hunter2" }), json!({ "t": " ok" })];
    assert_eq!(rows_of(&rows)[1], json!({ "t": MASK }));
}

#[test]
fn what_else_is_hidden_in_a_row_with_a_part_of_a_value_is_counted_too() {
    let rows = [json!({ "t": "mail bob@", "password": "plover" }), json!({ "t": "corp.com" })];
    let (items, _) = streamed(&budget(100, 20_000), rows.map(RawChunk::Json), None);
    let count =
        |kind: &str| -> u64 { items.iter().filter_map(|item| warned(item.frame(), kind)).sum() };
    assert_eq!((count("redacted_email"), count("redacted_field")), (1, 1), "{items:?}");
}

#[test]
fn a_row_that_is_not_shown_still_tells_what_the_last_one_began() {
    let rows = ["plain", "mail bob@", "corp.com done"].map(|t| RawChunk::Json(json!({ "t": t })));
    let (items, _) = streamed(&budget(2, 4_000), rows, None);
    let shown = shown(&items);
    assert!(!shown.contains("bob") && shown.contains("mail"), "{shown}");
    assert_eq!(warned(end(&items), "rows_omitted"), Some(1));
}

#[test]
fn a_value_that_is_spread_over_the_fields_of_a_row_is_masked_in_each() {
    let row = json!({ "a": "mail bob@", "b": "corp.com done", "n": 7 });
    assert_eq!(rows_of(&[row]), [json!({ "a": "mail [REDACTED]", "b": " done", "n": 7 })]);
    let row = json!({ "parts": ["x AKIAIOSF", "ODNN7EXAMPL2", " y"] });
    assert_eq!(rows_of(&[row]), [json!({ "parts": ["x [REDACTED]", "", " y"] })]);
    // Digits side by side, and a value that stands whole in its field, are no parts of others.
    let row = json!({ "a": "4539 1488", "b": "0343 6467", "c": "bob", "d": "ann@corp.com" });
    let shown = json!({ "a": "4539 1488", "b": "0343 6467", "c": "bob", "d": MASK });
    assert_eq!(rows_of(&[row]), [shown]);
}

#[test]
fn ordinary_rows_are_shown_as_each_would_be_by_itself() {
    let states = ["open", "closed", "in progress"];
    let cities = ["Berlin", "Köln", "São Paulo", "New York"];
    let rows: Vec<Value> = (0..60)
        .map(|n| {
            json!({
                "id": n, "number": format!("ORD-{}", 1_000 + n), "state": states[n % 3],
                "city": cities[n % 4], "day": format!("2026-01-{:02}", 1 + n % 28),
                "at": format!("2026-01-02T10:{:02}:00Z", n), "note": "to be sent with the next lot",
                "commit": format!("{:040x}", (n as u128 + 7) * 0x9e37_79b9_7f4a_7c15_f39c_c060),
                "contact": format!("person{n}@corp.com"), "team": "sales and support",
            })
        })
        .collect();
    let raw = RawResult::json(json!(rows));
    let alone = FIREWALL.frame(&raw, &budget(1_000, 200_000));
    for (shown, alone) in rows_of(&rows).iter().zip(&alone.table) {
        assert_eq!(shown, &json!(alone));
    }
}

/// What it costs: nobody can tell a word after an address from the rest of the address.
#[test]
fn a_word_that_follows_a_value_without_a_blank_is_taken_for_its_end() {
    let rows = ["ann@corp.com", "none", "none of us", "none"].map(|c| json!({ "c": c }));
    let shown = rows_of(&rows);
    assert_eq!(shown, [MASK, "", " of us", "none"].map(|c| json!({ "c": c })));
}

#[test]
fn a_row_waits_no_longer_than_its_words_may_go_on() {
    let parts = |rows: &[Value]| -> Vec<usize> {
        let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Table), None);
        let parts = rows.iter().map(|row| stream.push(RawChunk::Json(row.clone())));
        parts.map(|part| part.map_or(0, |frame| frame.table.len())).collect()
    };
    let prose = json!({ "id": 1, "t": "we are on our way" });
    assert_eq!(parts(&[prose.clone(), prose]), [0, 1], "the last word may go on");
    let numbers = json!({ "id": 1, "done": true, "none": null });
    assert_eq!(parts(&[numbers]), [1], "numbers are no texts");
    let words = vec![json!({ "state": "open" }); 20];
    let first = parts(&words).iter().position(|rows| *rows > 0);
    assert!(first.is_some_and(|row| row <= 17), "64 letters: {first:?}");
    // A field that does not come again keeps nothing back for long.
    let mut rows = vec![json!({ "t": "mail bob@" })];
    rows.extend(vec![json!({ "id": 1 }); 8]);
    assert!(parts(&rows).last().is_some_and(|rows| *rows > 0));
}

#[test]
fn a_line_is_shown_as_soon_as_it_is_over() {
    let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Table), None);
    assert!(stream.push(RawChunk::Text("we are on our".to_owned())).is_none());
    let frame = stream.push(RawChunk::Text(" way\nand".to_owned())).unwrap();
    assert_eq!(json!(frame.table), json!([{ "value": "we are on our way" }]));
}

#[test]
fn of_many_fields_the_rest_is_redacted_alone_and_that_is_said() {
    let row: serde_json::Map<String, Value> =
        (0..70).map(|n| (format!("f{n:02}"), json!("word"))).collect();
    let (items, _) = streamed(&spec(ResponseMode::Table), [RawChunk::Json(json!(row))], None);
    assert_eq!(warned(end(&items), "fields_not_joined"), Some(6));
}

/// Cases: X04.
#[test]
fn no_piece_is_cut_inside_of_a_value() {
    let case = cases("X04");
    // The recorded domain is nobody's; this one is as long.
    let text = case["input"]["text"].as_str().unwrap().replace("example.com", "company.com");
    let mut stream = FIREWALL.stream_redactor();
    let mut out = stream.push(&text);
    out += &stream.finish();
    assert!(!out.contains("bob@company.com") && !out.contains("@company"), "{out}");
    assert_eq!(out, FIREWALL.redact_text(&text).text);
}

#[test]
fn the_first_rows_come_at_once_and_the_rest_in_worthy_parts() {
    let row = |n: usize| RawChunk::Json(json!({ "id": n }));
    let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Table), None);
    assert_eq!(stream.push(row(0)).map(|frame| frame.table.len()), Some(1));
    assert!(stream.push(row(1)).is_none());
    let more: Vec<usize> =
        (2..20).filter_map(|n| stream.push(row(n))).map(|frame| frame.table.len()).collect();
    assert!(!more.is_empty() && more.iter().all(|rows| *rows > 1), "{more:?}");
}

#[test]
fn a_summary_or_a_handle_is_one_frame_over_the_whole() {
    let rows: Vec<Value> = (0..100).map(|n| json!({ "id": n, "open": n % 2 == 0 })).collect();
    for mode in [ResponseMode::Summary, ResponseMode::HandleOnly] {
        let chunks = rows.iter().cloned().map(RawChunk::Json);
        let (items, whole) = streamed(&spec(mode), chunks, None);
        assert_eq!(items.len(), 1);
        assert_eq!(end(&items), &FIREWALL.frame(&RawResult::json(json!(rows)), &spec(mode)));
        assert_eq!(whole.content, RawContent::Json(json!(rows)));
    }
    let strict = FrameSpec { strict: true, ..spec(ResponseMode::Table) };
    let (items, _) = streamed(&strict, rows.into_iter().map(RawChunk::Json), None);
    assert_eq!((items.len(), end(&items).mode), (1, ResponseMode::HandleOnly));
}

#[test]
fn characters_cut_in_the_middle_are_joined_and_bytes_that_are_no_text_are_withheld() {
    let text = "grün, 緑, 🟢\n";
    let bytes = text.as_bytes().iter().map(|b| RawChunk::Bytes(vec![*b]));
    let (items, whole) = streamed(&spec(ResponseMode::Table), bytes, None);
    assert_eq!(shown(&items), text.trim_end());
    assert_eq!(whole.content, RawContent::Text(text.to_owned()));

    let chunks = [b"\x89PNG".to_vec(), b"secret=hunter2\x00\xff".to_vec()].map(RawChunk::Bytes);
    let (items, whole) = streamed(&spec(ResponseMode::Table), chunks, None);
    assert!(matches!(whole.content, RawContent::Binary { .. }));
    assert!(!serde_json::to_string(end(&items)).unwrap().contains("hunter2"));
}

#[test]
fn how_it_ended_stands_in_the_last_frame() {
    let ends = [
        (StreamEnd::TimedOut, "stream_timed_out"),
        (StreamEnd::Failed, "stream_failed"),
        (StreamEnd::Cancelled, "stream_cancelled"),
    ];
    for (how, word) in ends {
        for (chunks, status) in [(0, ResultStatus::Error), (2, ResultStatus::Partial)] {
            let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Table), None);
            for n in 0..chunks {
                stream.push(RawChunk::Json(json!({ "id": n })));
            }
            let whole = stream.take_result();
            let (frame, _) = stream.end(how, &whole, None);
            assert_eq!((frame.status, warned(&frame, word)), (status, Some(1)));
        }
    }
}

#[test]
fn of_a_long_stream_the_head_is_kept_and_cut_between_lines() {
    let line = format!("{} AKIAIOSFODNN7EXAMPL2\n", "x".repeat(75));
    let chunks = (0..MAX_COLLECTED_BYTES / line.len() + 10).map(|_| RawChunk::Text(line.clone()));
    let (items, whole) = streamed(&spec(ResponseMode::HandleOnly), chunks, None);
    assert_eq!(whole.findings, ["stream_cut"]);
    assert_eq!(warned(end(&items), "stream_cut"), Some(1));
    let RawContent::Text(kept) = whole.content else { panic!("no text") };
    assert!(kept.len() <= MAX_COLLECTED_BYTES && kept.len() > MAX_COLLECTED_BYTES - 16 * 1024);
    assert!(kept.ends_with('\n'));
}

#[test]
fn raw_shows_chunks_as_they_came_and_only_within_the_tokens() {
    let chunk = || RawChunk::Text("password=hunter2 ".repeat(40));
    let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(3_000).open(0);
    let raw = spec(ResponseMode::Raw);
    let (items, _) = streamed(&raw, (0..50).map(|_| chunk()), session.reserve());
    assert!(items.len() > 3 && items.len() < 20, "{}", items.len());
    assert!(items[0].frame().raw.as_ref().unwrap().as_str().unwrap().contains("hunter2"));
    assert!(warned(end(&items), "chunks_omitted").is_some());
    assert!(session.used() <= 3_000);
}

fn bytes(bytes: &[u8]) -> RawChunk {
    RawChunk::Bytes(bytes.to_vec())
}

#[test]
fn a_stream_counts_its_chunks_its_parts_and_their_tokens() {
    let session = SessionBudget::from_counter_name("chars4").unwrap().open(0);
    let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Table), session.reserve());
    assert_eq!((stream.chunks(), stream.parts(), stream.tokens()), (0, 0, 0));
    let first = stream.push(RawChunk::Json(json!({ "id": 1 }))).unwrap();
    assert!(stream.push(RawChunk::Json(json!({ "id": 2 }))).is_none());
    let tokens = chars(&first).div_ceil(4) as u64;
    assert_eq!((stream.chunks(), stream.parts(), stream.tokens()), (2, 1, tokens));
    // A part is charged as soon as it is out; the rest stays set aside.
    assert_eq!(u64::from(session.used()), tokens);
    let mut uncounted = FrameStream::new(&FIREWALL, spec(ResponseMode::Table), None);
    assert!(uncounted.push(RawChunk::Json(json!({ "id": 1 }))).is_some());
    assert_eq!((uncounted.parts(), uncounted.tokens()), (1, 0));
}

#[test]
fn a_part_has_ten_rows_or_an_eighth_of_the_budget() {
    let list = |size: usize| {
        // `{"n":[1,1,1]}` with as many numbers as make the size.
        let row = json!({ "n": vec![1; (size - 7) / 2] });
        assert_eq!(row.to_string().len(), size);
        RawChunk::Json(row)
    };
    let after_first = |chunks: Vec<RawChunk>| -> Vec<usize> {
        let mut stream = FrameStream::new(&FIREWALL, budget(100, 8_000), None);
        assert!(stream.push(RawChunk::Json(json!({ "id": 0 }))).is_some());
        let parts = chunks.into_iter().map(|chunk| stream.push(chunk));
        parts.map(|part| part.map_or(0, |frame| frame.table.len())).collect()
    };
    let small = |count: usize| (0..count).map(|n| RawChunk::Json(json!({ "id": n }))).collect();
    assert_eq!(after_first(small(11)), [0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0]);
    assert_eq!(after_first(vec![list(999)]), [0]);
    assert_eq!(after_first(vec![list(1_001)]), [1]);
    assert_eq!(after_first(vec![list(501), list(499)]), [0, 2]);
}

#[test]
fn bytes_that_are_no_text_end_what_is_shown_and_that_is_said() {
    let table = spec(ResponseMode::Table);
    for (chunks, withheld) in [
        (vec![bytes(b"one line\n"), bytes(b"\xff\x00"), bytes(b"and more\n")], Some(1)),
        (vec![bytes(b"one line\n"), bytes(b"a \xe2\x82")], Some(1)),
        (vec![bytes(b"one line\n"), bytes(b"a \xe2\x82"), bytes(b"\xac")], None),
    ] {
        let (items, _) = streamed(&table, chunks, None);
        assert_eq!(warned(end(&items), "bytes_withheld"), withheld);
        assert!(end(&items).facts.is_empty(), "lines were shown: {:?}", end(&items).facts);
        assert!(shown(&items).starts_with("one line") && !shown(&items).contains("more"));
    }
    // Of bytes alone it is told what they are.
    let (items, _) = streamed(&table, [bytes(b"\x89PNG\r\n\x1a\n\xff")], None);
    assert_eq!(warned(end(&items), "bytes_withheld"), None);
    assert!(end(&items).facts.iter().any(|fact| fact.starts_with("Media type:")), "{items:?}");
    assert!(end(&items).table.is_empty());
}

#[test]
fn a_stream_of_nothing_is_an_empty_table() {
    let (items, _) = streamed(&spec(ResponseMode::Table), [], None);
    assert_eq!((items.len(), end(&items).table.len(), end(&items).facts.len()), (1, 0, 0));
}

#[test]
fn raw_bytes_are_a_text_or_told_as_what_they_are() {
    let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Raw), None);
    let text = stream.push(bytes(b"some words")).unwrap();
    assert_eq!(text.raw, Some(json!("some words")));
    let other = stream.push(bytes(b"\xff\x00\x01")).unwrap();
    assert_eq!(other.raw, FIREWALL.frame(&binary(b"\xff\x00\x01"), &spec(ResponseMode::Raw)).raw);
    let json = stream.push(RawChunk::Json(json!({ "a": 1 }))).unwrap();
    assert_eq!(json.raw, Some(json!({ "a": 1 })));
    assert_eq!((stream.parts(), stream.chunks()), (3, 3));
}

fn binary(bytes: &[u8]) -> RawResult {
    let media_type = "application/octet-stream".to_owned();
    RawResult::new(RawContent::Binary { media_type, bytes: bytes.to_vec() })
}

#[test]
fn raw_chunks_beyond_the_tokens_are_counted_one_by_one() {
    let chunk = || RawChunk::Text("words ".repeat(100));
    let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(2_000).open(0);
    let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Raw), session.reserve());
    let shown = (0..20).filter(|_| stream.push(chunk()).is_some()).count();
    assert_eq!(u64::try_from(shown).unwrap(), stream.parts());
    assert!((2..19).contains(&shown), "{shown}");
    // Once one did not fit, no smaller one does: what is shown has no gaps.
    assert!(stream.push(RawChunk::Text("w".to_owned())).is_none());
    for total in (2_000..2_300).step_by(20) {
        let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(total).open(0);
        let mut stream = FrameStream::new(&FIREWALL, spec(ResponseMode::Raw), session.reserve());
        while stream.push(chunk()).is_some() {}
        assert!(stream.push(RawChunk::Text("w".to_owned())).is_none(), "{total}");
    }
    let whole = stream.take_result();
    let (frame, _) = stream.end(StreamEnd::Complete, &whole, None);
    assert_eq!(warned(&frame, "chunks_omitted"), Some(21 - shown as u64));
}

#[test]
fn rows_and_lines_beyond_the_most_are_counted() {
    let rows = |count: usize| -> Value { (0..count).map(|n| json!({ "id": n })).collect() };
    for (chunks, shown_rows, omitted) in [
        (vec![RawChunk::Json(rows(5))], 5, None),
        (vec![RawChunk::Json(rows(7))], 5, Some(2)),
        (vec![RawChunk::Json(rows(3)), RawChunk::Json(rows(4))], 5, Some(2)),
        (vec![RawChunk::Text("a b\n".repeat(5))], 5, None),
        (vec![RawChunk::Text("a b\n".repeat(8))], 5, Some(3)),
        (vec![RawChunk::Json(rows(5)), RawChunk::Text("a b\n".repeat(3))], 5, Some(3)),
        (vec![RawChunk::Json(rows(2)), RawChunk::Text("a b\n".repeat(4))], 5, Some(1)),
    ] {
        let what = format!("{chunks:?}");
        let (items, _) = streamed(&budget(5, 20_000), chunks, None);
        let shown: usize = items.iter().map(|item| item.frame().table.len()).sum();
        assert_eq!((shown, warned(end(&items), "rows_omitted")), (shown_rows, omitted), "{what}");
    }
}

#[test]
fn the_same_kind_of_value_in_rows_and_in_text_is_counted_together() {
    let chunks = [
        RawChunk::Json(json!({ "n": 1 })),
        RawChunk::Json(json!({ "t": "ann@corp.com" })),
        RawChunk::Text("write to bob@corp.com and eve@corp.com now\n".to_owned()),
    ];
    let (items, _) = streamed(&spec(ResponseMode::Table), chunks, None);
    assert_eq!(warned(end(&items), "redacted_email"), Some(3));
    let kinds: Vec<&String> = end(&items).warnings.iter().map(|warning| &warning.kind).collect();
    assert!(kinds.is_sorted());
}

#[test]
fn where_there_is_much_to_say_of_a_stream_it_is_said_as_one_number() {
    let values = [
        "a jane.roe@corp.example.com b 4539148803436467 c 419-06-3188 d GB82WEST12345698765432",
        "e ghp_0123456789abcdefghij0123456789abcdef f AKIAIOSFODNN7EXAMPL2 g +14155552671",
        "h password=hunter2!x9 i https://ana:s3cr3t9x@db.corp.example.com/ j 203.0.114.7",
        "l xoxb-123456789012-abcdefghijklmnop m sk_live_0123456789abcdefghijklmn",
        "n 00:1b:63:84:45:e6 o tax id 735 680 746 given p passport GL0836476 given",
        "q national id 759727/3706 given r driving licence QY2975054C given s 2001:db9::1:2",
        "t patient 451061274 given u company 166778-1353 given v plate IH08ORY given",
    ];
    let counts = FIREWALL.redact_text(&values.join("\n")).counts;
    let sum: u64 = counts.values().sum();
    assert!(counts.len() > 12, "{counts:?}");
    for (how, kind, more) in
        [(StreamEnd::Complete, "content_omitted", 0), (StreamEnd::Failed, "stream_failed", 1)]
    {
        let mut stream = FrameStream::new(&FIREWALL, budget(100, 20_000), None);
        stream.push(RawChunk::Text(values.join("\n") + "\n"));
        let whole = stream.take_result();
        let (frame, _) = stream.end(how, &whole, None);
        assert_eq!(warned(&frame, kind), Some(sum + more), "{:?}", frame.warnings);
        assert_eq!(warned(&frame, "redacted_email"), None);
    }
    // A few kinds are named each.
    let (items, _) = streamed(&budget(100, 20_000), texts(&values[..1]), None);
    assert_eq!(warned(end(&items), "redacted_email"), Some(1));
}

/// A text with values that must not be seen, and its cuts.
fn cut_text() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        Just("jane.roe@corp.example.com"),
        Just("password=hunter2!"),
        Just("4539 1488 0343 6467"),
        Just("plain words\n"),
        Just("größe "),
    ];
    let words = prop::collection::vec(word, 0..80);
    (words, prop::collection::vec(1_usize..60, 1..20)).prop_map(|(words, cuts)| {
        let text: String = words.join(" ");
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let at = rest.ceil_char_boundary((*cut).min(rest.len()));
            let (piece, after) = rest.split_at(at);
            pieces.push(piece.to_owned());
            rest = after;
        }
        pieces
    })
}

fn chunks_of(pieces: Vec<String>, kinds: &[u8]) -> Vec<RawChunk> {
    let kinds = kinds.iter().cycle();
    pieces
        .into_iter()
        .zip(kinds)
        .map(|(piece, kind)| match kind {
            0 => RawChunk::Bytes(piece.into_bytes()),
            1 => RawChunk::Json(json!({ "note": piece, "n": 7 })),
            2 => RawChunk::Json(json!([[piece], {}, null])),
            _ => RawChunk::Text(piece),
        })
        .collect()
}

fn budget(max_rows: u32, max_chars: u32) -> FrameSpec<'static> {
    let budget = FrameBudget { max_rows, max_chars, ..FrameBudget::default() };
    FrameSpec { budget, ..spec(ResponseMode::Table) }
}

#[test]
fn what_is_said_of_a_stream_fits_its_budget_too() {
    let line = "4539 1488 0343 6467 password=hunter2! jane.roe@corp.example.com plain words\n";
    let text = line.repeat(30);
    for max in 1_000..1_600 {
        let spec = budget(10, max);
        let (items, _) = streamed(&spec, [RawChunk::Text(text.clone())], None);
        let sum: usize = items.iter().map(|item| chars(item.frame())).sum();
        let most = (max as usize).max(FIREWALL.min_chars(&spec) + 600);
        assert!(sum <= most, "{sum} of {most}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_a_text_is_cut_no_frame_and_no_sum_of_frames_shows_a_value(pieces in cut_text()) {
        let text: String = pieces.concat();
        let roomy = budget(1_000, 200_000);
        let chunks = pieces.into_iter().map(RawChunk::Text);
        let (items, whole) = streamed(&roomy, chunks, None);
        let all = shown(&items);
        for secret in ["jane.roe@", "hunter2", "8888 1881"] {
            prop_assert!(!all.contains(secret), "{} in {}", secret, all);
        }
        let expected: String = FIREWALL.redact_text(&text).text.lines().collect();
        prop_assert_eq!(all, expected);
        let kept = if text.is_empty() { json!([]).to_string() } else { text };
        let held = match whole.content {
            RawContent::Text(text) => text,
            RawContent::Json(value) => value.to_string(),
            RawContent::Rows(rows) => rows.text().to_owned(),
            RawContent::Binary { .. } => String::new(),
        };
        prop_assert_eq!(held, kept);
    }

    #[test]
    fn nothing_is_shown_of_a_value_however_a_text_is_spread_over_rows(
        pieces in cut_text(),
        fields in prop::collection::vec(0_usize..4, 1..4),
    ) {
        let text: String = pieces.concat();
        let spans = FIREWALL.value_spans(&text);
        let rows: Vec<Value> = pieces.iter().zip(fields.iter().cycle()).map(|(piece, extra)| {
            match extra {
                0 => json!({ "t": piece }),
                1 => json!({ "t": piece, "n": 7, "ok": true }),
                2 => json!({ "a": "fine", "t": piece }),
                _ => json!({ "t": piece, "z": ["one", "two"] }),
            }
        }).collect();
        let shown = rows_of(&rows);
        prop_assert_eq!(shown.len(), rows.len());
        let mut at = 0;
        for (piece, row) in pieces.iter().zip(&shown) {
            let free = piece.char_indices().filter(|(place, _)| {
                !spans.iter().any(|span| span.range.contains(&(at + place)))
            });
            let mut free = free.map(|(_, c)| c);
            let cell = row["t"].as_str().unwrap().replace(MASK, "");
            // What is shown is left of what the whole text would show.
            prop_assert!(cell.chars().all(|c| free.any(|other| other == c)), "{} of {}", row, piece);
            at += piece.len();
        }
    }

    #[test]
    fn frames_keep_their_budgets_one_by_one_and_together(
        pieces in cut_text(),
        kinds in prop::collection::vec(0_u8..5, 1..6),
        (rows, max) in (0_u32..60, 0_u32..6_000),
        total in 0_u32..4_000,
    ) {
        let spec = budget(rows, max);
        let session = SessionBudget::from_counter_name("chars4").unwrap().with_total(total).open(0);
        let reserved = session.reserve();
        let counted = reserved.is_some();
        let (items, _) = streamed(&spec, chunks_of(pieces, &kinds), reserved);
        let least = FIREWALL.min_chars(&spec);
        let sum: usize = items.iter().map(|item| chars(item.frame())).sum();
        prop_assert!(sum <= (max as usize).max(least + 600), "{} of {}", sum, max);
        let shown: usize = items.iter().map(|item| item.frame().table.len()).sum();
        prop_assert!(shown <= rows as usize, "{} of {}", shown, rows);
        if counted {
            let tokens: usize = items.iter().map(|item| chars(item.frame()).div_ceil(4)).sum();
            prop_assert!(tokens <= total as usize + least.div_ceil(4) + 150, "{} of {}", tokens, total);
            prop_assert_eq!(session.used() as usize, tokens.min(total as usize));
        }
    }
}

/// What is stored of these chunks, and whether it was cut.
fn stored(chunks: Vec<RawChunk>) -> (RawContent, bool) {
    let mut whole = StreamCollector::default();
    chunks.into_iter().for_each(|chunk| whole.push(chunk));
    let raw = whole.into_raw();
    (raw.content, raw.findings == ["stream_cut"])
}

#[test]
fn what_came_is_stored_as_one_result() {
    let json = |value: Value| RawChunk::Json(value);
    let text = |text: &str| RawChunk::Text(text.to_owned());
    for (chunks, content) in [
        (vec![], RawContent::Json(json!([]))),
        (vec![json(json!({ "a": 1 }))], RawContent::Json(json!({ "a": 1 }))),
        (vec![json(json!([1])), json(json!([2, 3]))], RawContent::Json(json!([1, 2, 3]))),
        (vec![json(json!(1)), json(json!([2]))], RawContent::Json(json!([1, 2]))),
        (vec![text("a"), text("b")], RawContent::Text("ab".to_owned())),
        (vec![text("a"), bytes(b"b")], RawContent::Text("ab".to_owned())),
        (vec![bytes(b"\xe2\x82"), bytes(b"\xac")], RawContent::Text("\u{20ac}".to_owned())),
        (vec![text("a"), json(json!(1)), bytes(b"b")], RawContent::Json(json!(["a", 1, "b"]))),
        (
            vec![json(json!(1)), bytes(b"\xff\xfe")],
            RawContent::Json(json!([1, { "byte_size": 2 }])),
        ),
        (vec![bytes(b"\xff")], binary(b"\xff").content),
    ] {
        assert_eq!(stored(chunks), (content, false));
    }
}

#[test]
fn a_text_that_is_too_long_is_cut_at_its_last_break_within_reach() {
    let look_back = 16 * 1_024;
    let cut = |end: &str, more: &str| {
        let text = format!("{}{end}", "x".repeat(MAX_COLLECTED_BYTES - end.len()));
        let (RawContent::Text(kept), cut) = stored(texts(&[text.as_str(), more])) else {
            panic!("no text")
        };
        (kept.len(), cut)
    };
    assert_eq!(cut("", ""), (MAX_COLLECTED_BYTES, false));
    assert_eq!(cut("a line\nand", "y"), (MAX_COLLECTED_BYTES - 3, true));
    // A line break goes before a blank, and both before nothing at all.
    assert_eq!(cut("\none two three", "y"), (MAX_COLLECTED_BYTES - 13, true));
    assert_eq!(cut("one two three", "y"), (MAX_COLLECTED_BYTES - 5, true));
    assert_eq!(cut("", "y"), (MAX_COLLECTED_BYTES - look_back, true));
    let far = format!("\n{}", "z".repeat(look_back));
    assert_eq!(cut(&far, "y"), (MAX_COLLECTED_BYTES - look_back, true));
    // The same of bytes, and nothing is taken on after the cut.
    let long = [vec![b'x'; MAX_COLLECTED_BYTES - 3], b"\nab".to_vec()].concat();
    let chunks = vec![RawChunk::Bytes(long), bytes(b"c"), bytes(b"\nd"), texts(&["e"]).remove(0)];
    let (RawContent::Text(kept), true) = stored(chunks) else { panic!("not cut") };
    assert_eq!((kept.len(), kept.ends_with("x\n")), (MAX_COLLECTED_BYTES - 2, true));
}

#[test]
fn a_value_that_does_not_fit_is_left_out_whole() {
    let row = json!({ "a": "x".repeat(MAX_COLLECTED_BYTES / 2) });
    let chunks = (0..3).map(|_| RawChunk::Json(row.clone())).collect();
    assert_eq!(stored(chunks), (RawContent::Json(row), true));
}

#[test]
fn a_stream_without_spaces_is_cut_between_characters() {
    let long = "密".repeat(1_500_000);
    let bytes = long.as_bytes().chunks(10_007).map(bytes).collect();
    for chunks in [vec![RawChunk::Text(long.clone())], bytes] {
        let (content, is_cut) = stored(chunks);
        let RawContent::Text(kept) = content else { panic!("no text") };
        assert!(is_cut && long.starts_with(&kept));
        assert!(
            kept.len() <= MAX_COLLECTED_BYTES && kept.len() > MAX_COLLECTED_BYTES - 32 * 1024,
            "{}",
            kept.len()
        );
    }
    // Bytes that are no text are cut wherever the bound is.
    let (content, is_cut) = stored(vec![RawChunk::Bytes(vec![0x80; MAX_COLLECTED_BYTES + 1])]);
    assert!(
        is_cut
            && matches!(content, RawContent::Binary { bytes, .. } if bytes.len() > MAX_COLLECTED_BYTES - 32 * 1024)
    );
}
