//! What a firewall is made of: rules of an operator, kinds, masks of a run, and what it says of them.

use std::sync::Arc;

use weaver_firewall::{Disclosure, Firewall, MaskTable};

use crate::support::FIREWALL;

const BADGE: &str = r#"
[[rule]]
id = "badge"
type = "badge"
anchors = ["badge-"]
pattern = 'badge-([0-9]{6})'
masks = [["badge-123456 in", "123456"]]
keeps = ["badge-12"]
"#;
const TEXT: &str = "badge-654321 of jane.roe@corp.example.com";

#[test]
fn rules_of_an_operator_stand_beside_the_built_in_ones() {
    let firewall = Firewall::builder().rules(BADGE).build().unwrap();
    assert_eq!(firewall.redact_text(TEXT).text, "badge-[REDACTED] of [REDACTED]");
    assert_eq!(FIREWALL.redact_text(TEXT).text, "badge-654321 of [REDACTED]");
    let more = firewall.rules().len() - FIREWALL.rules().len();
    assert_eq!((more, firewall.rules().iter().filter(|rule| &*rule.id == "badge").count()), (1, 1));
    assert!(firewall.anchors().contains(&"badge-".to_owned()));
    assert!(FIREWALL.anchors().len() > 100 && !FIREWALL.anchors().contains(&String::new()));
}

#[test]
fn a_rule_that_does_not_keep_to_its_own_examples_is_an_error() {
    let wrong = BADGE.replace("{6}", "{7}");
    let error = Firewall::builder().rules(wrong).build().unwrap_err();
    assert!(error.to_string().contains("badge"), "{error}");
}

#[test]
fn once_a_kind_is_named_only_named_kinds_are_masked() {
    let only = |kinds: &[&str]| {
        let builder = Firewall::builder().rules(BADGE);
        let builder = kinds.iter().fold(builder, |builder, kind| builder.only_kind(*kind));
        builder.build().unwrap().redact_text(TEXT).text
    };
    assert_eq!(only(&["badge"]), "badge-[REDACTED] of jane.roe@corp.example.com");
    assert_eq!(only(&["email"]), "badge-654321 of [REDACTED]");
    assert_eq!(only(&["email", "badge"]), "badge-[REDACTED] of [REDACTED]");
}

#[test]
fn with_a_table_a_mask_has_its_kind_and_number() {
    let table = Arc::new(MaskTable::new());
    let firewall = Firewall::builder().mask_table(Arc::clone(&table)).build().unwrap();
    assert_eq!(firewall.redact_text("to jane.roe@corp.example.com").text, "to [EMAIL_1]");
    // The same run, by way of another firewall.
    let other = FIREWALL.with_masks(table, None);
    let text = "to joe@corp.example.com and jane.roe@corp.example.com";
    assert_eq!(other.redact_text(text).text, "to [EMAIL_2] and [EMAIL_1]");
    assert_eq!(Firewall::default().redact_text("to joe@corp.example.com").text, "to [REDACTED]");
}

#[test]
fn where_personal_data_may_be_seen_secrets_still_may_not() {
    let text = "jane.roe@corp.example.com has password=hunter2!";
    let open = FIREWALL.with_disclosure(Disclosure::Personal);
    assert_eq!(open.redact_text(text).text, "jane.roe@corp.example.com has password=[REDACTED]");
    let closed = open.with_disclosure(Disclosure::Nothing);
    assert_eq!(closed.redact_text(text).text, "[REDACTED] has password=[REDACTED]");
}

#[test]
fn a_text_that_follows_on_another_is_masked_by_what_stands_before_it() {
    for (before, text, shown) in [
        ("password=", "hunter2! and on", "[REDACTED] and on"),
        ("mail bob@", "corp.com done", "[REDACTED] done"),
        ("mail ", "bob@corp.com done", "[REDACTED] done"),
        ("mail bob@corp.com", " done", " done"),
        ("", "bob@corp.com", "[REDACTED]"),
        ("plain ", "words", "words"),
        ("ann@corp.com ", "bob@corp.com, eve@corp.com", "[REDACTED], [REDACTED]"),
        // A word after a whole address is none of it, unless it could be.
        ("mail bob@corp.com", "Done", "Done"),
        ("mail bob@corp.com", "done: 3 of 5", "done: 3 of 5"),
        ("mail bob@corp.com", "Sending to eve@corp.com", "Sending to [REDACTED]"),
        ("mail bob@corp.co", "m, and on", "m, and on"),
        ("mail bob@corp.exa", "mple.com and on", "[REDACTED] and on"),
        ("mail bob@corp.example", ".com and on", "[REDACTED] and on"),
        ("mail bob", "@corp.com and on", "[REDACTED] and on"),
        ("mail bob@corp.com", "7 done", "7 done"),
        ("password=hunter2", "Sunny and on", "[REDACTED] and on"),
    ] {
        assert_eq!(FIREWALL.redact_continued(before, text), shown, "{before}|{text}");
    }
}
