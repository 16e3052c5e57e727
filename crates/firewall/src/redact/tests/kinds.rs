//! Kinds of values, their masks, and who may see them.

use serde_json::Value;

use super::*;
use crate::redact::field_names::HiddenBy;

#[test]
fn only_the_kinds_that_are_named_are_masked() {
    let kinds = BTreeSet::from(["email".to_owned()]);
    let redactor = Redactor::new(&[], &kinds).unwrap();
    let out =
        redactor.redact_text("jane@corp.example.com 536-22-1234", &mut Counts::new()).into_owned();
    assert_eq!(out, "[REDACTED] 536-22-1234");
    let wrong = Redactor::new(&[], &BTreeSet::from(["emial".to_owned()])).unwrap_err();
    assert!(wrong.to_string().contains("did you mean `email`"), "{wrong}");
    // A rule that is left out covers nothing.
    let redactor = Redactor::new(&[], &BTreeSet::from(["password".to_owned()])).unwrap();
    let token = "password=ghp_0123456789abcdefghij0123456789abcdef";
    assert_eq!(redactor.redact_text(token, &mut Counts::new()), "password=[REDACTED]");
}

#[test]
fn spans_name_place_rule_and_kind() {
    let spans = REDACTOR.value_spans("é jane@corp.example.com");
    assert_eq!(spans.len(), 1);
    assert_eq!((spans[0].range.clone(), &*spans[0].kind), (3..24, "email"));
}

#[test]
fn masks_tell_values_apart_and_stay() {
    let redactor = REDACTOR.with_masks(Arc::new(MaskTable::new()), None);
    let mut counts = Counts::new();
    let text = "jane@corp.example.com, joe@corp.example.com, jane@corp.example.com";
    let once = redactor.redact_text(text, &mut counts).into_owned();
    assert_eq!(once, "[EMAIL_1], [EMAIL_2], [EMAIL_1]");
    assert_eq!(redactor.for_redacted_text().redact_text(&once, &mut counts), once);
}

#[test]
fn personal_data_is_shown_and_a_secret_in_it_is_not() {
    let kinds = |kinds: &[&str]| {
        Disclosure::Kinds(Arc::new(kinds.iter().map(|kind| (*kind).to_owned()).collect()))
    };
    let shown = |disclosure: Disclosure, text: &str| {
        REDACTOR.with_disclosure(disclosure).redact_text(text, &mut Counts::new()).into_owned()
    };
    let text = "jane.roe@corp.example.com 4539 1488 0343 6467 password=hunter2";
    assert_eq!(shown(Disclosure::Nothing, text), "[REDACTED] [REDACTED] password=[REDACTED]");
    let email = "jane.roe@corp.example.com [REDACTED] password=[REDACTED]";
    assert_eq!(shown(kinds(&["email"]), text), email);
    let all = "jane.roe@corp.example.com 4539 1488 0343 6467 password=[REDACTED]";
    assert_eq!(shown(Disclosure::Personal, text), all);
    // The kind of a secret shows nothing, whoever names it.
    assert_eq!(shown(kinds(&["password", "email"]), text), email);
    // A token in an address, and an address as a password.
    let token = "ghp_0123456789abcdefghij0123456789abcdef";
    let inside = shown(Disclosure::Personal, &format!("mail {token}@corp.example.com"));
    assert!(!inside.contains(token), "{inside}");
    let around = shown(Disclosure::Personal, "password=\"jane.roe1@corp.net\"");
    assert!(!around.contains("jane.roe1"), "{around}");
    // What is shown hides nothing that is encoded in it: base64 of a password and its name.
    let encoded = "ZGIgcGFzc3dvcmQ9cThWbjJMbVo3cktkMFhiTDUg";
    let hidden = shown(Disclosure::Personal, &format!("{encoded}@corp.example.com"));
    assert!(!hidden.contains(encoded), "{hidden}");
}

