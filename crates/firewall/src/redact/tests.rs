use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::redact::rule::Find;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::builtin);

fn masked(text: &str) -> String {
    REDACTOR.text(text, &mut Counts::new()).into_owned()
}

#[test]
fn every_rule_compiles_and_has_examples() {
    Redactor::compiled(builtin::rules()).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for rule in builtin::rules() {
        assert!(ids.insert(rule.id), "{} stands twice", rule.id);
        assert!(!rule.masks.is_empty() && !rule.keeps.is_empty(), "{}", rule.id);
    }
}

#[test]
fn every_rule_masks_and_keeps_its_examples() {
    let mut wrong = Vec::new();
    for rule in builtin::rules() {
        let engine = Engine::new(vec![rule]).unwrap();
        for (text, secret) in rule.masks {
            let out = pieces::mask(&engine, text, &mut Counts::new(), &mut Work::default());
            if out != text.replace(secret, MASK) {
                wrong.push(format!("{}: {text:?} became {out:?}", rule.id));
            }
        }
        for text in rule.keeps {
            let out = pieces::mask(&engine, text, &mut Counts::new(), &mut Work::default());
            if out != *text {
                wrong.push(format!("{}: {text:?} became {out:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_anchor_that_no_example_needs_is_no_rule() {
    for rule in builtin::rules() {
        if let Find::Near { anchors, .. } = rule.find {
            assert!(anchors.iter().all(|a| !a.is_empty() && a.is_ascii()), "{}", rule.id);
        }
    }
}

#[test]
fn values_are_masked_in_their_surroundings() {
    for (text, expected) in [
        ("Authorization: Bearer abc.DEF-123_~+/==", "Authorization: Bearer [REDACTED]"),
        ("api_key=ABCDEFGH12345678", "api_key=[REDACTED]"),
        ("access_key=short", "access_key=short"),
        ("postgres://user:p4ss@db.internal:5432/app", "postgres://[REDACTED]:5432/app"),
        ("postgres://user:p4ss@db/app", "postgres://[REDACTED]@db/app"),
        ("https://user@host/path", "https://user@host/path"),
        ("redis://:pw@h", "redis://[REDACTED]@h"),
        ("total tokens: 123456", "total tokens: 123456"),
        ("4012 8888 8888 1881", "[REDACTED]"),
        ("3782 822463 10005", "[REDACTED]"),
        ("password=hunter2", "password=[REDACTED]"),
        (
            "{\"a\":1,\"password\": \"x y\",\"b\":2}",
            "{\"a\":1,\"password\": \"[REDACTED]\",\"b\":2}",
        ),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn what_is_left_between_masks_is_looked_at_again() {
    let text = "536-22-1234 419-06-3188 536-22-1235 419-06-3189";
    let once = masked(text);
    assert_eq!(once, "[REDACTED] [REDACTED] [REDACTED] [REDACTED]");
    assert_eq!(masked(&once), once);
}

#[test]
fn no_value_falls_between_two_windows() {
    for n in 0..140 {
        let text = format!("pwd {}password=\"correct horse battery\"", "x ".repeat(n));
        assert!(!masked(&text).contains("horse"), "{n}");
    }
}

#[test]
fn hidden_characters_hide_nothing() {
    for text in [
        "value: jane.roe@cor\u{200b}p.example.com",
        "jane\u{ad}.roe@corp.example.com",
        "4012\u{2060}888888881881",
        "４０１２８８８８８８８８１８８１",
        "pass\u{200b}word=hunter2",
    ] {
        let out = masked(text);
        assert!(out.ends_with(MASK), "{text} became {out}");
    }
}

#[test]
fn keys_numbers_and_fields_of_values_are_masked() {
    let value = json!({
        "jane.roe@corp.example.com": 1,
        "pan": 4_111_111_111_111_111_u64,
        "at": 1_714_000_000_000_u64,
        "token": 12345,
        "total_tokens": 123_456,
        "nested": [{"apiKey": {"a": 1}}, "call +14155552671"],
    });
    let mut counts = Counts::new();
    let out = REDACTOR.value(&value, &mut counts);
    assert_eq!(
        out,
        json!({
            MASK: 1,
            "pan": MASK,
            "at": 1_714_000_000_000_u64,
            "token": MASK,
            "total_tokens": 123_456,
            "nested": [{"apiKey": MASK}, "call [REDACTED]"],
        })
    );
    assert_eq!(counts["field"], 2);
    assert_eq!(counts["email"], 1);
}

#[test]
fn what_nests_too_deep_is_left_out() {
    let mut value = json!("jane.roe@corp.example.com");
    for _ in 0..200 {
        value = json!([value]);
    }
    let out = REDACTOR.value(&value, &mut Counts::new()).to_string();
    assert!(out.contains("beyond depth limit") && !out.contains("jane"));
}

#[test]
fn without_rules_everything_is_masked() {
    let closed = Redactor { engine: None };
    assert_eq!(closed.text("anything", &mut Counts::new()), MASK);
    assert_eq!(closed.text("", &mut Counts::new()), "");
}

#[test]
fn hostile_text_costs_linear_work() {
    for unit in [
        "a",
        "@",
        "eyJ",
        "1",
        "1 ",
        "eyJa.",
        "-----BEGIN PRIVATE KEY-----!",
        "://a:",
        "password=",
        "sk-",
        "key=",
        "+1 ",
        "a@b.",
        "GB82",
        "\u{200b}a",
        "bearer ",
        "[REDACTED]",
        "x@y.zz ",
    ] {
        let cost = |bytes: usize| {
            let mut work = Work::default();
            REDACTOR.measured(&unit.repeat(bytes / unit.len()), &mut Counts::new(), &mut work);
            work.scanned
        };
        let (small, large) = (cost(20_000), cost(80_000));
        assert!(large <= small * 5 + 100_000, "{unit:?}: {small} bytes, then {large}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[a-z0-9@.:/ =\"'+-]{0,40}",
        prop::sample::select(
            builtin::rules()
                .iter()
                .flat_map(|rule| rule.masks.iter().map(|(text, _)| (*text).to_owned()))
                .collect::<Vec<_>>()
        ),
        Just(MASK.to_owned()),
        Just("[REDACTED".to_owned()),
        Just("password=".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("\u{200b}".to_owned()),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn masking_twice_is_masking_once(text in texts()) {
        let once = masked(&text);
        prop_assert_eq!(masked(&once), once);
    }

    #[test]
    fn an_example_between_blanks_is_always_masked(
        before in "[a-z ]{0,20}",
        after in "[a-z ]{0,20}",
        n in 0_usize..1000,
    ) {
        let rules = builtin::rules();
        let rule = rules[n % rules.len()];
        let (text, secret) = rule.masks[0];
        let out = masked(&format!("{before} \n{text}\n {after}"));
        prop_assert!(!out.contains(secret), "{} in {:?}", rule.id, out);
    }
}
