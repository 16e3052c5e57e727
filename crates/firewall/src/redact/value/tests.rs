use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Number, Value, json};

use super::number::{MIN_DIGITS_IN_CONTEXT, is_small};
use super::{
    CutReason, FieldName, MASK, NoPostprocess, ValueRedactor, WalkBounds, redact_with_name,
};
use crate::redact::field_names::{FieldMeaning, FieldNameClassifier};
use crate::redact::{Counts, Redactor};

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::builtin);

fn redacted(value: &Value) -> Value {
    let once = REDACTOR.redact_value(value, &mut Counts::new());
    let twice = REDACTOR.redact_value(&once, &mut Counts::new());
    assert_eq!(twice, once, "not idempotent for {value}");
    once
}

#[track_caller]
fn check(value: Value, wanted: Value) {
    assert_eq!(redacted(&value), wanted);
}

#[test]
fn whatever_lies_under_a_sensitive_name_is_masked_whole() {
    check(
        json!({"user_email": {"nested": [1]}, "apiKey": ["a", "b"], "cvv": 123, "total tokens": 123_456}),
        json!({"user_email": MASK, "apiKey": MASK, "cvv": MASK, "total tokens": 123_456}),
    );
    check(
        json!({"password": null, "has_token": true, "token": false, "max_tokens": 9}),
        json!({"password": null, "has_token": true, "token": false, "max_tokens": 9}),
    );
}

#[test]
fn a_list_of_messages_is_read_and_what_is_empty_hides_nothing() {
    let messages =
        json!({"emails": [{"subject": "Order damaged", "from": "ana@x.org"}], "total": 1});
    let shown = json!({"emails": [{"subject": "Order damaged", "from": MASK}], "total": 1});
    check(messages.clone(), shown.clone());
    // The same in a text.
    check(json!([messages.to_string()]), json!([shown.to_string()]));
    check(json!({"emails": ["Ana", {"a": 1}]}), json!({"emails": MASK}));
    check(
        json!({"emails": [], "phone": "", "email": {}, "tokens": [], "password": ""}),
        json!({"emails": [], "phone": "", "email": {}, "tokens": [], "password": MASK}),
    );
}

#[test]
fn what_describes_values_is_shown() {
    let document = json!({
        "properties": {
            "password": {"type": "string", "minLength": 12},
            "otp": {"type": ["string", "null"]},
        },
        "securitySchemes": {"bearerAuth": {"type": "http", "scheme": "bearer"}},
    });
    check(document.clone(), document.clone());
    check(json!([document.to_string()]), json!([document.to_string()]));
    let valued = json!({"password": {"type": "string", "default": "plover"}});
    check(valued.clone(), json!({"password": MASK}));
    check(json!([valued.to_string()]), json!(["{\"password\":\"[REDACTED]\"}"]));
    check(json!({"password": {"is": "plover"}}), json!({"password": MASK}));
}

#[test]
fn a_name_beside_a_value_names_it() {
    check(
        json!([{"name": "DB_PASSWORD", "value": "plover"}, {"name": "DB_HOST", "value": "db1"}]),
        json!([{"name": "DB_PASSWORD", "value": MASK}, {"name": "DB_HOST", "value": "db1"}]),
    );
    check(
        json!({"key": "Authorization", "description": "plain", "val": ["plover"]}),
        json!({"key": "Authorization", "description": "plain", "val": MASK}),
    );
    check(
        json!({"headers": [["Authorization", "plover"], ["Accept", "text/html"]]}),
        json!({"headers": [["Authorization", MASK], ["Accept", "text/html"]]}),
    );
    check(
        json!({"required": ["password", "plover"], "name": "token", "note": "plover"}),
        json!({"required": ["password", "plover"], "name": "token", "note": "plover"}),
    );
}

#[test]
fn a_sibling_is_found_in_any_case_and_with_a_prefix() {
    check(
        json!({"Parameters": [{"Name": "/prod/db/password", "Type": "SecureString", "Value": "plover", "Version": 3}]}),
        json!({"Parameters": [{"Name": "/prod/db/password", "Type": "SecureString", "Value": MASK, "Version": 3}]}),
    );
    check(
        json!([{"Name": "dsn", "Type": "SecureString", "Value": "plover"}, {"Name": "dsn", "Type": "String", "Value": "plover"}]),
        json!([{"Name": "dsn", "Type": "SecureString", "Value": MASK}, {"Name": "dsn", "Type": "String", "Value": "plover"}]),
    );
    check(
        json!([{"ParameterKey": "DBPassword", "ParameterValue": "plover"}, {"ParameterKey": "Size", "ParameterValue": "t3.large"}]),
        json!([{"ParameterKey": "DBPassword", "ParameterValue": MASK}, {"ParameterKey": "Size", "ParameterValue": "t3.large"}]),
    );
    check(
        json!([{"kty": "EC", "d": "plover", "x": "xyzzy"}, {"d": "plover"}]),
        json!([{"kty": "EC", "d": MASK, "x": "xyzzy"}, {"d": "plover"}]),
    );
}

