//! The JSON Web Token that authenticates this client instead of a secret (`private_key_jwt`, RFC
//! 7523 §2.2).

use std::collections::BTreeSet;

use serde_json::json;
use weaver_types::Timestamp;
use zeroize::Zeroizing;

use super::error::OAuthError;
use super::signing_key::{SigningKey, SigningKeyError};

/// The type of the assertion in the form.
pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How long an assertion is valid.
const LIFETIME_SECONDS: i64 = 120;

/// The claims of an assertion.
pub(super) struct ClientAssertion<'a> {
    pub(super) client_id: &'a str,
    /// The id of the signing key.
    pub(super) key_id: Option<&'a str>,
    /// The audience: the issuer and not an endpoint, so that no other server can accept the
    /// assertion.
    pub(super) issuer: &'a str,
    /// The algorithms that the server accepts; empty if it does not say.
    pub(super) algorithms: &'a BTreeSet<String>,
    pub(super) now: Timestamp,
    /// The unique id of the assertion.
    pub(super) id: &'a str,
}

impl ClientAssertion<'_> {
    /// Signs it with a key in PEM.
    pub(super) fn sign(&self, pem: &str) -> Result<Zeroizing<String>, OAuthError> {
        self.try_sign(pem).map_err(|error| OAuthError::ClientKey { reason: error.to_string() })
    }

    fn try_sign(&self, pem: &str) -> Result<Zeroizing<String>, SigningKeyError> {
        let key = SigningKey::from_pem(pem)?;
        let mut header = json!({ "alg": key.choose_algorithm(self.algorithms)?, "typ": "JWT" });
        if let (Some(key_id), Some(fields)) = (self.key_id, header.as_object_mut()) {
            fields.insert("kid".to_owned(), key_id.into());
        }
        let issued = unix_seconds(self.now);
        let claims = json!({
            "iss": self.client_id,
            "sub": self.client_id,
            "aud": self.issuer,
            "iat": issued,
            "exp": issued.saturating_add(LIFETIME_SECONDS),
            "jti": self.id,
        });
        key.sign_jwt(&header, &claims).map(Zeroizing::new)
    }
}

/// A time in seconds, as JSON Web Tokens use it.
pub(super) fn unix_seconds(at: Timestamp) -> i64 {
    at.micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_assertion_is_for_one_issuer_and_for_a_moment() {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let algorithms = BTreeSet::from(["ES256".to_owned()]);
        let assertion = ClientAssertion {
            client_id: "weaver",
            key_id: Some("first"),
            issuer: "https://login.example",
            algorithms: &algorithms,
            now: Timestamp::from_micros(1_800_000_000_999_999),
            id: "once",
        };
        let token = assertion.sign(&pair.serialize_pem()).unwrap();
        let parts: Vec<Value> = token
            .split('.')
            .take(2)
            .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
            .collect();
        assert_eq!(parts[0], json!({"alg": "ES256", "typ": "JWT", "kid": "first"}));
        let wanted = json!({"iss": "weaver", "sub": "weaver", "aud": "https://login.example",
            "iat": 1_800_000_000, "exp": 1_800_000_120, "jti": "once"});
        assert_eq!(parts[1], wanted);
        let error = assertion.sign("no key").unwrap_err();
        assert_eq!(error.code(), "oauth.client_key");
        assert!(error.to_string().contains("`client_key`"), "{error}");
    }
}
