//! What an approver sees is what is signed, all of it, and none of it hides.

use serde_json::{Value, json};
use weaver_policy::approval::ApprovalRequest;

use crate::approvals::request;

fn shown(arguments: Value) -> String {
    ApprovalRequest { arguments, ..request(1) }.render().unwrap()
}

#[test]
fn every_field_and_every_argument_is_there() {
    let text = shown(json!({
        "to": ["ana@example.com", "bob@example.com"],
        "nested": { "deep": { "force": true } },
        "empty": {},
        "none": null,
        "amount": 9_007_199_254_740_993_i64,
    }));
    let expected = "\n  \"amount\": 9007199254740993\n  \"empty\": {}\n  \"nested\":\n    \
        \"deep\":\n      \"force\": true\n  \"none\": null\n  \"to\":\n    \
        - \"ana@example.com\"\n    - \"bob@example.com\"\n";
    assert!(text.contains(expected), "{text}");
    let wire = serde_json::to_value(request(1)).unwrap();
    for field in wire.as_object().unwrap().keys() {
        assert!(text.contains(&format!("{field}:")), "{field}");
    }
    assert!(text.contains("deadline: 2027-01-15T08:14:00.000000Z (1800000840000000)"), "{text}");
}

#[test]
fn each_level_stands_further_in_than_the_one_above() {
    let text = shown(json!({ "list": [[[1], { "a": 2 }], []] }));
    let expected = "arguments:\n  \"list\":\n    -\n      -\n        - 1\n      -\n        \
        \"a\": 2\n    - []\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn only_times_are_shown_as_times() {
    let text = shown(json!({ "deadline": 1_800_000_840_000_000_i64 }));
    assert!(text.contains("\nv: 1\n"), "{text}");
    assert!(text.contains("\n  \"deadline\": 1800000840000000\n"), "{text}");
    assert!(
        text.contains("\nopened_at: 2027-01-15T07:59:00.000000Z (1799999940000000)\n"),
        "{text}"
    );
}

#[test]
fn the_digest_at_its_end_is_the_one_that_is_signed() {
    let digest = request(1).digest().unwrap();
    assert!(request(1).render().unwrap().ends_with(&format!("\ndigest: {digest}\n")));
}

#[test]
fn long_values_are_whole() {
    let long = "x".repeat(100_000) + "END";
    assert!(shown(json!({ "body": long.clone() })).contains(&long));
    let many: Vec<_> = (0..5_000).collect();
    let text = shown(json!({ "list": many }));
    assert!((0..5_000).all(|n| text.contains(&format!("\n    - {n}\n"))));
}

#[test]
fn nothing_hides() {
    let hidden = [
        '\u{0}', '\u{7}', '\u{8}', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{a0}', '\u{ad}',
        '\u{34f}', '\u{61c}', '\u{115f}', '\u{180e}', '\u{2003}', '\u{200b}', '\u{200d}',
        '\u{200e}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202e}', '\u{2060}', '\u{2066}',
        '\u{2069}', '\u{2800}', '\u{3000}', '\u{3164}', '\u{e000}', '\u{fe0f}', '\u{feff}',
        '\u{fff9}', '\u{fffd}', '\u{e0001}', '\u{e0041}', '\u{e007f}', '\u{e0101}', '\u{f0000}',
        '\u{10ffff}',
    ];
    for c in hidden {
        // In a value, in a name, in what the requester wrote.
        let mut request = request(1);
        request.arguments = json!({ format!("a{c}b"): format!("c{c}d") });
        request.intent = format!("e{c}f");
        let text = request.render().unwrap();
        assert!(!text.contains(c), "{c:?} is there");
        let escape = format!("\\u{{{:x}}}", u32::from(c));
        for (before, after) in [('a', 'b'), ('c', 'd'), ('e', 'f')] {
            assert!(text.contains(&format!("{before}{escape}{after}")), "{c:?}: {text}");
        }
    }
}

#[test]
fn no_value_passes_for_another_or_for_a_field() {
    // A line break cannot begin a field of its own.
    let text = shown(json!({ "a": "x\"\ndetail: \"harmless\"\r\n\tb" }));
    assert!(text.contains(r#""a": "x\"\ndetail: \"harmless\"\r\n\tb""#), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("detail: ")).count(), 1);
    // Text that looks like an escape is told from one.
    assert_ne!(shown(json!({ "a": "\u{202e}" })), shown(json!({ "a": "\\u{202e}" })));
    assert!(shown(json!({ "a": "\\u{202e}" })).contains(r#""\\u{202e}""#));
    // A text is told from a number, a word and a list.
    for (one, other) in
        [(json!("1"), json!(1)), (json!("null"), json!(null)), (json!("[]"), json!([]))]
    {
        assert_ne!(shown(json!({ "a": one })), shown(json!({ "a": other })));
    }
}
