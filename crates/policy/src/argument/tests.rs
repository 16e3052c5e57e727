use super::*;
use serde_json::json;

fn predicate(value: Value) -> ArgumentPredicate {
    serde_json::from_value(value).unwrap()
}

fn at_x(mut tests: Value, arguments: Value) -> bool {
    tests["at"] = json!("/x");
    predicate(tests).holds(&arguments)
}

#[derive(Debug)]
struct Everywhere(Option<ValueOrigin>);

impl ValueOrigins for Everywhere {
    fn origin(&self, _at: &JsonPointer, _value: &Value) -> Option<ValueOrigin> {
        self.0
    }
}

#[test]
fn each_test_holds_for_its_type_only() {
    let table = [
        (json!({ "equals": 1 }), json!(1.0), json!("1")),
        (json!({ "in": ["a", 2] }), json!("a"), json!("b")),
        (json!({ "min": 3, "max": 4.5 }), json!(4.5), json!(4.6)),
        (json!({ "min": 3 }), json!(3), json!("3")),
        (json!({ "prefix": ["ab", "x"] }), json!("abc"), json!(["ab"])),
        (json!({ "suffix": [".md"] }), json!("a.md"), json!("a.MD")),
        (json!({ "glob": ["a*c"] }), json!("abc"), json!("abcd")),
        (json!({ "inside": ["/d"] }), json!("/d/e"), json!("/e")),
        (json!({ "domains": ["a.b"] }), json!("https://a.b/c"), json!("https://b.a/")),
        (json!({ "min_length": 2, "max_length": 2 }), json!("éé"), json!("é")),
        (json!({ "max_length": 1 }), json!([1]), json!({})),
        (json!({ "holds_paths": true }), json!("/d"), json!("d")),
        (json!({ "holds_paths": false }), json!("d"), json!(["/d"])),
        (json!({ "paths_inside": ["/d"] }), json!(["/d/e"]), json!("/e")),
        (json!({ "holds_paths": true, "paths_inside": ["/d"] }), json!("/d"), json!("/e")),
    ];
    for (tests, good, bad) in table {
        assert!(at_x(tests.clone(), json!({ "x": good })), "{tests}");
        assert!(!at_x(tests.clone(), json!({ "x": bad })), "{tests}");
        assert!(!at_x(tests.clone(), json!({ "y": good })), "{tests} without a value");
    }
}

#[test]
fn all_tests_of_one_predicate_must_hold() {
    let both = json!({ "prefix": ["a"], "max_length": 2 });
    assert!(at_x(both.clone(), json!({ "x": "ab" })));
    assert!(!at_x(both.clone(), json!({ "x": "abc" })));
    assert!(!at_x(both, json!({ "x": "bb" })));
}

#[test]
fn presence_counts_null_as_a_value() {
    assert!(at_x(json!({ "present": true }), json!({ "x": null })));
    assert!(!at_x(json!({ "present": true }), json!({})));
    assert!(at_x(json!({ "present": false }), json!({ "y": 1 })));
    assert!(!at_x(json!({ "present": false }), json!({ "x": null })));
    assert!(at_x(json!({ "equals": null }), json!({ "x": null })));
    assert!(!at_x(json!({ "equals": null }), json!({ "x": 0 })));
}

