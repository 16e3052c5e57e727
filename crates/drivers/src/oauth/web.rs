//! Requests for documents and tokens: bounded, without redirects, and to nowhere but where they
//! should go.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use zeroize::Zeroizing;

use super::challenge::Challenge;
use super::dpop::{LastNonce, PROOF_HEADER};
use super::error::OAuthError;
use crate::http::client::{self, Guard};
use crate::http::{Authority, Secret, system_lookup};

/// The longest document, in bytes.
const MAX_DOCUMENT: usize = 512 * 1024;
/// How long a request may take in all.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest address, in bytes.
const MAX_URL: usize = 4 * 1024;

/// Where requests may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedAddresses {
    /// To public addresses alone: what a server on the public network names cannot lead to a machine
    /// inside (server-side request forgery).
    Public,
    /// Anywhere: the operator named the address, or the server itself is no public one.
    Anywhere,
}

/// The way to authorization servers.
pub struct OAuthHttpClient {
    reach: AllowedAddresses,
    authority: Option<Authority>,
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
}

/// An answer: its status and its JSON, where it has some.
#[derive(Debug)]
pub struct Document {
    /// The HTTP status.
    pub status: u16,
    /// The body; null where it is no JSON.
    pub value: Value,
    /// For how long it may be kept, where the answer says so.
    pub max_age: Option<Duration>,
    /// The answer gives a value for the next proof of a key.
    pub(super) nonce_given: bool,
}

impl OAuthHttpClient {
    /// Prepares the way; nothing is sent.
    #[must_use]
    pub fn new(reach: AllowedAddresses) -> Self {
        Self { reach, authority: None, plain: OnceLock::new(), tls: OnceLock::new() }
    }

    /// The same, with an authority whose certificates count beside the platform's.
    #[must_use]
    pub fn with_authority(mut self, authority: Option<Authority>) -> Self {
        self.authority = authority;
        self
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// [`OAuthError::Address`] and [`OAuthError::Unavailable`]. An error status is no error.
    pub async fn get(&self, what: &'static str, url: &str) -> Result<Document, OAuthError> {
        let url = self.checked(what, url)?;
        let request = self.client(what, &url)?.get(url);
        self.send(what, request).await
    }

    /// Sends a form; the answer may hold secrets.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_form(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
        basic: Option<(&str, &Secret)>,
    ) -> Result<Document, OAuthError> {
        self.post_proven_form(what, url, form, basic, None).await
    }

    /// The same with the proof of a key (RFC 9449 §5).
    pub(super) async fn post_proven_form(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
        basic: Option<(&str, &Secret)>,
        proof: Option<(HeaderValue, &LastNonce)>,
    ) -> Result<Document, OAuthError> {
        let url = self.checked(what, url)?;
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
            .body(encoded(form).as_bytes().to_vec());
        self.exchange(what, request, nonce).await
    }

