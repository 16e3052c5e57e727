//! Views: parts of a stored result, redacted and bounded like all else.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_firewall::view::{ViewGenerator, ViewRegistry, ViewSource};
use weaver_firewall::{Firewall, HandleError, HandleQuery, ViewRequest};
use weaver_types::{Constraints, Frame, RawContent, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, chars, names, spec, warned};

fn look(raw: &RawResult, query: Value) -> Result<Frame, HandleError> {
    FIREWALL.expand(raw, &HandleQuery::parse(&query).unwrap(), &spec(ResponseMode::Table))
}

fn table(raw: &RawResult, query: Value) -> Value {
    json!(look(raw, query).unwrap().table)
}

fn views(raw: &RawResult) -> Vec<Cow<'static, str>> {
    ViewRegistry::default().names(&raw.content).into_owned()
}

fn bytes(media_type: &str, bytes: &[u8]) -> RawResult {
    let content = RawContent::Binary { media_type: media_type.into(), bytes: bytes.to_vec() };
    RawResult { content, ..RawResult::text("") }
}

const CSV: &str = "id,city,email,amount\n1,Oslo,a@corp.example.com,10\n2,Lyon,b@corp.example.com,2.5\n\
                   3,\"Os, lo\",c@corp.example.com,\n";

#[test]
fn the_text_of_a_table_shows_no_cell_that_its_rows_hide() {
    let text = |column: &str| {
        let rows: String = (0..60).map(|n| format!("{n},u{n},blue{n}tree\n")).collect();
        RawResult::text(format!("id,user,{column}\n{rows}"))
    };
    let look = |raw: &RawResult, query: Value| {
        FIREWALL.expand(raw, &HandleQuery::parse(&query).unwrap(), &spec(ResponseMode::Auto))
    };
    for view in [
        json!({ "view": "lines", "args": { "start": 40, "end": 43 } }),
        json!({ "view": "chars", "args": { "start": 400, "end": 480 } }),
        json!({ "view": "search", "args": { "text": "blue45" } }),
    ] {
        let refused = look(&text("password"), view.clone()).unwrap_err();
        assert!(refused.to_string().contains("columns that are masked"), "{view}: {refused}");
        assert!(look(&text("garden"), view).is_ok());
    }
    let rows = look(&text("password"), json!({ "filter": { "id": 45 } })).unwrap();
    let shown = json!(rows).to_string();
    assert!(shown.contains("u45") && !shown.contains("blue"), "{shown}");
}

#[test]
fn content_says_which_views_it_has() {
    assert_eq!(
        views(&RawResult::json(json!({"a": 1}))),
        ["chars", "get", "keys", "lines", "paths", "search"]
    );
    assert_eq!(
        views(&RawResult::text(" [1, 2]")),
        ["chars", "get", "keys", "lines", "paths", "search"]
    );
    assert_eq!(
        views(&RawResult::text("some\nwords")),
        ["chars", "head", "lines", "search", "tail"]
    );
    let csv = ["chars", "columns", "head", "lines", "rows", "search", "summary", "tail"];
    assert_eq!(views(&RawResult::text(CSV)), csv);
    assert_eq!(views(&bytes("text/csv", CSV.as_bytes())), csv);
    assert_eq!(views(&bytes("image/png", b"\x89PNG\r\n\x1a\n")), ["type"]);
    // Bytes that are declared as nothing are what they show themselves to be.
    let nothing = "application/octet-stream";
    for json in [&b"{\"a\": [1, 2]}"[..], b" [1, 2]\n", b"\xef\xbb\xbf[{\"a\": 1}]"] {
        assert_eq!(
            views(&bytes(nothing, json)),
            ["chars", "get", "keys", "lines", "paths", "search"]
        );
    }
    let words = ["chars", "head", "lines", "search", "tail"];
    for text in [&b"{\"a\": [1, 2"[..], b"[not json]", b"17", b"\"a word\""] {
        assert_eq!(views(&bytes(nothing, text)), words);
    }
    assert_eq!(views(&bytes("text/plain", b"{\"a\": 1}")), words);
    let error = look(&RawResult::text("x\ny"), json!({"view": "lnes"})).unwrap_err();
    assert_eq!(error.code(), "invalid_constraint");
    assert!(error.to_string().contains("did you mean `lines`?"), "{error}");
    let error =
        look(&RawResult::text("x"), json!({"view": "head", "args": {"line": 1}})).unwrap_err();
    assert!(error.to_string().contains("did you mean `lines`?"), "{error}");
}

