//! Tokens without a person: for this client itself (RFC 6749 §4.4), or for the subject of an
//! assertion (RFC 7523 §2.1).

use serde_json::Value;
use zeroize::Zeroizing;

use super::challenge::Challenge;
use super::client::OAuthClient;
use super::discovered_server::DiscoveredServer;
use super::error::OAuthError;
use super::grant::{IssuedTokens, MAX_TOKEN_BYTES, TokenEndpoint};
use super::metadata::AuthorizationServer;
use super::oauth_http_client::{AllowedAddresses, OAuthHttpClient};
use super::registration::ClientIdentity;
use super::settings::{AssertionSource, GrantType, OAuthSettings, TokenExchange};
use crate::http::SecretProvider;

const CLIENT_CREDENTIALS: &str = "client_credentials";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// The token type of an identity assertion for one authorization server.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ASSERTION: &str = "the assertion";
const PROVIDER_ASSERTION: &str = "the assertion of the identity provider";

impl OAuthClient {
    /// Gets a token without a person, unless another task or process did so first. A refused grant
    /// is not tried in another way.
    pub(super) async fn log_in_unattended(
        &self,
        challenge: &Challenge,
        used: Option<&str>,
    ) -> Result<(), OAuthError> {
        let http_client = self.http_client().await?;
        let mut guard = self.store.lock().await?;
        let login = self.store.load()?;
        if login.is_some_and(|login| used != Some(&*login.access_token)) {
            return Ok(());
        }
        let discovered = self.discover(http_client, challenge).await?;
        let id = self.settings.client_id.as_deref().ok_or(OAuthError::NoRegistration)?;
        let client = ClientIdentity::from_settings(&discovered.server, &self.settings, id);
        let scopes = self.scopes(challenge, &discovered);
        let scope_text = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let assertion = match self.settings.grant {
            GrantType::JwtBearer => Some(self.assertion(&discovered, &scope_text).await?),
            GrantType::ClientCredentials | GrantType::AuthorizationCode => None,
        };
        let mut form = match &assertion {
            Some(assertion) => vec![("grant_type", JWT_BEARER), ("assertion", assertion.as_str())],
            None => vec![("grant_type", CLIENT_CREDENTIALS)],
        };
        form.extend((!scope_text.is_empty()).then_some(("scope", scope_text.as_str())));
        let key = discovered.new_dpop_key()?;
        let endpoint =
            discovered.endpoint(&self.proofs, &self.settings, http_client, &client, key.as_ref());
        let granted = endpoint.request_tokens(&form).await?;
        // A refresh token is not kept: the grant itself is repeated instead (RFC 7521 §4.1).
        let granted = IssuedTokens { refresh_token: None, ..granted };
        let login = self.new_login(&discovered, client.clone(), scopes, key);
        self.save_grant(guard.as_mut(), login, granted).map(drop)
    }

    /// The assertion: read, or requested from the identity provider.
    async fn assertion(
        &self,
        discovered: &DiscoveredServer,
        scopes: &str,
    ) -> Result<Zeroizing<String>, OAuthError> {
        match &self.settings.assertion {
            Some(AssertionSource::Token(source)) => read_assertion(source.as_ref()).await,
            Some(AssertionSource::Exchange(exchange)) => {
                self.exchange_assertion(exchange, discovered, scopes).await
            }
            None => {
                let reason = "the configuration names none".to_owned();
                Err(OAuthError::Unavailable { what: ASSERTION, reason })
            }
        }
    }

    /// Requests an assertion for the discovered authorization server from the identity provider.
    async fn exchange_assertion(
        &self,
        exchange: &TokenExchange,
        discovered: &DiscoveredServer,
        scopes: &str,
    ) -> Result<Zeroizing<String>, OAuthError> {
        // The operator configured it, so it may be at an internal address.
        let http_client = OAuthHttpClient::new(AllowedAddresses::Anywhere)
            .with_certificate_authority(self.settings.certificate_authority.clone());
        let server = AuthorizationServer::discover(&http_client, &exchange.issuer).await?;
        let wrong = |reason| OAuthError::Document { what: PROVIDER_ASSERTION, reason };
        let url = server.token_endpoint.as_deref();
        let url = url.ok_or_else(|| wrong("the provider has no `token_endpoint`"))?;
        let settings = OAuthSettings {
            client_id: Some(exchange.client_id.clone()),
            client_secret: exchange.client_secret.clone(),
            ..OAuthSettings::default()
        };
        let client = ClientIdentity::from_settings(&server, &settings, &exchange.client_id);
        let endpoint = TokenEndpoint {
            proofs: &self.proofs,
            http_client: &http_client,
            settings: &settings,
            client: &client,
            issuer: &server.issuer,
            url,
            key: None,
            resource: &discovered.resource.resource,
        };
        let subject = read_assertion(exchange.subject_token.as_ref()).await?;
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", discovered.server.issuer.as_str()),
            ("subject_token", subject.as_str()),
            ("subject_token_type", ID_TOKEN),
        ];
        form.extend((!scopes.is_empty()).then_some(("scope", scopes)));
        let answer = endpoint.request_json(&form).await?;
        let field = |key: &str| answer.get(key).and_then(Value::as_str);
        if field("issued_token_type") != Some(ID_JAG) {
            return Err(wrong("it is of another type than was asked for (`id-jag`)"));
        }
        let assertion = field("access_token").filter(|text| is_signed_jwt(text));
        let assertion = assertion.ok_or_else(|| wrong("it is not a token"))?;
        Ok(Zeroizing::new(assertion.to_owned()))
    }
}

/// Reads a signed token that another party renews.
async fn read_assertion(source: &dyn SecretProvider) -> Result<Zeroizing<String>, OAuthError> {
    let failed = |reason: String| OAuthError::Unavailable { what: ASSERTION, reason };
    let text = source.secret().await.map_err(|error| failed(error.to_string()))?.into_text();
    if !is_signed_jwt(&text) {
        return Err(failed("its source holds no JSON Web Token".to_owned()));
    }
    Ok(text)
}

/// Whether a text has the form of a signed JSON Web Token.
fn is_signed_jwt(text: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.len() <= MAX_TOKEN_BYTES
        && text.bytes().all(legal)
        && text.split('.').filter(|part| !part.is_empty()).count() == 3
        && text.matches('.').count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_signed_token_is_sent() {
        for fine in ["a.b.c", "eyJ-_.x.y"] {
            assert!(is_signed_jwt(fine), "{fine}");
        }
        for broken in ["", "a", "a.b", "a.b.", "a..c", "a.b.c.d", "a.b.c\n", "a b.c.d"] {
            assert!(!is_signed_jwt(broken), "{broken}");
        }
        assert!(!is_signed_jwt(&format!("a.b.{}", "c".repeat(20_000))));
    }
}
