//! The metadata of protected resources (RFC 9728) and of authorization servers (RFC 8414 and OpenID
//! Connect Discovery), and where they are looked for.

use std::collections::BTreeSet;

use reqwest::Url;
use serde_json::Value;

use super::challenge::Challenge;
use super::dpop::{ALGORITHM, TokenBinding};
use super::error::OAuthError;
use super::web::OAuthHttpClient;

/// The most entries of one list of a document.
const MAX_LIST: usize = 200;
const RESOURCE: &str = "the metadata of the protected resource";
const SERVER: &str = "the metadata of the authorization server";

/// What a protected resource says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Its identifier, for which tokens are asked.
    pub resource: String,
    /// The issuers whose tokens it takes.
    pub authorization_servers: Vec<String>,
    /// The scopes that it knows.
    pub scopes_supported: BTreeSet<String>,
    /// Whether it takes tokens that are bound to a key.
    pub token_binding: TokenBinding,
}

/// What an authorization server says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthorizationServer {
    /// Its identifier.
    pub issuer: String,
    /// Where a person agrees.
    pub authorization_endpoint: Option<String>,
    /// Where tokens are asked for.
    pub token_endpoint: Option<String>,
    /// Where clients register.
    pub registration_endpoint: Option<String>,
    /// Where a device asks for a code.
    pub device_authorization_endpoint: Option<String>,
    /// Where tokens are introspected.
    pub introspection_endpoint: Option<String>,
    /// Where its keys are.
    pub jwks_uri: Option<String>,
    /// The ways of PKCE.
    pub code_challenge_methods: BTreeSet<String>,
    /// The ways in which clients prove who they are; empty where it does not say.
    pub token_endpoint_auth_methods: BTreeSet<String>,
    /// The algorithms that clients may sign their assertions with; empty where it does not say.
    pub assertion_algorithms: BTreeSet<String>,
    /// The algorithms that proofs of a key may be signed with; empty where it does not say.
    pub dpop_algorithms: BTreeSet<String>,
    /// The scopes that it knows.
    pub scopes_supported: BTreeSet<String>,
    /// A client's id may be the address of a document about it.
    pub client_id_metadata_documents: bool,
    /// Its answers to authorizations name it (RFC 9207).
    pub names_itself: bool,
}

impl ProtectedResource {
    /// Asks where the challenge says, then below the well-known address for the path of the server,
    /// then at the root; `None` when there is no document anywhere.
    ///
    /// # Errors
    /// [`OAuthError::Document`], for a document that speaks for another resource.
    pub async fn find(
        web: &OAuthHttpClient,
        server: &Url,
        challenge: &Challenge,
    ) -> Result<Option<Self>, OAuthError> {
        if let Some(named) = &challenge.resource_metadata {
            let found = web.get(RESOURCE, named).await?;
            if found.status == 200 {
                return Self::read(&found.value, server).map(Some);
            }
        }
        for place in well_known(server, "oauth-protected-resource") {
            let found = web.get(RESOURCE, &place).await?;
            if found.status == 200 && found.value.is_object() {
                return Self::read(&found.value, server).map(Some);
            }
        }
        Ok(None)
    }

