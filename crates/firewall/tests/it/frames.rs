use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_firewall::{FrameBudget, MASK};
use weaver_types::{
    Constraints, Frame, RawContent, RawResult, ResponseMode, ResultStatus, SensitivityTag,
    ToolProvenance,
};

use crate::support::{FIREWALL, capability, chars, names, spec, warned};

fn summary(value: Value) -> Vec<String> {
    FIREWALL.frame(&RawResult::json(value), &spec(ResponseMode::Summary)).facts
}

#[test]
fn rows_are_summed_up() {
    let rows: Vec<Value> = (0..12)
        .map(|n| {
            let status = ["paid", "open", "late"][n % 3];
            json!({"id": n, "status": status, "active": n % 2 == 0, "amt": 1.5 * n as f64, "name": format!("n{n}")})
        })
        .collect();
    assert_eq!(
        summary(json!(rows)),
        [
            "Total rows: 12",
            "Top keys: active, amt, id, name, status",
            "amt: min=0.00, max=16.50, avg=8.25",
            "id: min=0.00, max=11.00, avg=5.50",
            "active: true=6, false=6",
            "status distribution: late=4, open=4, paid=4",
        ]
    );
    assert_eq!(
        summary(json!([{"a": 1, "b": null}, {"a": 2.5}, {"a": -3, "c": "x"}])),
        ["Total rows: 3", "Top keys: a, b, c", "a: min=-3.00, max=2.50, avg=0.17"]
    );
    assert_eq!(summary(json!([{"v": true}, {"v": 1}])), ["Total rows: 2", "Top keys: v"]);
    assert_eq!(summary(json!([{"s": "a"}, {"s": "a"}])), ["Total rows: 2", "Top keys: s"]);
    assert_eq!(
        summary(json!({"items": [{"a": 1}], "next": "p2"})),
        ["Total rows: 1", "Top keys: a", "a: min=1.00, max=1.00, avg=1.00", "next: p2"]
    );
}

#[test]
fn objects_lists_and_texts_are_summed_up() {
    assert_eq!(
        summary(
            json!({"b": 1, "a": "x".repeat(100), "l": [1, 2], "d": {"x": 1, "y": 2}, "n": null, "t": true})
        ),
        [
            "Keys: a, b, d, l, n, t".to_owned(),
            format!("a: {}…", "x".repeat(79)),
            "b: 1".to_owned(),
            "d: object with keys [x, y]".to_owned(),
            "l: list of 2 items".to_owned(),
            "n: null".to_owned(),
            "t: true".to_owned(),
        ]
    );
    assert_eq!(summary(json!([1, "a"])), ["List of 2 items", "1", "a"]);
    assert_eq!(summary(json!("hello")), ["hello"]);
    assert_eq!(summary(json!(5)), ["5"]);
    assert_eq!(summary(json!({})), ["Keys: "]);
    let long = summary(json!("y".repeat(600)));
    assert_eq!(long[0].chars().count(), 500);
    assert_eq!(long[1], "… (100 more characters; full data via handle)");
}

#[test]
fn a_cut_summary_says_so() {
    let wide: serde_json::Map<String, Value> =
        (0..30).map(|n| (format!("k{n:02}"), json!(n))).collect();
    let frame = FIREWALL.frame(&RawResult::json(wide.into()), &spec(ResponseMode::Summary));
    assert_eq!(frame.facts.len(), 20);
    assert_eq!(frame.facts[19], "… (12 more facts omitted; full data via handle)");
    assert_eq!(warned(&frame, "facts_omitted"), Some(12));
}

#[test]
fn tables_have_rows_and_fields_up_to_the_budget() {
    let rows = json!([{"a": 0, "b": 1, "c": 2}, {"a": 1, "b": 1, "c": 2}, {"a": 2}, {"a": 3}]);
    let mut spec = spec(ResponseMode::Table);
    spec.budget = FrameBudget { max_rows: 2, max_fields: 2, ..FrameBudget::default() };
    let frame = FIREWALL.frame(&RawResult::json(rows.clone()), &spec);
    assert_eq!(json!(frame.table), json!([{"a": 0, "b": 1}, {"a": 1, "b": 1}]));
    assert_eq!(warned(&frame, "rows_omitted"), Some(2));
    assert_eq!(warned(&frame, "fields_omitted"), Some(2));
    let loose = Constraints { max_rows: Some(3), max_fields: Some(9), ..Constraints::default() };
    spec.constraints = &loose;
    assert_eq!(FIREWALL.frame(&RawResult::json(rows.clone()), &spec).table.len(), 2);
    let tight = Constraints { max_rows: Some(0), ..Constraints::default() };
    spec.constraints = &tight;
    assert!(FIREWALL.frame(&RawResult::json(rows), &spec).table.is_empty());
}

