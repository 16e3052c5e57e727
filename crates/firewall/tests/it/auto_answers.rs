//! Answers in mode `auto`: which part is shown, what is said of the rest, and how to ask for it.

use serde_json::{Value, json};
use weaver_firewall::{FrameSpec, HandleError, HandleQuery};
use weaver_types::{Constraints, Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, HANDLE, names, spec};

/// The answer under a rule, with a handle for what is left.
fn ask(raw: &RawResult, query: &Value, rule: Constraints) -> Result<Frame, HandleError> {
    let spec = FrameSpec { handle: Some(&HANDLE), constraints: &rule, ..spec(ResponseMode::Auto) };
    FIREWALL.expand(raw, &HandleQuery::parse(query).unwrap(), &spec)
}

/// Its text, its notes and the query for what follows.
fn told(raw: &RawResult, query: &Value, rule: Constraints) -> (String, Vec<String>, Value) {
    let frame = ask(raw, query, rule).unwrap_or_else(|error| panic!("{query}: {error}"));
    let text = frame.content[0]["text"].as_str().unwrap().to_owned();
    (text, frame.notes, json!(frame.next))
}

fn of_chars(max: u32) -> Constraints {
    Constraints { max_chars: Some(max), ..Constraints::default() }
}

fn refused(raw: &RawResult, query: &Value, rule: Constraints) -> String {
    ask(raw, query, rule).unwrap_err().to_string()
}

fn orders() -> RawResult {
    RawResult::json((0..10).map(|n| json!({ "id": n, "even": n % 2 == 0 })).collect())
}

#[test]
fn a_question_about_rows_is_answered_with_those_that_match() {
    for (query, text) in [
        (
            json!({ "filter": { "id": { "gte": 3 } }, "fields": ["id"], "offset": 2, "limit": 3 }),
            "id\n5\n6\n7\nMatching rows: 7.",
        ),
        (json!({ "filter": { "id": 8 } }), "even,id\ntrue,8\nMatching rows: 1."),
        (
            json!({ "filter": { "id": 8 }, "fields": ["id", "even"] }),
            "id,even\n8,true\nMatching rows: 1.",
        ),
        (json!({ "filter": { "id": 80 } }), "Matching rows: 0."),
        (json!({ "sort": "-id", "fields": ["id"], "limit": 2 }), "id\n9\n8"),
        (json!({ "group_by": "even", "sort": "even" }), "count,even\n5,false\n5,true"),
        (json!({ "offset": 8, "fields": ["id"] }), "id\n8\n9"),
    ] {
        assert_eq!(
            told(&orders(), &query, Constraints::default()),
            (text.to_owned(), vec![], Value::Null),
            "{query}"
        );
    }
    // What is computed of fields that may be seen may be seen.
    let only = Constraints { allowed_fields: Some(names(&["even"])), ..Constraints::default() };
    let (text, ..) = told(&orders(), &json!({ "group_by": "even", "sort": "even" }), only.clone());
    assert_eq!(text, "count,even\n5,false\n5,true");
    let (text, ..) = told(&orders(), &json!({ "filter": { "even": true }, "limit": 1 }), only);
    assert_eq!(text, "even\ntrue\nMatching rows: 5.");
}

#[test]
fn of_rows_that_do_not_fit_it_is_said_where_the_rest_begins() {
    let query = json!({ "filter": { "id": { "gte": 2 } }, "fields": ["id"], "offset": 1 });
    let (text, notes, next) = told(&orders(), &query, of_chars(6));
    assert_eq!(text, "id\n3\n4\n5\nMatching rows: 8.");
    assert_eq!(
        (notes, next),
        (
            vec!["Shown: rows 1 to 3 of 8.".to_owned()],
            json!({ "filter": { "id": { "gte": 2 } }, "fields": ["id"], "offset": 4 })
        )
    );
}

#[test]
fn a_limit_of_zero_counts_what_lies_behind_the_offset() {
    for (raw, query, left) in [
        (orders(), json!({ "limit": 0, "offset": 4 }), "6 rows"),
        (orders(), json!({ "limit": 0, "offset": 1, "filter": { "even": true } }), "4 rows"),
        (RawResult::text("a\nb\nc"), json!({ "limit": 0, "offset": 1 }), "2 lines"),
    ] {
        let expected = format!("Shown: none of {left}; `limit` is 0.");
        assert_eq!(
            told(&raw, &query, Constraints::default()),
            (String::new(), vec![expected], Value::Null),
            "{query}"
        );
    }
}

