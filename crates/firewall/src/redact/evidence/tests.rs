use super::*;

fn found(reader: &str, label: &str, text: &str) -> Vec<String> {
    let at = text.find(label).unwrap();
    let mut values = Vec::new();
    by_name(reader).unwrap()(text, at, text.len(), &mut |range| {
        values.push(text.get(range).unwrap().to_owned());
    });
    values
}

#[test]
fn the_anchors_of_the_rules_are_the_labels() {
    let rules = crate::redact::builtin_rules::data_rules().unwrap();
    for (name, _) in READERS {
        let group = name.strip_prefix("evidence_").unwrap();
        let rule = rules.iter().find(|rule| *rule.id == *format!("evidence-{group}")).unwrap();
        let listed = labels::listed().filter(|(known, _)| *known == group);
        let words: Vec<String> =
            listed.flat_map(|(_, word)| labels::cases(word.trim_start_matches('*'))).collect();
        assert_eq!(rule.anchors, words, "{name}");
    }
}

#[test]
fn each_form_of_a_word_has_a_name() {
    use feature::Feature;
    for (word, form) in [
        ("447", Some(Feature::Digits3)),
        ("4471", Some(Feature::Digits4)),
        ("#4471*", Some(Feature::Digits4)),
        ("447118", Some(Feature::Digits6)),
        ("44711820", Some(Feature::Digits8)),
        ("447118204", None),
        ("0 4 7 7", Some(Feature::Groups)),
        ("27-63-08", Some(Feature::JoinedDigits)),
        ("5-0-3-8-E", Some(Feature::JoinedDigits)),
        ("2026-11-30", None),
        ("41#7718", Some(Feature::DigitsWithSign)),
        ("58K2204", Some(Feature::Code)),
        ("INV-2204", Some(Feature::Numbered)),
        ("heather.Moor7", Some(Feature::Joined)),
        ("lemon-drizzle-0947", Some(Feature::JoinedSmall)),
        ("Zwiebel_kuchen", Some(Feature::JoinedWords)),
        ("apfel-kern-haus", Some(Feature::SmallWords)),
        ("Nebelhorn41", Some(Feature::Mixed)),
        ("Wabe&Honig24", Some(Feature::WithSign)),
        ("kette&haken", Some(Feature::WordsWithSign)),
        ("q8Vn2LmZ7rKd0XbL5v", Some(Feature::Token)),
        ("9f86d081884c7d65", Some(Feature::Hexadecimal)),
        ("5ebfeab4-26bf-478a-a8d2-ca39c7aeb385", Some(Feature::Uuid)),
        ("v2.1", None),
        ("15min", None),
        ("word", None),
        ("Ctrl+Alt+7", None),
        ("okhttp/5.1.0", None),
        ("https://x.corp.net", None),
        ("typescript:S2068", None),
        ("$VAR_2", None),
        ("", None),
    ] {
        assert_eq!(form::form_of(word), form, "{word}");
    }
}

#[test]
fn a_label_and_a_link_announce_a_value() {
    for (reader, label, text, values) in [
        ("evidence_code", "code", "The gate code is 4471, then push", vec!["4471"]),
        ("evidence_code", "code", "error code is 4471, then push", vec![]),
        ("evidence_code", "code", "the code in lines 4471 to 4480", vec![]),
        ("evidence_pin", "PIN", "Tresor: PIN 7716, danach Raute", vec!["7716"]),
        ("evidence_pin", "PIN", "Tresor: SPIN 7716, danach Raute", vec![]),
        ("evidence_lock", "padlock", "Shed padlock: 4-0-9-1, turn left", vec!["4-0-9-1"]),
        (
            "evidence_login",
            "reset",
            "locked out, reset to Autumn&Leaf27 again",
            vec!["Autumn&Leaf27"],
        ),
        ("evidence_network", "wifi", "the wifi name: Office&Guest27", vec![]),
        (
            "evidence_password",
            "Kennwort",
            "Kennwort (neu) Birken&Laub7, bitte",
            vec!["Birken&Laub7"],
        ),
        ("evidence_password", "Kennwort", "Kennwort: $Birken_7", vec![]),
        (
            "evidence_key",
            "token",
            "the hetzner token for us is q8Vn2LmZ7rKd0XbL5vW3pTs9 - read",
            vec!["q8Vn2LmZ7rKd0XbL5vW3pTs9"],
        ),
        ("evidence_key", "key", "using RSA key 34704790A511A848C9D3FFCF32964BF682B1CAEC", vec![]),
        ("evidence_key", "key", "incident_key is q8Vn2LmZ7rKd0XbL5vW3pTs9", vec![]),
    ] {
        assert_eq!(found(reader, label, text), values, "{text}");
    }
}

#[test]
fn every_piece_of_evidence_has_a_place_in_the_table() {
    assert!(feature::FEATURES.len() < 128);
    for (_, name) in feature::FEATURES {
        assert!(weights::has_row(name), "{name}");
    }
}

#[test]
fn a_word_is_looked_at_behind_one_label_however_close_the_labels_are() {
    let text = "code 123456 ".repeat(1_000);
    let read = super::by_name("evidence_code").unwrap();
    let bytes = work_meter::measure(|| {
        for (at, _) in text.match_indices("code") {
            read(&text, at, text.len(), &mut |_| ());
        }
    });
    assert!(bytes <= 2 * text.len(), "{bytes} bytes of {}", text.len());
}
