//! Summaries: what is counted, how much of it is said, and in which order.

use serde_json::{Map, Value, json};
use weaver_types::{Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, spec, warned};

fn frame(value: &Value) -> Frame {
    FIREWALL.frame(&RawResult::json(value.clone()), &spec(ResponseMode::Summary))
}

fn facts(value: Value) -> Vec<String> {
    frame(&value).facts
}

/// The facts for somebody who wants this.
fn facts_for(goal: &str, raw: &RawResult) -> Vec<String> {
    let mut spec = spec(ResponseMode::Summary);
    spec.goal = Some(goal);
    FIREWALL.frame(raw, &spec).facts
}

fn object(names: impl Iterator<Item = String>, value: &Value) -> Value {
    Value::Object(names.map(|name| (name, value.clone())).collect::<Map<_, _>>())
}

/// The fact that begins so.
fn beginning<'f>(facts: &'f [String], with: &str) -> Option<&'f str> {
    facts.iter().map(String::as_str).find(|fact| fact.starts_with(with))
}

#[test]
fn what_is_no_object_is_counted_beside_the_rows() {
    assert_eq!(
        facts(json!([{"a": 1}, 5, "x", {"a": 3}])),
        [
            "Total rows: 4",
            "Rows that are not objects: 2",
            "Top keys: a",
            "a: min=1.00, max=3.00, avg=2.00"
        ]
    );
}

#[test]
fn keys_that_occur_more_often_come_first_and_ten_are_named() {
    assert_eq!(
        facts(json!([{"b": null, "z": []}, {"b": null}, {"a": null, "b": {}}]))[1],
        "Top keys: b, a, z"
    );
    let keys = |count: usize| (0..count).map(|n| format!("k{n:02}"));
    let named = |count: usize| keys(count).collect::<Vec<_>>().join(", ");
    for (count, told) in [(10, 10), (11, 10)] {
        let facts = facts(json!([object(keys(count), &Value::Null)]));
        assert_eq!(facts[1], format!("Top keys: {}", named(told)));
    }
}

#[test]
fn keys_are_those_of_the_first_ten_rows_and_values_those_of_all() {
    let mut rows = vec![json!({"n": 1, "w": "x", "t": true}); 10];
    rows.extend([json!({"late": 1, "n": 12, "w": "y", "t": false}), json!({"t": true, "n": -2})]);
    let facts = facts(json!(rows));
    assert_eq!(
        facts,
        [
            "Total rows: 12",
            "Top keys: n, t, w",
            "n: min=-2.00, max=12.00, avg=1.67",
            "t: true=11, false=1",
            "w distribution: x=10, y=1",
        ]
    );
}

#[test]
fn a_column_of_different_kinds_has_no_facts_wherever_they_begin_to_differ() {
    for other in [json!("x"), json!(true), json!(null), json!([1]), json!({"a": 1}), json!(1)] {
        for first in [json!(1), json!(true), json!("x")] {
            if std::mem::discriminant(&first) == std::mem::discriminant(&other) {
                continue;
            }
            // Once among the rows of which the keys are told, once behind them.
            for many in [1, 10] {
                let mut rows = vec![json!({"c": first}); many];
                rows.extend([json!({"c": other}), json!({"c": first}), json!({"c": first})]);
                let facts = facts(json!(rows));
                assert_eq!(facts.len(), 2, "{first} and {other}: {facts:?}");
            }
        }
    }
}

#[test]
fn up_to_ten_words_are_counted_each() {
    let rows = |different: usize| -> Value {
        (0..30).map(|n| json!({"w": format!("w{:02}", n % different)})).collect()
    };
    let told = |different: usize| -> String {
        let each = 30 / different;
        let words: Vec<String> = (0..different).map(|n| format!("w{n:02}={each}")).collect();
        format!("w distribution: {}", words.join(", "))
    };
    for different in [2, 3, 10] {
        let facts = facts(rows(different));
        assert_eq!(facts[2], told(different));
    }
    for different in [1, 11, 15] {
        assert_eq!(facts(rows(different)).len(), 2, "{different}");
    }
}

#[test]
fn five_columns_of_numbers_have_statistics_and_five_columns_a_distribution() {
    let rows = |value: [Value; 2], count: usize| {
        let keys = || (0..count).map(|n| format!("k{n}"));
        json!([object(keys(), &value[0]), object(keys(), &value[1])])
    };
    for (count, told) in [(4, 4), (5, 5), (6, 5)] {
        assert_eq!(facts(rows([json!(1), json!(2)], count)).len(), 2 + told, "{count}");
        assert_eq!(facts(rows([json!("a"), json!("b")], count)).len(), 2 + told, "{count}");
    }
    // Numbers count among the five that may have a distribution, and words not among the numbers.
    let mixed: Vec<Value> = (0..2)
        .map(|n| json!({"a": n, "b": n, "c": n, "d": n, "e": n == 0, "f": n == 0, "g": n}))
        .collect();
    let facts = facts(json!(mixed));
    assert!(beginning(&facts, "e: true=1, false=1").is_some(), "{facts:?}");
    assert!(
        beginning(&facts, "f: ").is_none() && beginning(&facts, "g: min").is_some(),
        "{facts:?}"
    );
}

