//! Sends a request, follows its redirects and bounds its response.

use std::error::Error as StdError;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    RETRY_AFTER, USER_AGENT,
};
use reqwest::{Client, Method, Response, StatusCode, Url};
use tokio::time::timeout;

use super::client::{self, GuardedResolver, RefusedAddress};
use super::client_error::ClientError;
use super::error::RequestFailure;
use super::host::{self, HostRule};
use super::{Access, OperationError, Refusal, TlsFault, address_range, media};

/// How much of the body of an error response is read, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 4 * 1024;
/// Time to read the body of an error response.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest pause that a server may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// An HTTP client restricted to the hosts of one [`Access`].
pub(crate) struct RestrictedClient {
    access: Access,
    hosts: Vec<HostRule>,
    guard: GuardedResolver,
    plain_client: OnceLock<Client>,
    tls_client: OnceLock<Client>,
}

/// A request to send.
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// Sent only to the first origin.
    pub(crate) headers: HeaderMap,
    /// Whether one of the headers contains a secret.
    pub(crate) secret: bool,
    pub(crate) accept: HeaderValue,
    pub(crate) body: Option<(HeaderValue, Vec<u8>)>,
    /// Whether only the head of the response is needed.
    pub(crate) head_only: bool,
}

/// A response with its whole body.
pub(crate) struct WholeResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RestrictedClient {
    /// Builds the client; nothing is sent. `operation_host` is allowed without being listed in
    /// `access.hosts`.
    pub(crate) fn new(access: Access, operation_host: Option<HostRule>) -> Self {
        let hosts = access.hosts.iter().cloned().chain(operation_host).collect();
        let networks = Arc::from(access.networks.as_slice());
        let guard = GuardedResolver { lookup: Arc::clone(&access.lookup), networks };
        Self { access, hosts, guard, plain_client: OnceLock::new(), tls_client: OnceLock::new() }
    }

    /// Builds the underlying client early, so that a failure shows at startup.
    pub(crate) fn prepare(&self, origin: &Url) -> Result<(), OperationError> {
        let client = self.client(origin);
        client.map(|_| ()).map_err(|error| OperationError::Client(error.to_string()))
    }

    /// Sends a request and follows its redirects. A response with an error status is a failure.
    pub(crate) async fn send(
        &self,
        outgoing: HttpRequest,
    ) -> Result<WholeResponse, RequestFailure> {
        let head_only = outgoing.head_only;
        let mut streaming = self.send_streaming(outgoing).await?;
        let mut body = Vec::new();
        while !head_only && let Some(chunk) = streaming.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(WholeResponse { status: streaming.status, headers: streaming.headers, body })
    }

    /// The same for a response whose body is read in chunks.
    pub(crate) async fn send_streaming(
        &self,
        mut outgoing: HttpRequest,
    ) -> Result<StreamingResponse, RequestFailure> {
        let mut acted_before = false;
        let mut redirects = 0;
        loop {
            let changes = !outgoing.method.is_safe();
            let failed = |refusal| RequestFailure { refusal, acted_before, changes };
            outgoing.url = self.check_url(&outgoing).map_err(failed)?;
            let response = self.send_once(&outgoing).await.map_err(failed)?;
            let status = response.status().as_u16();
            let Some(location) = redirect_target(&response) else {
                let accepted = self.check_response(response, &outgoing).await;
                let (response, headers) = accepted.map_err(failed)?;
                let (status, remaining_bytes) = (response.status(), self.access.max_response_bytes);
                return Ok(StreamingResponse {
                    status,
                    headers,
                    response,
                    remaining_bytes,
                    max_bytes: remaining_bytes,
                    acted_before,
                    changes,
                });
            };
            if redirects >= self.access.max_redirects {
                return Err(failed(Refusal::Redirects(status)));
            }
            outgoing = follow_redirect(outgoing, status, location).map_err(failed)?;
            acted_before |= changes;
            redirects = redirects.saturating_add(1);
        }
    }

