use super::*;

/// A token that looks random, repeated to a length.
fn token(length: usize) -> String {
    "q8Vn2LmZ7rKd0XbL5vW3z".chars().cycle().take(length).collect()
}

fn found(text: &str) -> Vec<&str> {
    let mut hits = Vec::new();
    scan(&ScanWindow::new(text), &CoveredRanges::default(), &mut hits);
    hits.iter().map(|hit| text.get(hit.range.clone()).unwrap()).collect()
}

#[test]
fn a_token_has_14_to_300_characters() {
    for (length, is_one) in [(13, false), (14, true), (15, true), (300, true), (301, false)] {
        let text = format!("stripe {{{}}}", token(length));
        assert_eq!(found(&text).len(), usize::from(is_one), "{length}");
    }
    // Only a vendor's may be as short as that.
    for (length, is_one) in [(15, false), (16, true)] {
        let text = format!("secret {{{}}}", token(length));
        assert_eq!(found(&text).len(), usize::from(is_one), "{length}");
    }
}

#[test]
fn what_is_known_is_not_found_again() {
    let text = format!("secret {{{}}}", token(20));
    let with = |known: Range<usize>| {
        let (mut covered, mut hits) = (CoveredRanges::default(), Vec::new());
        covered.add(std::iter::once(known));
        scan(&ScanWindow::new(&text), &covered, &mut hits);
        hits.len()
    };
    assert_eq!((with(8..28), with(0..text.len()), with(9..28), with(8..27)), (0, 0, 1, 1));
}

#[test]
fn a_token_is_set_off_from_a_reference_a_path_and_a_date() {
    let token = token(20);
    for (text, is_one) in [
        (format!("secret {token}"), true),
        (format!("secret #{token}"), false),
        (format!("secret @{token}"), false),
        (format!("secret %{token}"), false),
        (format!("secret &{token}"), true),
        (format!("secret //{token}"), false),
        (format!("secret /{token}"), true),
        (format!("secret {{q8Vn2/{token}}}"), false),
        ("secret {2024-01-02T10:20}".to_owned(), false),
    ] {
        assert_eq!(found(&text).len(), usize::from(is_one), "{text}");
    }
    assert!(found(&token).is_empty(), "no word stands before it");
}

#[test]
fn signs_at_its_ends_are_no_part_of_a_run() {
    for (text, trimmed) in [
        ("abcdefghijk1", Some("abcdefghijk1")),
        ("--abcdefghijk1..", Some("abcdefghijk1")),
        ("a-b_c.d~e+f1", Some("a-b_c.d~e+f1")),
        ("-abcdefghij1", None),
        ("abcdefghij1-", None),
        ("------------", None),
    ] {
        let range = trim_punctuation(text.as_bytes(), 0..text.len());
        assert_eq!(range.map(|range| text.get(range).unwrap()), trimmed, "{text}");
    }
    assert_eq!(trim_punctuation(b"xx --abcdefghijk1", 3..17), Some(5..17));
}

#[test]
fn a_date_may_be_followed_by_a_time_or_three_letters() {
    for (text, is_one) in [
        ("2024-01-02", true),
        ("2024-01-02T10", true),
        ("2024-01-02abc", true),
        ("2024-01-02abcd", false),
        ("2024_01-02", false),
        ("2024-01_02", false),
        ("20a4-01-02", false),
        ("2024-0102", false),
        ("", false),
    ] {
        assert_eq!(is_dated(text.as_bytes()), is_one, "{text}");
    }
}

#[test]
fn one_token_is_neither_a_path_nor_a_host_nor_a_date() {
    for (text, is_one) in [
        ("q8Vn2LmZ7rKd0XbL", true),
        ("q8Vn2LmZ7rKd0X.ab", true),
        ("q8Vn2LmZ7rKd0.abc", false),
        ("q8Vn2Lm.Z7rKd0X", false),
        // Base64 has three slashes at most, odd capitals, and turns.
        ("q8Vn2LmZ7rKd/0XbL5vW3zQ9x8bLvW3z1", true),
        ("q8Vn2/LmZ7r/Kd0XbL/5vW3zQ9x8bLv", true),
        ("q8V/n2/LmZ7r/Kd0XbL/5vW3zQ9x8bL", false),
        ("q8vn2lmz7rkd/0xbl5vw3zq9x8blvw3z1", false),
        ("q8vn2lmz7rkQ/0xbl5vw3zQ9x8blvw3z1", true),
        ("xQZbTrWqLmNp/VcXkJhGfxQZbTrWqLmNp", false),
        ("2024-01-02T10203040", false),
        ("2024-01-02T1x2y3040", false),
        ("2024-01-02T1x2y3z40", true),
        ("2024-01x02T10203040", true),
    ] {
        assert_eq!(is_one_token(text, &TokenStats::of(text.as_bytes())), is_one, "{text}");
    }
}