#[test]
fn tables_of_other_things() {
    let table = |raw: RawResult| json!(FIREWALL.frame(&raw, &spec(ResponseMode::Table)).table);
    assert_eq!(
        table(RawResult::json(json!([{"a": 1}, 2, "x"]))),
        json!([{"a": 1}, {"value": 2}, {"value": "x"}])
    );
    assert_eq!(table(RawResult::json(json!({"a": 1}))), json!([{"a": 1}]));
    assert_eq!(
        table(RawResult::text("mail a@b.cd\nbye")),
        json!([{"value": "mail [REDACTED]"}, {"value": "bye"}])
    );
    assert_eq!(table(RawResult::text("[{\"email\": 5}]")), json!([{"email": MASK}]));
    assert_eq!(
        table(RawResult::json(json!([{"a": {"b": {"c": 1}}, "t": {"u": "x@y.com"}}]))),
        json!([{"a": {"b": "[cut: deeper than 3 levels]"}, "t": {"u": MASK}}])
    );
}

#[test]
fn only_allowed_fields_are_shown() {
    let narrow = capability(&["id", "note"]);
    let more =
        Constraints { allowed_fields: Some(names(&["note", "x"])), ..Constraints::default() };
    let none = Constraints::default();
    let rows = RawResult::json(json!([{"id": 1, "note": "n", "x": 2, "y": 3}]));
    let table = |pii_reader, constraints| {
        let mut spec = spec(ResponseMode::Table);
        spec.capability = &narrow;
        spec.pii_reader = pii_reader;
        spec.constraints = constraints;
        let frame = FIREWALL.frame(&rows, &spec);
        json!(frame.table)
    };
    assert_eq!(table(false, &none), json!([{"id": 1, "note": "n"}]));
    assert_eq!(table(true, &none), json!([{"id": 1, "note": "n", "x": 2, "y": 3}]));
    assert_eq!(table(false, &more), json!([{"note": "n"}]));
    assert_eq!(table(true, &more), json!([{"note": "n", "x": 2}]));
}

#[test]
fn content_without_fields_is_withheld_where_only_fields_may_be_seen() {
    let narrow = capability(&["id"]);
    for raw in [
        RawResult::text("id,secret word\n1,plover"),
        RawResult::json(json!(["plover"])),
        RawResult::json(json!("plover")),
        RawResult::json(json!({"rows": "plover"})),
        RawResult::json(json!({"plover": [{"id": 1, "word": "plover"}]})),
    ] {
        for mode in [ResponseMode::Summary, ResponseMode::Table, ResponseMode::HandleOnly] {
            let mut spec = spec(mode);
            spec.capability = &narrow;
            let text = serde_json::to_string(&FIREWALL.frame(&raw, &spec)).unwrap();
            assert!(!text.contains("plover"), "{text}");
        }
    }
}

