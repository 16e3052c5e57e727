//! One authorization: the request, the redirect back, and the exchange of its code.

use std::collections::BTreeSet;

use reqwest::Url;
use weaver_types::Random;
use zeroize::Zeroizing;

use super::agent::AuthorizationAgent;
use super::dpop::DpopKey;
use super::error::{OAuthError, refused_error};
use super::metadata::AuthorizationServer;
use super::pkce::{Pkce, random_token};
use super::registration::ClientIdentity;

/// The parameters of an authorization request.
pub(super) struct AuthorizationRequest<'a> {
    pub(super) server: &'a AuthorizationServer,
    pub(super) client: &'a ClientIdentity,
    /// The server that the token is for (RFC 8707).
    pub(super) resource: &'a str,
    pub(super) scopes: &'a BTreeSet<String>,
    /// The key that the tokens will be bound to.
    pub(super) key: Option<&'a DpopKey>,
    /// Whether the operator named the authorization server; otherwise the MCP server did.
    pub(super) issuer_is_configured: bool,
}

/// An authorization code, and the values needed to exchange it.
pub(super) struct AuthorizationCode {
    pub(super) code: Zeroizing<String>,
    pub(super) verifier: Zeroizing<String>,
    pub(super) redirect_uri: String,
}

impl AuthorizationRequest<'_> {
    /// Checks the page at which a person is to log in.
    pub(super) fn check_page(&self, page: &Url) -> Result<(), OAuthError> {
        if self.issuer_is_configured { Ok(()) } else { check_page_of(page, &self.server.issuer) }
    }

    /// Lets the person authorise the request, and returns the resulting code.
    pub(super) async fn obtain_code(
        &self,
        agent: &dyn AuthorizationAgent,
        random: &dyn Random,
    ) -> Result<AuthorizationCode, OAuthError> {
        self.server.require_pkce()?;
        let endpoint = self.server.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or(OAuthError::Document {
            what: "the metadata of the authorization server",
            reason: "it has no `authorization_endpoint`",
        })?;
        let mut url = Url::parse(endpoint)
            .ok()
            .filter(|url| url.scheme() == "https" || crate::http::is_loopback(url))
            .ok_or(OAuthError::Address {
                what: "the authorization endpoint",
                reason: "it is not https",
            })?;
        self.check_page(&url)?;
        let (pkce, state) = (Pkce::new(random)?, random_token(random)?);
        let redirect_uri = agent.redirect_uri();
        let scopes: Vec<&str> = self.scopes.iter().map(String::as_str).collect();
        let thumbprint = self.key.map(DpopKey::thumbprint).transpose()?;
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.client_id)
                .append_pair("redirect_uri", &redirect_uri)
                .append_pair("code_challenge", &pkce.challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("state", &state)
                .append_pair("resource", self.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.join(" "));
            }
            if let Some(thumbprint) = &thumbprint {
                // Only this key can use the code (RFC 9449 §10).
                query.append_pair("dpop_jkt", thumbprint);
            }
            if scopes.contains(&"offline_access") {
                // OpenID Connect issues no refresh token without the person's consent.
                query.append_pair("prompt", "consent");
            }
        }
        let redirect = agent.authorize(url).await?;
        let code = read_redirect(&redirect, &redirect_uri, &state, self.server)?;
        Ok(AuthorizationCode { code, verifier: pkce.verifier, redirect_uri })
    }
}

/// Refuses a page of another site than its issuer, and one that brings parameters of the request along.
///
/// An MCP server under foreign control could name an authorization server of its own whose metadata send
/// the person to the page of an honest one, and the code that it issues to a token endpoint of its own
/// (a mix-up attack, RFC 9700 §4.4). An honest issuer that sends no `iss` gives nothing to compare.
fn check_page_of(page: &Url, issuer: &str) -> Result<(), OAuthError> {
    const OWN_PARAMETERS: [&str; 8] = [
        "response_type", "client_id", "redirect_uri", "state", "scope", "resource",
        "response_mode", "request_uri",
    ];
    let refused = |reason| Err(OAuthError::Address { what: "the authorization endpoint", reason });
    if !Url::parse(issuer).is_ok_and(|issuer| is_same_site(page, &issuer)) {
        return refused(
            "it is of another site than the issuer that names it; if that is right, set `issuer` of the \
             server in the configuration",
        );
    }
    if page.query_pairs().any(|(name, _)| OWN_PARAMETERS.contains(&name.as_ref())) {
        return refused("it has a parameter that only the request sets");
    }
    Ok(())
}

/// Whether both have one origin, or the host of one is a subdomain of the other's.
fn is_same_site(one: &Url, other: &Url) -> bool {
    let is_below = |one: &Url, other: &Url| match (one.domain(), other.domain()) {
        (Some(one), Some(other)) => {
            other.contains('.') && one.strip_suffix(other).is_some_and(|rest| rest.ends_with('.'))
        }
        _ => false,
    };
    one.origin() == other.origin() || is_below(one, other) || is_below(other, one)
}