    fn read(value: &Value, server: &Url) -> Result<Self, OAuthError> {
        let wrong = |reason| OAuthError::Document { what: RESOURCE, reason };
        let resource = text(value, "resource").ok_or_else(|| wrong("it has no `resource`"))?;
        // A token for another resource would be of use there: nobody may have one asked for here.
        if !covers(&resource, server) {
            return Err(wrong("its `resource` is another server"));
        }
        let authorization_servers = texts(value, "authorization_servers");
        if authorization_servers.is_empty() {
            return Err(wrong("it names no authorization server"));
        }
        let scopes_supported = texts(value, "scopes_supported").into_iter().collect();
        let bound = value.get("dpop_bound_access_tokens_required").and_then(Value::as_bool);
        let algorithms = texts(value, "dpop_signing_alg_values_supported");
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

/// Whether a resource identifier is that of this server, or of a path above its.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let (own, whole) = (server.path(), resource.path().trim_end_matches('/'));
    own.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The well-known addresses of a document about `at`: with its path put behind, then at the root.
fn well_known(at: &Url, document: &str) -> Vec<String> {
    let origin = at.origin().ascii_serialization();
    let path = at.path().trim_end_matches('/');
    let root = format!("{origin}/.well-known/{document}");
    if path.is_empty() { vec![root] } else { vec![format!("{root}{path}"), root] }
}

impl AuthorizationServer {
    /// Asks for the metadata of an issuer, in the order that the protocol prescribes. A document
    /// counts only where it names the very issuer that was asked (RFC 8414 §3.3).
    ///
    /// # Errors
    /// [`OAuthError`], when there is none that can be used.
    pub async fn find(web: &OAuthHttpClient, issuer: &str) -> Result<Self, OAuthError> {
        let wrong = |reason| OAuthError::Document { what: SERVER, reason };
        let at = Url::parse(issuer)
            .map_err(|_| OAuthError::Address { what: SERVER, reason: "it is no url" })?;
        if at.query().is_some() || at.fragment().is_some() {
            return Err(wrong("its issuer has a query or a fragment"));
        }
        for place in places(&at) {
            let found = web.get(SERVER, &place).await?;
            if found.status != 200 || !found.value.is_object() {
                continue;
            }
            let read = Self::read(&found.value)?;
            if read.issuer != issuer {
                return Err(wrong("it names another issuer than the one that was asked"));
            }
            return Ok(read);
        }
        let reason = "there is no document at any of the well-known addresses".to_owned();
        Err(OAuthError::Unavailable { what: SERVER, reason })
    }

    fn read(value: &Value) -> Result<Self, OAuthError> {
        let wrong = |reason| OAuthError::Document { what: SERVER, reason };
        let set = |key| texts(value, key).into_iter().collect();
        let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            issuer: text(value, "issuer").ok_or_else(|| wrong("it has no `issuer`"))?,
            authorization_endpoint: text(value, "authorization_endpoint"),
            token_endpoint: text(value, "token_endpoint"),
            registration_endpoint: text(value, "registration_endpoint"),
            device_authorization_endpoint: text(value, "device_authorization_endpoint"),
            introspection_endpoint: text(value, "introspection_endpoint"),
            jwks_uri: text(value, "jwks_uri"),
            code_challenge_methods: set("code_challenge_methods_supported"),
            token_endpoint_auth_methods: set("token_endpoint_auth_methods_supported"),
            assertion_algorithms: set("token_endpoint_auth_signing_alg_values_supported"),
            dpop_algorithms: set("dpop_signing_alg_values_supported"),
            scopes_supported: set("scopes_supported"),
            client_id_metadata_documents: flag("client_id_metadata_document_supported"),
            names_itself: flag("authorization_response_iss_parameter_supported"),
        })
    }

    /// Refuses one that offers no PKCE with S256: silence means that it does not.
    ///
    /// # Errors
    /// [`OAuthError::NoPkce`].
    pub fn needs_pkce(&self) -> Result<(), OAuthError> {
        match self.code_challenge_methods.contains("S256") {
            true => Ok(()),
            false => Err(OAuthError::NoPkce),
        }
    }
}

/// Where the metadata of an issuer may be.
fn places(issuer: &Url) -> Vec<String> {
    let origin = issuer.origin().ascii_serialization();
    let path = issuer.path().trim_end_matches('/');
    let (oauth, openid) = ("oauth-authorization-server", "openid-configuration");
    let mut places = vec![
        format!("{origin}/.well-known/{oauth}{path}"),
        format!("{origin}/.well-known/{openid}{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/{openid}"));
    }
    places
}

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.is_empty() && text.len() <= 4096).then(|| text.to_owned())
}

fn texts(value: &Value, key: &str) -> Vec<String> {
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
            places(&url("https://h.example/t/")),
            [
                "https://h.example/.well-known/oauth-authorization-server/t",
                "https://h.example/.well-known/openid-configuration/t",
                "https://h.example/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(places(&url("https://h.example")).len(), 2);
        assert_eq!(
            well_known(&url("https://h.example:8/a/mcp"), "oauth-protected-resource"),
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
            assert!(covers(fine, &server), "{fine}");
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
            assert!(!covers(other, &server), "{other}");
            let value = json!({"resource": other, "authorization_servers": ["https://a.example"]});
            assert!(ProtectedResource::read(&value, &server).is_err(), "{other}");
        }
        let nobody = json!({"resource": "https://h.example/a/mcp", "authorization_servers": []});
        assert!(ProtectedResource::read(&nobody, &server).is_err());
    }

    #[test]
    fn a_resource_says_whether_its_tokens_are_bound_to_a_key() {
        let server = url("https://h.example/mcp");
        let of = |required: Value, algorithms: Value| {
            let value = json!({"resource": "https://h.example/mcp",
                "authorization_servers": ["https://a.example"],
                "dpop_bound_access_tokens_required": required,
                "dpop_signing_alg_values_supported": algorithms});
            ProtectedResource::read(&value, &server).map(|resource| resource.token_binding)
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
            let server = AuthorizationServer::read(&value).unwrap();
            assert_eq!(server.needs_pkce(), Err(OAuthError::NoPkce));
        }
        let value = json!({"issuer": "x", "code_challenge_methods_supported": ["plain", "S256"]});
        assert_eq!(AuthorizationServer::read(&value).unwrap().needs_pkce(), Ok(()));
    }
}
