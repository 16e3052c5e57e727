//! Tokens without a person in front: for this client itself (RFC 6749 §4.4), and for whoever an
//! assertion speaks for (RFC 7523 §2.1).

use serde_json::Value;
use zeroize::Zeroizing;

use super::challenge::Challenge;
use super::client::OAuthClient;
use super::discovered_server::DiscoveredServer;
use super::error::OAuthError;
use super::grant::{Grant, MAX_TOKEN, TokenEndpoint};
use super::metadata::AuthorizationServer;
use super::registration::ClientIdentity;
use super::settings::{AssertionSource, GrantType, OAuthSettings, TokenExchange};
use super::web::{AllowedAddresses, OAuthHttpClient};
use crate::http::SecretProvider;

const CLIENT_CREDENTIALS: &str = "client_credentials";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// The type of an assertion that one authorization server takes, and of what it is exchanged for.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ASSERTION: &str = "the assertion";
const PROVIDER: &str = "the assertion of the identity provider";

impl OAuthClient {
    /// Gets a token without a person, unless somebody else did already. What is refused is not asked
    /// for in another way.
    pub(super) async fn log_in_itself(
        &self,
        challenge: &Challenge,
        used: Option<&str>,
    ) -> Result<(), OAuthError> {
        let web = self.web().await?;
        let mut guard = self.store.lock().await?;
        let known = self.store.load()?;
        if known.is_some_and(|login| used != Some(&*login.access_token)) {
            return Ok(());
        }
        let found = self.discover(web, challenge).await?;
        let id = self.settings.client_id.as_deref().ok_or(OAuthError::NoRegistration)?;
        let client = ClientIdentity::registered(&found.server, &self.settings, id);
        let scopes = self.scopes(challenge, &found);
        let wanted = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let assertion = match self.settings.grant {
            GrantType::JwtBearer => Some(self.assertion(&found, &wanted).await?),
            GrantType::ClientCredentials | GrantType::AuthorizationCode => None,
        };
        let mut form = match &assertion {
            Some(assertion) => vec![("grant_type", JWT_BEARER), ("assertion", assertion.as_str())],
            None => vec![("grant_type", CLIENT_CREDENTIALS)],
        };
        form.extend((!wanted.is_empty()).then_some(("scope", wanted.as_str())));
        let key = found.key()?;
        let endpoint = found.endpoint(&self.proofs, &self.settings, web, &client, key.as_ref());
        let granted = endpoint.ask(&form).await?;
        // What the token was given for is asked again instead (RFC 7521 §4.1).
        let granted = Grant { refresh_token: None, ..granted };
        let login = self.begun(&found, client.clone(), scopes, key);
        self.keep(guard.as_mut(), login, granted).map(drop)
    }

    /// The assertion, read or asked for anew.
    async fn assertion(
        &self,
        found: &DiscoveredServer,
        scopes: &str,
    ) -> Result<Zeroizing<String>, OAuthError> {
        match &self.settings.assertion {
            Some(AssertionSource::Token(source)) => token(source.as_ref()).await,
            Some(AssertionSource::Exchange(exchange)) => {
                self.exchanged(exchange, found, scopes).await
            }
            None => {
                let reason = "the configuration names none".to_owned();
                Err(OAuthError::Unavailable { what: ASSERTION, reason })
            }
        }
    }

    /// Has the identity provider give an assertion for the authorization server of `found`.
    async fn exchanged(
        &self,
        exchange: &TokenExchange,
        found: &DiscoveredServer,
        scopes: &str,
    ) -> Result<Zeroizing<String>, OAuthError> {
        // The operator named it: it may be inside.
        let web = OAuthHttpClient::new(AllowedAddresses::Anywhere)
            .with_authority(self.settings.authority.clone());
        let server = AuthorizationServer::find(&web, &exchange.issuer).await?;
        let wrong = |reason| OAuthError::Document { what: PROVIDER, reason };
        let url = server.token_endpoint.as_deref();
        let url = url.ok_or_else(|| wrong("the provider has no `token_endpoint`"))?;
        let settings = OAuthSettings {
            client_id: Some(exchange.client_id.clone()),
            client_secret: exchange.client_secret.clone(),
            ..OAuthSettings::default()
        };
        let client = ClientIdentity::registered(&server, &settings, &exchange.client_id);
        let endpoint = TokenEndpoint {
            proofs: &self.proofs,
            web: &web,
            settings: &settings,
            client: &client,
            issuer: &server.issuer,
            url,
            key: None,
            resource: &found.resource.resource,
        };
        let subject = token(exchange.subject_token.as_ref()).await?;
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", found.server.issuer.as_str()),
            ("subject_token", subject.as_str()),
            ("subject_token_type", ID_TOKEN),
        ];
        form.extend((!scopes.is_empty()).then_some(("scope", scopes)));
        let answer = endpoint.answer(&form).await?;
        let of = |key: &str| answer.get(key).and_then(Value::as_str);
        if of("issued_token_type") != Some(ID_JAG) {
            return Err(wrong("it is of another type than was asked for (`id-jag`)"));
        }
        let assertion = of("access_token").filter(|text| is_token(text));
        let assertion = assertion.ok_or_else(|| wrong("it is no token"))?;
        Ok(Zeroizing::new(assertion.to_owned()))
    }
}

/// A signed token that somebody else keeps fresh.
async fn token(source: &dyn SecretProvider) -> Result<Zeroizing<String>, OAuthError> {
    let failed = |reason: String| OAuthError::Unavailable { what: ASSERTION, reason };
    let text = source.secret().await.map_err(|error| failed(error.to_string()))?.into_text();
    if !is_token(&text) {
        return Err(failed("its source holds no JSON Web Token".to_owned()));
    }
    Ok(text)
}

/// Whether a text has the form of a signed JSON Web Token.
fn is_token(text: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.len() <= MAX_TOKEN
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
            assert!(is_token(fine), "{fine}");
        }
        for broken in ["", "a", "a.b", "a.b.", "a..c", "a.b.c.d", "a.b.c\n", "a b.c.d"] {
            assert!(!is_token(broken), "{broken}");
        }
        assert!(!is_token(&format!("a.b.{}", "c".repeat(20_000))));
    }
}
