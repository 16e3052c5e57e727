//! Bounded requests for documents and tokens, without redirects and only to allowed addresses.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use zeroize::Zeroizing;

use super::challenge::Challenge;
use super::dpop::{LastNonce, PROOF_HEADER};
use super::error::OAuthError;
use crate::http::client::{self, GuardedResolver};
use crate::http::{
    BodyError, CertificateAuthority, Secret, TlsFault, ip_literal, is_loopback,
    is_metadata_service, is_public, read_body, system_host_lookup,
};

/// The largest document.
const MAX_DOCUMENT_BYTES: usize = 512 * 1024;
/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest URL.
const MAX_URL: usize = 4 * 1024;

/// Which addresses requests may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedAddresses {
    /// Only public addresses, so that a document from a public server cannot direct requests to
    /// internal machines (server-side request forgery).
    Public,
    /// Any address: the operator configured it, or the server itself is not public.
    Anywhere,
}

/// The HTTP client for authorization servers.
pub struct OAuthHttpClient {
    allowed_addresses: AllowedAddresses,
    certificate_authority: Option<CertificateAuthority>,
    plain_client: OnceLock<Client>,
    tls_client: OnceLock<Client>,
}

/// A response: its status, and its JSON if it has any.
#[derive(Debug)]
pub struct JsonResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body; null if it is not JSON.
    pub value: Value,
    /// How long the response may be cached, if it says so.
    pub max_age: Option<Duration>,
    /// Whether the response contained a new nonce for key proofs.
    pub(super) has_new_nonce: bool,
}

impl OAuthHttpClient {
    /// A client for these addresses; nothing is sent.
    #[must_use]
    pub fn new(allowed_addresses: AllowedAddresses) -> Self {
        Self {
            allowed_addresses,
            certificate_authority: None,
            plain_client: OnceLock::new(),
            tls_client: OnceLock::new(),
        }
    }

    /// The same, with a certificate authority trusted in addition to the platform's.
    #[must_use]
    pub fn with_certificate_authority(
        mut self,
        certificate_authority: Option<CertificateAuthority>,
    ) -> Self {
        self.certificate_authority = certificate_authority;
        self
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// [`OAuthError::Address`] and [`OAuthError::Unavailable`]. An error status is no error.
    pub async fn get(&self, what: &'static str, url: &str) -> Result<JsonResponse, OAuthError> {
        let url = self.check_url(what, url)?;
        let request = self.client(what, &url)?.get(url);
        self.send(what, request).await
    }

    /// Posts a form; the response may contain secrets.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_form(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
        basic: Option<(&str, &Secret)>,
    ) -> Result<JsonResponse, OAuthError> {
        self.post_proven_form(what, url, form, basic, None).await
    }

