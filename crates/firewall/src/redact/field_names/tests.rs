use proptest::prelude::*;
use weaver_types::{PERSONAL_KINDS, ValueFamily};

use super::*;

#[test]
fn names_are_matched_by_their_end() {
    for name in [
        "email",
        "user_email",
        "userEmail",
        "useremail",
        "Email-Address",
        "E-Mail",
        "apiKey",
        "API_KEY",
        "x-api-key",
        "Authorization",
        "Proxy-Authorization",
        "password",
        "userPassword",
        "userpassword",
        "password_hash",
        "DB_PASSWORD",
        "passwd",
        "card_number",
        "cardNumber",
        "ssn",
        "SSN",
        "cvv",
        "cvv2",
        "token",
        "access_token",
        "accesstoken",
        "aws_secret_access_key",
        "secret",
        "client_secret",
        "phone1",
        "email_2",
        "set-cookie",
        "sessionId",
        "pass\u{200b}word",
        "contraseña",
        "DB_CONTRASEÑA",
        "kennwort",
        "mot_de_passe",
        "пароль",
        "серверПароль",
        "密码",
        "password_prod",
        "smtpPasswordOld",
        "secretValue",
        "token_value",
        "SecretString",
        "secret_key_base",
        "apiKeyStaging",
        "verification_code",
        "otpCode",
        "ｐａｓｓｗｏｒｄ",
        &format!("{}.password", "x".repeat(5_000)),
    ] {
        assert!(is_sensitive(name), "{name}");
    }
}

#[test]
fn names_that_only_speak_of_it_are_shown() {
    for name in [
        "token_count", "max_tokens", "total_tokens", "total tokens", "tokens", "next_page_token",
        "nextPageToken", "pageToken", "email_verified", "has_password", "is_secret",
        "password_length", "phone_type", "secretary", "id", "name", "compass", "author", "",
        "card", "key", "value", "address", "price_per_token", "pass", "passed", "token_text",
        "max_token_value", "next_token_value", "has_password_old", "secret_base",
        "password_policy", "confirmation_code", "code", "il_passe", "pin", "new", "test",
    ] {
        assert!(!is_sensitive(name), "{name}");
    }
}

#[test]
fn a_tag_makes_more_names_sensitive_unless_they_are_listed() {
    let mut plain = FieldNameClassifier::default();
    for (tag, name) in [
        (SensitivityTag::Pii, "first_name"),
        (SensitivityTag::Pii, "home_address"),
        (SensitivityTag::Pci, "expiryDate"),
        (SensitivityTag::Pci, "PAN"),
        (SensitivityTag::Secrets, "SecretBinary"),
        (SensitivityTag::Secrets, "value"),
    ] {
        assert!(plain.classify(name).hidden_by.is_none(), "{name}");
        assert!(
            FieldNameClassifier::with_tags(BTreeSet::from([tag]))
                .classify(name)
                .hidden_by
                .is_some(),
            "{name}"
        );
        let listed = [name.to_owned(), "email".to_owned()];
        let mut names =
            FieldNameClassifier::with_tags(BTreeSet::from([tag])).with_operator_allowed(&listed);
        assert!(names.classify(name).hidden_by.is_none(), "{name}");
        assert!(names.classify("email").hidden_by.is_some());
    }
    let mut memory = FieldNameClassifier::with_tags(BTreeSet::from([SensitivityTag::Memory]));
    assert!(
        memory.classify("value").hidden_by.is_none()
            && memory.classify("token").hidden_by.is_some()
    );
}

#[test]
fn some_names_say_what_their_value_is() {
    let mut names = FieldNameClassifier::default();
    for name in ["passport", "taxReference", "nhs_no", "account_ref"] {
        assert!(names.classify(name).has_context_word, "{name}");
    }
    for name in ["title", "status", "created_at", "keyboard"] {
        assert!(!names.classify(name).has_context_word, "{name}");
    }
}

#[test]
fn some_names_announce_a_secret_if_the_value_looks_like_one() {
    let mut names = FieldNameClassifier::default();
    for (name, kind) in [
        ("pass", Some(SecretKind::Pass)),
        ("db_pass", Some(SecretKind::Pass)),
        ("dbPassOld", Some(SecretKind::Pass)),
        ("writekey", Some(SecretKind::Secret)),
        ("key", Some(SecretKind::Weak)),
        ("passed", None),
        ("compass", None),
    ] {
        let meaning = names.classify(name);
        assert_eq!((meaning.hidden_by, meaning.secret_kind), (None, kind), "{name}");
    }
}

