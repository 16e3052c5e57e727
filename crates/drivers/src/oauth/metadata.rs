//! The metadata of protected resources (RFC 9728) and authorization servers (RFC 8414 and OpenID
//! Connect Discovery), and their discovery.

use std::collections::BTreeSet;

use reqwest::Url;
use serde_json::Value;

use super::challenge::Challenge;
use super::dpop::{ALGORITHM, TokenBinding};
use super::error::OAuthError;
use super::oauth_http_client::OAuthHttpClient;

/// The most entries of one list in a document.
const MAX_LIST: usize = 200;
const RESOURCE_METADATA: &str = "the metadata of the protected resource";
const SERVER_METADATA: &str = "the metadata of the authorization server";

/// The metadata of a protected resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Its identifier, for which tokens are requested.
    pub resource: String,
    /// The issuers whose tokens it accepts.
    pub authorization_servers: Vec<String>,
    /// The scopes that it supports.
    pub scopes_supported: BTreeSet<String>,
    /// Whether it accepts tokens bound to a key.
    pub token_binding: TokenBinding,
}

/// The metadata of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthorizationServer {
    /// Its identifier.
    pub issuer: String,
    /// Where a person authorises a client.
    pub authorization_endpoint: Option<String>,
    /// Where tokens are requested.
    pub token_endpoint: Option<String>,
    /// Where clients register.
    pub registration_endpoint: Option<String>,
    /// Where device codes are requested.
    pub device_authorization_endpoint: Option<String>,
    /// Where tokens are introspected.
    pub introspection_endpoint: Option<String>,
    /// Where its keys are published.
    pub jwks_uri: Option<String>,
    /// The supported PKCE methods.
    pub code_challenge_methods: BTreeSet<String>,
    /// The supported client authentication methods; empty if not declared.
    pub token_endpoint_auth_methods: BTreeSet<String>,
    /// The algorithms accepted for client assertions; empty if not declared.
    pub assertion_algorithms: BTreeSet<String>,
    /// The algorithms accepted for DPoP proofs; empty if not declared.
    pub dpop_algorithms: BTreeSet<String>,
    /// The scopes that it supports.
    pub scopes_supported: BTreeSet<String>,
    /// Whether a client id may be the URL of a client metadata document.
    pub client_id_metadata_documents: bool,
    /// Whether its authorization responses contain its issuer identifier (RFC 9207).
    pub sends_issuer_in_redirect: bool,
}

impl ProtectedResource {
    /// Fetches the metadata from the URL in the challenge, else from the well-known URL for the
    /// server's path, else for its root; `None` if there is no document.
    ///
    /// # Errors
    /// [`OAuthError::Document`], for a document about another resource.
    pub async fn discover(
        http_client: &OAuthHttpClient,
        server: &Url,
        challenge: &Challenge,
    ) -> Result<Option<Self>, OAuthError> {
        if let Some(named) = &challenge.resource_metadata {
            let response = http_client.get(RESOURCE_METADATA, named).await?;
            if response.status == 200 {
                return Self::parse(&response.value, server).map(Some);
            }
        }
        for candidate in well_known_urls(server, "oauth-protected-resource") {
            let response = http_client.get(RESOURCE_METADATA, &candidate).await?;
            if response.status == 200 && response.value.is_object() {
                return Self::parse(&response.value, server).map(Some);
            }
        }
        Ok(None)
    }

    fn parse(value: &Value, server: &Url) -> Result<Self, OAuthError> {
        let wrong = |reason| OAuthError::Document { what: RESOURCE_METADATA, reason };
        let resource =
            text_field(value, "resource").ok_or_else(|| wrong("it has no `resource`"))?;
        // A token for another resource would be valid there, so this server must not be able to ask
        // for one.
        if !is_same_or_parent(&resource, server) {
            return Err(wrong("its `resource` is another server"));
        }
        let authorization_servers = text_list(value, "authorization_servers");
        if authorization_servers.is_empty() {
            return Err(wrong("it names no authorization server"));
        }
        let scopes_supported = text_list(value, "scopes_supported").into_iter().collect();
        let bound = value.get("dpop_bound_access_tokens_required").and_then(Value::as_bool);
        let algorithms = text_list(value, "dpop_signing_alg_values_supported");
        let known = algorithms.iter().any(|name| name == ALGORITHM);
        let token_binding = match bound.unwrap_or(false) {
            true if !algorithms.is_empty() && !known => return Err(OAuthError::NoDpop),
            true => TokenBinding::Required,
            false if known => TokenBinding::Offered,
            false => TokenBinding::Unbound,
        };
        Ok(Self { resource, authorization_servers, scopes_supported, token_binding })
    }
}

