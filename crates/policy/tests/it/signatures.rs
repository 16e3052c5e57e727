//! Only what the root key signed comes into force.

use weaver_policy::{
    DocumentSource, DocumentSources, LoadError, PolicySet, document_digest, document_kind,
    sign_document, signing_key_id,
};
use weaver_types::signature::{DocumentKind, Envelope, SigningKey};
use weaver_types::{KeyId, PolicyOrigin, Timestamp};

use crate::support::{NOW, envelope, head, root};

struct Files {
    texts: [String; 3],
    envelopes: [Option<String>; 3],
}

const KINDS: [DocumentKind; 3] =
    [DocumentKind::Policy, DocumentKind::Contracts, DocumentKind::Keys];

fn signed() -> Files {
    let texts = KINDS.map(|kind| head(kind.as_str()));
    let envelopes = [0, 1, 2].map(|n| Some(envelope(KINDS[n], &texts[n], &root())));
    Files { texts, envelopes }
}

impl Files {
    fn load_at(&self, now: Timestamp) -> Result<PolicySet, LoadError> {
        let source = |n: usize| DocumentSource {
            name: ["policy.toml", "contracts.toml", "keys.toml"][n],
            toml: &self.texts[n],
            signature: self.envelopes[n].as_ref().map(String::as_bytes),
        };
        let sources = DocumentSources { policy: source(0), contracts: source(1), keys: source(2) };
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
    assert_eq!(set.basis().origin, PolicyOrigin::Signed);
    assert_eq!(
        set.basis().policy,
        document_digest(DocumentKind::Policy, &signed().texts[0]).unwrap()
    );
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
    assert_eq!(set.basis().origin, PolicyOrigin::UnsignedDevelopment);
}

#[test]
fn another_key_is_refused_and_named() {
    let other = SigningKey::from_seed([8; 32]);
    let mut files = signed();
    files.envelopes[2] = Some(envelope(DocumentKind::Keys, &files.texts[2], &other));
    assert_eq!(files.codes(), ["policy.signature_key"]);
    let message = files.load_at(NOW).unwrap_err().to_string();
    assert!(message.contains(&other.public().to_string()), "{message}");
}

#[test]
fn another_key_under_the_name_of_the_root_is_refused() {
    let mut files = signed();
    let digest = document_digest(DocumentKind::Keys, &files.texts[2]).unwrap();
    let id = KeyId::parse(root().public().to_string()).unwrap();
    let other = SigningKey::from_seed([8; 32]);
    let forged = Envelope::sign(DocumentKind::Keys, digest, id, &other, 1).unwrap();
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
    files.envelopes[1] = Some(envelope(DocumentKind::Contracts, &files.texts[1], &root()));
    assert!(files.load_at(NOW).is_ok());
    let error = files.load_at(end).unwrap_err();
    assert_eq!((error.code(), error.findings()[0].line), ("policy.expired", Some(5)));
}

#[test]
fn a_document_that_would_not_load_is_not_signed() {
    let text = head("policy") + "rule = []\n";
    let source = DocumentSource::unsigned("policy.toml", &text);
    let id = KeyId::parse("root").unwrap();
    let error = sign_document(&source, DocumentKind::Policy, id, &root(), NOW).unwrap_err();
    assert_eq!(error.code(), "policy.unknown_key");
}

#[test]
fn the_kind_of_a_document_is_read_from_it() {
    assert_eq!(document_kind(&head("keys")).unwrap(), DocumentKind::Keys);
    assert_eq!(document_kind("a = 1").unwrap_err().code(), "policy.missing_key");
    assert_eq!(document_kind("kind = \"polic\"").unwrap_err().code(), "policy.word");
    assert_eq!(
        document_digest(DocumentKind::Keys, &head("policy")).unwrap_err().code(),
        "policy.wrong_kind"
    );
}

/// The codes with which this policy under this envelope is refused.
pub(crate) fn policy_refusal(policy: &str, envelope: &serde_json::Value) -> Vec<&'static str> {
    let mut files = signed();
    files.texts[0] = policy.to_owned();
    files.envelopes[0] = Some(envelope.to_string());
    let refused = files.load_at(NOW).err();
    refused.iter().flat_map(|e| e.findings()).map(|finding| finding.code).collect()
}

/// A set whose keys document lets `ops` sign, and whose `n`th document `seed` signed at `at`.
fn delegated(signer: &str, n: usize, seed: u8, at: Timestamp) -> Files {
    let key = SigningKey::from_seed([seed; 32]);
    let mut files = signed();
    let ops = SigningKey::from_seed([40; 32]).public();
    files.texts[2].push_str(&format!("[signers.ops]\nkey = \"{ops}\"\n{signer}\n"));
    files.envelopes[2] = Some(envelope(DocumentKind::Keys, &files.texts[2], &root()));
    let id = signing_key_id(&key.public()).unwrap();
    let source = DocumentSource::unsigned("x.toml", &files.texts[n]);
    let envelope = sign_document(&source, KINDS[n], id, &key, at).unwrap();
    files.envelopes[n] = Some(envelope.to_json().unwrap());
    files
}

const BOTH: &str = "documents = [\"policy\", \"contracts\"]";

#[test]
fn a_key_under_the_root_key_signs_policy_and_contracts() {
    for n in [0, 1] {
        let set = delegated(BOTH, n, 40, NOW).load_at(NOW).unwrap();
        assert_eq!(set.basis().origin, PolicyOrigin::Signed);
    }
}

