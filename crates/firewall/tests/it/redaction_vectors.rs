//! What agent-kernel (Python) 0.12.0 and contextweaver (Python) 0.18.2 mask in the same texts.
//! Where we differ is asserted here and listed in the table of deviations.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use weaver_firewall::MASK;
use weaver_types::{RawResult, ResponseMode};

use crate::support::{FIREWALL, spec};

static RECORDED: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/redaction_vectors.json")).unwrap());

/// Texts and what the reference makes of them.
fn cases(id: &str) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    let cases = RECORDED[id].as_array().unwrap().iter().enumerate();
    cases.map(|(at, case)| (at, case[0].as_str().unwrap(), case[1].as_str().unwrap()))
}

/// What comes out, which a second run and the same text in single characters leave as it is.
fn masked(text: &str) -> String {
    let once = FIREWALL.redact_text(text).text;
    assert_eq!(FIREWALL.redact_text(&once).text, once, "{text}");
    let mut stream = FIREWALL.stream_redactor();
    let pieces: String = text.chars().map(|c| stream.push(c.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(pieces + &stream.finish(), once, "{text}");
    once
}

/// Cases: R02.
#[test]
fn recorded_texts_are_redacted_as_recorded() {
    for (at, text, theirs) in cases("R02") {
        let wanted = match at {
            // The word before a value is no secret, and three letters are none.
            0 => "Authorization: Bearer [REDACTED]",
            1 => text,
            // The user is no secret.
            8 => "postgres://user:[REDACTED]@db.internal:5432/app",
            9 => "postgres://user:[REDACTED]@db/app",
            // What the reference misses.
            11 => "redis://:[REDACTED]@h",
            12 | 13 => MASK,
            14 => "password=[REDACTED]",
            _ => theirs,
        };
        assert_eq!(masked(text), wanted, "R02[{at}]");
        if at > 10 {
            assert_eq!(text, theirs, "R02[{at}] is a miss of the reference");
        }
    }
}

/// Cases: R02.
#[test]
fn short_values_count_only_after_the_name_of_a_key() {
    for (text, wanted) in [
        ("apikey: abcdefgh", "apikey: [REDACTED]"),
        ("export MY_API_KEY=abcdefgh\n", "export MY_API_KEY=[REDACTED]\n"),
        ("accessKey  k2j4h5g6", "accessKey  [REDACTED]"),
        ("api-token = \"q8vn2lmz\";", "api-token = \"[REDACTED]\";"),
    ] {
        assert_eq!(masked(text), wanted);
    }
    for text in [
        "apikey: required",
        "apikey: abcdefg",
        "api_key = load_key()",
        "api_key=settings.api_key2",
        "apiKey abcdefgh",
        "access_key_id: abcdefgh",
        "an api key is a secret: abcdefgh",
    ] {
        assert_eq!(masked(text), text);
    }
}

/// Cases: X05.
#[test]
fn words_of_an_error_are_redacted() {
    let text = RECORDED["X05"].as_str().unwrap();
    let ours = masked(text);
    assert_eq!(ours, text.replace("abcdefgh1234", MASK).replace("bob@corp.com", MASK));
    for secret in ["abcdefgh1234", "bob@corp.com"] {
        assert!(text.contains(secret) && !ours.contains(secret));
    }
}

#[test]
fn secrets_scrub() {
    for (at, text, theirs) in cases("secrets.scrub") {
        let theirs = theirs.replace("[REDACTED-SECRET]", MASK);
        let wanted = match at {
            // A quote between a name and its value hides nothing. (quirk)
            1 => "{\"password\": \"[REDACTED]\"}",
            // The user is no secret.
            4 => "postgres://u:[REDACTED]@h:5432/db",
            // A count and the place in a list are no secrets. (quirks)
            5 | 6 => text,
            // One letter again and again is nobody's key.
            7 => text,
            _ => theirs.as_str(),
        };
        assert_eq!(masked(text), wanted, "secrets.scrub[{at}]");
        if matches!(at, 1 | 5..=7) {
            assert_ne!(theirs, wanted, "secrets.scrub[{at}]");
        }
    }
}

#[test]
fn secrets_scrub_misses_no_key_of_these_forms() {
    for (prefix, len) in [("ghp_", 36), ("hf_", 34), ("glpat-", 20), ("npm_", 36)] {
        let value: String = "q8Vn2LmZ7rKd0XpT4bYcWf6HgJsA3eUo9iRx".chars().take(len).collect();
        assert_eq!(masked(&format!("set {prefix}{value} here")), "set [REDACTED] here");
    }
}

/// The recorded summaries hold the password that they were asked to scrub.
#[test]
fn gateway_session_1_no_frame_shows_what_is_masked() {
    for recorded in RECORDED["gateway.session"].as_array().unwrap().iter().take(2) {
        let text = recorded.as_str().unwrap();
        assert!(text.contains("hunter2hunter2"));
        for raw in [RawResult::text(text), RawResult::text(text).failed()] {
            for mode in [ResponseMode::Summary, ResponseMode::Table, ResponseMode::HandleOnly] {
                let frame = serde_json::to_string(&FIREWALL.frame(&raw, &spec(mode))).unwrap();
                assert!(!frame.contains("hunter2"), "{frame}");
            }
        }
        let frame = FIREWALL.frame(&RawResult::text(text), &spec(ResponseMode::Summary));
        assert_eq!(frame.facts, [text.replace("hunter2hunter2", MASK)]);
    }
}
