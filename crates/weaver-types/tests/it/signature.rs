//! The signature envelope: golden bytes, and that no field can be changed.

use serde_json::{Value, json};
use weaver_types::KeyId;
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::signature::{DocumentKind, Envelope, PublicKey, SignatureError, SigningKey};

const GOLDEN: &str = include_str!("../data/envelope.json");
/// The canonical JSON of a policy file.
const DOCUMENT: &[u8] = br#"{"rule":[{"id":"read"}]}"#;
const SIGNED_AT: i64 = 1_767_225_600_000_000;

fn key() -> SigningKey {
    SigningKey::from_seed([7; 32])
}

fn envelope() -> Envelope {
    let id = KeyId::parse("root-2026").unwrap();
    Envelope::sign(
        DocumentKind::Policy,
        DocumentKind::Policy.digest(DOCUMENT),
        id,
        &key(),
        SIGNED_AT,
    )
    .unwrap()
}

fn check(envelope: &Envelope) -> Result<(), SignatureError> {
    envelope.verify(DocumentKind::Policy, DocumentKind::Policy.digest(DOCUMENT), &key().public())
}

/// The code with which an envelope of this JSON is refused, when read or when verified.
fn refusal(wire: &Value) -> Option<&'static str> {
    let text = serde_json::to_vec(wire).unwrap();
    Envelope::parse(&text).and_then(|e| check(&e)).err().map(|e| e.code())
}

#[test]
fn the_envelope_of_a_fixed_seed_is_golden() {
    let json = envelope().to_json().unwrap();
    assert_eq!(format!("{json}\n"), GOLDEN);
    let read = Envelope::parse(GOLDEN.as_bytes()).unwrap();
    assert_eq!(read, envelope());
    assert_eq!(check(&read), Ok(()));
    assert_eq!(read.key().as_str(), "root-2026");
    assert_eq!((read.kind(), read.signed_at()), (DocumentKind::Policy, SIGNED_AT));
    assert_eq!(serde_json::from_str::<Envelope>(GOLDEN).unwrap(), read);
}

#[test]
fn the_signed_bytes_are_tag_zero_and_the_canonical_fields() {
    let digest = DocumentKind::Policy.digest(DOCUMENT);
    let message = format!(
        "{{\"alg\":\"ed25519\",\"digest\":\"{digest}\",\"key\":\"root-2026\",\"kind\":\"policy\",\"signed_at\":{SIGNED_AT},\"v\":1}}"
    );
    let wire: Value = serde_json::from_str(GOLDEN).unwrap();
    let signature = base64(&key().sign(DomainTag::SIGNATURE, message.as_bytes()));
    assert_eq!(wire["signature"], signature);
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn every_changed_field_is_refused_with_its_code() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let other = Digest::of(DomainTag::POLICY, b"another").to_string();
    let signature = golden["signature"].as_str().unwrap();
    let cases = [
        ("v", json!(2), "signature.unknown_version"),
        ("v", json!(0), "signature.field"),
        ("v", json!("1"), "signature.field"),
        ("kind", json!("keys"), "signature.wrong_kind"),
        ("kind", json!("approval"), "signature.field"),
        ("digest", json!(other), "signature.digest_mismatch"),
        ("digest", json!("sha256:00"), "signature.field"),
        ("key", json!("root-2027"), "signature.invalid"),
        ("key", json!(""), "signature.field"),
        ("alg", json!("ed448"), "signature.algorithm"),
        ("signed_at", json!(SIGNED_AT + 1), "signature.invalid"),
        ("signed_at", json!(1.5), "signature.json"),
        ("signature", json!(base64(&[1; 64])), "signature.invalid"),
        ("signature", json!(base64(&[1; 63])), "signature.encoding"),
        ("signature", json!(base64(&[1; 65])), "signature.encoding"),
        ("signature", json!(signature.trim_end_matches('=')), "signature.encoding"),
        ("signature", json!(format!("{signature}\n")), "signature.encoding"),
        ("signature", json!("*"), "signature.encoding"),
        ("extra", json!(1), "signature.field"),
    ];
    assert_eq!(refusal(&golden), None);
    for (field, value, code) in cases {
        let mut wire = golden.clone();
        wire[field] = value;
        assert_eq!(refusal(&wire), Some(code), "{wire}");
    }
    for field in golden.as_object().unwrap().keys() {
        let mut wire = golden.clone();
        wire.as_object_mut().unwrap().remove(field);
        assert_eq!(refusal(&wire), Some("signature.field"), "without {field}");
    }
}

