use std::fs;

use super::*;

/// The tokens that a label announces.
fn announced(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for at in 0..text.len() {
        each_token(text, at, text.len(), &mut |token, _| {
            found.push(text.get(token.range.clone()).unwrap());
        });
    }
    found
}

#[test]
fn a_token_belongs_to_the_last_label_before_it() {
    for (text, tokens) in [
        ("the gate code is 4471, then push", vec!["4471"]),
        ("PIN 4471 and the alarm 5582", vec!["4471", "5582"]),
        ("API_TOKEN=q8Vn2LmZ7", vec!["q8Vn2LmZ7"]),
        ("GET /api/v1 200 q8Vn2LmZ7", vec![]),
        ("{\"api_key_old\": \"q8Vn2LmZ7\"}", vec![]),
        ("the key of 2026 is 447118204", vec![]),
        ("4471 is the code", vec![]),
        ("key-q8Vn2Lm7", vec!["key-q8Vn2Lm7"]),
        ("暗証番号は4471です", vec!["4471"]),
        ("spinning 4471", vec![]),
        ("password: word", vec![]),
    ] {
        assert_eq!(announced(text), tokens, "{text}");
    }
    let far = |blanks: usize| announced(&format!("code{}4471", " ".repeat(blanks))).len();
    assert_eq!((far(119), far(121)), (1, 0));
}

#[test]
fn a_run_has_tokens_behind_names_signs_and_commas() {
    for (text, words) in [
        ("user=q8Vn2,", vec!["q8Vn2"]),
        ("--key:q8Vn2", vec!["q8Vn2", "--key:q8Vn2"]),
        ("\"n\":\"q8Vn2\"", vec!["q8Vn2"]),
        ("admin/q8Vn2", vec!["admin/q8Vn2", "q8Vn2"]),
        ("a1b,c2d", vec!["a1b,c2d", "a1b", "c2d"]),
        ("418 820.", vec!["418 820", "418", "820"]),
        ("https://x.net/q8Vn2", vec![]),
        ("密码q8Vn2。", vec!["q8Vn2"]),
        ("word (1)", vec![]),
    ] {
        let mut found = Vec::new();
        tokens::each(text, 0..text.len(), text.len(), &mut |token| {
            found.push(text.get(token.range.clone()).unwrap());
        });
        assert_eq!(found, words, "{text}");
    }
}

#[test]
fn forms_are_told_apart() {
    let words = [
        "4471",
        "44711",
        "418 820",
        "27-63-08",
        "5ebfeab4-26bf-478a-a8d2-ca39c7aeb385",
        "9f86d081884c7d65",
        "q8Vn2LmZ7rKd0XbL5v",
        "58K2204X",
        "INV-2204",
        "Nebelhorn41",
        "heather.Moor7",
        "Wabe&Honig24",
        "kette&haken",
    ];
    for (at, word) in words.iter().enumerate() {
        for other in words.iter().skip(at + 1) {
            assert_ne!(form::of(word).form, form::of(other).form, "{word} {other}");
        }
    }
}

#[test]
fn what_is_clearly_no_secret_is_refuted() {
    let refuted = |text: &str, value: &str| {
        let start = text.find(value).unwrap();
        refutes(text, &(start..start + value.len()))
    };
    assert!(refuted("error code 4471 in module 3", "4471"));
    assert!(!refuted("the new password is q8Vn-2Lm, thanks", "q8Vn-2Lm"));
    assert!(!refuted("the new password is word, thanks", "word"));
}

#[test]
fn the_table_of_weights_has_a_power_of_two() {
    assert!(weights::table_len().is_power_of_two());
    assert_eq!(weights::sum(&[]), 0);
}

#[test]
fn an_anchor_begins_every_label() {
    let rules = crate::redact::builtin_rules::data_rules().unwrap();
    let rule = rules.iter().find(|rule| &*rule.id == "classifier").unwrap();
    let labels = crate::redact::evidence::label_words();
    for label in labels.iter().map(|label| label.to_ascii_lowercase()) {
        assert!(rule.anchors.iter().any(|anchor| label.starts_with(anchor.as_str())), "{label}");
    }
}

/// Every token of a text as the script that fits the weights reads it: its range, whether a label announces
/// it, and its features.
fn described(text: &str) -> serde_json::Value {
    let mut announced = std::collections::BTreeSet::new();
    for at in 0..text.len() {
        each_token(text, at, text.len(), &mut |token, _| {
            announced.insert((token.range.start, token.range.end));
        });
    }
    let mut tokens = Vec::new();
    tokens::each(text, 0..text.len(), text.len(), &mut |token| {
        let Range { start, end } = token.range;
        let is_announced = announced.contains(&(start, end));
        tokens.push((start, end, is_announced, features::of(text, token)));
    });
    serde_json::json!(tokens)
}

/// `benches/redaction/fit_classifier.py` runs this. Each line of `CLASSIFIER_TEXTS` is a text in JSON.
#[test]
#[ignore = "describes texts for the script that fits the weights"]
fn describes_the_tokens_of_texts() {
    let [texts, features] = ["CLASSIFIER_TEXTS", "CLASSIFIER_FEATURES"]
        .map(|name| std::env::var(name).expect("the script names the files"));
    let texts = fs::read_to_string(texts).unwrap();
    let lines = texts.lines().map(|line| {
        let text: String = serde_json::from_str(line).unwrap();
        described(&text).to_string() + "\n"
    });
    fs::write(features, lines.collect::<String>()).unwrap();
}