#[test]
fn long_words_of_a_distribution_are_cut_and_stay_on_one_line() {
    let (long, broken) = ("y".repeat(60), "a\nb");
    let facts = facts(json!([{"w": broken}, {"w": long}]));
    assert_eq!(facts[2], format!("w distribution: a\\nb=1, {}…=1", "y".repeat(39)));
}

#[test]
fn the_average_is_masked_with_the_least_or_the_greatest() {
    let card = 4_539_148_803_436_467_u64;
    for (numbers, fact) in [
        ([1, card], "n: min=1.00, max=[REDACTED], avg=[REDACTED]"),
        (
            [card, 10_000_000_000_000_000],
            "n: min=[REDACTED], max=10000000000000000.00, avg=[REDACTED]",
        ),
        ([1, 2], "n: min=1.00, max=2.00, avg=1.50"),
    ] {
        let facts = facts(json!([{"n": numbers[0]}, {"n": numbers[1]}]));
        assert_eq!(facts[2], fact);
    }
}

#[test]
fn the_least_and_the_greatest_integer_are_those_of_a_row() {
    let rows: Vec<Value> =
        (0..500_u64).map(|n| json!({ "id": 1_234_567_890_123_456_789 + n })).collect();
    let fact =
        "id: min=1234567890123456789.00, max=1234567890123457288.00, avg=1234567890123457038.50";
    assert_eq!(facts(json!(rows))[2], fact);
}

