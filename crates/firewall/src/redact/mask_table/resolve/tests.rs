use std::sync::Arc;

use serde_json::json;
use weaver_types::ValueFamily;

use super::*;
use crate::redact::mask_table::ValueToMask;

/// A table of these values, `[EMAIL_1]` and so on.
fn table_of(values: &[&str]) -> MaskTable {
    let (table, kind) = (MaskTable::new(), Arc::from("email"));
    for (at, text) in values.iter().enumerate() {
        let (family, form) = (ValueFamily::Personal, ValueForm::Text);
        let mask = table.mask(&ValueToMask { kind: &kind, family, form, text }, None);
        assert_eq!(mask, Some(format!("[EMAIL_{}]", at + 1)));
    }
    table
}

fn is_email(kind: &[u8]) -> bool {
    kind == b"EMAIL"
}

#[test]
fn a_quote_doubles_its_backslashes_with_each_level() {
    for (before, after, expected) in [
        (r#"a""#, r#"" b"#, Some(1)),
        (r#"a\""#, r#"\""#, Some(2)),
        (r#"a\\\""#, r#"\\\" b"#, Some(4)),
        (r#"a\\""#, r#"\\""#, None),
        (r#"a\""#, r#"""#, None),
        (r#"a""#, "b", None),
        ("a", r#"""#, None),
        (r#"""#, r#"""#, Some(1)),
    ] {
        assert_eq!(quote_width(before, after), expected, "{before} {after}");
    }
}

#[test]
fn masks_are_resolved_to_128_levels() {
    let table = table_of(&["a@b.co"]);
    let is_resolved = |levels: usize, wrap: fn(Value) -> Value| {
        let nested = (0..levels).fold(json!("[EMAIL_1]"), |inner, _| wrap(inner));
        table.resolve(&nested, &is_email).arguments.is_some()
    };
    for wrap in [|inner| json!([inner]), |inner| json!({ "a": inner })] {
        assert!(is_resolved(0, wrap) && is_resolved(128, wrap) && !is_resolved(129, wrap));
    }
}

#[test]
fn a_text_is_escaped_as_in_a_string() {
    assert_eq!(json_escaped(r#"a "b" \"#), r#"a \"b\" \\"#);
    assert_eq!(json_escaped(""), "");
}

#[test]
fn values_stand_in_place_of_masks_and_the_rest_stays() {
    let shown = |text: &str| {
        replace_masks(text, |mask, range, _| (mask == "[A_1]").then(|| (range, "x".to_owned())))
            .into_owned()
    };
    assert_eq!(shown("to [A_1], [B_1] and [A_1]."), "to x, [B_1] and x.");
    assert_eq!(shown("[A_1][A_1]"), "xx");
    assert_eq!(shown("[B_1]"), "[B_1]");
}

#[test]
fn values_add_a_mebibyte_to_the_arguments_of_a_call_and_not_a_byte_more() {
    // Sixteen of the first are a mebibyte; the second is one byte.
    let table = table_of(&["x".repeat(64 * 1_024).as_str(), "y"]);
    let (long, short) = ("[EMAIL_1]", "[EMAIL_2]");
    let exceeds = |arguments: &Value| {
        let resolved = table.resolve(arguments, &is_email);
        assert_eq!(resolved.arguments.is_none(), resolved.exceeds_limits);
        assert_eq!(resolved.resolved.is_empty(), resolved.exceeds_limits);
        resolved.exceeds_limits
    };
    let with = |last: &str| -> [Value; 4] {
        let alone: Vec<&str> = [vec![long; 16], vec![last]].concat();
        let fields: Map<String, Value> =
            alone.iter().enumerate().map(|(at, mask)| (format!("f{at:02}"), json!(mask))).collect();
        [json!(alone), json!(alone.join(" ")), json!([long.repeat(16), last]), json!(fields)]
    };
    for arguments in with("end") {
        assert!(!exceeds(&arguments));
    }
    for arguments in with(short) {
        assert!(exceeds(&arguments));
    }
    for arguments in with(&format!("to {short}")) {
        assert!(exceeds(&arguments));
    }
}

#[test]
fn what_stands_behind_too_many_values_is_not_read() {
    let table = table_of(&["x".repeat(64 * 1_024).as_str()]);
    let unknown = |arguments: Vec<&str>| {
        let resolved = table.resolve(&json!(arguments), &is_email);
        assert!(resolved.exceeds_limits);
        resolved.unknown.map(|unknown| unknown.pointer)
    };
    assert_eq!(unknown([vec!["[EMAIL_1]"; 17], vec!["[EMAIL_9]"]].concat()), None);
    assert_eq!(
        unknown([vec!["[EMAIL_1]"; 16], vec!["[EMAIL_9]", "[EMAIL_1]"]].concat()).as_deref(),
        Some("/16")
    );
}

#[test]
fn a_run_gives_out_256_kibibytes_and_not_a_byte_more() {
    let long: Vec<String> = ["a", "b", "c", "d"].map(|letter| letter.repeat(64 * 1_024)).into();
    let values: Vec<&str> = long.iter().map(String::as_str).chain(["y"]).collect();
    let table = table_of(&values);
    let exceeds = |masks: &[u8]| {
        let masks: Vec<String> = masks.iter().map(|number| format!("[EMAIL_{number}]")).collect();
        table.resolve(&json!(masks), &is_email).exceeds_limits
    };
    assert!(!exceeds(&[1, 2, 3, 4]) && exceeds(&[1, 2, 3, 4, 5]) && !exceeds(&[1, 2, 3, 5]));
    // The same value counts once, and one that was given out not again.
    assert!(!exceeds(&[1, 2, 3, 4, 4]));
    table.mark_disclosed(["[EMAIL_1]", "[EMAIL_2]", "[EMAIL_3]", "[EMAIL_4]"]);
    assert!(!exceeds(&[1, 2, 3, 4]) && exceeds(&[5]));
}