#[test]
fn the_reference_drill_downs_come_out_the_same() {
    let (h, t) = (RawResult::json(json!({"a": 1, "b": 2})), RawResult::text("l0\nl1\nl2\nl3"));
    let keys = json!({"view": "get", "args": {"keys": ["a", "zz"]}});
    assert_eq!(table(&h, keys.clone()), json!([{"a": 1}]));
    let lines = table(&t, json!({"view": "lines", "args": {"start": 1, "end": 3}}));
    assert_eq!(lines, json!([{"line": 1, "value": "l1"}, {"line": 2, "value": "l2"}]));
    let lines = table(&t, json!({"view": "lines", "args": {"start": 2}}));
    assert_eq!(lines, json!([{"line": 2, "value": "l2"}, {"line": 3, "value": "l3"}]));
    assert_eq!(
        table(&t, json!({"view": "head", "args": {"chars": 4}})),
        json!([{"value": "l0\nl"}])
    );
    // What a text has no view of, and what no content has, is refused and not answered with nothing.
    assert_eq!(look(&t, keys).unwrap_err().code(), "invalid_constraint");
    assert_eq!(look(&t, json!({"view": "nope"})).unwrap_err().code(), "invalid_constraint");
}

#[test]
fn text_is_redacted_before_it_is_cut() {
    let text =
        "one\n-----BEGIN PRIVATE KEY-----\nMIIEvQIB\n-----END PRIVATE KEY-----\ntwo\nTHREE two";
    let raw = RawResult::text(text);
    for query in [
        json!({"view": "lines", "args": {"start": 1, "end": 3}}),
        json!({"view": "head", "args": {"lines": 2}}),
        json!({"view": "head", "args": {"chars": 40}}),
        json!({"view": "tail", "args": {"lines": 6}}),
        json!({"view": "search", "args": {"text": "MII", "around": 5}}),
    ] {
        assert!(!table(&raw, query.clone()).to_string().contains("MIIE"), "{query}");
    }
    let found = table(&raw, json!({"view": "search", "args": {"text": "three"}}));
    assert_eq!(found, json!([{"line": 3, "value": "THREE two"}]));
    let found =
        table(&raw, json!({"view": "search", "args": {"text": "three", "ignore_case": false}}));
    assert_eq!(found, json!([]));
    let found = table(&raw, json!({"view": "search", "args": {"text": "TWO", "around": 1}}));
    let lines: Vec<i64> =
        found.as_array().unwrap().iter().map(|row| row["line"].as_i64().unwrap()).collect();
    assert_eq!(lines, [1, 2, 3]);
    assert_eq!(table(&raw, json!({"view": "tail", "args": {"lines": 1}}))[0]["line"], 3);
    assert!(look(&raw, json!({"view": "search"})).is_err());
}

