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

/// Keys that were fetched so long ago.
fn key_set(pair: &Ed25519KeyPair, age: Duration) -> KeySet {
    let public = URL_SAFE_NO_PAD.encode(pair.public_key());
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": public, "kid": "known"});
    let now = Instant::now();
    let keys = FetchedKeys {
        keys: [Jwk::parse(&jwk).unwrap()].into(),
        fetched_at: now.checked_sub(age).unwrap(),
        until: now + Duration::from_secs(600),
        warned: false,
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
    let keys = key_set(&pair, Duration::from_secs(60));

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

/// An issuer may sign with a new key right after its keys were fetched.
#[tokio::test(start_paused = true)]
async fn a_token_of_an_unknown_key_is_not_refused_before_the_keys_may_be_fetched_again() {
    let issuer = TrustedIssuer::new("http://127.0.0.1:1");
    let client = OAuthHttpClient::new(AllowedAddresses::Anywhere);
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let other = Ed25519KeyPair::from_seed_unchecked(&[8; 32]).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    let keys = key_set(&pair, Duration::from_secs(10));
    let fresh = token(&pair, "new");
    let refused = keys.verify(&client, &issuer, &Jwt::parse(&fresh).unwrap()).await.unwrap_err();
    let retry_after = Duration::from_secs(20);
    assert_eq!(refused, TokenError::KeysTooRecent { retry_after });
    assert_eq!((refused.is_unavailable(), refused.retry_seconds()), (true, Some(20)));
    // A known key that did not make the signature is certain.
    let forged = token(&other, "known");
    let refused = keys.verify(&client, &issuer, &Jwt::parse(&forged).unwrap()).await.unwrap_err();
    assert_eq!(refused, TokenError::Signature);
    tokio::time::advance(retry_after).await;
    assert!(matches!(keys.lock().lookup(&Jwt::parse(&fresh).unwrap()), KeyLookup::Fetch));
}