#[test]
fn a_name_that_announces_a_secret_hides_what_looks_like_one() {
    check(
        json!({"pass": "sunshine", "db_pass": "Blue7 whale 44 song", "pw": "moonlight", "psk": "sunflower", "contraseña": "girasol", "пароль": "podsolnuh", "密码": "xiangrikui"}),
        json!({"pass": MASK, "db_pass": MASK, "pw": MASK, "psk": MASK, "contraseña": MASK, "пароль": MASK, "密码": MASK}),
    );
    let others = json!({"pass": 12, "passed": "sunshine", "compass": "northwest", "passes": "sunshine", "pw": "none", "key": "sunshine", "passport_check": "sunshine"});
    check(others.clone(), others);
}

#[test]
fn names_hide_values_in_the_lines_of_a_text() {
    let lines = "{\"user\":\"a\",\"cvv\":\"123\",\"passwords\":[\"plover\"],\"otp\":\"482913\"}\n{\"session_id\":\"abc-def\",\"user\":\"b\"}\n";
    check(
        json!([lines]),
        json!([
            "{\"user\":\"a\",\"cvv\":\"[REDACTED]\",\"passwords\":\"[REDACTED]\",\"otp\":\"[REDACTED]\"}\n{\"session_id\":\"[REDACTED]\",\"user\":\"b\"}\n"
        ]),
    );
    for before in ["HTTP 200\n", "```json\n", "data: ", "[\"x\"] then "] {
        check(
            json!(format!("{before}{{\"otp\":482913,\"cvv\":123}}\n")),
            json!(format!("{before}{{\"otp\":\"[REDACTED]\",\"cvv\":\"[REDACTED]\"}}\n")),
        );
    }
    let deep = |value: &str| {
        json!(format!("{{\"x\":{}{},\"cvv\":{value}}}", "[".repeat(130), "]".repeat(130)))
    };
    check(deep("\"123\""), deep("\"[REDACTED]\""));
    let code = json!("const form = {\"password\": input(), user: {\"otp\": code}};");
    check(code.clone(), code);
}

proptest! {
    /// One classifier for names: what `{"name": "value"}` masks as a text, a field masks.
    #[test]
    fn a_field_hides_what_its_text_hides(
        name in "pass|db_pass|pw|psk|mdp|contraseña|пароль|密码|mot_de_passe|password_prod|kennwort|token|\
                 token_value|writekey|consumerkey|apiKey|api_key_old|secret|key|auth|session",
        value in "[a-z]{2,12}|[A-Za-z0-9]{6,24}|[a-z0-9!#. -]{4,24}|[a-z]{3,8}( [a-z0-9]{2,8}){1,4}|[(\\[]?[A-Za-z0-9]{8}[)\\]=]?",
    ) {
        let field = json!({ name.clone(): value });
        let text = field.to_string();
        let is_masked = REDACTOR.redact_text(&text, &mut Counts::new()) != text;
        let out = redacted(&field);
        prop_assert!(!is_masked || out != field, "{text}");
    }
}

#[test]
fn what_evidence_says_of_a_named_field_it_says_in_a_text_too() {
    for text in [r#"{"psk":"[AaaaaAA0"}"#, r#"{"pass":"(AbcdEF90"}"#] {
        let field: Value = serde_json::from_str(text).unwrap();
        let is_masked = REDACTOR.redact_text(text, &mut Counts::new()) != text;
        assert!(!is_masked || redacted(&field) != field, "{text}");
    }
}

#[test]
fn columns_that_are_named_once_are_masked_in_every_row() {
    check(
        json!({"columns": ["id", "password"], "rows": [[1, "plover"], [2, "xyzzy", "more"], "odd"]}),
        json!({"columns": ["id", "password"], "rows": [[1, MASK], [2, MASK, "more"], "odd"]}),
    );
    check(
        json!({"fields": [{"name": "ssn"}, {"name": "n"}], "data": [[419_063_188, 2]]}),
        json!({"fields": [{"name": "ssn"}, {"name": "n"}], "data": [[MASK, 2]]}),
    );
}

