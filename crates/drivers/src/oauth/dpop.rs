//! Tokens bound to a key, and the proof of possession on each request (DPoP, RFC 9449).

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use weaver_types::{Clock, OsRandom, Random, SystemClock, Timestamp};
use zeroize::Zeroizing;

use super::client_assertion::unix_seconds;
use super::error::OAuthError;
use super::pkce::random_token;
use super::signing_key::SigningKey;

/// The signature algorithm of all proofs.
pub(super) const ALGORITHM: &str = "ES256";
/// The error of a server that requires a nonce in the proof.
pub(super) const USE_NONCE_ERROR: &str = "use_dpop_nonce";
/// The header that carries a proof.
pub(super) const PROOF_HEADER: HeaderName = HeaderName::from_static("dpop");
const NONCE_HEADER: HeaderName = HeaderName::from_static("dpop-nonce");
/// The longest nonce of a server.
const MAX_NONCE_BYTES: usize = 1024;

/// Whether a server accepts tokens that are bound to a key (DPoP, RFC 9449).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TokenBinding {
    /// It does not mention them.
    #[default]
    Unbound,
    /// It accepts them and unbound ones.
    Offered,
    /// It accepts only bound ones.
    Required,
}

/// The private key that the tokens of one login are bound to: P-256, as PKCS #8 in base64.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DpopKey(Zeroizing<String>);

/// The request that a proof covers.
pub(super) struct ProvenRequest<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    /// The access token sent with it, if any.
    pub(super) access_token: Option<&'a str>,
    pub(super) nonce: Option<&'a str>,
    pub(super) now: Timestamp,
}

impl DpopKey {
    pub(super) fn generate() -> Result<Self, OAuthError> {
        let der = SigningKey::generate_p256().map_err(|_| key_error("none can be made"))?;
        Ok(Self(Zeroizing::new(STANDARD.encode(&*der))))
    }

    fn signing_key(&self) -> Result<SigningKey, OAuthError> {
        let der = STANDARD.decode(self.0.as_bytes()).map(Zeroizing::new);
        let der = der.map_err(|_| key_error("it is not base64"))?;
        SigningKey::from_pkcs8(&der).map_err(|error| key_error(&error.to_string()))
    }

    /// The coordinates of the public key, as in a JSON Web Key.
    fn public_coordinates(key: &SigningKey) -> Result<(String, String), OAuthError> {
        let (x, y) = key.p256_point().ok_or_else(|| key_error("it is not of P-256"))?;
        Ok((URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y)))
    }

    /// The thumbprint of the key (RFC 7638).
    pub(super) fn thumbprint(&self) -> Result<String, OAuthError> {
        let (x, y) = Self::public_coordinates(&self.signing_key()?)?;
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        Ok(URL_SAFE_NO_PAD.encode(Sha256::digest(canonical)))
    }

    /// The proof for one request. Each proof is unique, even for the same request.
    pub(super) fn proof(
        &self,
        request: &ProvenRequest<'_>,
        random: &dyn Random,
    ) -> Result<HeaderValue, OAuthError> {
        let key = self.signing_key()?;
        let (x, y) = Self::public_coordinates(&key)?;
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y });
        let header = json!({ "typ": "dpop+jwt", "alg": ALGORITHM, "jwk": jwk });
        let mut target = request.url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims = json!({
            "jti": random_token(random)?,
            "htm": request.method,
            "htu": target.as_str(),
            "iat": unix_seconds(request.now),
        });
        if let Some(claims) = claims.as_object_mut() {
            if let Some(token) = request.access_token {
                let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(token));
                claims.insert("ath".to_owned(), digest.into());
            }
            if let Some(nonce) = request.nonce {
                claims.insert("nonce".to_owned(), nonce.into());
            }
        }
        let proof =
            key.sign_jwt(&header, &claims).map_err(|error| key_error(&error.to_string()))?;
        HeaderValue::from_str(&proof).map_err(|_| key_error("its proof fits no header"))
    }
}

fn key_error(reason: &str) -> OAuthError {
    OAuthError::Unavailable { what: "the key of the login", reason: reason.to_owned() }
}

/// What makes each proof unique: time, randomness and the servers' nonces.
pub(super) struct ProofContext {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    /// The latest nonce of the authorization server.
    pub(super) issuer_nonce: LastNonce,
    /// The latest nonce of the resource server.
    pub(super) server_nonce: LastNonce,
}

impl Default for ProofContext {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(OsRandom),
            issuer_nonce: LastNonce::default(),
            server_nonce: LastNonce::default(),
        }
    }
}