#[test]
fn every_flipped_bit_of_the_signature_is_refused() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let mut bytes = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD
            .decode(golden["signature"].as_str().unwrap())
            .unwrap()
    };
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let mut wire = golden.clone();
        wire["signature"] = json!(base64(&bytes));
        assert_eq!(refusal(&wire), Some("signature.invalid"), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_newer_envelope_is_refused_with_the_version_it_needs_even_with_new_fields() {
    let error = Envelope::parse(br#"{"v":3,"kind":"lease","new":true}"#).unwrap_err();
    assert_eq!(error, SignatureError::UnknownVersion { found: 3, known: 1 });
    assert!(error.to_string().contains("version 3"));
}

#[test]
fn one_document_never_passes_for_another() {
    let envelope = envelope();
    let key = key().public();
    let digest = DocumentKind::Policy.digest(DOCUMENT);
    let code = |r: Result<(), SignatureError>| r.unwrap_err().code();
    assert_eq!(code(envelope.verify(DocumentKind::Keys, digest, &key)), "signature.wrong_kind");
    let same_bytes = DocumentKind::Keys.digest(DOCUMENT);
    assert_eq!(
        code(envelope.verify(DocumentKind::Policy, same_bytes, &key)),
        "signature.digest_mismatch"
    );
    let changed = DocumentKind::Policy.digest(br#"{"rule":[{"id":"reads"}]}"#);
    assert_eq!(
        code(envelope.verify(DocumentKind::Policy, changed, &key)),
        "signature.digest_mismatch"
    );
    let stranger = SigningKey::from_seed([8; 32]).public();
    assert_eq!(code(envelope.verify(DocumentKind::Policy, digest, &stranger)), "signature.invalid");
}

#[test]
fn an_envelope_with_a_key_given_twice_is_refused() {
    let text = GOLDEN.trim().replacen('{', "{\"kind\":\"policy\",", 1);
    assert_eq!(Envelope::parse(text.as_bytes()).unwrap_err().code(), "signature.json");
}

#[test]
fn a_public_key_has_one_text() {
    let key = key().public();
    let text = key.to_string();
    assert_eq!(text.parse(), Ok(key));
    assert_eq!(serde_json::to_value(key).unwrap(), json!(text));
    assert_eq!(serde_json::from_value::<PublicKey>(json!(text)).unwrap(), key);
    let code = |text: &str| text.parse::<PublicKey>().unwrap_err().code();
    assert_eq!(code(text.trim_start_matches("ed25519:")), "signature.key");
    assert_eq!(code(text.trim_end_matches('=')), "signature.encoding");
    assert_eq!(code(&format!("ed25519:{}", base64(&[2; 31]))), "signature.encoding");
    // 2 is no coordinate of a curve point.
    let mut off = [0; 32];
    off[0] = 2;
    assert_eq!(code(&format!("ed25519:{}", base64(&off))), "signature.key");
    // p + 3 stands for the coordinate 3, which has its own encoding.
    let mut alias = [0xff; 32];
    (alias[0], alias[31]) = (0xf0, 0x7f);
    assert_eq!(code(&format!("ed25519:{}", base64(&alias))), "signature.key");
}

#[test]
fn keys_of_small_order_are_refused() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut minus_one = [0xff; 32];
    (minus_one[0], minus_one[31]) = (0xec, 0x7f);
    for bytes in [identity, minus_one, [0; 32]] {
        assert_eq!(PublicKey::from_bytes(bytes), Err(SignatureError::WeakKey));
    }
}

#[test]
fn a_private_key_shows_nothing_of_itself() {
    let shown = format!("{:?}", key());
    assert_eq!(shown, "SigningKey(redacted)");
}

#[test]
fn a_signature_of_one_domain_is_none_of_another() {
    let signature = key().sign(DomainTag::APPROVAL, b"yes");
    assert_eq!(key().public().verify(DomainTag::APPROVAL, b"yes", &signature), Ok(()));
    assert_eq!(
        key().public().verify(DomainTag::TOKEN, b"yes", &signature),
        Err(SignatureError::Invalid)
    );
}

const KINDS: [DocumentKind; 6] = [
    DocumentKind::Policy,
    DocumentKind::Contracts,
    DocumentKind::Keys,
    DocumentKind::Resolution,
    DocumentKind::Standing,
    DocumentKind::OperatorStatement,
];

#[test]
fn a_signature_of_one_kind_passes_for_no_other() {
    let id = KeyId::parse("k").unwrap();
    for signed in KINDS {
        let digest = signed.digest(DOCUMENT);
        let envelope = Envelope::sign(signed, digest, id.clone(), &key(), SIGNED_AT).unwrap();
        assert_eq!(envelope.verify(signed, digest, &key().public()), Ok(()));
        for other in KINDS.into_iter().filter(|other| *other != signed) {
            assert_ne!(other.digest(DOCUMENT), digest, "{signed} and {other} share a domain");
            let refused = envelope.verify(other, other.digest(DOCUMENT), &key().public());
            assert_eq!(refused, Err(SignatureError::WrongKind { wanted: other, found: signed }));
            // Nor does it with the name of the kind, or the digest too, rewritten in the file.
            let mut wire: Value = serde_json::from_str(&envelope.to_json().unwrap()).unwrap();
            wire["kind"] = json!(other.as_str());
            for digest in [digest, other.digest(DOCUMENT)] {
                wire["digest"] = json!(digest.to_string());
                let forged = Envelope::parse(wire.to_string().as_bytes()).unwrap();
                let refused = forged.verify(other, digest, &key().public());
                assert_eq!(refused, Err(SignatureError::Invalid), "{signed} as {other}");
            }
        }
    }
}

#[test]
fn a_bare_signature_of_another_domain_is_no_envelope() {
    let envelope: Value = serde_json::from_str(GOLDEN).unwrap();
    let mut fields = envelope.as_object().unwrap().clone();
    fields.remove("signature");
    let message = serde_json::to_vec(&fields).unwrap();
    for tag in DomainTag::ALL {
        let mut wire = envelope.clone();
        wire["signature"] = json!(base64(&key().sign(tag, &message)));
        let wanted = (tag != DomainTag::SIGNATURE).then_some("signature.invalid");
        assert_eq!(refusal(&wire), wanted, "{}", tag.as_str());
    }
}