#[test]
fn statistics_do_not_show_what_cells_would_not() {
    let text = summary(json!([
        {"n": 4_539_148_803_436_467_u64, "cvv": 123, "mail": "a@b.cd"},
        {"n": 5_386_024_120_557_916_u64, "cvv": 124, "mail": "c@d.ef"},
    ]))
    .join("\n");
    for secret in ["4539", "5386", "123", "124", "a@b.cd", "c@d.ef"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn raw_mode_shows_all_and_says_so() {
    let raw = RawResult::json(json!({"password": "hunter2"}));
    let frame = FIREWALL.frame(&raw, &spec(ResponseMode::Raw));
    assert_eq!(frame.raw, Some(json!({"password": "hunter2"})));
    assert_eq!(warned(&frame, "raw_unredacted"), Some(1));
    let less = Constraints { mode: Some(ResponseMode::Summary), ..Constraints::default() };
    let mut spec = spec(ResponseMode::Raw);
    spec.constraints = &less;
    let frame = FIREWALL.frame(&raw, &spec);
    assert_eq!((frame.raw, frame.mode), (None, ResponseMode::Summary));
    assert_eq!(frame.facts, ["Keys: password", "password: [REDACTED]"]);
    spec.constraints = crate::support::spec(ResponseMode::Raw).constraints;
    spec.strict = true;
    let frame = FIREWALL.frame(&raw, &spec);
    assert_eq!((frame.raw, frame.mode), (None, ResponseMode::HandleOnly));
}

#[test]
fn binary_is_described() {
    let raw = RawResult {
        content: RawContent::Binary {
            media_type: "image/png".to_owned(),
            bytes: vec![0; 2_000_000],
        },
        findings: vec!["numbers_rounded"],
        ..RawResult::text("")
    };
    for mode in [ResponseMode::Summary, ResponseMode::Table] {
        let frame = FIREWALL.frame(&raw, &spec(mode));
        assert_eq!(frame.facts, ["Media type: image/png", "Size: 2000000 bytes"]);
        assert_eq!(warned(&frame, "numbers_rounded"), Some(1));
    }
}

#[test]
fn errors_and_sources_are_redacted_too() {
    let mut raw = RawResult::text("connect postgres://u:hunter2@db failed\u{1b}[2J").failed();
    raw.provenance =
        Some(ToolProvenance { source_uri: "https://u:hunter2@h/".to_owned(), freshness_s: None });
    let frame = FIREWALL.frame(&raw, &spec(ResponseMode::Summary));
    assert_eq!(frame.status, ResultStatus::Error);
    assert_eq!(frame.facts, ["connect postgres://u:[REDACTED]@db failed\\u{1b}[2J"]);
    assert_eq!(frame.provenance.unwrap().source_uri, "https://u:[REDACTED]@h/");
}

#[test]
fn warnings_are_counted_not_repeated() {
    let rows: Vec<Value> =
        (0..1000).map(|n| json!({"email": "x", "note": format!("a{n}@b.cd"), "id": n})).collect();
    let frame = FIREWALL.frame(&RawResult::json(json!(rows)), &spec(ResponseMode::Table));
    assert!(frame.warnings.len() <= 4, "{:?}", frame.warnings);
    assert_eq!(warned(&frame, "rows_omitted"), Some(1000 - frame.table.len() as u64));
    assert!(frame.table.len() > 20);
    assert!(chars(&frame) <= 4_000);
}

#[test]
fn a_row_that_is_too_long_loses_fields_before_it_goes() {
    let row: serde_json::Map<String, Value> =
        (0..20).map(|n| (format!("k{n:02}"), json!("v".repeat(900)))).collect();
    let frame = FIREWALL.frame(&RawResult::json(json!([row, row])), &spec(ResponseMode::Table));
    assert_eq!(frame.table.len(), 1);
    assert_eq!(frame.table[0].len(), 4);
    assert_eq!(warned(&frame, "fields_omitted"), Some(16));
    assert_eq!(warned(&frame, "rows_omitted"), Some(1));
    assert!(chars(&frame) <= 4_000);
}

#[test]
fn no_budget_shows_what_a_reader_could_not_parse() {
    let deep = (0..120).fold(json!(1), |value, _| json!({ "a": value }));
    let mut spec = spec(ResponseMode::Table);
    spec.budget = FrameBudget { max_depth: u32::MAX, ..FrameBudget::default() };
    let frame = FIREWALL.frame(&RawResult::json(deep), &spec);
    let text = serde_json::to_string(&frame).unwrap();
    assert_eq!(serde_json::from_str::<weaver_types::Frame>(&text).unwrap(), frame);
    assert_eq!(warned(&frame, "depth_elided"), Some(1));
}

#[test]
fn tags_mask_more_names_unless_listed_or_exempt() {
    let rows =
        RawResult::json(json!([{"id": 1, "first_name": "Jane", "zip": 80331, "email": "x"}]));
    let shown = |fields: &[&str], pii_reader| {
        let mut tagged = crate::support::draft(fields);
        tagged.sensitivity = BTreeSet::from([SensitivityTag::Pii]);
        let tagged = tagged.build().unwrap();
        let mut spec = spec(ResponseMode::Table);
        (spec.capability, spec.pii_reader) = (&tagged, pii_reader);
        json!(FIREWALL.frame(&rows, &spec).table)
    };
    assert_eq!(
        shown(&[], false),
        json!([{"id": 1, "first_name": MASK, "zip": MASK, "email": MASK}])
    );
    assert_eq!(shown(&["id", "zip"], false), json!([{"id": 1, "zip": 80331}]));
    let all = json!([{"id": 1, "first_name": "Jane", "zip": 80331, "email": MASK}]);
    assert_eq!(shown(&["id"], true), all);
}

#[test]
fn json_in_a_cell_and_names_beside_values_are_masked_in_every_mode() {
    let inner = json!({"password": "plover", "n": 1}).to_string();
    let rows = json!([
        {"name": "DB_PASSWORD", "value": "plover", "body": inner},
        {"name": "DB_HOST", "value": "db1", "body": "{}"},
    ]);
    let packed = json!(json!({"user_email": {"is": "plover"}, "n": 1}).to_string());
    let config = json!({"columns": ["id", "api_key"], "rows": [[1, "plover"]], "body": inner});
    for mode in [ResponseMode::Summary, ResponseMode::Table] {
        for value in [&rows, &config, &packed] {
            let raw = RawResult::json(value.clone());
            let text = serde_json::to_string(&FIREWALL.frame(&raw, &spec(mode))).unwrap();
            assert!(!text.contains("plover"), "{mode:?}: {text}");
        }
    }
}

#[test]
fn warnings_take_a_quarter_of_a_frame_and_say_less_beyond() {
    // Short values of many kinds: the warnings of their masks are long, and the rest is not.
    let values = "a jane.roe@corp.example.com b 4539148803436467 c 419-06-3188 d GB82WEST12345698765432 \
        e ghp_0123456789abcdefghij0123456789abcdef f AKIAIOSFODNN7EXAMPLE g +14155552671 h password=hunter2!x9 \
        i https://ana:s3cr3t9x@db.corp.example.com/ j 192.0.2.7 k DE89370400440532013000 \
        l xoxb-123456789012-abcdefghijklmnop m sk_live_0123456789abcdefghijklmn";
    let raw = RawResult::json(json!([{ "t": values }]));
    let framed = |max_chars: usize| {
        let mut spec = spec(ResponseMode::Table);
        spec.budget.max_chars = u32::try_from(max_chars).unwrap();
        FIREWALL.frame(&raw, &spec)
    };
    let kinds =
        |frame: &Frame| frame.warnings.iter().filter(|w| w.kind.starts_with("redacted")).count();
    let whole = framed(100_000);
    let size = serde_json::to_string(&whole.warnings).unwrap().chars().count();
    assert!(kinds(&whole) > 4, "{:?}", whole.warnings);
    // Everything else fits at both sizes; only the share of the warnings differs.
    assert!(chars(&whole) < 4 * size, "{} of {size}", chars(&whole));
    assert_eq!(framed(4 * size).warnings, whole.warnings);
    let less = framed(4 * size - 1);
    assert_eq!(kinds(&less), 1, "{:?}", less.warnings);
    assert_eq!(less.table, whole.table);
    let sum = |frame: &Frame| frame.warnings.iter().map(|w| w.count).sum::<u64>();
    assert_eq!(sum(&less), sum(&whole), "counted as before, under one name");
}

#[test]
fn without_rows_nothing_of_a_value_is_shown_and_that_is_counted() {
    let none = Constraints { max_rows: Some(0), ..Constraints::default() };
    for (value, omitted) in [(json!({ "a": 1 }), Some(1)), (json!(5), None)] {
        let spec = weaver_firewall::FrameSpec { constraints: &none, ..spec(ResponseMode::Table) };
        let frame = FIREWALL.frame(&RawResult::json(value.clone()), &spec);
        assert!(frame.table.is_empty(), "{value}");
        assert_eq!(warned(&frame, "rows_omitted"), omitted, "{value}");
    }
}

#[test]
fn names_hide_values_in_every_frame_of_a_text_and_of_rows() {
    let row = |id: usize| json!({ "id": id, "pass": "sunshine", "пароль": "podsolnuh", "cvv": 914, "otp": "482913" });
    let rows: Vec<Value> = (0..40).map(row).collect();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    for raw in [
        RawResult::text(lines.clone()),
        RawResult::text(format!("HTTP 200\n{lines}")),
        RawResult::text(json!(rows).to_string()),
        RawResult::json(json!(rows)),
        RawResult::json(json!({ "log": lines })),
        RawResult::json(json!({ "rows": rows, "others": rows })),
    ] {
        for mode in [ResponseMode::Auto, ResponseMode::Summary, ResponseMode::Table] {
            let frame = json!(FIREWALL.frame(&raw, &spec(mode))).to_string();
            for secret in ["sunshine", "podsolnuh", "914", "482913"] {
                assert!(!frame.contains(secret), "{secret} in {mode:?}: {frame:.2000}");
            }
        }
    }
}