/// Whether a resource identifier is the server itself or a parent path of it.
fn is_same_or_parent(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let (server_path, resource_path) = (server.path(), resource.path().trim_end_matches('/'));
    server_path
        .strip_prefix(resource_path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The well-known URLs of a document about `at`: with its path appended, then at the root.
fn well_known_urls(at: &Url, document: &str) -> Vec<String> {
    let origin = at.origin().ascii_serialization();
    let path = at.path().trim_end_matches('/');
    let root = format!("{origin}/.well-known/{document}");
    if path.is_empty() { vec![root] } else { vec![format!("{root}{path}"), root] }
}

impl AuthorizationServer {
    /// Fetches the metadata of an issuer from the URLs in the order that MCP prescribes. A document
    /// counts only if it names exactly this issuer (RFC 8414 §3.3).
    ///
    /// # Errors
    /// [`OAuthError`], if there is no usable document.
    pub async fn discover(http_client: &OAuthHttpClient, issuer: &str) -> Result<Self, OAuthError> {
        let wrong = |reason| OAuthError::Document { what: SERVER_METADATA, reason };
        let issuer_url = Url::parse(issuer).map_err(|_| OAuthError::Address {
            what: SERVER_METADATA,
            reason: "it is not a URL",
        })?;
        if issuer_url.query().is_some() || issuer_url.fragment().is_some() {
            return Err(wrong("its issuer has a query or a fragment"));
        }
        for candidate in metadata_urls(&issuer_url) {
            let response = http_client.get(SERVER_METADATA, &candidate).await?;
            if response.status != 200 || !response.value.is_object() {
                continue;
            }
            let read = Self::parse(&response.value)?;
            if read.issuer != issuer {
                return Err(wrong("it names another issuer than the one that was asked"));
            }
            return Ok(read);
        }
        let reason = "there is no document at any of the well-known addresses".to_owned();
        Err(OAuthError::Unavailable { what: SERVER_METADATA, reason })
    }

    fn parse(value: &Value) -> Result<Self, OAuthError> {
        let wrong = |reason| OAuthError::Document { what: SERVER_METADATA, reason };
        let text_set = |key| text_list(value, key).into_iter().collect();
        let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            issuer: text_field(value, "issuer").ok_or_else(|| wrong("it has no `issuer`"))?,
            authorization_endpoint: text_field(value, "authorization_endpoint"),
            token_endpoint: text_field(value, "token_endpoint"),
            registration_endpoint: text_field(value, "registration_endpoint"),
            device_authorization_endpoint: text_field(value, "device_authorization_endpoint"),
            introspection_endpoint: text_field(value, "introspection_endpoint"),
            jwks_uri: text_field(value, "jwks_uri"),
            code_challenge_methods: text_set("code_challenge_methods_supported"),
            token_endpoint_auth_methods: text_set("token_endpoint_auth_methods_supported"),
            assertion_algorithms: text_set("token_endpoint_auth_signing_alg_values_supported"),
            dpop_algorithms: text_set("dpop_signing_alg_values_supported"),
            scopes_supported: text_set("scopes_supported"),
            client_id_metadata_documents: flag("client_id_metadata_document_supported"),
            sends_issuer_in_redirect: flag("authorization_response_iss_parameter_supported"),
        })
    }

    /// Refuses a server that does not declare PKCE with S256.
    ///
    /// # Errors
    /// [`OAuthError::NoPkce`].
    pub fn require_pkce(&self) -> Result<(), OAuthError> {
        match self.code_challenge_methods.contains("S256") {
            true => Ok(()),
            false => Err(OAuthError::NoPkce),
        }
    }
}

