//! Requests to the token endpoint and their responses (RFC 6749 §4.1.3, §6; RFC 8628 §3.4; RFC 9449
//! §5).

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::Value;
use zeroize::Zeroizing;

use super::challenge::parse_scopes;
use super::client_assertion::{ASSERTION_TYPE, ClientAssertion};
use super::dpop::{DpopKey, LastNonce, ProofContext, ProvenRequest, USE_NONCE_ERROR};
use super::error::{OAuthError, refused_error};
use super::metadata::text_field;
use super::oauth_http_client::{JsonResponse, OAuthHttpClient};
use super::pkce::random_token;
use super::registration::{ClientAuthentication, ClientIdentity};
use super::settings::OAuthSettings;

const TOKEN: &str = "a token";
/// The longest token.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The longest lifetime of a token that is believed.
const MAX_LIFETIME_SECONDS: u64 = 366 * 24 * 60 * 60;

/// The tokens that the token endpoint issued.
pub(super) struct IssuedTokens {
    pub(super) access_token: Zeroizing<String>,
    pub(super) refresh_token: Option<Zeroizing<String>>,
    pub(super) lifetime: Option<Duration>,
    /// The granted scopes, if they differ from the requested ones.
    pub(super) scopes: Option<BTreeSet<String>>,
}

/// A token endpoint, and the client that uses it.
pub(super) struct TokenEndpoint<'a> {
    pub(super) proofs: &'a ProofContext,
    pub(super) http_client: &'a OAuthHttpClient,
    pub(super) settings: &'a OAuthSettings,
    pub(super) client: &'a ClientIdentity,
    pub(super) issuer: &'a str,
    pub(super) url: &'a str,
    /// The key that the tokens will be bound to.
    pub(super) key: Option<&'a DpopKey>,
    /// The server that the tokens are for, named in every request (RFC 8707).
    pub(super) resource: &'a str,
}

impl TokenEndpoint<'_> {
    /// Requests tokens with these parameters in addition to the common ones.
    pub(super) async fn request_tokens(
        &self,
        parameters: &[(&str, &str)],
    ) -> Result<IssuedTokens, OAuthError> {
        parse_tokens(&self.request_json(parameters).await?, self.key.is_some())
    }

    /// The same, and returns the JSON response. A server that requires a nonce in the proof sends
    /// it with its refusal and is asked a second time.
    pub(super) async fn request_json(
        &self,
        parameters: &[(&str, &str)],
    ) -> Result<Value, OAuthError> {
        let mut attempts = 0_u8;
        loop {
            attempts = attempts.saturating_add(1);
            let answer = self.send_once(parameters).await?;
            let error = answer.value.get("error").and_then(Value::as_str);
            match answer.status {
                200 => return Ok(answer.value),
                400..500
                    if attempts == 1 && error == Some(USE_NONCE_ERROR) && answer.has_new_nonce => {}
                // A refusal names its error (RFC 6749 §5.2). Without one, the response may come
                // from a proxy in front of the authorization server; and 429 is a rate limit that
                // passes. Neither may end a login.
                400..500 if error.is_some() && answer.status != 429 => {
                    return Err(refused_error(error));
                }
                status => {
                    let reason = format!("the token endpoint answered with status {status}");
                    return Err(OAuthError::Unavailable { what: TOKEN, reason });
                }
            }
        }
    }

    async fn send_once(&self, parameters: &[(&str, &str)]) -> Result<JsonResponse, OAuthError> {
        let last = &self.proofs.issuer_nonce;
        let proof = self.key.map(|key| self.proof(key)).transpose()?.map(|proof| (proof, last));
        self.post(TOKEN, self.url, parameters, proof).await
    }

    /// Posts a form to the authorization server, with the client's authentication.
    pub(super) async fn post(
        &self,
        what: &'static str,
        url: &str,
        parameters: &[(&str, &str)],
        proof: Option<(HeaderValue, &LastNonce)>,
    ) -> Result<JsonResponse, OAuthError> {
        let secret = self.client.secret(self.settings).await?;
        let assertion = self.assertion().await?;
        let mut form: Vec<(&str, &str)> = parameters.to_vec();
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
        self.http_client.post_proven_form(what, url, &form, basic, proof).await
    }

    fn proof(&self, key: &DpopKey) -> Result<HeaderValue, OAuthError> {
        let refused = |_| OAuthError::Address { what: TOKEN, reason: "it is not a URL" };
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

    /// The assertion that authenticates this client, if it uses a private key; otherwise empty.
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
            id: &random_token(self.proofs.random.as_ref())?,
        };
        assertion.sign(&pem)
    }
}

/// Reads an access token: one that is bound to a key exactly where a key was shown.
fn parse_tokens(value: &Value, bound: bool) -> Result<IssuedTokens, OAuthError> {
    let wrong = |reason| OAuthError::Document { what: TOKEN, reason };
    let token = |key: &str| -> Result<Option<Zeroizing<String>>, OAuthError> {
        let Some(text) = value.get(key).and_then(Value::as_str) else { return Ok(None) };
        let legal = !text.is_empty()
            && text.len() <= MAX_TOKEN_BYTES
            && text.bytes().all(|b| b.is_ascii_graphic());
        legal
            .then(|| Some(Zeroizing::new(text.to_owned())))
            .ok_or_else(|| wrong("it is not a token"))
    };
    let kind = text_field(value, "token_type").unwrap_or_default();
    let expected = if bound { "dpop" } else { "bearer" };
    if !kind.eq_ignore_ascii_case(expected) {
        return Err(wrong(match bound {
            true => "it is not bound to the key of the login (`DPoP`), as the server wants it",
            false => "it is of another type than `Bearer`",
        }));
    }
    let access_token =
        token("access_token")?.ok_or_else(|| wrong("there is none in the answer"))?;
    let lifetime = value.get("expires_in").and_then(|lifetime| {
        lifetime.as_u64().or_else(|| lifetime.as_str().and_then(|text| text.parse().ok()))
    });
    Ok(IssuedTokens {
        access_token,
        refresh_token: token("refresh_token")?,
        lifetime: lifetime.map(|lifetime| Duration::from_secs(lifetime.min(MAX_LIFETIME_SECONDS))),
        scopes: text_field(value, "scope").map(|text| parse_scopes(&text)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_bearer_token_that_fits_a_header_counts() {
        let fine = json!({"access_token": "a.b", "token_type": "bearer", "expires_in": "60"});
        assert_eq!(parse_tokens(&fine, false).unwrap().lifetime, Some(Duration::from_secs(60)));
        for broken in [
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "a"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a\r\nx: y", "token_type": "Bearer"}),
            json!({"access_token": "x".repeat(20_000), "token_type": "Bearer"}),
            json!({"access_token": "a", "token_type": "Bearer", "refresh_token": "a b"}),
            json!([]),
        ] {
            assert!(parse_tokens(&broken, false).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_token_that_is_not_bound_to_the_key_is_refused() {
        let bound = json!({"access_token": "a", "token_type": "dpop"});
        assert!(parse_tokens(&bound, true).is_ok() && parse_tokens(&bound, false).is_err());
        let unbound = json!({"access_token": "a", "token_type": "Bearer"});
        assert_eq!(parse_tokens(&unbound, true).err().unwrap().code(), "oauth.document");
    }
}