proptest! {
    #[test]
    fn one_word_means_what_it_means_among_words(
        (before, word) in ("[a-z]{0,3}", 0..all().len()),
        after in "|[a-z]",
        tags: [bool; 4],
        disclosure in disclosures(),
    ) {
        use SensitivityTag::{Memory, Pci, Pii, Secrets};
        let word = all().get(word).copied().unwrap_or_default();
        let name = format!("{before}{word}{after}");
        let tags = [Memory, Pii, Pci, Secrets].into_iter().zip(tags);
        let tags = tags.filter(|(_, with)| *with).map(|(tag, _)| tag).collect();
        let fast = classify_word(&name, &tags, &disclosure);
        prop_assert_eq!(fast, classify_words(&[&name], &tags, &disclosure));
    }
}

fn disclosures() -> impl Strategy<Value = Disclosure> {
    let kinds = prop::collection::btree_set(prop::sample::select(&PERSONAL_KINDS[..]), 0..4);
    let kinds = kinds.prop_map(|kinds| kinds.into_iter().map(str::to_owned).collect());
    prop_oneof![
        Just(Disclosure::Nothing),
        Just(Disclosure::Personal),
        kinds.prop_map(|kinds: BTreeSet<String>| Disclosure::Kinds(kinds.into())),
    ]
}

/// The names of a list without their kinds.
fn names_of(list: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    list.iter().map(|(name, _)| *name).collect()
}

/// The single words of all lists, and no word.
fn all() -> Vec<&'static str> {
    let (endings, glued) =
        (names_of(name_lists::PERSONAL_ENDINGS), names_of(name_lists::PERSONAL_GLUED));
    let lists = [
        &endings,
        &glued,
        name_lists::SECRET_ENDINGS,
        name_lists::SECRET_GLUED,
        name_words::PASSWORD_ENDINGS,
        name_lists::HARMLESS_ENDINGS,
        name_lists::QUESTION_WORDS,
        name_lists::CONTEXT_WORDS,
        name_lists::PII_ENDINGS,
        name_lists::PCI_ENDINGS,
        name_lists::SECRETS_TAG_ENDINGS,
    ];
    let words = lists.concat().into_iter().filter(|word| !word.contains(' '));
    std::iter::once("").chain(words).collect()
}

#[test]
fn names_of_personal_data_hide_only_what_may_not_be_seen() {
    let email = Disclosure::Kinds(BTreeSet::from(["email".to_owned()]).into());
    for (name, by_default, under_email, under_personal) in [
        ("user_email", true, false, false),
        ("useremail", true, false, false),
        ("phone", true, true, false),
        ("billingCardNumber", true, true, false),
        ("password", true, true, true),
        ("email_token", true, true, true),
        ("connection_string", true, true, true),
        ("cvv", true, true, true),
        ("title", false, false, false),
    ] {
        let hidden = |shown: &Disclosure| {
            FieldNameClassifier::default().with_disclosure(shown).classify(name).hidden_by.is_some()
        };
        let all = [&Disclosure::Nothing, &email, &Disclosure::Personal].map(hidden);
        assert_eq!(all, [by_default, under_email, under_personal], "{name}");
    }
    let tagged = || {
        FieldNameClassifier::with_tags(BTreeSet::from([
            SensitivityTag::Pci,
            SensitivityTag::Secrets,
        ]))
    };
    let card = Disclosure::Kinds(BTreeSet::from(["card".to_owned()]).into());
    assert!(tagged().with_disclosure(&card).classify("pan").hidden_by.is_none());
    assert!(tagged().with_disclosure(&card).classify("card_holder").hidden_by.is_some());
    assert!(tagged().with_disclosure(&card).classify("pin").hidden_by.is_some());
}

#[test]
fn kinds_of_names_are_kinds_of_personal_data() {
    for list in [name_lists::PERSONAL_ENDINGS, name_lists::PERSONAL_GLUED, name_lists::TAGGED_KINDS]
    {
        for (name, kind) in list {
            assert_eq!(ValueFamily::of(kind), ValueFamily::Personal, "{name}: {kind}");
        }
    }
}

#[test]
fn the_lists_are_sorted() {
    let personal = [name_lists::PERSONAL_ENDINGS, name_lists::TAGGED_KINDS].map(names_of);
    let lists = [
        name_lists::SECRET_ENDINGS,
        name_lists::HARMLESS_ENDINGS,
        name_lists::CONTEXT_WORDS,
        name_lists::PII_ENDINGS,
        name_lists::PCI_ENDINGS,
        name_lists::SECRETS_TAG_ENDINGS,
    ];
    for list in lists.into_iter().chain(personal.iter().map(Vec::as_slice)) {
        assert!(list.is_sorted(), "{list:?}");
        assert!(list.iter().all(|name| name.split(' ').count() <= MAX_WORDS));
    }
}
