//! Long texts, in steps and in pieces.

use super::*;

/// Words that hold no value, with the given number of bytes.
fn filler(length: usize) -> String {
    "lorem ipsum dolor ".chars().cycle().take(length).collect()
}

#[test]
fn a_stream_that_is_json_stays_json() {
    let far = " ".repeat(30_000);
    for text in [
        r#"{"homePhone":5551234567}"#.to_owned(),
        r#" [ "phone", -4155526714 ] "#.to_owned(),
        format!("{far}{{{far}\"homePhone\": 5551234567, \"a\": \"{}\"}}", "b ".repeat(20_000)),
    ] {
        let shown = streamed(&text, &[1, 3, 4_000]);
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert!(json.to_string().contains("\"[REDACTED]\"") && shown == masked(&text), "{json}");
    }
}

#[test]
fn a_token_run_is_shown_up_to_its_limit() {
    for unit in ["a", "eyJ", "x9-"] {
        let text = format!("see {} end", unit.repeat(30_000));
        let out = masked(&text);
        assert!(out.len() < 17_000 && out.ends_with("[REDACTED] end"), "{unit}: {}", out.len());
        assert_eq!(streamed(&text, &[64]), out);
        assert_eq!(masked(&out), out);
    }
}

#[test]
fn a_private_key_without_an_end_is_masked_as_far_as_it_looks_like_one() {
    let text = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n(done)",
        "MIIEowIBAAKCAQEA7v8w\n".repeat(2_000)
    );
    assert_eq!(masked(&text), "[REDACTED]\n(done)");
    assert_eq!(streamed(&text, &[100]), "[REDACTED]\n(done)");
}

#[test]
fn a_value_is_masked_wherever_a_step_begins() {
    for before in [
        14_300, 14_320, 14_330, 14_335, 14_336, 14_337, 14_350, 15_360, 16_384, 16_400, 28_660,
        28_672,
    ] {
        let text = format!("{} jane.roe@corp.net {}", filler(before), filler(3_000));
        let wanted = text.replace("jane.roe@corp.net", MASK);
        assert_eq!(masked(&text), wanted, "{before}");
        assert_eq!(streamed(&text, &[777]), wanted, "{before}");
    }
}

#[test]
fn a_key_is_masked_as_one_across_many_steps() {
    let lines = format!("{}\n", "A".repeat(64)).repeat(600);
    let head = "-----BEGIN RSA PRIVATE KEY-----";
    let text = format!("{}\n{head}\n{lines}-----END RSA PRIVATE KEY-----\nthe end", filler(100));
    let wanted = format!("{}\n{MASK}\nthe end", filler(100));
    assert_eq!(masked(&text), wanted);
    for piece in [100, 1_000, 5_000] {
        assert_eq!(streamed(&text, &[piece]), wanted, "{piece}");
    }
}

#[test]
fn what_follows_a_key_is_shown_to_whoever_watches_however_its_end_is_cut() {
    let (head, tail) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
    for lines in [1, 30] {
        let lines = "MIIEowIBAAKCAQEA7v8w\n".repeat(lines);
        let text = format!("the key\n{head}\n{lines}{tail}\nthe end");
        for size in 1..40 {
            let mut stream = StreamRedactor::new(Arc::new(REDACTOR.clone()));
            let pieces = text.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap());
            let mut out: String = pieces.map(|piece| stream.push_to_open_tail(piece)).collect();
            out += &stream.finish();
            assert!(!out.contains("MIIE") && out.ends_with("\nthe end"), "{size}: {out}");
        }
    }
}

#[test]
fn of_a_run_without_a_blank_16_kibibytes_are_shown() {
    for length in [16_383, 16_384] {
        let text = format!("start {} end", "x".repeat(length));
        assert_eq!(masked(&text), text);
        assert_eq!(streamed(&text, &[999]), text);
    }
    for length in [16_385, 16_390, 40_000] {
        let text = format!("start {} end", "x".repeat(length));
        let wanted = format!("start {}{MASK} end", "x".repeat(16_384));
        assert!(masked(&text) == wanted && streamed(&text, &[999]) == wanted, "{length}");
    }
}

#[test]
fn what_is_sure_is_given_out_and_what_may_go_on_is_held_back() {
    let first = |text: &str| {
        let mut stream = StreamRedactor::new(Arc::new(REDACTOR.clone()));
        let shown = stream.push_to_open_tail(text);
        let rest = stream.finish();
        (shown, rest)
    };
    let (shown, rest) = first("mail jane.roe@corp.net about the lines of it and more words");
    assert!(shown.starts_with("mail [REDACTED] about"), "{shown}");
    assert_eq!(shown + &rest, "mail [REDACTED] about the lines of it and more words");
    let (shown, rest) = first("mail jane.roe@corp.net");
    assert!("mail ".starts_with(&shown), "{shown}");
    assert_eq!(shown + &rest, "mail [REDACTED]");
}
