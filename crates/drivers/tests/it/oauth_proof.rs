//! What an authorization server verifies of signed tokens, with the public key alone.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::oauth_server::{OAuthServerState, say};

fn decoded(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

fn parsed(part: &str) -> Option<Value> {
    serde_json::from_slice(&decoded(part)?).ok()
}

/// Header and claims of a token that a key of the curve P-256 signed.
fn verified(token: &str, public: &[u8]) -> Option<(Value, Value)> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let (header, claims) = (parsed(header)?, parsed(claims)?);
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
    key.verify(signed.as_bytes(), &decoded(signature)?).ok()?;
    (header["alg"] == "ES256").then_some((header, claims))
}

/// The key and the claims of the proof of a request (RFC 9449 §4.3).
fn proof(
    headers: &HeaderMap,
    method: &str,
    url: &str,
    token: Option<&str>,
) -> Option<(String, Value)> {
    let mut given = headers.get_all("dpop").iter();
    let proof = given.next()?.to_str().ok()?;
    let header = parsed(proof.split('.').next()?)?;
    let half = |name: &str| decoded(header["jwk"][name].as_str()?);
    let public = [vec![4], half("x")?, half("y")?].concat();
    let (header, claims) = verified(proof, &public)?;
    let digest = token.map(|token| URL_SAFE_NO_PAD.encode(Sha256::digest(token)));
    let fits = header["typ"] == "dpop+jwt"
        && header["jwk"].get("d").is_none()
        && claims["htm"] == method
        && claims["htu"] == url
        && claims["iat"].as_i64().is_some_and(|at| at >= 1_800_000_000)
        && claims.get("ath").and_then(Value::as_str) == digest.as_deref()
        && given.next().is_none();
    let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(header["jwk"].to_string()));
    fits.then_some((thumbprint, claims))
}

impl OAuthServerState {
    /// A token that is bound to the key of the proof, where one is wanted.
    pub(crate) fn bound_token(
        &mut self,
        given: &BTreeMap<String, String>,
        headers: &HeaderMap,
    ) -> Response {
        let Some(nonce) = self.nonce else { return self.token(given, "Bearer") };
        let proven = proof(headers, "POST", &format!("{}/token", self.url), None);
        let Some((key, claims)) = proven else {
            return say(400, &json!({"error": "invalid_dpop_proof"}));
        };
        assert!(self.ids.insert(claims["jti"].as_str().unwrap().to_owned()), "used twice");
        if claims["nonce"] != nonce {
            let mut response = say(400, &json!({"error": "use_dpop_nonce"}));
            response.headers_mut().insert("dpop-nonce", nonce.parse().unwrap());
            return response;
        }
        if let Some(before) =
            self.refresh_key.as_ref().filter(|_| given["grant_type"] == "refresh_token")
        {
            assert_eq!(*before, key, "refreshed with the key of the login");
        }
        let response = self.token(given, self.token_type.unwrap_or("DPoP"));
        for token in self.tokens.keys() {
            self.keys.insert(token.clone(), key.clone());
        }
        self.refresh_key = Some(key);
        response
    }

    /// Verifies a client's assertion; its id counts once.
    pub(crate) fn is_client(&mut self, given: &BTreeMap<String, String>) -> bool {
        let (Some(public), Some(assertion)) = (&self.client_key, given.get("client_assertion"))
        else {
            return false;
        };
        let Some((_, claims)) = verified(assertion, public) else { return false };
        let now = 1_800_000_000;
        given["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            && claims["iss"] == given["client_id"].as_str()
            && claims["sub"] == claims["iss"]
            && claims["aud"] == self.url.as_str()
            && claims["exp"].as_i64().is_some_and(|end| (now..now + 600).contains(&end))
            && self.ids.insert(claims["jti"].as_str().unwrap().to_owned())
    }

    /// The answer to a request whose token is not proven as it should be.
    pub(crate) fn unproven(
        &mut self,
        headers: &HeaderMap,
        bearer: Option<&str>,
    ) -> Option<Response> {
        let nonce = self.nonce?;
        let refused = |error: &str| {
            let challenge = format!("DPoP algs=\"ES256\"{error}");
            let headers = [("www-authenticate", challenge), ("dpop-nonce", nonce.to_owned())];
            Some((StatusCode::UNAUTHORIZED, headers).into_response())
        };
        let token = bearer.and_then(|bearer| bearer.strip_prefix("DPoP "));
        let Some(token) = token else { return refused("") };
        let proven = proof(headers, "POST", &format!("{}/mcp", self.url), Some(token));
        let Some((key, claims)) = proven else { return refused(", error=\"invalid_dpop_proof\"") };
        assert!(self.ids.insert(claims["jti"].as_str().unwrap().to_owned()), "used twice");
        if self.keys.get(token) != Some(&key) {
            return refused(", error=\"invalid_token\"");
        }
        match claims["nonce"] == nonce {
            true => None,
            false => refused(", error=\"use_dpop_nonce\""),
        }
    }
}