#[test]
fn tables_in_text_are_rows_that_can_be_asked_about() {
    let raw = RawResult::text(CSV);
    let rows =
        table(&raw, json!({"view": "rows", "filter": {"amount": {"gte": 2}}, "sort": "amount"}));
    assert_eq!(
        rows,
        json!([
            {"id": 2, "city": "Lyon", "email": "[REDACTED]", "amount": 2.5},
            {"id": 1, "city": "Oslo", "email": "[REDACTED]", "amount": 10},
        ])
    );
    let head = table(&raw, json!({"view": "head", "args": {"rows": 1}, "fields": ["city"]}));
    assert_eq!(head, json!([{"city": "Oslo"}]));
    let tail = table(&raw, json!({"view": "tail", "args": {"rows": 1}, "fields": ["city"]}));
    assert_eq!(tail, json!([{"city": "Os, lo"}]));
    let columns = table(&raw, json!({"view": "columns"}));
    assert_eq!(columns[3], json!({"column": "amount", "type": "number", "filled": 2}));
    assert_eq!(columns[1], json!({"column": "city", "type": "text", "filled": 3}));
    let summary = look(&raw, json!({"view": "summary"})).unwrap();
    assert_eq!((summary.mode, summary.facts[0].as_str()), (ResponseMode::Summary, "Total rows: 3"));
    let secret =
        look(&raw, json!({"view": "rows", "filter": {"email": {"contains": "a@"}}})).unwrap();
    assert!(secret.table.is_empty());
}

fn shop() -> RawResult {
    RawResult::json(json!({
        "shop": {"name": "north", "password": "hunter2!", "staff": [{"name": "Ann", "pin": {"code": "1234"}}]},
        "orders": [{"id": 1, "lines": [{"price": 2}, {"price": 3}]}, {"id": 2, "lines": []}],
        "x.y": "odd",
    }))
}

