use weaver_types::SeededRandom;
use weaver_types::digest::DomainTag;

use super::*;

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(Zeroizing::new(text.to_owned())).unwrap()
}

fn made() -> (KeyFile, SigningKey) {
    let id = KeyId::parse("root").unwrap();
    KeyFile::generate(id, &passphrase("correct horse"), &SeededRandom::new(1)).unwrap()
}

#[test]
fn what_was_sealed_opens_again_and_only_with_its_passphrase() {
    let (file, key) = made();
    let read = KeyFile::parse(file.to_json().unwrap().as_bytes()).unwrap();
    assert_eq!(read, file);
    let opened = read.open(&passphrase("correct horse")).unwrap();
    assert_eq!(opened.public(), key.public());
    assert_eq!(opened.sign(DomainTag::POLICY, b"x"), key.sign(DomainTag::POLICY, b"x"));
    let error = read.open(&passphrase("correct Horse")).unwrap_err();
    assert_eq!(error.code(), "secret.wrong_passphrase");
}

#[test]
fn every_part_of_the_file_is_authenticated() {
    let text = made().0.to_json().unwrap();
    for (from, to) in [("\"id\":\"root\"", "\"id\":\"boot\""), ("\"lanes\":1", "\"lanes\":2")] {
        assert!(text.contains(from));
        let file = KeyFile::parse(text.replace(from, to).as_bytes()).unwrap();
        assert_eq!(
            file.open(&passphrase("correct horse")).unwrap_err().code(),
            "secret.wrong_passphrase",
            "{from}"
        );
    }
}

#[test]
fn what_is_newer_or_malformed_or_too_costly_is_refused() {
    let text = made().0.to_json().unwrap();
    for (from, to, code) in [
        ("\"v\":1", "\"v\":2", "secret.newer"),
        ("\"v\":1", "\"v\":0", "secret.malformed"),
        ("\"v\":1", "\"v\":1,\"x\":1", "secret.malformed"),
        ("\"v\":1", "\"v\":1,\"v\":1", "secret.malformed"),
        ("weaver-key", "weaver-kay", "secret.malformed"),
        ("argon2id", "argon2d", "secret.malformed"),
        ("\"memory_kib\":65536", "\"memory_kib\":4000000000", "secret.malformed"),
        ("\"memory_kib\":65536", "\"memory_kib\":8", "secret.malformed"),
        ("\"iterations\":3", "\"iterations\":99", "secret.malformed"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = KeyFile::parse(text.replace(from, to).as_bytes()).unwrap_err();
        assert_eq!(error.code(), code, "{to}");
    }
}

#[test]
fn neither_the_file_nor_debug_shows_the_seed() {
    let (file, _) = made();
    let mut seed = [0_u8; SEED_BYTES];
    SeededRandom::new(1).fill(&mut seed).unwrap();
    let shown = format!("{}{file:?}", file.to_json().unwrap());
    for secret in [STANDARD.encode(seed), weaver_types::hex(&seed)] {
        assert!(!shown.contains(&secret));
    }
}
