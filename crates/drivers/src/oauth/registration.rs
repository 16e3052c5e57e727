//! How this client is registered at an authorization server: beforehand, by a Client ID Metadata
//! Document, or dynamically (RFC 7591).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::dpop::TokenBinding;
use super::error::{OAuthError, refused_error};
use super::metadata::{AuthorizationServer, text_field};
use super::oauth_http_client::OAuthHttpClient;
use super::settings::OAuthSettings;
use crate::http::Secret;

const REGISTRATION: &str = "the registration of this client";

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthentication {
    /// Not at all: a public client, whose codes are protected by PKCE.
    None,
    /// HTTP Basic.
    ClientSecretBasic,
    /// Client id and secret in the form.
    ClientSecretPost,
    /// A JSON Web Token signed with its private key (RFC 7523).
    PrivateKeyJwt,
}

impl ClientAuthentication {
    /// The methods that a dynamic registration of this client may use.
    const REGISTERED: [Self; 3] = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost];

    const ALL: [(Self, &'static str); 4] = [
        (Self::None, "none"),
        (Self::ClientSecretBasic, "client_secret_basic"),
        (Self::ClientSecretPost, "client_secret_post"),
        (Self::PrivateKeyJwt, "private_key_jwt"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(method, _)| *method == self).map_or("none", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::REGISTERED.into_iter().find(|method| method.as_str() == name)
    }

    /// The first of `methods` that the server supports. A server that declares none supports Basic
    /// (RFC 8414 §2).
    fn choose(server: &AuthorizationServer, methods: &[Self]) -> Option<Self> {
        let offered = &server.token_endpoint_auth_methods;
        if offered.is_empty() {
            return methods
                .iter()
                .find(|method| **method == Self::ClientSecretBasic)
                .or(methods.first())
                .copied();
        }
        methods.iter().find(|method| offered.contains(method.as_str())).copied()
    }
}

/// The registration of this client at one authorization server.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientIdentity {
    /// Its id there.
    pub client_id: String,
    /// How it authenticates.
    pub authentication: ClientAuthentication,
    /// The secret of a dynamic registration. A configured secret is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Zeroizing<String>>,
    /// The algorithms that its assertions may use; empty if not declared.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) assertion_algorithms: BTreeSet<String>,
    /// The redirect URI that it registered.
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
    /// Establishes the registration in the order of the protocol: configured, by metadata document,
    /// dynamic.
    pub(super) async fn establish(
        http_client: &OAuthHttpClient,
        server: &AuthorizationServer,
        settings: &OAuthSettings,
        redirect_uri: &str,
        binding: TokenBinding,
    ) -> Result<Self, OAuthError> {
        if let Some(client_id) = &settings.client_id {
            return Ok(Self::from_settings(server, settings, client_id));
        }
        if let Some(document) =
            settings.client_metadata_url.as_ref().filter(|_| server.client_id_metadata_documents)
        {
            return Ok(Self::new(document, ClientAuthentication::None));
        }
        match &server.registration_endpoint {
            Some(endpoint) => {
                let name = &settings.client_name;
                Self::register(http_client, server, name, endpoint, redirect_uri, binding).await
            }
            None => Err(OAuthError::NoRegistration),
        }
    }

    fn new(client_id: &str, authentication: ClientAuthentication) -> Self {
        Self {
            client_id: client_id.to_owned(),
            authentication,
            secret: None,
            assertion_algorithms: BTreeSet::new(),
            redirect_uri: None,
        }
    }

    /// The registration with the configured client id.
    pub(super) fn from_settings(
        server: &AuthorizationServer,
        settings: &OAuthSettings,
        client_id: &str,
    ) -> Self {
        use ClientAuthentication::{
            ClientSecretBasic, ClientSecretPost, None as Public, PrivateKeyJwt,
        };

        let methods: &[ClientAuthentication] = match (&settings.client_key, &settings.client_secret)
        {
            (Some(_), _) => &[PrivateKeyJwt],
            (None, Some(_)) => &[ClientSecretBasic, ClientSecretPost],
            (None, None) => &[Public],
        };
        let authentication = ClientAuthentication::choose(server, methods)
            .or(methods.first().copied())
            .unwrap_or(Public);
        let assertion_algorithms = server.assertion_algorithms.clone();
        Self { assertion_algorithms, ..Self::new(client_id, authentication) }
    }

    async fn register(
        http_client: &OAuthHttpClient,
        server: &AuthorizationServer,
        client_name: &str,
        endpoint: &str,
        redirect_uri: &str,
        binding: TokenBinding,
    ) -> Result<Self, OAuthError> {
        let method = ClientAuthentication::choose(server, &ClientAuthentication::REGISTERED);
        let method = method.ok_or(OAuthError::NoRegistration)?;
        let mut grants = vec!["authorization_code", "refresh_token"];
        if server.device_authorization_endpoint.is_some() {
            grants.push("urn:ietf:params:oauth:grant-type:device_code");
        }
        let mut document = json!({
            "client_name": client_name,
            // Without it OpenID Connect assumes a web application, whose redirect URIs must be
            // https.
            "application_type": "native",
            "redirect_uris": [redirect_uri],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": method.as_str(),
        });
        if let Some(fields) = document.as_object_mut()
            && binding == TokenBinding::Required
        {
            fields.insert("dpop_bound_access_tokens".to_owned(), true.into());
        }
        let answer = http_client.post_json(REGISTRATION, endpoint, &document).await?;
        if !(200..300).contains(&answer.status) {
            return Err(refused_error(answer.value.get("error").and_then(Value::as_str)));
        }
        let wrong = |reason| OAuthError::Document { what: REGISTRATION, reason };
        let client_id =
            text_field(&answer.value, "client_id").ok_or_else(|| wrong("it has no `client_id`"))?;
        let secret = text_field(&answer.value, "client_secret").map(Zeroizing::new);
        let chosen = text_field(&answer.value, "token_endpoint_auth_method");
        let authentication = match chosen.as_deref().map(ClientAuthentication::parse) {
            Some(Some(method)) => method,
            Some(None) => return Err(wrong("it wants a proof that this client does not have")),
            None => method,
        };
        if authentication != ClientAuthentication::None && secret.is_none() {
            return Err(wrong("it has no `client_secret`"));
        }
        let redirect_uri = Some(redirect_uri.to_owned());
        Ok(Self { secret, redirect_uri, ..Self::new(&client_id, authentication) })
    }

    /// Its secret: from the dynamic registration or the configuration.
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
