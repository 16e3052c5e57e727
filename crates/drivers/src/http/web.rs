//! One exchange: a request, its redirects, and a bounded answer.

use std::error::Error as StdError;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    RETRY_AFTER, USER_AGENT,
};
use reqwest::{Client, Method, Response, StatusCode, Url};
use tokio::time::timeout;

use super::client::{self, AddressRefused, Guard};
use super::client_error::ClientError;
use super::error::Failure;
use super::host::{self, HostRule};
use super::{Access, OperationError, Refusal, media, network};

/// Longest body of an error status that is read, in bytes.
const ERROR_BODY: usize = 4 * 1024;
/// Time for the body of an error status.
const ERROR_TIME: Duration = Duration::from_secs(2);
/// The longest pause that a server can ask for.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The HTTP client for the hosts that one access allows.
pub(crate) struct RestrictedClient {
    access: Access,
    hosts: Vec<HostRule>,
    guard: Guard,
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
}

/// A request to send.
pub(crate) struct OutgoingRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// Sent to the first origin only.
    pub(crate) headers: HeaderMap,
    /// Whether a secret is among the headers.
    pub(crate) secret: bool,
    pub(crate) accept: HeaderValue,
    pub(crate) body: Option<(HeaderValue, Vec<u8>)>,
    /// Whether nothing but the head of the answer is wanted.
    pub(crate) head_only: bool,
}

/// A response with its whole body.
pub(crate) struct WholeResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RestrictedClient {
    /// Builds the client; nothing is sent. `own` is allowed without being listed in `access.hosts`.
    pub(crate) fn new(access: Access, own: Option<HostRule>) -> Self {
        let hosts = access.hosts.iter().cloned().chain(own).collect();
        let networks = Arc::from(access.networks.as_slice());
        let guard = Guard { lookup: Arc::clone(&access.lookup), networks };
        Self { access, hosts, guard, plain: OnceLock::new(), tls: OnceLock::new() }
    }

    /// Builds the client for this origin early, so that a failure shows at the start.
    pub(crate) fn prepare(&self, origin: &Url) -> Result<(), OperationError> {
        let client = self.client(origin);
        client.map(|_| ()).map_err(|error| OperationError::Client(error.to_string()))
    }

    /// Sends a request and follows its redirects. An answer that is no success is a failure.
    pub(crate) async fn send(&self, outgoing: OutgoingRequest) -> Result<WholeResponse, Failure> {
        let head_only = outgoing.head_only;
        let mut streaming = self.send_streaming(outgoing).await?;
        let mut body = Vec::new();
        while !head_only && let Some(chunk) = streaming.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(WholeResponse { status: streaming.status, headers: streaming.headers, body })
    }

    /// The same for an answer whose body is read bit by bit.
    pub(crate) async fn send_streaming(
        &self,
        mut outgoing: OutgoingRequest,
    ) -> Result<StreamingResponse, Failure> {
        let mut acted = false;
        let mut followed = 0;
        loop {
            let changes = !outgoing.method.is_safe();
            let failed = |refusal| Failure { refusal, acted, changes };
            outgoing.url = self.allowed(&outgoing).map_err(failed)?;
            let response = self.send_once(&outgoing).await.map_err(failed)?;
            let status = response.status().as_u16();
            let Some(to) = redirect_target(&response) else {
                let accepted = self.check_response(response, &outgoing).await;
                let (response, headers) = accepted.map_err(failed)?;
                let (status, left) = (response.status(), self.access.response_bytes);
                return Ok(StreamingResponse {
                    status,
                    headers,
                    response,
                    left,
                    most: left,
                    acted,
                    changes,
                });
            };
            if followed >= self.access.redirects {
                return Err(failed(Refusal::Redirects(status)));
            }
            outgoing = redirected(outgoing, status, to).map_err(failed)?;
            acted |= changes;
            followed = followed.saturating_add(1);
        }
    }

    /// The address in the form in which it is requested, if it may be.
    fn allowed(&self, outgoing: &OutgoingRequest) -> Result<Url, Refusal> {
        let url = host::normalized(outgoing.url.clone())?;
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
        // A name is judged where it is looked up; an address is not looked up.
        let refused = host::ip_literal(&url)
            .and_then(|address| network::refusal(address, &self.access.networks));
        refused.map_or(Ok(url), |what| Err(Refusal::Address(what)))
    }