    /// The normalised URL, if it may be requested.
    fn check_url(&self, outgoing: &HttpRequest) -> Result<Url, Refusal> {
        let url = host::normalized_url(outgoing.url.clone())?;
        let here = host::is_loopback(&url);
        if url.scheme() == "http" && !self.access.plain_http && !here {
            return Err(Refusal::Scheme);
        }
        if !self.hosts.iter().any(|rule| rule.admits(&url)) {
            return Err(Refusal::Host);
        }
        if url.scheme() == "http" && outgoing.secret && !here {
            return Err(Refusal::PlainSecret);
        }
        // A host name is checked when it is resolved; an IP address is never resolved, so it is
        // checked here.
        let refused = host::ip_literal(&url)
            .and_then(|address| address_range::refusal_reason(address, &self.access.networks));
        refused.map_or(Ok(url), |what| Err(Refusal::Address(what)))
    }

    async fn send_once(&self, outgoing: &HttpRequest) -> Result<Response, Refusal> {
        let client = self.client(&outgoing.url).map_err(Refusal::Client)?;
        let mut request = client
            .request(outgoing.method.clone(), outgoing.url.clone())
            .header(ACCEPT, outgoing.accept.clone())
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, concat!("weaver/", env!("CARGO_PKG_VERSION")))
            .headers(outgoing.headers.clone());
        if let Some((kind, body)) = &outgoing.body {
            request = request.header(CONTENT_TYPE, kind.clone()).body(body.clone());
        }
        let limit = self.access.header_timeout;
        let response = timeout(limit, request.send()).await;
        response.map_err(|_| Refusal::Silent(limit))?.map_err(|error| transport_refusal(&error))
    }

    /// Checks a response. Returns it, and its headers, if its body may be read.
    async fn check_response(
        &self,
        mut response: Response,
        outgoing: &HttpRequest,
    ) -> Result<(Response, HeaderMap), Refusal> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        if outgoing.head_only && status.is_success() {
            return Ok((response, headers));
        }
        let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
            return Err(Refusal::Encoding);
        }
        if !status.is_success() {
            let said = timeout(ERROR_BODY_TIMEOUT, error_body(&mut response, &headers))
                .await
                .unwrap_or_default();
            let (status, wait) = (status.as_u16(), retry_after(&headers));
            return Err(Refusal::Status { status, said, wait });
        }
        Ok((response, headers))
    }

    fn client(&self, url: &Url) -> Result<&Client, ClientError> {
        let cell = if url.scheme() == "https" { &self.tls_client } else { &self.plain_client };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = client::build_client(
            url,
            Some(self.guard.clone()),
            self.access.certificate_authority.as_ref(),
        )?;
        Ok(cell.get_or_init(|| client))
    }
}

/// A response whose body is read in chunks, within bounds. Dropping it closes the connection.
pub(crate) struct StreamingResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    response: Response,
    remaining_bytes: usize,
    max_bytes: usize,
    acted_before: bool,
    changes: bool,
}

impl StreamingResponse {
    /// The next chunk of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, RequestFailure> {
        let chunk = self.response.chunk().await.map_err(|_| self.failure(Refusal::Broken))?;
        let Some(chunk) = chunk else { return Ok(None) };
        let remaining_bytes = self.remaining_bytes.checked_sub(chunk.len());
        self.remaining_bytes =
            remaining_bytes.ok_or_else(|| self.failure(Refusal::TooLarge(self.max_bytes)))?;
        Ok(Some(chunk.to_vec()))
    }

    /// A failure after the response began.
    pub(crate) fn failure(&self, refusal: Refusal) -> RequestFailure {
        RequestFailure { refusal, acted_before: self.acted_before, changes: self.changes }
    }
}

/// The target of a redirect; `None` if the response is not a redirect.
fn redirect_target(response: &Response) -> Option<HeaderValue> {
    let known = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    known.then(|| response.headers().get(LOCATION).cloned()).flatten()
}

