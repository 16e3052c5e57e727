use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;
use tokio::net::TcpListener;
use weaver_drivers::oauth::AllowedAddresses;

use super::*;

fn token(pair: &Ed25519KeyPair, key_id: &str) -> String {
    let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": key_id}).to_string();
    let signed =
        [header, json!({"sub": "ana"}).to_string()].map(|part| URL_SAFE_NO_PAD.encode(part));
    let signed = signed.join(".");
    let signature = URL_SAFE_NO_PAD.encode(pair.sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// Keys that were fetched a minute ago.
fn key_set(pair: &Ed25519KeyPair) -> KeySet {
    let public = URL_SAFE_NO_PAD.encode(pair.public_key());
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": public, "kid": "known"});
    let now = Instant::now();
    let keys = FetchedKeys {
        keys: [Jwk::parse(&jwk).unwrap()].into(),
        fetched_at: now.checked_sub(Duration::from_secs(60)).unwrap(),
        until: now + Duration::from_secs(600),
    };
    KeySet {
        state: Mutex::new(KeySetState { keys: Some(keys), last_failure: None }),
        ..KeySet::default()
    }
}

#[tokio::test]
async fn a_token_of_a_known_key_does_not_wait_for_a_fetch_that_a_made_up_key_id_began() {
    // An issuer that accepts a request and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let issuer =
        TrustedIssuer { jwks_uri: Some(format!("{url}/keys")), ..TrustedIssuer::new(&url) };
    let client = OAuthHttpClient::new(AllowedAddresses::Anywhere);
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let keys = key_set(&pair);

    let (forged, good) = (token(&pair, "made-up"), token(&pair, "known"));
    let (forged, good) = (Jwt::parse(&forged).unwrap(), Jwt::parse(&good).unwrap());
    let accepted = async {
        let (_connection, _) = listener.accept().await.unwrap();
        keys.verify(&client, &issuer, &good).await.unwrap();
    };
    tokio::select! {
        () = accepted => {}
        refused = keys.verify(&client, &issuer, &forged) => panic!("answered: {refused:?}"),
        () = tokio::time::sleep(Duration::from_secs(10)) => panic!("the good token waits"),
    }
}