    /// The same, with the proof of a key (RFC 9449 §5).
    pub(super) async fn post_proven_form(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
        basic: Option<(&str, &Secret)>,
        proof: Option<(HeaderValue, &LastNonce)>,
    ) -> Result<JsonResponse, OAuthError> {
        let url = self.check_url(what, url)?;
        let mut request = self.client(what, &url)?.post(url);
        if let Some((user, secret)) = basic {
            request = request.header(AUTHORIZATION, basic_header(user, secret));
        }
        let mut nonce = None;
        if let Some((proof, last)) = proof {
            (request, nonce) = (request.header(PROOF_HEADER, proof), Some(last));
        }
        let request = request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form_urlencode(form).as_bytes().to_vec());
        self.exchange(what, request, nonce).await
    }

    /// Posts a JSON document.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_json(
        &self,
        what: &'static str,
        url: &str,
        body: &Value,
    ) -> Result<JsonResponse, OAuthError> {
        let url = self.check_url(what, url)?;
        let request = self.client(what, &url)?.post(url);
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        self.send(what, request).await
    }

    /// The challenge of a server for a request without a token; empty if it sends none.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(super) async fn challenge(&self, server: &str) -> Result<Challenge, OAuthError> {
        const WHAT: &str = "the server";
        let url = self.check_url(WHAT, server)?;
        let request = self.client(WHAT, &url)?.post(url);
        let request = request
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let failed =
            |reason: &str| OAuthError::Unavailable { what: WHAT, reason: reason.to_owned() };
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, request.send()).await;
        let answer = answer
            .map_err(|_| failed("it took too long"))?
            .map_err(|error| failed(&connection_problem(&error)))?;
        let challenges = answer.headers().get_all(WWW_AUTHENTICATE).iter();
        Ok(Challenge::from_headers(challenges.filter_map(|value| value.to_str().ok()))
            .unwrap_or_default())
    }

    async fn send(
        &self,
        what: &'static str,
        request: RequestBuilder,
    ) -> Result<JsonResponse, OAuthError> {
        self.exchange(what, request, None).await
    }

    async fn exchange(
        &self,
        what: &'static str,
        request: RequestBuilder,
        nonce: Option<&LastNonce>,
    ) -> Result<JsonResponse, OAuthError> {
        let failed = |reason: &str| OAuthError::Unavailable { what, reason: reason.to_owned() };
        let exchange = async {
            let response = request.header(ACCEPT, "application/json").send().await;
            let mut response = response.map_err(|error| failed(&connection_problem(&error)))?;
            if response.status().is_redirection() {
                return Err(failed("it redirects, which is not followed"));
            }
            let has_new_nonce = nonce.is_some_and(|last| last.update_from(response.headers()));
            let (status, max_age) = (response.status().as_u16(), max_age(response.headers()));
            let mut body = Zeroizing::default();
            read_body(&mut response, MAX_DOCUMENT_BYTES, &mut body).await.map_err(|error| {
                failed(match error {
                    BodyError::Broken => "the answer broke off",
                    BodyError::TooLong => "the answer is larger than 512 KiB",
                })
            })?;
            // A duplicate key would be ambiguous, so such a body does not count as JSON.
            let value = canonical::parse(&body, Profile::Foreign).unwrap_or_default();
            Ok(JsonResponse { status, value, max_age, has_new_nonce })
        };
        let timed_out = |_| failed("it took too long");
        tokio::time::timeout(REQUEST_TIMEOUT, exchange).await.map_err(timed_out)?
    }

    /// Whether a URL may be requested, as [`OAuthHttpClient::get`] and the other methods check it.
    #[must_use]
    pub fn is_allowed(&self, url: &str) -> bool {
        self.check_url("the address", url).is_ok()
    }

    /// Parses the URL and checks that it may be requested: `https`, or `http` on this machine.
    fn check_url(&self, what: &'static str, url: &str) -> Result<Url, OAuthError> {
        let refused = |reason| OAuthError::Address { what, reason };
        if url.len() > MAX_URL {
            return Err(refused("it is too long"));
        }
        let url = Url::parse(url).map_err(|_| refused("it is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it has a user"));
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => return Err(refused("it is not https")),
        }
        match (ip_literal(&url), self.allowed_addresses) {
            (Some(address), _) if is_metadata_service(address) => {
                Err(refused("it leads to a metadata service"))
            }
            (Some(address), AllowedAddresses::Public) if !is_public(address) => {
                Err(refused("it leads to an address that is not public"))
            }
            _ => Ok(url),
        }
    }

    fn client(&self, what: &'static str, url: &Url) -> Result<&Client, OAuthError> {
        let cell = if url.scheme() == "https" { &self.tls_client } else { &self.plain_client };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let guard = (self.allowed_addresses == AllowedAddresses::Public)
            .then(|| GuardedResolver { lookup: system_host_lookup(), networks: Arc::default() });
        let client = client::build_client(url, guard, self.certificate_authority.as_ref())
            .map_err(|error| OAuthError::Unavailable { what, reason: error.to_string() })?;
        Ok(cell.get_or_init(|| client))
    }
}