#[test]
fn lines_of_a_text_are_shown_from_the_offset_on() {
    let raw = RawResult::text("one\ntwo\nthree\nfour");
    for (query, text) in [
        (json!({}), "one\ntwo\nthree\nfour"),
        (json!({ "offset": 1, "limit": 2 }), "two\nthree"),
        (json!({ "offset": 3 }), "four"),
    ] {
        assert_eq!(
            told(&raw, &query, Constraints::default()),
            (text.to_owned(), vec![], Value::Null),
            "{query}"
        );
    }
    let (text, notes, next) = told(&raw, &json!({ "offset": 1 }), of_chars(10));
    assert_eq!(
        (text.as_str(), notes, next),
        ("two\nthree", vec!["Shown: 2 lines; more follow.".to_owned()], json!({ "offset": 3 }))
    );
    let (text, notes, next) = told(&raw, &json!({ "offset": 2 }), of_chars(4));
    let said = "The line is too long for one answer: its characters 0 to 3 are shown.".to_owned();
    let rest = json!({ "offset": 2, "char_offset": 4 });
    assert_eq!((text.as_str(), notes, &next), ("thre", vec![said], &rest));
    assert_eq!(told(&raw, &rest, of_chars(6)), ("e\nfour".to_owned(), vec![], Value::Null));
    assert!(
        refused(&raw, &json!({ "offset": 2, "char_offset": 5 }), of_chars(4))
            .contains("past the end")
    );
    assert_eq!(told(&RawResult::text(""), &json!({}), Constraints::default()).0, "");
    let fields = Constraints { allowed_fields: Some(names(&["id"])), ..Constraints::default() };
    assert!(refused(&raw, &json!({}), fields).contains("a text has no fields"));
}

#[test]
fn an_offset_past_the_end_is_refused_and_the_end_is_named() {
    for (raw, offset, total) in [
        (RawResult::text("one\ntwo"), 2, "2 lines"),
        (orders(), 10, "10 rows"),
        (RawResult::json(json!([1, 2, 3])), 3, "3 rows"),
        (RawResult::json(json!({ "a": { "b": 1 } })), 1, "1 rows"),
        (RawResult::json(json!(7)), 1, "1 rows"),
    ] {
        let error = refused(&raw, &json!({ "offset": offset }), Constraints::default());
        assert!(error.contains(&format!("past the end: there are {total}")), "{error}");
        let last = told(&raw, &json!({ "offset": offset - 1 }), Constraints::default()).0;
        assert!(!last.is_empty(), "{raw:?}");
    }
    let list = RawResult::json(json!([1, 2, 3]));
    assert_eq!(told(&list, &json!({ "offset": 1 }), Constraints::default()).0, "value\n2\n3");
}

#[test]
fn lines_and_characters_of_a_view_are_paged_by_their_places() {
    let raw = RawResult::text("one\ntwo\nthree\nfour\ntwo more");
    let view = |name: &str, args: Value| json!({ "view": name, "args": args });
    let (lines, chars) =
        (view("lines", json!({ "start": 1 })), view("chars", json!({ "start": 4 })));
    let search = view("search", json!({ "text": "two" }));
    for (query, most, text, note, next) in [
        (&lines, 100, "two\nthree\nfour\ntwo more", None, Value::Null),
        (
            &lines,
            10,
            "two\nthree",
            Some("Shown: 2 lines from 1 on; more follow."),
            json!({ "view": "lines", "args": { "start": 3 } }),
        ),
        (
            &chars,
            6,
            "two\nth",
            Some("Shown: 6 characters from 4 on; more follow."),
            json!({ "view": "chars", "args": { "start": 10 } }),
        ),
        (&search, 100, "1: two\n4: two more", None, Value::Null),
        (
            &search,
            10,
            "1: two",
            Some("Shown: 1 lines from 1 on; more follow."),
            json!({ "view": "search", "args": { "text": "two" }, "offset": 1 }),
        ),
        (
            &view("search", json!({ "text": "six" })),
            100,
            "",
            Some("The view `search` finds nothing there."),
            Value::Null,
        ),
        (
            &view("lines", json!({ "start": 2 })),
            3,
            "thr",
            Some("The line is too long for one answer: its characters 0 to 2 are shown."),
            json!({ "view": "lines", "args": { "start": 2 }, "char_offset": 3 }),
        ),
    ] {
        let notes: Vec<String> = note.map(str::to_owned).into_iter().collect();
        assert_eq!(
            told(&raw, query, of_chars(most)),
            (text.to_owned(), notes, next),
            "{query} {most}"
        );
    }
    let mut page = search.clone();
    page["offset"] = json!(1);
    assert_eq!(told(&raw, &page, of_chars(100)).0, "4: two more");
    page["offset"] = json!(0);
    page["limit"] = json!(1);
    assert_eq!(told(&raw, &page, of_chars(100)).0, "1: two");
}
