//! Posts a body to one URL within bounds, for publishing checkpoints and telemetry.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use crate::http::{BodyError, TlsFault, client, is_loopback, read_body};

/// Posts bodies to one URL: `https`, or `http` on this machine.
#[derive(Debug, Clone)]
pub struct HttpPoster {
    client: Client,
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
    max_response_bytes: usize,
}

/// The body of a POST request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostBody {
    /// Its media type.
    pub media_type: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why a body may not have arrived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The URL is not acceptable.
    #[error("the address is refused: {0}")]
    Address(String),
    /// No connection, or it broke.
    #[error("the connection failed")]
    Connection,
    /// No TLS connection.
    #[error("the connection failed: {0}")]
    Tls(TlsFault),
    /// No answer in time.
    #[error("there was no answer within {0:?}")]
    Late(Duration),
    /// The response has an error status.
    #[error("the answer was status {0}")]
    Status(u16),
    /// The response is too long.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
}

impl HttpPoster {
    /// Builds the client; nothing is sent. One exchange takes at most `timeout`, a response has at
    /// most `max_response_bytes`. Redirects are not followed.
    ///
    /// # Errors
    /// [`PostError::Address`].
    pub fn new(url: &str, timeout: Duration, max_response_bytes: usize) -> Result<Self, PostError> {
        let url = parse_address(url)?;
        let client = client::build_client(&url, None, None)
            .map_err(|error| PostError::Address(error.to_string()))?;
        Ok(Self { client, url, headers: HeaderMap::new(), timeout, max_response_bytes })
    }

    /// Adds these headers to each request. Their values may be secret.
    ///
    /// # Errors
    /// [`PostError::Address`], for an invalid header name or value.
    pub fn with_headers(mut self, headers: &BTreeMap<String, String>) -> Result<Self, PostError> {
        for (name, value) in headers {
            let bad = |_| PostError::Address("it has a header that cannot be sent".to_owned());
            let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(()))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad(()))?;
            value.set_sensitive(true);
            self.headers.insert(parsed, value);
        }
        Ok(self)
    }

    /// Checks that a URL is acceptable.
    ///
    /// # Errors
    /// [`PostError::Address`].
    pub fn check(url: &str) -> Result<(), PostError> {
        parse_address(url).map(|_| ())
    }

    /// Posts text and returns the body of a success response.
    ///
    /// # Errors
    /// [`PostError`].
    pub async fn send(&self, text: String) -> Result<Vec<u8>, PostError> {
        let media_type = "text/plain; charset=utf-8";
        self.send_body(PostBody { media_type, bytes: text.into_bytes() }).await
    }

    /// Posts a body and returns the body of a success response.
    ///
    /// # Errors
    /// [`PostError`].
    pub async fn send_body(&self, body: PostBody) -> Result<Vec<u8>, PostError> {
        let exchange = tokio::time::timeout(self.timeout, self.exchange(body)).await;
        exchange.map_err(|_| PostError::Late(self.timeout))?
    }

    async fn exchange(&self, body: PostBody) -> Result<Vec<u8>, PostError> {
        let media_type = HeaderValue::from_static(body.media_type);
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, media_type).body(body.bytes);
        let response = request.send().await;
        let mut response = response.map_err(|error| match TlsFault::find(&error) {
            Some(fault) if error.is_connect() => PostError::Tls(fault),
            _ => PostError::Connection,
        })?;
        if !response.status().is_success() {
            return Err(PostError::Status(response.status().as_u16()));
        }
        let (mut body, limit) = (Vec::new(), self.max_response_bytes);
        match read_body(&mut response, limit, &mut body).await {
            Ok(()) => Ok(body),
            Err(BodyError::Broken) => Err(PostError::Connection),
            Err(BodyError::TooLong) => Err(PostError::TooLong(limit)),
        }
    }
}

fn parse_address(url: &str) -> Result<Url, PostError> {
    let bad = |why: &str| PostError::Address(why.to_owned());
    let url = Url::parse(url).map_err(|_| bad("it is not a URL"))?;
    url.host_str().ok_or_else(|| bad("it names no host"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds a name or a password"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(bad("http is for this machine only; use https")),
        _ => Err(bad("it is neither http nor https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine() {
        for good in
            ["https://a.example/x", "http://127.0.0.1:1/", "http://[::1]:2/", "http://localhost/"]
        {
            assert!(HttpPoster::check(good).is_ok(), "{good}");
        }
        for bad in [
            "http://a.example/",
            "http://10.0.0.1/",
            "ftp://a.example/",
            "https://u:p@a.example/",
            "x",
            "http://localhost.a.example/",
            "http://127.0.0.1.a.example/",
        ] {
            assert!(HttpPoster::check(bad).is_err(), "{bad}");
        }
    }
}