    /// Sends a JSON document.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_json(
        &self,
        what: &'static str,
        url: &str,
        body: &Value,
    ) -> Result<Document, OAuthError> {
        let url = self.checked(what, url)?;
        let request = self.client(what, &url)?.post(url);
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        self.send(what, request).await
    }

    /// What a server says to a request without a token; an empty challenge where it says nothing.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(super) async fn challenge(&self, server: &str) -> Result<Challenge, OAuthError> {
        const WHAT: &str = "the server";
        let url = self.checked(WHAT, server)?;
        let request = self.client(WHAT, &url)?.post(url);
        let request = request
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let failed =
            |reason: &str| OAuthError::Unavailable { what: WHAT, reason: reason.to_owned() };
        let answer = tokio::time::timeout(PATIENCE, request.send()).await;
        let answer = answer
            .map_err(|_| failed("it took too long"))?
            .map_err(|_| failed("nobody answers there"))?;
        let said = answer.headers().get_all(WWW_AUTHENTICATE).iter();
        Ok(Challenge::read(said.filter_map(|value| value.to_str().ok())).unwrap_or_default())
    }

    async fn send(
        &self,
        what: &'static str,
        request: RequestBuilder,
    ) -> Result<Document, OAuthError> {
        self.exchange(what, request, None).await
    }

    async fn exchange(
        &self,
        what: &'static str,
        request: RequestBuilder,
        nonce: Option<&LastNonce>,
    ) -> Result<Document, OAuthError> {
        let failed = |reason: &str| OAuthError::Unavailable { what, reason: reason.to_owned() };
        let exchange = async {
            let response = request.header(ACCEPT, "application/json").send().await;
            let mut response = response.map_err(|_| failed("nobody answers there"))?;
            if response.status().is_redirection() {
                return Err(failed("it redirects, which is not followed"));
            }
            let nonce_given = nonce.is_some_and(|last| last.note(response.headers()));
            let (status, max_age) = (response.status().as_u16(), max_age(response.headers()));
            let body = body(&mut response).await.map_err(|error| failed(&error.to_string()))?;
            // A key that stands twice could be read in two ways.
            let value = canonical::parse(&body, Profile::Foreign).unwrap_or_default();
            Ok(Document { status, value, max_age, nonce_given })
        };
        let late = |_| failed("it took too long");
        tokio::time::timeout(PATIENCE, exchange).await.map_err(late)?
    }

    /// Whether an address may be asked, as [`OAuthHttpClient::get`] and the others check it.
    #[must_use]
    pub fn accepts(&self, url: &str) -> bool {
        self.checked("the address", url).is_ok()
    }

    /// The address, if it may be asked: `https`, or `http` on this machine.
    fn checked(&self, what: &'static str, url: &str) -> Result<Url, OAuthError> {
        let refused = |reason| OAuthError::Address { what, reason };
        if url.len() > MAX_URL {
            return Err(refused("it is too long"));
        }
        let url = Url::parse(url).map_err(|_| refused("it is no url"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it has a user"));
        }
        match url.scheme() {
            "https" => {}
            "http" if crate::http::is_loopback(&url) => {}
            _ => return Err(refused("it is not https")),
        }
        match (address(&url), self.reach) {
            (Some(address), _) if crate::http::is_metadata_service(address) => {
                Err(refused("it leads to a metadata service"))
            }
            (Some(address), AllowedAddresses::Public) if !is_public(address) => {
                Err(refused("it leads to an address that is not public"))
            }
            _ => Ok(url),
        }
    }

    fn client(&self, what: &'static str, url: &Url) -> Result<&Client, OAuthError> {
        let slot = if url.scheme() == "https" { &self.tls } else { &self.plain };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let guard = (self.reach == AllowedAddresses::Public)
            .then(|| Guard { lookup: system_lookup(), networks: Arc::default() });
        let made = client::client(url, guard, self.authority.as_ref())
            .map_err(|error| OAuthError::Unavailable { what, reason: error.to_string() })?;
        Ok(slot.get_or_init(|| made))
    }
}

/// Whether this server is a public one, so that what it names must be public too.
pub(super) async fn reach_of(server: &Url) -> AllowedAddresses {
    if crate::http::is_loopback(server) {
        return AllowedAddresses::Anywhere;
    }
    if let Some(address) = address(server) {
        return if is_public(address) {
            AllowedAddresses::Public
        } else {
            AllowedAddresses::Anywhere
        };
    }
    let Some(host) = server.host_str() else { return AllowedAddresses::Public };
    match system_lookup()(host).await {
        Ok(found) if !found.is_empty() && !found.iter().any(|one| is_public(*one)) => {
            AllowedAddresses::Anywhere
        }
        _ => AllowedAddresses::Public,
    }
}

fn is_public(address: IpAddr) -> bool {
    crate::http::is_public(address)
}

fn address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

/// For how long `Cache-Control` lets an answer be kept.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let mut parts = said.split(',').map(str::trim);
    if said.contains("no-store") || said.contains("no-cache") {
        return Some(Duration::ZERO);
    }
    let seconds = parts.find_map(|part| part.strip_prefix("max-age="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// Why the body of an answer cannot be had.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum BodyError {
    #[error("the answer broke off")]
    Broken,
    #[error("the answer is larger than 512 KiB")]
    TooLarge,
}

async fn body(response: &mut Response) -> Result<Zeroizing<Vec<u8>>, BodyError> {
    let mut body = Zeroizing::new(Vec::new());
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyError::Broken)? {
        if body.len().saturating_add(chunk.len()) > MAX_DOCUMENT {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A form as the body of a request.
pub(super) fn encoded(form: &[(&str, &str)]) -> Zeroizing<String> {
    let Ok(mut url) = Url::parse("form:/") else { return Zeroizing::default() };
    url.query_pairs_mut().extend_pairs(form);
    Zeroizing::new(url.query().unwrap_or_default().to_owned())
}

/// HTTP Basic as RFC 6749 §2.3.1 has it: both halves are encoded as in a form first.
fn basic_header(user: &str, secret: &Secret) -> HeaderValue {
    let form = |text: &str| {
        let pair = encoded(&[("", text)]);
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
            assert!(any.checked("it", url).is_err(), "{url}");
        }
        assert!(any.checked("it", "https://169.254.169.254/latest").is_err());
        for url in ["https://10.0.0.1/", "https://192.168.1.1/x", "https://[::1]/"] {
            assert!(any.checked("it", url).is_ok(), "{url}");
            assert!(public.checked("it", url).is_err(), "{url}");
        }
        assert!(public.checked("it", "https://login.example/").is_ok());
        assert!(any.checked("it", "http://127.0.0.1:9/").is_ok());
        assert!(any.checked("it", &format!("https://a.example/{}", "x".repeat(5_000))).is_err());
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