/// The request that follows a redirect. To another origin it carries neither the headers nor the
/// body of the first request, because both may be meant for that origin only.
fn follow_redirect(
    from: HttpRequest,
    status: u16,
    to: HeaderValue,
) -> Result<HttpRequest, Refusal> {
    let refused = |why| Refusal::Redirect { status, why };
    let to = to.to_str().map_err(|_| refused("the address is not text"))?;
    if to.len() > host::MAX_URL || to.contains(|c: char| c.is_control() || c == '\\') {
        return Err(refused("the address is too long, or holds controls or backslashes"));
    }
    let url = from.url.join(to).map_err(|_| refused("the address is not valid"))?;
    if from.url.scheme() == "https" && url.scheme() != "https" {
        return Err(refused("it leads from https to something else"));
    }
    let (method, body) = match (status, &from.method) {
        (303, &Method::HEAD) => (Method::HEAD, None),
        (303, _) | (301 | 302, &Method::POST) => (Method::GET, None),
        (_, method) if method.is_safe() => (from.method, None),
        (307 | 308, _) => (from.method, from.body),
        _ => return Err(refused("it would repeat a request that changes something")),
    };
    let same = from.url.origin() == url.origin();
    if !same && !method.is_safe() {
        return Err(refused("it would carry a request that changes something elsewhere"));
    }
    let headers = if same { from.headers } else { HeaderMap::new() };
    let secret = from.secret && same;
    Ok(HttpRequest { method, url, headers, secret, body, ..from })
}

/// Why no response arrived.
fn transport_refusal(error: &reqwest::Error) -> Refusal {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(RefusedAddress(what)) = error.downcast_ref() {
            return Refusal::Address(what);
        }
        cause = error.source();
    }
    match () {
        () if error.is_dns() => Refusal::NoAddress,
        () if error.is_connect() => TlsFault::find(error).map_or(Refusal::Connect, Refusal::Tls),
        () => Refusal::Broken,
    }
}

/// The beginning of an error response's body, if it is text.
async fn error_body(response: &mut Response, headers: &HeaderMap) -> String {
    let kind = media::essence(headers);
    if !(media::is_json(&kind) || kind == "text/plain") {
        return String::new();
    }
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let left = MAX_ERROR_BODY_BYTES.saturating_sub(body.len());
        body.extend_from_slice(chunk.get(..left).unwrap_or(&chunk));
        if body.len() >= MAX_ERROR_BODY_BYTES {
            break;
        }
    }
    // The cut may have split a character.
    String::from_utf8_lossy(&body).into_owned()
}

/// The pause that a server asks for in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(method: Method) -> HttpRequest {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer x"));
        HttpRequest {
            method,
            url: Url::parse("https://a.example/x").unwrap(),
            headers,
            secret: true,
            accept: HeaderValue::from_static("*/*"),
            body: Some((HeaderValue::from_static("text/plain"), b"x".to_vec())),
            head_only: false,
        }
    }

    fn to(method: Method, status: u16, target: &str) -> Result<HttpRequest, Refusal> {
        follow_redirect(from(method), status, HeaderValue::from_str(target).unwrap())
    }

    #[test]
    fn no_redirect_leaves_https() {
        for target in ["http://a.example/", "ftp://a.example/", "file:///etc/passwd"] {
            assert_eq!(to(Method::GET, 302, target).err().unwrap().code(), "http.redirect");
        }
        assert!(to(Method::GET, 302, "/y").is_ok() && to(Method::GET, 302, "//b.example/").is_ok());
    }

    #[test]
    fn a_method_keeps_its_meaning_and_another_origin_gets_nothing() {
        for (method, status, wanted) in [
            (Method::POST, 301, Some(Method::GET)),
            (Method::POST, 302, Some(Method::GET)),
            (Method::POST, 303, Some(Method::GET)),
            (Method::POST, 307, Some(Method::POST)),
            (Method::DELETE, 302, None),
            (Method::DELETE, 303, Some(Method::GET)),
            (Method::DELETE, 308, Some(Method::DELETE)),
            (Method::HEAD, 303, Some(Method::HEAD)),
        ] {
            let near = to(method.clone(), status, "/y").ok();
            assert_eq!(near.as_ref().map(|next| next.method.clone()), wanted, "{method} {status}");
            if let Some(next) = near {
                assert!(next.secret && next.headers.len() == 1);
                assert_eq!(next.body.is_some(), !next.method.is_safe());
            }
            let away = to(method, status, "https://b.example/").ok();
            assert!(away.is_none_or(|next| {
                next.method.is_safe()
                    && next.headers.is_empty()
                    && !next.secret
                    && next.body.is_none()
            }));
        }
        // Another port is another origin.
        assert!(to(Method::GET, 302, "https://a.example:8443/").unwrap().headers.is_empty());
    }
}
