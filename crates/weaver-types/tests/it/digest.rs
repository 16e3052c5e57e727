//! Digests: their text, and that nothing moves between domains or parts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use sha2::Sha256;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::signature::{DocumentKind, SigningKey};

#[test]
fn a_digest_is_sha_256_over_tag_zero_and_bytes() {
    use sha2::Digest as _;
    let want: [u8; 32] = Sha256::digest(b"weaver/blob/v1\0hello").into();
    assert_eq!(Digest::of(DomainTag::BLOB, b"hello").as_bytes(), &want);
    let want: [u8; 32] =
        Sha256::digest(b"weaver/args-commit/v1\0\0\0\0\0\0\0\0\x02ab\0\0\0\0\0\0\0\0").into();
    assert_eq!(Digest::of_parts(DomainTag::ARGS_COMMIT, &[b"ab", b""]).as_bytes(), &want);
}

#[test]
fn every_tag_is_distinct_ascii_and_ends_in_its_version() {
    let texts: BTreeSet<_> = DomainTag::ALL.iter().map(|tag| tag.as_str()).collect();
    assert_eq!(texts.len(), DomainTag::ALL.len());
    for text in texts {
        assert!(text.starts_with("weaver/") && text.ends_with("/v1") && text.is_ascii(), "{text}");
        assert!(!text.contains('\0'));
    }
}

#[test]
fn every_tag_stands_on_the_page_that_lists_them() {
    let page = include_str!("../../../../docs/internals/canonical-form.md");
    for tag in DomainTag::ALL {
        assert!(page.contains(&format!("`{}`", tag.as_str())), "{}", tag.as_str());
    }
}

#[test]
fn the_text_has_one_form_only() {
    let digest = Digest::of(DomainTag::ARGS, b"{}");
    let text = digest.to_string();
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(serde_json::to_string(&digest).unwrap(), format!("\"{text}\""));
    assert_eq!(serde_json::from_str::<Digest>(&format!("\"{text}\"")).unwrap(), digest);
    let hex = digest.to_hex();
    for wrong in [
        hex.clone(),
        format!("sha256:{}", hex.to_uppercase()),
        format!("SHA256:{hex}"),
        format!("sha256:{hex}0"),
        format!("sha256:{}", hex.get(1..).unwrap()),
        format!("sha256:{}", hex.get(2..).unwrap()),
        format!(" sha256:{hex}"),
        format!("sha256:{}é", hex.get(2..).unwrap()),
        "sha512:00".to_owned(),
        String::new(),
    ] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn bytes_do_not_move_between_parts(
        left in prop::collection::vec(any::<u8>(), 0..20),
        right in prop::collection::vec(any::<u8>(), 0..20),
        cut in 0..40_usize,
    ) {
        let joined = [left.clone(), right.clone()].concat();
        let (a, b) = joined.split_at(cut.min(joined.len()));
        let parts = Digest::of_parts(DomainTag::ARGS_COMMIT, &[&left, &right]);
        prop_assert_eq!(parts == Digest::of_parts(DomainTag::ARGS_COMMIT, &[a, b]), a == left.as_slice());
        prop_assert_ne!(parts, Digest::of_parts(DomainTag::ARGS_COMMIT, &[&joined]));
        prop_assert_ne!(parts, Digest::of_parts(DomainTag::ARGS_COMMIT, &[&left, &right, b""]));
    }

    #[test]
    fn equal_bytes_in_two_domains_differ(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let digests: BTreeSet<_> = DomainTag::ALL.iter().map(|tag| Digest::of(*tag, &bytes)).collect();
        prop_assert_eq!(digests.len(), DomainTag::ALL.len());
    }

    #[test]
    fn the_text_round_trips(bytes in any::<[u8; 32]>()) {
        let digest = Digest::from_bytes(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
    }
}

#[test]
fn the_example_on_the_page_is_what_this_build_computes() {
    let page = include_str!("../../../../docs/internals/canonical-form.md");
    let value = canonical::parse(
        br#"{ "to": "anna", "id": 9007199254740993, "amount": 12.50 }"#,
        Profile::Foreign,
    )
    .unwrap();
    let bytes = canonical::to_bytes(&value, Profile::Foreign).unwrap();
    let document = canonical::serialize(&json!({ "rule": [{ "id": "read" }] }), Profile::Document);
    let document = document.unwrap();
    let key = SigningKey::from_seed([7; 32]).public();
    for text in [
        str::from_utf8(&bytes).unwrap().to_owned(),
        Digest::of(DomainTag::ARGS, &bytes).to_string(),
        str::from_utf8(&document).unwrap().to_owned(),
        DocumentKind::Policy.digest(&document).to_string(),
        key.to_string(),
        include_str!("../data/envelope.json").trim().to_owned(),
    ] {
        assert!(page.contains(&text), "{text}");
    }
}