#[test]
fn json_in_strings_is_walked() {
    let inner = json!({"password": "plover", "n": 1}).to_string();
    let masked = json!({"password": MASK, "n": 1}).to_string();
    check(json!({"body": inner}), json!({"body": masked}));
    let twice = json!(json!({"body": inner}).to_string()).to_string();
    let out = redacted(&json!({ "raw": twice })).to_string();
    assert!(!out.contains("plover") && out.contains("body"), "{out}");
    // Left as it was where nothing is masked, to the last blank.
    check(json!(" { \"a\" :1 } "), json!(" { \"a\" :1 } "));
    // One of two equal keys is dropped by a reader.
    let doubled =
        r#"{"pass_phrase":{"x":"plover"},"pass_phrase":1,"\u0061":{"pwd":"plover"},"a":2}"#;
    assert!(!redacted(&json!(doubled)).to_string().contains("plover"));
}

#[test]
fn json_in_json_has_an_end() {
    let mut value = json!({"password": "plover"});
    for _ in 0..8 {
        value = json!({"b": value.to_string()});
    }
    let out = redacted(&value).to_string();
    assert!(!out.contains("plover") && out.contains(&CutReason::Strings(4).to_string()), "{out}");
}

#[test]
fn what_lies_too_deep_is_left_out() {
    let deep = (0..200).fold(json!("plover"), |value, _| json!([value]));
    let mut counts = Counts::new();
    let out = REDACTOR.redact_value(&deep, &mut counts).to_string();
    assert!(!out.contains("plover") && out.contains(&CutReason::Depth(128).to_string()));
    assert_eq!(counts["depth"], 1);
    let deep = (0..200).fold(json!("plover"), |value, _| json!({ "a": value }));
    assert!(!redacted(&deep).to_string().contains("plover"));
}

#[test]
fn many_masked_keys_stay_as_many_fields() {
    let map: serde_json::Map<String, Value> =
        (0..2_000).map(|n| (format!("p{n}@corp.example.com"), json!(n))).collect();
    let out = redacted(&Value::Object(map));
    assert_eq!(out.as_object().unwrap().len(), 2_000);
    assert!(!out.to_string().contains('@'));
}

#[test]
fn a_name_gives_its_value_a_context() {
    let text = "jane.roe@corp.example.com";
    check(json!({ "note": text, "contact": text }), json!({ "note": MASK, "contact": MASK }));
    // What the rules see in `name: value` they see in a field too.
    for (key, value) in [("api_key_v2", "Zx81Qw-99aKdPq7713Lm"), ("db_pass", "hunter2!")] {
        let alone = REDACTOR.redact_text(value, &mut Counts::new()).into_owned();
        let whole = format!("{key}: {value}");
        let text = REDACTOR.redact_text(&whole, &mut Counts::new()).into_owned();
        let out = redacted(&json!({ key: value }));
        let seen = out[key].as_str().unwrap();
        assert_eq!(format!("{key}: {seen}"), text, "{key} (alone: {alone})");
    }
}

#[test]
fn keys_and_numbers_are_scanned() {
    check(json!({"4539148803436467": 1}), json!({ MASK: 1 }));
    check(json!([4_539_148_803_436_467_u64, 17]), json!([MASK, 17]));
    check(json!([4_539_148_803_436_467.0_f64, 17.5]), json!([MASK, 17.5]));
    check(
        json!({"count": 123_456, "at": 1_767_323_045_006_i64}),
        json!({"count": 123_456, "at": 1_767_323_045_006_i64}),
    );
}

proptest! {
    #[test]
    fn small_numbers_are_no_values_under_any_name(
        number in prop_oneof![any::<i64>(), -20_000..20_000_i64],
        name in "pin|cvv|card|passport|ssn|account|id|[a-z]{1,8}",
        context: bool,
    ) {
        let (number, text) = (Number::from(number), number.to_string());
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        prop_assert_eq!(is_small(&number), digits < MIN_DIGITS_IN_CONTEXT);
        let walk = ValueRedactor::new(&REDACTOR, FieldNameClassifier::default(), WalkBounds::WHOLE_VALUE, NoPostprocess);
        let meaning = FieldMeaning { has_context_word: context, ..FieldMeaning::default() };
        let hidden = walk.is_sensitive_number(&text, Some(FieldName { name: &name, meaning }));
        prop_assert!(!(is_small(&number) && hidden));
    }
}

#[test]
fn a_token_is_one_long_word_with_a_digit_and_no_date() {
    for (text, is_one) in [
        ("abcdefghijk1", true),
        ("abcdefghij1", false),
        ("abcdefghijkl", false),
        ("abcdef ghijk1", false),
        ("2026-01-02T10:20", false),
        ("2026-01x02T10:20", true),
        ("20a6-01-02T10:20", true),
        ("2026x01-02T10:20", true),
        ("", false),
    ] {
        assert_eq!(super::looks_like_key(text), is_one, "{text}");
    }
}