    async fn send_once(&self, outgoing: &OutgoingRequest) -> Result<Response, Refusal> {
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
        let limit = self.access.header_time;
        let response = timeout(limit, request.send()).await;
        response.map_err(|_| Refusal::Silent(limit))?.map_err(|error| transport_refusal(&error))
    }

    /// An answer of which the body may be read, and its headers.
    async fn check_response(
        &self,
        mut response: Response,
        outgoing: &OutgoingRequest,
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
            let said =
                timeout(ERROR_TIME, error_body(&mut response, &headers)).await.unwrap_or_default();
            let (status, wait) = (status.as_u16(), retry_after(&headers));
            return Err(Refusal::Status { status, said, wait });
        }
        Ok((response, headers))
    }

    fn client(&self, url: &Url) -> Result<&Client, ClientError> {
        let slot = if url.scheme() == "https" { &self.tls } else { &self.plain };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let made = client::client(url, Some(self.guard.clone()), self.access.authority.as_ref())?;
        Ok(slot.get_or_init(|| made))
    }
}

/// An answer whose body comes bit by bit, within bounds. Dropping it closes the connection.
pub(crate) struct StreamingResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    response: Response,
    left: usize,
    most: usize,
    acted: bool,
    changes: bool,
}

impl StreamingResponse {
    /// The next piece of the body; nothing when all of it came.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let chunk = self.response.chunk().await.map_err(|_| self.failed(Refusal::Broken))?;
        let Some(chunk) = chunk else { return Ok(None) };
        let left = self.left.checked_sub(chunk.len());
        self.left = left.ok_or_else(|| self.failed(Refusal::TooLarge(self.most)))?;
        Ok(Some(chunk.to_vec()))
    }

    /// A failure after the answer began.
    pub(crate) fn failed(&self, refusal: Refusal) -> Failure {
        Failure { refusal, acted: self.acted, changes: self.changes }
    }
}

/// Where an answer redirects to; nothing where it does not.
fn redirect_target(response: &Response) -> Option<HeaderValue> {
    let known = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    known.then(|| response.headers().get(LOCATION).cloned()).flatten()
}

/// The request that follows a redirect. What goes to another origin has no header that was meant
/// for the first one and no body.
fn redirected(
    from: OutgoingRequest,
    status: u16,
    to: HeaderValue,
) -> Result<OutgoingRequest, Refusal> {
    let refused = |why| Refusal::Redirect { status, why };
    let to = to.to_str().map_err(|_| refused("the address is no text"))?;
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
    Ok(OutgoingRequest { method, url, headers, secret, body, ..from })
}

/// Why nothing came back.
fn transport_refusal(error: &reqwest::Error) -> Refusal {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(AddressRefused(what)) = error.downcast_ref() {
            return Refusal::Address(what);
        }
        cause = error.source();
    }
    match () {
        () if error.is_dns() => Refusal::NoAddress,
        () if error.is_connect() => Refusal::Connect,
        () => Refusal::Broken,
    }
}

/// The beginning of what a server says to an error, where it is text.
async fn error_body(response: &mut Response, headers: &HeaderMap) -> String {
    let kind = media::essence(headers);
    if !(media::is_json(&kind) || kind == "text/plain") {
        return String::new();
    }
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(chunk.get(..ERROR_BODY.min(chunk.len())).unwrap_or_default());
        if body.len() >= ERROR_BODY {
            break;
        }
    }
    String::from_utf8(body).unwrap_or_default()
}

/// The pause that a server asks for, where it names seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(method: Method) -> OutgoingRequest {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer x"));
        OutgoingRequest {
            method,
            url: Url::parse("https://a.example/x").unwrap(),
            headers,
            secret: true,
            accept: HeaderValue::from_static("*/*"),
            body: Some((HeaderValue::from_static("text/plain"), b"x".to_vec())),
            head_only: false,
        }
    }

    fn to(method: Method, status: u16, target: &str) -> Result<OutgoingRequest, Refusal> {
        redirected(from(method), status, HeaderValue::from_str(target).unwrap())
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