/// The addresses that a server's metadata may lead to: public ones if the server itself is public.
pub(super) async fn allowed_addresses_for(server: &Url) -> AllowedAddresses {
    if is_loopback(server) {
        return AllowedAddresses::Anywhere;
    }
    if let Some(address) = ip_literal(server) {
        return if is_public(address) {
            AllowedAddresses::Public
        } else {
            AllowedAddresses::Anywhere
        };
    }
    let Some(host) = server.host_str() else { return AllowedAddresses::Public };
    match system_host_lookup()(host).await {
        Ok(discovered)
            if !discovered.is_empty() && !discovered.iter().any(|one| is_public(*one)) =>
        {
            AllowedAddresses::Anywhere
        }
        _ => AllowedAddresses::Public,
    }
}

/// How long `Cache-Control` allows a response to be cached.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let cache_control = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let mut parts = cache_control.split(',').map(str::trim);
    if cache_control.contains("no-store") || cache_control.contains("no-cache") {
        return Some(Duration::ZERO);
    }
    let seconds = parts.find_map(|part| part.strip_prefix("max-age="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// Why there is no response.
fn connection_problem(error: &reqwest::Error) -> String {
    let fault = error.is_connect().then(|| TlsFault::find(error)).flatten();
    fault.map_or_else(|| "nobody answers there".to_owned(), |fault| fault.to_string())
}

/// A form, URL-encoded.
pub(super) fn form_urlencode(form: &[(&str, &str)]) -> Zeroizing<String> {
    let Ok(mut url) = Url::parse("form:/") else { return Zeroizing::default() };
    url.query_pairs_mut().extend_pairs(form);
    Zeroizing::new(url.query().unwrap_or_default().to_owned())
}

/// The HTTP Basic header of RFC 6749 §2.3.1: both parts are form-encoded first.
fn basic_header(user: &str, secret: &Secret) -> HeaderValue {
    let form = |text: &str| {
        let pair = form_urlencode(&[("", text)]);
        Zeroizing::new(pair.strip_prefix('=').unwrap_or(&pair).to_owned())
    };
    let pair = Zeroizing::new(format!("{}:{}", *form(user), *form(secret.expose())));
    let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
    let mut value =
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_addresses_and_this_machine_are_asked() {
        let (public, any) = (
            OAuthHttpClient::new(AllowedAddresses::Public),
            OAuthHttpClient::new(AllowedAddresses::Anywhere),
        );
        for url in ["http://login.example/", "ftp://a/", "https://u:p@a.example/", "x", ""] {
            assert!(any.check_url("it", url).is_err(), "{url}");
        }
        assert!(any.check_url("it", "https://169.254.169.254/latest").is_err());
        for url in ["https://10.0.0.1/", "https://192.168.1.1/x", "https://[::1]/"] {
            assert!(any.check_url("it", url).is_ok(), "{url}");
            assert!(public.check_url("it", url).is_err(), "{url}");
        }
        assert!(public.check_url("it", "https://login.example/").is_ok());
        assert!(any.check_url("it", "http://127.0.0.1:9/").is_ok());
        assert!(any.check_url("it", &format!("https://a.example/{}", "x".repeat(5_000))).is_err());
    }

    #[test]
    fn both_halves_of_basic_are_encoded_as_in_a_form() {
        let secret = Secret::new(Zeroizing::new("p:w d+é?".replace('é', "e"))).unwrap();
        let header = basic_header("a:b", &secret);
        let text = header.to_str().unwrap().strip_prefix("Basic ").unwrap();
        assert_eq!(STANDARD.decode(text).unwrap(), b"a%3Ab:p%3Aw+d%2Be%3F");
        assert!(header.is_sensitive());
    }

    #[test]
    fn an_age_is_read_where_it_is_said() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(text));
            max_age(&headers)
        };
        assert_eq!(of("public, max-age=300"), Some(Duration::from_secs(300)));
        assert_eq!(of("no-store"), Some(Duration::ZERO));
        assert_eq!(of("public"), None);
    }
}
