//! How this client is known to an authorization server: registered before, by a document at its own
//! address (Client ID Metadata Document), or registered when it first comes (RFC 7591).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::dpop::TokenBinding;
use super::error::{OAuthError, refused};
use super::metadata::{AuthorizationServer, text};
use super::settings::OAuthSettings;
use super::web::OAuthHttpClient;
use crate::http::Secret;

const WHAT: &str = "the registration of this client";

/// How a client proves who it is at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthentication {
    /// Not at all: a public client, whose codes PKCE protects.
    None,
    /// HTTP Basic.
    ClientSecretBasic,
    /// In the form.
    ClientSecretPost,
    /// A JSON Web Token that its private key signs (RFC 7523).
    PrivateKeyJwt,
}

impl ClientAuthentication {
    /// Those that a registration by this client itself can have.
    const REGISTERED: [Self; 3] = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost];

    const ALL: [(Self, &'static str); 4] = [
        (Self::None, "none"),
        (Self::ClientSecretBasic, "client_secret_basic"),
        (Self::ClientSecretPost, "client_secret_post"),
        (Self::PrivateKeyJwt, "private_key_jwt"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(way, _)| *way == self).map_or("none", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::REGISTERED.into_iter().find(|way| way.as_str() == name)
    }

    /// The first of `ways` that the server takes. One that does not say takes Basic (RFC 8414 §2).
    fn of(server: &AuthorizationServer, ways: &[Self]) -> Option<Self> {
        let offered = &server.token_endpoint_auth_methods;
        if offered.is_empty() {
            return ways
                .iter()
                .find(|way| **way == Self::ClientSecretBasic)
                .or(ways.first())
                .copied();
        }
        ways.iter().find(|way| offered.contains(way.as_str())).copied()
    }
}

/// How this client is known to one authorization server.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientIdentity {
    /// Its id there.
    pub client_id: String,
    /// How it proves that it is.
    pub authentication: ClientAuthentication,
    /// The secret of a registration; that of the configuration is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Zeroizing<String>>,
    /// The algorithms that its assertions may be signed with; empty where nobody said.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) assertion_algorithms: BTreeSet<String>,
    /// The address that it registered for the end of a login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect_uri: Option<String>,
}

impl std::fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientIdentity")
            .field("client_id", &self.client_id)
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

impl ClientIdentity {
    /// How this client is known there, in the order of the protocol: registered before, by its
    /// document, by registering now.
    pub(super) async fn establish(
        web: &OAuthHttpClient,
        server: &AuthorizationServer,
        settings: &OAuthSettings,
        redirect_uri: &str,
        binding: TokenBinding,
    ) -> Result<Self, OAuthError> {
        if let Some(client_id) = &settings.client_id {
            return Ok(Self::registered(server, settings, client_id));
        }
        if let Some(document) =
            settings.client_metadata_url.as_ref().filter(|_| server.client_id_metadata_documents)
        {
            return Ok(Self::known_as(document, ClientAuthentication::None));
        }
        match &server.registration_endpoint {
            Some(endpoint) => {
                let name = &settings.client_name;
                Self::register(web, server, name, endpoint, redirect_uri, binding).await
            }
            None => Err(OAuthError::NoRegistration),
        }
    }

    fn known_as(client_id: &str, authentication: ClientAuthentication) -> Self {
        Self {
            client_id: client_id.to_owned(),
            authentication,
            secret: None,
            assertion_algorithms: BTreeSet::new(),
            redirect_uri: None,
        }
    }

    /// How it is known under the id of the settings.
    pub(super) fn registered(
        server: &AuthorizationServer,
        settings: &OAuthSettings,
        client_id: &str,
    ) -> Self {
        use ClientAuthentication::{
            ClientSecretBasic, ClientSecretPost, None as Public, PrivateKeyJwt,
        };

        let ways: &[ClientAuthentication] = match (&settings.client_key, &settings.client_secret) {
            (Some(_), _) => &[PrivateKeyJwt],
            (None, Some(_)) => &[ClientSecretBasic, ClientSecretPost],
            (None, None) => &[Public],
        };
        let authentication =
            ClientAuthentication::of(server, ways).or(ways.first().copied()).unwrap_or(Public);
        let assertion_algorithms = server.assertion_algorithms.clone();
        Self { assertion_algorithms, ..Self::known_as(client_id, authentication) }
    }

    async fn register(
        web: &OAuthHttpClient,
        server: &AuthorizationServer,
        client_name: &str,
        endpoint: &str,
        redirect_uri: &str,
        binding: TokenBinding,
    ) -> Result<Self, OAuthError> {
        let wanted = ClientAuthentication::of(server, &ClientAuthentication::REGISTERED);
        let wanted = wanted.ok_or(OAuthError::NoRegistration)?;
        let mut grants = vec!["authorization_code", "refresh_token"];
        if server.device_authorization_endpoint.is_some() {
            grants.push("urn:ietf:params:oauth:grant-type:device_code");
        }
        let mut document = json!({
            "client_name": client_name,
            // Without it OpenID Connect takes a client for a web application, whose redirects must be https.
            "application_type": "native",
            "redirect_uris": [redirect_uri],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": wanted.as_str(),
        });
        if let Some(fields) = document.as_object_mut()
            && binding == TokenBinding::Required
        {
            fields.insert("dpop_bound_access_tokens".to_owned(), true.into());
        }
        let answer = web.post_json(WHAT, endpoint, &document).await?;
        if !(200..300).contains(&answer.status) {
            return Err(refused(answer.value.get("error").and_then(Value::as_str)));
        }
        let wrong = |reason| OAuthError::Document { what: WHAT, reason };
        let client_id =
            text(&answer.value, "client_id").ok_or_else(|| wrong("it has no `client_id`"))?;
        let secret = text(&answer.value, "client_secret").map(Zeroizing::new);
        let said = text(&answer.value, "token_endpoint_auth_method");
        let authentication = match said.as_deref().map(ClientAuthentication::parse) {
            Some(Some(way)) => way,
            Some(None) => return Err(wrong("it wants a proof that this client does not have")),
            None => wanted,
        };
        if authentication != ClientAuthentication::None && secret.is_none() {
            return Err(wrong("it has no `client_secret`"));
        }
        let redirect_uri = Some(redirect_uri.to_owned());
        Ok(Self { secret, redirect_uri, ..Self::known_as(&client_id, authentication) })
    }

    /// Its secret: that of the registration, or of the configuration.
    pub(super) async fn secret(
        &self,
        settings: &OAuthSettings,
    ) -> Result<Option<Secret>, OAuthError> {
        match self.authentication {
            ClientAuthentication::None | ClientAuthentication::PrivateKeyJwt => return Ok(None),
            ClientAuthentication::ClientSecretBasic | ClientAuthentication::ClientSecretPost => {}
        }
        if let Some(secret) = &self.secret {
            return Secret::new(secret.clone()).map(Some).map_err(|error| {
                OAuthError::Unavailable { what: "the client's secret", reason: error.to_string() }
            });
        }
        let Some(provider) = &settings.client_secret else { return Ok(None) };
        let secret = provider.secret().await;
        secret.map(Some).map_err(|error| OAuthError::Unavailable {
            what: "the client's secret",
            reason: error.to_string(),
        })
    }
}