#[test]
fn fields_that_may_not_be_seen_are_counted_and_have_no_facts() {
    let capability = capability(&["a"]);
    let mut spec = spec(ResponseMode::Summary);
    spec.capability = &capability;
    let rows = RawResult::json(json!([{"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2}]));
    let frame = FIREWALL.frame(&rows, &spec);
    assert_eq!(frame.facts[1..], ["Top keys: a", "a: min=1.00, max=2.00, avg=1.50"]);
    assert_eq!(warned(&frame, "fields_not_allowed"), Some(2));
    let object = FIREWALL.frame(&RawResult::json(json!({"a": 1, "b": 1, "c": 2})), &spec);
    assert_eq!(object.facts, ["Keys: a", "a: 1"]);
    assert_eq!(warned(&object, "fields_not_allowed"), Some(2));
    let around = json!({"rows": [{"a": 1}], "next": "p2", "total": 1, "a": 7});
    let around = FIREWALL.frame(&RawResult::json(around), &spec);
    assert_eq!(around.facts.last().map(String::as_str), Some("a: 7"));
    assert_eq!(warned(&around, "fields_not_allowed"), Some(2));
    let list = FIREWALL.frame(&RawResult::json(json!([1, 2, 3])), &spec);
    assert_eq!(list.facts, ["List of 3 items"]);
    assert_eq!(warned(&list, "rows_withheld"), Some(3));
    let text = FIREWALL.frame(&RawResult::text("words"), &spec);
    assert_eq!(text.facts, ["Content withheld: only named fields may be seen, and this has none"]);
    assert_eq!(warned(&text, "text_withheld"), Some(1));
}

#[test]
fn twenty_facts_are_told_and_the_last_says_how_many_more_there_are() {
    let list = |count: usize| json!((0..count).collect::<Vec<_>>());
    let omitted = |more: usize| format!("… ({more} more facts omitted; full data via handle)");
    for (count, more) in [(18, None), (19, None), (20, Some(2)), (21, Some(3)), (40, Some(22))] {
        let frame = frame(&list(count));
        assert_eq!(frame.facts[0], format!("List of {count} items"));
        assert_eq!(frame.facts.len(), (count + 1).min(20));
        let last = frame.facts.last().unwrap();
        assert_eq!(*last, more.map_or_else(|| (count - 1).to_string(), omitted), "{count}");
        assert_eq!(warned(&frame, "facts_omitted"), more.map(|more| more as u64), "{count}");
    }
    let keys = |count: usize| object((0..count).map(|n| format!("k{n:02}")), &json!(1));
    for (count, more) in [(19, None), (20, Some(2)), (21, Some(3)), (40, Some(22))] {
        let frame = frame(&keys(count));
        assert_eq!(frame.facts.len(), 20);
        assert_eq!(frame.facts[0].matches('k').count(), count.min(20), "{}", frame.facts[0]);
        assert_eq!(warned(&frame, "facts_omitted"), more.map(|more| more as u64), "{count}");
    }
}

#[test]
fn of_an_object_inside_an_object_five_keys_are_named() {
    let inner = |count: usize| object((0..count).map(|n| format!("k{n}")), &json!(1));
    assert_eq!(facts(json!({"o": inner(5)}))[1], "o: object with keys [k0, k1, k2, k3, k4]");
    assert_eq!(facts(json!({"o": inner(6)}))[1], "o: object with keys [k0, k1, k2, k3, k4]");
}

#[test]
fn a_value_named_by_a_neighbour_is_hidden_in_facts_too() {
    let pair = json!({"name": "password", "value": "plover", "n": 1});
    assert_eq!(facts(pair)[3], "value: [REDACTED]");
    let around = json!({"rows": [{"a": 1}], "name": "password", "value": "plover"});
    let all = facts(around).join("\n");
    assert!(all.contains("value: [REDACTED]") && !all.contains("plover"), "{all}");
    // A column of which some row says that it holds a number of a person has no statistics.
    let rows = json!([{"type": "x", "value": 17}, {"type": "mobile", "value": 5_551_234}]);
    let all = facts(rows).join("\n");
    assert!(!all.contains("5551234") && !all.contains("value: min"), "{all}");
}

#[test]
fn items_and_scalars_are_shown_in_words_and_cut() {
    let long = "z".repeat(300);
    assert_eq!(
        facts(json!([null, true, 1.5, "a", ["b"], long])),
        [
            "List of 6 items".to_owned(),
            "null".to_owned(),
            "true".to_owned(),
            "1.5".to_owned(),
            "a".to_owned(),
            "[\"b\"]".to_owned(),
            format!("{}…", "z".repeat(99)),
        ]
    );
    let inner = facts(json!([[long]]));
    assert_eq!(inner[1], format!("[\"{}…", "z".repeat(97)));
}

#[test]
fn a_number_that_is_a_value_is_masked_in_facts() {
    let facts = facts(json!({"n": 4_539_148_803_436_467_u64, "m": 17}));
    assert_eq!(facts[1..], ["m: 17", "n: [REDACTED]"]);
}

#[test]
fn a_text_is_told_by_its_beginning_and_by_lines_that_fail() {
    let beginning = "quiet words here\n".repeat(40);
    let failure = format!("  ERROR: {}", "disk full ".repeat(30));
    let text = format!("{beginning}{failure}\nno more\n");
    let facts = FIREWALL.frame(&RawResult::text(text.clone()), &spec(ResponseMode::Summary)).facts;
    assert_eq!(facts.len(), 3);
    assert!(text.starts_with(facts[0].trim_end_matches('…')));
    assert!(facts[1].starts_with("line 41: ERROR: disk full disk"), "{}", facts[1]);
    assert_eq!(facts[1].chars().count(), "line 41: ".len() + 160);
    let more = text.chars().count() - 500;
    assert_eq!(facts[2], format!("… ({more} more characters; full data via handle)"));
    let exact = RawResult::text("w".repeat(500));
    assert_eq!(FIREWALL.frame(&exact, &spec(ResponseMode::Summary)).facts, ["w".repeat(500)]);
}

#[test]
fn eight_lines_are_told_first_those_that_bear_on_the_goal() {
    let words = ["disk", "net", "cpu", "fan", "ram", "bus", "usb", "gpu", "psu", "nic"];
    let failures: String = words.iter().map(|word| format!("{word} error\n")).collect();
    let text = format!("{}{failures}the payment was late\n", "quiet words here\n".repeat(40));
    let lines = |goal: &str| -> Vec<String> {
        let facts = facts_for(goal, &RawResult::text(text.clone()));
        facts.into_iter().filter(|fact| fact.starts_with("line ")).collect()
    };
    let plain = lines("");
    assert_eq!((plain.len(), plain[0].as_str()), (8, "line 41: disk error"));
    assert_eq!(plain[7], "line 48: gpu error");
    let wanted = lines("payment");
    assert_eq!(wanted.len(), 8);
    assert!(wanted.contains(&"line 51: the payment was late".to_owned()), "{wanted:?}");
    assert!(!wanted.contains(&"line 48: gpu error".to_owned()), "{wanted:?}");
}

#[test]
fn facts_that_bear_on_the_goal_come_first() {
    let object = RawResult::json(json!({"a": 1, "b": 2, "invoice": 3}));
    assert_eq!(facts_for("invoice", &object)[..2], ["Keys: invoice, a, b", "invoice: 3"]);
    let rows = RawResult::json(json!([{"a": 1, "invoice": 3}, {"a": 2, "invoice": 5}]));
    let facts = facts_for("invoice", &rows);
    let at = |with: &str| facts.iter().position(|fact| fact.starts_with(with)).unwrap();
    assert!(at("invoice: min") < at("a: min"), "{facts:?}");
    let list = RawResult::json(json!(["one", "two", "the invoice"]));
    let facts = facts_for("invoice", &list);
    assert!(
        facts.iter().position(|fact| fact == "the invoice") < facts.iter().position(|f| f == "one")
    );
}

#[test]
fn an_average_is_told_only_where_every_number_is_shown() {
    let told = |middle: u64| {
        let rows = json!([{ "n": 1 }, { "n": middle }, { "n": 9_000_000_000_000_000_000_u64 }]);
        let facts = facts(rows);
        beginning(&facts, "n: ").unwrap().to_owned()
    };
    assert!(told(4_000).contains("avg=3000000000000"), "{}", told(4_000));
    assert!(told(4_539_148_803_436_467).ends_with("avg=[REDACTED]"));
}
