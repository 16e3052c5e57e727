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

/// A sequence of DNA, a dump, a token that is minified: text like any other.
#[test]
fn a_token_run_is_shown_whatever_its_length() {
    for unit in ["a", "eyJ", "x9-", "ACGT", "00ff7fe1", "Zm9vYmFy+/"] {
        let text = format!("see {} end", unit.repeat(90_000 / unit.len()));
        assert_eq!(masked(&text), text, "{unit}");
        assert_eq!(streamed(&text, &[64, 5_000]), text, "{unit}");
    }
}

#[test]
fn a_secret_within_a_token_run_is_masked_wherever_it_is() {
    let token = "ghp_0123456789abcdefghij0123456789abcdef";
    for before in (13_000..16_500).step_by(97).chain(30_000..30_003) {
        let text = format!("{}-{token}.{}", "q".repeat(before), "q".repeat(20_000));
        let out = masked(&text);
        assert!(!out.contains("ghp_") && out.starts_with(&"q".repeat(before)), "{before}");
        assert_eq!(streamed(&text, &[900, 7_000]), out, "{before}");
    }
}

#[test]
fn a_value_within_a_run_of_base64_or_hexadecimal_digits_is_masked_wherever_it_is() {
    use base64::Engine as _;
    let standard = base64::engine::general_purpose::STANDARD;
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for letters in ["lorem ipsum ", "\u{e4}\u{f6} \u{fc}\u{df}\u{e9} ", "\u{65e5}\u{672c}\u{8a9e}"]
    {
        for before in (9_000..13_000).step_by(113).chain(25_000..25_004) {
            let fill =
                |bytes: usize| letters.repeat(bytes / letters.len()) + &"x".repeat(before % 5);
            let plain = format!("{} jane.roe@corp.net {}", fill(before), fill(4_000));
            for (prefix, encoded) in [
                ("", standard.encode(&plain)),
                ("a/b=", standard.encode(&plain)),
                ("ab/", hex(&plain)),
            ] {
                let text = format!("see {prefix}{encoded}");
                let out = masked(&text);
                assert_eq!(out.matches(MASK).count(), 1, "{letters} {before} {prefix}");
                assert!(out.len() > text.len() - 60, "{letters} {before} {prefix}");
                assert_eq!(streamed(&text, &[3_000]), out, "{letters} {before} {prefix}");
            }
        }
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