/// The latest nonce of one server. It is valid until the server sends another.
#[derive(Debug, Default)]
pub(super) struct LastNonce(Mutex<Option<String>>);

impl LastNonce {
    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores the nonce of a response; true if there is one.
    pub(super) fn update_from(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(NONCE_HEADER).iter();
        let (Some(nonce), None) = (values.next(), values.next()) else { return false };
        let legal = |b: u8| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        let Ok(nonce) = nonce.to_str() else { return false };
        if nonce.is_empty() || nonce.len() > MAX_NONCE_BYTES || !nonce.bytes().all(legal) {
            return false;
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(nonce.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;
    use weaver_types::SeededRandom;

    use super::*;

    fn decoded(part: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(part).unwrap()
    }

    /// Takes a proof apart with nothing but the public key in it.
    fn verified(proof: &HeaderValue) -> (Value, Value) {
        let proof = proof.to_str().unwrap();
        let (signed, signature) = proof.rsplit_once('.').unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let header: Value = serde_json::from_slice(&decoded(header)).unwrap();
        let half = |name: &str| decoded(header["jwk"][name].as_str().unwrap());
        let public = [vec![4], half("x"), half("y")].concat();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        key.verify(signed.as_bytes(), &decoded(signature)).unwrap();
        (header, serde_json::from_slice(&decoded(claims)).unwrap())
    }

    #[test]
    fn a_proof_is_for_one_request_and_one_token() {
        let (key, random) = (DpopKey::generate().unwrap(), SeededRandom::new(1));
        let url = Url::parse("https://h.example:8443/a/mcp?x=1#y").unwrap();
        let mut request = ProvenRequest {
            method: "POST",
            url: &url,
            // The token of RFC 9449 §7.1, whose digest stands there too.
            access_token: Some("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"),
            nonce: Some("n"),
            now: Timestamp::from_micros(1_800_000_000_999_999),
        };
        let (header, claims) = verified(&key.proof(&request, &random).unwrap());
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        let names: Vec<&String> = header["jwk"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["crv", "kty", "x", "y"], "nothing private");
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], "https://h.example:8443/a/mcp");
        assert_eq!(claims["iat"], 1_800_000_000);
        assert_eq!(claims["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
        assert_eq!(claims["nonce"], "n");
        (request.access_token, request.nonce) = (None, None);
        let (_, other) = verified(&key.proof(&request, &random).unwrap());
        assert_ne!(other["jti"], claims["jti"]);
        assert!(other.get("ath").is_none() && other.get("nonce").is_none());
    }

    /// RFC 7638: the members in the order of their names, without blanks.
    #[test]
    fn the_thumbprint_is_that_of_the_key_in_the_proof() {
        let key = DpopKey::generate().unwrap();
        let url = Url::parse("https://h.example/").unwrap();
        let now = Timestamp::from_micros(0);
        let request =
            ProvenRequest { method: "GET", url: &url, access_token: None, nonce: None, now };
        let (header, _) = verified(&key.proof(&request, &SeededRandom::new(1)).unwrap());
        // `serde_json` sorts names.
        let digest = Sha256::digest(header["jwk"].to_string());
        assert_eq!(key.thumbprint().unwrap(), URL_SAFE_NO_PAD.encode(digest));
        let kept = serde_json::to_string(&key).unwrap();
        let again: DpopKey = serde_json::from_str(&kept).unwrap();
        assert_eq!(again.thumbprint(), key.thumbprint());
        let broken: DpopKey = serde_json::from_str("\"AAAA\"").unwrap();
        assert_eq!(broken.thumbprint().unwrap_err().code(), "oauth.unavailable");
    }

    #[test]
    fn only_one_legal_nonce_counts() {
        let kept = LastNonce::default();
        let mut headers = HeaderMap::new();
        assert!(!kept.update_from(&headers));
        for broken in ["", "a b", "a\"b", &"x".repeat(2_000)] {
            headers.insert(NONCE_HEADER, HeaderValue::from_str(broken).unwrap());
            assert!(!kept.update_from(&headers), "{broken}");
        }
        headers.insert(NONCE_HEADER, HeaderValue::from_static("a"));
        assert!(kept.update_from(&headers) && kept.get().as_deref() == Some("a"));
        headers.append(NONCE_HEADER, HeaderValue::from_static("b"));
        assert!(!kept.update_from(&headers) && kept.get().as_deref() == Some("a"));
    }
}
