//! Requests to the token endpoint (RFC 6749 §4.1.3, §6; RFC 8628 §3.4; RFC 9449 §5), and what it
//! answers.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::Value;
use zeroize::Zeroizing;

use super::challenge::scopes;
use super::client_assertion::{ASSERTION_TYPE, ClientAssertion};
use super::dpop::{DpopKey, LastNonce, ProofContext, ProvenRequest, USE_NONCE};
use super::error::{OAuthError, refused};
use super::metadata::text;
use super::pkce::fresh;
use super::registration::{ClientAuthentication, ClientIdentity};
use super::settings::OAuthSettings;
use super::web::{Document, OAuthHttpClient};

const WHAT: &str = "a token";
/// The longest token, in bytes.
pub(super) const MAX_TOKEN: usize = 16 * 1024;
/// The longest life that a token is believed to have.
const MAX_LIFE: u64 = 366 * 24 * 60 * 60;

/// What the token endpoint gave.
pub(super) struct Grant {
    pub(super) access_token: Zeroizing<String>,
    pub(super) refresh_token: Option<Zeroizing<String>>,
    pub(super) life: Option<Duration>,
    /// The scopes that were granted, where they are not those that were asked for.
    pub(super) scopes: Option<BTreeSet<String>>,
}

/// Who asks, and where.
pub(super) struct TokenEndpoint<'a> {
    pub(super) proofs: &'a ProofContext,
    pub(super) web: &'a OAuthHttpClient,
    pub(super) settings: &'a OAuthSettings,
    pub(super) client: &'a ClientIdentity,
    pub(super) issuer: &'a str,
    pub(super) url: &'a str,
    /// The key that the tokens will be bound to.
    pub(super) key: Option<&'a DpopKey>,
    /// The server that the token is for: named in every request (RFC 8707).
    pub(super) resource: &'a str,
}

impl TokenEndpoint<'_> {
    /// Asks with these parameters beside those that every request has.
    pub(super) async fn ask(&self, own: &[(&str, &str)]) -> Result<Grant, OAuthError> {
        read(&self.answer(own).await?, self.key.is_some())
    }

    /// The same, and the answer as it stands. A server that wants a value of its own in the proof
    /// gives it with its refusal, and is asked a second time.
    pub(super) async fn answer(&self, own: &[(&str, &str)]) -> Result<Value, OAuthError> {
        let mut attempts = 0_u8;
        loop {
            attempts = attempts.saturating_add(1);
            let answer = self.once(own).await?;
            let error = answer.value.get("error").and_then(Value::as_str);
            match answer.status {
                200 => return Ok(answer.value),
                400..500 if attempts == 1 && error == Some(USE_NONCE) && answer.nonce_given => {}
                // A refusal names its error (RFC 6749 §5.2). What does not may be of whoever stands before
                // the authorization server, and 429 of a limit that passes.
                400..500 if error.is_some() && answer.status != 429 => return Err(refused(error)),
                status => {
                    let reason = format!("the token endpoint answered with status {status}");
                    return Err(OAuthError::Unavailable { what: WHAT, reason });
                }
            }
        }
    }

    async fn once(&self, own: &[(&str, &str)]) -> Result<Document, OAuthError> {
        let last = &self.proofs.issuer_nonce;
        let proof = self.key.map(|key| self.proof(key)).transpose()?.map(|proof| (proof, last));
        self.post(WHAT, self.url, own, proof).await
    }

    /// Posts a form to the authorization server, in which the client says and proves who it is.
    pub(super) async fn post(
        &self,
        what: &'static str,
        url: &str,
        own: &[(&str, &str)],
        proof: Option<(HeaderValue, &LastNonce)>,
    ) -> Result<Document, OAuthError> {
        let secret = self.client.secret(self.settings).await?;
        let assertion = self.assertion().await?;
        let mut form: Vec<(&str, &str)> = own.to_vec();
        form.push(("resource", self.resource));
        let mut basic = None;
        match (self.client.authentication, &secret) {
            (ClientAuthentication::PrivateKeyJwt, _) => {
                form.push(("client_id", &self.client.client_id));
                form.push(("client_assertion_type", ASSERTION_TYPE));
                form.push(("client_assertion", &assertion));
            }
            (ClientAuthentication::ClientSecretBasic, Some(secret)) => {
                basic = Some((self.client.client_id.as_str(), secret));
            }
            (ClientAuthentication::ClientSecretPost, Some(secret)) => {
                form.push(("client_id", &self.client.client_id));
                form.push(("client_secret", secret.expose()));
            }
            _ => form.push(("client_id", &self.client.client_id)),
        }
        self.web.post_proven_form(what, url, &form, basic, proof).await
    }

    fn proof(&self, key: &DpopKey) -> Result<HeaderValue, OAuthError> {
        let refused = |_| OAuthError::Address { what: WHAT, reason: "it is no url" };
        let url = Url::parse(self.url).map_err(refused)?;
        let nonce = self.proofs.issuer_nonce.get();
        let request = ProvenRequest {
            method: "POST",
            url: &url,
            access_token: None,
            nonce: nonce.as_deref(),
            now: self.proofs.clock.now(),
        };
        key.proof(&request, self.proofs.random.as_ref())
    }

    /// The proof of who this client is, where it has a key for that; else an empty text.
    async fn assertion(&self) -> Result<Zeroizing<String>, OAuthError> {
        if self.client.authentication != ClientAuthentication::PrivateKeyJwt {
            return Ok(Zeroizing::default());
        }
        let failed = |reason: &str| OAuthError::ClientKey { reason: reason.to_owned() };
        let provider = self.settings.client_key.as_ref();
        let pem = provider.ok_or_else(|| failed("the configuration names none"))?.text().await;
        let pem = pem.map_err(|error| failed(&error.to_string()))?;
        let assertion = ClientAssertion {
            client_id: &self.client.client_id,
            key_id: self.settings.client_key_id.as_deref(),
            issuer: self.issuer,
            algorithms: &self.client.assertion_algorithms,
            now: self.proofs.clock.now(),
            id: &fresh(self.proofs.random.as_ref())?,
        };
        assertion.sign(&pem)
    }
}