#[test]
fn json_is_looked_into_by_paths() {
    let get = |path: &str| table(&shop(), json!({"view": "get", "args": {"path": path}}));
    assert_eq!(get("orders[].id"), json!([{"id": 1}, {"id": 2}]));
    assert_eq!(get("$.orders[0].lines[].price"), json!([{"price": 2}, {"price": 3}]));
    assert_eq!(get("orders[1:]")[0]["id"], 2);
    assert_eq!(get("shop.name"), json!([{"name": "north"}]));
    assert_eq!(get("[\"x.y\"]"), json!([{"x.y": "odd"}]));
    let filtered =
        json!({"view": "get", "args": {"path": "orders"}, "filter": {"id": 2}, "fields": ["id"]});
    assert_eq!(table(&shop(), filtered), json!([{"id": 2}]));
    let keys = table(&shop(), json!({"view": "keys", "args": {"path": "orders"}}));
    assert_eq!(
        keys,
        json!([{"key": "id", "type": "number", "count": 2}, {"key": "lines", "type": "list", "count": 2}])
    );
    let paths = table(&shop(), json!({"view": "paths", "args": {"depth": 5}}));
    assert!(paths.to_string().contains("orders[].lines[].price"), "{paths}");
    assert!(paths.to_string().contains(r#"[\"x.y\"]"#), "{paths}");
    let error = look(&shop(), json!({"view": "get", "args": {"path": "order"}})).unwrap_err();
    assert!(error.to_string().contains("did you mean `orders`?"), "{error}");
    for path in ["orders[9]", "shop[0]", "shop.name.x", "orders.id"] {
        let error = look(&shop(), json!({"view": "get", "args": {"path": path}})).unwrap_err();
        assert_eq!(error.code(), "invalid_constraint", "{path}");
    }
}

#[test]
fn no_path_leads_around_a_mask() {
    for path in ["shop.password", "shop", "shop.staff[].pin", ""] {
        let shown = look(&shop(), json!({"view": "get", "args": {"path": path}})).unwrap();
        let shown = serde_json::to_string(&shown).unwrap();
        assert!(!shown.contains("hunter2"), "{path}: {shown}");
    }
    let named =
        RawResult::json(json!({"env": [{"name": "DB_PASSWORD", "value": "hunter2!"}], "n": 1}));
    let shown = table(&named, json!({"view": "get", "args": {"path": "env[0].value"}}));
    assert!(!shown.to_string().contains("hunter2"), "{shown}");
    let inner =
        RawResult::json(json!({"credentials": {"user": {"first": "alice77"}}, "b": {"c": 1}}));
    let shown = look(&inner, json!({"view": "get", "args": {"path": "credentials.user.first"}}));
    assert!(!format!("{shown:?}").contains("alice77"), "{shown:?}");
    let error =
        look(&shop(), json!({"view": "get", "args": {"path": "shop.jane@corp.example.com"}}));
    assert!(error.is_err());
}

#[test]
fn views_show_only_the_fields_that_may_be_seen() {
    let narrow = capability(&["id", "city"]);
    let mut spec = spec(ResponseMode::Table);
    spec.capability = &narrow;
    let view = |raw: &RawResult, query: Value| {
        FIREWALL.expand(raw, &HandleQuery::parse(&query).unwrap(), &spec)
    };
    let rows = RawResult::json(
        json!({"rows": [{"id": 1, "city": "Oslo", "pay": {"sum": 7}}], "total": 9}),
    );
    let get = |path: &str| view(&rows, json!({"view": "get", "args": {"path": path}}));
    assert_eq!(json!(get("rows").unwrap().table), json!([{"id": 1, "city": "Oslo"}]));
    assert_eq!(json!(get("rows[].city").unwrap().table), json!([{"city": "Oslo"}]));
    for path in ["rows[].pay", "rows[0].pay.sum", "total", "rows[].nope"] {
        assert_eq!(get(path).unwrap_err().code(), "handle_constraint_violation", "{path}");
    }
    for name in ["keys", "paths"] {
        let shown = view(&rows, json!({"view": name})).unwrap();
        let shown = json!(shown.table).to_string();
        assert!(!shown.contains("pay") && !shown.contains("total"), "{shown}");
    }
    let csv = view(&RawResult::text(CSV), json!({"view": "rows", "limit": 1})).unwrap();
    assert_eq!(json!(csv.table), json!([{"id": 1, "city": "Oslo"}]));
    let columns = view(&RawResult::text(CSV), json!({"view": "columns"})).unwrap();
    assert_eq!(warned(&columns, "fields_not_allowed"), Some(2));
    for query in [json!({"view": "lines"}), json!({"view": "search", "args": {"text": "Oslo"}})] {
        let error = view(&RawResult::text(CSV), query).unwrap_err();
        assert_eq!(error.code(), "handle_constraint_violation");
    }
    let filter = json!({"view": "rows", "filter": {"amount": 10}});
    // The column is not among the rows of the view, so that nothing in it can be found.
    let refused = view(&RawResult::text(CSV), filter).unwrap_err().to_string();
    assert!(refused.contains("known: city, id"), "{refused}");
}

#[test]
fn bytes_are_described_and_not_shown() {
    let raw = bytes("image/png", b"\x89PNG\r\n\x1a\nsecret");
    let shown = table(&raw, json!({"view": "type"}));
    assert_eq!(
        shown,
        json!([{"media_type": "image/png", "detected": "image/png", "byte_size": 14}])
    );
    assert!(look(&raw, json!({"view": "type", "args": {"x": 1}})).is_err());
    assert!(look(&raw, json!({"filter": {"x": 1}})).is_err());
}

/// A host's views: one that shows all, one that is called as a built-in one is.
struct Leaky;

impl ViewGenerator for Leaky {
    fn names(&self) -> &[&'static str] {
        &["chars", "everything", "head"]
    }

    fn accepts(&self, head: &[u8]) -> bool {
        head.starts_with(b"<")
    }

    fn render(
        &self,
        source: ViewSource<'_>,
        request: &ViewRequest,
    ) -> Result<RawContent, HandleError> {
        let RawContent::Text(text) = source.content else { panic!("it is text") };
        let rows = vec![
            json!({"view": request.name, "text": text, "email": "x", "media": source.media_type});
            200
        ];
        Ok(RawContent::Json(Value::Array(rows)))
    }
}

#[test]
fn a_hosts_view_is_redacted_and_bounded_like_ours() {
    let mut registry = ViewRegistry::default();
    registry.register("text/*", Arc::new(Leaky)).unwrap();
    assert!(registry.register("text", Arc::new(Leaky)).is_err());
    let firewall = Firewall::new().with_views(registry);
    let raw = RawResult::text("<p>mail jane.roe@corp.example.com");
    assert_eq!(
        *firewall.views().names(&raw.content),
        ["chars", "everything", "head", "lines", "search", "tail"]
    );
    assert!(!firewall.views().names(&RawContent::Text("p".into())).contains(&"everything".into()));
    let ask = |query: Value| HandleQuery::parse(&query).unwrap();
    let frame = firewall
        .expand(&raw, &ask(json!({"view": "everything"})), &spec(ResponseMode::Table))
        .unwrap();
    assert!(chars(&frame) <= 4_000 && frame.table.len() <= 50);
    let mut wide = spec(ResponseMode::Table);
    wide.budget.max_chars = 100_000;
    let frame = firewall.expand(&raw, &ask(json!({"view": "everything"})), &wide).unwrap();
    assert_eq!(frame.table.len(), 50);
    assert_eq!(frame.table[0]["text"], "<p>mail [REDACTED]");
    assert_eq!(frame.table[0]["email"], "[REDACTED]");
    let head = firewall.expand(
        &raw,
        &ask(json!({"view": "head", "limit": 1})),
        &spec(ResponseMode::Table),
    );
    assert_eq!(head.unwrap().table[0]["view"], "head");
    let constraints =
        Constraints { allowed_fields: Some(names(&["view"])), ..Constraints::default() };
    let mut narrow = spec(ResponseMode::Table);
    narrow.constraints = &constraints;
    let frame =
        firewall.expand(&raw, &ask(json!({"view": "everything", "limit": 1})), &narrow).unwrap();
    assert_eq!(json!(frame.table), json!([{"view": "everything"}]));
}

#[test]
fn strict_mode_gives_facts_of_views_too() {
    let mut strict = spec(ResponseMode::Table);
    strict.strict = true;
    let query = HandleQuery::parse(&json!({"view": "rows"})).unwrap();
    let frame = FIREWALL.expand(&RawResult::text(CSV), &query, &strict).unwrap();
    assert!(frame.table.is_empty() && !frame.facts.is_empty());
}

proptest! {
    #[test]
    fn every_view_of_anything_is_bounded_and_tells_no_secret(
        text in "[ -~\n]{0,200}",
        kind in 0..4,
        name in prop::sample::select(&["get", "keys", "paths", "lines", "head", "tail", "search", "rows", "columns", "summary", "type"]),
        max in 600_u32..4_000,
    ) {
        let secret = "ghp_0123456789abcdefghij0123456789abcdef";
        let raw = match kind {
            0 => RawResult::json(json!({"a": [{"b": text, "c": secret}], "d": {"password": secret}})),
            1 => RawResult::text(format!("{text} {secret}\n{text}")),
            2 => RawResult::text(format!("a,b\n1,{secret}\n{text}")),
            _ => bytes("application/octet-stream", format!("{text} {secret}").as_bytes()),
        };
        let args = if name == "search" { json!({"text": "a"}) } else { json!({}) };
        let query = HandleQuery::parse(&json!({"view": name, "args": args})).unwrap();
        let mut spec = spec(ResponseMode::Table);
        spec.budget.max_chars = max;
        if let Ok(frame) = FIREWALL.expand(&raw, &query, &spec) {
            prop_assert!(chars(&frame) <= usize::try_from(max).unwrap().max(FIREWALL.min_chars(&spec)));
            prop_assert!(!serde_json::to_string(&frame).unwrap().contains(secret));
        }
    }
}

#[test]
fn json_bytes_without_a_type_are_looked_into_as_json() {
    let raw = bytes(
        "application/octet-stream",
        b"\xef\xbb\xbf {\"a\": {\"mail\": \"jane.roe@corp.example.org\"}}",
    );
    let shown = table(&raw, json!({"view": "get", "args": {"path": "a"}}));
    assert!(!shown.to_string().contains("jane"), "{shown}");
    assert!(shown.to_string().contains("mail"), "{shown}");
}

#[test]
fn a_range_of_lines_or_characters_may_be_empty_and_not_backwards() {
    let raw = RawResult::text("a\nbc\nd");
    let lines = |start: u64, end: u64| {
        look(&raw, json!({ "view": "lines", "args": { "start": start, "end": end } }))
    };
    assert_eq!(json!(lines(1, 2).unwrap().table), json!([{ "line": 1, "value": "bc" }]));
    assert_eq!(json!(lines(1, 9).unwrap().table).as_array().unwrap().len(), 2);
    assert!(lines(1, 1).unwrap().table.is_empty() && lines(9, 9).unwrap().table.is_empty());
    let error = lines(2, 1).unwrap_err().to_string();
    assert!(error.contains("`end` is before `start`"), "{error}");
    let chars = json!({ "view": "chars", "args": { "start": 2, "end": 4 } });
    assert_eq!(table(&raw, chars), json!([{ "character": 2, "value": "bc" }]));
}

#[test]
fn a_registry_shows_which_hosts_it_has() {
    assert_eq!(format!("{:?}", ViewRegistry::default()), "{}");
}

/// A host's view of these names, whatever it is given.
struct Named(&'static [&'static str]);

impl ViewGenerator for Named {
    fn names(&self) -> &[&'static str] {
        self.0
    }

    fn render(&self, _: ViewSource<'_>, _: &ViewRequest) -> Result<RawContent, HandleError> {
        Ok(RawContent::Text("shown".to_owned()))
    }
}

#[test]
fn a_name_of_a_view_is_a_short_word_in_lower_case() {
    const LONGEST: &str = "abcdefghijklmnopqrstuvwxyz_01234";
    const TOO_LONG: &str = "abcdefghijklmnopqrstuvwxyz_012345";
    for (name, is_one) in [
        ("weight", true),
        ("a", true),
        ("part_2", true),
        (LONGEST, true),
        (TOO_LONG, false),
        ("", false),
        ("2nd", false),
        ("_a", false),
        ("Weight", false),
        ("a-b", false),
        ("a b", false),
    ] {
        let names: &'static [&'static str] = vec![name].leak();
        let taken = ViewRegistry::default().register("*/*", Arc::new(Named(names)));
        assert_eq!(taken.is_ok(), is_one, "{name}");
        if let Err(error) = taken {
            assert!(error.to_string().contains(&format!("`{name}` is not a view name")), "{error}");
        }
    }
}

