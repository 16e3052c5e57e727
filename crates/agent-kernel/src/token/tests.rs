use super::*;
use weaver_types::digest::Digest;
use weaver_types::{
    CapabilityId, Constraints, PrincipalId, RunId, SeededRandom, Tenant, Timestamp, TokenId,
};

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
        expires_at: Timestamp::from_micros(2),
    }
}

#[test]
fn a_token_reads_back_only_whole() {
    let ring = KeyRing::fresh(&SeededRandom::new(1)).unwrap();
    let claims = claims(&ring);
    let token = ring.sign(&claims).unwrap();
    assert_eq!(ring.verify(&token), Ok(claims));
    for at in 0..token.as_str().len() {
        let mut bytes = token.as_str().as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let forged = Token::from_text(String::from_utf8(bytes).unwrap());
        assert_eq!(ring.verify(&forged), Err(ReasonCode::TokenInvalid), "byte {at}");
    }
    assert_eq!(ring.verify(&Token::from_text("")), Err(ReasonCode::TokenInvalid));
}

#[test]
fn a_token_is_its_claims_and_their_mac_to_the_byte() {
    let ring = KeyRing::new(KeyId::parse("k1").unwrap(), &[9; 32]).unwrap();
    let claims = include_str!("../../tests/data/token_claims.json");
    let claims: TokenClaims = serde_json::from_str(claims).unwrap();
    let golden = include_str!("../../tests/data/token.txt").trim_end();
    assert_eq!(ring.sign(&claims).unwrap().as_str(), golden);
    assert_eq!(ring.verify(&Token::from_text(golden)), Ok(claims));
}

#[test]
fn claims_of_a_newer_form_are_refused() {
    let ring = KeyRing::fresh(&SeededRandom::new(1)).unwrap();
    let newer = TokenClaims { v: 2, ..claims(&ring) };
    let token = ring.sign(&newer).unwrap();
    assert_eq!(ring.verify(&token), Err(ReasonCode::TokenInvalid));
}

#[test]
fn a_retired_key_verifies_nothing() {
    let random = SeededRandom::new(1);
    let mut ring = KeyRing::fresh(&random).unwrap();
    let old = ring.current().clone();
    let token = ring.sign(&claims(&ring)).unwrap();
    assert!(ring.rotate(KeyId::parse("k2").unwrap(), &[7; 32]));
    assert!(ring.verify(&token).is_ok());
    ring.retire(&old);
    assert_eq!(ring.verify(&token), Err(ReasonCode::TokenInvalid));
    assert_eq!(
        KeyRing::fresh(&SeededRandom::new(2)).unwrap().verify(&token),
        Err(ReasonCode::TokenInvalid)
    );
}

#[test]
fn a_short_key_is_refused() {
    assert!(KeyRing::new(KeyId::parse("k").unwrap(), &[1; 31]).is_none());
}

#[test]
fn debug_shows_neither_token_nor_key() {
    let ring = KeyRing::new(KeyId::parse("k").unwrap(), &[42; 32]).unwrap();
    let token = ring.sign(&claims(&ring)).unwrap();
    assert_eq!(format!("{token:?}"), "Token(..)");
    assert!(!format!("{ring:?}").contains("42"));
}