#[test]
fn padding_and_a_second_part_belong_to_a_token() {
    for (text, end) in [
        ("abc", 3),
        ("abc==", 5),
        ("abc:d1", 6),
        ("abc:d1.", 6),
        ("abc.:-!*/", 3),
        ("abc$^d", 6),
        ("abc d", 3),
        ("abc\"d", 3),
    ] {
        assert_eq!(with_suffix(text.as_bytes(), 0..3), 0..end, "{text}");
    }
    let long = |length: usize| with_suffix("a".repeat(length + 3).as_bytes(), 0..3).end - 3;
    assert_eq!((long(127), long(128), long(129)), (127, 128, 128));
}

/// A word before a token, with nothing else that counts.
fn after(keyword: Keyword) -> KeywordContext {
    KeywordContext {
        keyword,
        is_refused: false,
        name: 0..0,
        in_name: false,
        in_other_name: false,
        has_separator: false,
        gap: 1,
        is_set_off: false,
        is_called_a_secret: false,
        is_host: false,
        link: Link::Direct,
    }
}

/// The rule for a token of this text after a name.
fn rule(name: &str, text: &str, near: &KeywordContext) -> Option<usize> {
    let near = KeywordContext { name: 0..name.len(), ..near.clone() };
    let shape = TokenStats::of(text.as_bytes());
    let written = format!("{name}{text}");
    matching_rule(written.as_bytes(), name.len(), &shape, is_uuid(text.as_bytes()), &near)
}

const UUID: &str = "3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a";

#[test]
fn the_name_of_a_vendor_makes_a_token_of_nearly_everything() {
    let near = after(Keyword::Vendor);
    let (vendor, short) = (Some(VENDOR_TOKEN_RULE), token(14));
    assert_eq!(rule("", &short, &near), vendor);
    assert_eq!(rule("stripe_name", &short, &near), vendor);
    assert_eq!(rule("stripe_id", &short, &near), None);
    assert_eq!(rule("stripe_id", &short, &KeywordContext { in_name: true, ..near.clone() }), None);
    // A number of program text counts only in a name.
    let number = format!("0x{}", "9c4e1f7ab2d8056e".repeat(4));
    let called = KeywordContext { is_called_a_secret: true, ..near.clone() };
    assert_eq!((rule("", &number, &near), rule("", &number, &called)), (None, vendor));
    let refused = KeywordContext { is_refused: true, ..near.clone() };
    assert_eq!(rule("", &short, &refused), None);
    // A bare UUID further away is the id of something.
    let apart = |gap: usize| KeywordContext { gap, ..near.clone() };
    assert_eq!((rule("", UUID, &apart(3)), rule("", UUID, &apart(4))), (vendor, None));
    assert_eq!(rule("", &short, &apart(40)), vendor);
    let set_off = KeywordContext { is_set_off: true, ..apart(4) };
    let called = KeywordContext { is_called_a_secret: true, ..apart(4) };
    assert_eq!((rule("", UUID, &set_off), rule("", UUID, &called)), (vendor, vendor));
    // Identifiers of tenants have this form too.
    let named = KeywordContext { in_name: true, ..set_off.clone() };
    assert_eq!(
        (rule("AZURE_CLIENT_ID", UUID, &named), rule("azure_client", UUID, &named)),
        (None, vendor)
    );
    assert_eq!((rule("sort_key", &short, &near), rule("sort_key", &short, &named)), (None, vendor));
    assert_eq!((rule("sitekey", &short, &named), rule("site_key", &short, &named)), (None, None));
}