#[test]
fn a_host_may_have_256_generators_and_the_first_that_has_a_name_makes_the_view() {
    let mut registry = ViewRegistry::default();
    for _ in 0..256 {
        registry.register("text/plain", Arc::new(Named(&["own", "head"]))).unwrap();
    }
    let error = registry.register("text/plain", Arc::new(Named(&["own"]))).unwrap_err();
    assert!(error.to_string().contains("256 view generators"), "{error}");
    let raw = RawResult::text("some words");
    let names = registry.names(&raw.content);
    assert_eq!(*names, ["chars", "head", "lines", "own", "search", "tail"]);
    // What is of another type has none of them.
    assert_eq!(
        *registry.names(&RawContent::Json(json!(1))),
        ["chars", "get", "keys", "lines", "paths", "search"]
    );
    let firewall = Firewall::new().with_views(registry);
    for view in ["own", "head"] {
        let query = HandleQuery::parse(&json!({"view": view})).unwrap();
        let frame = firewall.expand(&raw, &query, &spec(ResponseMode::Table)).unwrap();
        assert_eq!(json!(frame.table), json!([{"value": "shown"}]));
    }
}

#[test]
fn head_and_tail_of_a_table_have_ten_rows_unless_told_otherwise() {
    let rows: Vec<String> = (0..30).map(|n| format!("{n},a{n}")).collect();
    let raw = RawResult::text(format!("id,name\n{}", rows.join("\n")));
    let ids = |view: &str, args: Value| -> Vec<i64> {
        let rows = table(&raw, json!({"view": view, "args": args}));
        rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids("head", json!({})), (0..10).collect::<Vec<_>>());
    assert_eq!(ids("tail", json!({})), (20..30).collect::<Vec<_>>());
    assert_eq!(ids("head", json!({"rows": 2})), [0, 1]);
    assert_eq!(ids("tail", json!({"rows": 2})), [28, 29]);
    assert_eq!(ids("tail", json!({"rows": 99})).len(), 30);
    assert_eq!(ids("rows", json!({})).len(), 30);
}