#[test]
fn a_key_under_the_root_key_signs_nothing_else() {
    assert_eq!(delegated(BOTH, 2, 40, NOW).codes(), ["policy.signature_key"]);
    let policy = "documents = \"policy\"";
    assert_eq!(delegated(policy, 1, 40, NOW).codes(), ["policy.signer_document"]);
    assert_eq!(delegated(BOTH, 0, 41, NOW).codes(), ["policy.signature_key"]);
    for documents in ["documents = \"keys\"", "documents = [\"policy\", \"keys\"]"] {
        let text =
            format!("{}[signers.a]\nkey = \"{}\"\n{documents}\n", head("keys"), root().public());
        let source = DocumentSource::unsigned("keys.toml", &text);
        let id = signing_key_id(&root().public()).unwrap();
        assert_eq!(
            sign_document(&source, DocumentKind::Keys, id, &root(), NOW).unwrap_err().code(),
            "policy.word"
        );
    }
}

#[test]
fn a_key_under_the_root_key_signs_in_its_time() {
    let minute = std::time::Duration::from_secs(60);
    let ahead = format!("{BOTH}\nnot_before = {}", NOW.after(minute).rfc3339());
    assert_eq!(delegated(&ahead, 0, 40, NOW).codes(), ["policy.signer_void"]);
    // Dating the signature into the time of the key helps nobody.
    assert_eq!(delegated(&ahead, 0, 40, NOW.after(minute)).codes(), ["policy.signer_void"]);
    let over = format!("{BOTH}\nnot_after = {}", NOW.rfc3339());
    assert_eq!(delegated(&over, 0, 40, NOW).codes(), ["policy.signer_void"]);
    let before = Timestamp::from_micros(NOW.micros() - 60_000_000);
    assert_eq!(delegated(&over, 0, 40, before).codes(), ["policy.signer_void"]);
    let from = format!("{BOTH}\nnot_before = {}", NOW.rfc3339());
    assert_eq!(delegated(&from, 0, 40, before).codes(), ["policy.signer_void"]);
    assert!(delegated(&from, 0, 40, NOW).load_at(NOW).is_ok());
}

#[test]
fn a_key_signs_under_its_own_name_and_over_its_own_document() {
    // Another key under the name of the delegated one, and of the root key.
    for name in [SigningKey::from_seed([40; 32]).public(), root().public()] {
        let mut files = delegated(BOTH, 0, 40, NOW);
        let digest = document_digest(DocumentKind::Policy, &files.texts[0]).unwrap();
        let id = signing_key_id(&name).unwrap();
        let other = SigningKey::from_seed([41; 32]);
        let forged =
            Envelope::sign(DocumentKind::Policy, digest, id, &other, NOW.micros()).unwrap();
        files.envelopes[0] = Some(forged.to_json().unwrap());
        assert_eq!(files.codes(), ["policy.signature_invalid"]);
    }
    let mut files = delegated(BOTH, 0, 40, NOW);
    files.texts[0] = files.texts[0].replace("id = \"t\"", "id = \"u\"");
    assert_eq!(files.codes(), ["policy.signature_digest"]);
    let mut files = delegated(BOTH, 0, 40, NOW);
    files.envelopes.swap(0, 1);
    assert_eq!(files.codes(), ["policy.signature_kind"; 2]);
}

#[test]
fn keys_that_are_not_believed_delegate_to_nobody() {
    let mut files = delegated(BOTH, 0, 40, NOW);
    files.envelopes[2] = None;
    assert_eq!(files.codes(), ["policy.signature_missing", "policy.signature_key"]);
    let mut files = delegated(BOTH, 0, 40, NOW);
    let attacker = SigningKey::from_seed([41; 32]);
    files.envelopes[2] = Some(envelope(DocumentKind::Keys, &files.texts[2], &attacker));
    assert_eq!(files.codes(), ["policy.signature_key"; 2]);
}

#[test]
fn each_finding_about_a_signature_says_what_to_do() {
    let said = |files: &Files| {
        let error = files.load_at(NOW).unwrap_err();
        let finding = &error.findings()[0];
        (finding.code, finding.remedy.clone())
    };
    let let_sign =
        "sign it with the root key, or with a key that the keys document lets sign it now";
    let policy = "documents = \"policy\"";
    let of = |code: &'static str, remedy: &str| (code, remedy.to_owned());
    assert_eq!(said(&delegated(policy, 1, 40, NOW)), of("policy.signer_document", let_sign));
    let over = format!("{BOTH}\nnot_after = {}", NOW.rfc3339());
    assert_eq!(said(&delegated(&over, 0, 40, NOW)), of("policy.signer_void", let_sign));
    let root_key = "sign it with the root key of this installation, or correct the root key";
    assert_eq!(said(&delegated(BOTH, 0, 41, NOW)), of("policy.signature_key", root_key));
    let mut files = signed();
    files.envelopes.swap(0, 1);
    let beside = "put the signature beside the document it belongs to";
    assert_eq!(said(&files), of("policy.signature_kind", beside));
    let mut files = signed();
    files.envelopes[0] = None;
    let (code, remedy) = said(&files);
    assert_eq!(code, "policy.signature_missing");
    assert!(remedy.starts_with("read what changed, then run `weaver sign "), "{remedy}");
}