/// The URLs at which the metadata of an issuer may be published.
fn metadata_urls(issuer: &Url) -> Vec<String> {
    let origin = issuer.origin().ascii_serialization();
    let path = issuer.path().trim_end_matches('/');
    let (oauth, openid) = ("oauth-authorization-server", "openid-configuration");
    let mut candidates = vec![
        format!("{origin}/.well-known/{oauth}{path}"),
        format!("{origin}/.well-known/{openid}{path}"),
    ];
    if !path.is_empty() {
        candidates.push(format!("{origin}{path}/.well-known/{openid}"));
    }
    candidates
}

pub(super) fn text_field(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.is_empty() && text.len() <= 4096).then(|| text.to_owned())
}

fn text_list(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = list.iter().take(MAX_LIST).filter_map(Value::as_str);
    texts.filter(|text| !text.is_empty() && text.len() <= 4096).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_path_of_an_issuer_is_put_between() {
        assert_eq!(
            metadata_urls(&url("https://h.example/t/")),
            [
                "https://h.example/.well-known/oauth-authorization-server/t",
                "https://h.example/.well-known/openid-configuration/t",
                "https://h.example/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(metadata_urls(&url("https://h.example")).len(), 2);
        assert_eq!(
            well_known_urls(&url("https://h.example:8/a/mcp"), "oauth-protected-resource"),
            [
                "https://h.example:8/.well-known/oauth-protected-resource/a/mcp",
                "https://h.example:8/.well-known/oauth-protected-resource",
            ]
        );
    }

    #[test]
    fn a_resource_speaks_for_itself_alone() {
        let server = url("https://h.example/a/mcp");
        for fine in ["https://h.example/a/mcp", "https://H.example/a/", "https://h.example"] {
            assert!(is_same_or_parent(fine, &server), "{fine}");
        }
        for other in [
            "https://h.example/a/mc",
            "https://h.example/b",
            "https://h.example:8443/a/mcp",
            "http://h.example/a/mcp",
            "https://evil.example/a/mcp",
            "https://h.example/a/mcp#x",
            "h.example/a/mcp",
        ] {
            assert!(!is_same_or_parent(other, &server), "{other}");
            let value = json!({"resource": other, "authorization_servers": ["https://a.example"]});
            assert!(ProtectedResource::parse(&value, &server).is_err(), "{other}");
        }
        let nobody = json!({"resource": "https://h.example/a/mcp", "authorization_servers": []});
        assert!(ProtectedResource::parse(&nobody, &server).is_err());
    }

    #[test]
    fn a_resource_says_whether_its_tokens_are_bound_to_a_key() {
        let server = url("https://h.example/mcp");
        let of = |required: Value, algorithms: Value| {
            let value = json!({"resource": "https://h.example/mcp",
                "authorization_servers": ["https://a.example"],
                "dpop_bound_access_tokens_required": required,
                "dpop_signing_alg_values_supported": algorithms});
            ProtectedResource::parse(&value, &server).map(|resource| resource.token_binding)
        };
        assert_eq!(of(json!(null), json!(null)), Ok(TokenBinding::Unbound));
        assert_eq!(of(json!(null), json!(["RS256"])), Ok(TokenBinding::Unbound));
        assert_eq!(of(json!(false), json!(["ES256"])), Ok(TokenBinding::Offered));
        assert_eq!(of(json!(true), json!(null)), Ok(TokenBinding::Required));
        assert_eq!(of(json!(true), json!(["RS256"])), Err(OAuthError::NoDpop));
    }

    #[test]
    fn silence_about_pkce_is_a_refusal() {
        for methods in [json!(null), json!([]), json!(["plain"])] {
            let value = json!({"issuer": "x", "code_challenge_methods_supported": methods});
            let server = AuthorizationServer::parse(&value).unwrap();
            assert_eq!(server.require_pkce(), Err(OAuthError::NoPkce));
        }
        let value = json!({"issuer": "x", "code_challenge_methods_supported": ["plain", "S256"]});
        assert_eq!(AuthorizationServer::parse(&value).unwrap().require_pkce(), Ok(()));
    }
}