#[test]
fn a_column_is_told_by_what_its_cells_are() {
    let raw = RawResult::text("a,b,c,d\n1,x,,2\n2,y,,z\n,w,,3\n");
    assert_eq!(
        table(&raw, json!({"view": "columns"})),
        json!([
            {"column": "a", "type": "number", "filled": 2},
            {"column": "b", "type": "text", "filled": 3},
            {"column": "c", "type": "empty", "filled": 0},
            {"column": "d", "type": "mixed", "filled": 3},
        ])
    );
}

#[test]
fn lines_around_what_is_found_come_once_and_in_order() {
    let text: String =
        (0..60).map(|n| format!("line {n}{}\n", if n % 25 == 10 { " hit" } else { "" })).collect();
    let raw = RawResult::text(text);
    let found = |around: u64| -> Vec<i64> {
        let query =
            json!({"view": "search", "args": {"text": "HIT", "around": around}, "limit": 50});
        let rows = table(&raw, query);
        rows.as_array().unwrap().iter().map(|row| row["line"].as_i64().unwrap()).collect()
    };
    assert_eq!(found(0), [10, 35]);
    assert_eq!(found(1), [9, 10, 11, 34, 35, 36]);
    // The two stretches meet, and no line comes twice.
    assert_eq!(found(12), (0..48).collect::<Vec<_>>());
    assert_eq!(found(99).len(), 50);
    assert_eq!(found(99)[..2], [0, 1]);
}

