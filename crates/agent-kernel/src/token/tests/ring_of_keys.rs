use super::*;

#[test]
fn keys_rotate_and_a_retired_one_verifies_nothing() {
    let mut ring = ring();
    let old = ring.current().clone();
    let token = ring.sign(&claims(&ring)).unwrap();
    let child = token.attenuate(&expires(9)).unwrap();
    assert!(ring.rotate(KeyId::parse("k2").unwrap(), &[7; 32]));
    assert_eq!(ring.current().as_str(), "k2");
    let new = ring.sign(&claims(&ring)).unwrap();
    assert!([&token, &child, &new].iter().all(|token| ring.verify(token).is_ok()));
    assert!(!ring.retire(&KeyId::parse("k2").unwrap()), "the current one stays");
    assert!(ring.retire(&old) && !ring.retire(&old));
    assert_eq!((ring.verify(&token), ring.verify(&child)), (BAD, BAD));
    assert!(ring.verify(&new).is_ok());
    assert_eq!(KeyRing::generate(&SeededRandom::new(2)).unwrap().verify(&token), BAD);
}

#[test]
fn the_name_of_a_key_is_no_key() {
    let id = || KeyId::parse("k").unwrap();
    let ring = KeyRing::new(id(), &[1; 32]).unwrap();
    let other = KeyRing::new(id(), &[2; 32]).unwrap();
    assert_eq!(other.verify(&ring.sign(&claims(&ring)).unwrap()), BAD);
    // Signed with a key of the ring, under the name of another of the ring.
    let mut both = KeyRing::new(id(), &[1; 32]).unwrap();
    assert!(both.rotate(KeyId::parse("l").unwrap(), &[2; 32]));
    let head = wire_format::encode_head(&claims(&ring)).unwrap();
    assert!(both.verify(&sealed(&head, &[1; 32])).is_ok());
    assert_eq!(both.verify(&sealed(&head, &[2; 32])), BAD);
    for key in [&[][..], &[0; 32], &[1; 31], &[1; 33]] {
        assert_eq!(both.verify(&sealed(&head, key)), BAD, "{key:?}");
    }
}

#[test]
fn a_ring_is_bounded_and_takes_no_weak_key() {
    let id = |n: usize| KeyId::parse(format!("k{n}")).unwrap();
    for length in [0, 1, 31, 1_025] {
        assert!(KeyRing::new(id(0), &vec![1; length]).is_none(), "{length}");
    }
    let mut ring = KeyRing::new(id(0), &[0; 32]).unwrap();
    assert!(!ring.rotate(id(0), &[9; 32]), "one name, one key");
    assert!((1..MAX_KEYS).all(|n| ring.rotate(id(n), &[9; 1_024])));
    assert!(!ring.rotate(id(99), &[9; 32]));
    assert_eq!((ring.ids().count(), ring.current()), (MAX_KEYS, &id(MAX_KEYS - 1)));
    let fresh = ring.rotate_generated(&SeededRandom::new(5)).unwrap().clone();
    assert_eq!((ring.ids().count(), ring.current()), (MAX_KEYS, &fresh));
}

#[test]
fn a_ring_is_kept_and_handed_in_again() {
    let mut ring = ring();
    let token = ring.sign(&claims(&ring)).unwrap();
    ring.rotate_generated(&SeededRandom::new(9)).unwrap();
    let bytes = ring.to_bytes().unwrap();
    let again = KeyRing::from_bytes(&bytes).unwrap();
    assert!(again.verify(&token).is_ok());
    assert_eq!(again.current(), ring.current());
    assert_eq!(again.to_bytes().unwrap(), bytes);
    let golden = include_bytes!("../../../tests/data/token_keys.json").trim_ascii_end();
    let kept = KeyRing::from_bytes(golden).unwrap();
    assert_eq!(kept.to_bytes().unwrap().as_slice(), golden);
    let text = std::str::from_utf8(golden).unwrap();
    let newer = KeyRing::from_bytes(text.replace("\"v\":1", "\"v\":2").as_bytes()).unwrap_err();
    assert_eq!(newer.to_string(), "the token keys have form 2; this version reads up to 1");
    for (from, to) in [
        ("\"current\":\"k2\"", "\"current\":\"k3\""),
        ("\"id\":\"k1\"", "\"id\":\"k2\""),
        ("weaver-token-keys", "weaver-key"),
        ("\"v\":1", "\"v\":1,\"w\":1"),
        ("AQEB", "AQ"),
        ("\"v\":1", "\"v\":0"),
    ] {
        let other = text.replace(from, to);
        assert_ne!(other, text);
        let error = KeyRing::from_bytes(other.as_bytes()).unwrap_err();
        assert_eq!(error.code(), "token_keys.malformed", "{to}");
        assert!(!error.to_string().contains("AQEB"), "an error quotes no secret");
    }
    assert!(KeyRing::from_bytes(&vec![b' '; 100_000]).is_err());
}

#[test]
fn a_kept_ring_holds_at_most_16_keys_and_each_once() {
    let kept = |count: usize| {
        use base64::Engine as _;
        let secret = base64::engine::general_purpose::STANDARD.encode([7; 32]);
        let keys: Vec<String> =
            (0..count).map(|n| format!("{{\"id\":\"k{n}\",\"secret\":\"{secret}\"}}")).collect();
        let golden = include_str!("../../../tests/data/token_keys.json").trim_ascii_end();
        let (head, rest) = golden.split_once("\"keys\":[").unwrap();
        let (_, tail) = rest.split_once(']').unwrap();
        let head = head.replace("\"current\":\"k2\"", "\"current\":\"k0\"");
        KeyRing::from_bytes(format!("{head}\"keys\":[{}]{tail}", keys.join(",")).as_bytes())
    };
    assert_eq!(kept(16).unwrap().ids().count(), 16);
    assert_eq!(
        kept(17).unwrap_err().to_string(),
        "the token keys cannot be read: a key occurs twice, or there are too many"
    );
}

#[test]
fn a_kept_ring_has_at_most_37_120_bytes() {
    let golden = include_str!("../../../tests/data/token_keys.json").trim_end();
    let padded = |bytes: usize| {
        let text = format!("{golden}{}", " ".repeat(bytes - golden.len()));
        KeyRing::from_bytes(text.as_bytes()).err().map(|error| error.to_string())
    };
    let too_long = "the token keys cannot be read: it is too long".to_owned();
    assert_ne!(padded(37_120), Some(too_long.clone()));
    assert_eq!(padded(37_121), Some(too_long.clone()));
    assert_eq!(padded(37_122), Some(too_long));
}