#[test]
fn two_names_that_are_masked_alike_stay_two() {
    let mut taken = serde_json::Map::new();
    let mut doubles = std::collections::BTreeMap::new();
    for expected in ["a", "a (2)", "a (3)"] {
        let name = super::unused_name("a".to_owned(), &taken, &mut doubles);
        assert_eq!(name, expected);
        taken.insert(name, Value::Null);
    }
    taken.insert("b".to_owned(), Value::Null);
    taken.insert("b (2)".to_owned(), Value::Null);
    assert_eq!(super::unused_name("b".to_owned(), &taken, &mut doubles), "b (3)");
}

#[test]
fn rows_whose_columns_are_named_once_go_no_deeper_than_the_bounds() {
    let value =
        json!({ "columns": ["id", "password"], "rows": [[[["id"]], "plover", [["deep"]]]] });
    let rows = |depth: usize| {
        let bounds = WalkBounds { depth, ..WalkBounds::WHOLE_VALUE };
        let mut walk =
            ValueRedactor::new(&REDACTOR, FieldNameClassifier::default(), bounds, NoPostprocess);
        walk.value(&value, None, 0)["rows"].clone()
    };
    assert_eq!(rows(1), json!("[cut: deeper than 1 levels]"));
    assert_eq!(rows(2), json!(["[cut: deeper than 2 levels]"]));
    assert_eq!(
        rows(3),
        json!([["[cut: deeper than 3 levels]", MASK, "[cut: deeper than 3 levels]"]])
    );
    assert_eq!(
        rows(4),
        json!([[["[cut: deeper than 4 levels]"], MASK, ["[cut: deeper than 4 levels]"]]])
    );
    assert_eq!(rows(5), json!([[[["id"]], MASK, [["deep"]]]]));
}

#[test]
fn what_lies_too_deep_or_behind_too_many_is_counted_in_its_place() {
    let shown = |value: Value, depth: usize, prunes: bool| {
        let bounds =
            WalkBounds { depth, items: 2, marks_in_place: prunes, ..WalkBounds::WHOLE_VALUE };
        ValueRedactor::new(&REDACTOR, FieldNameClassifier::default(), bounds, NoPostprocess)
            .value(&value, None, 0)
    };
    let value = json!({ "list": [1, 2, 3], "map": { "a": 1 } });
    let pruned = json!({ "list": "… 3 items", "map": "… 1 fields" });
    assert_eq!(shown(value.clone(), 1, true), pruned);
    assert_eq!(
        shown(value.clone(), 2, true),
        json!({ "list": [1, 2, "… 1 more"], "map": { "a": 1 } })
    );
    assert_eq!(shown(value, 2, false), json!({ "list": [1, 2, "… (1 more)"], "map": { "a": 1 } }));
    // A name beside its value is a list of its own.
    let pairs = json!([["a", [1]], ["b", [2]]]);
    assert_eq!(shown(pairs.clone(), 1, true), json!(["… 2 items", "… 2 items"]));
    assert_eq!(shown(pairs.clone(), 2, true), json!([["a", "… 1 items"], ["b", "… 1 items"]]));
    assert_eq!(shown(pairs.clone(), 3, true), pairs);
}

#[test]
fn a_small_whole_number_is_never_scanned() {
    for (number, is_one) in [
        (json!(999), true),
        (json!(-999), true),
        (json!(0), true),
        (json!(1_000), false),
        (json!(-1_000), false),
        (json!(1.5), false),
        (json!(u64::MAX), false),
    ] {
        assert_eq!(is_small(number.as_number().unwrap()), is_one, "{number}");
    }
}

#[test]
fn a_value_is_read_with_its_name_and_masked_where_the_two_cannot_be_told_apart() {
    let shown = |key: &str, text: &str| {
        super::redact_with_name(&REDACTOR, key, text).map(|(shown, _)| shown)
    };
    assert_eq!(shown("phone", "5551234567").as_deref(), Some(MASK));
    assert_eq!(shown("total", "5551234567"), None);
    assert_eq!(shown("jane.roe@corp.net", "plain words"), None);
    assert_eq!(shown("jane.roe@corp.net", "joe@corp.net").as_deref(), Some(MASK));
}

#[test]
fn of_a_value_under_its_name_the_part_that_counts_is_masked() {
    let redactor = Redactor::builtin();
    let redacted = |name: &str, text: &str| {
        redact_with_name(&redactor, name, text).map(|(text, counts)| (text, counts.len()))
    };
    assert_eq!(
        redacted("phone", "ask for 5551234, then wait"),
        Some(("ask for [REDACTED], then wait".to_owned(), 1))
    );
    assert_eq!(redacted("phone", "none"), None);
    // A name that is masked itself tells nothing about its value.
    assert_eq!(redacted("ann@corp.com", "none"), None);
    assert_eq!(redacted("ann@corp.com", "bob@corp.com"), Some((MASK.to_owned(), 1)));
}