#[test]
fn head_and_tail_of_a_text_have_twenty_lines_unless_told_otherwise() {
    let raw = RawResult::text((0..50).map(|n| format!("line {n}\n")).collect::<String>());
    let lines = |query: Value| -> Vec<i64> {
        let rows = table(&raw, query);
        rows.as_array().unwrap().iter().map(|row| row["line"].as_i64().unwrap()).collect()
    };
    assert_eq!(lines(json!({"view": "head"})), (0..20).collect::<Vec<_>>());
    assert_eq!(lines(json!({"view": "tail"})), (30..50).collect::<Vec<_>>());
    assert_eq!(lines(json!({"view": "tail", "args": {"lines": 3}})), [47, 48, 49]);
    assert_eq!(lines(json!({"view": "lines"})).len(), 50);
    assert_eq!(lines(json!({"view": "lines", "args": {"start": 48}})), [48, 49]);
}

#[test]
fn bytes_are_told_by_their_first_ones_wherever_these_stand() {
    let at = |place: usize, magic: &[u8]| [vec![0; place], magic.to_vec()].concat();
    for (bytes_of, media_type) in [
        (at(0, b"%PDF-1.7"), "application/pdf"),
        (at(4, b"ftypheic"), "image/heic"),
        (at(4, b"ftypisom"), "video/mp4"),
        (at(8, b"WAVE"), "audio/wav"),
        (at(257, b"ustar"), "application/x-tar"),
        (at(256, b"ustar"), "application/octet-stream"),
        (at(0, b"%PD"), "application/octet-stream"),
    ] {
        let shown = table(&bytes("application/zip", &bytes_of), json!({"view": "type"}));
        assert_eq!(shown[0]["detected"], media_type);
        assert_eq!(shown[0]["byte_size"], bytes_of.len());
    }
}