#[test]
fn every_kind_has_a_family_and_every_personal_rule_is_personal() {
    let personal = personal::scanner().rules;
    for name in builtin_rules::build_engine(&[], &BTreeSet::new()).unwrap().identities() {
        let is_personal = personal.iter().any(|rule| rule.id == &*name.id)
            || name.id.starts_with("date-of-birth-");
        let lists: [&[&str]; 2] = [&PERSONAL_KINDS, &SECRET_KINDS];
        let [listed, secret] = lists.map(|list| list.contains(&&*name.kind));
        assert_eq!((listed, secret), (is_personal, !is_personal), "{}: {}", name.id, name.kind);
        assert_eq!(name.family == ValueFamily::Personal, is_personal, "{}", name.id);
    }
    for kind in PERSONAL_KINDS {
        assert!(personal.iter().any(|rule| rule.kind == kind), "{kind}");
    }
}

#[test]
fn what_a_field_hides_has_the_kind_of_the_value_that_it_is() {
    let masks = Arc::new(MaskTable::new());
    let redactor = REDACTOR.with_masks(masks, None);
    for (value, mask) in [
        (json!("jane@corp.net"), "[EMAIL_1]"),
        (json!("plover"), "[FIELD_1]"),
        (json!("mail jane@corp.net"), "[FIELD_2]"),
        (json!("jane@corp.net joe@corp.net"), "[FIELD_3]"),
        (json!(17), "[FIELD_4]"),
        (json!("17"), "[FIELD_5]"),
        (json!(["jane@corp.net"]), "[FIELD_6]"),
        (json!(4_539_148_803_436_467_u64), "[FIELD_7]"),
        (json!("plover"), "[FIELD_1]"),
    ] {
        let shown = redactor.mask_field(&value, HiddenBy::Personal(None));
        assert_eq!(shown.as_deref(), Some(mask), "{value}");
    }
    assert_eq!(REDACTOR.mask_field(&json!("plover"), HiddenBy::Secret), None);
}

#[test]
fn a_number_that_is_masked_has_the_kind_of_its_rule() {
    let redactor = REDACTOR.with_masks(Arc::new(MaskTable::new()), None);
    let mask = |value: Value| redactor.mask_number(value.as_number().unwrap());
    assert_eq!(mask(json!(4_539_148_803_436_467_u64)).as_deref(), Some("[CARD_1]"));
    assert_eq!(mask(json!(17)).as_deref(), Some("[FIELD_1]"));
    assert!(redactor.has_masks() && !redactor.without_masks().has_masks());
    assert!(redactor.mask_table_version().is_some() && REDACTOR.mask_table_version().is_none());
    assert!(redactor.mask_table_version() == redactor.for_redacted_text().mask_table_version());
    let other = REDACTOR.with_masks(Arc::new(MaskTable::new()), None);
    assert!(redactor.mask_table_version() != other.mask_table_version());
    let own = |redactor: &Redactor| redactor.is_mask_of_run("[CARD_1]");
    assert!(
        !own(&redactor)
            && own(&redactor.for_redacted_text())
            && !own(&other.for_redacted_text())
            && !own(&REDACTOR)
    );
    assert!(!redactor.for_redacted_text().is_mask_of_run("CARD_1"));
}

#[test]
fn a_value_that_was_given_out_changes_what_is_masked() {
    let table = Arc::new(MaskTable::new());
    let run = || REDACTOR.with_masks(Arc::clone(&table), None);
    let before = run();
    let mail = before.redact_text("mail jane@corp.net", &mut Counts::new());
    assert_eq!(mail, "mail [EMAIL_1]");
    assert!(before.mask_table_version() == run().mask_table_version());
    table.mark_disclosed(["[EMAIL_1]"]);
    let after = run();
    assert!(
        before.mask_table_version() != after.mask_table_version()
            && after.mask_table_version() != before.mask_table_version()
    );
    assert!(after.mask_table_version() == run().mask_table_version());
    assert!(
        after.is_disclosed_value("jane@corp.net") && !before.is_disclosed_value("jane@corp.net")
    );
    assert!(!after.is_disclosed_value("jane"));
}