/// Reads the authorization code from the redirect.
///
/// State and issuer are compared before anything else is used, including an error: a response that
/// was not requested, or that comes from another authorization server (a mix-up attack), has no
/// meaning here.
fn read_redirect(
    redirect: &Url,
    redirect_uri: &str,
    state: &str,
    server: &AuthorizationServer,
) -> Result<Zeroizing<String>, OAuthError> {
    let refused_for = |reason| OAuthError::Redirect { reason };
    let expected = Url::parse(redirect_uri).map_err(|_| refused_for("it has no address"))?;
    if (redirect.origin(), redirect.path()) != (expected.origin(), expected.path()) {
        return Err(refused_for("it leads somewhere else"));
    }
    let parameter = |name: &str| -> Result<Option<String>, OAuthError> {
        let mut values = redirect.query_pairs().filter(|(key, _)| key == name);
        let first = values.next().map(|(_, value)| value.into_owned());
        match values.next() {
            Some(_) => Err(OAuthError::Redirect { reason: "a parameter stands in it twice" }),
            None => Ok(first),
        }
    };
    if parameter("state")?.as_deref() != Some(state) {
        return Err(refused_for("its `state` is not the one that was sent"));
    }
    // RFC 9207 §2.4 demands a plain string comparison, without normalisation.
    match parameter("iss")? {
        Some(issuer) if issuer != server.issuer => {
            return Err(refused_for("its `iss` is another issuer"));
        }
        None if server.sends_issuer_in_redirect => {
            return Err(refused_for("it has no `iss`, which this issuer always sends"));
        }
        _ => {}
    }
    if let Some(error) = parameter("error")? {
        return Err(refused_error(Some(&error)));
    }
    let code = parameter("code")?.filter(|code| !code.is_empty() && code.len() <= 4096);
    code.map(Zeroizing::new).ok_or_else(|| refused_for("it has no code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACK: &str = "http://127.0.0.1:9/callback";

    fn read(query: &str, sends_issuer_in_redirect: bool) -> Result<Zeroizing<String>, OAuthError> {
        let issuer = "https://login.example".to_owned();
        let server = AuthorizationServer {
            issuer,
            sends_issuer_in_redirect,
            ..AuthorizationServer::default()
        };
        let redirect = Url::parse(&format!("{BACK}?{query}")).unwrap();
        read_redirect(&redirect, BACK, "s", &server)
    }

    #[test]
    fn the_page_of_a_login_is_of_the_issuer_that_gets_its_code() {
        let check = |endpoint: &str, issuer: &str| {
            check_page_of(&Url::parse(endpoint).unwrap(), issuer).is_ok()
        };
        let issuer = "https://login.example.com/tenant";
        for endpoint in [
            "https://login.example.com/authorize",
            "https://login.example.com/authorize?audience=a",
            "https://example.com/authorize",
            "https://eu.login.example.com/authorize",
        ] {
            assert!(check(endpoint, issuer), "{endpoint}");
        }
        for endpoint in [
            "https://login.honest.example/authorize",
            "https://login.example.com.honest.example/authorize",
            "https://notlogin.example.com/authorize",
            "https://login.example.com:8443/authorize",
            "https://com/authorize",
            "https://login.example.com/authorize?scope=admin",
            "https://login.example.com/authorize?client_id=c",
        ] {
            assert!(!check(endpoint, issuer), "{endpoint}");
        }
        assert!(!check("http://127.0.0.1:8/authorize", "http://127.0.0.1:9"));
        assert!(check("http://127.0.0.1:9/authorize", "http://127.0.0.1:9"));
    }

    /// The table of 2026-07-28.
    #[test]
    fn the_issuer_of_an_answer_is_compared_as_it_stands() {
        let iss = "iss=https%3A%2F%2Flogin.example";
        assert!(read(&format!("state=s&code=c&{iss}"), true).is_ok());
        assert!(read("state=s&code=c", true).is_err(), "advertised and absent");
        assert!(read(&format!("state=s&code=c&{iss}"), false).is_ok());
        assert!(read("state=s&code=c", false).is_ok());
        for wrong in [
            "https%3A%2F%2Flogin.example%2F",
            "https%3A%2F%2FLOGIN.example",
            "https%3A%2F%2Flogin.example%3A443",
            "https%3A%2F%2Fevil.example",
            "",
        ] {
            for sends_issuer_in_redirect in [true, false] {
                let error = read(&format!("state=s&code=c&iss={wrong}"), sends_issuer_in_redirect)
                    .unwrap_err();
                assert_eq!(error.code(), "oauth.redirect", "{wrong}");
            }
        }
    }

    #[test]
    fn an_answer_that_nobody_asked_for_says_nothing() {
        for query in [
            "code=c",
            "state=S&code=c",
            "state=s&state=s&code=c",
            "state=s&code=c&code=d",
            "state=s",
            "state=s&code=",
            "state=x&error=access_denied",
            "state=s&iss=https%3A%2F%2Fevil.example&error=access_denied",
        ] {
            assert_eq!(read(query, false).unwrap_err().code(), "oauth.redirect", "{query}");
        }
        let refused = read("state=s&error=access_denied", false).unwrap_err();
        assert_eq!(refused, OAuthError::Refused { code: "access_denied" });
        let odd = read("state=s&error=%1b[31mhello", false).unwrap_err();
        assert!(!odd.to_string().contains("hello"), "{odd}");
        let elsewhere = Url::parse("http://127.0.0.1:8/callback?state=s&code=c").unwrap();
        let server = AuthorizationServer::default();
        assert!(read_redirect(&elsewhere, BACK, "s", &server).is_err());
    }
}