/// Reads an access token: one that is bound to a key exactly where a key was shown.
fn read(value: &Value, bound: bool) -> Result<Grant, OAuthError> {
    let wrong = |reason| OAuthError::Document { what: WHAT, reason };
    let token = |key: &str| -> Result<Option<Zeroizing<String>>, OAuthError> {
        let Some(text) = value.get(key).and_then(Value::as_str) else { return Ok(None) };
        let legal = !text.is_empty()
            && text.len() <= MAX_TOKEN
            && text.bytes().all(|b| b.is_ascii_graphic());
        legal.then(|| Some(Zeroizing::new(text.to_owned()))).ok_or_else(|| wrong("it is no token"))
    };
    let kind = text(value, "token_type").unwrap_or_default();
    let expected = if bound { "dpop" } else { "bearer" };
    if !kind.eq_ignore_ascii_case(expected) {
        return Err(wrong(match bound {
            true => "it is not bound to the key of the login (`DPoP`), as the server wants it",
            false => "it is of another type than `Bearer`",
        }));
    }
    let access_token =
        token("access_token")?.ok_or_else(|| wrong("there is none in the answer"))?;
    let life = value.get("expires_in").and_then(|life| {
        life.as_u64().or_else(|| life.as_str().and_then(|text| text.parse().ok()))
    });
    Ok(Grant {
        access_token,
        refresh_token: token("refresh_token")?,
        life: life.map(|life| Duration::from_secs(life.min(MAX_LIFE))),
        scopes: text(value, "scope").map(|text| scopes(&text)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_bearer_token_that_fits_a_header_counts() {
        let fine = json!({"access_token": "a.b", "token_type": "bearer", "expires_in": "60"});
        assert_eq!(read(&fine, false).unwrap().life, Some(Duration::from_secs(60)));
        for broken in [
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "a"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a\r\nx: y", "token_type": "Bearer"}),
            json!({"access_token": "x".repeat(20_000), "token_type": "Bearer"}),
            json!({"access_token": "a", "token_type": "Bearer", "refresh_token": "a b"}),
            json!([]),
        ] {
            assert!(read(&broken, false).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_token_that_is_not_bound_to_the_key_is_refused() {
        let bound = json!({"access_token": "a", "token_type": "dpop"});
        assert!(read(&bound, true).is_ok() && read(&bound, false).is_err());
        let unbound = json!({"access_token": "a", "token_type": "Bearer"});
        assert_eq!(read(&unbound, true).err().unwrap().code(), "oauth.document");
    }
}