#[test]
fn a_name_of_words_is_no_token() {
    for (text, is_one) in [
        ("OAuth2SessionT", true),
        ("V1beta1CustomResourceDefinition", true),
        ("ShardedByS3Key", false),
        ("q8Vn2LmZ7rKd0XbL5vW3z", false),
        ("Abcd1e2F3g4H5", false),
        ("oauth2session", false),
    ] {
        assert_eq!(is_of_words(text.as_bytes()), is_one, "{text}");
    }
    for (text, is_one) in [
        ("v0.0.0-20220304095617-2e8d9baf4ac2", true),
        ("1.22.0-rc.1", true),
        ("v1", false),
        ("20220304095617.1", false),
        ("q8.Vn2", false),
    ] {
        assert_eq!(is_version(text.as_bytes()), is_one, "{text}");
    }
}

#[test]
fn what_the_host_of_a_vendor_serves_and_objects_of_a_database_are_no_tokens() {
    let (vendor, plain, object) = (Some(VENDOR_TOKEN_RULE), token(20), "2fafd830a09ccff4ff58f0b1");
    let host = KeywordContext { is_host: true, ..after(Keyword::Vendor) };
    let called = KeywordContext { is_called_a_secret: true, ..host.clone() };
    assert_eq!((rule("", &plain, &host), rule("", &plain, &called)), (None, vendor));
    let near = after(Keyword::Vendor);
    assert_eq!(
        (rule("", object, &near), rule("", "2fafd830a09ccff4ff58f0b", &near)),
        (None, vendor)
    );
    let named = KeywordContext { in_name: true, ..near.clone() };
    assert_eq!(rule("", object, &named), vendor);
}

#[test]
fn a_vendor_with_the_name_of_a_thing_needs_a_sign_before_the_token() {
    let near = KeywordContext { is_set_off: true, ..after(Keyword::CommonWordVendor) };
    let (vendor, plain) = (Some(VENDOR_TOKEN_RULE), token(16));
    let hash = "9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02";
    assert_eq!((rule("", &plain, &near), rule("", &token(15), &near)), (vendor, None));
    assert_eq!(rule("", &plain, &after(Keyword::CommonWordVendor)), None);
    assert_eq!(rule("box_id", &plain, &near), None);
    assert_eq!((rule("box_name", &plain, &near), rule("public_box", &plain, &near)), (None, None));
    // What hashes look like counts only in a name.
    let named = KeywordContext { in_name: true, ..near.clone() };
    assert_eq!((rule("", hash, &near), rule("", UUID, &near)), (None, None));
    assert_eq!((rule("", hash, &named), rule("", UUID, &named)), (vendor, vendor));
    assert_eq!(rule("", &hash.replacen('9', "", 1), &near), vendor);
}

#[test]
fn a_word_for_a_secret_names_a_token_of_16_characters() {
    let (named, plain) = (Some(NAMED_TOKEN_RULE), token(16));
    let strong = after(Keyword::Strong);
    assert_eq!((rule("", &plain, &strong), rule("", &token(15), &strong)), (named, None));
    assert_eq!(
        (rule("token_id", &plain, &strong), rule("token_name", &plain, &strong)),
        (None, None)
    );
    let separated = KeywordContext { has_separator: true, ..strong.clone() };
    assert_eq!((rule("", UUID, &strong), rule("", UUID, &separated)), (None, named));
    let weak = KeywordContext { is_set_off: true, ..after(Keyword::Weak) };
    assert_eq!((rule("", &plain, &weak), rule("", &token(15), &weak)), (named, None));
    assert_eq!(rule("", &plain, &after(Keyword::Weak)), None);
    assert_eq!((rule("key_id", &plain, &weak), rule("", UUID, &weak)), (None, None));
    let linked = |near: &KeywordContext, link: Link| KeywordContext { link, ..near.clone() };
    assert_eq!(rule("", &plain, &linked(&strong, Link::None)), None);
    assert_eq!(rule("", &plain, &linked(&strong, Link::Words)), named);
    assert_eq!(rule("", UUID, &linked(&strong, Link::Verb)), named);
    assert_eq!(rule("", &plain, &linked(&weak, Link::Words)), None);
    assert_eq!(rule("", &plain, &linked(&weak, Link::Neutral)), named);
    assert_eq!(rule("", "9c4e1f7ab2d8056e", &weak), None);
    assert_eq!(rule("", "9c4e1f7ab2d8056e", &strong), None);
    assert_eq!(rule("", &plain, &after(Keyword::Refusal)), None);
}