#[test]
fn provenance_is_unknown_where_nobody_knows_it() {
    let user = predicate(json!({ "at": "/x", "provenance": ["user"], "max_length": 3 }));
    let arguments = json!({ "x": "abc" });
    assert_eq!(user.evaluate(Some(&arguments), None), Truth::Unknown);
    assert!(!user.holds(&arguments));
    let with = |origin| user.evaluate(Some(&arguments), Some(&Everywhere(origin)));
    assert_eq!(with(Some(ValueOrigin::User)), Truth::Yes);
    assert_eq!(with(Some(ValueOrigin::Trusted)), Truth::No);
    assert_eq!(with(None), Truth::No);
    assert_eq!(user.evaluate(Some(&json!({ "x": "abcd" })), None), Truth::No);
    assert_eq!(user.evaluate(Some(&json!({})), None), Truth::No);
    assert_eq!(user.evaluate(None, Some(&Everywhere(None))), Truth::Unknown);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let refused = [
        json!({ "at": "/x" }),
        json!({ "at": "x", "equals": 1 }),
        json!({ "at": "/x", "equal": 1 }),
        json!({ "at": "/x", "present": false, "max": 1 }),
        json!({ "at": "/x", "present": true, "max": null }),
        json!({ "at": "/x", "min": 2, "max": 1 }),
        json!({ "at": "/x", "min_length": 2, "max_length": 1 }),
        json!({ "at": "/x", "prefix": [""] }),
        json!({ "at": "/x", "inside": ["/a/../b"] }),
        json!({ "at": "/x", "domains": ["*"] }),
        json!({ "at": "/x", "provenance": ["model"] }),
        json!({ "at": "/x", "glob": [""] }),
        json!({ "at": "/x", "in": vec![1; 1_001] }),
    ];
    for value in refused {
        assert!(serde_json::from_value::<ArgumentPredicate>(value.clone()).is_err(), "{value}");
    }
}

#[test]
fn lists_and_texts_of_a_test_are_bounded() {
    let problem = |tests: Value| {
        let mut tests = tests;
        tests["at"] = json!("/x");
        serde_json::from_value::<ArgumentPredicate>(tests).err().map(|error| error.to_string())
    };
    let many = |count: usize| vec!["a".to_owned(); count];
    let list = "the condition at `/x`: a list has more than 1000 entries";
    let text = "the condition at `/x`: a text is empty or has more than 4096 bytes";
    for name in ["in", "glob", "prefix", "suffix", "inside", "paths_inside", "domains"] {
        assert_eq!(problem(json!({ name: many(1_000) })), None, "{name}");
        for count in [1_001, 1_500] {
            assert_eq!(problem(json!({ name: many(count) })).as_deref(), Some(list), "{name}");
        }
    }
    for name in ["prefix", "suffix", "inside", "paths_inside"] {
        assert_eq!(problem(json!({ name: ["a".repeat(4_096)] })), None, "{name}");
        for wrong in ["".to_owned(), "a".repeat(4_097), "a".repeat(9_000)] {
            assert_eq!(problem(json!({ name: [wrong] })).as_deref(), Some(text), "{name}");
        }
    }
    let crossed = Some("the condition at `/x`: the least is greater than the most".to_owned());
    for (tests, expected) in [
        (json!({ "min": 2, "max": 2 }), None),
        (json!({ "min": 2, "max": 1.5 }), crossed.clone()),
        (json!({ "min_length": 2, "max_length": 2 }), None),
        (json!({ "min_length": 3, "max_length": 2 }), crossed),
    ] {
        assert_eq!(problem(tests.clone()), expected, "{tests}");
    }
}

#[test]
fn the_json_form_round_trips() {
    let value = json!({ "at": "/a/0", "in": [1, "b"], "glob": ["a*"], "provenance": ["user"] });
    let text = serde_json::to_string(&predicate(value.clone())).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
}

/// Wherever a statement may hide, a rule that holds what is no read must see it.
#[test]
fn what_is_no_plain_statement_is_no_read() {
    let is_no_read = |value: Value| at_x(json!({ "reading_sql": false }), json!({ "x": value }));
    for value in [
        json!("drop table t"),
        json!(["select 1", "drop table t"]),
        json!(["select 1", { "sql": "drop table t" }]),
        json!(["select 1", 5]),
        json!({ "sql": "drop table t" }),
    ] {
        assert!(is_no_read(value.clone()), "{value}");
    }
    for value in
        [json!("select 1"), json!(["select 1", "select 2"]), json!(5), json!([]), json!({})]
    {
        assert!(!is_no_read(value.clone()), "{value}");
    }
}
