//! Only what the root key signed comes into force.

use weaver_policy::{LoadError, PolicySet, Source, Sources, digest_of, kind_of, sign};
use weaver_types::signature::{Envelope, Kind, SigningKey};
use weaver_types::{KeyId, Origin, Timestamp};

use crate::support::{NOW, envelope, head, root};

struct Files {
    texts: [String; 3],
    envelopes: [Option<String>; 3],
}

const KINDS: [Kind; 3] = [Kind::Policy, Kind::Contracts, Kind::Keys];

fn signed() -> Files {
    let texts = KINDS.map(|kind| head(kind.as_str()));
    let envelopes = [0, 1, 2].map(|n| Some(envelope(KINDS[n], &texts[n], &root())));
    Files { texts, envelopes }
}

impl Files {
    fn load_at(&self, now: Timestamp) -> Result<PolicySet, LoadError> {
        let source = |n: usize| Source {
            name: ["policy.toml", "contracts.toml", "keys.toml"][n],
            toml: &self.texts[n],
            signature: self.envelopes[n].as_ref().map(String::as_bytes),
        };
        let sources = Sources { policy: source(0), contracts: source(1), keys: source(2) };
        PolicySet::load(&sources, &root().public(), now)
    }

    fn codes(&self) -> Vec<&'static str> {
        let error = self.load_at(NOW).unwrap_err();
        error.findings().iter().map(|finding| finding.code).collect()
    }
}

/// An envelope over the right digest, with the signature bytes replaced.
fn with_signature(envelope: &str, signature: &str) -> String {
    let (before, _) = envelope.split_once("\"signature\":\"").unwrap();
    let (_, after) = envelope.split_once("\"signed_at\"").unwrap();
    format!("{before}\"signature\":\"{signature}\",\"signed_at\"{after}")
}

#[test]
fn three_signed_documents_come_into_force() {
    let set = signed().load_at(NOW).unwrap();
    assert_eq!(set.basis().origin, Origin::Signed);
    assert_eq!(set.basis().policy, digest_of(Kind::Policy, &signed().texts[0]).unwrap());
    assert_eq!(set.versions().len(), 3);
}

#[test]
fn a_garbage_signature_over_a_right_hash_is_refused() {
    let mut files = signed();
    let garbage = format!("{}==", "A".repeat(86));
    files.envelopes[0] = files.envelopes[0].as_ref().map(|e| with_signature(e, &garbage));
    assert_eq!(files.codes(), ["policy.signature_invalid"]);
    files.envelopes[0] = files.envelopes[0].as_ref().map(|e| with_signature(e, "AAAA"));
    assert_eq!(files.codes(), ["policy.signature_malformed"]);
}

#[test]
fn one_changed_byte_in_a_document_is_refused() {
    for n in 0..3 {
        let mut files = signed();
        files.texts[n] = files.texts[n].replace("id = \"t\"", "id = \"u\"");
        assert_eq!(files.codes(), ["policy.signature_digest"]);
        let error = files.load_at(NOW).unwrap_err().to_string();
        let name = ["policy.toml", "contracts.toml", "keys.toml"][n];
        assert!(error.contains(&format!("weaver sign {name}")), "{error}");
    }
}

#[test]
fn one_changed_byte_in_an_envelope_is_refused() {
    let files = signed();
    let original = files.envelopes[1].clone().unwrap();
    for at in 0..original.len() {
        let mut bytes = original.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let mut changed = signed();
        changed.envelopes[1] = Some(text);
        assert!(changed.load_at(NOW).is_err(), "byte {at}");
    }
}

#[test]
fn comments_and_order_are_not_signed() {
    let mut files = signed();
    files.texts[0] = "# why\nversion = 1\nid = 't'\n\nformat = 0x1\nkind = \"policy\"".to_owned();
    assert!(files.load_at(NOW).is_ok());
}

#[test]
fn unsigned_documents_are_refused_outside_of_development() {
    let mut files = signed();
    files.envelopes = [None, None, None];
    assert_eq!(files.codes(), ["policy.signature_missing"; 3]);
    let set = crate::support::set("", "");
    assert_eq!(set.basis().origin, Origin::UnsignedDevelopment);
}

#[test]
fn another_key_is_refused_and_named() {
    let other = SigningKey::from_seed([8; 32]);
    let mut files = signed();
    files.envelopes[2] = Some(envelope(Kind::Keys, &files.texts[2], &other));
    assert_eq!(files.codes(), ["policy.signature_key"]);
    let message = files.load_at(NOW).unwrap_err().to_string();
    assert!(message.contains(&other.public().to_string()), "{message}");
}

#[test]
fn another_key_under_the_name_of_the_root_is_refused() {
    let mut files = signed();
    let digest = digest_of(Kind::Keys, &files.texts[2]).unwrap();
    let id = KeyId::parse(root().public().to_string()).unwrap();
    let other = SigningKey::from_seed([8; 32]);
    let forged = Envelope::sign(Kind::Keys, digest, id, &other, 1).unwrap();
    files.envelopes[2] = Some(forged.to_json().unwrap());
    assert_eq!(files.codes(), ["policy.signature_invalid"]);
}

#[test]
fn a_signature_of_another_kind_is_refused() {
    let mut files = signed();
    files.envelopes.swap(0, 1);
    assert_eq!(files.codes(), ["policy.signature_kind"; 2]);
    let mut files = signed();
    files.texts.swap(0, 1);
    files.envelopes.swap(0, 1);
    assert!(files.codes().contains(&"policy.wrong_kind"));
}

#[test]
fn an_expired_document_is_refused() {
    let mut files = signed();
    let end = NOW.after(std::time::Duration::from_secs(60));
    files.texts[1].push_str(&format!("expires = {}\n", end.rfc3339()));
    files.envelopes[1] = Some(envelope(Kind::Contracts, &files.texts[1], &root()));
    assert!(files.load_at(NOW).is_ok());
    let error = files.load_at(end).unwrap_err();
    assert_eq!((error.code(), error.findings()[0].line), ("policy.expired", Some(5)));
}

#[test]
fn a_document_that_would_not_load_is_not_signed() {
    let text = head("policy") + "rule = []\n";
    let source = Source::unsigned("policy.toml", &text);
    let id = KeyId::parse("root").unwrap();
    let error = sign(&source, Kind::Policy, id, &root(), NOW).unwrap_err();
    assert_eq!(error.code(), "policy.unknown_key");
}

#[test]
fn the_kind_of_a_document_is_read_from_it() {
    assert_eq!(kind_of(&head("keys")).unwrap(), Kind::Keys);
    assert_eq!(kind_of("a = 1").unwrap_err().code(), "policy.missing_key");
    assert_eq!(kind_of("kind = \"polic\"").unwrap_err().code(), "policy.word");
    assert_eq!(digest_of(Kind::Keys, &head("policy")).unwrap_err().code(), "policy.wrong_kind");
}
